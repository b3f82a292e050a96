"""The main job: an effect whose worker died is found, looked up, proved and settled, once."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import TENANT_NAME, Desk
from tests.demonstration import Part

CASE = re.compile(r"/effects/eff_[a-z0-9]+(\?.*)?(#E\d+)?$")
STEPS = {"reserve_stock": 1, "collect": 1}


def test_an_operator_settles_what_a_killed_worker_left_behind(desk_of: Callable[..., Desk]) -> None:
    desk = desk_of()
    part = desk.stage.part("main")
    left_unknown(part)
    part.comes_to("exact")
    desk.sign_in()
    desk.page.get_by_role("link", name=TENANT_NAME).click()
    row = desk.page.locator(f'tr[data-case]:has([title="{part.intent_key}"])')
    expect(row).to_contain_text("1 match, exact")
    expect(row).to_contain_text("129.00")
    row.get_by_role("link").first.click()
    look_up(desk, part)
    accept(desk, part)
    settled(part)


def test_the_same_works_without_script(desk_of: Callable[..., Desk]) -> None:
    desk = desk_of(java_script_enabled=False)
    part = desk.stage.part("without_script")
    left_unknown(part)
    part.comes_to("exact")
    desk.sign_in()
    desk.page.get_by_role("link", name=TENANT_NAME).click()
    desk.find(part.intent_key)
    look_up(desk, part)
    accept(desk, part)
    settled(part)


def left_unknown(part: Part) -> None:
    """What the kill left: one request that the provider carried out, and nobody knows."""
    assert re.search(r"Killed worker process \d+ with SIGKILL after the provider", part.said)
    assert (part.path, part.receipts) == ([1, 2, 3], [])
    assert (len(part.creates), len(part.happened)) == (1, 1)
    order = part.order
    assert (order["state"], order["steps"]) == ("waiting", STEPS)


def look_up(desk: Desk, part: Part) -> None:
    """Ask the provider by hand; the answer stands on the case as a new entry."""
    part.may_be_looked_up()
    before = len(part.lookups)
    button = desk.page.get_by_role("button", name=re.compile("^Look up"))
    expect(button).to_have_count(1)
    button.click()
    evidence = desk.page.locator("#evidence li.ev")
    expect(evidence.first).to_contain_text("holds exactly one payment", timeout=30_000)
    expect(evidence.first).to_contain_text("E5")
    expect(desk.page).to_have_url(CASE)
    assert [one["status"] for one in part.lookups[before:]] == [200]
    assert (part.path, len(part.creates)) == ([1, 2, 3], 1)


def accept(desk: Desk, part: Part) -> None:
    """Accept the receipt with the form as the rules open it."""
    expect(desk.decision.get_by_role("heading")).to_have_text("Next step: accept the receipt")
    expect(desk.decision).to_contain_text("Nothing is sent to Sandbox Cards.")
    desk.decision.get_by_role("button", name="Accept the receipt").click()
    note = desk.page.get_by_role("status").filter(has_text="Recorded as Reconciled.")
    expect(note).to_contain_text("entry E6")
    expect(desk.page.locator(".badges")).to_contain_text("Reconciled")
    expect(desk.page.locator(".strip")).to_contain_text(part.happened[0][:8])


def settled(part: Part) -> None:
    """Ledger and provider agree: one create, one receipt, and the workflow went on once."""
    effect = part.effect
    assert part.path == [1, 2, 3, 4]
    assert part.happened == part.receipts == [effect["provider_result_id"]]
    (applied,) = part.applications
    assert (applied["action"], applied["receipt_id"]) == ("accept", effect["provider_result_id"])
    assert 5 in applied["evidence"]
    order = part.order_ends()
    assert (order["state"], order["completions"]) == ("completed", 1)
    assert order["steps"] == {**STEPS, "send_receipt": 1}
    assert len(part.creates) == 1


@pytest.mark.parametrize("width", [1440, 1280])
def test_the_facts_that_a_decision_needs_stand_above_the_fold(desk: Desk, width: int) -> None:
    part = desk.stage.of("payment:inv_4101:collect:v1")
    part.comes_to("exact")
    desk.page.set_viewport_size({"width": width, "height": 800})
    desk.read(part)
    for words in ("ord_4101", "inv_4101", "Sandbox Cards", "129.00", "Card ending 4101"):
        expect(desk.page.locator(".chead, .strip").get_by_text(words).first).to_be_in_viewport()
    for name in ("Last attempt", "Request digest"):
        expect(desk.page.locator(".strip").get_by_text(name)).to_be_in_viewport()
    expect(desk.decision.get_by_role("heading")).to_be_in_viewport()
