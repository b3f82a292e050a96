"""Asking the provider from the case: one question at a time, with progress, never by a GET."""

import re
from typing import Any
from uuid import UUID

import pytest
from django.http import HttpResponse
from django.urls import reverse

from console.celery import app
from ledger import lookups
from ledger.ids import screen_id
from ledger.models import Lookup
from tests import builders
from tests.builders import Home
from tests.console.pages.conftest import Browser
from tests.logins import login
from tests.servers import BrokerServer, forget_pools

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey")]

HTMX = {"HX-Request": "true", "HX-Target": "looking"}


def ask(browser: Browser, effect_id: UUID, **headers: str) -> HttpResponse:
    """The answer to the button."""
    return browser.post(browser.url("lookups", screen_id(effect_id)), {}, **headers)


def carry_out(at: Home, lookup_id: UUID, *found: dict[str, Any]) -> None:
    """What the worker does with an open lookup."""
    lookup = Lookup.objects.get(tenant_id=at.tenant_id, lookup_id=lookup_id)
    with login("worker"):
        taken = lookups.take(at.tenant_id, lookup_id)
        assert taken is not None
        now = builders.clock.now()
        case = builders.facts.case(at.tenant_id, lookup.effect_id, now=now)
        one = builders.a_look(case, found, now=now)
        finding = builders.findings.judge(case.view, one, case.contract, now=now)
        lookups.record(taken, ((one, finding),), now=now)


def test_the_button_files_one_lookup_under_the_name_of_who_asked(
    operator: Browser, valkey: BrokerServer
) -> None:
    effect_id = builders.unknown(operator.home)
    answer = ask(operator, effect_id)
    made = Lookup.objects.get(effect_id=effect_id)
    assert answer.status_code == 302
    assert made.asked_by == operator.home.operator.person_id
    assert answer.headers["Location"] == reverse(
        "lookup", args=[operator.slug, screen_id(effect_id), made.lookup_id]
    )


def test_a_second_click_joins_the_lookup_that_runs(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    first, second = ask(operator, effect_id), ask(operator, effect_id)
    assert first.headers["Location"] == second.headers["Location"]
    assert Lookup.objects.filter(effect_id=effect_id).count() == 1


def test_asking_again_at_once_is_too_soon(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    ask(operator, effect_id)
    carry_out(operator.home, Lookup.objects.get(effect_id=effect_id).lookup_id)
    plain, part = ask(operator, effect_id), ask(operator, effect_id, **HTMX)
    assert (plain.status_code, part.status_code) == (429, 429)
    assert "Wait 5 seconds." in part.content.decode()


def test_progress_reads_itself_again_without_script_and_ends_at_the_evidence(
    operator: Browser,
) -> None:
    effect_id = builders.unknown(operator.home)
    url = ask(operator, effect_id).headers["Location"]
    waiting = operator.get(url).content.decode()
    assert '<noscript><meta http-equiv="refresh" content="1"></noscript>' in waiting
    assert "Waits for a worker" in waiting
    carry_out(operator.home, Lookup.objects.get(effect_id=effect_id).lookup_id, {})
    done = operator.get(url)
    assert done.status_code == 302
    # Not the case's own address with an anchor, which a browser on the case would not read anew.
    assert done.headers["Location"].endswith(f"{screen_id(effect_id)}?read=E4#E4")


def test_progress_is_polled_by_a_part_and_the_last_part_polls_no_more(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    first = ask(operator, effect_id, **HTMX).content.decode()
    polled = re.search(r'hx-get="([^"]+)" hx-trigger="every 1s"', first)
    assert polled is not None
    assert "<html" not in first
    carry_out(operator.home, Lookup.objects.get(effect_id=effect_id).lookup_id, {})
    last = operator.get(polled[1], **HTMX).content.decode()
    assert "hx-trigger" not in last
    assert "Test Bank holds exactly one payment made with our key" in last


def test_a_running_lookup_shows_on_the_case(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    ask(operator, effect_id)
    page = operator.case(effect_id)
    assert 'hx-trigger="every 1s"' in page
    assert "A lookup is running." in page


def test_a_broker_that_is_gone_does_not_lose_the_lookup(
    operator: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    effect_id = builders.unknown(operator.home)
    monkeypatch.setattr(app.conf, "broker_url", "redis+socket:///nowhere")
    forget_pools()
    try:
        assert ask(operator, effect_id).status_code == 302
    finally:
        monkeypatch.undo()
        forget_pools()
    assert Lookup.objects.filter(effect_id=effect_id, finished_at=None).count() == 1


def test_a_lookup_of_another_case_is_not_there(operator: Browser) -> None:
    one, other = builders.unknown(operator.home), builders.unknown(operator.home)
    ask(operator, one)
    made = Lookup.objects.get(effect_id=one)
    url = operator.url("lookup", screen_id(other), made.lookup_id)
    assert operator.get(url).status_code == 404
