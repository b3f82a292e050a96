"""What settles itself where the tenant switched it on, and what waits for a person elsewhere."""

from playwright.sync_api import expect

from tests.browser.conftest import TENANT, Desk


def test_a_receipt_email_settles_itself_after_its_worker_was_killed(desk: Desk) -> None:
    part = desk.stage.part("email after-accept")
    part.reaches(4)
    effect = part.effect
    assert part.path == [1, 2, 3, 4]
    assert part.happened == part.receipts == [effect["provider_result_id"]]
    assert (len(part.creates), part.resolutions) == (1, 0)
    order = part.order_ends()
    assert (order["state"], order["completions"]) == ("completed", 1)
    assert order["steps"] == {"render_receipt": 1, "send_receipt": 1}
    desk.read(part)
    expect(desk.page.locator(".badges")).to_contain_text("Reconciled")
    expect(desk.page.locator(".badges")).to_contain_text("Reconciled by automation")
    expect(desk.page.locator("#E4")).to_contain_text("It settled the case, as the policy allows.")


def test_a_charge_waits_in_the_queue_though_its_match_is_exact(desk: Desk) -> None:
    part = desk.stage.of("payment:inv_4101:collect:v1")
    part.comes_to("exact")
    assert (part.path, part.receipts, part.resolutions) == ([1, 2, 3], [], 0)
    assert len(part.creates) == len(part.happened) == 1
    order = part.order
    assert (order["state"], order["completions"]) == ("waiting", 0)
    desk.open(f"/t/{TENANT}/queue?finding=exact")
    row = desk.page.locator(f'tr[data-case]:has([title="{part.intent_key}"])')
    expect(row).to_contain_text("1 match, exact")
