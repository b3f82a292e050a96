"""Attacks on an effect itself: its birth, its identity, its moves and what they must rest on."""

from typing import Any

from tests.ledger.attack import Attack, Granted, Guard, Lines

HAND = (
    "kind", "actor", "resolution_id", "lookup_id", "note", "body", "finding", "object_id", "refs",
    "due_at", "counts_from", "priority", "rank_until", "rank_minor", "brief", "about",
)  # fmt: skip
BORN: dict[str, str] = {
    "tenant_id": "%(tenant)s",
    "effect_id": "gen_random_uuid()",
    "intent_key": "'attack:a-1:pay:v1'",
    "request_digest": "sha256('x')",
    "digest_version": "1",
    "amount_minor": "4200",
    "currency": "'EUR'",
    "exponent": "2",
    "provider": "'testbank'",
    "operation": "'pay'",
    "contract_version": "'1'",
    "account": "'main'",
    "environment": "'test'",
    "provider_key": "gen_random_uuid()",
}
NO_ENTRY = "an effect moves only with its entry"
RIGHTS = "42501"
DIGEST = "sha256('answer')"
BODY = "'{}'::bytea"
RECEIPT = f"provider_result_id = 'obj-forged', response_digest = {DIGEST}, completed_at = now()"


def hand(kind: str, actor: str, **arguments: str) -> str:
    """The SQL of an `effect_hand`; `arguments` are SQL by field."""
    given = {"kind": f"'{kind}'", "actor": f"'{actor}'", **arguments}
    fields = [given.get(name, "null") for name in HAND]
    return f"row({', '.join(fields)})::effect_hand"


def birth(by: str = "workflow", **changes: str) -> str:
    """The SQL that records an intent, with columns changed or added."""
    columns = {**BORN, "hand": hand("prepared", by), **changes}
    return f"insert into effect ({', '.join(columns)}) values ({', '.join(columns.values())})"


def step(effect: str, **sets: str) -> str:
    """The SQL that changes columns of one of the scene's effects."""
    changes = ", ".join(f"{name} = {value}" for name, value in sets.items())
    return f"update effect set {changes} where tenant_id = %(tenant)s and effect_id = %({effect})s"


def move(effect: str, state: int, taken: str, *, also: str = "") -> str:
    """The SQL that moves an effect with the hand `taken`."""
    return step(effect, state=str(state), hand=taken).replace(
        " where ", f"{', ' + also if also else ''} where ", 1
    )


def answered(**arguments: str) -> str:
    """The hand of a worker's answer with its body."""
    return hand("answer", "worker", body=BODY, **arguments)


FOUND = answered(finding="'exact'", object_id="'obj-forged'")
REFUSED = answered(finding="'failed_object'")


def refused_birth(rule: str, name: str, refusal: str, guard: Any, **changes: str) -> Attack:
    """A birth that one guard refuses."""
    sql = birth(**changes)
    return Attack(rule, name, ("workflow",), sql, refusal, guards=(guard,) if guard else ())


CLAIM = {"state": "2", "hand": hand("sent", "worker"), "lease_until": "now() + interval '8 s'"}

