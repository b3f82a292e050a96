"""Attacks around a decision: lookups, automation, escalations, bodies, records and rights."""

from tests.ledger.attack import RUNTIME, Attack, Granted, Guard, Lines
from tests.ledger.attacks_on_decisions import AS_WORKER, NEW, WEB, WORKER
from tests.ledger.attacks_on_effects import BODY, RECEIPT, RIGHTS, hand, move, step


def lookup(by: str, of: str = "%(unknown)s", tenant: str = "%(tenant)s") -> str:
    """The SQL that asks for a lookup."""
    return (
        "insert into lookup (tenant_id, lookup_id, effect_id, asked_by)"
        f" values ({tenant}, %(fresh)s, {of}, {by})"
    )


MAY_ASK = Lines(
    "set_lookup", "(session_user = 'ascertain_web') <> (new.asked_by is not null)", "false"
)
MAY_LOOK = Lines("set_lookup", "and not holds(", "and false and not holds(")
FINISHED = AS_WORKER.format(
    "update lookup set finished_at = now(), entry_no = 1 where lookup_id = %(fresh)s"
)

LOOKUPS = (
    Attack(
        "A5", "a scheduled lookup in a person's name", WORKER, lookup("%(person)s"),
        "AS403 .*not_permitted", guards=(MAY_ASK,)),
    Attack(
        "A5", "a person's lookup in nobody's name", WEB, lookup("null"), "AS403 .*not_permitted",
        guards=(MAY_ASK,)),
    Attack(
        "A5", "a lookup in the name of somebody who may not look", WEB, lookup("%(viewer)s"),
        "AS403 .*not_permitted", guards=(MAY_LOOK,)),
    Attack(
        "A5", "a lookup takes the server's time", WORKER, lookup("null"),
        holds="select asked_at = now() from lookup where lookup_id = %(fresh)s",
        before="alter table lookup alter asked_at set default '2000-01-01'",
        guards=(Guard("lookup", "derive"),)),
    Attack(
        "D26", "a lookup in another tenant", WEB,
        lookup("%(foreigner)s", "%(foreign_exact)s", "%(other)s"), "row-level security",
        guards=(Guard("lookup", "own_tenant"),)),
    Attack(
        "A5", "two lookups of one effect at once", WORKER,
        lookup("null").replace("%(fresh)s", NEW), "one_lookup_at_a_time",
        before=AS_WORKER.format(lookup("null")), guards=(Guard("lookup", "one_lookup_at_a_time"),)),
    Attack(
        "A5", "another asker for a lookup", ("owner",),
        "update lookup set asked_by = %(person)s where lookup_id = %(fresh)s",
        "keeps who asked and when", before=AS_WORKER.format(lookup("null")),
        guards=(Guard("lookup", "kept_facts"),)),
    Attack(
        "A5", "a finished lookup finds something else", WORKER,
        "update lookup set entry_no = 7 where tenant_id = %(tenant)s and lookup_id = %(fresh)s",
        "keeps who asked and when", before=f"{AS_WORKER.format(lookup('null'))}; {FINISHED}",
        guards=(Guard("lookup", "kept_facts"),)),
    Attack(
        "A5", "a lookup by a login that asks nothing", ("workflow", "auth", "sealer", "auditor"),
        lookup("null"), RIGHTS),
)  # fmt: skip

FOUND = hand(
    "settled_itself", "reconciler", lookup_id="%(fresh)s", body=BODY, finding="'exact'",
    object_id="'obj-forged'")  # fmt: skip
FAILED = FOUND.replace("'exact'", "'failed_object'")
SETTLES = Lines("refuse_unproven", "if h.actor = 'reconciler' and", "if false and")


def switched_on(ceiling: str, *, version: str = "100", operation: str = "pay") -> str:
    """The SQL of a policy that lets automation settle up to a ceiling."""
    return (
        f"insert into policy (tenant_id, version) values (%(tenant)s, {version});"
        f" insert into policy_auto_settle values"
        f" (%(tenant)s, {version}, 'testbank', '{operation}', 'EUR', {ceiling})"
    )


def settling(name: str, sql: str, *, policy: str, asked: str = "") -> Attack:
    """A confirmation or rejection by automation that its policy, lookup or finding forbids."""
    asked = asked or AS_WORKER.format(lookup("null"))
    return Attack(
        "T11", name, WORKER, sql, "automation settles nothing here", before=f"{asked}; {policy}",
        guards=(SETTLES,))  # fmt: skip


