"""Deciding on the page: what is recorded, what is refused, and that nothing typed is lost."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connections
from django.http import HttpResponse
from django.urls import reverse

from console import formats
from ledger import clock
from ledger.ids import screen_id
from ledger.models import Record, Resolution
from ledger.rules.contract import Route
from tests import builders
from tests.console.pages.conftest import Browser
from tests.crowd import all_at_once

pytestmark = pytest.mark.django_db


def found_once(browser: Browser, **changes: Any) -> UUID:
    """An unknown effect of which the provider holds exactly one object that agrees."""
    effect_id = builders.unknown(browser.home, **changes)
    builders.look(browser.home, effect_id, {})
    return effect_id


def absent(browser: Browser, **changes: Any) -> UUID:
    """An unknown effect of which the provider proves that it holds nothing."""
    effect_id = builders.unknown(browser.home, **changes)
    builders.look(browser.home, effect_id)
    return effect_id


def form(page: str) -> dict[str, Any]:
    """The open decision's fields as the page filled them in."""
    html = page[page.index('class="decide"') :]
    html = html[: html.index("</form>")]
    fields: dict[str, Any] = dict(
        re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', html)
    )
    fields["evidence"] = re.findall(r'name="evidence" value="(\d+)" checked', html)
    if chosen := re.search(r'<option value="(\w+)" selected', html):
        fields["reason_code"] = chosen[1]
    return fields


def send(browser: Browser, effect_id: UUID, given: dict[str, Any], to: str = "resolutions") -> Any:
    """The answer to a decision's form."""
    return browser.post(browser.url(to, screen_id(effect_id)), given)


def state(effect_id: UUID) -> int:
    """The effect's state as the record has it."""
    return int(builders.effect_row(effect_id)["state"])


def text(answer: HttpResponse) -> str:
    """The page of an answer."""
    return answer.content.decode()


def test_an_exact_match_below_the_tier_is_accepted_with_the_form_as_it_opens(
    operator: Browser,
) -> None:
    effect_id = found_once(operator)
    answer = send(operator, effect_id, form(operator.case(effect_id)))
    assert answer.status_code == 303
    assert state(effect_id) == 4
    done = text(operator.get(answer.headers["Location"]))
    assert "Recorded as Reconciled." in done
    assert "No workflow waits for this." not in done


def test_the_same_form_sent_again_answers_as_the_first_time(operator: Browser) -> None:
    effect_id = found_once(operator)
    given = form(operator.case(effect_id))
    first, second = send(operator, effect_id, given), send(operator, effect_id, given)
    assert (first.status_code, second.status_code) == (303, 303)
    assert first.headers["Location"] == second.headers["Location"]
    assert Resolution.objects.filter(effect_id=effect_id).count() == 1


