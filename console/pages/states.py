"""How states, findings, priorities and key windows look: a shape, a word and a tone each."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from console.formats import Formats
from ledger.rules.findings import FindingCode
from ledger.rules.states import RejectKind, State
from ledger.rules.words import duration

CRITICAL, WARNING = timedelta(hours=1), timedelta(hours=8)
FULL = 100


@dataclass(frozen=True, slots=True)
class Badge:
    """A state on screen: its class and glyph, its word, and what it means."""

    name: str
    title: str
    means: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A finding on screen: tone (ok, bad, wait or none), glyph and words."""

    tone: str
    icon: str
    words: str


@dataclass(frozen=True, slots=True)
class Window:
    """The key window as a bar: widths in percent, a tone, and the same in words."""

    elapsed: str
    settle: str
    tone: str
    words: str
    kept: bool


BADGES = {
    State.PREPARED: Badge("prepared", "Prepared", "Written, not sent"),
    State.DISPATCHED: Badge("dispatched", "Dispatched", "Sent, answer awaited, lease held"),
    State.UNKNOWN: Badge("unknown", "Unknown", "Sent, outcome not proven, frozen"),
    State.CONFIRMED: Badge("confirmed", "Confirmed", "Happened: the provider answered at once"),
    State.REJECTED: Badge("rejected", "Rejected", "Proven that nothing happened"),
    State.COMPENSATED: Badge("confirmed", "Compensated", "The reversing effect is confirmed"),
}
ESCALATED = Badge("escalated", "Escalated", "Unknown, and someone named must act")
RECONCILED = Badge("reconciled", "Reconciled", "Happened: proven later by evidence")

REJECTIONS = {
    RejectKind.PROVIDER_DECLINED.value: "the provider refused it",
    RejectKind.NOT_DISPATCHED.value: "never sent",
    RejectKind.ABSENCE_PROVEN.value: "proven absent",
}

_F = FindingCode
_MARKS = {
    _F.EXACT: Mark("ok", "eq", "1 match, exact"),
    _F.LIKELY: Mark("wait", "eq", "1 match, only fits"),
    _F.DIFFERS: Mark("bad", "ne", "1 match, differs"),
    _F.SEVERAL: Mark("bad", "two-q", "Several candidates"),
    _F.PENDING: Mark("wait", "half", "Accepted, not final"),
    _F.FAILED_OBJECT: Mark("ok", "nope", "Failed at the provider"),
    _F.REVERSED: Mark("bad", "ne", "Undone by the provider"),
    _F.ABSENT: Mark("ok", "nope", "Not found, settled"),
    _F.ABSENT_INCONCLUSIVE: Mark("wait", "clock", "Not found yet"),
    _F.FAILING: Mark("bad", "nope", "Lookup failing"),
    _F.UNSUPPORTED: Mark("", "dash", "No lookup offered"),
}
FINDING_TITLES = {code.value: mark.words for code, mark in _MARKS.items()} | {
    "none": "No lookup yet"
}


def badge(
    state: int, *, escalated: bool = False, proven_later: bool = False, by_itself: bool = False
) -> Badge:
    """The state as shown; escalated and reconciled are derived, never stored."""
    if state == State.UNKNOWN and escalated:
        return ESCALATED
    if state == State.CONFIRMED and by_itself:
        return replace(RECONCILED, title=f"{RECONCILED.title} by automation")
    if state == State.CONFIRMED and proven_later:
        return RECONCILED
    return BADGES[State(state)]


def mark(
    code: str | None, *, brief: str | None, counts_from: datetime | None, formats: Formats
) -> Mark:
    """The last finding in words: `brief` where it says more than the code alone."""
    if code is None:
        return Mark("", "dash", "No lookup yet")
    plain = _MARKS[FindingCode(code)]
    if code == _F.ABSENT_INCONCLUSIVE and counts_from and counts_from > formats.now:
        settles = duration(counts_from - formats.now)
        return Mark(plain.tone, plain.icon, f"Not found yet, settles in {settles}")
    return Mark(plain.tone, plain.icon, brief or plain.words)


def window(
    sent_at: datetime | None,
    *,
    key_until: datetime | None,
    counts_from: datetime | None,
    formats: Formats,
) -> Window:
    """The key window from dispatch to expiry: amber under 8 hours, red under one."""
    if sent_at is None:
        return Window("0", "0", "", "not sent", kept=False)
    if key_until is None:
        return Window("0", "0", "", "no key kept", kept=False)
    whole = (key_until - sent_at) / timedelta(seconds=1) or 1
    elapsed = percent((formats.now - sent_at) / timedelta(seconds=1), whole=whole)
    settle = percent(((counts_from or sent_at) - sent_at) / timedelta(seconds=1), whole=whole)
    left = key_until - formats.now
    if left <= timedelta(0):
        return Window("100", settle, "crit", f"Key expired {duration(left)} ago", kept=True)
    return Window(elapsed, settle, urgency(left), f"{duration(left)} left", kept=True)


def urgency(left: timedelta | None) -> str:
    """The tone of a deadline: red under one hour, amber under eight, plain otherwise."""
    if left is None or left >= WARNING:
        return ""
    return "crit" if left < CRITICAL else "warn"


def percent(part: float, *, whole: float) -> str:
    """`part` of `whole` in percent with one decimal, held between 0 and 100."""
    return f"{min(FULL, max(0, FULL * part / whole)):.1f}"
