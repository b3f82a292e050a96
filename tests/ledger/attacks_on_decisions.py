"""Attacks on decisions: forged proposals, skipped approval, stale or contrary evidence, lookups."""

from tests.ledger.attack import Attack, Guard, Lines
from tests.ledger.attacks_on_effects import BODY, RIGHTS, hand, step

NEW = "gen_random_uuid()"
PROPOSED = {
    "tenant_id": "%(tenant)s",
    "resolution_id": "%(fresh)s",
    "effect_id": "%(exact)s",
    "command_id": NEW,
    "action": "'accept'",
    "version": "%(exact_version)s",
    "receipt_id": "%(exact_object)s",
    "evidence": "array[%(exact_no)s]",
    "reason_code": "'found_by_key'",
    "words": "'as found'",
    "person_id": "%(person)s",
    "account_id": "%(account)s",
}
APPLIED = "insert into application (tenant_id, resolution_id) values (%(tenant)s, %(fresh)s)"
WEB, WORKER = ("web",), ("worker",)
AS_WORKER = "set local session authorization ascertain_worker; {}; reset session authorization"
PAST_TRIGGERS = (
    "set local session_replication_role = replica; {}; set local session_replication_role = origin"
)

LIKELY = AS_WORKER.format(
    step("unknown", hand=hand("lookup", "reconciler", body=BODY, finding="'likely'",
                              object_id="'obj-likely'")))  # fmt: skip


def proposal(of: str = "exact", **changes: str) -> str:
    """The SQL of a resolution about one of the scene's effects, by default its acceptance."""
    columns = dict(PROPOSED)
    if of != "exact":
        columns |= {
            "effect_id": f"%({of})s",
            "version": f"%({of}_version)s",
            "evidence": f"array[%({of}_no)s]",
            "receipt_id": f"%({of}_object)s",
        }
    if changes.get("action", "'accept'") != "'accept'":
        columns["receipt_id"] = "null"
    columns |= changes
    return f"insert into resolution ({', '.join(columns)}) values ({', '.join(columns.values())})"


def copied(table: str, changes: str) -> str:
    """The SQL of a row like the scene's applied one, with `changes` as a JSON object."""
    return (
        f"insert into {table} select (jsonb_populate_record(r, {changes})).* from {table} r"
        " where tenant_id = %(tenant)s and resolution_id = %(applied)s"
    )


def applying(rule: str, name: str, refusal: str, *guards: Guard | Lines, **terms: str) -> Attack:
    """An application by web of a proposal that stands; `before` may change what it rests on."""
    parts = (terms.get("found"), terms.get("proposed", proposal()), terms.get("before"))
    before = "; ".join(part for part in parts if part)
    return Attack(rule, name, WEB, APPLIED, refusal, guards=guards, before=before)


PROPOSALS = (
    Attack(
        "D9", "a proposal by somebody who may not propose", WEB,
        proposal(person_id="%(viewer)s", account_id="%(viewer_account)s"), "AS403 .*not_permitted",
        guards=(Lines("set_resolution", "if not holds(", "if false and not holds("),)),
    Attack(
        "D9", "a proposal by a person of another tenant", WEB,
        proposal(person_id="%(foreigner)s", account_id="%(foreigner_account)s"),
        "AS403 .*not_permitted"),
    Attack(
        "D9", "a proposal through somebody else's account", WEB,
        proposal(account_id="%(viewer_account)s"), "AS403 .*not_permitted",
        guards=(Lines("set_resolution", "or not exists (select from account",
                      "or false and not exists (select from account"),)),
    Attack(
        "D26", "a proposal about an effect of another tenant", WEB,
        proposal(effect_id="%(foreign_exact)s"), "AS404 .*effect_unknown"),
    Attack(
        "D26", "a proposal in another tenant", WEB, proposal(
            "foreign_exact", tenant_id="%(other)s", person_id="%(foreigner)s",
            account_id="%(foreigner_account)s"), "row-level security",
        guards=(Guard("resolution", "own_tenant"),)),
    Attack(
        "D10", "a proposal without evidence", WEB, proposal(evidence="array[]::int[]"),
        "AS422 .*evidence_unknown"),
    Attack(
        "D10", "a proposal with no evidence, past its trigger", ("owner",),
        copied("resolution", "'{\"evidence\": [], \"resolution_id\":"
               " \"00000000-0000-0000-0000-000000000001\", \"command_id\":"
               " \"00000000-0000-0000-0000-000000000001\"}'"),
        "resolution_evidence_check", before="alter table resolution disable trigger derive",
        guards=(Guard("resolution", "resolution_evidence_check"),)),
    Attack(
        "D10", "a proposal with evidence that is not there", WEB, proposal(evidence="array[99]"),
        "AS422 .*evidence_unknown"),
    Attack(
        "D10", "evidence counted twice", WEB,
        proposal(evidence="array[%(exact_no)s, %(exact_no)s]"), "AS422 .*evidence_unknown"),
    Attack(
        "D9", "an action that is none", WEB, proposal(action="'pay_me'"),
        "resolution_action_check", guards=(Guard("resolution", "resolution_action_check"),)),
    Attack(
        "D9", "a proposal without a reason", WEB, proposal(reason_code="''"),
        "resolution_reason_code_check",
        guards=(Guard("resolution", "resolution_reason_code_check"),)),
    Attack(
        "D9", "an acceptance without a receipt", WEB, proposal(receipt_id="null"),
        "accept_names_a_receipt", guards=(Guard("resolution", "accept_names_a_receipt"),)),
    Attack(
        "D13", "one's own bar", WEB, proposal("above", people_required="1"), RIGHTS),
    Attack(
        "D13", "a bar that is set, not taken", ("owner",),
        copied("resolution", "jsonb_build_object('people_required', 7, 'resolution_id', %(fresh)s,"
               " 'command_id', %(fresh)s)"),
        holds="select people_required = 1 from resolution where resolution_id = %(fresh)s",
        guards=(Guard("resolution", "derive"),)),
    Attack(
        "D9", "a proposal by a login that decides nothing",
        ("worker", "workflow", "auth", "sealer", "auditor"), proposal(), RIGHTS),
)  # fmt: skip

