"""Lookups: one at a time, nothing lost; only a scheduled one settles, where policy allows it."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from ledger import access, clock, facts, lookups
from ledger.access import Acting
from ledger.errors import NotFound, NotPermitted, TooMany
from ledger.ids import new_id
from ledger.rules import findings
from ledger.rules.contract import LookFailure, Standing
from ledger.rules.findings import FindingCode
from ledger.rules.states import State
from tests.builders import (
    DAY,
    Home,
    a_look,
    confirmed,
    effect_row,
    entries,
    grant,
    guards_aside,
    home,
    look,
    one_row,
    open_row,
    person,
    policy,
    prepared,
    unknown,
)
from tests.crowd import all_at_once
from tests.logins import login

FAILED = {"standing": Standing.FAILED_NO_EFFECT, "status": "failed"}


def ask(at: Home, effect_id: Any, *, by: Acting | None) -> lookups.Ticket:
    """Ask as a person, or as the schedule."""
    with login("web" if by else "worker"), transaction.atomic():
        access.enter(at.tenant_id)
        return lookups.request(at.tenant_id, effect_id, by=by)


def take(at: Home, ticket: lookups.Ticket) -> lookups.Taken | None:
    """A worker takes the lookup up."""
    with login("worker"):
        return lookups.take(at.tenant_id, ticket.lookup_id)


def lookup_row(lookup_id: Any) -> dict[str, Any]:
    """The stored lookup."""
    return one_row("select * from lookup where lookup_id = %s", lookup_id)


# --- asking ---


def test_a_persons_lookup_names_the_person_and_a_scheduled_one_nobody(at: Home) -> None:
    mine = ask(at, unknown(at), by=at.operator)
    planned = ask(at, unknown(at), by=None)
    assert lookup_row(mine.lookup_id)["asked_by"] == at.operator.person_id
    assert lookup_row(planned.lookup_id)["asked_by"] is None


def test_a_second_click_joins_the_lookup_under_way(at: Home) -> None:
    effect_id = unknown(at)
    first = ask(at, effect_id, by=at.operator)
    again = ask(at, effect_id, by=at.operator)
    assert (first.joined, again.joined) == (False, True)
    assert first.lookup_id == again.lookup_id


def test_many_clicks_at_once_make_one_lookup(at: Home) -> None:
    effect_id = unknown(at)

    def click(_: int) -> lookups.Ticket:
        with transaction.atomic():
            access.enter(at.tenant_id)
            return lookups.request(at.tenant_id, effect_id, by=at.operator)

    answers = all_at_once(12, click, as_login="web")
    assert not answers.errors
    assert len({ticket.lookup_id for ticket in answers.values}) == 1
    assert sum(not ticket.joined for ticket in answers.values) == 1


def test_a_lookup_right_after_another_is_put_off_by_five_seconds(at: Home) -> None:
    effect_id = unknown(at)
    done = look(at, effect_id, by=at.operator)
    with pytest.raises(TooMany) as refusal:
        ask(at, effect_id, by=at.operator)
    assert refusal.value.details["retry_at"] - lookup_row(done.lookup_id)[
        "finished_at"] == timedelta(seconds=5)  # fmt: skip


def test_the_schedules_own_look_keeps_nobody_waiting(at: Home) -> None:
    effect_id = unknown(at)
    look(at, effect_id)
    assert not ask(at, effect_id, by=at.operator).joined


def test_five_seconds_later_it_may_be_asked_again(at: Home) -> None:
    effect_id = unknown(at)
    done = look(at, effect_id, by=at.operator)
    with guards_aside() as cursor:
        cursor.execute(
            "update lookup set finished_at = finished_at - interval '5 s' where lookup_id = %s",
            (done.lookup_id,),
        )
    assert not ask(at, effect_id, by=at.operator).joined


def test_a_settled_effect_may_be_looked_up_too(at: Home) -> None:
    effect_id = confirmed(at)
    looked = look(at, effect_id, {"object_id": effect_row(effect_id)["provider_result_id"]})
    assert entries(effect_id)[-1][:4] == (looked.no, "lookup", 4, 4)


def test_who_may_not_look_may_not_ask(at: Home) -> None:
    viewer = person(at.tenant_id, ["view"])
    with pytest.raises(NotPermitted):
        ask(at, unknown(at), by=viewer)


def test_a_right_that_ran_out_is_none(at: Home) -> None:
    late = person(at.tenant_id)
    grant(late.account_id, at.tenant_id, ["look_up"], expires_at=clock.now())
    with pytest.raises(NotPermitted):
        ask(at, unknown(at), by=late)


def test_another_tenants_effect_is_not_there(at: Home) -> None:
    foreign = unknown(home())
    with pytest.raises(NotFound):
        ask(at, foreign, by=at.operator)
    with pytest.raises(NotFound):
        ask(at, new_id(), by=at.operator)


# --- carrying out ---


def test_a_lookup_is_taken_up_once(at: Home) -> None:
    ticket = ask(at, unknown(at), by=None)
    answers = all_at_once(
        6, lambda _: lookups.take(at.tenant_id, ticket.lookup_id), as_login="worker"
    )
    assert not answers.errors
    assert sum(taken is not None for taken in answers.values) == 1


def test_a_lookup_whose_worker_died_is_taken_up_again(at: Home) -> None:
    ticket = ask(at, unknown(at), by=None)
    assert take(at, ticket)
    with guards_aside() as cursor:
        cursor.execute(
            "update lookup set started_at = started_at - interval '60 s' where lookup_id = %s",
            (ticket.lookup_id,),
        )
    with login("worker"):
        assert (at.tenant_id, ticket.lookup_id) in lookups.waiting(10_000)
    assert take(at, ticket)


def test_what_is_asked_now_is_shown_until_it_is_answered(at: Home) -> None:
    ticket = ask(at, unknown(at), by=at.operator)
    taken = take(at, ticket)
    with login("worker"):
        lookups.progress(taken, "Asking by key")
    assert lookup_row(ticket.lookup_id)["progress"] == "Asking by key"


FINDINGS = [
    ([{}], {}, FindingCode.EXACT),
    ([{"amount_minor": 1}], {}, FindingCode.DIFFERS),
    ([{}, {}], {}, FindingCode.SEVERAL),
    ([{"standing": Standing.PENDING}], {}, FindingCode.PENDING),
    ([FAILED], {}, FindingCode.FAILED_OBJECT),
    ([{"standing": Standing.REVERSED}], {}, FindingCode.REVERSED),
    ([], {}, FindingCode.ABSENT),
    ([], {"exhausted": False}, FindingCode.ABSENT_INCONCLUSIVE),
    ([], {"failure": LookFailure.UNREACHABLE}, FindingCode.FAILING),
    ([], {"failure": LookFailure.UNSUPPORTED}, FindingCode.UNSUPPORTED),
]


@pytest.mark.parametrize(("objects", "fields", "code"), FINDINGS, ids=lambda v: str(v)[:24])
def test_every_finding_is_kept_and_none_settles_by_itself(
    at: Home, objects: list[dict[str, Any]], fields: dict[str, Any], code: FindingCode
) -> None:
    effect_id = unknown(at)
    looked = look(at, effect_id, *objects, **fields)
    stored = one_row("select finding, proof, body, salt from entry join payload"
                     " using (tenant_id, effect_id, no) where effect_id = %s and no = %s",
                     effect_id, looked.no)  # fmt: skip
    assert stored["finding"] == code.value
    waiting = open_row(effect_id)
    assert (waiting["finding"], waiting["looks"], waiting["last_no"]) == (code.value, 1, looked.no)
    assert effect_row(effect_id)["state"] == State.UNKNOWN
    assert lookup_row(looked.lookup_id)["entry_no"] == looked.no
    assert lookup_row(looked.lookup_id)["finished_at"]


def test_the_case_reads_back_what_was_found(at: Home) -> None:
    effect_id = unknown(at)
    looked = look(at, effect_id, {}, by=at.operator)
    case = facts.case(at.tenant_id, effect_id, now=clock.now())
    [finding] = case.earlier
    assert (finding.code, finding.object_id) == (FindingCode.EXACT, looked.object_id)
    assert case.facts.findings[0].asked_by_person
    assert (case.state, case.looks, case.taken_in) == (State.UNKNOWN, 0, False)


def test_an_object_that_is_anothers_receipt_is_not_ours(at: Home) -> None:
    taken = effect_row(confirmed(at))["provider_result_id"]
    effect_id = unknown(at)
    look(at, effect_id, {"object_id": taken})
    assert open_row(effect_id)["finding"] in ("absent", "absent_inconclusive")


def test_the_next_look_follows_the_contracts_plan(at: Home) -> None:
    effect_id = unknown(at)
    look(at, effect_id, failure=LookFailure.UNREACHABLE)
    wait = open_row(effect_id)["due_at"] - clock.now()
    assert timedelta(seconds=50) < wait <= timedelta(seconds=60)


# --- automation (T11, T12) ---

EUR = {"EUR": (100_000, None)}


def automated(ceiling: int | None, **changes: Any) -> tuple[Home, Any]:
    """A tenant that lets automation settle payments up to a ceiling, with an unknown effect."""
    at = home()
    policy(at.tenant_id, EUR, settles=[("pay", "EUR", ceiling)])
    return at, unknown(at, **changes)


def test_off_by_default_an_exact_finding_waits_for_a_person(at: Home) -> None:
    effect_id = unknown(at)
    look(at, effect_id, {})
    assert effect_row(effect_id)["state"] == State.UNKNOWN


@pytest.mark.parametrize(
    ("ceiling", "state"),
    [(4_199, State.UNKNOWN), (4_200, State.CONFIRMED), (4_201, State.CONFIRMED)],
)
def test_automation_confirms_up_to_its_ceiling(ceiling: int, state: State) -> None:
    at, effect_id = automated(ceiling)
    looked = look(at, effect_id, {})
    stored = effect_row(effect_id)
    assert stored["state"] == state
    if state is State.CONFIRMED:
        assert stored["provider_result_id"] == looked.object_id
        assert entries(effect_id)[-1] == (
            4, "settled_itself", 3, 4, "reconciler", "ascertain_worker")  # fmt: skip
        assert not open_row(effect_id)


def test_automation_without_a_ceiling_settles_nothing() -> None:
    at, effect_id = automated(None)
    look(at, effect_id, {})
    assert effect_row(effect_id)["state"] == State.UNKNOWN


def test_automation_rejects_on_an_explicit_failed_object() -> None:
    at, effect_id = automated(10_000)
    look(at, effect_id, FAILED)
    stored = effect_row(effect_id)
    assert (stored["state"], stored["reject_kind"]) == (State.REJECTED, "provider_declined")


def test_a_lookup_that_a_person_asked_for_never_settles() -> None:
    at, effect_id = automated(10_000)
    look(at, effect_id, {}, by=at.operator)
    assert effect_row(effect_id)["state"] == State.UNKNOWN


@pytest.mark.parametrize(
    "objects",
    [[], [{"amount_minor": 1}], [{}, {}], [{"standing": Standing.PENDING}],
     [{"counterparty": "token-mallory"}], [{"currency": "USD"}], [{"account": "second"}],
     [{"standing": Standing.REVERSED}]],
    ids=str,
)  # fmt: skip
def test_automation_settles_on_nothing_less_than_one_exact_object(
    objects: list[dict[str, Any]],
) -> None:
    at, effect_id = automated(10_000)
    look(at, effect_id, *objects)
    assert effect_row(effect_id)["state"] == State.UNKNOWN


def test_automation_that_was_switched_off_settles_nothing() -> None:
    at, effect_id = automated(10_000)
    policy(at.tenant_id, EUR)
    look(at, effect_id, {})
    assert effect_row(effect_id)["state"] == State.UNKNOWN


def test_automation_settles_a_message_without_an_amount() -> None:
    at = home()
    policy(at.tenant_id, {"XXX": (None, None)}, settles=[("note", "XXX", None)])
    effect_id = unknown(at, operation="note")
    look(at, effect_id, {})
    assert effect_row(effect_id)["state"] == State.CONFIRMED


def test_what_automation_settled_is_still_to_be_heard_by_its_workflow() -> None:
    at, effect_id = automated(10_000)
    look(at, effect_id, {})
    assert one_row("select state from resumption where effect_id = %s", effect_id) == {"state": 4}


def test_one_lookup_recorded_by_many_workers_at_once_settles_once_and_loses_nothing() -> None:
    at, effect_id = automated(10_000)
    taken = take(at, ask(at, effect_id, by=None))
    case = facts.case(at.tenant_id, effect_id, now=clock.now())
    one = a_look(case, [{}], now=clock.now())
    finding = findings.judge(case.view, one, case.contract, now=clock.now())
    answers = all_at_once(
        3,
        lambda _: lookups.record(taken, ((one, finding),), now=clock.now()),
        as_login="worker",
    )
    assert (len(answers.values), answers.errors) == (3, [])
    assert [entry[1] for entry in entries(effect_id)] == [
        "prepared", "sent", "given_up", "settled_itself", "lookup", "lookup"]  # fmt: skip


def test_the_queue_knows_when_absence_counts(at: Home) -> None:
    effect_id = unknown(at, operation="pay_slowly")
    look(at, effect_id)
    waiting, stored = open_row(effect_id), effect_row(effect_id)
    assert waiting["finding"] == "absent_inconclusive"
    counts_from = one_row("select counts_from from effect_open where effect_id = %s", effect_id)
    assert counts_from["counts_from"] == stored["last_attempt_at"] + timedelta(seconds=3600)


def test_a_key_window_ends_where_the_contract_says(at: Home) -> None:
    effect_id = unknown(at)
    stored = effect_row(effect_id)
    assert open_row(effect_id)["key_until"] == stored["first_attempt_at"] + timedelta(seconds=DAY)
    assert open_row(prepared(at, operation="pay_unkeyed"))["key_until"] is None
