"""A log line is one JSON object that nobody can forge and that tells no secret."""

import json
import logging
from typing import Any

import pytest

from console import logs
from console.logs import JsonFormatter


def line(message: str, *arguments: Any, **extra: Any) -> dict[str, Any]:
    """The parsed line of one record."""
    fields = {"name": "x", "levelname": "INFO", "msg": message, "args": arguments, **extra}
    record = logging.makeLogRecord(fields)
    text = JsonFormatter().format(record)
    assert "\n" not in text
    return dict(json.loads(text))


def test_a_line_has_its_event_and_ids() -> None:
    made = line("lookup.recorded %s", "eff_1", effect_id="eff_1", attempts=2)
    assert made["event"] == "lookup.recorded eff_1"
    assert (made["effect_id"], made["attempts"], made["level"]) == ("eff_1", 2, "info")


@pytest.mark.parametrize("forged", ["a\nb", "a\r\nb", "a\x1b[31mb", "a\u2028b"])
def test_no_line_can_be_forged(forged: str) -> None:
    assert line(forged)["event"] == forged


@pytest.mark.parametrize(
    "secret",
    ["Bearer abcdef0123456789", "sk_live_abcdefgh12345678", "4111 1111 1111 1111"],
)
def test_no_secret_is_told(secret: str) -> None:
    told = json.dumps(line(f"answer: {secret}", note=secret))
    assert secret not in told
    assert "removed]" in told


def test_a_long_text_is_cut() -> None:
    assert line("x " * 10_000)["event"].endswith("(20000 characters)")


def test_the_requests_id_stands_in_each_of_its_lines() -> None:
    token = logs.request_id.set("request-0001")
    try:
        assert line("x")["request_id"] == "request-0001"
    finally:
        logs.request_id.reset(token)
    assert "request_id" not in line("x")


def test_an_exception_comes_with_its_traceback() -> None:
    try:
        int("odd")
    except ValueError as error:
        made = line("failed", exc_info=(type(error), error, error.__traceback__))
    assert "ValueError: invalid literal" in made["traceback"]
