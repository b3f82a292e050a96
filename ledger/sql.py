"""One way to run the ledger's own statements: server-prepared, on Django's connection."""

from collections.abc import Sequence
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections

from ledger import errors

Row = tuple[Any, ...]


def rows(statement: str, params: Sequence[Any] = (), *, using: str = DEFAULT_DB_ALIAS) -> list[Row]:
    """The rows `statement` returns; outside a transaction it commits by itself.

    A connection that was lost outside a transaction is let go, so that the next statement opens
    another; inside one that is the transaction's to do. Raises the LedgerError that a guard's
    refusal stands for; other database errors pass through.
    """
    wrapper = connections[using]
    wrapper.ensure_connection()
    with psycopg.Cursor(wrapper.connection) as cursor:
        try:
            cursor.execute(statement, params)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            if wrapper.in_atomic_block:
                wrapper.needs_rollback = True
            elif wrapper.connection.closed:
                wrapper.close()
            refusal = errors.from_database(
                error.sqlstate, error.diag.message_primary or "", error.diag.constraint_name
            )
            if refusal is None:
                raise
            raise refusal from error


def row(statement: str, params: Sequence[Any] = (), *, using: str = DEFAULT_DB_ALIAS) -> Row | None:
    """The first row of `rows`, or None."""
    found = rows(statement, params, using=using)
    return found[0] if found else None
