"""What evidence says of which sending: late answers, retries called off, contradictions."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from ledger import clock, dispatch, facts, lookups
from ledger.dispatch import Claim
from ledger.errors import StaleState
from ledger.rules import findings
from ledger.rules.contract import Declined, NotProcessed, Standing, Unclear
from ledger.rules.decisions import Decision
from ledger.rules.findings import FindingCode
from ledger.rules.states import Cause, State
from tests.builders import (
    Home,
    a_look,
    answer,
    confirmed,
    declined,
    dispatched,
    effect_row,
    entries,
    found_for,
    guards_aside,
    look,
    one_row,
    open_row,
    unknown,
    yes,
)
from tests.ledger.deciding import act, found
from tests.ledger.sending import claim, kinds, settle
from tests.ledger.test_lookups import ask, take
from tests.logins import login

REFUSAL = Declined("card_declined", answer(status=402, code="card_declined"))


def lost(at: Home) -> Claim:
    """A claim whose lease was taken away before its answer came."""
    held = dispatched(at, operation="pay_lost")
    with login("worker"):
        dispatch.reap(limit=10_000)
    return held


def waiting_again(at: Home) -> Claim:
    """The claim of a first sending whose retry waits, since nothing was found."""
    held = lost(at)
    look(at, held.effect_id)
    act(at, held.effect_id, Decision.REDISPATCH)
    assert effect_row(held.effect_id)["state"] == State.PREPARED
    return held


def sent_again(at: Home) -> tuple[Claim, Claim]:
    """The claims of a first sending and of its retry, which is on its way."""
    first = dispatched(at)
    settle(first, NotProcessed(answer(status=429)))
    second = claim(at, first.effect_id)
    assert second is not None
    return first, second


def filed(effect_id: UUID) -> dict[str, Any]:
    """The newest entry."""
    return one_row(
        "select kind, finding, from_state, to_state from entry where effect_id = %s"
        " order by no desc limit 1",
        effect_id,
    )


def record(at: Home, taken: lookups.Taken, *objects: dict[str, Any]) -> int:
    """A taken lookup is answered with `objects`."""
    with login("worker"):
        now = clock.now()
        case = facts.case(at.tenant_id, taken.effect_id, now=now)
        one = a_look(case, objects, now=now)
        finding = findings.judge(case.view, one, case.contract, now=now, earlier=case.earlier)
        return lookups.record(taken, ((one, finding),), now=now)


def known(at: Home, effect_id: UUID) -> list[FindingCode]:
    """The findings on which a decision may rest."""
    case = facts.case(at.tenant_id, effect_id, now=clock.now())
    return [each.finding.code for each in case.facts.findings]


# --- of which sending ---


@pytest.mark.parametrize("objects", [[], [{"standing": Standing.FAILED_NO_EFFECT}]], ids=str)
def test_a_lookup_begun_before_a_retry_proves_nothing_against_it(
    at: Home, objects: list[dict[str, Any]]
) -> None:
    held = dispatched(at)
    taken = take(at, ask(at, held.effect_id, by=None))
    settle(held, NotProcessed(answer(status=429)))
    settle(claim(at, held.effect_id), Unclear(Cause.TIMEOUT, answer()))
    record(at, taken, *objects)
    assert filed(held.effect_id)["finding"] is None
    assert open_row(held.effect_id)["finding"] is None
    assert known(at, held.effect_id) == []


def test_a_lookup_begun_before_a_retry_still_proves_that_it_happened(at: Home) -> None:
    held = dispatched(at)
    taken = take(at, ask(at, held.effect_id, by=None))
    settle(held, NotProcessed(answer(status=429)))
    settle(claim(at, held.effect_id), Unclear(Cause.TIMEOUT, answer()))
    record(at, taken, {})
    assert known(at, held.effect_id) == [FindingCode.EXACT]


def test_a_late_refusal_of_the_first_sending_says_nothing_about_the_second(at: Home) -> None:
    first, second = sent_again(at)
    settle(second, Unclear(Cause.TIMEOUT, answer()))
    assert settle(first, REFUSAL).late
    assert filed(first.effect_id) == {
        "kind": "late_answer", "finding": None, "from_state": 3, "to_state": 3}  # fmt: skip
    assert known(at, first.effect_id) == []


def test_what_was_absent_before_the_last_sending_does_not_count(at: Home) -> None:
    effect_id, _ = found(at)
    assert known(at, effect_id) == [FindingCode.ABSENT]
    act(at, effect_id, Decision.REDISPATCH)
    settle(claim(at, effect_id), Unclear(Cause.TIMEOUT, answer()))
    assert known(at, effect_id) == []
    look(at, effect_id)
    assert known(at, effect_id) == [FindingCode.ABSENT]


def test_what_was_seen_before_the_last_sending_counts_for_ever(at: Home) -> None:
    first, second = sent_again(at)
    with guards_aside() as cursor:  # as if it had been seen before the second sending
        settle_late = "update effect set last_attempt_at = now() + interval '1 s'"
        cursor.execute(f"{settle_late} where effect_id = %s", (second.effect_id,))
    settle(first, yes(first))
    settle(second, Unclear(Cause.TIMEOUT, answer()))
    assert known(at, first.effect_id) == [FindingCode.EXACT]


# --- a retry that waits ---


def test_a_late_confirmation_calls_off_the_retry_that_waits(at: Home) -> None:
    held = waiting_again(at)
    outcome = yes(held)
    assert settle(held, outcome).late
    stored = effect_row(held.effect_id)
    assert (stored["state"], stored["cause"]) == (State.UNKNOWN, Cause.LATE_EVIDENCE.value)
    assert entries(held.effect_id)[-1][1:5] == ("late_answer", 1, 3, "worker")
    assert claim(at, held.effect_id) is None
    act(at, held.effect_id, Decision.ACCEPT)
    assert effect_row(held.effect_id)["provider_result_id"] == outcome.found.object_id


@pytest.mark.parametrize(
    ("objects", "code"),
    [([{}], "exact"), ([{"amount_minor": 1}], "differs"), ([{}, {}], "several"),
     ([{"standing": Standing.PENDING}], "pending"),
     ([{"standing": Standing.REVERSED}], "reversed")],
    ids=str,
)  # fmt: skip
def test_a_lookup_that_finds_it_calls_off_the_retry_that_waits(
    at: Home, objects: list[dict[str, Any]], code: str
) -> None:
    held = waiting_again(at)
    look(at, held.effect_id, *objects)
    assert filed(held.effect_id) == {
        "kind": "lookup", "finding": code, "from_state": 1, "to_state": 3}  # fmt: skip
    assert effect_row(held.effect_id)["cause"] == Cause.LATE_EVIDENCE.value
    assert open_row(held.effect_id)["state"] == State.UNKNOWN


def test_nothing_found_and_a_late_refusal_call_nothing_off(at: Home) -> None:
    held = waiting_again(at)
    look(at, held.effect_id)
    settle(held, REFUSAL)
    assert effect_row(held.effect_id)["state"] == State.PREPARED
    assert claim(at, held.effect_id).view.attempts == 2


def test_a_retry_is_neither_sent_nor_expires_where_evidence_speaks_for_an_effect(at: Home) -> None:
    first, second = sent_again(at)
    settle(second, NotProcessed(answer(status=429)))
    settle(first, yes(first))
    with guards_aside() as cursor:  # as a worker that read its state a moment before
        cursor.execute(
            "update effect set state = 1, dispatch_until = now() where effect_id = %s",
            (first.effect_id,),
        )
    with login("worker"), pytest.raises(StaleState):
        dispatch.expire(at.tenant_id, first.effect_id)
    with guards_aside() as cursor:
        cursor.execute(
            "update effect set dispatch_until = now() + interval '1 h' where effect_id = %s",
            (first.effect_id,),
        )
    with pytest.raises(StaleState):
        claim(at, first.effect_id)


@pytest.mark.parametrize(
    "outcome", [REFUSAL, NotProcessed(answer(status=429))], ids=["refused", "not processed"]
)
def test_an_answer_that_says_no_is_not_believed_once_it_was_found(at: Home, outcome: Any) -> None:
    first, second = sent_again(at)
    settle(first, yes(first))
    assert settle(second, outcome).state is State.UNKNOWN
    stored = effect_row(first.effect_id)
    assert (stored["state"], stored["cause"]) == (State.UNKNOWN, Cause.LATE_EVIDENCE.value)
    assert (stored["reject_kind"], stored["declined_code"]) == (None, None)


def test_what_may_still_be_sent_does_not_expire(at: Home) -> None:
    held = waiting_again(at)
    with login("worker"), pytest.raises(Exception, match="refused this change"):
        dispatch.expire(at.tenant_id, held.effect_id)
    assert effect_row(held.effect_id)["state"] == State.PREPARED


def test_a_provider_that_wants_a_pause_does_not_outlast_the_time_to_send(at: Home) -> None:
    held = dispatched(at)
    settle(held, NotProcessed(answer(status=429), retry_after_seconds=100_000))
    stored = effect_row(held.effect_id)
    assert open_row(held.effect_id)["due_at"] == stored["dispatch_until"]
    assert stored["dispatch_until"] - clock.now() < timedelta(seconds=901)


# --- after a rejection ---


def contradictions(at: Home) -> list[Any]:
    """What is on record against a rejection of the tenant."""
    return one_row(
        "select coalesce(array_agg(array[object_id, body::json ->> 'finding',"
        " body::json ->> 'entry']), '{}') as all from record"
        " where tenant_id = %s and kind = 'contradiction'",
        at.tenant_id,
    )["all"]


def test_a_late_confirmation_of_a_rejected_effect_is_a_contradiction_on_record(at: Home) -> None:
    held = lost(at)
    look(at, held.effect_id)
    act(at, held.effect_id, Decision.REJECT)
    late = settle(held, yes(held))
    assert effect_row(held.effect_id)["state"] == State.REJECTED
    assert contradictions(at) == [[str(held.effect_id), "exact", str(late.no)]]


def test_a_lookup_that_finds_a_rejected_effect_is_a_contradiction_on_record(at: Home) -> None:
    effect_id = declined(at)
    looked = look(at, effect_id, {"amount_minor": 1})
    assert contradictions(at) == [[str(effect_id), "differs", str(looked.no)]]


def test_what_agrees_with_an_ending_contradicts_nothing(at: Home) -> None:
    look(at, declined(at))
    look(at, confirmed(at), {})
    held = lost(at)
    act(at, look_and_reject(at, held), Decision.REJECT)
    settle(held, REFUSAL)
    assert contradictions(at) == []


def look_and_reject(at: Home, held: Claim) -> UUID:
    """The effect of `held`, looked up and absent."""
    look(at, held.effect_id)
    return held.effect_id


# --- lookups that were done meanwhile ---


def test_a_lookup_finished_meanwhile_is_kept_as_evidence_all_the_same(at: Home) -> None:
    effect_id = unknown(at)
    ticket = ask(at, effect_id, by=None)
    taken = take(at, ticket)
    first = record(at, taken, {"object_id": "obj-1"})
    second = record(at, taken, {"object_id": "obj-1"})
    assert second == first + 1
    done = one_row("select entry_no from lookup where lookup_id = %s", ticket.lookup_id)
    assert done == {"entry_no": first}
    assert kinds(effect_id)[-2:] == ["lookup", "lookup"]


@pytest.mark.parametrize(("age_seconds", "given_up"), [(55, False), (60, True)])
def test_a_taken_lookup_is_given_up_after_a_minute(
    at: Home, age_seconds: int, given_up: bool
) -> None:
    ticket = ask(at, unknown(at), by=None)
    assert take(at, ticket)
    with guards_aside() as cursor:
        cursor.execute(
            "update lookup set started_at = started_at - make_interval(secs => %s)"
            " where lookup_id = %s",
            (age_seconds, ticket.lookup_id),
        )
    with login("worker"):
        assert ((at.tenant_id, ticket.lookup_id) in lookups.waiting(10_000)) is given_up
    assert (take(at, ticket) is not None) is given_up


def test_only_scheduled_looks_count_towards_the_plan(at: Home) -> None:
    effect_id = unknown(at)
    look(at, effect_id, exhausted=False, by=at.operator)
    assert open_row(effect_id)["looks"] == 0
    look(at, effect_id, exhausted=False)
    assert open_row(effect_id)["looks"] == 1


def test_an_object_that_an_unclear_answer_named_is_looked_up_by_its_id(at: Home) -> None:
    held = dispatched(at)
    named = found_for(held.view, standing=Standing.PENDING)
    settle(held, Unclear(Cause.IN_PROGRESS, answer(), found=named))
    case = facts.case(at.tenant_id, held.effect_id, now=clock.now())
    assert case.view.provider_object_id == named.object_id


def test_an_allowed_retry_is_due_at_once(at: Home) -> None:
    held = waiting_again(at)
    assert open_row(held.effect_id)["due_at"] <= clock.now()
