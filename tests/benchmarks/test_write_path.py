"""What an effect costs to write: commits, statements, round trips, WAL and HOT updates (W3, W4)."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from psycopg.pq import Trace

from ledger import access, dispatch
from ledger.rules.states import State
from tests.benchmarks.filling import Filled
from tests.builders import Home, one_row, yes
from tests.logins import login

EFFECTS = 200


class Wire:
    """What went over the connection: the messages that libpq saw, in order."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str]] = []

    def count(self, sender: str, *names: str) -> int:
        """How many messages of these names the sender ("F" we, "B" the server) sent."""
        return sum(sent == sender and name in names for sent, name in self.messages)


@contextmanager
def traced() -> Iterator[Wire]:
    """Libpq's own trace of this connection."""
    wire, driver = Wire(), connection.connection.pgconn
    with tempfile.TemporaryFile("w+") as file:
        driver.trace(file.fileno())
        driver.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        try:
            yield wire
        finally:
            driver.untrace()
        file.seek(0)
        lines = [line.split("\t") for line in file]
    wire.messages = [(line[0], line[2].strip()) for line in lines if len(line) > 2]


def one_effect(at: Home) -> dict[str, Wire]:
    """An effect from its intent to its receipt, each step as its login, traced."""
    wires = {}
    with login("workflow"):
        access.enter(at.tenant_id)
        with traced() as wires["prepare"]:
            made = dispatch.prepare(at.intent())
    with login("worker"):
        with traced() as wires["claim"]:
            held = dispatch.claim(at.tenant_id, made.effect_id, worker="w1")
        assert held is not None
        with traced() as wires["settle"]:
            settled = dispatch.settle(held, yes(held))
    assert settled.state is State.CONFIRMED
    return wires


@pytest.fixture(scope="module")
def warm(filled: Filled) -> Home:
    """The large tenant, after its statements were prepared on this connection."""
    for _ in range(6):
        one_effect(filled.large)
    return filled.large


def test_an_effect_costs_three_statements_three_round_trips_and_three_commits(warm: Home) -> None:
    wires = one_effect(warm)
    for step, wire in wires.items():
        assert wire.count("F", "Execute", "Query") == 1, (step, wire.messages)
        assert wire.count("F", "Sync", "Query") == 1, step
        assert wire.count("B", "ReadyForQuery") == 1, step
        assert wire.count("F", "Parse") == 0, f"{step} is not prepared on the server"


def test_each_of_the_three_commits_is_one_transaction(warm: Home) -> None:
    one_effect(warm)
    ids = one_row(
        "select count(distinct xmin::text) as transactions from entry where tenant_id = %s"
        " and effect_id = (select effect_id from effect where tenant_id = %s"
        "  order by created_at desc limit 1)",
        warm.tenant_id,
        warm.tenant_id,
    )
    assert ids == {"transactions": 3}


def test_every_step_stays_on_its_page(warm: Home) -> None:
    before = updates()
    prepared = []
    for _ in range(EFFECTS):
        with login("workflow"):
            access.enter(warm.tenant_id)
            prepared.append(dispatch.prepare(warm.intent()).effect_id)
    with login("worker"):
        held = [dispatch.claim(warm.tenant_id, one, worker="w1") for one in prepared]
        for one in held:
            dispatch.settle(one, yes(one))
    after = updates()
    made, hot = after["made"] - before["made"], after["hot"] - before["hot"]
    assert made == 2 * EFFECTS
    assert hot / made >= 0.99


