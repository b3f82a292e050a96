"""Anybody's stuck rows: the CSV is taken in once, and one of its rows is settled in the browser."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import TENANT, Desk

FILE = "docs/examples/stuck.csv"
KEY = "payment:shop_7001:intake:v1"


def test_a_strangers_five_lines_become_unknown_effects_and_one_is_settled(desk: Desk) -> None:
    stage = desk.stage
    said = stage.run("intake", FILE, "--tenant", TENANT)
    assert len(re.findall(r"^line \d+ +shop_700\d +taken in", said, re.MULTILINE)) == 5
    again = stage.run("intake", FILE, "--tenant", TENANT)
    assert "0 taken in" in again
    taken = stage.rows("select * from effect where intent_key like '%%:shop_700_:intake:v1'")
    assert {effect["state"] for effect in taken} == {3}
    assert len(taken) == 5

    part = stage.of(KEY)
    desk.open(f"/t/{TENANT}/queue?sort=newest")
    row = desk.page.locator(f'tr[data-case]:has([title="{KEY}"])')
    row.get_by_role("link").first.click()
    expect(desk.page.locator(".badges")).to_contain_text("Taken in")
    desk.page.locator("#evidence").get_by_text("The source line", exact=True).click()
    expect(desk.page.locator("#E1 pre")).to_contain_text("shop-7001")
    desk.page.get_by_role("button", name=re.compile("^Look up")).first.click()
    expect(desk.page.locator("#evidence li.ev").first).to_contain_text(
        "holds exactly one payment", timeout=30_000
    )
    desk.decision.get_by_role("button", name="Accept the receipt").click()
    expect(desk.page.get_by_text("Recorded as Reconciled.")).to_be_visible()

    assert (part.path, part.creates) == ([3, 4], [])
    (sent,) = stage.log("requests", key="shop-7001", kind="create")
    (made,) = stage.log("effects", key="shop-7001")
    assert part.receipts == [made["id"]] == [part.effect["provider_result_id"]]
    assert (sent["amount"], made["amount"]) == (7490, 7490)
    (applied,) = part.applications
    assert applied["action"] == "accept"
