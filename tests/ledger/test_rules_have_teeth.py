"""Each guard taken out lets its attack through: a machine check that the guards do the work.

Everything happens in one transaction as the owner and is rolled back.
"""

from typing import Any

import pytest
from django.db import connection

from tests.ledger.attack import Attack, Guard, Lines, play
from tests.ledger.test_guards import ATTACKS

pytestmark = pytest.mark.usefixtures("database")

RECORD = (
    "effect entry payload effect_open effect_ref resolution application lookup escalation"
    " resumption record contract policy policy_tier policy_auto_settle"
).split()


@pytest.mark.parametrize("attack", [a for a in ATTACKS if a.guards], ids=str)
def test_without_its_guard_the_attack_succeeds(attack: Attack, values: dict[str, Any]) -> None:
    outcome = play(attack, attack.logins[0], values, unguarded=True)
    assert outcome.said == ""
    if attack.holds:
        assert not outcome.held


def ask(statement: str) -> list[tuple[Any, ...]]:
    """All rows, as the owner."""
    with connection.cursor() as cursor:
        cursor.execute(statement, (RECORD,))
        return list(cursor.fetchall())


def guards_of(kind: type) -> set[Any]:
    """Every guard of that kind that some attack takes out."""
    return {guard for attack in ATTACKS for guard in attack.guards if isinstance(guard, kind)}


KEPT = ("kept", "kept_whole", "unchanged")


def test_every_trigger_is_taken_out_by_some_attack() -> None:
    made = {
        Guard(table, name)
        for table, name in ask(
            "select tgrelid::regclass::text, tgname::text from pg_trigger"
            " where not tgisinternal and tgrelid::regclass::text = any(%s)"
        )
        if name not in KEPT
    }
    assert len(made) > 12
    assert sorted(map(str, made - guards_of(Guard))) == []


def test_every_check_is_taken_out_by_some_attack() -> None:
    made = {
        Guard(table, name)
        for table, name in ask(
            "select conrelid::regclass::text, conname::text from pg_constraint"
            " where contype = 'c' and conrelid::regclass::text = any(%s)"
        )
    }
    assert len(made) > 20
    assert sorted(map(str, made - guards_of(Guard))) == []


def test_every_wall_of_a_table_that_web_writes_is_taken_out_by_some_attack() -> None:
    walls = {guard.table for guard in guards_of(Guard) if guard.name == "own_tenant"}
    assert walls == {"effect", "resolution", "application", "lookup", "escalation", "record"}


def test_conditions_inside_functions_are_taken_out_too() -> None:
    assert {lines.function for lines in guards_of(Lines)} == {
        "apply_resolution", "escalate", "file_entry", "holds", "may_settle_itself",
        "refuse_unfounded", "refuse_unproven", "set_birth", "set_lookup", "set_resolution",
    }  # fmt: skip


# --- nothing disappears, nothing is rewritten (D2), table by table ---

ROWS = {"contract": "provider = 'testbank'"}
UNREFERENCED = """do $$ declare c record; begin
  for c in select conname, conrelid::regclass t from pg_constraint where contype = 'f'
      and confrelid = '{table}'::regclass loop
    execute format('alter table %%s drop constraint %%I', c.t, c.conname);
  end loop; end $$"""
ALONE = """do $$ declare g record; begin
  for g in select tgrelid::regclass t from pg_trigger where tgname = 'kept_whole'
      and tgrelid <> '{table}'::regclass loop
    execute format('drop trigger kept_whole on %%s', g.t);
  end loop; end $$"""


def standing(name: str) -> list[str]:
    """The tables that have this trigger, of those that should."""
    without = {
        "kept": {"payload", "effect_open"},
        "unchanged": {"effect", "effect_open", "lookup", "resumption"},
        "kept_whole": set(),
    }
    return [table for table in RECORD if table not in without[name]]


def erasure(name: str, table: str) -> Attack:
    """The statement that the trigger refuses even the owner."""
    rows = ROWS.get(table, "tenant_id = %(tenant)s")
    sql = {
        "kept": f"delete from {table} where {rows}",
        "unchanged": f"update {table} set ctid = ctid where {rows}",
        "kept_whole": f"truncate {table} cascade",
    }[name]
    if name == "unchanged":
        column = "version" if table == "contract" else "tenant_id"
        sql = f"update {table} set {column} = {column} where {rows}"
    before = {"kept": UNREFERENCED, "kept_whole": ALONE}.get(name, "").format(table=table)
    refusal = "rows are|rows leave"
    return Attack("D2", name, ("owner",), sql, refusal, (Guard(table, name),), before=before)


@pytest.mark.parametrize(
    ("name", "table"), [(name, table) for name in KEPT for table in standing(name)]
)
def test_no_login_not_even_the_owner_loses_or_rewrites_a_row(
    name: str, table: str, values: dict[str, Any]
) -> None:
    attack = erasure(name, table)
    assert play(attack, "owner", values).said.startswith("23000")
    assert play(attack, "owner", values, unguarded=True).said in ("", "no row")