BIRTHS = (
    refused_birth(
        "D1", "a second effect under the same key", "23505 effect_tenant_id_intent_key_key",
        Guard("effect", "effect_tenant_id_intent_key_key"), intent_key="%(prepared_key)s"),
    refused_birth(
        "D1", "the second effect of an id", "23505 effect_pkey", None, effect_id="%(prepared)s"),
    refused_birth(
        "D1", "an empty key", "effect_intent_key_check",
        Guard("effect", "effect_intent_key_check"), intent_key="''"),
    refused_birth(
        "D1", "a key of 201 bytes", "effect_intent_key_check",
        Guard("effect", "effect_intent_key_check"), intent_key="repeat('k', 201)"),
    refused_birth(
        "D3", "a digest that is none", "effect_request_digest_check",
        Guard("effect", "effect_request_digest_check"), request_digest="'x'::bytea"),
    refused_birth(
        "D27", "a negative amount", "effect_amount_minor_check",
        Guard("effect", "effect_amount_minor_check"), amount_minor="-1"),
    refused_birth(
        "D27", "an amount beyond 10^15", "effect_amount_minor_check",
        Guard("effect", "effect_amount_minor_check"), amount_minor="1000000000000001"),
    refused_birth("D27", "no number for an amount", "22P02", None, amount_minor="'NaN'"),
    refused_birth("D27", "an infinite amount", "22P02", None, amount_minor="'Infinity'"),
    refused_birth(
        "D27", "a currency that is no code", "effect_currency_check",
        Guard("effect", "effect_currency_check"), currency="'eur'"),
    refused_birth(
        "D27", "an exponent of 9", "effect_exponent_check",
        Guard("effect", "effect_exponent_check"), exponent="9"),
    refused_birth(
        "D27", "a message with an amount", "messages_have_no_amount",
        Guard("effect", "messages_have_no_amount"), currency="'XXX'"),
    refused_birth(
        "D4", "a birth without its entry in hand", "born by a workflow or by intake", None,
        hand="null"),
    refused_birth(
        "D4", "a birth by a worker's hand", "born by a workflow or by intake", None,
        hand=hand("prepared", "worker")),
    Attack(
        "D26", "a birth in a tenant that is none", ("worker",),
        birth("intake", tenant_id="gen_random_uuid()"), "tenant_unknown", guards=(
            Lines("set_birth", "tenant where id = new.tenant_id;\n  if not found then",
                  "tenant where id = new.tenant_id;\n  of_tenant := 'test'; if false then"),)),
    refused_birth(
        "D26", "a birth in an environment that is not the tenant's", "AS422 .*environment_differs",
        Lines("set_birth", "elsif coalesce(new.environment, of_tenant) <> of_tenant then",
              "elsif false then"), environment="'live'"),
    refused_birth(
        "D3", "an object without its type", "an_object_has_a_type",
        Guard("effect", "an_object_has_a_type"), object_ref="'n-1'"),
    refused_birth(
        "D3", "a type without its object", "an_object_has_a_type",
        Guard("effect", "an_object_has_a_type"), object_type="'invoice'"),
    refused_birth(
        "D3", "a birth under no contract", "contract_unknown", None, operation="'none'"),
    Attack(
        "D26", "a birth in another tenant", ("workflow",), birth(tenant_id="%(other)s"),
        "row-level security", guards=(Guard("effect", "own_tenant"),)),
    Attack(
        "D5", "a birth with a history of its own", ("workflow",),
        birth(state="1", version="7", fence="5", head="'x'::bytea", attempts="0", exclusive="false",
              lease_seconds="8", created_at="now()", dispatch_until="'infinity'", hand="null"),
        RIGHTS, guards=(
            Granted("grant insert on effect to ascertain_workflow"), Guard("effect", "birth"))),
    Attack(
        "D6", "a birth files its entry", ("workflow",), birth(),
        holds="select count(*) = 1 from entry join effect using (tenant_id, effect_id)"
        " where intent_key = 'attack:a-1:pay:v1' and hash = head and no = 1",
        guards=(Guard("effect", "born"),)),
    Attack(
        "D8", "a birth by a login that prepares nothing", ("web", "auth", "sealer", "auditor"),
        birth(), RIGHTS, guards=(
            Granted("grant insert on effect to ascertain_web"), Guard("entry", "login_is_actor"))),
    Attack(
        "D8", "a workflow's birth by the worker", ("worker",), birth(), "login_is_actor",
        guards=(Guard("entry", "login_is_actor"),)),
    Attack(
        "T20", "a workflow takes a stuck row in", ("workflow",), birth("intake"), "login_is_actor",
        guards=(Guard("entry", "login_is_actor"),)),
    Attack(
        "T20", "a row taken in names its own first attempt from a workflow", ("workflow",),
        birth("intake", first_attempt_at="now()"), RIGHTS),
    Attack(
        "T20", "a row taken in is sent", ("worker",), step("taken_in", **CLAIM),
        "dispatch_too_late|legal_edge", guards=(
            Lines("refuse_unproven", "if n.state = 2 and (", "if false and ("),
            Guard("entry", "legal_edge"))),
)  # fmt: skip

