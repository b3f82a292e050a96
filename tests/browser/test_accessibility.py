"""Every page for everybody: no finding of axe, no sideways scrolling, a focus that is seen."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import TENANT, Desk

RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}
PAGES = ("queue", "effects", "providers", "search?q=payment")
# Of these the provider holds one payment, none, and two payouts; nobody settles them.
CASES = {
    "payment:inv_4101:collect:v1": "exact",
    "payment:inv_4103:collect:v1": "absent",
    "payout:bill_4106:settle:v1": "several",
}
TABS = 30
# The ring may be drawn around the box that a field stands in.
FOCUS = """() => {
  const at = document.activeElement, box = at.getBoundingClientRect();
  const rings = [at, at.parentElement].map((one) => {
    const style = getComputedStyle(one);
    const drawn = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    return drawn && !/, 0\\)$|transparent/.test(style.outlineColor);
  });
  const seen = box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight
    && box.right > 0 && box.left < innerWidth;
  return { at: at.outerHTML.slice(0, 160), body: at === document.body, ring: rings.some(Boolean),
    seen };
}"""


def show(desk: Desk, page: str) -> None:
    """A page of the tenant, or a case by its key once it shows what it is named for."""
    if page in CASES:
        part = desk.stage.of(page)
        part.comes_to(CASES[page])
        desk.read(part)
    else:
        desk.open(page if page.startswith("/") else f"/t/{TENANT}/{page}")
    expect(desk.page.locator("h1").first).to_be_visible()


@pytest.mark.parametrize("page", ["/signin", *PAGES, *CASES])
def test_axe_finds_nothing(desk_of: Callable[..., Desk], signed_in: Any, page: str) -> None:
    desk = desk_of(storage_state=None if page == "/signin" else signed_in, reduced_motion="reduce")
    show(desk, page)
    found = [
        (theme, width, *each)
        for theme, width in product(("light", "dark"), (1440, 390))
        for each in faults(desk, theme, width)
    ]
    assert not found


def faults(desk: Desk, theme: Any, width: int) -> Iterator[tuple[str, list[str]]]:
    """The rules that the page breaks in this look, and the elements that do."""
    desk.page.emulate_media(color_scheme=theme)
    desk.page.set_viewport_size({"width": width, "height": 900})
    for each in Axe().run(desk.page, options=RULES).response["violations"]:
        yield each["id"], [node["html"][:120] for node in each["nodes"]]


@pytest.mark.parametrize("width", [720, 390])
def test_no_page_scrolls_sideways(desk: Desk, width: int) -> None:
    desk.page.set_viewport_size({"width": width, "height": 800})
    over = {}
    for page in ("/tenants", "/preferences", *PAGES, *CASES):
        show(desk, page)
        over[page] = desk.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert {page: pixels for page, pixels in over.items() if pixels > 0} == {}


@pytest.mark.parametrize("page", ["queue", next(iter(CASES))])
def test_whoever_walks_by_tab_sees_where_they_are(desk: Desk, page: str) -> None:
    show(desk, page)
    reached, lost = set(), []
    for _ in range(TABS):
        desk.page.keyboard.press("Tab")
        focus = desk.page.evaluate(FOCUS)
        if focus["body"]:
            break
        reached.add(focus["at"])
        if not (focus["ring"] and focus["seen"]):
            lost.append(focus["at"])
    assert not lost
    assert len(reached) > TABS / 2