def test_a_status_line_is_written_from_the_record_not_from_the_address(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    assert "Recorded" not in operator.case(effect_id, query="recorded=E2")
    assert "Recorded" not in operator.case(effect_id, query="recorded=E99")


def test_a_form_of_an_older_version_is_refused_with_what_moved_and_the_words_kept(
    operator: Browser,
) -> None:
    effect_id = absent(operator)
    given = form(operator.case(effect_id, query="decide=reject"))
    builders.look(operator.home, effect_id, {})
    answer = send(operator, effect_id, given | {"words": "Nobody there, asked twice."})
    assert answer.status_code == 409
    assert state(effect_id) == 3
    assert "This changed while you were reading" in text(answer)
    assert "Nobody there, asked twice." in text(answer)
    assert "E5," in text(answer)
    assert f'name="version" value="{given["version"]}"' not in text(answer)


def test_a_decision_that_the_case_does_not_offer_is_refused_with_the_reason(
    operator: Browser,
) -> None:
    effect_id = found_once(operator)
    given = form(operator.case(effect_id)) | {"decision": "reject", "words": "It is not there."}
    answer = send(operator, effect_id, given)
    assert answer.status_code == 422
    assert "A matching payment exists (E4)." in text(answer)
    assert "It is not there." in text(answer)
    assert state(effect_id) == 3


def test_a_missing_reason_and_short_words_stand_beside_their_fields(operator: Browser) -> None:
    effect_id = absent(operator)
    given = form(operator.case(effect_id, query="decide=redispatch"))
    answer = send(operator, effect_id, given | {"reason_code": "", "words": "no"})
    page = text(answer)
    assert answer.status_code == 422
    assert page.count('aria-invalid="true"') == 3
    assert "Choose a reason from the list." in page
    assert "Type the amount that we meant to send, with its currency." in page
    assert re.search(r"<textarea[^>]*>no</textarea>", page)


@pytest.mark.parametrize(
    ("typed", "status"),
    [
        ("42.00 EUR", 303),
        ("42,00 EUR", 303),
        ("42.00", 422),
        ("42.00 USD", 422),
        ("41.00 EUR", 422),
    ],
)
def test_a_retry_asks_for_the_amount_and_its_currency(
    operator: Browser, typed: str, status: int
) -> None:
    effect_id = absent(operator)
    given = form(operator.case(effect_id, query="decide=redispatch"))
    given |= {"words": "The customer still owes this.", "intent_amount": typed}
    answer = send(operator, effect_id, given)
    assert answer.status_code == status
    assert state(effect_id) == (1 if status == 303 else 3)
    assert "42.00 EUR" not in re.findall(r'<span class="err">([^<]*)', text(answer))


def test_at_the_tier_the_form_is_locked_and_the_server_refuses_it_too(operator: Browser) -> None:
    effect_id = found_once(operator, amount_minor=builders.SECOND_FROM)
    page = operator.case(effect_id)
    assert "1,000.00 EUR is at or above 1,000.00 EUR, so a second person must agree." in page
    assert 'aria-disabled="true" aria-describedby="f-why"' in page
    answer = send(operator, effect_id, form(page) | {"reason_code": "found_by_key"})
    assert answer.status_code == 403
    assert state(effect_id) == 3


def test_below_the_tier_nothing_is_locked(operator: Browser) -> None:
    page = operator.case(found_once(operator, amount_minor=builders.SECOND_FROM - 1))
    assert 'aria-describedby="f-why"' not in page


def test_a_viewer_reads_the_case_with_its_form_locked(
    operator: Browser, browser_of: Callable[..., Browser]
) -> None:
    effect_id = found_once(operator)
    page = browser_of("viewer").case(effect_id)
    assert "The right to decide and escalate is not yours" in page


def test_a_refused_attempt_stands_in_the_record(operator: Browser) -> None:
    effect_id = found_once(operator, amount_minor=builders.SECOND_FROM)
    send(operator, effect_id, form(operator.case(effect_id)) | {"reason_code": "found_by_key"})
    made = Record.objects.get(tenant_id=operator.home.tenant_id, kind="refused")
    assert made.person_id == operator.home.operator.person_id
    assert made.object_id == screen_id(effect_id)
    assert '"code":"second_person_needed"' in made.body


@pytest.mark.parametrize(
    "broken",
    [{"command": "x"}, {"command": ""}, {"version": "one"}, {"decision": "force"}, {"version": ""}],
)
def test_a_broken_hidden_field_is_refused_and_records_nothing(
    operator: Browser, broken: dict[str, str]
) -> None:
    effect_id = found_once(operator)
    answer = send(operator, effect_id, form(operator.case(effect_id)) | broken)
    assert answer.status_code == 422
    assert "Read the case again." in text(answer)
    assert state(effect_id) == 3


def test_no_form_yields_confirmed_without_evidence(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    for decision in ("accept", "accept_with_difference", "accept_one_of_several", "confirm"):
        given = {
            "command": str(uuid4()),
            "version": str(builders.effect_row(effect_id)["version"]),
            "decision": decision,
            "receipt": "obj-made-up",
            "reason_code": "found_by_key",
            "words": "It is surely there, the customer said so.",
            "evidence": ["1", "2", "3"],
        }
        assert send(operator, effect_id, given).status_code == 422
    assert state(effect_id) == 3


def test_markup_in_what_was_typed_is_shown_as_text(operator: Browser) -> None:
    effect_id = found_once(operator)
    evil = "</textarea><script>alert(1)</script>"
    given = form(operator.case(effect_id)) | {"reason_code": "", "words": evil}
    page = text(send(operator, effect_id, given))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_an_escalation_names_who_must_act_and_shows_on_case_and_queue(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    builders.look(operator.home, effect_id, {}, {})
    given = form(operator.case(effect_id)) | {
        "owner": "Payments L2",
        "reason_code": "several_found",
        "words": "Which of the two does the customer see?",
    }
    local = (clock.now() + timedelta(hours=2)).astimezone(formats.of("UTC", now=clock.now()).zone)
    answer = send(
        operator, effect_id, given | {"next_check_at": f"{local:%Y-%m-%dT%H:%M}"}, "escalations"
    )
    assert answer.status_code == 303
    assert state(effect_id) == 3
    page = text(operator.get(answer.headers["Location"]))
    assert "Escalated to Payments L2." in page
    assert "Which of the two does the customer see?" in page
    assert "Escalated" in operator.page("queue", query="view=escalated")


def handed_over(browser: Browser, effect_id: UUID, **changes: Any) -> dict[str, Any]:
    """An escalation's form as somebody would fill it in now."""
    later = f"{clock.now() + timedelta(hours=2):%Y-%m-%dT%H:%M}"
    return {
        "command": str(uuid4()),
        "version": str(builders.effect_row(effect_id)["version"]),
        "owner": "Payments L2",
        "reason_code": "other",
        "words": "Please ask the bank about it.",
        "next_check_at": later,
        **changes,
    }


def test_an_escalated_case_is_not_escalated_over_the_first(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    send(operator, effect_id, handed_over(operator, effect_id), "escalations")
    again = handed_over(operator, effect_id, owner="Somebody else")
    answer = send(operator, effect_id, again, "escalations")
    assert answer.status_code == 422
    assert "Already escalated to Payments L2." in text(answer)
    assert builders.open_row(effect_id)["escalated_to"] == "Payments L2"


def test_an_escalation_sent_again_leads_to_the_same_entry(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    given = handed_over(operator, effect_id)
    first = send(operator, effect_id, given, "escalations")
    builders.look(operator.home, effect_id)
    second = send(operator, effect_id, given, "escalations")
    assert (first.status_code, second.status_code) == (303, 303)
    assert first.headers["Location"] == second.headers["Location"]


def test_a_token_used_for_another_effect_is_refused_and_a_new_one_is_offered(
    operator: Browser,
) -> None:
    first, other = builders.unknown(operator.home), builders.unknown(operator.home)
    given = handed_over(operator, first)
    send(operator, first, given, "escalations")
    answer = send(operator, other, handed_over(operator, other) | {"command": given["command"]},
                  "escalations")  # fmt: skip
    assert answer.status_code == 409
    assert "sent before for something else" in text(answer)
    assert given["command"] not in text(answer)
    assert builders.open_row(other)["escalated_to"] is None


@pytest.mark.parametrize("operation", ["pay", "note"])
def test_a_likeness_says_that_it_only_fits_and_nothing_of_an_amount(
    operator: Browser, operation: str
) -> None:
    effect_id = builders.unknown(operator.home, operation=operation)
    builders.look(operator.home, effect_id, {"reference": None}, route=Route.BY_ATTRIBUTES)
    page = operator.case(effect_id, query="decide=accept")
    assert "It only fits what was sent, nothing on it names our key, so a second person" in page
    assert "is at or above" not in page
    assert "no threshold" not in page


def test_an_absence_of_what_was_taken_in_says_on_what_it_rests(operator: Browser) -> None:
    effect_id = builders.taken_in(operator.home)
    builders.look(operator.home, effect_id)
    page = operator.case(effect_id, query="decide=reject")
    assert "Its key or request id is what the source file claims, so a second person" in page
    assert "is at or above" not in page


def test_an_escalation_without_a_moment_or_an_owner_is_kept_and_explained(
    operator: Browser,
) -> None:
    effect_id = builders.unknown(operator.home)
    given = {"command": str(uuid4()), "version": "3", "words": "Please look at this one."}
    first = send(
        operator, effect_id, given | {"owner": "L2", "next_check_at": "soon"}, "escalations"
    )
    assert first.status_code == 422
    assert "as a date and a time" in text(first)
    second = send(
        operator,
        effect_id,
        given | {"owner": " ", "next_check_at": "2099-01-01T10:00"},
        "escalations",
    )
    assert second.status_code == 422
    assert "Name who must act" in text(second)
    assert "Please look at this one." in text(second)


def test_twenty_equal_submits_at_once_give_one_action_and_one_answer(operator: Browser) -> None:
    effect_id = found_once(operator)
    given = form(operator.case(effect_id))
    url = reverse("resolutions", args=[operator.slug, screen_id(effect_id)])
    cookies = operator.client.cookies.output(header="", sep=";")
    session = operator.client.cookies["session"].value

    def submit(number: int) -> tuple[int, str]:
        from django.test import Client

        client = Client(headers={"cookie": f"session={session}"})
        try:
            answer = client.post(url, given)
        finally:
            connections["auth"].close()
        return answer.status_code, answer.headers.get("Location", "")

    assert "session" in cookies
    answers = all_at_once(20, submit, as_login="web")
    assert not answers.errors
    assert set(answers.values) == {(303, answers.values[0][1])}
    assert Resolution.objects.filter(effect_id=effect_id).count() == 1
    assert state(effect_id) == 4
