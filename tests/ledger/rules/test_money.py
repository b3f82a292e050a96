"""Amounts are whole smallest units; what can be read two ways is refused."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ledger.rules.money import (
    BASE_RATES,
    EXPONENTS,
    MAX_MINOR,
    BadAmount,
    Money,
    base_minor,
    exponent_of,
    format_amount,
    format_money,
    money,
    parse,
    readings,
)

currencies = st.sampled_from(sorted(EXPONENTS))
amounts = st.integers(0, MAX_MINOR)


@pytest.mark.parametrize(
    ("text", "currency", "minor"),
    [
        ("12000", "EUR", 1_200_000),
        ("12,000.00", "EUR", 1_200_000),
        ("12.000,00", "EUR", 1_200_000),
        ("12 000", "EUR", 1_200_000),
        ("12 000,00", "EUR", 1_200_000),
        ("12\u202f000,00", "EUR", 1_200_000),
        ("12'000.00", "CHF", 1_200_000),
        ("12\u2019000.00", "CHF", 1_200_000),
        ("12 000 EUR", "EUR", 1_200_000),
        ("EUR 12,000.00", "EUR", 1_200_000),
        ("12000eur", "EUR", 1_200_000),
        ("1.000.000", "EUR", 100_000_000),
        ("1,00,000.50", "INR", 10_000_050),
        ("0,5", "EUR", 50),
        ("0", "EUR", 0),
        ("12,000", "JPY", 12_000),
        ("12.000", "JPY", 12_000),
        ("2000", "JPY", 2_000),
        ("1.234", "KWD", 1_234),
        ("12345.678", "KWD", 12_345_678),
        ("1,204.500", "KWD", 1_204_500),
        ("1.204,500", "KWD", 1_204_500),
        ("1.2345", "CLF", 12_345),
        ("0", "XXX", 0),
        ("9 999 999 999 999.99", "EUR", 999_999_999_999_999),
    ],
)
def test_parse_reads_every_usual_way_of_writing(text: str, currency: str, minor: int) -> None:
    assert parse(text, currency) == Money(minor, currency, EXPONENTS[currency])


@pytest.mark.parametrize(
    ("text", "currency", "says"),
    [
        ("12,000", "EUR", "two ways. Write 12000 or 12,000.00."),
        ("12.345", "USD", "two ways. Write 12345 or 12,345.00."),
        ("1,234", "KWD", "two ways. Write 1.234 or 1,234.000."),
        ("1.234", "CLF", "two ways. Write 1.2340 or 1,234.0000."),
        ("12.00", "JPY", "0 decimals"),
        ("12.0", "JPY", "0 decimals"),
        ("12.3456", "EUR", "2 decimals"),
        ("0.1234", "KWD", "3 decimals"),
        ("-5.00", "EUR", "sign"),
        ("\u22125.00", "EUR", "sign"),
        ("+5.00", "EUR", "sign"),
        ("(5.00)", "EUR", "sign"),
        ("5.00 USD", "EUR", "in USD, not in EUR"),
        ("usd 5.00", "EUR", "in USD, not in EUR"),
        ("10000000000000.01", "EUR", "large"),
        ("9" * 21, "EUR", "large"),
        ("1" * 41, "EUR", "long"),
        ("", "EUR", "not an amount"),
        ("EUR", "EUR", "not an amount"),
        ("1e3", "EUR", "not an amount"),
        ("NaN", "EUR", "in NAN"),
        ("1.2.3", "EUR", "not an amount"),
        ("1,2,3.00", "EUR", "not an amount"),
        ("12 00", "EUR", "not an amount"),
        ("1.000,000.00", "EUR", "not an amount"),
        ("12.", "EUR", "not an amount"),
        (".50", "EUR", "not an amount"),
        ("1\u0661", "EUR", "not an amount"),
        ("5", "QQQ", "not a currency"),
        ("5", "eur", "not a currency"),
        ("5", "XAU", "not a currency"),
    ],
)
def test_parse_refuses_what_is_no_single_amount(text: str, currency: str, says: str) -> None:
    with pytest.raises(BadAmount) as refusal:
        parse(text, currency)
    assert says in str(refusal.value)


@given(amounts, currencies)
def test_a_written_amount_reads_back(minor: int, currency: str) -> None:
    assert parse(format_amount(minor, currency), currency).minor_units == minor
    assert parse(format_money(minor, currency), currency).minor_units == minor


@given(st.integers(0, 10**9), st.sampled_from(["EUR", "KWD", "CLF"]))
def test_the_comma_country_and_the_dot_country_agree(minor: int, currency: str) -> None:
    dotted = format_amount(minor, currency)
    swapped = dotted.translate(str.maketrans(",.", ".,"))
    assume("." in swapped or "," in swapped)
    try:
        read: int | str = parse(swapped, currency).minor_units
    except BadAmount as refusal:
        read = str(refusal)
    assert read == minor or "two ways" in str(read)


@given(st.text("0123456789.,' -EUR", max_size=14), st.sampled_from(["EUR", "JPY", "KWD"]))
def test_any_text_is_an_amount_or_refused_with_words(text: str, currency: str) -> None:
    try:
        found: int | str = parse(text, currency).minor_units
    except BadAmount as refusal:
        found = str(refusal)
    assert str(found).endswith(".") or found in readings(text, currency)


@pytest.mark.parametrize(
    ("text", "currency", "minors"),
    [
        ("12,000", "EUR", {1_200_000}),
        ("1,234", "KWD", {1_234, 1_234_000}),
        ("12000", "EUR", {1_200_000}),
    ],
)
def test_readings_lists_every_meaning(text: str, currency: str, minors: set[int]) -> None:
    assert readings(text, currency) == minors


@pytest.mark.parametrize(
    ("minor", "currency", "amount", "whole"),
    [
        (1_200_000, "EUR", "12,000.00", "12,000.00 EUR"),
        (5, "EUR", "0.05", "0.05 EUR"),
        (3_200_000, "JPY", "3,200,000", "3,200,000 JPY"),
        (1_204_500, "KWD", "1,204.500", "1,204.500 KWD"),
        (-4_000, "EUR", "\u221240.00", "\u221240.00 EUR"),
        (120_000, "QQQ", "120,000 (smallest unit)", "120,000 QQQ (smallest unit)"),
    ],
)
def test_amounts_are_written_whole(minor: int, currency: str, amount: str, whole: str) -> None:
    assert (format_amount(minor, currency), format_money(minor, currency)) == (amount, whole)


@pytest.mark.parametrize("minor", [-1, MAX_MINOR + 1, True, 1.0, float("nan"), "5", None])
def test_money_holds_whole_numbers_within_bounds_only(minor: object) -> None:
    with pytest.raises(BadAmount):
        money(minor, "EUR")  # type: ignore[arg-type]


def test_money_refuses_a_foreign_exponent() -> None:
    with pytest.raises(BadAmount, match="JPY has 0 decimals"):
        Money(200_000, "JPY", 2)


def test_the_table_knows_the_odd_exponents() -> None:
    assert [exponent_of(c) for c in ("JPY", "ISK", "EUR", "KWD", "BHD", "CLF", "XXX")] == [
        0,
        0,
        2,
        3,
        3,
        4,
        0,
    ]
    assert len(EXPONENTS) == 166
    assert not {"BGN", "XAU", "XTS", "XDR"} & set(EXPONENTS)


@pytest.mark.parametrize(
    ("minor", "currency", "base", "about"),
    [
        (10_000, "EUR", "EUR", 10_000),
        (10_000, "USD", "EUR", 8_600),
        (1_000_000, "JPY", "EUR", 550_000),
        (1_000, "KWD", "EUR", 280),
        (8_600, "EUR", "USD", 10_000),
        (550, "EUR", "JPY", 1_000),
        (1, "QQQ", "EUR", None),
        (1, "XXX", "EUR", None),
        (1, "EUR", "QQQ", None),
        (1, "QQQ", "QQQ", None),
    ],
)
def test_base_value_orders_across_exponents(
    minor: int, currency: str, base: str, about: int | None
) -> None:
    assert base_minor(minor, currency, base) == about


def test_every_rate_is_of_a_known_currency_and_above_nothing() -> None:
    assert set(BASE_RATES) <= set(EXPONENTS)
    assert min(BASE_RATES.values()) > 0
    assert set(EXPONENTS) - set(BASE_RATES) == {"BOV", "UYW", "XAD", "XXX"}


@given(amounts, amounts, st.sampled_from(sorted(BASE_RATES)))
def test_base_value_never_turns_an_order_round(one: int, other: int, currency: str) -> None:
    smaller, larger = sorted((one, other))
    low, high = base_minor(smaller, currency, "EUR"), base_minor(larger, currency, "EUR")
    assert low is not None
    assert high is not None
    assert low <= high
