"""The registry: what is built in, what is installed, what is refused."""

import subprocess
import sys
from pathlib import Path

import pytest

import providers

ROOT = Path(__file__).parents[2]
MODULE = """
from providers.sandbox.contracts import CONTRACTS
from dataclasses import replace
NAME = {name!r}
CONTRACTS = [replace(CONTRACTS[0], provider=NAME)]
"""


def test_the_registry_names_the_sandbox_and_its_five_operations() -> None:
    assert providers.provider("sandbox").NAME == "sandbox"
    ours = [c for c in providers.contracts() if c.provider == "sandbox"]
    assert [c.operation for c in ours] == ["charge", "payout", "refund", "disbursement", "email"]
    assert providers.contract("sandbox", operation="refund").title == "Refund"
    with pytest.raises(providers.UnknownProvider):
        providers.provider("nobody")
    with pytest.raises(providers.UnknownProvider):
        providers.contract("sandbox", operation="wire")


def ask(folder: Path, expression: str) -> str:
    """What `expression` is in a process in which the distribution in `folder` is installed."""
    program = f"import sys; sys.path.append({str(folder)!r}); import providers; print({expression})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False
    )
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def install(folder: Path, *, name: str, entry: str) -> None:
    """Put a distribution with one provider there."""
    (folder / "elsewhere.py").write_text(MODULE.format(name=name))
    info = folder / "elsewhere-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[ascertain.providers]\n{entry} = elsewhere\n")


def test_an_installed_provider_is_found_by_its_entry_point(tmp_path: Path) -> None:
    install(tmp_path, name="acme", entry="acme")
    assert ask(tmp_path, "providers.names()") == "('acme', 'sandbox')"
    assert ask(tmp_path, "providers.contract('acme', operation='charge').provider") == "acme"
    assert ask(tmp_path, "len(providers.contracts())") == "6"


def test_an_installed_provider_cannot_take_the_place_of_a_built_in_one(tmp_path: Path) -> None:
    install(tmp_path, name="sandbox", entry="sandbox")
    assert ask(tmp_path, "providers.provider('sandbox').__name__") == "providers.sandbox.adapter"


def test_a_provider_that_calls_itself_something_else_is_refused(tmp_path: Path) -> None:
    install(tmp_path, name="acme", entry="other")
    assert "UnknownProvider" in ask(tmp_path, "providers.provider('other')")
