"""What may be decided, on what proof, leading where and at what price: one table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from ledger.rules import guards
from ledger.rules.cases import CaseFacts, Decision, Evidence, Reading, agreeing, read
from ledger.rules.comparison import differences
from ledger.rules.contract import Route
from ledger.rules.findings import FindingCode
from ledger.rules.guards import Because, Block, Guard
from ledger.rules.policy import MINIMUM_PEOPLE, STRICTEST
from ledger.rules.states import TERMINAL, RejectKind, State
from ledger.rules.words import Value, Words

__all__ = [
    "RULES",
    "Because",
    "CaseFacts",
    "Decision",
    "Evidence",
    "Option",
    "ReasonCode",
    "Rule",
    "Typed",
    "option",
    "options",
]


class Typed(StrEnum):
    """What a person reads from the evidence and types, so that nobody decides without looking."""

    OBJECT_LAST_FOUR = "object_last_four"
    FOUND_AMOUNT = "found_amount"
    INTENT_AMOUNT = "intent_amount"


@dataclass(frozen=True, slots=True)
class ReasonCode:
    """A reason from the list, with its words. `fits` names the routes or findings it belongs to."""

    code: str
    words: str
    fits: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a form asks for: at least so many characters of words, and what is typed."""

    words_minimum: int = 0
    typed: tuple[Typed, ...] = ()


