"""Templates, styles and script: nothing inline, nothing from another host, nothing computed."""

import hashlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
STATIC = ROOT / "static"
VENDORED = tomllib.loads((STATIC / "vendor" / "VENDORED.toml").read_text())
STYLE = (STATIC / "console" / "console.css").read_text()
SCRIPT = (STATIC / "console" / "console.js").read_text()
MOST_SCRIPT_BYTES = 10_000

TOKENS = {
    name: (light, dark)
    for name, light, dark in re.findall(
        r"--([\w-]+):light-dark\((#[0-9A-Fa-f]{6}),(#[0-9A-Fa-f]{6})\)", STYLE
    )
}
HUES = ("amber", "red", "green", "blue", "slate")
GROUNDS = ("panel", "bg", "sunken", "hover", "selected")


def pairs() -> Iterator[tuple[str, str, float]]:
    """Every text or mark, the ground it stands on, and the contrast it must have."""
    for ground in GROUNDS:
        yield from (("t1", ground, 7), ("t2", ground, 7), ("t3", ground, 4.5), ("focus", ground, 3))
    for ground in ("panel", "bg", "selected", "accent-bg"):
        yield "accent", ground, 4.5
    yield from (
        ("on-accent", "accent", 7),
        ("on-accent", "accent-hover", 7),
        ("on-red", "red-mk", 4.5),
    )
    for hue in HUES:
        yield from ((hue, f"{hue}-bg", 7), (hue, "panel", 7), (hue, "selected", 4.5))
        yield from ((f"{hue}-mk", "panel", 3), (f"{hue}-mk", "selected", 3))
    yield from (("control", "panel", 3), ("control", "bg", 3))
    for hue in ("amber", "red", "slate"):
        yield f"{hue}-mk", "sunken", 3


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("mark", "ground", "floor"), list(pairs()))
@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_every_pair_of_colours_keeps_its_contrast(
    mark: str, ground: str, floor: float, theme: int
) -> None:
    assert contrast(TOKENS[mark][theme], TOKENS[ground][theme]) >= floor


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_holds_no_script_and_no_style_of_its_own(path: Path) -> None:
    html = path.read_text()
    assert not re.search(r"\sstyle=|<style|\son[a-z]+=|javascript:|hx-on", html)
    assert not re.search(r"<script(?![^>]*\bsrc=)", html)
    assert not re.search(r"\|\s*safe\b|autoescape\s+off", html)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_says_first_what_it_needs(path: Path) -> None:
    first = path.read_text().split("\n", 1)[0]
    assert re.match(r"\{# .+\. #\}", first) or path.name == "_icons.html", first


def test_nothing_is_asked_of_another_host() -> None:
    for path in [*TEMPLATES, *(STATIC / "console").iterdir()]:
        found = re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", path.read_text())
        assert set(found) <= {"http://www.w3.org"}, path


def test_every_icon_that_is_used_is_drawn() -> None:
    drawn = set(
        re.findall(r'<symbol id="([\w-]+)"', (ROOT / "templates/console/_icons.html").read_text())
    )
    used = {
        icon
        for path in TEMPLATES
        for icon in re.findall(r'href="#([gi]-[\w-]+)"', path.read_text())
    }
    used |= {
        icon
        for path in (ROOT / "console" / "pages").glob("*.py")
        for icon in re.findall(r'"([gi]-[a-z-]+)"', path.read_text())
    }
    assert used <= drawn


def test_our_own_script_stays_small() -> None:
    assert len(SCRIPT.encode()) <= MOST_SCRIPT_BYTES


def test_every_vendored_file_is_the_one_we_looked_at() -> None:
    named = {entry["file"] for entry in VENDORED["vendored"]}
    files = {
        path.relative_to(STATIC / "vendor").as_posix()
        for path in (STATIC / "vendor").rglob("*")
        if path.is_file() and path.name not in ("LICENSE.txt", "VENDORED.toml")
    }
    assert named == files
    for entry in VENDORED["vendored"]:
        path = STATIC / "vendor" / entry["file"]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == entry["sha256"]
        assert (path.parent / "LICENSE.txt").is_file()
