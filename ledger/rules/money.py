"""Amounts in whole smallest units: the ISO 4217 exponents, reading and writing, never a float."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from iso4217 import Currency

MAX_MINOR = 10**15
LONGEST_TEXT = 40
MINUS = "\u2212"

# Codes without a smallest unit (metals, test and bond units) are left out: no amount can be written
# in them. XXX stands for "no money moves".
EXPONENTS: Mapping[str, int] = MappingProxyType(
    {c.code: c.exponent for c in Currency if c.exponent is not None} | {"XXX": 0}
)

# Millionths of a euro for one unit, rounded, early 2026. They order the queue and sum exposure;
# no guard and no tier reads them, so a stale figure can misplace a row and do nothing worse.
_MICRO_EUROS = """AED 235000 AFN 13000 ALL 10300 AMD 2260 AOA 940 ARS 600 AUD 570000 AWG 480000
    AZN 507000 BAM 511292 BBD 430000 BDT 7100 BHD 2290000 BIF 290 BMD 860000 BND 665000 BOB 125000
    BRL 160000 BSD 860000 BTN 9700 BWP 64000 BYN 290000 BZD 430000 CAD 620000 CDF 380 CHE 1070000
    CHF 1070000 CHW 1070000 CLF 36000000 CLP 910 CNY 121000 COP 220 COU 86000 CRC 1700 CUP 36000
    CVE 9070 CZK 41000 DJF 4840 DKK 134000 DOP 13600 DZD 6600 EGP 18000 ERN 57000 ETB 5600
    EUR 1000000 FJD 378000 FKP 1140000 GBP 1140000 GEL 318000 GHS 78000 GIP 1140000 GMD 11900
    GNF 99 GTQ 112000 GYD 4100 HKD 110000 HNL 32700 HTG 6600 HUF 2600 IDR 52 ILS 265000 INR 9700
    IQD 660 IRR 20 ISK 6800 JMD 5400 JOD 1210000 JPY 5500 KES 6660 KGS 9800 KHR 214 KMF 2030
    KPW 960 KRW 590 KWD 2800000 KYD 1030000 KZT 1650 LAK 40 LBP 10 LKR 2800 LRD 4800 LSL 50000
    LYD 158000 MAD 93000 MDL 51000 MGA 190 MKD 16250 MMK 410 MNT 240 MOP 107000 MRU 21600
    MUR 18700 MVR 55800 MWK 500 MXN 47000 MXV 400000 MYR 208000 MZN 13400 NAD 50000 NGN 600
    NIO 23400 NOK 85000 NPR 6000 NZD 495000 OMR 2240000 PAB 860000 PEN 255000 PGK 200000 PHP 14600
    PKR 3050 PLN 236000 PYG 122 QAR 236000 RON 197000 RSD 8530 RUB 10700 RWF 590 SAR 229000
    SBD 104000 SCR 61000 SDG 1430 SEK 91000 SGD 665000 SHP 1140000 SLE 37000 SOS 1500 SRD 22000
    SSP 190 STN 40800 SVC 98300 SYP 78 SZL 50000 THB 26600 TJS 93000 TMT 246000 TND 294000
    TOP 358000 TRY 20300 TTD 127000 TWD 27500 TZS 350 UAH 20400 UGX 240 USD 860000 USN 860000
    UYI 130000 UYU 21600 UZS 72 VED 3500 VES 3500 VND 33 VUV 7100 WST 310000 XAF 1524 XCD 318500
    XCG 480000 XOF 1524 XPF 8380 YER 3600 ZAR 50000 ZMW 38000 ZWG 32000"""


def _base_rates() -> dict[str, int]:
    words = _MICRO_EUROS.split()
    pairs = zip(words[::2], words[1::2], strict=True)
    return {
        code: int(micro) * 100 // 10 ** EXPONENTS[code]
        for code, micro in pairs
        if code in EXPONENTS
    }


# Euro cents for 10**6 smallest units of a currency.
BASE_RATES: Mapping[str, int] = MappingProxyType(_base_rates())

_SPACES = re.compile(r"[ \u00a0\u2009\u202f]")
_APOSTROPHES = re.compile(r"['\u2019]")
_CODE_BEFORE = re.compile(r"([A-Za-z]{3}) ?(.*)")
_CODE_BEHIND = re.compile(r"(.*?) ?([A-Za-z]{3})")
_TWO_WAYS = re.compile(r"[0-9]{1,3}[.,][0-9]{3}")
_GROUP = 3
_MARKS = (None, ".", ",")
_GROUP_MARKS = (None, ",", ".", " ", "'")


class BadAmount(ValueError):
    """The text or number is not an amount of that currency; says what to write instead."""


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in whole smallest units, its ISO 4217 code and number of decimals.

    Raises BadAmount for anything but 0 to 10**15 in a known currency with its own exponent.
    """

    minor_units: int
    currency: str
    exponent: int

    def __post_init__(self) -> None:
        if type(self.minor_units) is not int or not 0 <= self.minor_units <= MAX_MINOR:
            raise BadAmount("An amount is a whole number of smallest units from 0 to 10^15.")
        if self.exponent != exponent_of(self.currency):
            raise BadAmount(f"{self.currency} has {exponent_of(self.currency)} decimals.")


