"""How times, lengths of time, amounts, ids and names look on screen; the one place that decides."""

import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from django.utils.html import format_html
from django.utils.safestring import SafeString

from ledger.rules import money
from ledger.rules.words import Words, duration

NOTHING = "—"
NO_MONEY = "XXX"  # the currency of messages, which carry no amount
LONGEST_ID = 44
MOST_DIGITS = 6
# Letters and marks that joined-up scripts need; every other invisible character is shown by number.
HARMLESS = frozenset("\u200c\u200d")
INVISIBLE = frozenset({"Cc", "Cf", "Zl", "Zp", "Co", "Cs"})
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
UNITS = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class Formats:
    """Writes moments in one person's zone, as seen at `now`."""

    zone: ZoneInfo
    now: datetime

    def clock(self, moment: datetime) -> str:
        """`14:03:14` today, `12 Oct, 14:02` this year, `12 Oct 2025, 14:02` otherwise."""
        here, today = moment.astimezone(self.zone), self.now.astimezone(self.zone)
        if here.date() == today.date():
            return f"{here:%H:%M:%S}"
        year = "" if here.year == today.year else f" {here.year}"
        return f"{here.day} {MONTHS[here.month - 1]}{year}, {here:%H:%M}"

    def second(self, moment: datetime) -> str:
        """As `clock`, always to the second: for evidence."""
        here = moment.astimezone(self.zone)
        text = self.clock(moment)
        return text if text.count(":") > 1 else f"{text}:{here:%S}"

    def time_of_day(self, moment: datetime, *, milliseconds: bool = False) -> SafeString:
        """A `<time>` element without its day: for a timeline, which shows the day by itself."""
        here = moment.astimezone(self.zone)
        part = f".{moment.microsecond // 1000:03d}" if milliseconds else ""
        return self._element(moment, f"{here:%H:%M:%S}{part}")

    def day(self, moment: datetime) -> str:
        """`12 Oct` or `12 Oct 2025`; nothing for today."""
        return self.clock(moment).rpartition(", ")[0]

    def when(self, moment: datetime | None) -> SafeString | str:
        """A `<time>` element that shows `clock` and carries ISO 8601 UTC; a dash for no moment."""
        return NOTHING if moment is None else self._element(moment, self.clock(moment))

    def when_second(self, moment: datetime | None) -> SafeString | str:
        """A `<time>` element to the second."""
        return NOTHING if moment is None else self._element(moment, self.second(moment))

    def when_millisecond(self, moment: datetime | None) -> SafeString | str:
        """A `<time>` element to the millisecond: for what was sent and created."""
        if moment is None:
            return NOTHING
        milliseconds = moment.microsecond // 1000
        return self._element(moment, f"{self.second(moment)}.{milliseconds:03d}")

    def _element(self, moment: datetime, text: str) -> SafeString:
        iso = moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return format_html('<time datetime="{}" title="{}">{}</time>', iso, iso, text)

    def age(self, since: datetime | None) -> str:
        """How long ago, e.g. `23 h 21 m`; a dash for no moment."""
        return NOTHING if since is None else duration(self.now - since)

    def left(self, until: datetime | None) -> str:
        """`38 min left`, or `12 min ago` once it is over."""
        if until is None:
            return NOTHING
        length = duration(until - self.now)
        return f"{length} left" if until > self.now else f"{length} ago"

    def say(self, words: Words | str) -> str:
        """A sentence of the rules with its moments in this zone."""
        return words if isinstance(words, str) else words.render(self.clock)

    @property
    def zone_name(self) -> str:
        """The zone's short name now, e.g. `CEST`, or its offset where it has no name."""
        name = self.now.astimezone(self.zone).tzname() or ""
        return f"UTC{name}" if name.startswith(("+", "-")) else name


def since_sent(moment: datetime, *, sent_at: datetime) -> str:
    """How long after the dispatch: `+0.8 s`, `+30.0 s`, `+19 min 26 s`; `-3.1 s` before it."""
    length = moment - sent_at
    sign, size = ("-" if length < timedelta(0) else "+"), abs(length)
    tenths = int(size / timedelta(milliseconds=100))
    if tenths < 600:  # noqa: PLR2004 - a minute, in tenths of a second
        return f"{sign}{tenths // 10}.{tenths % 10} s"
    return f"{sign}{duration(size)}"


def amount(minor: int | None, *, currency: str | None) -> str:
    """`12,000.00`, without its currency; a dash where there is none."""
    if minor is None or currency is None or currency == NO_MONEY:
        return NOTHING
    return money.format_amount(minor, currency)


def amount_with_currency(minor: int | None, *, currency: str | None) -> str:
    """`12,000.00 EUR`; a dash where there is no amount."""
    if minor is None or currency is None or currency == NO_MONEY:
        return NOTHING
    return money.format_money(minor, currency)


def visible(text: str | None) -> str:
    """`text` with characters that hide or reorder others shown as `[U+202E]`."""
    return "".join(_shown(letter) for letter in text or "")


def visible_block(text: str) -> str:
    """As `visible`, for text of several lines: line ends and tabs stay."""
    return "".join(letter if letter in "\n\t" else _shown(letter) for letter in text)


def _shown(letter: str) -> str:
    if letter in HARMLESS or unicodedata.category(letter) not in INVISIBLE:
        return letter
    return f"[U+{ord(letter):04X}]"


def cut(text: str | None, *, longest: int = LONGEST_ID) -> str:
    """`text`, cut in the middle where it is longer; its beginning and its end stay."""
    shown = visible(text)
    if len(shown) <= longest:
        return shown
    tail = max(6, longest // 3)
    return f"{shown[: longest - tail - 1]}…{shown[-tail:]}"


def seconds(text: str) -> int | None:
    """The length that `90s`, `30min`, `4h` or `2d` names, in seconds; None for anything else."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz").strip()
    unit = text[len(digits) :].strip()
    plain = digits.isascii() and digits.isdigit()
    if not plain or len(digits) > MOST_DIGITS or unit not in UNITS:
        return None
    return int(digits) * UNITS[unit]


def of(zone: str, *, now: datetime) -> Formats:
    """Formats for a zone by name; UTC where the name is unknown."""
    try:
        return Formats(ZoneInfo(zone), now)
    except (KeyError, ValueError, OSError):
        return Formats(ZoneInfo("UTC"), now)
