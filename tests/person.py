"""A person who uses a running console by plain HTTP: signs in, reads pages, sends their forms."""

import re
from dataclasses import dataclass, field
from typing import Any

import httpx

from console.demo.sample import PASSWORD

FIELD = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
TICKED = re.compile(r'name="evidence" value="(\d+)" checked')
CHOSEN = re.compile(r'<option value="(\w+)" selected')


@dataclass
class Person:
    """One signed-in account of the demonstration at the console of address `url`."""

    url: str
    username: str
    web: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.web = httpx.Client(base_url=self.url, timeout=30)
        page = self.web.get("/signin").raise_for_status().text
        given = dict(FIELD.findall(page)) | {"login": self.username, "password": PASSWORD}
        assert self.web.post("/signin", data=given).headers["Location"] == "/"

    def __enter__(self) -> "Person":
        return self

    def __exit__(self, *_: object) -> None:
        self.web.close()

    @property
    def cookies(self) -> dict[str, str]:
        """The session's cookies by name."""
        return dict(self.web.cookies)

    def page(self, path: str) -> str:
        """The text of a page that must be there."""
        return self.web.get(path).raise_for_status().text

    def form(self, path: str, *, decide: str = "") -> dict[str, Any]:
        """The fields of a case's open form as its page fills them in; `decide` opens another."""
        page = self.page(f"{path}?decide={decide}" if decide else path)
        html = page[page.index('class="decide"') :]
        html = html[: html.index("</form>")]
        fields: dict[str, Any] = dict(FIELD.findall(html))
        fields["evidence"] = TICKED.findall(html)
        if chosen := CHOSEN.search(html):
            fields["reason_code"] = chosen[1]
        return fields

    def send(self, path: str, given: dict[str, Any]) -> httpx.Response:
        """The answer to a form; redirects are not followed."""
        return self.web.post(path, data=given)
