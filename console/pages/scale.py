"""The time left as one scale: sent, settled, retry closed, key forgotten, and now."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from console.formats import Formats
from console.pages.states import percent
from ledger.rules.words import duration

FIRST_THIRD, LAST_THIRD = 33.0, 67.0


@dataclass(frozen=True, slots=True)
class Scale:
    """Positions in percent of the bar's width, and the words there; not drawn without a key."""

    drawn: bool
    head: SafeString | str
    settle_width: str = "0"
    elapsed_width: str = "0"
    retry_x: str = ""
    now_x: str = "0"
    now_anchor: str = "start"
    now_words: str = ""
    settle_words: str = ""
    end_words: str = ""
    lines: tuple[tuple[str, SafeString | str], ...] = ()


def of(
    *,
    sent_at: datetime | None,
    counts_from: datetime | None,
    retry_until: datetime | None,
    key_until: datetime | None,
    formats: Formats,
) -> Scale | None:
    """The scale of an effect that was sent; None for one that was not."""
    if sent_at is None:
        return None
    lines = _lines(sent_at, counts_from, retry_until, key_until, formats)
    if key_until is None:
        return Scale(drawn=False, head="no key kept", lines=lines)
    whole, now = (key_until - sent_at).total_seconds() or 1, formats.now
    at = percent((now - sent_at).total_seconds(), whole=whole)
    settled = counts_from is not None and now >= counts_from
    return Scale(
        drawn=True,
        head=formats.left(key_until) if now < key_until else f"expired {formats.left(key_until)}",
        settle_width=percent(((counts_from or sent_at) - sent_at).total_seconds(), whole=whole),
        elapsed_width=at,
        retry_x=percent((retry_until - sent_at).total_seconds(), whole=whole)
        if retry_until
        else "",
        now_x=at,
        now_anchor=_anchor(float(at)),
        now_words=f"now, {duration(now - sent_at)} in",
        settle_words=f"settle time {'passed' if settled else 'runs'}" if counts_from else "",
        end_words=f"key kept {duration(key_until - sent_at)}",
        lines=lines,
    )


def _anchor(at: float) -> str:
    if at < FIRST_THIRD:
        return "start"
    return "end" if at > LAST_THIRD else "middle"


def _lines(
    sent_at: datetime,
    counts_from: datetime | None,
    retry_until: datetime | None,
    key_until: datetime | None,
    formats: Formats,
) -> tuple[tuple[str, SafeString | str], ...]:
    named = (
        ("Sent", sent_at),
        ("Absence counts from", counts_from),
        ("Retry closes", retry_until),
        ("Key forgotten", key_until),
    )
    return tuple((name, formats.when_second(moment)) for name, moment in named if moment)
