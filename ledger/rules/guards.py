"""Why a decision cannot be taken: one guard per reason, in words, and what would change it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias

from ledger.rules.cases import CaseFacts, Evidence, Reading
from ledger.rules.comparison import differences
from ledger.rules.findings import FindingCode
from ledger.rules.states import TERMINAL, Cause, State
from ledger.rules.words import Words, duration, numbered, say

FRESH = timedelta(minutes=10)
LEAST_KEY_LEFT = timedelta(minutes=10)

_F = FindingCode


class Because(StrEnum):
    """The cause of a lock, for callers that need no words."""

    ALREADY_SETTLED = "already_settled"
    NOT_SETTLED = "not_settled"
    NOT_SENT = "not_sent"
    IN_MOTION = "in_motion"
    AWAITING_VOTE = "awaiting_vote"
    NO_LOOKUP = "no_lookup"
    LOOKUP_FAILING = "lookup_failing"
    LOOKUP_RUNNING = "lookup_running"
    LOOKUP_LIMIT = "lookup_limit"
    NO_ROUTE = "no_route"
    NOT_FOUND = "not_found"
    TOO_EARLY = "too_early"
    CANNOT_PROVE_ABSENCE = "cannot_prove_absence"
    LOOK_TOO_OLD = "look_too_old"
    CONTRADICTED = "contradicted"
    EFFECT_EXISTS = "effect_exists"
    DIFFERS = "differs"
    NOTHING_DIFFERS = "nothing_differs"
    SEVERAL = "several"
    ONLY_ONE = "only_one"
    STILL_PENDING = "still_pending"
    STILL_PROCESSING = "still_processing"
    FAILED = "failed"
    REVERSED = "reversed"
    NO_KEY = "no_key"
    KEY_CLOSED = "key_closed"
    TAKEN_IN = "taken_in"
    ALREADY_ESCALATED = "already_escalated"
    NOT_CONFIRMED = "not_confirmed"
    NOT_OFFERED = "not_offered"


@dataclass(frozen=True, slots=True)
class Block:
    """Why a decision is locked, the evidence that forbids it, and what would change that."""

    because: Because
    why: Words
    change: Words | None = None
    evidence: tuple[int, ...] = ()


Guard: TypeAlias = Callable[[CaseFacts, Reading], Block | None]


def unknown(facts: CaseFacts, reading: Reading) -> Block | None:
    """Only an unknown effect can be settled."""
    if facts.state in TERMINAL:
        words = facts.say("Already settled as {state}.", state=facts.state.name.capitalize())
        return Block(Because.ALREADY_SETTLED, words)
    return sent(facts, reading) if facts.state is not State.UNKNOWN else None


def sent(facts: CaseFacts, reading: Reading) -> Block | None:
    """Something must have been sent, and its answer not be awaited any more."""
    if facts.state in (State.UNBORN, State.PREPARED):
        return Block(Because.NOT_SENT, say("Nothing was sent yet."))
    if facts.state is State.DISPATCHED:
        change = say("Without an answer it becomes unknown when the worker's lease ends.")
        return Block(Because.IN_MOTION, say("Sent; the answer is still awaited."), change)
    return None


def no_vote_open(facts: CaseFacts, reading: Reading) -> Block | None:
    """One proposed decision at a time."""
    if not facts.open_resolution:
        return None
    return Block(Because.AWAITING_VOTE, say("A proposed decision waits for a second person."))


def answered(facts: CaseFacts, reading: Reading) -> Block | None:
    """Some lookup must have said something."""
    if reading.newest is not None:
        return None
    if reading.newest_look is not None:
        words = facts.say(
            "{title} does not answer lookups ({no}). That says nothing about the {noun}.",
            no=numbered((reading.newest_look.no,)),
        )
        return Block(Because.LOOKUP_FAILING, words, _look_again(facts), (reading.newest_look.no,))
    if facts.cause is Cause.IN_PROGRESS:
        words = facts.say("{title} was still working on the request. Look up first.")
        return Block(Because.STILL_PROCESSING, words)
    words = facts.say("No {noun} was found at {title} yet. Look up first.")
    return Block(Because.NO_LOOKUP, words)


def one_object(facts: CaseFacts, reading: Reading) -> Block | None:
    """All lookups together must have shown one object only."""
    if len(reading.live) <= 1:
        return None
    words = facts.say(
        "{count} {noun}s were found that could be ours ({nos}).",
        count=len(reading.live),
        nos=numbered(reading.happened),
    )
    return Block(Because.SEVERAL, words, say("Choose the one that is ours."), reading.happened)


def exact(facts: CaseFacts, reading: Reading) -> Block | None:
    """The newest finding must be one object that agrees."""
    return None if reading.is_newest(_F.EXACT) else _not_a_match(facts, reading)


def differing(facts: CaseFacts, reading: Reading) -> Block | None:
    """The newest finding must be one object that differs."""
    if reading.is_newest(_F.DIFFERS):
        return None
    if reading.is_newest(_F.EXACT):
        return Block(Because.NOTHING_DIFFERS, say("Nothing differs. Accept the receipt."))
    return _not_a_match(facts, reading)


def several(facts: CaseFacts, reading: Reading) -> Block | None:
    """At least two objects must have taken effect, the newest finding among them."""
    found_some = (_F.SEVERAL, _F.EXACT, _F.DIFFERS)
    if reading.newest is not None and reading.newest.finding.code not in found_some:
        return _not_a_match(facts, reading)
    if len(reading.took_effect) > 1:
        return None
    return Block(Because.ONLY_ONE, facts.say("There are not two {noun}s to choose from."))


def nothing_happened(facts: CaseFacts, reading: Reading) -> Block | None:
    """A definitive refusal, a failed object, or absence that counts and is fresh."""
    if refused(facts) and not reading.happened:
        return None
    block = answered(facts, reading)
    if block is None and reading.is_newest(_F.FAILED_OBJECT):
        return _not_since_failed(facts, reading)
    return block or absent(facts, reading)


def refused(facts: CaseFacts) -> bool:
    """Whether the provider's own listed refusal answers the only attempt."""
    listed = facts.contract.refusal(facts.declined_code) is not None
    return listed and facts.declined_no is not None and facts.attempts <= 1


