"""The next step of a case: the first rule that matches, R1 to R10, in words with its reason."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeAlias

from ledger.rules.cases import CaseFacts, Decision, Reading, read
from ledger.rules.comparison import differences
from ledger.rules.contract import Route
from ledger.rules.decisions import Because, Option, options
from ledger.rules.findings import SILENT, FindingCode
from ledger.rules.priority import contradicts
from ledger.rules.states import TERMINAL, State
from ledger.rules.words import Value, Words, duration, join

KEY_CLOSING = timedelta(hours=1)
_F = FindingCode


@dataclass(frozen=True, slots=True)
class NextStep:
    """What to do next. `rule` is R1 to R10, empty where no rule is needed.

    `decision` is the form to open; it is always available. None where there is only to wait, or
    where somebody else acts.
    """

    rule: str
    words: Words
    why: Words
    decision: Decision | None


@dataclass(frozen=True, slots=True)
class _Case:
    facts: CaseFacts
    reading: Reading
    open: dict[Decision, Option]

    def can(self, decision: Decision) -> bool:
        return self.open[decision].available

    def is_newest(self, *codes: FindingCode) -> bool:
        return any(self.reading.is_newest(code) for code in codes)

    def step(self, rule: str, words: str, why: str, decision: Decision | None = None) -> NextStep:
        """The step, with the decision left out where it is locked."""
        gaps = self._gaps()
        usable = decision if decision is not None and self.can(decision) else None
        return NextStep(rule, self.facts.say(words, **gaps), self.facts.say(why, **gaps), usable)

    def _gaps(self) -> dict[str, Value]:
        facts, newest = self.facts, self.reading.newest
        gaps: dict[str, Value] = {"count": len(self.reading.live)}
        if newest is not None:
            gaps["differences"] = differences(newest.finding.comparisons)
            gaps["since"] = newest.finding.look_again_at or newest.finding.asked_at
        if facts.key_until is not None:
            gaps["key_left"] = duration(facts.key_until - facts.now)
            gaps["key_until"] = facts.key_until
        gaps["until"] = facts.retry_until or facts.now
        gaps["owner"] = facts.escalated_to or ""
        gaps["next_look"] = facts.next_look_at or facts.now
        return gaps


_Rule: TypeAlias = Callable[[_Case], NextStep | None]


def next_step(facts: CaseFacts) -> NextStep:
    """The first rule that matches `facts`."""
    case = _Case(facts, read(facts), {option.decision: option for option in options(facts)})
    return next(step for rule in _RULES if (step := rule(case)) is not None)


def _not_unknown(case: _Case) -> NextStep | None:
    state = case.facts.state
    if state is State.UNKNOWN:
        return None
    newest = case.reading.newest
    if newest is not None and contradicts(state, newest.finding.code):
        why = "Settled as it is, it stays so until two people reopen it."
        return case.step("", "A later finding speaks against the recorded outcome.", why)
    if state in TERMINAL:
        return case.step("", "Nothing to do.", "The outcome is recorded.")
    if state is State.DISPATCHED:
        return case.step("", "Wait for the answer.", "It was sent; a worker holds the lease.")
    return case.step("", "Nothing to do.", "It waits for a worker; nothing was sent yet.")


def _vote_open(case: _Case) -> NextStep | None:
    if not case.facts.open_resolution:
        return None
    return case.step("", "Wait for the second person.", "A decision is proposed.")


def _refused(case: _Case) -> NextStep | None:
    option = case.open[Decision.REJECT]
    if not option.available or case.is_newest(_F.ABSENT):
        return None
    why = "{title} says that nothing was carried out."
    return case.step("R1", "Mark rejected.", why, Decision.REJECT)


def _exact(case: _Case) -> NextStep | None:
    """Found by our own tie, or settled long enough that a second likeness would show."""
    option = case.open[Decision.ACCEPT]
    if not option.available or case.reading.newest is None:
        return None
    finding = case.reading.newest.finding
    settled = finding.counts_from is not None and finding.asked_at >= finding.counts_from
    if finding.route is Route.BY_ATTRIBUTES and not settled and case.can(Decision.LOOK_UP):
        why = "One {noun} fits what we sent, but another may not show yet."
        return case.step("R2", "Look up again before you accept.", why, Decision.LOOK_UP)
    why = "Exactly one {noun} was found and every compared field agrees."
    return case.step("R3", "Accept the receipt.", why, Decision.ACCEPT)


def _differs(case: _Case) -> NextStep | None:
    if case.reading.live and case.is_newest(_F.ABSENT, _F.ABSENT_INCONCLUSIVE):
        why = "One lookup found something, a later one did not."
        return _to_people(case, "R4", "Escalate: the lookups disagree.", why)
    if case.is_newest(_F.REVERSED):
        why = "It happened and was undone later."
        return _to_people(case, "R4", "Escalate: it was undone.", why)
    if not case.is_newest(_F.DIFFERS) or len(case.reading.live) > 1:
        return None
    return _to_people(
        case, "R4", "Escalate with the difference.", "One {noun} was found: {differences}."
    )


def _several(case: _Case) -> NextStep | None:
    if len(case.reading.live) <= 1 and not case.is_newest(_F.SEVERAL):
        return None
    why = "{count} {noun}s could be ours."
    return _to_people(case, "R5", "Compare the candidates, then escalate.", why)


def _retry(case: _Case) -> NextStep | None:
    if not case.can(Decision.REDISPATCH):
        return None
    why = "Nothing exists at {title}, and it still knows the key."
    return case.step("R7", "Allow one retry, before {until}.", why, Decision.REDISPATCH)


def _absent(case: _Case) -> NextStep | None:
    if not case.can(Decision.REJECT):
        return None
    step = case.step("R8", "Mark rejected; a new intent can follow.", "", Decision.REJECT)
    nothing = case.facts.say("Nothing exists at {title}.")
    return replace(step, why=join(nothing, case.open[Decision.REDISPATCH].why))


def _running(case: _Case) -> NextStep | None:
    if not case.facts.open_lookup:
        return None
    return case.step("R2", "Wait for the lookup.", "A lookup is running.")


def _too_early(case: _Case) -> NextStep | None:
    """Nothing found yet, and the time to ask again is known and still to come."""
    facts, newest = case.facts, case.reading.newest
    if newest is None or not case.is_newest(_F.ABSENT_INCONCLUSIVE):
        return None
    again = newest.finding.look_again_at
    if again is None or again <= facts.now:
        return None
    if facts.key_until is not None and facts.now < facts.key_until <= again:
        return None
    return case.step(
        "R6",
        "Wait until {since}, then look up.",
        "Nothing was found, but it is too early for that to count.",
    )


def _key_closing(case: _Case) -> NextStep | None:
    facts = case.facts
    if facts.key_until is None or not facts.now < facts.key_until <= facts.now + KEY_CLOSING:
        return None
    if _worth_a_look(case):
        return None
    why = "{title} forgets the key in {key_left}, and nothing yet allows a decision."
    return _to_people(case, "R10", "Escalate now.", why)


def _lookups_fail(case: _Case) -> NextStep | None:
    newest_look = case.reading.newest_look
    silent = newest_look is not None and newest_look.finding.code in SILENT
    if case.facts.contract.routes and case.facts.provider_answers and not silent:
        return None
    why = "Lookups fail or are not offered, so no evidence can come by itself."
    words = "Ask {title}, and escalate with what they say."
    return _to_people(case, "R9", words, why)


def _pending(case: _Case) -> NextStep | None:
    if not case.is_newest(_F.PENDING):
        return None
    why = "{title} has not finished with it."
    return case.step("R6", "Wait, then look up again.", why, Decision.LOOK_UP)


def _look(case: _Case) -> NextStep | None:
    if not _worth_a_look(case) or not case.can(Decision.LOOK_UP):
        return None
    if case.reading.newest is None:
        why = "Nobody has asked {title} yet."
        return case.step("R2", "Look up.", why, Decision.LOOK_UP)
    why = "The newest lookup no longer carries a decision."
    return case.step("R2", "Look up again.", why, Decision.LOOK_UP)


def _otherwise(case: _Case) -> NextStep:
    why = "No lookup that this provider offers can settle it."
    return _to_people(case, "R9", "Ask {title}, and escalate with what they say.", why)


def _worth_a_look(case: _Case) -> bool:
    """Whether one more look can carry a decision: none yet, too old, or the time for it came."""
    newest, look = case.reading.newest, case.reading.newest_look
    if not case.facts.contract.routes or not case.facts.provider_answers:
        return False
    if newest is None:
        return look is None
    if case.open[Decision.REJECT].because is Because.LOOK_TOO_OLD:
        return True
    again = newest.finding.look_again_at
    return case.is_newest(_F.ABSENT_INCONCLUSIVE) and again is not None and again <= case.facts.now


def _to_people(case: _Case, rule: str, words: str, why: str) -> NextStep:
    """Escalate, or say who has it already."""
    if case.facts.escalated_to is not None:
        return case.step(rule, "Escalated to {owner}, who decides next.", why)
    return case.step(rule, words, why, Decision.ESCALATE)


_RULES: tuple[_Rule, ...] = (
    _not_unknown,
    _vote_open,
    _refused,
    _exact,
    _several,
    _differs,
    _retry,
    _absent,
    _running,
    _too_early,
    _key_closing,
    _lookups_fail,
    _pending,
    _look,
    _otherwise,
)
