"""The rights in PostgreSQL's catalog are the ones listed here, and no login has any other."""

from typing import Any

import pytest
from django.db import connection

from tests.ledger.attack import RUNTIME

pytestmark = pytest.mark.usefixtures("database")

READERS = {
    "effect entry payload": "auditor sealer web worker workflow",
    "effect_open resumption": "auditor web worker workflow",
    "resolution application escalation record": "auditor sealer web worker",
    "effect_ref lookup policy policy_tier policy_auto_settle": "auditor web worker",
    "tenant contract": "auditor sealer web worker workflow",
    "person": "auditor auth sealer web worker workflow",
    "account": "auth",
    "tenant_grant": "auditor auth web",
}
BIRTH = (
    "account amount_minor contract_version currency digest_version distinct_because effect_id"
    " environment exponent hand initiator_id intent_key object_ref object_type operation provider"
    " provider_key recipient_label recipient_token request_digest step_id tenant_id workflow_id"
)
RECORDING = "account_id body kind object_id object_type person_id record_id tenant_id"
HANDOVER = (
    "account_id command_id effect_id escalation_id next_check_at owner person_id reason_code"
    " tenant_id words"
)
SIGNED_IN = "date_joined density email id is_active last_login person_id theme username zone"
ASKING = "asked_by effect_id lookup_id tenant_id"
PROPOSING = (
    "account_id action command_id effect_id evidence person_id reason_code receipt_id"
    " resolution_id tenant_id version words"
)
RESULTS = (
    "cause completed_at declined_code hand lease_until provider_completed_at provider_result_id"
    " reject_kind response_digest server_error state"
)
# What a login may write, or read in part: table, right, login, columns.
COLUMNS = {
    ("account", "SELECT", "auditor", SIGNED_IN),
    ("account", "SELECT", "web", SIGNED_IN),
    ("account", "UPDATE", "auth", "density last_login password theme zone"),
    ("application", "INSERT", "web", "resolution_id tenant_id"),
    ("effect", "INSERT", "workflow", BIRTH),
    ("effect", "INSERT", "worker", BIRTH.replace("hand", "first_attempt_at hand")),
    ("effect", "UPDATE", "worker", RESULTS),
    ("effect_open", "UPDATE", "worker", "due_at priority rank_minor rank_until"),
    ("escalation", "INSERT", "web", HANDOVER),
    ("escalation", "INSERT", "worker", HANDOVER),
    ("lookup", "INSERT", "web", ASKING),
    ("lookup", "INSERT", "worker", ASKING),
    ("lookup", "UPDATE", "worker", "entry_no finished_at progress started_at"),
    ("payload", "INSERT", "worker", "body effect_id no salt tenant_id"),
    ("payload", "INSERT", "workflow", "body effect_id no salt tenant_id"),
    ("record", "INSERT", "auth", RECORDING),
    ("record", "INSERT", "web", RECORDING),
    ("record", "INSERT", "worker", RECORDING),
    ("record", "INSERT", "workflow", RECORDING),
    ("resolution", "INSERT", "web", PROPOSING),
    ("resumption", "UPDATE", "workflow", "acknowledged_at"),
}
TABLES = {name for names in READERS for name in names.split()}


def ask(statement: str, *params: Any) -> set[tuple[Any, ...]]:
    """The rows of a statement, as the owner."""
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return set(cursor.fetchall())


def test_who_may_read_the_record_is_listed_here() -> None:
    granted = ask(
        "select table_name::text, replace(grantee, 'ascertain_', '') from"
        " information_schema.table_privileges where privilege_type = 'SELECT'"
        " and grantee <> 'ascertain_owner' and table_name = any(%s)",
        list(TABLES),
    )
    assert granted == {
        (table, login)
        for tables, logins in READERS.items()
        for table in tables.split()
        for login in logins.split()
    }


def test_who_may_write_the_record_is_listed_here_column_by_column() -> None:
    granted = ask(
        "select table_name::text, privilege_type::text, replace(grantee, 'ascertain_', ''),"
        " string_agg(column_name::text, ' ' order by column_name::text)"
        " from information_schema.column_privileges p where grantee <> 'ascertain_owner'"
        " and table_name = any(%s) and privilege_type <> 'REFERENCES'"
        " and (privilege_type <> 'SELECT' or not exists (select from"
        "  information_schema.table_privileges t where (t.table_name, t.grantee, t.privilege_type)"
        "  = (p.table_name, p.grantee, p.privilege_type))) group by 1, 2, 3",
        list(TABLES),
    )
    assert granted == COLUMNS


def test_no_login_may_delete_or_empty_anything_but_its_sessions() -> None:
    granted = ask(
        "select table_name::text, privilege_type::text, grantee::text from"
        " information_schema.table_privileges where table_schema = 'public'"
        " and privilege_type in ('DELETE', 'TRUNCATE', 'TRIGGER', 'REFERENCES')"
        " and grantee <> 'ascertain_owner'"
    )
    assert granted == {("django_session", "DELETE", "ascertain_auth")}


def test_nobody_gets_a_right_by_being_anybody() -> None:
    assert not ask(
        "select relname from pg_class, aclexplode(relacl) a where a.grantee = 0"
        " and relnamespace = 'public'::regnamespace"
    )
    assert not ask(
        "select proname from pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) a"
        " where a.grantee = 0 and pronamespace = 'public'::regnamespace"
    )
    assert not ask("select * from pg_default_acl")


def test_no_runtime_login_has_a_power_or_owns_anything() -> None:
    roles = [f"ascertain_{name}" for name in RUNTIME]
    powers = ask(
        "select rolname::text from pg_roles where rolname = any(%s) and (rolsuper or rolbypassrls"
        " or rolcreaterole or rolcreatedb or rolreplication or not rolcanlogin)",
        roles,
    )
    assert not powers
    owned = ask(
        "select deptype, objid::regclass::text from pg_shdepend where deptype = 'o'"
        " and refobjid = any(%s::regrole[])",
        roles,
    )
    assert not owned
    assert not ask(
        "select roleid::regrole, member::regrole from pg_auth_members"
        " where member = any(%s::regrole[]) or roleid = any(%s::regrole[])",
        roles,
        roles,
    )


def test_every_table_with_a_tenant_stands_behind_the_wall() -> None:
    walled = {name for (name,) in ask(
        "select relname::text from pg_class where relrowsecurity and relkind = 'r'"
        " and relnamespace = 'public'::regnamespace")}  # fmt: skip
    assert walled == TABLES - {"tenant", "contract", "person", "account", "tenant_grant"}