def absent(facts: CaseFacts, reading: Reading) -> Block | None:
    """Absence must be proven, contradicted by no finding, and at most ten minutes old."""
    newest = reading.newest
    if newest is None:
        return answered(facts, reading)
    if reading.happened:
        return _exists(facts, reading)
    if newest.finding.code is not _F.ABSENT:
        return _unproven(facts, newest)
    if facts.last_dispatch_at is None or newest.finding.asked_at <= facts.last_dispatch_at:
        words = say("The newest lookup is older than the last sending ({no}).", no=f"E{newest.no}")
        return Block(Because.LOOK_TOO_OLD, words, say("Look up again."), (newest.no,))
    if facts.now - newest.finding.asked_at > FRESH:
        words = say(
            "The newest lookup is {age} old ({no}); this needs one of the last 10 min.",
            age=duration(facts.now - newest.finding.asked_at),
            no=numbered((newest.no,)),
        )
        return Block(Because.LOOK_TOO_OLD, words, say("Look up again."), (newest.no,))
    return None


def absent_for_retry(facts: CaseFacts, reading: Reading) -> Block | None:
    """As `absent`, and no failed object either: its key would only repeat the failure."""
    failed = [item.no for item in facts.findings if item.finding.code is _F.FAILED_OBJECT]
    if failed and not reading.live:
        words = facts.say("{title} holds a failed {noun} ({no}).", no=numbered((failed[-1],)))
        return Block(Because.FAILED, words, say("Mark it rejected."), (failed[-1],))
    block = absent(facts, reading)
    if block is None or block.because is not Because.EFFECT_EXISTS:
        return block
    return replace(block, change=say("A retry could do it twice."))


