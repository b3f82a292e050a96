"""The tenant wall: a login sees the tenant that its transaction names, and without one nothing."""

from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections, transaction
from psycopg_pool import ConnectionPool

from ledger import access, audit
from tests.ledger.attack import RUNTIME
from tests.logins import login
from tests.servers import DatabaseServer

WALLED = ("web", "workflow", "auditor")
TABLES = (
    "effect entry payload effect_open effect_ref resolution application lookup escalation"
    " resumption record policy policy_tier policy_auto_settle"
).split()


def readable(name: str) -> list[str]:
    """The tables that the login may read at all."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select t from unnest(%s::text[]) t where has_table_privilege(%s, t, 'select')",
            (TABLES, f"ascertain_{name}"),
        )
        return [table for (table,) in cursor.fetchall()]


def tenants_seen(name: str, *, of: UUID | None) -> dict[str, set[UUID]]:
    """Whose rows the login sees in each table that it may read, in a transaction naming `of`."""
    seen, tables = {}, readable(name)
    with login(name), transaction.atomic(), connection.cursor() as cursor:
        if of is not None:
            access.enter(of)
        for table in tables:
            cursor.execute(f"select distinct tenant_id from {table}")
            seen[table] = {tenant_id for (tenant_id,) in cursor.fetchall()}
    return seen


@pytest.mark.parametrize("name", WALLED)
def test_a_login_sees_its_own_tenant_and_nothing_of_another(
    name: str, values: dict[str, Any]
) -> None:
    for own in (values["tenant"], values["other"]):
        seen = tenants_seen(name, of=own)
        assert seen
        assert set(map(frozenset, seen.values())) == {frozenset({own})}


def test_every_walled_table_has_rows_to_hide(values: dict[str, Any]) -> None:
    assert set(tenants_seen("web", of=values["other"])) == set(TABLES)


@pytest.mark.parametrize("name", WALLED)
def test_without_a_tenant_a_login_sees_nothing(name: str, values: dict[str, Any]) -> None:
    assert not any(tenants_seen(name, of=None).values())


@pytest.mark.parametrize("name", WALLED)
def test_a_named_row_of_another_tenant_is_not_there(name: str, values: dict[str, Any]) -> None:
    with login(name), transaction.atomic(), connection.cursor() as cursor:
        access.enter(values["tenant"])
        cursor.execute(
            "select 1 from effect where tenant_id = %s and effect_id = %s",
            (values["other"], values["foreign_exact"]),
        )
        assert cursor.fetchone() is None


@pytest.mark.parametrize("name", ["worker", "sealer"])
def test_the_worker_and_the_sealer_see_every_tenant(name: str, values: dict[str, Any]) -> None:
    both = {values["tenant"], values["other"]}
    seen = tenants_seen(name, of=None)
    assert seen
    assert all(both <= tenants for tenants in seen.values())


def test_every_login_is_on_one_side_of_the_wall() -> None:
    assert {*WALLED, "worker", "sealer", "auth"} == set(RUNTIME)


@pytest.mark.parametrize("text", ["", "not-a-uuid"])
def test_a_tenant_that_is_none_opens_nothing(text: str, values: dict[str, Any]) -> None:
    with login("web"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("select set_config('ascertain.tenant', %s, true)", (text,))
        try:
            with transaction.atomic():
                cursor.execute("select count(*) from effect")
                seen = cursor.fetchone()
        except Exception as error:  # noqa: BLE001 - a broken name may also be refused
            seen = (0,) if "invalid input syntax" in str(error) else (error,)
    assert seen == (0,)


def test_a_tenant_named_in_a_transaction_does_not_reach_the_next_one(
    database: DatabaseServer, values: dict[str, Any]
) -> None:
    with ConnectionPool(database.url("web"), min_size=1, max_size=1, open=True) as pool:
        with pool.connection() as first, first.transaction():
            first.execute(
                "select set_config('ascertain.tenant', %s, true)", (str(values["tenant"]),)
            )
            assert first.execute("select count(*) > 0 from effect").fetchone() == (True,)
            server = first.info.backend_pid
        with pool.connection() as second:
            assert second.info.backend_pid == server, "the pool handed out another connection"
            assert second.execute("select count(*) from effect").fetchone() == (0,)


def test_a_rolled_back_transaction_takes_its_tenant_along(values: dict[str, Any]) -> None:
    with login("web"), connection.cursor() as cursor:
        with transaction.atomic():
            access.enter(values["tenant"])
            transaction.set_rollback(True)
        with transaction.atomic():
            cursor.execute("select count(*) from effect")
            assert cursor.fetchone() == (0,)


NIL = UUID(int=0)


@pytest.mark.parametrize("name", ["web", "workflow"])
def test_a_login_files_records_of_its_own_tenant_and_of_none(
    name: str, values: dict[str, Any]
) -> None:
    with login(name), transaction.atomic():
        access.enter(values["tenant"])
        for tenant_id in (values["tenant"], NIL):
            audit.record("x", tenant_id=tenant_id, by=None, facts={})
        transaction.set_rollback(True)


def test_a_refusal_beside_a_transaction_is_filed_for_the_tenant_that_it_names(
    values: dict[str, Any],
) -> None:
    with connections["apart"].cursor() as apart, transaction.atomic():
        apart.execute("set session authorization ascertain_workflow")
        try:
            for tenant_id in (values["other"], values["tenant"]):
                audit.refused("apart", tenant_id=tenant_id, object_id="x", facts={})
                apart.execute("select current_setting('ascertain.tenant')")
                assert apart.fetchone() == (str(tenant_id),)
        finally:
            apart.execute("reset session authorization")
            apart.execute("reset ascertain.tenant")
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from record where kind = 'apart'")
        assert cursor.fetchone() == (2,)
