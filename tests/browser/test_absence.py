"""Killed after the dispatch mark: before absence counts, nothing found is no answer."""

import re
from datetime import UTC, timedelta

from playwright.sync_api import expect

from ledger import clock
from tests.browser.conftest import Desk
from tests.servers import wait_until

SETTLE = timedelta(seconds=70)  # 60 s that the contract names, 5 s deadline, 5 s in flight


def test_before_the_settle_time_the_page_offers_neither_reject_nor_retry_and_says_until_when(
    desk: Desk,
) -> None:
    part = desk.stage.part("retried")
    assert (part.path, part.creates) == ([1, 2, 3], [])
    counts_from = part.effect["last_attempt_at"] + SETTLE
    assert clock.now() < counts_from, "this was read too late to see the time before"
    desk.read(part)
    desk.page.get_by_role("button", name=re.compile("^Look up")).first.click()
    wait_until(lambda: part.finding, what="the finding")
    desk.read(part)
    assert part.finding == "absent_inconclusive"
    moment = counts_from.astimezone(UTC).strftime("%H:%M:%S")
    for title in ("Mark rejected", "Allow one retry"):
        locked = desk.other(title)
        expect(locked).to_have_attribute("aria-disabled", "true")
        expect(locked).to_contain_text(f"absence counts from {moment}")
        expect(locked).to_contain_text(f"Look up again after {moment}")
        expect(desk.page.get_by_role("button", name=title)).to_have_count(0)
    assert (part.path, part.resolutions) == ([1, 2, 3], 0)