def sent_from_here(facts: CaseFacts, reading: Reading) -> Block | None:
    """What was taken in from outside is never sent from here."""
    if not facts.taken_in:
        return None
    words = say("This was taken in from outside and is never sent from here.")
    return Block(Because.TAKEN_IN, words, say("Its owner can start a new intent."))


def key_alive(facts: CaseFacts, reading: Reading) -> Block | None:
    """The provider must still know the key, with time to spare."""
    change = say("Mark rejected, then start a new intent.")
    if facts.contract.key_window_seconds is None or not facts.key_until or not facts.retry_until:
        words = facts.say(
            "{title} promises no time for which it knows a key again; a retry could "
            "be a second {noun}."
        )
        return Block(Because.NO_KEY, words, change)
    if facts.now >= facts.key_until:
        words = facts.say(
            "{title} forgot the key at {until}. A retry would be a new {noun}.",
            until=facts.key_until,
        )
        return Block(Because.KEY_CLOSED, words, change)
    if facts.now >= facts.retry_until or facts.key_until - facts.now < LEAST_KEY_LEFT:
        words = facts.say(
            "{title} forgets the key at {until}; too little time is left for a safe retry.",
            until=facts.key_until,
        )
        return Block(Because.KEY_CLOSED, words, change)
    return None


def not_escalated(facts: CaseFacts, reading: Reading) -> Block | None:
    """Somebody named acts already."""
    if facts.escalated_to is None:
        return None
    words = say("Already escalated to {owner}.", owner=facts.escalated_to)
    return Block(Because.ALREADY_ESCALATED, words)


def can_look(facts: CaseFacts, reading: Reading) -> Block | None:
    """The provider must offer a lookup, none be running, and the limit not be used up."""
    if not facts.contract.routes:
        change = say("Ask them, and add what they say to the escalation.")
        return Block(Because.NO_ROUTE, facts.say("{title} offers no lookup."), change)
    if facts.open_lookup:
        return Block(Because.LOOKUP_RUNNING, say("A lookup is running."))
    if facts.look_allowed_at is not None and facts.now < facts.look_allowed_at:
        words = say("Next lookup at {at}.", at=facts.look_allowed_at)
        return Block(Because.LOOKUP_LIMIT, words)
    return None


def confirmed(facts: CaseFacts, reading: Reading) -> Block | None:
    """Only what happened can be undone."""
    if facts.state is State.CONFIRMED:
        return None
    words = facts.say("The {noun} must be confirmed first.")
    return Block(Because.NOT_CONFIRMED, words)


def settled(facts: CaseFacts, reading: Reading) -> Block | None:
    """Only a settled effect can be reopened."""
    if facts.state in TERMINAL:
        return None
    return Block(Because.NOT_SETTLED, say("Only a settled effect can be reopened."))


def not_offered(facts: CaseFacts, reading: Reading) -> Block | None:
    """Shown so that people know of it; this version cannot do it."""
    return Block(Because.NOT_OFFERED, say("Not possible in this version yet."))


def _look_again(facts: CaseFacts) -> Words:
    if facts.next_look_at is not None:
        return say("The next lookup is set for {at}.", at=facts.next_look_at)
    return say("Look up again.")


def _not_since_failed(facts: CaseFacts, reading: Reading) -> Block | None:
    """A failed object settles, unless something was sent after it or another object lives."""
    newest = reading.newest
    if newest is None or reading.live:
        return _exists(facts, reading)
    if facts.last_dispatch_at and newest.finding.asked_at <= facts.last_dispatch_at:
        words = say("The newest lookup is older than the last sending ({no}).", no=f"E{newest.no}")
        return Block(Because.LOOK_TOO_OLD, words, say("Look up again."), (newest.no,))
    return None