CONFIRMING = move("unknown", 4, FOUND, also=RECEIPT)
AUTOMATION = (
    settling("settled where no policy says so", CONFIRMING, policy="select 1"),
    settling("settled above the ceiling", CONFIRMING, policy=switched_on("4199")),
    settling("settled up to no ceiling", CONFIRMING, policy=switched_on("null")),
    settling(
        "settled by a policy that was replaced", CONFIRMING,
        policy=f"{switched_on('null', version='98').replace('null', '10^9::int')};"
        " insert into policy (tenant_id, version) values (%(tenant)s, 99)"),
    settling(
        "settled by another operation's policy", CONFIRMING,
        policy=switched_on("1000000", operation="pay_freely")),
    settling(
        "settled by a lookup that a person asked for", CONFIRMING, policy=switched_on("1000000"),
        asked="set local session authorization ascertain_web; select set_config("
        "'ascertain.tenant', %(tenant)s::text, true); "
        + lookup("%(person)s") + "; reset session authorization"),
    settling(
        "settled by no lookup", CONFIRMING.replace("%(fresh)s", NEW),
        policy=switched_on("1000000")),
    settling(
        "settled by a finished lookup", CONFIRMING, policy=switched_on("1000000"),
        asked=f"{AS_WORKER.format(lookup('null'))}; {FINISHED}"),
    settling(
        "settled by the lookup of another effect", CONFIRMING, policy=switched_on("1000000"),
        asked=AS_WORKER.format(lookup("null", "%(exact)s"))),
    settling(
        "settled on a difference", CONFIRMING.replace("'exact'", "'differs'"),
        policy=switched_on("1000000")),
    settling(
        "settled on another object than was found",
        CONFIRMING.replace("'obj-forged'),", "'obj-other'),").replace(
            "provider_result_id = 'obj-forged'", "provider_result_id = 'obj-another'"),
        policy=switched_on("1000000")),
    settling(
        "rejected on absence",
        move("unknown", 5, FOUND.replace("'exact'", "'absent'"),
             also="reject_kind = 'absence_proven'"), policy=switched_on("1000000")),
    settling(
        "rejected where no policy says so",
        move("unknown", 5, FAILED, also="reject_kind = 'provider_declined'"), policy="select 1"),
)  # fmt: skip


def escalation(**changes: str) -> str:
    """The SQL that names somebody who must act."""
    columns = {
        "tenant_id": "%(tenant)s", "escalation_id": "%(fresh)s", "effect_id": "%(unknown)s",
        "command_id": NEW, "person_id": "%(person)s", "account_id": "%(account)s",
        "owner": "'team'", "reason_code": "'other'", "words": "'please look'",
        "next_check_at": "now()", **changes}  # fmt: skip
    return f"insert into escalation ({', '.join(columns)}) values ({', '.join(columns.values())})"


NOBODY = {"person_id": "null", "account_id": "null"}
ESCALATIONS = (
    Attack(
        "D8", "a person's escalation in nobody's name", WEB, escalation(**NOBODY),
        "AS403 .*not_permitted", guards=(
            Lines("escalate", "by_person <> (new.person_id is not null)", "false"),
            Lines("escalate", "or by_person", "or false"))),
    Attack(
        "D8", "an escalation by itself in a person's name", WORKER, escalation(),
        "AS403 .*not_permitted", guards=(
            Lines("escalate", "by_person <> (new.person_id is not null)", "false"),)),
    Attack(
        "D8", "an escalation by somebody who may not", WEB,
        escalation(person_id="%(viewer)s", account_id="%(viewer_account)s"),
        "AS403 .*not_permitted", guards=(
            Lines("escalate", "(not holds(", "(false and not holds("),)),
    Attack(
        "D8", "an escalation through somebody else's account", WEB,
        escalation(account_id="%(viewer_account)s"), "AS403 .*not_permitted", guards=(
            Lines("escalate", "or not exists (select from account",
                  "or false and not exists (select from account"),)),
    Attack(
        "D8", "an escalation of a settled effect", WEB, escalation(effect_id="%(confirmed)s"),
        "AS409 .*moved", guards=(Lines("escalate", "and state = 3;", ";"),)),
    Attack(
        "D8", "an escalation to nobody", WEB, escalation(owner="''"), "escalation_owner_check",
        guards=(Guard("escalation", "escalation_owner_check"),)),
    Attack(
        "D8", "an escalation without a reason", WEB, escalation(reason_code="''"),
        "escalation_reason_code_check",
        guards=(Guard("escalation", "escalation_reason_code_check"),)),
    Attack(
        "D25", "an escalation files its entry", WEB, escalation(),
        holds="select max(kind) filter (where no = e.version) = 'escalated' from entry"
        " join effect e using (tenant_id, effect_id) where effect_id = %(unknown)s",
        guards=(Guard("escalation", "files"),)),
    Attack(
        "D25", "an escalation takes the server's time", WORKER, escalation(**NOBODY),
        holds="select at = now() from escalation where escalation_id = %(fresh)s",
        before="alter table escalation alter at set default '2000-01-01'",
        guards=(Guard("escalation", "derive"),)),
    Attack(
        "D26", "an escalation in another tenant", WEB, escalation(
            tenant_id="%(other)s", effect_id="%(foreign_exact)s", person_id="%(foreigner)s",
            account_id="%(foreigner_account)s"), "row-level security",
        guards=(Guard("escalation", "own_tenant"),)),
    Attack(
        "D8", "an escalation by a login that decides nothing",
        ("workflow", "auth", "sealer", "auditor"), escalation(), RIGHTS),
)  # fmt: skip