def updates() -> dict[str, Any]:
    """Updates of the effect table so far, and those that needed no index entry."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_stat_force_next_flush()")
        cursor.execute("select pg_stat_clear_snapshot()")
    return one_row(
        "select n_tup_upd as made, n_tup_hot_upd as hot from pg_stat_user_tables"
        " where relname = 'effect'"
    )


# --- WAL against the same information written bare ---

BARE = """
  drop schema if exists bare cascade;
  create schema bare;
  create table bare.effect (like public.effect) with (fillfactor = 70);
  alter table bare.effect drop column head, drop column hand, drop column fence,
    drop column exclusive, add primary key (tenant_id, effect_id),
    add unique (tenant_id, intent_key);
  create index on bare.effect (tenant_id, workflow_id);
  create table bare.effect_event (tenant_id uuid, effect_id uuid, no int, kind text not null,
    from_state smallint not null, to_state smallint not null, actor text not null,
    login text not null, at timestamptz not null, note text, finding text, object_id text,
    body bytea, primary key (tenant_id, effect_id, no));
  create table bare.effect_ref (like public.effect_ref including indexes);
  create table bare.resumption (like public.resumption including indexes)"""
COLUMNS = """
  select string_agg(attname, ', ') from pg_attribute
  where attrelid = 'bare.effect'::regclass and attnum > 0 and not attisdropped"""
# What stands before the measured effects stands before the bare ones too.
NEIGHBOURS = """
  insert into bare.effect select {columns} from public.effect
    where created_at < now() - interval '1 h' order by created_at;
  insert into bare.effect_event select tenant_id, effect_id, no, kind, from_state, to_state, actor,
    login, at, note, finding, object_id, body from entry left join payload using
    (tenant_id, effect_id, no) where at < now() - interval '1 h' order by at;
  insert into bare.effect_ref select * from public.effect_ref where effect_id in
    (select effect_id from bare.effect);
  insert into bare.resumption select tenant_id, effect_id, no, workflow_id, step_id, to_state, at
    from entry join public.effect using (tenant_id, effect_id) where no = 3 and to_state > 3
    and at < now() - interval '1 h'"""


def test_the_record_writes_at_most_1_6_times_the_wal_of_bare_tables(warm: Home) -> None:
    """Bare tables hold the same state, history, bodies, references and news of the ending.

    What the record adds is the chain, the queue row, the salted bodies in rows of their own, and
    the locks of its triggers. Other work of the server only adds, so the lesser of two runs counts.
    """
    runs = [of_the_record(warm) for _ in range(2)]
    ratio = min(spent for spent, _ in runs) / of_bare_tables(warm, runs[0][1])
    assert ratio <= 1.6, f"{ratio:.2f}"


def wal() -> int:
    """How many bytes of WAL the server has written."""
    return int(one_row("select pg_current_wal_insert_lsn() - '0/0' as bytes")["bytes"])


def of_the_record(at: Home) -> tuple[float, list[Any]]:
    """WAL bytes per effect through the verbs, and the ids of the effects."""
    begun = wal()
    made = []
    for _ in range(EFFECTS):
        with login("workflow"):
            access.enter(at.tenant_id)
            effect_id = dispatch.prepare(at.intent()).effect_id
        with login("worker"):
            held = dispatch.claim(at.tenant_id, effect_id, worker="w1")
            dispatch.settle(held, yes(held))
        made.append(effect_id)
    spent = (wal() - begun) / EFFECTS
    return spent, made


def of_bare_tables(at: Home, made: list[Any]) -> float:
    """WAL bytes per effect for the same rows by one plain statement per step, no trigger."""
    with connection.cursor() as cursor:
        cursor.execute(BARE)
        cursor.execute(COLUMNS)
        columns = str(cursor.fetchone()[0])
        cursor.execute(NEIGHBOURS.format(columns=columns))
        cursor.execute("analyze")
    steps = bare_steps(columns)
    begun = wal()
    for effect_id in made:
        run(steps, {"tenant": at.tenant_id, "effect": effect_id})
    return (wal() - begun) / len(made)


def run(steps: tuple[str, ...], names: dict[str, Any]) -> None:
    """The three steps, each a statement and a commit."""
    with connection.cursor() as cursor:
        for step in steps:
            cursor.execute(step, names)


def bare_steps(columns: str) -> tuple[str, ...]:
    """Prepare, claim and settle as single statements over the bare tables."""
    names = columns.split(", ")
    late = (
        "attempts first_attempt_at last_attempt_at lease_until key_until provider_result_id"
        " response_digest completed_at provider_completed_at"
    ).split()
    born = {"state": "1::smallint", "version": "1", "attempts": "0::smallint"}
    first = ", ".join(born.get(n, "null" if n in late else n) for n in names)
    event = (
        " insert into bare.effect_event select e.tenant_id, e.effect_id, e.no, e.kind,"
        " e.from_state, e.to_state, e.actor, e.login, now(), e.note, e.finding, e.object_id,"
        " (select body from payload p where p.tenant_id = e.tenant_id and p.effect_id = e.effect_id"
        "  and p.no = e.no) from entry e, moved where e.tenant_id = moved.tenant_id"
        " and e.effect_id = moved.effect_id and e.no = "
    )
    stored = "select * from public.effect where tenant_id = %(tenant)s and effect_id = %(effect)s"
    kept = (
        ", kept as (insert into bare.effect_ref select * from public.effect_ref"
        " where tenant_id = %(tenant)s and effect_id = %(effect)s),"
        " told as (insert into bare.resumption select * from public.resumption"
        " where tenant_id = %(tenant)s and effect_id = %(effect)s)"
    )
    return (
        f"with moved as (insert into bare.effect ({columns}) select {first} from ({stored}) s"
        f" returning tenant_id, effect_id) {event} 1",
        "with moved as (update bare.effect b set state = 2, version = 2, attempts = 1,"
        " first_attempt_at = now(), last_attempt_at = now(),"
        " lease_until = now() + interval '8 s', key_until = now() + interval '1 day'"
        f" from ({stored}) s where b.tenant_id = s.tenant_id and b.effect_id = s.effect_id"
        f" returning b.tenant_id, b.effect_id) {event} 2",
        "with moved as (update bare.effect b set state = 4, version = 3, lease_until = null,"
        " provider_result_id = s.provider_result_id, response_digest = s.response_digest,"
        " completed_at = now(), provider_completed_at = s.provider_completed_at"
        f" from ({stored}) s where b.tenant_id = s.tenant_id and b.effect_id = s.effect_id"
        f" returning b.tenant_id, b.effect_id){kept} {event} 3",
    )
