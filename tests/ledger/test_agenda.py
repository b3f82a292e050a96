"""The queue's next values: what was taken in has no key window, so none presses."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from console import formats
from console.pages import casehead
from console.people import Seat
from ledger import agenda, clock, facts
from tests.builders import DAY, Home, look, open_row, taken_in, unknown

pytestmark = pytest.mark.django_db


def rank_on_the_page(at: Home, effect_id: UUID) -> int:
    """The priority that the head of the case shows."""
    now = clock.now()
    case = facts.case(at.tenant_id, effect_id, now=now)
    seat = Seat(at.tenant_id, "t", "A tenant", "test", "EUR", None, frozenset({"view"}))
    head: dict[str, Any] = casehead.of(case, seat=seat, formats=formats.of("UTC", now=now))
    return int(head["priority"])


def test_a_row_taken_in_is_not_ranked_by_a_key_window_it_does_not_have(at: Home) -> None:
    now = clock.now()
    effect_id = taken_in(at, first_attempt_at=now - timedelta(seconds=DAY - 1800))
    look(at, effect_id)
    row = open_row(effect_id)
    assert (row["priority"], rank_on_the_page(at, effect_id), row["key_until"]) == (3, 3, None)
    case = facts.case(at.tenant_id, effect_id, now=now)
    assert agenda.closing_at(case.view, case.contract) is None


def test_what_was_sent_from_here_is_ranked_by_its_key_window(at: Home) -> None:
    effect_id = unknown(at)
    case = facts.case(at.tenant_id, effect_id, now=clock.now())
    closing = agenda.closing_at(case.view, case.contract)
    assert closing is not None
    assert case.effect.key_until - closing == timedelta(seconds=DAY // 10)


def test_what_was_taken_in_without_a_time_is_looked_up_at_once(at: Home) -> None:
    effect_id = taken_in(at, first_attempt_at=None)
    now = clock.now()
    case = facts.case(at.tenant_id, effect_id, now=now)
    assert agenda.first_look_at(case.view, case.contract, now=now) == now