UNDER_THE_TIER = Lines("apply_resolution", ") > 1 then", ") > 99 then")
FOUNDED = Lines("apply_resolution", "perform refuse_unfounded(r, e, relied);", "")
MOVED = Lines(
    "apply_resolution", "if e.state <> r.from_state or e.version <> r.version then", "if false then"
)

APPLICATIONS = (
    Attack(
        "D9", "an application of no resolution", WEB, APPLIED, "AS404 .*resolution_unknown"),
    Attack(
        "D26", "an application of another tenant's resolution", WEB,
        "insert into application (tenant_id, resolution_id)"
        " values (%(tenant)s, %(foreign_resolution)s)", "AS404 .*resolution_unknown"),
    Attack(
        "D26", "an application in another tenant", WEB,
        "insert into application (tenant_id, resolution_id)"
        " values (%(other)s, %(foreign_resolution)s)", "row-level security",
        guards=(Guard("application", "own_tenant"),)),
    Attack(
        "D9", "an application by a login that decides nothing",
        ("worker", "workflow", "auth", "sealer", "auditor"), APPLIED, RIGHTS, before=proposal()),
    Attack(
        "D9", "an application that says itself where it leads", WEB,
        "insert into application (tenant_id, resolution_id, to_state)"
        " values (%(tenant)s, %(fresh)s, 4)", RIGHTS, before=proposal()),
    applying(
        "D9", "an application moves the effect", "", Guard("application", "applied")),
    applying(
        "D12", "alone at the tier", "AS403 .*second_person_needed", UNDER_THE_TIER,
        proposed=proposal("above")),
    applying(
        "D12", "alone in a currency that the policy does not know",
        "AS403 .*second_person_needed", UNDER_THE_TIER, proposed=proposal("foreign_money")),
    applying(
        "D14", "under a bar that was raised meanwhile", "AS403 .*second_person_needed",
        Lines("apply_resolution", "(select max(version) from policy where tenant_id = r.tenant_id)",
              "r.policy_version"),
        before="insert into policy (tenant_id, version) values (%(tenant)s, 100);"
        " insert into policy_tier values (%(tenant)s, 100, '*', 'EUR', 1, null)"),
    applying(
        "D14", "under a bar that was lowered meanwhile", "AS403 .*second_person_needed",
        Lines("apply_resolution", "greatest(r.people_required, ", "greatest(1, "),
        proposed=proposal("above"),
        before="insert into policy (tenant_id, version) values (%(tenant)s, 100);"
        " insert into policy_tier values (%(tenant)s, 100, '*', 'EUR', null, null)"),
    applying(
        "D15", "after 24 hours", "AS410 .*lapsed",
        Lines("apply_resolution", "if r.expires_at <= now() then", "if false then"),
        before=PAST_TRIGGERS.format(
            "update resolution set expires_at = now() where resolution_id = %(fresh)s")),
    applying(
        "D19", "by a person whose right was taken away", "AS403 .*not_permitted",
        Lines("apply_resolution", "if not holds(r.person_id", "if false and not holds(r.person_id"),
        before="delete from tenant_grant where user_id = %(account)s"),
    applying(
        "D19", "by a person whose right has run out", "AS403 .*not_permitted",
        Lines("holds", "and (g.expires_at is null or g.expires_at > now())", ""),
        before="update tenant_grant set expires_at = now() where user_id = %(account)s"),
    applying(
        "D19", "by a person who was disabled", "AS403 .*not_permitted",
        Lines("holds", "and p.disabled_at is null", ""),
        before="update person set disabled_at = now() where id = %(person)s"),
    applying(
        "D19", "by a person whose account was closed", "AS403 .*not_permitted",
        Lines("holds", "and a.is_active", ""),
        before="update account set is_active = false where id = %(account)s"),
    applying(
        "D10", "at a version that has passed", "AS409 .*moved", MOVED,
        Guard("entry", "entry_rests_on_application"),
        before=AS_WORKER.format(
            step("exact", hand=hand("lookup", "reconciler", body=BODY, finding="'exact'",
                                    object_id="%(exact_object)s")))),
    applying(
        "D10", "at a version that is yet to come", "AS409 .*moved", MOVED,
        Guard("entry", "entry_rests_on_application"), proposed=proposal(version="99")),
    applying(
        "D10", "on evidence that newer evidence contradicts", "AS422 .*does_not_carry",
        Lines("refuse_unfounded", "or newest.finding is distinct from 'exact' or newest.object_id"
              " is distinct from r.receipt_id", ""), proposed=proposal("contrary")),
    applying(
        "D10", "with an object that was not found", "AS422 .*does_not_carry", FOUNDED,
        proposed=proposal(receipt_id="'obj-invented'")),
    applying(
        "D10", "on evidence that found nothing", "AS422 .*does_not_carry", FOUNDED,
        proposed=proposal("absent", receipt_id="'obj-invented'")),
    applying(
        "D10", "on evidence that proves nothing", "AS422 .*does_not_carry",
        proposed=proposal(evidence="array[1]")),
    applying(
        "D20", "on the receipt of another effect", "one_receipt_one_effect",
        Guard("effect_ref", "one_receipt_one_effect"), proposed=proposal("twin")),
    applying(
        "T13", "rejected although it was found", "AS422 .*does_not_carry", FOUNDED,
        proposed=proposal(action="'reject'")),
    applying(
        "T13", "rejected although it was seen before", "AS422 .*does_not_carry",
        Lines("refuse_unfounded", "or happened then", "then"),
        proposed=proposal("seen_before", action="'reject'")),
    applying(
        "T13", "rejected on a look before the last sending", "AS422 .*does_not_carry",
        Lines("refuse_unfounded", "if relied.at <= e.last_attempt_at then", "if false then"),
        proposed=proposal("absent", action="'reject'"),
        before=PAST_TRIGGERS.format(
            "update effect set last_attempt_at = now() where effect_id = %(absent)s")),
    applying(
        "T15", "sent again although it was found", "AS422 .*does_not_carry", FOUNDED,
        proposed=proposal(action="'redispatch'")),
    applying(
        "T15", "sent again when the key may be forgotten", "AS410 .*retry_closed", FOUNDED,
        proposed=proposal("brief_key", action="'redispatch'")),
    applying(
        "T15", "sent again without a key", "AS410 .*retry_closed",
        proposed=proposal("unkeyed", action="'redispatch'")),
    applying(
        "T15", "sent again on an old look", "AS410 .*retry_closed", FOUNDED,
        proposed=proposal("absent", action="'redispatch'"),
        before=PAST_TRIGGERS.format(
            "update entry set at = at - interval '11 min' where effect_id = %(absent)s;"
            " update effect set last_attempt_at = last_attempt_at - interval '12 min'"
            " where effect_id = %(absent)s")),
    applying(
        "T20", "a row taken in is sent again", "AS403 .*second_person_needed|AS410 .*retry_closed",
        proposed=proposal("taken_in", action="'redispatch'")),
    applying(
        "T20", "a row taken in is rejected alone on absence", "AS403 .*second_person_needed",
        Lines("refuse_unfounded", "and n.no = 1 and n.kind = 'taken_in'", "and false"),
        proposed=proposal("taken_in", action="'reject'")),
    applying(
        "T14", "alone on what only fits", "AS403 .*second_person_needed",
        proposed=proposal("unknown", receipt_id="'obj-likely'", version="4", evidence="array[4]"),
        found=LIKELY),
    Attack(
        "D9", "one resolution applied twice", WEB, APPLIED, "23505 application_pkey",
        before=f"{proposal()}; {AS_WORKER.format('select 1')}; "
        + APPLIED.join(("set local session authorization ascertain_web;"
                        " select set_config('ascertain.tenant', %(tenant)s::text, true); ",
                        "; reset session authorization"))),
    Attack(
        "D10", "an application with another digest", ("owner",),
        copied("application", "jsonb_build_object('digest', '\\x00', 'resolution_id', %(fresh)s)"),
        "application_carries_its_resolution",
        before=f"{proposal()}; alter table application disable trigger derive;"
        " alter table application disable trigger applied",
        guards=(Guard("application", "application_carries_its_resolution"),)),
    Attack(
        "D10", "an application of another entry", ("owner",),
        copied("application", "jsonb_build_object('no', 77, 'resolution_id', %(fresh)s)"),
        "application_check",
        before="alter table application disable trigger derive;"
        " alter table application disable trigger applied;"
        " alter table application drop constraint application_carries_its_resolution",
        guards=(Guard("application", "application_check"),)),
    Attack(
        "D15", "an application with a time of its own", ("owner",),
        copied("application", "jsonb_build_object('applied_at', '2000-01-01', 'resolution_id',"
               " %(fresh)s)"),
        holds="select applied_at = now() from application where resolution_id = %(fresh)s",
        before=f"{proposal()}; alter table application disable trigger applied;"
        " alter table application drop constraint application_carries_its_resolution",
        guards=(Guard("application", "derive"),)),
)  # fmt: skip

ATTACKS = (*PROPOSALS, *APPLICATIONS)