def _not_a_match(facts: CaseFacts, reading: Reading) -> Block | None:
    """Why the newest finding is not one object to accept."""
    newest = reading.newest
    if newest is None:
        return answered(facts, reading)
    because, template, change = _NO_MATCH[newest.finding.code]
    if newest.finding.code is _F.PENDING and newest.finding.object_id is None:
        because, template, change = _STILL_RUNNING
    if newest.finding.code in (_F.ABSENT, _F.ABSENT_INCONCLUSIVE) and reading.happened:
        because, template, change = _LATER_NOTHING
    words = facts.say(
        template,
        no=numbered((newest.no,)),
        count=len(newest.finding.objects),
        differences=differences(newest.finding.comparisons),
    )
    return Block(because, words, say(change), (newest.no,))


_STILL_RUNNING = (
    Because.STILL_PROCESSING,
    "{title} is still working on the request ({no}).",
    "Look up again later.",
)
_LATER_NOTHING = (
    Because.CONTRADICTED,
    "A later lookup found nothing ({no}).",
    "Look up again; if they still disagree, escalate.",
)
_NO_MATCH = {
    _F.EXACT: (Because.NOTHING_DIFFERS, "One {noun} agrees ({no}).", "Accept the receipt."),
    _F.DIFFERS: (
        Because.DIFFERS,
        "The {noun} found differs: {differences} ({no}).",
        "Two people can accept it with its difference.",
    ),
    _F.SEVERAL: (
        Because.SEVERAL,
        "{count} {noun}s were found that could be ours ({no}).",
        "Two people can accept the one that is ours.",
    ),
    _F.PENDING: (
        Because.STILL_PENDING,
        "The {noun} found is not final yet ({no}).",
        "Look up again later.",
    ),
    _F.FAILED_OBJECT: (
        Because.FAILED,
        "{title} holds the {noun} as failed ({no}).",
        "Mark it rejected.",
    ),
    _F.REVERSED: (
        Because.REVERSED,
        "It happened and was undone later ({no}).",
        "Escalate: how to record it is for people to say.",
    ),
    _F.ABSENT: (
        Because.NOT_FOUND,
        "{title} holds no {noun} for this ({no}).",
        "A later lookup that finds one.",
    ),
    _F.ABSENT_INCONCLUSIVE: (
        Because.NOT_FOUND,
        "No {noun} was found at {title} yet ({no}).",
        "A later lookup that finds one.",
    ),
}


def _exists(facts: CaseFacts, reading: Reading) -> Block:
    """A found object forbids to say that nothing happened, whatever came after it."""
    no = reading.happened[-1] if reading.happened else 0
    code = next((item.finding.code for item in facts.findings if item.no == no), _F.SEVERAL)
    has_object = any(item.finding.objects for item in facts.findings if item.no == no)
    if code is _F.PENDING and not has_object:
        words = facts.say("{title} was working on the request ({no}).", no=numbered((no,)))
        return Block(Because.STILL_PROCESSING, words, _PROOF_NEEDED, (no,))
    words = facts.say(_EXISTING[code], no=numbered((no,)))
    return Block(Because.EFFECT_EXISTS, words, _PROOF_NEEDED, (no,))


_PROOF_NEEDED = say("This needs proof that nothing happened.")
_EXISTING = {
    _F.EXACT: "A matching {noun} exists ({no}).",
    _F.DIFFERS: "A {noun} that may be ours exists ({no}).",
    _F.SEVERAL: "More than one {noun} that may be ours exists ({no}).",
    _F.PENDING: "The {noun} exists and is not final yet ({no}).",
    _F.REVERSED: "It happened and was undone later ({no}).",
}


def _unproven(facts: CaseFacts, newest: Evidence) -> Block:
    finding = newest.finding
    missing = [clause for clause in finding.clauses if not clause.holds]
    words = missing[0].words if missing else finding.words
    if finding.look_again_at is None:
        change = facts.say("Ask {title} what they know, and escalate.")
        return Block(Because.CANNOT_PROVE_ABSENCE, words, change, (newest.no,))
    change = say("Look up again after {at}.", at=finding.look_again_at)
    if finding.look_again_at <= facts.now:
        change = say("That time has passed. Look up again.")
    return Block(Because.TOO_EARLY, words, change, (newest.no,))