IDENTITY = (
    Attack(
        "D3", "another key for an effect", ("worker",), step("prepared", intent_key="'a:b:c:v1'"),
        RIGHTS, guards=(
            Granted("grant update on effect to ascertain_worker"), Guard("effect", "a_frozen"),
            Guard("effect", "c_quiet"))),
    Attack(
        "D22", "a fence of one's own", ("owner",), step("dispatched", fence="1"),
        "identity and history are frozen",
        guards=(Guard("effect", "a_frozen"), Guard("effect", "c_quiet"))),
    Attack(
        "D22", "a fence set by the worker", ("worker",), step("dispatched", fence="99"), RIGHTS),
    Attack(
        "D5", "an effect is changed by a login that has no steps",
        ("web", "auth", "workflow", "sealer", "auditor"),
        move("unknown", 4, answered(), also=RECEIPT), RIGHTS),
    Attack(
        "D2", "every login is kept from rewriting past entries", ("owner",),
        "update entry set note = 'x' where tenant_id = %(tenant)s and effect_id = %(unknown)s",
        "rows are never changed", guards=(Guard("entry", "unchanged"),)),
)  # fmt: skip

MOVES = (
    Attack(
        "D5", "a state without an entry", ("worker",),
        step("prepared", state="2", lease_until="now() + interval '8 s'"), NO_ENTRY,
        guards=(Guard("effect", "b_file"), Guard("effect", "c_quiet"))),
    Attack(
        "D5", "a state with an empty hand", ("worker",),
        step("prepared", state="2", lease_until="now() + interval '8 s'",
             hand=f"row({', '.join(['null'] * 16)})::effect_hand"), NO_ENTRY),
    Attack(
        "D5", "a change under an empty hand", ("worker",),
        step("dispatched", lease_until="'infinity'",
             hand=f"row({', '.join(['null'] * 16)})::effect_hand"),
        "a change needs its entry", guards=(
            Guard("effect", "c_quiet"), Guard("effect", "d_results"))),
    Attack(
        "D5", "a hand without a kind", ("worker",),
        step("unknown", hand=hand("x", "worker").replace("'x'", "null")), NO_ENTRY),
    Attack(
        "D5", "a hand without an actor", ("worker",),
        step("unknown", hand=hand("x", "worker").replace("'worker'", "null")), NO_ENTRY),
    Attack(
        "D25", "a note beside a body, of which one would have no digest", ("worker",),
        step("unknown", hand=hand("answer", "worker", body=BODY, note="'unproven'")), NO_ENTRY,
        guards=(Lines("file_entry", "or h.body is not null and h.note is not null", ""),)),
    Attack(
        "D5", "a cause without an entry", ("worker",), step("unknown", cause="'reset'"),
        "a change needs its entry",
        guards=(Guard("effect", "c_quiet"), Guard("effect", "d_results"))),
    Attack(
        "D5", "a lease that is made longer", ("worker",),
        step("dispatched", lease_until="'infinity'", hand=answered()), "results move only with",
        guards=(Guard("effect", "d_results"),)),
    Attack(
        "D21", "another receipt for a confirmed effect, with an entry", ("worker",),
        step("confirmed", provider_result_id="'obj-forged'", hand=answered()),
        "results move only with", guards=(Guard("effect", "d_results"),)),
    Attack(
        "D5", "a hand that stays", ("owner",), step("unknown", hand=hand("x", "worker")),
        "nothing_in_hand", before="alter table effect disable trigger b_file;"
        " alter table effect disable trigger c_quiet",
        guards=(Guard("effect", "nothing_in_hand"),)),
    Attack(
        "D4", "from prepared straight to confirmed", ("worker",),
        move("prepared", 4, answered(), also=RECEIPT), "legal_edge",
        guards=(Guard("entry", "legal_edge"),)),
    Attack(
        "D4", "a worker confirms an unknown effect", ("worker",),
        move("unknown", 4, answered(), also=RECEIPT), "legal_edge",
        guards=(Guard("entry", "legal_edge"),)),
    Attack(
        "D4", "a confirmed effect is rejected", ("worker",),
        move("confirmed", 5, answered(), also="reject_kind = 'provider_declined'"), "legal_edge",
        guards=(Guard("entry", "legal_edge"),)),
    Attack(
        "D4", "a rejected effect comes back", ("worker",), move("rejected", 1, answered()),
        "legal_edge", guards=(Guard("entry", "legal_edge"),)),
    Attack(
        "D9", "an operator's edge without a resolution", ("worker",),
        move("unknown", 4, hand("answer", "operator"), also=RECEIPT), "legal_edge",
        guards=(Guard("entry", "legal_edge"), Guard("entry", "login_is_actor"))),
    Attack(
        "D9", "an operator's edge with an invented resolution", ("worker",),
        move("unknown", 4, hand("decision", "operator", resolution_id="gen_random_uuid()"),
             also=RECEIPT), "23502"),
    Attack(
        "D9", "an operator's edge with the resolution of another effect", ("worker",),
        move("unknown", 4, hand("decision", "operator", resolution_id="%(applied)s"),
             also=RECEIPT), "login_is_actor",
        guards=(Guard("entry", "login_is_actor"), Guard("entry", "entry_rests_on_application"))),
    Attack(
        "D9", "evidence that calls itself a decision", ("worker",),
        step("unknown", hand=hand("decision", "worker")), "decision_is_applied",
        guards=(Guard("entry", "decision_is_applied"),)),
    Attack(
        "D8", "evidence in the operator's name", ("worker",),
        step("unknown", hand=hand("lookup", "operator", body=BODY)), "login_is_actor",
        guards=(Guard("entry", "login_is_actor"),)),
)  # fmt: skip

