"""Killed after the dispatch mark: once absence is proven, one retry under the same key."""

from playwright.sync_api import expect

from tests.browser.conftest import Desk
from tests.demonstration import Part

CONDITIONS = 9


def test_after_the_settle_time_both_appear_with_every_condition_ticked_and_a_retry_happens_once(
    desk: Desk,
) -> None:
    part = desk.stage.part("retried")
    part.comes_to("absent")
    proven(desk, part)
    retry(desk, part)
    part.reaches(4)
    confirmed(part)


def proven(desk: Desk, part: Part) -> None:
    """Nothing was sent so far, every condition of the contract is ticked, and both are offered."""
    desk.read(part)
    clauses = desk.page.locator("ul.clauses li")
    expect(clauses).to_have_count(CONDITIONS)
    expect(desk.page.locator("ul.clauses li.ok")).to_have_count(CONDITIONS)
    expect(desk.decision.get_by_role("button", name="Allow one retry")).to_be_enabled()
    expect(desk.other("Mark rejected")).not_to_have_attribute("aria-disabled", "true")
    assert (part.path, part.creates) == ([1, 2, 3], [])


def retry(desk: Desk, part: Part) -> None:
    """Allow it: the amount is typed and the reason said."""
    form = desk.decision
    form.get_by_label("In your words").fill("The customer still owes this and waits for it.")
    form.get_by_label("Amount and currency, as in the request").fill("64.50 EUR")
    form.get_by_role("button", name="Allow one retry").click()
    expect(desk.page.get_by_text("Recorded: one retry is allowed.")).to_be_visible()
    (applied,) = part.applications
    assert (applied["action"], applied["reason_code"]) == ("redispatch", "absence_proven")


def confirmed(part: Part) -> None:
    """It was sent once more, under the key of the first attempt, and happened once."""
    effect = part.effect
    assert part.path == [1, 2, 3, 1, 2, 4]
    assert (effect["attempts"], part.receipts) == (2, [effect["provider_result_id"]])
    (sent,) = part.creates
    assert (sent["key"], sent["attempt"]) == (str(effect["provider_key"]), str(effect["fence"]))
    assert part.happened == [effect["provider_result_id"]]
    order = part.order_ends()
    assert (order["state"], order["completions"]) == ("completed", 1)
    assert order["steps"] == {"reserve_stock": 1, "collect": 1, "send_receipt": 1}
