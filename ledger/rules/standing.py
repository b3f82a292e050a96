"""Where a case stands: what is proven, what is known and proves nothing, what is not known."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from ledger.rules.cases import CaseFacts, Evidence, Reading, read
from ledger.rules.comparison import FieldComparison, Verdict, differences, shown
from ledger.rules.contract import Route
from ledger.rules.findings import PROOF, SILENT, FindingCode, how
from ledger.rules.guards import refused
from ledger.rules.states import Cause, State
from ledger.rules.words import Value, Words, duration, listed, say

_F = FindingCode


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the summary: what, on which source, and the number of its entry if it has one."""

    words: Words
    source: Words
    no: int | None = None


@dataclass(frozen=True, slots=True)
class Standing3:
    """The three lists, each oldest first; an empty one is said to be empty by the page."""

    proven: tuple[Line, ...]
    proves_nothing: tuple[Line, ...]
    not_known: tuple[Line, ...]


def standing(facts: CaseFacts) -> Standing3:
    """The three lists, written from the evidence alone."""
    reading = read(facts)
    return Standing3(
        proven=tuple(_proven(facts, reading)),
        proves_nothing=tuple(_proves_nothing(facts, reading)),
        not_known=tuple(_not_known(facts, reading)),
    )


def summary(facts: CaseFacts) -> Words:
    """The case in one line, as the head of the page says it."""
    template = _SUMMARIES[facts.state]
    if facts.state is State.UNKNOWN:
        template = "Sent at {sent}, " + _CAUSES[facts.cause or Cause.TIMEOUT].short
        template += " {title} may or may not have carried it out."
        if facts.taken_in or facts.last_dispatch_at is None:
            template = "Taken in from outside. {title} may or may not have carried it out."
    return facts.say(template, sent=facts.last_dispatch_at or facts.now)


_SUMMARIES = {
    State.UNBORN: "Nothing is recorded.",
    State.PREPARED: "Written down, not sent.",
    State.DISPATCHED: "Sent at {sent}; the answer is awaited.",
    State.UNKNOWN: "",
    State.CONFIRMED: "It happened.",
    State.REJECTED: "It did not happen.",
    State.COMPENSATED: "It happened and was undone by a linked effect.",
}


@dataclass(frozen=True, slots=True)
class _CauseWords:
    short: str
    fact: str
    proves: str


_SILENCE = "Silence says nothing about the outcome."
_CAUSES = {
    Cause.TIMEOUT: _CauseWords(
        "no answer.", "No answer came in time.", "A timeout says nothing about the outcome."
    ),
    Cause.RESET: _CauseWords("no answer.", "The connection broke off.", _SILENCE),
    Cause.SERVER_ERROR: _CauseWords(
        "a server error came back.",
        "{title} answered with a server error.",
        "The request may have been carried out all the same.",
    ),
    Cause.UNLISTED_ANSWER: _CauseWords(
        "the answer is not one that proves anything.",
        "{title} answered in a way its contract does not list.",
        "Only listed refusals prove that nothing happened.",
    ),
    Cause.UNREADABLE_ANSWER: _CauseWords(
        "the answer could not be read.",
        "{title}'s answer could not be read.",
        "It may have come from somebody in between.",
    ),
    Cause.MISMATCH: _CauseWords(
        "the answer does not agree with the request.",
        "{title} answered with something other than what we sent.",
        "Which of the two holds is not proven.",
    ),
    Cause.IN_PROGRESS: _CauseWords(
        "and it was still being worked on.",
        "{title} said that the first request is still running.",
        "It may end either way.",
    ),
    Cause.ACKNOWLEDGED_ONLY: _CauseWords(
        "only its receipt was acknowledged.",
        "{title} acknowledged the request, no more.",
        "Received is not carried out.",
    ),
    Cause.LEASE_LOST: _CauseWords(
        "and the worker was lost.", "The worker was lost after it may have sent.", _SILENCE
    ),
    Cause.INTERRUPTED: _CauseWords(
        "and the worker was stopped.", "The worker was stopped while it sent.", _SILENCE
    ),
    Cause.LATE_EVIDENCE: _CauseWords(
        "and evidence of an earlier sending came in.",
        "Evidence that an earlier sending was carried out came in.",
        "So nothing is sent again before this is settled.",
    ),
    Cause.TAKEN_IN: _CauseWords(
        "elsewhere.",
        "This was taken in from outside, with its outcome open.",
        "What the source says is not checked.",
    ),
}


def _proven(facts: CaseFacts, reading: Reading) -> Iterable[Line]:
    if refused(facts):
        refusal = facts.contract.refusal(facts.declined_code)
        words = facts.say("{title} refused it: {refusal}", refusal=refusal.words if refusal else "")
        yield Line(words, say("Listed in the contract as definitive"), facts.declined_no)
    newest = reading.newest
    if newest is None or newest.finding.code not in PROOF or len(reading.live) > 1:
        return
    if newest.finding.code is _F.ABSENT and reading.happened:
        return
    yield Line(_main_fact(facts, newest), _lookup(facts, newest), newest.no)
    yield from _compared(facts, newest)


def _main_fact(facts: CaseFacts, newest: Evidence) -> Words:
    finding = newest.finding
    if finding.code in (_F.EXACT, _F.DIFFERS):
        return facts.say("{title} holds exactly one {noun} {how}.", how=how(finding.route))
    return finding.words


