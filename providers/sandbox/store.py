"""The sandbox's memory in one SQLite file: requests, objects, keys and scripts outlive the process.

Every change is committed before the answer leaves, so `kill -9` forgets nothing that was accepted.
The names of tables and columns in the statements come from this package alone, values never do.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from providers.sandbox.faults import Script

Row = dict[str, str | int | None]

SCHEMA = """
CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS request (
    no INTEGER PRIMARY KEY AUTOINCREMENT, arrived_ms INTEGER NOT NULL,
    method TEXT NOT NULL, path TEXT NOT NULL, query TEXT NOT NULL, kind TEXT NOT NULL,
    operation TEXT NOT NULL, tenant TEXT, account TEXT NOT NULL, key TEXT, reference TEXT,
    request_id TEXT, attempt TEXT, amount INTEGER, currency TEXT, counterparty TEXT,
    body_digest TEXT, fault TEXT NOT NULL DEFAULT '', outcome TEXT NOT NULL DEFAULT 'received',
    status INTEGER, replayed INTEGER NOT NULL DEFAULT 0, objects INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS request_key ON request (key);
CREATE INDEX IF NOT EXISTS request_reference ON request (reference);
CREATE TABLE IF NOT EXISTS object (
    no INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, operation TEXT NOT NULL,
    scope TEXT NOT NULL, tenant TEXT, account TEXT NOT NULL, key TEXT, reference TEXT,
    request_id TEXT, amount INTEGER, currency TEXT, counterparty TEXT, status TEXT NOT NULL,
    failure_code TEXT, parent TEXT,
    created_ms INTEGER NOT NULL, listed_ms INTEGER, fails_ms INTEGER, request_no INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS object_key ON object (key);
CREATE INDEX IF NOT EXISTS object_reference ON object (reference);
CREATE INDEX IF NOT EXISTS object_request ON object (request_id);
CREATE TABLE IF NOT EXISTS used_key (
    account TEXT NOT NULL, key TEXT NOT NULL, operation TEXT NOT NULL, body BLOB NOT NULL,
    status INTEGER NOT NULL, answer BLOB NOT NULL, created_ms INTEGER NOT NULL,
    PRIMARY KEY (account, key));
CREATE TABLE IF NOT EXISTS script (
    no INTEGER PRIMARY KEY AUTOINCREMENT, match TEXT NOT NULL, entries TEXT NOT NULL,
    next INTEGER NOT NULL DEFAULT 0, forever INTEGER NOT NULL);
"""

REQUEST_FILTERS = ("key", "reference", "operation", "tenant", "request_id", "kind")
OBJECT_FILTERS = ("key", "reference", "operation", "tenant", "id")


class Store:
    """One open file. Safe to use from many threads; one at a time gets in."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.row_factory = sqlite3.Row
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.executescript(SCHEMA)
        self._database.execute(
            "UPDATE request SET outcome = 'interrupted' "
            "WHERE outcome IN ('received', 'accepted', 'held')"
        )
        found = self._database.execute("SELECT value FROM setting WHERE name = 'clock'").fetchone()
        self._offset_ms = int(found["value"]) if found else 0

    def now_ms(self) -> int:
        """The sandbox's own time, in milliseconds since 1970 UTC."""
        return time.time_ns() // 1_000_000 + self._offset_ms

    def advance(self, seconds: int) -> None:
        """Move the clock; the move outlives the process."""
        with self.transaction():
            self._offset_ms += seconds * 1000
            self._write(
                "INSERT INTO setting VALUES ('clock', :value) "
                "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                {"value": self._offset_ms},
            )

    def reset(self) -> None:
        """Forget everything and set the clock back."""
        with self.transaction():
            for table in ("request", "object", "used_key", "script", "setting"):
                self._write(f"DELETE FROM {table}", {})
            self._offset_ms = 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; nested use belongs to the outer one."""
        with self._lock:
            if self._database.in_transaction:
                yield
                return
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def insert(self, table: str, *, row: Mapping[str, str | int | bytes | None]) -> int:
        """Store `row` and return its number."""
        names = ", ".join(row)
        marks = ", ".join(f":{name}" for name in row)
        return self._write(f"INSERT INTO {table} ({names}) VALUES ({marks})", row)

    def update_request(self, no: int, *, changes: Mapping[str, str | int | None]) -> None:
        """Note what became of request `no`."""
        sets = ", ".join(f"{name} = :{name}" for name in changes)
        sql = f"UPDATE request SET {sets} WHERE no = :no"
        self._write(sql, {**changes, "no": no})

    def used_key(self, account: str, *, key: str) -> sqlite3.Row | None:
        """The row of a key that was used before, however old."""
        with self._lock:
            found: sqlite3.Row | None = self._database.execute(
                "SELECT * FROM used_key WHERE account = ? AND key = ?", (account, key)
            ).fetchone()
            return found

    def drop_key(self, account: str, *, key: str) -> None:
        """Forget a key: the next request with it is a new one."""
        self._write(
            "DELETE FROM used_key WHERE account = :account AND key = :key",
            {"account": account, "key": key},
        )

    def select(
        self,
        table: str,
        *,
        where: Sequence[str] = (),
        values: Mapping[str, str | int | None] | None = None,
        newest_first: bool = False,
        limit: int = 200,
    ) -> list[Row]:
        """Rows of `table` that meet every condition in `where`, by number."""
        order = "DESC" if newest_first else "ASC"
        condition = " AND ".join(where) or "1"
        sql = f"SELECT * FROM {table} WHERE {condition} "
        sql += f"ORDER BY no {order} LIMIT {int(limit)}"
        with self._lock:
            return [dict(row) for row in self._database.execute(sql, values or {})]

    def count(
        self, table: str, *, where: Sequence[str] = (), values: Mapping[str, str | int | None]
    ) -> int:
        """How many rows of `table` meet every condition in `where`."""
        condition = " AND ".join(where) or "1"
        with self._lock:
            sql = f"SELECT count(*) FROM {table} WHERE {condition}"
            row = self._database.execute(sql, values).fetchone()
            return int(row[0])

    def add_script(self, script: Script) -> int:
        """Keep a script; returns its number."""
        return self.insert(
            "script",
            row={
                "match": json.dumps(script.match),
                "entries": json.dumps(script.entries),
                "forever": int(script.forever),
            },
        )

    def next_entry(self, facts: Mapping[str, str | None]) -> object | None:
        """Take the next entry of the oldest script that matches `facts`, or None."""
        with self.transaction():
            for row in self.select("script", limit=1000):
                entries = json.loads(str(row["entries"]))
                position = int(row["next"] or 0)
                if position < len(entries) and _matches(json.loads(str(row["match"])), facts):
                    keep = bool(row["forever"]) and position == len(entries) - 1
                    self._advance_script(int(row["no"] or 0), 0 if keep else 1, len(entries))
                    entry: object = entries[position]
                    return entry
            return None

    def _advance_script(self, no: int, by: int, length: int) -> None:
        self._write("UPDATE script SET next = next + :by WHERE no = :no", {"by": by, "no": no})
        self._write(
            "DELETE FROM script WHERE no = :no AND next >= :length", {"no": no, "length": length}
        )

    def _write(self, sql: str, values: Mapping[str, str | int | bytes | None]) -> int:
        with self._lock:
            return int(self._database.execute(sql, values).lastrowid or 0)


def _matches(match: Mapping[str, str], facts: Mapping[str, str | None]) -> bool:
    kind = match.get("on", "create")
    if kind not in ("any", facts["kind"]):
        return False
    return all(facts.get(name) == wanted for name, wanted in match.items() if name != "on")
