"""Every refusal has one HTTP answer, and every shortcoming of a form a place on the page."""

import pytest

from console import refusals
from ledger import errors
from ledger.errors import LedgerError
from ledger.ids import new_id, screen_id
from ledger.rules.forms import Lack
from ledger.rules.words import Words, say

NOT_ON_PAGES = {"refused", "inside_transaction"}


def every_refusal() -> list[type[LedgerError]]:
    """Every class of refusal the ledger knows."""
    found = [thing for thing in vars(errors).values() if isinstance(thing, type)]
    return [thing for thing in found if issubclass(thing, LedgerError)]


@pytest.mark.parametrize("refusal", every_refusal(), ids=lambda kind: kind.code)
def test_every_refusal_has_its_status(refusal: type[LedgerError]) -> None:
    assert refusal.code in refusals.STATUS or refusal.code in NOT_ON_PAGES


@pytest.mark.parametrize(
    ("refusal", "status"),
    [
        (errors.StaleState(), 409),
        (errors.ReceiptTaken(), 409),
        (errors.RetryClosed(), 410),
        (errors.BadForm(), 422),
        (errors.NotPermitted(), 403),
        (errors.SecondPersonNeeded(), 403),
        (errors.TooMany(), 429),
        (errors.NotFound(), 404),
    ],
    ids=lambda value: getattr(value, "code", value),
)
def test_a_refusal_is_answered_as_decided(refusal: LedgerError, status: int) -> None:
    shown = refusals.shown(refusal, say=Words.render)
    assert (shown.status, shown.words) == (status, refusal.message)
    assert shown.title


def test_a_shortcoming_stands_beside_its_field_or_in_the_summary() -> None:
    lacks = (Lack("words", say("Say why.")), Lack("", say("Read the case again.")))
    shown = refusals.shown(errors.BadForm(lacks=lacks), say=Words.render)
    assert shown.fields == {"words": "Say why."}
    assert shown.words.endswith("Read the case again.")


def test_a_moment_in_a_refusal_is_written_for_the_reader() -> None:
    refusal = errors.NotPossible("in UTC", words=say("Closed at {at}.", at="14:02"))
    assert refusals.shown(refusal, say=Words.render).words == "Closed at 14:02."


@pytest.mark.parametrize("kind", [errors.Frozen, errors.DigestMismatch, errors.ReceiptTaken])
def test_a_refusal_because_of_another_effect_leads_to_its_case(kind: type[LedgerError]) -> None:
    effect_id = new_id()
    refusal = kind(effect_id=effect_id)
    assert refusal.details["case"] == f"effects/{screen_id(effect_id)}"
    assert refusal.message == f"{kind.default} Its case is {screen_id(effect_id)}."
    assert str(refusal) == refusal.message
    assert "case" not in kind().details
