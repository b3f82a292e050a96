"""An answer outlives the connection that should have recorded it, and a receipt needs its proof."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import OperationalError, connection, connections, transaction

from console.logins import role
from ledger import client, sql
from ledger.client import Sending
from ledger.rules.contract import Confirmed, Standing, Unclear
from ledger.rules.states import Cause, State
from tests.builders import (
    Home,
    answer,
    dispatched,
    effect_row,
    found_for,
    one_row,
    prepared,
    yes,
)
from tests.ledger.sending import kinds
from tests.logins import login
from tests.servers import DatabaseServer, wait_until

WORKER = role("worker")


@pytest.fixture
def as_worker(database: DatabaseServer) -> Iterator[None]:
    """A connection that is the worker's from the start, as after every reconnection."""
    before = connection.settings_dict
    connection.close()
    connection.settings_dict = {**before, **database.parts("worker")}
    yield
    connection.close()
    connection.settings_dict = before


def cut(database: DatabaseServer) -> None:
    """End this thread's connection at the server, as a restart does."""
    connection.ensure_connection()
    process = connection.connection.info.backend_pid
    with database.connect("owner") as owner:
        owner.execute("select pg_terminate_backend(%s)", (process,))
        gone = "select 1 from pg_stat_activity where pid = %s"
        wait_until(lambda: owner.execute(gone, (process,)).fetchone() is None, what="the end of it")


@contextmanager
def closed_to_the_worker(database: DatabaseServer) -> Iterator[None]:
    """A server that lets no worker in."""
    with database.connect("owner") as owner:
        owner.execute(f"alter role {WORKER} nologin")
        try:
            yield
        finally:
            owner.execute(f"alter role {WORKER} login")


def test_a_confirmation_is_recorded_over_a_new_connection(
    at: Home, database: DatabaseServer, as_worker: None
) -> None:
    effect_id = prepared_by_owner(at)
    with client.dispatching(at.tenant_id, effect_id, worker="w1") as sending:
        cut(database)
        outcome = yes(sending.claim)
        assert sending.settle(outcome).state is State.CONFIRMED
    assert effect_row(effect_id)["provider_result_id"] == outcome.found.object_id
    assert kinds(effect_id) == ["prepared", "sent", "answer"]


def prepared_by_owner(at: Home) -> object:
    """A prepared effect, made in another thread: this one's connection is the worker's."""
    made: list[object] = []

    def make() -> None:
        made.append(prepared(at))
        connections.close_all()

    thread = threading.Thread(target=make)
    thread.start()
    thread.join(30)
    return made[0]


def assert_kept(effect_id: object, object_id: str) -> None:
    """The third entry is about the object, and the effect can be found by its id."""
    kept = one_row("select object_id from entry where effect_id = %s and no = 3", effect_id)
    assert kept["object_id"] == object_id
    assert one_row(
        "select 1 from effect_ref where effect_id = %s and ref = %s", effect_id, object_id
    )


def test_a_confirmation_waits_for_the_server_to_return(
    at: Home, database: DatabaseServer, as_worker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    effect_id = prepared_by_owner(at)
    waited: list[float] = []
    with client.dispatching(at.tenant_id, effect_id, worker="w1") as sending:
        with closed_to_the_worker(database) as _, database.connect("owner") as owner:

            def wait(seconds: float) -> None:
                waited.append(seconds)
                if len(waited) == 2:
                    owner.execute(f"alter role {WORKER} login")

            monkeypatch.setattr(client.time, "sleep", wait)
            cut(database)
            assert sending.settle(yes(sending.claim)).state is State.CONFIRMED
    assert waited == [0.2, 1]


def test_a_server_that_stays_away_is_not_waited_for_for_ever(
    at: Home, database: DatabaseServer, as_worker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    effect_id, waited = prepared_by_owner(at), []
    with client.dispatching(at.tenant_id, effect_id, worker="w1") as sending:
        outcome = yes(sending.claim)
        with closed_to_the_worker(database), monkeypatch.context() as patch:
            patch.setattr(client.time, "sleep", waited.append)
            cut(database)
            with pytest.raises(OperationalError):
                sending.settle(outcome)
    assert waited == [0.2, 1, 3]
    # Leaving the block, the server was back: nothing is claimed, and the object is on record.
    stored = effect_row(effect_id)
    assert (stored["state"], stored["cause"]) == (State.UNKNOWN, Cause.INTERRUPTED.value)
    assert_kept(effect_id, outcome.found.object_id)


def test_a_server_that_answers_with_an_error_is_not_waited_for(
    at: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, waited = dispatched(at), []
    monkeypatch.setattr(client.time, "sleep", waited.append)
    with psycopg.connect(connection.connection.info.dsn) as other:
        other.execute("select 1 from effect where effect_id = %s for update", (held.effect_id,))
        with login("worker"):
            connection.cursor().execute("set lock_timeout = '50ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                Sending(held).settle(yes(held))
            connection.cursor().execute("reset lock_timeout")
    assert waited == []


def test_a_lost_connection_is_let_go_outside_a_transaction_alone(
    database: DatabaseServer, as_worker: None
) -> None:
    cut(database)
    with pytest.raises(psycopg.OperationalError):
        sql.row("select 1")
    assert sql.row("select 1") == (1,)
    with pytest.raises(psycopg.OperationalError), transaction.atomic():
        cut(database)
        sql.row("select 1")
    assert sql.row("select 1") == (1,)


@pytest.mark.parametrize("digest", [None, "", "ab", "z" * 64, "AB" * 32])
def test_a_confirmation_without_proof_is_unknown_and_keeps_the_object(
    at: Home, digest: str | None
) -> None:
    held = dispatched(at)
    found = found_for(held.view)
    with login("worker"):
        Sending(held).settle(Confirmed(found, answer(body_digest=digest)))
    stored = effect_row(held.effect_id)
    assert (stored["state"], stored["cause"]) == (State.UNKNOWN, Cause.UNREADABLE_ANSWER.value)
    assert_kept(held.effect_id, found.object_id)


def test_a_server_error_that_could_not_be_told_still_taints(at: Home) -> None:
    held = dispatched(at)
    unclear = Unclear(
        Cause.SERVER_ERROR,
        answer(status=500),
        server_error=True,
        found=found_for(held.view, standing=Standing.PENDING),
    )
    with login("worker"):
        Sending(held, untold=unclear).give_up(Cause.INTERRUPTED)
    stored = effect_row(held.effect_id)
    assert (stored["cause"], stored["server_error"]) == (Cause.INTERRUPTED.value, True)
