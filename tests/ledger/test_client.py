"""The public client: a workflow's own transaction, one send per claim, never a guess."""

import ast
import threading
from pathlib import Path

import psycopg
import pytest
from django.db import connection, connections, transaction

import ledger
from ledger import client, dispatch
from ledger.client import Sending
from ledger.errors import DigestMismatch, Frozen, InsideTransaction
from ledger.rules.contract import Declined
from ledger.rules.states import Cause, State
from tests.builders import Home, answer, effect_row, entries, one_row, prepared, unknown, yes
from tests.logins import login
from tests.servers import wait_until


def prepare(at: Home, **changes: object) -> dispatch.Prepared:
    """The workflow's own way in."""
    with login("workflow"):
        return client.prepare(at.intent(**changes))


# --- preparing ---


def test_a_workflow_prepares_without_naming_the_tenant_twice(at: Home) -> None:
    assert prepare(at).created


def test_a_prepared_intent_commits_with_the_workflows_own_rows(at: Home) -> None:
    with login("workflow"), transaction.atomic():
        made = client.prepare(at.intent())
    assert effect_row(made.effect_id)["state"] == State.PREPARED
    with login("workflow"), transaction.atomic():
        gone = client.prepare(at.intent())
        transaction.set_rollback(True)
    assert not effect_row(gone.effect_id)


def test_a_refusal_says_what_stands_and_leaves_the_transaction_to_the_caller(at: Home) -> None:
    effect_id = unknown(at)
    stored = effect_row(effect_id)
    with login("workflow"), transaction.atomic():
        with pytest.raises(Frozen) as refusal:
            client.prepare(at.intent(object_ref=stored["object_ref"]))
        made = client.prepare(at.intent())
    assert refusal.value.details["effect_id"] == effect_id
    assert made.created


def test_a_mismatch_in_the_callers_transaction_is_on_record(at: Home) -> None:
    wanted = at.intent()
    with login("workflow"):
        client.prepare(wanted)
        with pytest.raises(DigestMismatch), transaction.atomic():
            client.prepare(at.intent(intent_key=wanted.intent_key))
    kept = one_row("select kind, login from record where tenant_id = %s", at.tenant_id)
    assert kept == {"kind": "digest_mismatch", "login": "ascertain_workflow"}


# --- sending ---


def test_sending_and_settling_confirms(at: Home) -> None:
    effect_id = prepared(at)
    with login("worker"), client.dispatching(at.tenant_id, effect_id, worker="w1") as sending:
        assert not connection.in_atomic_block
        assert effect_row_as_worker(effect_id) == State.DISPATCHED
        assert sending.settle(yes(sending.claim)).state is State.CONFIRMED
    assert effect_row(effect_id)["state"] == State.CONFIRMED


def effect_row_as_worker(effect_id: object) -> int:
    """The state as another connection may see it: the mark is committed before anything is sent."""
    return one_row("select state from effect where effect_id = %s", effect_id)["state"]


class LostError(RuntimeError):
    """What a provider module of somebody else may raise."""