ANY_KIND = Lines(
    "refuse_unproven", "if n.state = 5 and n.reject_kind", "if false and n.reject_kind"
)
TOLD = Lines("refuse_unproven", "if o.state = 2 and (n.state = 4", "if false and (n.state = 4")
DECLINED = "reject_kind = 'provider_declined', declined_code = 'x'"
PROOFS = (
    Attack(
        "D21", "confirmed with nothing found", ("worker",),
        move("dispatched", 4, answered(), also=RECEIPT), "only with what it found",
        guards=(TOLD,)),
    Attack(
        "D21", "confirmed on what only fits", ("worker",),
        move("dispatched", 4, FOUND.replace("exact", "likely"), also=RECEIPT),
        "only with what it found", guards=(TOLD,)),
    Attack(
        "D21", "confirmed with another object than was found", ("worker",),
        move("dispatched", 4, FOUND.replace("obj-forged", "obj-other"), also=RECEIPT),
        "only with what it found", guards=(TOLD,)),
    Attack(
        "D21", "rejected on an answer that refuses nothing", ("worker",),
        move("dispatched", 5, answered(), also=DECLINED), "only with what it found",
        guards=(TOLD,)),
    Attack(
        "D21", "rejected although the answer found it", ("worker",),
        move("dispatched", 5, FOUND, also=DECLINED), "only with what it found",
        guards=(TOLD,)),
    Attack(
        "D21", "dispatched without a lease", ("worker",), step(
            "prepared", state="2", hand=hand("sent", "worker", due_at="now()")),
        "dispatched_has_a_lease", guards=(Guard("effect", "dispatched_has_a_lease"),)),
    Attack(
        "D21", "unknown without a cause", ("worker",), move("dispatched", 3, answered()),
        "unknown_has_a_cause", guards=(Guard("effect", "unknown_has_a_cause"),)),
    Attack(
        "D21", "confirmed without a digest of the answer", ("worker",),
        move("dispatched", 4, FOUND,
             also="provider_result_id = 'obj-forged', completed_at = now()"),
        "confirmed_has_a_receipt", guards=(Guard("effect", "confirmed_has_a_receipt"),)),
    Attack(
        "D21", "confirmed with an empty digest", ("worker",),
        move("dispatched", 4, FOUND, also=RECEIPT.replace(DIGEST, "''::bytea")),
        "confirmed_has_a_receipt", guards=(Guard("effect", "confirmed_has_a_receipt"),)),
    Attack(
        "D21", "confirmed with a receipt of no name", ("worker",),
        move("dispatched", 4, FOUND.replace("obj-forged", ""),
             also=RECEIPT.replace("obj-forged", "")),
        "confirmed_has_a_receipt", guards=(Guard("effect", "confirmed_has_a_receipt"),)),
    Attack(
        "D21", "an answer that nobody kept", ("worker",),
        move("dispatched", 4, FOUND.replace(f"null, {BODY}", "'trust me', null"), also=RECEIPT),
        "only with its body", guards=(
            Lines("refuse_unproven", "and h.body is null", "and false"),)),
    Attack(
        "D21", "put back to be sent again without the answer", ("worker",),
        move("dispatched", 1, hand("returned", "worker")), "only with its body",
        guards=(Lines("refuse_unproven", "and h.body is null", "and false"),)),
    Attack(
        "D21", "a worker proves absence", ("worker",),
        move("dispatched", 5, REFUSED,
             also="reject_kind = 'absence_proven', declined_code = 'x'"),
        "kind of rejection", guards=(ANY_KIND,)),
    Attack(
        "D21", "rejected without a kind", ("worker",),
        move("dispatched", 5, REFUSED, also="declined_code = 'x'"), "kind of rejection",
        guards=(ANY_KIND, Guard("effect", "rejected_has_a_kind"))),
    Attack(
        "D21", "rejected without a code", ("worker",),
        move("dispatched", 5, REFUSED, also="reject_kind = 'provider_declined'"),
        "names the code", guards=(
            Lines("refuse_unproven", "and n.declined_code is null", "and false"),)),
    Attack(
        "D20", "the receipt of another effect", ("worker",),
        move("dispatched", 4, FOUND.replace("'obj-forged'", "%(confirmed_object)s"),
             also=RECEIPT.replace("'obj-forged'", "%(confirmed_object)s")),
        "one_receipt_one_effect", guards=(Guard("effect_ref", "one_receipt_one_effect"),)),
    Attack(
        "D20", "an object that evidence calls a receipt", ("worker",),
        step("unknown", hand=hand("lookup", "reconciler", body=BODY, refs="'{receipt:x}'")),
        "a receipt comes with its confirmation", guards=(
            Lines("file_entry", "if exists (select from unnest(h.refs)",
                  "if false and exists (select from unnest(h.refs)"),)),
    Attack(
        "D20", "a reference of no known kind", ("worker",),
        step("unknown", hand=hand("lookup", "reconciler", body=BODY, refs="'{bogus:x}'")),
        "effect_ref_kind_check", guards=(Guard("effect_ref", "effect_ref_kind_check"),)),
    Attack(
        "D22", "a lease is taken away that still runs", ("worker",),
        move("dispatched", 3, hand("lease_lost", "reaper"), also="cause = 'lease_lost'"),
        "the lease still runs", guards=(
            Lines("refuse_unproven", "if h.actor = 'reaper' and", "if false and"),)),
    Attack(
        "L16", "sent after its time", ("worker",), step("late", **CLAIM), "dispatch_too_late",
        guards=(Lines("refuse_unproven", "if n.state = 2 and (", "if false and ("),)),
    Attack(
        "L16", "sent again when the provider may forget the key", ("worker",),
        step("retried", **CLAIM), "dispatch_too_late",
        before="set local session_replication_role = replica;"
        " update effect set key_until = now() + interval '1 h', dispatch_until = 'infinity'"
        "  where effect_id = %(retried)s; set local session_replication_role = origin",
        guards=(Lines("refuse_unproven", "if n.state = 2 and (", "if false and ("),)),
    Attack(
        "D7", "the same object twice on its way", ("worker",), step("neighbour", **CLAIM),
        "one_object_at_a_time", guards=(Guard("effect_open", "one_object_at_a_time"),)),
)  # fmt: skip

ATTACKS = (*BIRTHS, *IDENTITY, *MOVES, *PROOFS)