def _compared(facts: CaseFacts, newest: Evidence) -> Iterable[Line]:
    rows = newest.finding.comparisons
    same = tuple(shown(row.name) for row in rows if row.verdict is Verdict.SAME)
    compared = len(same) + sum(row.verdict is Verdict.DIFFERS for row in rows)
    if not compared or newest.finding.code not in (_F.EXACT, _F.DIFFERS):
        return
    source = say("{same} of {compared} compared fields", same=len(same), compared=compared)
    if same:
        agree = "agrees" if len(same) == 1 else "agree"
        words = say(
            "Its {names} {agree} with what we sent.", names=_names(rows, Verdict.SAME), agree=agree
        )
        yield Line(words, source, newest.no)
    if newest.finding.code is _F.DIFFERS:
        words = say("It differs: {differences}.", differences=differences(rows))
        yield Line(words, source, newest.no)


def _names(rows: tuple[FieldComparison, ...], verdict: Verdict) -> str:
    return listed(tuple(shown(row.name) for row in rows if row.verdict is verdict))


def _proves_nothing(facts: CaseFacts, reading: Reading) -> Iterable[Line]:
    if facts.cause is not None:
        cause = _CAUSES[facts.cause]
        yield Line(facts.say(cause.fact), say(cause.proves), facts.cause_no)
    for run in _runs(facts.findings):
        yield from _weak(facts, reading, run)


def _runs(findings: tuple[Evidence, ...]) -> Iterable[tuple[Evidence, ...]]:
    """Findings in order, failing ones that follow each other as one."""
    run: tuple[Evidence, ...] = ()
    for item in findings:
        alike = run and item.finding.code is run[-1].finding.code and item.finding.code in SILENT
        if run and not alike:
            yield run
            run = ()
        run = (*run, item)
    if run:
        yield run


def _weak(facts: CaseFacts, reading: Reading, run: tuple[Evidence, ...]) -> Iterable[Line]:
    last = run[-1]
    finding = last.finding
    if finding.code in SILENT and len(run) > 1:
        words = facts.say("{title} did not answer {count} lookups.", count=len(run))
        source = say(
            "From {first} to {last}; this says nothing about the outcome",
            first=run[0].finding.asked_at,
            last=finding.asked_at,
        )
        yield Line(words, source, last.no)
    elif finding.code not in PROOF:
        yield Line(finding.words, _lookup(facts, last), last.no)
    elif last is not reading.newest and not _superseded(last, reading):
        yield Line(finding.words, say("A later lookup says something else"), last.no)
    elif last is reading.newest and (len(reading.live) > 1 or _doubted(last, reading)):
        yield Line(finding.words, say("Other lookups found something else"), last.no)


def _superseded(item: Evidence, reading: Reading) -> bool:
    """Whether a later finding says the same, so that this one need not be repeated."""
    newest = reading.newest
    if newest is None:
        return False
    return (item.finding.code, item.finding.object_id) == (
        newest.finding.code,
        newest.finding.object_id,
    )


def _doubted(item: Evidence, reading: Reading) -> bool:
    return item.finding.code is _F.ABSENT and bool(reading.happened)


def _not_known(facts: CaseFacts, reading: Reading) -> Iterable[Line]:
    if facts.state is not State.UNKNOWN:
        return
    newest, needed = reading.newest, say("The decision needs this")
    if len(reading.live) > 1:
        words = facts.say("Which of the {count} {noun}s is ours.", count=len(reading.live))
        yield Line(words, needed)
    elif newest is None or newest.finding.code not in PROOF or _doubted(newest, reading):
        if not refused(facts):
            yield Line(facts.say("Whether it happened."), needed)
    elif newest.finding.code is _F.DIFFERS:
        yield Line(facts.say("Why it differs."), needed, newest.no)
    elif newest.finding.code is _F.EXACT:
        yield _end_of_the_line(facts, newest)


def _end_of_the_line(facts: CaseFacts, newest: Evidence) -> Line:
    """What no lookup at this provider can say, and no acceptance claims."""
    found = newest.finding.object
    question = (
        "Whether the money has arrived."
        if facts.contract.has_amount
        else ("Whether it was delivered.")
    )
    source = facts.say(
        "{title} says “{status}”. Accepting records that the {noun} exists, no more.",
        status=found.status if found else "",
    )
    return Line(say(question), source, newest.no)


def _lookup(facts: CaseFacts, item: Evidence) -> Words:
    """Where a finding comes from: the route, the moment, and how long after sending."""
    moment: datetime = item.finding.asked_at
    values: dict[str, Value] = {"at": moment, "route": _ROUTES[item.finding.route]}
    template = "The answer to what we sent, {at}" if item.from_answer else "Lookup by {route}, {at}"
    if facts.last_dispatch_at is not None and moment > facts.last_dispatch_at:
        values["after"] = duration(moment - facts.last_dispatch_at)
        template += ", {after} after sending"
    return say(template, **values)


_ROUTES = {
    Route.BY_KEY: "key",
    Route.BY_REQUEST_ID: "request id",
    Route.BY_OBJECT_ID: "object id",
    Route.BY_ATTRIBUTES: "what we sent",
}
