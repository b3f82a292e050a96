"""Anybody's stuck rows: the CSV is taken in once, and all its lines are settled in the browser."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import TENANT, Desk
from tests.demonstration import SETTLES_WITHIN_SECONDS, Demonstration, Part
from tests.servers import wait_until

FILE = "docs/examples/stuck.csv"
FOUND = {  # line: the route it is found by, what names it at the provider, its smallest units
    "shop_7001": ("found_by_key", ("idempotency_key", "shop-7001"), 7490),
    "shop_7002": ("found_by_request_id", ("request_id", "req-shop-7002"), 31800),
    "shop_7003": ("found_by_request_id", ("request_id", "req-shop-7003"), 1999),
    "shop_7005": ("found_by_key", ("idempotency_key", "shop-7005"), 2850),
}
REFUSED = "shop_7004"  # the provider keeps it as failed


def of(stage: Demonstration, line: str) -> Part:
    """The effect that a line became."""
    (found,) = stage.rows(
        "select intent_key from effect where intent_key like %s", f"%:{line}:intake:v1"
    )
    return stage.of(found["intent_key"])


def take_in(stage: Demonstration, file: str | Path) -> str:
    """What `intake` says of a file."""
    return stage.run("intake", str(file), "--tenant", TENANT)


def listed(part: Part) -> None:
    """Wait until the provider's lists show all that its log holds: their settle time."""
    wait_until(
        lambda: all(
            datetime.fromisoformat(one["listed_from"]) <= datetime.now(UTC)
            for one in part.stage.log("effects")
            if one["listed_from"] and str(one["counterparty"]).startswith(("cus_s700", "sup_s700"))
        ),
        timeout_seconds=SETTLES_WITHIN_SECONDS,
        what="the end of the provider's settle time",
    )


def look_up(desk: Desk, part: Part, says: str) -> None:
    """Open the case, ask for a lookup and wait for what it says."""
    listed(part)
    part.may_be_looked_up()
    desk.read(part)
    expect(desk.page.locator(".badges")).to_contain_text("Taken in")
    shown = desk.page.locator("#evidence li.ev")
    known = shown.count()  # the schedule may have found the same already
    desk.page.get_by_role("button", name=re.compile("^Look up")).first.click()
    expect(shown).not_to_have_count(known, timeout=30_000)
    expect(shown.first).to_contain_text(says)


def test_a_strangers_five_lines_become_unknown_effects_and_all_are_settled(
    desk: Desk,
) -> None:
    stage = desk.stage
    said = take_in(stage, FILE)
    assert len(re.findall(r"^line \d+ +shop_700\d +taken in", said, re.MULTILINE)) == 5
    assert "0 taken in" in take_in(stage, FILE)
    taken = stage.rows("select * from effect where intent_key like '%%:shop_700_:intake:v1'")
    assert [effect["state"] for effect in taken] == [3] * 5
    wait_until(lambda: looked_up_by_schedule(stage) == 5, what="the schedule's own first looks")

    desk.read(of(stage, "shop_7001"))
    desk.page.locator("#evidence").get_by_text("The source line", exact=True).click()
    expect(desk.page.locator("#E1 pre")).to_contain_text("shop-7001")
    for line in FOUND:
        settle(desk, line)

    part = of(stage, REFUSED)
    look_up(desk, part, "holds the payment as failed")
    desk.decision.get_by_label("In your words").fill("The bank holds it as failed.")
    desk.decision.get_by_role("button", name="Mark rejected").click()
    expect(desk.page.get_by_text("Recorded as Rejected.")).to_be_visible()
    assert (part.path, part.receipts) == ([3, 5], [])


def looked_up_by_schedule(stage: Demonstration) -> int:
    """How many of the five were looked up: a look that comes in later would move the case."""
    found = stage.rows(
        "select count(*) as looks from effect_open where intent_key like '%%:shop_700_:intake:v1'"
        " and looks > 0"
    )
    return int(found[0]["looks"])


def settle(desk: Desk, line: str) -> None:
    """Accept what the provider holds for the line, and compare record and provider."""
    reason, (field, value), amount_minor = FOUND[line]
    part = of(desk.stage, line)
    look_up(desk, part, "holds exactly one")
    desk.decision.get_by_role("button", name="Accept the receipt").click()
    expect(desk.page.get_by_text("Recorded as Reconciled.")).to_be_visible()
    assert (part.path, part.creates) == ([3, 4], [])
    (made,) = (one for one in desk.stage.log("effects") if one[field] == value)
    assert part.receipts == [made["id"]] == [part.effect["provider_result_id"]]
    assert (part.effect["amount_minor"], made["amount"]) == (amount_minor, amount_minor)
    (applied,) = part.applications
    assert (applied["action"], applied["reason_code"]) == ("accept", reason)


def test_a_strangers_line_that_never_arrived_takes_two_people(desk: Desk, tmp_path: Path) -> None:
    sent_at = datetime.now(UTC) - timedelta(hours=1)
    file = tmp_path / "one.csv"
    file.write_text(
        "payment_id,type,amount,currency,customer,sent_at,idempotency_key\n"
        f"shop_7006,charge,41.00,EUR,cus_s7006,{sent_at.isoformat()},shop-7006\n"
    )
    assert "1 taken in" in take_in(desk.stage, file)
    part = of(desk.stage, "shop_7006")
    look_up(desk, part, "holds no payment")
    desk.open(f"{desk.page.url.removeprefix(desk.stage.url).split('?')[0]}?decide=reject")
    expect(desk.decision).to_contain_text(
        "Its key or request id is what the source file claims, so a second person must agree."
    )
    button = desk.decision.get_by_role("button", name="Mark rejected")
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(desk.other("Allow one retry")).to_contain_text("never sent from here")
    assert (part.path, part.resolutions) == ([3], 0)
