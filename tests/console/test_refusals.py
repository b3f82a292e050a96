"""Every refusal has one HTTP answer, and every shortcoming of a form a place on the page."""

import re
from pathlib import Path

import pytest

from console import refusals
from ledger import errors
from ledger.errors import LedgerError
from ledger.rules import forms
from ledger.rules.decisions import Typed
from ledger.rules.words import Words, say

NOT_ON_PAGES = {"refused", "inside_transaction"}
# They name what nobody typed or chose, so they stand above the form.
APART = {"Choose the one that is ours.", "The receipt is another one than the page showed."}


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


def test_every_shortcoming_of_a_form_has_its_field() -> None:
    source = Path(forms.__file__).read_text()
    yielded = re.findall(r'yield say\(\s*"([^"]+)"', source)
    typed = [*forms._ASKED.values(), *forms._WRONG.values()]
    assert len(yielded) >= 6
    for template in [*yielded, *typed]:
        placed = refusals.fields_of(say(template))
        assert placed or any(template.startswith(start) for start in APART), template


def test_the_fields_of_typed_values_are_those_of_the_rules() -> None:
    fields = {name for names in refusals.FIELDS.values() for name in names}
    assert {each.value for each in Typed} <= fields


def test_a_moment_in_a_refusal_is_written_for_the_reader() -> None:
    refusal = errors.NotPossible("in UTC", words=say("Closed at {at}.", at="14:02"))
    assert refusals.shown(refusal, say=Words.render).words == "Closed at 14:02."
