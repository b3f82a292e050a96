"""Attacks on the record by plain SQL: as which login, what refuses them, without what they win."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from django.db import connection, transaction

from tests.logins import login

RUNTIME = ("web", "auth", "worker", "workflow", "sealer", "auditor")


@dataclass(frozen=True, slots=True)
class Guard:
    """A trigger, constraint, unique index or wall of a table, taken out by name."""

    table: str
    name: str

    def removal(self) -> str:
        """The SQL that takes it out."""
        for catalog, statement in _REMOVALS:
            if _exists(catalog, self.table, self.name):
                return statement.format(table=self.table, name=self.name)
        raise AssertionError(f"{self.table} has no guard {self.name}")


_REMOVALS = (
    (
        "select from pg_trigger where tgrelid = %s::regclass and tgname = %s and not tgisinternal",
        "drop trigger {name} on {table}",
    ),
    (
        "select from pg_constraint where conrelid = %s::regclass and conname = %s",
        "alter table {table} drop constraint {name} cascade",
    ),
    (
        "select from pg_index where indrelid = %s::regclass and indexrelid = to_regclass(%s)",
        "drop index {name}",
    ),
    (
        "select from pg_policy where polrelid = %s::regclass and polname = %s",
        "alter table {table} disable row level security",
    ),
)


def _exists(catalog: str, table: str, name: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(catalog, (table, name))
        return cursor.rowcount > 0


@dataclass(frozen=True, slots=True)
class Lines:
    """A condition inside a function of the guards, taken out by putting `instead` in its place."""

    function: str
    text: str
    instead: str

    def removal(self) -> str:
        """The function as it stands, without the condition."""
        with connection.cursor() as cursor:
            cursor.execute("select pg_get_functiondef(%s::regproc)", (self.function,))
            source = str(cursor.fetchone()[0])
        assert source.count(self.text) == 1, f"{self.function} does not say {self.text!r} once"
        return source.replace(self.text, self.instead)


@dataclass(frozen=True, slots=True)
class Granted:
    """A right that is missing, taken out as a guard by granting it."""

    statement: str

    def removal(self) -> str:
        """The grant."""
        return self.statement


@dataclass(frozen=True, slots=True)
class Attack:
    """One attempt by SQL. `rule` is the number of what it tries to break, `name` how it tries.

    It runs once as each of `logins`, in a transaction that names the scene's tenant, after `before`
    ran as the owner. Its server message must match `refusal`. With every one of `guards` taken out
    it must succeed. An attack that is not refused but made harmless has `holds` instead: a query
    that is true after it, and no longer true without the guards.
    """

    rule: str
    name: str
    logins: tuple[str, ...]
    sql: str
    refusal: str = ""
    guards: tuple[Guard | Lines | Granted, ...] = ()
    before: str = ""
    holds: str = ""

    def __str__(self) -> str:
        return f"{self.rule}: {self.name}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the server said to an attack, "" where it went through, and whether `holds` still held.

    An attack that changed no row did not go through either: then `said` is "no row".
    """

    said: str
    held: bool


def play(
    attack: Attack, as_login: str, values: dict[str, Any], *, unguarded: bool = False
) -> Outcome:
    """Run the attack as that login and roll everything back; `unguarded` takes its guards out."""
    with transaction.atomic():
        try:
            for guard in attack.guards if unguarded else ():
                run(guard.removal(), None)
            return _played(attack, as_login, values)
        finally:
            transaction.set_rollback(True)


def _played(attack: Attack, as_login: str, values: dict[str, Any]) -> Outcome:
    run(attack.before, values)
    with _acting(as_login):
        run("select set_config('ascertain.tenant', %(tenant)s::text, true)", values)
        said = _attempt(attack.sql, values)
    return Outcome(said, not attack.holds or bool(run(f"select where ({attack.holds})", values)))


@contextmanager
def _acting(as_login: str) -> Iterator[None]:
    if as_login == "owner":
        yield
        return
    with login(as_login):
        yield


def run(statement: str, values: dict[str, Any] | None) -> int:
    """Run one or more statements; how many rows the last one touched or found."""
    if not statement:
        return 0
    with psycopg.ClientCursor(connection.connection) as cursor:
        cursor.execute(statement, values)
        return cursor.rowcount


def _attempt(statement: str, values: dict[str, Any]) -> str:
    try:
        with transaction.atomic():
            return "no row" if run(statement, values) == 0 else ""
    except psycopg.Error as error:
        diagnosis = error.diag
        return f"{error.sqlstate} {diagnosis.constraint_name or ''} {diagnosis.message_primary}"


def is_refused(attack: Attack, said: str) -> bool:
    """Whether the server said what the attack expects."""
    return re.search(attack.refusal, said) is not None
