"""A lost lease means unknown, never failed, and fences its worker out."""

from typing import Any

from ledger import dispatch
from ledger.rules.contract import Declined, NotProcessed
from ledger.rules.states import Cause, State
from tests.builders import (
    Home,
    answer,
    dispatched,
    effect_row,
    entries,
    one_row,
    yes,
)
from tests.crowd import all_at_once
from tests.ledger.sending import claim, kinds, settle
from tests.logins import login


def reap() -> int:
    """One run of the reaper over everything that is due."""
    with login("worker"):
        return dispatch.reap(limit=10_000)


def test_a_lost_lease_leaves_it_unknown_and_fences_the_worker_out(at: Home) -> None:
    held = dispatched(at, operation="pay_lost")
    assert reap() >= 1
    stored = effect_row(held.effect_id)
    assert (stored["state"], stored["cause"]) == (State.UNKNOWN, Cause.LEASE_LOST.value)
    assert stored["fence"] > held.fence
    late = settle(held, yes(held))
    assert late == dispatch.Settled(None, no=4, late=True)
    assert effect_row(held.effect_id)["state"] == State.UNKNOWN
    assert kinds(held.effect_id) == ["prepared", "sent", "lease_lost", "late_answer"]


def test_a_late_answer_is_evidence_with_its_object_and_digest(at: Home) -> None:
    held = dispatched(at, operation="pay_lost")
    reap()
    outcome = yes(held)
    settle(held, outcome)
    late = one_row(
        "select finding, object_id, body from entry join payload using (tenant_id, effect_id, no)"
        " where effect_id = %s and no = 4",
        held.effect_id,
    )
    assert (late["finding"], late["object_id"]) == ("exact", outcome.found.object_id)
    assert outcome.answer.body_digest.encode() in bytes(late["body"])


def test_a_worker_that_still_holds_its_lease_is_left_alone(at: Home) -> None:
    held = dispatched(at)
    reap()
    assert effect_row(held.effect_id)["state"] == State.DISPATCHED
    assert settle(held, yes(held)).state is State.CONFIRMED


def test_a_second_worker_after_a_lost_lease_wins_and_the_first_does_not(at: Home) -> None:
    first = dispatched(at)
    settle(first, NotProcessed(answer(status=429)))
    other = claim(at, first.effect_id)
    assert settle(first, Declined("card_declined", answer())).late
    assert effect_row(first.effect_id)["state"] == State.DISPATCHED
    assert settle(other, yes(other)).state is State.CONFIRMED


def test_reapers_at_once_move_it_once(at: Home) -> None:
    held = dispatched(at, operation="pay_lost")
    answers = all_at_once(6, lambda _: dispatch.reap(limit=10_000), as_login="worker")
    assert not answers.errors
    assert kinds(held.effect_id) == ["prepared", "sent", "lease_lost"]


def test_reaper_and_worker_at_once_have_one_winner(at: Home) -> None:
    for _ in range(5):
        held = dispatched(at, operation="pay_lost")

        def act(number: int, held: dispatch.Claim = held) -> Any:
            return dispatch.settle(held, yes(held)) if number else dispatch.reap(limit=10_000)

        answers = all_at_once(2, act, as_login="worker")
        assert not answers.errors
        moves = [entry for entry in entries(held.effect_id) if entry[2] == 2 and entry[3] != 2]
        assert len(moves) == 1
