"""Times, lengths, amounts, ids and names as they look on screen."""

from datetime import UTC, datetime, timedelta

import pytest

from console import formats

NOW = datetime(2026, 10, 14, 12, 26, 8, tzinfo=UTC)
BERLIN = formats.of("Europe/Berlin", now=NOW)


@pytest.mark.parametrize(
    ("moment", "shown"),
    [
        (datetime(2026, 10, 14, 12, 3, 14, tzinfo=UTC), "14:03:14"),
        (datetime(2026, 10, 13, 22, 30, 0, tzinfo=UTC), "00:30:00"),  # already today in Berlin
        (datetime(2026, 10, 12, 12, 2, 44, tzinfo=UTC), "12 Oct, 14:02"),
        (datetime(2025, 12, 31, 23, 30, 0, tzinfo=UTC), "1 Jan, 00:30"),
        (datetime(2025, 3, 2, 9, 5, 0, tzinfo=UTC), "2 Mar 2025, 10:05"),
    ],
)
def test_a_moment_is_as_short_as_its_day_allows(moment: datetime, shown: str) -> None:
    assert BERLIN.clock(moment) == shown


def test_a_moment_carries_its_exact_time_in_utc() -> None:
    html = BERLIN.when_millisecond(datetime(2026, 10, 14, 12, 2, 44, 812_000, tzinfo=UTC))
    assert html == (
        '<time datetime="2026-10-14T12:02:44.812Z" title="2026-10-14T12:02:44.812Z">'
        "14:02:44.812</time>"
    )


def test_an_unknown_zone_falls_back_to_utc() -> None:
    assert formats.of("Mars/Olympus", now=NOW).zone_name == "UTC"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.04, "+0.0 s"), (30.0, "+30.0 s"), (59.99, "+59.9 s"), (60, "+1 min"), (-3.1, "-3.1 s")],
)
def test_time_since_sending_is_exact_for_a_minute(seconds: float, shown: str) -> None:
    assert formats.since_sent(NOW + timedelta(seconds=seconds), sent_at=NOW) == shown


@pytest.mark.parametrize(
    ("minor", "currency", "shown"),
    [
        (1_200_000, "EUR", "12,000.00 EUR"),
        (3_200_000, "JPY", "3,200,000 JPY"),
        (1_204_500, "KWD", "1,204.500 KWD"),
        (0, "EUR", "0.00 EUR"),
        (None, "XXX", "—"),
        (5, "XXX", "—"),
    ],
)
def test_an_amount_has_its_currency_s_decimals(
    minor: int | None, currency: str, shown: str
) -> None:
    assert formats.amount_with_currency(minor, currency=currency) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Zoë Łukasz 東京", "Zoë Łukasz 東京"),
        ("a\u202eb", "a[U+202E]b"),
        ("a\u200bb\u2066c", "a[U+200B]b[U+2066]c"),
        ("a\x1b[31mb\n", "a[U+001B][31mb[U+000A]"),
        (None, ""),
    ],
)
def test_characters_that_hide_are_shown_by_number(text: str | None, shown: str) -> None:
    assert formats.visible(text) == shown


def test_a_long_id_is_cut_in_the_middle_and_keeps_both_ends() -> None:
    shown = formats.cut("payment:ord_88213_with_a_very_long_name_indeed:capture:v1", longest=30)
    assert (len(shown), shown[:8], shown[-3:]) == (30, "payment:", ":v1")
    assert "…" in shown
    assert formats.cut("short") == "short"


@pytest.mark.parametrize(
    ("text", "length"),
    [("90s", 90), ("30min", 1800), ("4h", 14_400), ("2d", 172_800), ("4", None), ("h", None),
     ("-1h", None), ("1e9s", None), ("٤h", None), ("9999999d", None)],
)  # fmt: skip
def test_a_length_in_an_address_is_read_strictly(text: str, length: int | None) -> None:
    assert formats.seconds(text) == length
