"""A real Chromium in front of the running demonstration."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

from console.demo.sample import PASSWORD
from tests.demonstration import Demonstration, Part

FLAGS = (
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
WIDE = {"width": 1440, "height": 900}
OPERATOR = "operator-one"
TENANT, TENANT_NAME = "aurelia", "Aurelia Logistics"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands in this folder."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.timeout(500))


@pytest.fixture(scope="session", autouse=True)
def chromium_path() -> str:
    """Where Chromium is; without one these tests are left out, or fail where they must run."""
    if path := shutil.which("chromium") or shutil.which("chromium-browser"):
        return path
    words = "There is no Chromium here; install the package `chromium` to run the browser tests."
    if os.environ.get("ASCERTAIN_REQUIRE_BROWSER") == "1":
        pytest.fail(words)
    pytest.skip(words)


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    """Ended with each module: its event loop in this thread would keep Django from the database."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="module")
def chromium(playwright: Playwright, chromium_path: str) -> Iterator[Browser]:
    """The browser."""
    started = playwright.chromium.launch(executable_path=chromium_path, args=list(FLAGS))
    yield started
    started.close()


@dataclass
class Desk:
    """One person's browser window on the demonstration."""

    stage: Demonstration
    context: BrowserContext
    page: Page

    def sign_in(self, username: str = OPERATOR) -> None:
        """By the form, as everybody."""
        self.page.goto(f"{self.stage.url}/signin")
        self.page.get_by_label("User name or email").fill(username)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(lambda url: "/signin" not in url)

    def open(self, path: str) -> None:
        """A page of the console."""
        self.page.goto(f"{self.stage.url}{path}")

    def find(self, words: str) -> None:
        """The case that the search box leads to."""
        self.page.get_by_role("searchbox").fill(words)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url("**/effects/eff_*")

    def read(self, part: Part) -> None:
        """The case of `part` as it is now."""
        self.open(f"/t/{TENANT}/search?q={part.intent_key}")
        self.page.wait_for_url("**/effects/eff_*")

    @property
    def decision(self) -> Any:
        """The panel with the form that is open."""
        return self.page.locator("#decide")

    def other(self, title: str) -> Any:
        """A decision beside the open one, by its title."""
        return self.page.locator(".ctl").filter(has=self.page.get_by_text(title, exact=True))


@pytest.fixture
def desk_of(chromium: Browser, demonstration: Demonstration) -> Iterator[Callable[..., Desk]]:
    """desk_of(java_script_enabled=False) is a window of its own; no page of it may err."""
    desks, complaints = list[Desk](), list[str]()

    def sit_down(**options: Any) -> Desk:
        context = chromium.new_context(**{"viewport": WIDE, **options})
        context.set_default_timeout(20_000)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if is_error(said) else None)
        desks.append(Desk(demonstration, context, page))
        return desks[-1]

    yield sit_down
    for desk in desks:
        desk.context.close()
    assert not complaints


def is_error(said: Any) -> bool:
    """Whether the browser's console complains; that a refused form has its status is no fault."""
    return said.type == "error" and "the server responded with a status of 4" not in said.text


@pytest.fixture(scope="module")
def signed_in(chromium: Browser, demonstration: Demonstration) -> Any:
    """The cookies of an operator who signed in a moment ago."""
    context = chromium.new_context()
    Desk(demonstration, context, context.new_page()).sign_in()
    cookies = context.storage_state()
    context.close()
    return cookies


@pytest.fixture
def desk(desk_of: Callable[..., Desk], signed_in: Any) -> Desk:
    """The operator's window, signed in."""
    return desk_of(storage_state=signed_in)
