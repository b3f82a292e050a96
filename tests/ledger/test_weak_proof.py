"""What only fits, what differs and what has no code: proof on which nobody settles alone."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from ledger import access, client, clock, dispatch, facts
from ledger.errors import LedgerError, NotPossible, SecondPersonNeeded
from ledger.rules.contract import Declined, Route, Standing
from ledger.rules.decisions import Decision, Option, option
from ledger.rules.findings import FindingCode
from ledger.rules.states import State
from ledger.sql import row
from tests.builders import (
    Home,
    answer,
    dispatched,
    effect_row,
    home,
    look,
    one_row,
    policy,
    unknown,
)
from tests.ledger.deciding import act, form
from tests.logins import login

FITS = {"object_id": "obj-fits", "reference": None}
FAILED = {"standing": Standing.FAILED_NO_EFFECT}


def automated() -> Home:
    """A tenant that lets automation settle payments."""
    at = home()
    policy(at.tenant_id, {"EUR": (100_000, None)}, settles=[("pay", "EUR", 10_000)])
    return at


def late_refusal(at: Home, code: str = "card_declined") -> UUID:
    """An effect whose lease was lost before its listed refusal came."""
    held = dispatched(at, operation="pay_lost")
    with login("worker"):
        dispatch.reap(limit=10_000)
        dispatch.settle(held, Declined(code, answer(status=402)))
    return held.effect_id


def after(at: Home, effect_id: UUID) -> tuple[Any, ...]:
    """What the workflow hears of the ending: kind, code and what may follow."""
    with login("workflow"):
        [heard] = [each for each in client.due(at.tenant_id) if each.effect_id == effect_id]
    return heard.reject_kind, heard.code, heard.after


# --- what only fits ---


def test_a_second_look_makes_no_match_of_what_only_fits() -> None:
    at = automated()
    effect_id = unknown(at)
    for count in (1, 2):
        look(at, effect_id, FITS, route=Route.BY_ATTRIBUTES)
        stored = one_row("select array_agg(finding) as all from entry where effect_id = %s"
                         " and finding is not null", effect_id)  # fmt: skip
        assert stored["all"] == [FindingCode.LIKELY.value] * count
        case = facts.case(at.tenant_id, effect_id, now=clock.now())
        assert case.view.provider_object_id is None, "its id would find it once more, as ours"
        assert case.state is State.UNKNOWN
        with pytest.raises(SecondPersonNeeded):
            act(at, effect_id, Decision.ACCEPT)
    refs = one_row("select array_agg(kind) as all from effect_ref where effect_id = %s"
                   " and ref = 'obj-fits'", effect_id)  # fmt: skip
    assert refs["all"] == ["seen"]


def test_found_by_its_key_it_is_settled_by_itself_where_nothing_else_was_seen() -> None:
    at = automated()
    effect_id = unknown(at)
    look(at, effect_id, FITS, route=Route.BY_ATTRIBUTES)
    look(at, effect_id, {"object_id": "obj-fits"})
    assert effect_row(effect_id)["state"] == State.CONFIRMED


# --- automation beside other evidence ---


@pytest.mark.parametrize(
    "other",
    [{"amount_minor": 1}, {"standing": Standing.PENDING}, {"standing": Standing.REVERSED}, {}],
    ids=["differs", "pending", "reversed", "exact"],
)
def test_automation_does_not_confirm_beside_another_object(other: dict[str, Any]) -> None:
    at = automated()
    effect_id = unknown(at)
    look(at, effect_id, {"object_id": "obj-other", **other}, by=at.operator)
    look(at, effect_id, {"object_id": "obj-ours"})
    assert effect_row(effect_id)["state"] == State.UNKNOWN


@pytest.mark.parametrize(
    "before", [{"amount_minor": 1}, {"standing": Standing.REVERSED}], ids=["differed", "undone"]
)
def test_automation_does_not_confirm_an_object_that_was_another_before(
    before: dict[str, Any],
) -> None:
    at = automated()
    effect_id = unknown(at)
    look(at, effect_id, {"object_id": "obj-ours", **before})
    looked = look(at, effect_id, {"object_id": "obj-ours"})
    stored = effect_row(effect_id)
    assert (stored["state"], stored["version"]) == (State.UNKNOWN, looked.no)


def test_automation_does_not_reject_what_was_seen_before() -> None:
    at = automated()
    effect_id = unknown(at)
    look(at, effect_id, {"object_id": "obj-1", "standing": Standing.PENDING})
    look(at, effect_id, {"object_id": "obj-1", **FAILED})
    assert effect_row(effect_id)["state"] == State.UNKNOWN


def test_automation_decides_nothing_that_takes_two_persons() -> None:
    at = home()
    policy(at.tenant_id, {"EUR": (4_200, None)}, settles=[("pay", "EUR", 10_000)])
    effect_id = unknown(at)
    look(at, effect_id, {})
    assert effect_row(effect_id)["state"] == State.UNKNOWN


# --- late refusals ---


@pytest.mark.parametrize("exhausted", [True, False], ids=["absent", "absent_inconclusive"])
def test_a_late_refusal_holds_where_a_later_look_found_nothing(at: Home, exhausted: bool) -> None:
    effect_id = late_refusal(at)
    look(at, effect_id, exhausted=exhausted)
    act(at, effect_id, Decision.REJECT)
    assert effect_row(effect_id)["declined_code"] == "card_declined"
    assert after(at, effect_id) == ("provider_declined", "card_declined", "new_version")


def test_a_late_refusal_is_outweighed_by_what_was_seen(at: Home) -> None:
    effect_id = late_refusal(at)
    look(at, effect_id, {"standing": Standing.PENDING})
    look(at, effect_id)
    with pytest.raises(NotPossible):
        act(at, effect_id, Decision.REJECT)


def test_what_was_refused_late_and_is_found_can_be_accepted_with_its_reason(at: Home) -> None:
    effect_id = late_refusal(at)
    look(at, effect_id, {})
    assert form(at, effect_id, Decision.ACCEPT).reason_code == "found_by_key"
    assert act(at, effect_id, Decision.ACCEPT).state is State.CONFIRMED


def test_a_failure_without_a_code_says_nothing_of_what_may_follow(at: Home) -> None:
    effect_id = unknown(at)
    look(at, effect_id, FAILED)
    act(at, effect_id, Decision.REJECT)
    assert after(at, effect_id) == ("provider_declined", None, None)


def test_a_proven_absence_may_be_followed_by_a_new_version(at: Home) -> None:
    effect_id = unknown(at)
    look(at, effect_id)
    act(at, effect_id, Decision.REJECT)
    assert after(at, effect_id) == ("absence_proven", None, "new_version")


# --- the rules and PostgreSQL, decision by decision ---

OURS, OTHER = {"object_id": "obj-ours"}, {"object_id": "obj-other"}
LOOKS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "absent": ([], {}),
    "inconclusive": ([], {"exhausted": False}),
    "exact": ([OURS], {}),
    "other": ([OTHER], {}),
    "several": ([OURS, OTHER], {}),
    "differs": ([{**OURS, "amount_minor": 1}], {}),
    "pending": ([{**OURS, "standing": Standing.PENDING}], {}),
    "reversed": ([{**OURS, "standing": Standing.REVERSED}], {}),
    "failed": ([{**OURS, **FAILED}], {}),
    "fits": ([{**OURS, "reference": None}], {"route": Route.BY_ATTRIBUTES}),
}
STORIES = [(first, second) for first in ("", *LOOKS) for second in LOOKS]


def refused_by_postgresql(at: Home, effect_id: UUID, chosen: Option, *, version: int) -> str:
    """What the guards say to one person who decides as offered; "" where they let it through."""
    proposed = (
        at.tenant_id, effect_id, chosen.decision.value, version, chosen.object_id,
        list(chosen.evidence), at.operator.person_id, at.operator.account_id,
    )  # fmt: skip
    try:
        with login("web"), transaction.atomic():
            access.enter(at.tenant_id)
            made = row(
                "insert into resolution (tenant_id, resolution_id, effect_id, command_id, action,"
                " version, receipt_id, evidence, reason_code, words, person_id, account_id)"
                " values (%s, gen_random_uuid(), %s, gen_random_uuid(), %s, %s, %s, %s, 'r', 'w',"
                " %s, %s) returning tenant_id, resolution_id",
                proposed,
            )
            row("insert into application (tenant_id, resolution_id) values (%s, %s)", made)
            transaction.set_rollback(True)
    except LedgerError as refusal:
        return refusal.code
    return ""


def told(at: Home, story: tuple[str, str], *, refused: bool) -> UUID:
    """An unknown effect of which this was found, one after the other."""
    effect_id = late_refusal(at) if refused else unknown(at)
    for name in filter(None, story):
        objects, fields = LOOKS[name]
        look(at, effect_id, *objects, **fields)
    return effect_id


@pytest.mark.parametrize("refused", [False, True], ids=["unanswered", "refused late"])
def test_one_person_is_offered_what_postgresql_lets_through(at: Home, refused: bool) -> None:
    differing, passed = [], set()
    for story in STORIES:
        effect_id = told(at, story, refused=refused)
        case = facts.case(at.tenant_id, effect_id, now=clock.now())
        newest = case.facts.findings[-1]
        for action in (Decision.ACCEPT, Decision.REJECT, Decision.REDISPATCH):
            chosen = option(action, case.facts)
            offered = chosen.available and chosen.people == 1
            if not offered:
                about = newest.finding.object_id
                chosen = replace(chosen, evidence=(newest.no,), object_id=about)
            said = refused_by_postgresql(at, effect_id, chosen, version=case.effect.version)
            if offered is bool(said):
                differing.append((*story, action.value, said or "went through"))
            if not said:
                passed.add(action)
    assert differing == []
    retries = set() if refused else {Decision.REDISPATCH}
    assert passed == {Decision.ACCEPT, Decision.REJECT} | retries