def test_an_exception_after_the_mark_leaves_it_unknown_and_passes_on(at: Home) -> None:
    effect_id = prepared(at)
    with (
        login("worker"),
        pytest.raises(LostError),
        client.dispatching(at.tenant_id, effect_id, worker="w1"),
    ):
        raise LostError
    stored = effect_row(effect_id)
    assert (stored["state"], stored["cause"]) == (State.UNKNOWN, Cause.INTERRUPTED.value)
    assert [entry[1] for entry in entries(effect_id)] == ["prepared", "sent", "given_up"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_being_stopped_after_the_mark_leaves_it_unknown(
    at: Home, stop: type[BaseException]
) -> None:
    effect_id = prepared(at)
    with (
        login("worker"),
        pytest.raises(stop),
        client.dispatching(at.tenant_id, effect_id, worker="w1"),
    ):
        raise stop
    assert effect_row(effect_id)["state"] == State.UNKNOWN


def test_leaving_without_an_answer_leaves_it_unknown(at: Home) -> None:
    effect_id = prepared(at)
    with login("worker"), client.dispatching(at.tenant_id, effect_id, worker="w1"):
        pass
    assert effect_row(effect_id)["state"] == State.UNKNOWN


def test_an_exception_after_the_answer_changes_nothing_more(at: Home) -> None:
    effect_id = prepared(at)
    with (
        login("worker"),
        pytest.raises(LostError),
        client.dispatching(at.tenant_id, effect_id, worker="w1") as sending,
    ):
        sending.settle(Declined("card_declined", answer(status=402)))
        raise LostError
    assert effect_row(effect_id)["state"] == State.REJECTED


def test_giving_up_names_its_cause(at: Home) -> None:
    effect_id = prepared(at)
    with login("worker"), client.dispatching(at.tenant_id, effect_id, worker="w1") as sending:
        sending.give_up(Cause.LEASE_LOST)
    assert effect_row(effect_id)["cause"] == Cause.LEASE_LOST.value
    assert len(entries(effect_id)) == 3


def test_what_is_not_waiting_is_not_sent(at: Home) -> None:
    effect_id = unknown(at)
    with login("worker"), client.dispatching(at.tenant_id, effect_id, worker="w1") as sending:
        assert sending is None
    assert len(entries(effect_id)) == 3


def test_nothing_is_sent_inside_a_transaction(at: Home) -> None:
    effect_id = prepared(at)
    with login("worker"), transaction.atomic(), pytest.raises(InsideTransaction):
        with client.dispatching(at.tenant_id, effect_id, worker="w1"):
            raise AssertionError("it was about to be sent")
    assert effect_row(effect_id)["state"] == State.PREPARED


def test_a_workflow_may_not_send(at: Home) -> None:
    effect_id = prepared(at)
    with login("workflow"), pytest.raises(psycopg.errors.InsufficientPrivilege):
        with client.dispatching(at.tenant_id, effect_id, worker="w1"):
            raise AssertionError("it was about to be sent")
    assert effect_row(effect_id)["state"] == State.PREPARED


# --- conflicts ---


def test_a_deadlock_is_tried_again_and_settles(at: Home) -> None:
    """Two sessions lock an effect and its queue row crosswise; the server fails the worker's."""
    effect_id = prepared(at)
    with login("worker"):
        held = dispatch.claim(at.tenant_id, effect_id, worker="w1")
    done: list[Sending] = []

    def settle() -> None:
        sending = Sending(held)
        connection.cursor().execute("set deadlock_timeout = '50ms'")
        with login("worker"):
            sending.settle(yes(held))
        done.append(sending)
        connections.close_all()

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("set local deadlock_timeout = '60s'")
        cursor.execute("select 1 from effect_open where effect_id = %s for update", (effect_id,))
        thread = threading.Thread(target=settle)
        thread.start()
        wait_until(waiting_for_a_lock, what="the settling to wait")
        cursor.execute("select 1 from effect where effect_id = %s for update", (effect_id,))
    thread.join(30)
    assert done
    assert done[0].settled.state is State.CONFIRMED
    assert len(entries(effect_id)) == 3


def waiting_for_a_lock() -> bool:
    """Whether another session waits for one of ours."""
    return bool(one_row("select 1 from pg_locks where not granted"))


# --- what an integration may import ---


def test_the_client_names_everything_that_an_integration_needs() -> None:
    assert set(client.__all__) <= set(dir(client))
    examples = Path(ledger.__file__).parents[1] / "examples"
    imported = {
        f"{node.module}.{name.name}"
        for path in examples.rglob("*.py")
        if "migrations" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ledger"
        for name in node.names
    }
    assert imported
    assert all(name.startswith("ledger.client") for name in imported)
