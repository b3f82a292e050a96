"""What the repository may hold: no hosts of registries, no machine's paths, nothing unexplained."""

import hashlib
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_tidy import ROOT, name_of, none

BINARY = {".png", ".woff2", ".ico", ".gif", ".jpg", ".sqlite3"}
HERE = "tests/test_repository.py"


def texts() -> list[Path]:
    """Every text file that git holds or would take."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True).stdout
    paths = [ROOT / name for name in listed.decode().split("\0") if name]
    return sorted(path for path in paths if path.is_file() and path.suffix not in BINARY)


def lines_with(pattern: str, *, paths: list[Path]) -> Iterator[str]:
    """ "path:number: line" for each line that the pattern stands in."""
    for path in paths:
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if re.search(pattern, line):
                yield f"{name_of(path)}:{number}: {line.strip()[:120]}"


SECRET = r"BEGIN [A-Z ]*PRIVATE KEY|\bsk_live_\w{8}|\bAKIA[0-9A-Z]{16}\b"
NOWHERE = {
    r"pypi\.org|pythonhosted\.org|npmjs\.(org|com)|debian\.org|unpkg\.com|jsdelivr\.net": (
        "no registry's host: packages are named, never addressed"
    ),
    r"(?<![\w.~])/(work|root|home|Users|opt)/\w": "no path of one machine",
    SECRET: "no secret",
    r"^(<<<<<<<|>>>>>>>) ": "no unresolved merge",
    r"\b(TODO|FIXME|XXX:)": "what is left to do stands in an issue",
}


@pytest.mark.parametrize("pattern", NOWHERE)
def test_the_repository_holds_nothing_of(pattern: str) -> None:
    apart = {"vendor", "tests"} if pattern == SECRET else {"vendor"}  # tests plant secrets
    ours = [path for path in texts() if name_of(path) != HERE and not apart & set(path.parts)]
    none(f"{line} ({NOWHERE[pattern]})" for line in lines_with(pattern, paths=ours))


# --- templates and style ---

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
STYLES = sorted((ROOT / "static" / "console").rglob("*.css"))
INLINE = {
    r"<script(?![^>]*\bsrc=)": "no inline script: the policy forbids it",
    r"<style\b|\sstyle=": "no inline style: the policy forbids it",
    r"\son[a-z]+=|javascript:|hx-on|hx-vals=.js:": "no code in attributes",
    r"\|safe\b|autoescape off": "text is escaped",
    r"(src|href|action|hx-get|hx-post)=[\"'](https?:)?//": "nothing from another host",
}


@pytest.mark.parametrize("pattern", INLINE)
def test_templates_hold_nothing_inline_and_nothing_foreign(pattern: str) -> None:
    none(f"{line} ({INLINE[pattern]})" for line in lines_with(pattern, paths=TEMPLATES))


def test_styles_name_no_other_host() -> None:
    none(lines_with(r"url\([\"']?(https?:)?//|@import", paths=STYLES))


def test_a_partial_says_in_its_first_line_what_it_needs() -> None:
    none(
        name_of(path)
        for path in TEMPLATES
        if path.name.startswith("_") and not path.read_text().startswith("{#")
    )


def test_vendored_files_are_untouched_and_licensed() -> None:
    vendor = ROOT / "static" / "vendor"
    entries = tomllib.loads((vendor / "VENDORED.toml").read_text())["vendored"]
    problems = [problem for entry in entries for problem in wrong(entry, vendor=vendor)]
    listed = {entry["file"] for entry in entries} | {"VENDORED.toml"}
    ours = [path for path in vendor.rglob("*") if path.is_file() and path.stem != "LICENSE"]
    present = {path.relative_to(vendor).as_posix() for path in ours}
    problems += [f"{name} is not in VENDORED.toml" for name in sorted(present - listed)]
    none(iter(problems))


def wrong(entry: dict[str, str], *, vendor: Path) -> Iterator[str]:
    """What is wrong with one entry: a field, the file or its licence missing, another hash."""
    missing = {"package", "version", "licence", "file", "sha256"} - set(entry)
    path = vendor / entry.get("file", "")
    if missing or not path.is_file():
        yield f"{entry}: lacks {missing or 'its file'}"
    elif hashlib.sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
        yield f"{entry['file']}: another hash"
    elif not list(path.parent.glob("LICEN[CS]E*")):
        yield f"{entry['file']}: no licence beside it"


# --- packages ---


def pins(kind: str) -> dict[str, str]:
    """name: version of requirements-KIND.lock; fails on a line that is neither pin nor hash."""
    found = {}
    for line in (ROOT / f"requirements-{kind}.lock").read_text().splitlines():
        if match := re.match(r"([a-z0-9-]+)==([^ ;]+)( ; [^\\]+)? \\$", line):
            found[match[1]] = match[2]
        else:
            assert re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line), line
    return found


def test_each_lock_holds_all_of_the_one_before_it() -> None:
    run, test, lint = pins("run").items(), pins("test").items(), pins("lint").items()
    assert run <= test <= lint


def test_every_package_asked_for_is_locked() -> None:
    for kind in ("run", "test", "lint"):
        asked = re.findall(
            r"^[a-z][a-z0-9-]*", (ROOT / f"requirements-{kind}.in").read_text(), re.M
        )
        assert set(asked) <= set(pins(kind)), kind
