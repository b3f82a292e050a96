"""What one person may not do alone, and what many requests at once may not do twice."""

import threading
from collections.abc import Callable
from uuid import uuid4

import httpx
from playwright.sync_api import expect

from ledger.ids import screen_id
from tests.browser.conftest import OPERATOR, TENANT, Desk
from tests.demonstration import Demonstration, Part
from tests.person import Person

MANY = 20


def case(part: Part) -> str:
    """The path of a case."""
    return f"/t/{TENANT}/effects/{screen_id(part.effect_id)}"


def test_at_the_tier_the_page_asks_for_a_second_person_and_a_forged_form_records_nothing(
    desk: Desk,
) -> None:
    part = desk.stage.part("at_the_tier")
    part.comes_to("exact")
    desk.read(part)
    why = "1,000.00 EUR is at or above 1,000.00 EUR, so a second person must agree."
    expect(desk.decision).to_contain_text(why)
    button = desk.decision.get_by_role("button", name="Accept the receipt")
    expect(button).to_have_attribute("aria-disabled", "true")
    button.click(force=True)  # as somebody does who does not believe it
    expect(desk.decision).to_contain_text(why)
    with Person(desk.stage.url, OPERATOR) as person:
        refuse_forgeries(person, part)
    assert (part.path, part.receipts, part.resolutions) == ([1, 2, 3], [], 0)
    assert len(part.creates) == 1
    desk.read(part)
    expect(desk.page.locator(".badges")).to_contain_text("Unknown")


def refuse_forgeries(person: Person, part: Part) -> None:
    """The form as a forger completes it, and the same with everything claimed that helps."""
    form = person.form(case(part))
    last_four = part.happened[0][-4:]
    whole = {
        **form, "reason_code": "found_by_key", "words": "We are quite sure of this one.",
        "object_last_four": last_four, "receipt": part.happened[0],
    }  # fmt: skip
    claims = {
        "people_required": "1",
        "amount_minor": "1",
        "state": "4",
        "approved_by": str(uuid4()),
    }
    for given in (whole, {**whole, **claims, "command": str(uuid4())}):
        answer = person.send(f"{case(part)}/resolutions", given)
        assert answer.status_code == 403
        assert "a second person must agree" in answer.text
    refusals = part.stage.rows(
        "select body from record where kind = 'refused' and object_id = %s",
        screen_id(part.effect_id),
    )
    assert len(refusals) == 2
    assert all('"code":"second_person_needed"' in str(row["body"]) for row in refusals)


def test_twenty_submits_of_one_form_are_one_action_with_one_answer(
    demonstration: Demonstration,
) -> None:
    part = demonstration.part("in_parallel")
    part.comes_to("exact")
    with Person(demonstration.url, OPERATOR) as person:
        form = person.form(case(part))
        answers = all_at_once(person, lambda web: web.post(f"{case(part)}/resolutions", data=form))
    assert {answer.status_code for answer in answers} == {303}
    assert len({answer.headers["Location"] for answer in answers}) == 1
    assert len(answers) == MANY
    assert (len(part.applications), part.resolutions) == (1, 1)
    assert part.path == [1, 2, 3, 4]
    assert part.happened == part.receipts == [part.effect["provider_result_id"]]
    order = part.order_ends()
    assert (order["state"], order["completions"]) == ("completed", 1)
    assert len(part.creates) == 1


def all_at_once(
    person: Person, send: Callable[[httpx.Client], httpx.Response]
) -> list[httpx.Response]:
    """What `send` answers in twenty connections of the one session, let go together."""
    barrier, answers = threading.Barrier(MANY, timeout=60), list[httpx.Response]()

    def run() -> None:
        with httpx.Client(base_url=person.url, cookies=person.cookies, timeout=60) as web:
            barrier.wait()
            answers.append(send(web))

    threads = [threading.Thread(target=run) for _ in range(MANY)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers
