"""Sentences with gaps, so that one text serves every time zone; durations in words."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

Value: TypeAlias = str | int | datetime
Clock: TypeAlias = Callable[[datetime], str]

# Below so many seconds, a length reads in this unit and, where it has one, that rest.
_LENGTHS: tuple[tuple[int | None, int, str, int, str], ...] = (
    (60, 1, "s", 0, ""),
    (600, 60, "min", 1, "s"),
    (3600, 60, "min", 0, ""),
    (86400, 3600, "h", 60, "m"),
    (None, 86400, "d", 3600, "h"),
)
_GAP = re.compile(r"\{([a-z_0-9]+)\}")


def in_utc(moment: datetime) -> str:
    """`moment` as `2026-10-14 12:02:44 UTC`, for exports and tests; pages use the reader's zone."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


@dataclass(frozen=True, slots=True)
class Words:
    """A sentence whose `{gaps}` are filled from `values`; moments only when it is shown."""

    template: str
    values: tuple[tuple[str, Value], ...] = ()

    def render(self, at: Clock = in_utc) -> str:
        """The sentence, with each moment written by `at`. An unnamed gap stays as it is."""
        known = dict(self.values)

        def fill(gap: re.Match[str]) -> str:
            value = known.get(gap[1], gap[0])
            return at(value) if isinstance(value, datetime) else str(value)

        return _GAP.sub(fill, self.template)


def say(template: str, **values: Value) -> Words:
    """A sentence with its gaps filled by name; values that it has no gap for are left out."""
    gaps = set(_GAP.findall(template))
    return Words(template, tuple(sorted((k, v) for k, v in values.items() if k in gaps)))


def join(*parts: Words) -> Words:
    """Sentences one after the other. A gap of the same name must hold the same value."""
    filled: dict[str, Value] = {}
    for part in parts:
        for name, value in part.values:
            if filled.setdefault(name, value) != value:
                raise ValueError(f"two values for the gap {name}")
    return say(" ".join(part.template for part in parts), **filled)


def words_to_json(words: Words) -> dict[str, object]:
    """`words` as a JSON value: text, and its gaps with moments in ISO 8601."""
    return {
        "text": words.template,
        "gaps": {
            name: {"at": value.isoformat()} if isinstance(value, datetime) else value
            for name, value in words.values
        },
    }


def words_from_json(data: Mapping[str, object]) -> Words:
    """The words that `words_to_json` wrote. Raises KeyError, TypeError or ValueError otherwise."""
    text, gaps = data["text"], data["gaps"]
    if not isinstance(text, str) or not isinstance(gaps, dict):
        raise TypeError("words need a text and gaps")
    return say(text, **{str(name): _value(value) for name, value in gaps.items()})


def _value(value: object) -> Value:
    if isinstance(value, dict):
        return datetime.fromisoformat(str(value["at"]))
    if isinstance(value, str | int):
        return value
    raise TypeError("a gap holds text, a whole number or a moment")


def duration(length: timedelta) -> str:
    """A length of time as people read it: `45 s`, `1 min 10 s`, `38 min`, `23 h 21 m`, `3 d 4 h`.

    Cut, never rounded up; a negative length reads as its size.
    """
    seconds = int(abs(length).total_seconds())
    _, size, name, rest_size, rest_name = next(
        row for row in _LENGTHS if row[0] is None or seconds < row[0]
    )
    whole = f"{seconds // size} {name}"
    rest = seconds % size // rest_size if rest_size else 0
    return f"{whole} {rest} {rest_name}" if rest else whole


def with_article(noun: str) -> str:
    """`noun` behind its article: a payment, an email."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def listed(names: tuple[str, ...]) -> str:
    """Names in one phrase: amount, currency and recipient."""
    *most, last = names or ("",)
    return f"{', '.join(most)} and {last}" if most else last


def numbered(numbers: tuple[int, ...]) -> str:
    """Evidence numbers as they stand on screen: E5, E6."""
    return ", ".join(f"E{no}" for no in numbers)