ERASED = "delete from payload where effect_id = %(unknown)s and no = 1"
BODIES = (
    Attack(
        "D25", "another request for the one that was erased", ("workflow",),
        "insert into payload values (%(tenant)s, %(unknown)s, 1, '', '{\"to\":\"mallory\"}')",
        "match its entry", before=ERASED, guards=(Guard("payload", "matches"),)),
    Attack(
        "D25", "another body for evidence that was erased", ("workflow",),
        "insert into payload values (%(tenant)s, %(exact)s, %(exact_no)s, '', '{}')",
        "match its entry", before="delete from payload where effect_id = %(exact)s and no > 1",
        guards=(Guard("payload", "matches"),)),
    Attack(
        "D25", "a body where no entry is", ("workflow",),
        "insert into payload values (%(tenant)s, %(exact)s, 99, '', '{}')", "match its entry",
        guards=(Guard("payload", "matches"),)),
    Attack(
        "D25", "evidence of more than 256 KiB", WORKER,
        step("unknown", hand=hand(
            "answer", "worker", body="convert_to(repeat('x', 262145), 'UTF8')")),
        "payload_body_check", guards=(Guard("payload", "payload_body_check"),)),
    Attack(
        "D6", "an entry by hand", ("worker", "web", "workflow", "auth", "sealer", "auditor"),
        "insert into entry select tenant_id, effect_id, 99, kind, to_state, to_state, 'worker',"
        " 'ascertain_worker', null, at, note, finding, object_id, proof, hash from entry"
        " where tenant_id = %(tenant)s and effect_id = %(unknown)s and no = 1", RIGHTS,
        guards=(Granted("grant insert on entry to public"),)),
    Attack(
        "D7", "an entry under a number that is taken", ("owner",),
        "insert into entry select * from entry where effect_id = %(unknown)s and no = 1",
        "23505 entry_pkey", guards=(Guard("entry", "entry_pkey"),)),
    Attack(
        "D25", "a record in another login's name", WEB,
        "insert into record (tenant_id, record_id, kind, body, login)"
        f" values (%(tenant)s, {NEW}, 'x', '{{}}', 'ascertain_worker')", RIGHTS,
        guards=(Granted("grant insert on record to ascertain_web"),)),
    Attack(
        "W5", "an ending heard twice", ("workflow",),
        "update resumption set acknowledged_at = now() where tenant_id = %(tenant)s"
        " and effect_id = %(confirmed)s", "acknowledged once",
        before="update resumption set acknowledged_at = now() where effect_id = %(confirmed)s",
        guards=(Guard("resumption", "once"),)),
    Attack(
        "P1", "a contract that neither blocks nor warns", ("owner",),
        "insert into contract select provider, operation, '2', body, digest, key_window_seconds,"
        " dispatch_within_seconds, lease_seconds, 'maybe', has_amount from contract"
        " where provider = 'testbank' and operation = 'pay'", "contract_freeze_mode_check",
        guards=(Guard("contract", "contract_freeze_mode_check"),)),
)  # fmt: skip

POWERS = tuple(
    Attack("D2", name, RUNTIME, sql, refusal)
    for name, sql, refusal in (
        ("triggers switched off for a session", "set session_replication_role = replica", RIGHTS),
        ("triggers switched off on a table", "alter table entry disable trigger all", RIGHTS),
        ("a table dropped", "drop table payload", RIGHTS),
        ("a function replaced", "create or replace function refuse() returns trigger language "
         "plpgsql as $$ begin return new; end $$", RIGHTS),
        ("a function of one's own", "create function public.now() returns timestamptz language sql"
         " as $$ select '2000-01-01'::timestamptz $$", RIGHTS),
        ("a temporary table", "create temporary table entry (no int)", RIGHTS),
        ("a temporary function", "create function pg_temp.f() returns int language sql as"
         " $$ select 1 $$", RIGHTS),
        ("a schema of one's own", "create schema mine", RIGHTS),
        ("another login taken", "set role ascertain_owner", RIGHTS),
        ("the wall taken down", "alter table effect disable row level security", RIGHTS),
        ("a read past the wall", "alter role current_user bypassrls", RIGHTS),
        ("a program run", "copy (select 1) to program 'true'", RIGHTS),
        ("a file read", "select pg_read_file('/etc/hostname')", RIGHTS),
    )
)  # fmt: skip

ATTACKS = (*LOOKUPS, *AUTOMATION, *ESCALATIONS, *BODIES, *POWERS)