Proof: TypeAlias = Callable[[CaseFacts, Reading], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table: the first guard that speaks locks the decision.

    `alone` is asked of one person below the tier, `above` where others must agree too.
    """

    guards: tuple[Guard, ...]
    does: str
    target: State | None
    proof: Proof
    reasons: tuple[ReasonCode, ...]
    alone: Asked
    above: Asked


@dataclass(frozen=True, slots=True)
class Option:
    """One decision for one case. `why` says what it does, or why it is locked.

    `change` says what would unlock it, `because` its cause as a code. `evidence` are the entry
    numbers it relies on or, where locked, those that forbid it. `object_id` is the receipt, None
    where one of `candidates` is to be chosen. `shown` is False for a form of acceptance that
    another one stands in for. `target` is the next state, None where the state stays.
    """

    decision: Decision
    available: bool
    why: Words
    change: Words | None
    because: Because | None
    evidence: tuple[int, ...]
    object_id: str | None
    candidates: tuple[str, ...]
    people: int
    reason_codes: tuple[ReasonCode, ...]
    typed: tuple[Typed, ...]
    words_minimum: int
    target: State | None
    reject_kind: RejectKind | None
    shown: bool


def _nothing(facts: CaseFacts, reading: Reading) -> tuple[int, ...]:
    return ()


def _newest(facts: CaseFacts, reading: Reading) -> tuple[int, ...]:
    return agreeing(facts, reading)


def _all_found(facts: CaseFacts, reading: Reading) -> tuple[int, ...]:
    return reading.happened


def _refusal_or_newest(facts: CaseFacts, reading: Reading) -> tuple[int, ...]:
    if guards.refused(facts) and facts.declined_no is not None:
        return (facts.declined_no,)
    return agreeing(facts, reading)


def _reasons(*rows: tuple[str, str, str]) -> tuple[ReasonCode, ...]:
    return tuple(ReasonCode(code, words, frozenset(fits.split())) for code, words, fits in rows)


_SETTLING = (guards.unknown, guards.no_vote_open)
_RECEIPT = (Typed.OBJECT_LAST_FOUR, Typed.FOUND_AMOUNT)
_ABSENT = ("absence_proven", "Nothing exists at the provider", FindingCode.ABSENT)

RULES: Mapping[Decision, Rule] = MappingProxyType(
    {
        Decision.ACCEPT: Rule(
            guards=(*_SETTLING, guards.answered, guards.exact, guards.one_object),
            does="Records that it happened, with {object} as its receipt.",
            target=State.CONFIRMED,
            proof=_newest,
            reasons=_reasons(
                ("found_by_key", "Found by key, all compared fields agree", Route.BY_KEY),
                ("found_by_request_id", "Found by request id, all agree", Route.BY_REQUEST_ID),
                ("found_by_object_id", "Found by object id, all agree", Route.BY_OBJECT_ID),
                ("found_by_attributes", "Found by what we sent, all agree", Route.BY_ATTRIBUTES),
            ),
            alone=Asked(),
            above=Asked(10, (Typed.OBJECT_LAST_FOUR,)),
        ),
        Decision.ACCEPT_WITH_DIFFERENCE: Rule(
            guards=(*_SETTLING, guards.answered, guards.differing, guards.one_object),
            does="Records that it happened with a difference: {differences}.",
            target=State.CONFIRMED,
            proof=_newest,
            reasons=_reasons(
                ("difference_agreed", "The other side agreed to the difference", ""),
                ("fee_deducted", "The provider deducted a fee", ""),
                ("corrected_later", "The difference is corrected separately", ""),
                ("same_in_substance", "The field is written differently and means the same", ""),
                ("other", "Other, said in words", ""),
            ),
            alone=Asked(40, _RECEIPT),
            above=Asked(40, _RECEIPT),
        ),
        Decision.ACCEPT_ONE_OF_SEVERAL: Rule(
            guards=(*_SETTLING, guards.answered, guards.several),
            does="Records the one you choose as the receipt; the others stay to be dealt with.",
            target=State.CONFIRMED,
            proof=_all_found,
            reasons=_reasons(
                ("receipt_held", "A receipt or message names this one", ""),
                ("time_fits", "Only this one was made when we sent", ""),
                ("others_explained", "The others belong to something else", ""),
                ("duplicate", "All are ours; this one is kept", ""),
                ("other", "Other, said in words", ""),
            ),
            alone=Asked(40, _RECEIPT),
            above=Asked(40, _RECEIPT),
        ),
        Decision.REJECT: Rule(
            guards=(*_SETTLING, guards.nothing_happened),
            does="Records that nothing happened.",
            target=State.REJECTED,
            proof=_refusal_or_newest,
            reasons=_reasons(
                ("provider_refused", "The provider refused it, by a listed code", "refused"),
                (
                    "failed_at_provider",
                    "The provider holds it as failed",
                    FindingCode.FAILED_OBJECT,
                ),
                _ABSENT,
            ),
            alone=Asked(10),
            above=Asked(10, (Typed.INTENT_AMOUNT,)),
        ),
        Decision.REDISPATCH: Rule(
            guards=(
                *_SETTLING,
                guards.sent_from_here,
                guards.answered,
                guards.absent_for_retry,
                guards.key_alive,
            ),
            does="Lets a worker send it once more with the same key, until {retry_until}.",
            target=State.PREPARED,
            proof=_newest,
            reasons=_reasons(_ABSENT),
            alone=Asked(20, (Typed.INTENT_AMOUNT,)),
            above=Asked(20, (Typed.INTENT_AMOUNT,)),
        ),
        Decision.COMPENSATE: Rule(
            guards=(guards.confirmed, guards.not_offered),
            does="Starts a linked effect that undoes this one.",
            target=None,
            proof=_nothing,
            reasons=(),
            alone=Asked(40, (Typed.INTENT_AMOUNT,)),
            above=Asked(40, (Typed.INTENT_AMOUNT,)),
        ),
        Decision.ESCALATE: Rule(
            guards=(guards.unknown, guards.not_escalated),
            does="Names somebody who must act. It stays unknown and frozen.",
            target=None,
            proof=_nothing,
            reasons=_reasons(
                ("evidence_unclear", "The evidence does not say what happened", ""),
                ("found_differs", "A found object differs", ""),
                ("several_found", "More than one object fits", ""),
                ("provider_silent", "The provider does not answer", ""),
                ("key_closing", "The key window closes soon", ""),
                ("other", "Other, said in words", ""),
            ),
            alone=Asked(10),
            above=Asked(10),
        ),
        Decision.LOOK_UP: Rule(
            guards=(guards.sent, guards.can_look),
            does="Asks {title} what it holds. A lookup cannot create anything.",
            target=None,
            proof=_nothing,
            reasons=(),
            alone=Asked(),
            above=Asked(),
        ),
        Decision.REOPEN: Rule(
            guards=(guards.settled, guards.not_offered),
            does="Makes a settled effect unknown again, since evidence speaks against its outcome.",
            target=State.UNKNOWN,
            proof=_nothing,
            reasons=(),
            alone=Asked(40),
            above=Asked(40),
        ),
    }
)

_FORMS_OF_ACCEPTING = {
    FindingCode.DIFFERS: Decision.ACCEPT_WITH_DIFFERENCE,
    FindingCode.SEVERAL: Decision.ACCEPT_ONE_OF_SEVERAL,
}
_WORDS_FOR_A_LIKENESS, _PEOPLE_FOR_WEAK_PROOF = 10, 2


def options(facts: CaseFacts) -> tuple[Option, ...]:
    """Every decision, available or locked with its reason, in the order of the page."""
    reading = read(facts)
    return tuple(_option(decision, facts, reading) for decision in Decision)


def option(decision: Decision, facts: CaseFacts) -> Option:
    """One decision for `facts`, as `options` gives it."""
    return _option(decision, facts, read(facts))


def _option(decision: Decision, facts: CaseFacts, reading: Reading) -> Option:
    rule = RULES[decision]
    block = next((b for guard in rule.guards if (b := guard(facts, reading))), None)
    people = facts.people_required.get(decision, STRICTEST)
    if decision in (Decision.ESCALATE, Decision.LOOK_UP):
        people = MINIMUM_PEOPLE[decision]
    if _is_weak(decision, facts, reading):
        people = max(people, _PEOPLE_FOR_WEAK_PROOF)
    asked = _asked(decision, rule, facts, reading, people=people)
    chosen = decision is Decision.ACCEPT_ONE_OF_SEVERAL
    return Option(
        decision=decision,
        available=block is None,
        why=block.why if block else _does(rule, facts, reading),
        change=block.change if block else None,
        because=block.because if block else None,
        evidence=block.evidence if block else rule.proof(facts, reading),
        object_id=None if block or chosen else _receipt(rule, reading),
        candidates=reading.took_effect if chosen and block is None else (),
        people=people,
        reason_codes=_fitting(rule, facts, reading),
        typed=asked.typed,
        words_minimum=asked.words_minimum,
        target=rule.target,
        reject_kind=_kind(decision, facts, reading, block),
        shown=_shown(decision, facts, reading),
    )


def _asked(
    decision: Decision, rule: Rule, facts: CaseFacts, reading: Reading, *, people: int
) -> Asked:
    """A likeness found by attributes is no tie: it is never accepted without a word."""
    asked = rule.alone if people <= 1 else rule.above
    typed = asked.typed
    if not facts.contract.has_amount:
        typed = tuple(t for t in typed if t is Typed.OBJECT_LAST_FOUR)
    least = asked.words_minimum
    if decision is Decision.ACCEPT and _is_likeness(reading):
        least = max(least, _WORDS_FOR_A_LIKENESS)
    return Asked(least, typed)


def _is_likeness(reading: Reading) -> bool:
    """Whether the newest finding is an object that only fits, with nothing on it that is ours."""
    return reading.newest is not None and not reading.newest.finding.tied


def _is_weak(decision: Decision, facts: CaseFacts, reading: Reading) -> bool:
    """Proof that one person alone never settles on, whatever the amount.

    An object that only fits could be somebody else's twin; and that nothing exists for an effect
    taken in rests on a key or request id that its source merely claims.
    """
    if decision is Decision.ACCEPT:
        return _is_likeness(reading)
    absent = reading.is_newest(FindingCode.ABSENT)
    return decision is Decision.REJECT and facts.taken_in and absent


def _does(rule: Rule, facts: CaseFacts, reading: Reading) -> Words:
    gaps: dict[str, Value] = {}
    if reading.newest is not None:
        gaps["object"] = reading.newest.finding.object_id or ""
        gaps["differences"] = differences(reading.newest.finding.comparisons)
    if facts.retry_until is not None:
        gaps["retry_until"] = facts.retry_until
    return facts.say(rule.does, **gaps)


def _receipt(rule: Rule, reading: Reading) -> str | None:
    if rule.target is not State.CONFIRMED or reading.newest is None:
        return None
    return reading.newest.finding.object_id


def _fitting(rule: Rule, facts: CaseFacts, reading: Reading) -> tuple[ReasonCode, ...]:
    """The reasons that the evidence allows; all of a list that names no evidence."""
    present: set[str] = set()
    if reading.newest is not None:
        present = {reading.newest.finding.route.value, reading.newest.finding.code.value}
    if guards.refused(facts) and any("refused" in reason.fits for reason in rule.reasons):
        present = {"refused"}
    return tuple(reason for reason in rule.reasons if not reason.fits or reason.fits & present)


def _kind(
    decision: Decision, facts: CaseFacts, reading: Reading, block: Block | None
) -> RejectKind | None:
    if decision is not Decision.REJECT or block is not None:
        return None
    if guards.refused(facts) or reading.is_newest(FindingCode.FAILED_OBJECT):
        return RejectKind.PROVIDER_DECLINED
    return RejectKind.ABSENCE_PROVEN


def _shown(decision: Decision, facts: CaseFacts, reading: Reading) -> bool:
    """One form of accepting at a time, and reopening only where something is settled."""
    if decision is Decision.REOPEN:
        return facts.state in TERMINAL
    forms = (Decision.ACCEPT, *_FORMS_OF_ACCEPTING.values())
    if decision not in forms:
        return True
    if len(reading.took_effect) > 1:
        return decision is Decision.ACCEPT_ONE_OF_SEVERAL
    code = reading.newest.finding.code if reading.newest else FindingCode.EXACT
    return decision is _FORMS_OF_ACCEPTING.get(code, Decision.ACCEPT)
