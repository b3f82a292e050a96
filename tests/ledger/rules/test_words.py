"""Sentences keep their gaps until they are shown; durations read as people say them."""

from datetime import UTC, datetime, timedelta

import pytest

from ledger.rules.words import (
    Words,
    duration,
    in_utc,
    join,
    listed,
    numbered,
    say,
    with_article,
    words_from_json,
    words_to_json,
)

NOON = datetime(2026, 10, 14, 12, 0, tzinfo=UTC)


def test_moments_are_written_by_the_reader() -> None:
    words = say("Sent at {sent}, {count} times.", sent=NOON, count=2)
    assert words.render(lambda moment: moment.strftime("%H h")) == "Sent at 12 h, 2 times."
    assert words.render() == "Sent at 2026-10-14 12:00:00 UTC, 2 times."


def test_a_value_is_never_read_as_a_gap() -> None:
    words = say("{status} for {noun}", status="{noun} {0.__class__}", noun="payout")
    assert words.render() == "{noun} {0.__class__} for payout"


def test_joined_sentences_share_their_gaps() -> None:
    both = join(say("At {at}.", at=NOON), say("{title} at {at}.", title="Baltic", at=NOON))
    assert both.render(lambda _: "noon") == "At noon. Baltic at noon."
    with pytest.raises(ValueError, match="two values"):
        join(say("{a}", a=1), say("{a}", a=2))


def test_words_read_back_from_json() -> None:
    words = say("{a} {b} {c}", a=NOON, b="x", c=3)
    assert words_from_json(words_to_json(words)) == words


@pytest.mark.parametrize(
    "data", [{"text": 1, "gaps": {}}, {"text": "a", "gaps": []}, {"text": "a", "gaps": {"b": None}}]
)
def test_other_json_is_not_read_as_words(data: dict[str, object]) -> None:
    with pytest.raises(TypeError):
        words_from_json(data)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (45.9, "45 s"),
        (60, "1 min"),
        (70, "1 min 10 s"),
        (599, "9 min 59 s"),
        (630, "10 min"),
        (2_280, "38 min"),
        (3_600, "1 h"),
        (84_060, "23 h 21 m"),
        (86_400, "1 d"),
        (273_600, "3 d 4 h"),
        (-2_280, "38 min"),
    ],
)
def test_durations_read_as_people_write_them(seconds: float, text: str) -> None:
    assert duration(timedelta(seconds=seconds)) == text


def test_small_phrases_are_put_in_words() -> None:
    assert [with_article(noun) for noun in ("payout", "email")] == ["a payout", "an email"]
    assert [listed(names) for names in ((), ("a",), ("a", "b"), ("a", "b", "c"))] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert numbered((5, 6)) == "E5, E6"
    assert in_utc(NOON) == "2026-10-14 12:00:00 UTC"
    assert Words("plain").render() == "plain"