def exponent_of(currency: str) -> int:
    """The number of decimals of `currency`. Raises BadAmount for a code not in ISO 4217."""
    try:
        return EXPONENTS[currency]
    except KeyError:
        raise BadAmount(f"{currency!r} is not a currency code with a smallest unit.") from None


def money(minor_units: int, currency: str) -> Money:
    """The amount of `minor_units` in `currency`. Raises BadAmount."""
    return Money(minor_units, currency, exponent_of(currency))


def parse(text: str, currency: str) -> Money:
    """The one amount that `text` can mean: `12000`, `12,000.00`, `12.000,00`, `12 000 EUR`.

    Raises BadAmount where it is none, too precise for the currency, negative, in another currency,
    above 10**15, or where a lone mark before three digits could group or divide (`12,000`); a dot
    divides where the currency has three decimals.
    """
    found = readings(text, currency)
    body = _without_code(text, currency)
    exponent = EXPONENTS[currency]
    if exponent == _GROUP and re.fullmatch(r"[0-9]+[.][0-9]{3}", body):
        return money(int(body.replace(".", "")), currency)
    if len(found) > 1 or (exponent and _TWO_WAYS.fullmatch(body)):
        raise BadAmount(_two_ways(body, currency))
    return money(found.pop(), currency)


def readings(text: str, currency: str) -> set[int]:
    """Every amount in smallest units that `text` can mean; to compare, not to act upon.

    Raises BadAmount where it means none.
    """
    exponent = exponent_of(currency)
    body = _without_code(text, currency)
    if body[:1] in ("-", MINUS, "(", "+"):
        raise BadAmount("An amount is written without a sign.")
    found = {
        value
        for decimal in _MARKS
        for group in _GROUP_MARKS
        if group is None or group != decimal
        if (value := _read(body, decimal=decimal, group=group, exponent=exponent)) is not None
    }
    if not found:
        raise BadAmount(f"This is not an amount in {currency}, which has {exponent} decimals.")
    if max(found) > MAX_MINOR:
        raise BadAmount("This amount is too large.")
    return found


def format_amount(minor: int, currency: str) -> str:
    """`minor` smallest units with grouping and all decimals, `12,000.00`; without the currency.

    A difference below zero is written with a minus sign. An unknown currency is said to be in its
    smallest unit, so that a page can still show it.
    """
    exponent = EXPONENTS.get(currency)
    sign = MINUS if minor < 0 else ""
    if exponent is None:
        return f"{sign}{abs(minor):,} (smallest unit)"
    whole, part = divmod(abs(minor), 10**exponent)
    return f"{sign}{whole:,}" + (f".{part:0{exponent}d}" if exponent else "")


def format_money(minor: int, currency: str) -> str:
    """`minor` smallest units with the code behind: `12,000.00 EUR`."""
    if currency not in EXPONENTS:
        return format_amount(minor, currency).replace(" (", f" {currency} (")
    return f"{format_amount(minor, currency)} {currency}"


def base_minor(minor: int, currency: str, base: str) -> int | None:
    """About how many smallest units of `base` that is, cut; None where no rate is known.

    Only to order the queue and to sum exposure: no decision may rest on it.
    """
    if currency == base and currency in EXPONENTS:
        return minor
    rate, base_rate = BASE_RATES.get(currency), BASE_RATES.get(base)
    if rate is None or not base_rate:
        return None
    return minor * rate // base_rate


def _without_code(text: str, currency: str) -> str:
    body = _APOSTROPHES.sub("'", _SPACES.sub(" ", text.strip()))
    if len(body) > LONGEST_TEXT:
        raise BadAmount("This is too long for an amount.")
    before, behind = _CODE_BEFORE.fullmatch(body), _CODE_BEHIND.fullmatch(body)
    code = before[1] if before else behind[2] if behind else currency
    if code.upper() != currency:
        raise BadAmount(f"This is in {code.upper()}, not in {currency}.")
    return before[2] if before else behind[1] if behind else body


def _read(body: str, *, decimal: str | None, group: str | None, exponent: int) -> int | None:
    """The value with these marks, or None where the text is not written so."""
    whole, mark, part = body.partition(decimal) if decimal else (body, "", "")
    if mark and not (re.fullmatch(r"[0-9]+", part) and len(part) <= exponent):
        return None
    if not _grouped(whole, group):
        return None
    digits = whole.replace(group, "") if group else whole
    return int(digits + part.ljust(exponent, "0"))


def _grouped(whole: str, group: str | None) -> bool:
    """Digits in threes, or as in India in twos before the last three; all groups, or no mark."""
    if group is None:
        return bool(re.fullmatch(r"[0-9]+", whole))
    mark = re.escape(group)
    threes, twos = rf"[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+", rf"[0-9]{{1,2}}(?:{mark}[0-9]{{2}})+"
    return bool(re.fullmatch(rf"{threes}|{twos}{mark}[0-9]{{3}}", whole))


def _two_ways(body: str, currency: str) -> str:
    exponent = EXPONENTS[currency]
    digits = re.sub(r"[^0-9]", "", body)
    small = digits
    if exponent >= _GROUP:
        small = body.replace(",", ".") + "0" * (exponent - _GROUP)
    large = format_amount(int(digits) * 10**exponent, currency)
    return f"{body} can be read two ways. Write {small} or {large}."
