"""Secrets come from one place, and show themselves only when asked."""

from pathlib import Path

import pytest

from providers.secrets import MissingSecret, secret


@pytest.fixture(autouse=True)
def _empty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SOME_KEY", "SOME_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)


def test_a_secret_comes_from_the_environment_or_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOME_KEY", "abc")
    assert secret("SOME_KEY").reveal() == "abc"
    monkeypatch.delenv("SOME_KEY")
    (tmp_path / "key").write_text("from file\n")
    monkeypatch.setenv("SOME_KEY_FILE", str(tmp_path / "key"))
    assert secret("SOME_KEY").reveal() == "from file"


def test_a_secret_that_is_nowhere_empty_or_in_two_places_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert secret("SOME_KEY", required=False) is None
    with pytest.raises(MissingSecret):
        secret("SOME_KEY")
    monkeypatch.setenv("SOME_KEY", "  ")
    with pytest.raises(MissingSecret):
        secret("SOME_KEY")
    monkeypatch.setenv("SOME_KEY", "abc")
    monkeypatch.setenv("SOME_KEY_FILE", str(tmp_path / "missing"))
    with pytest.raises(MissingSecret):
        secret("SOME_KEY")
    monkeypatch.delenv("SOME_KEY")
    with pytest.raises(MissingSecret):
        secret("SOME_KEY", required=False)


def test_a_secret_does_not_print_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "abc123")
    shown = secret("SOME_KEY")
    assert "abc123" not in f"{shown!r} {shown} {[shown]}"
