"""What a decision form still lacks, in words: the same check for the page and for the verb."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ledger.rules.cases import CaseFacts, read
from ledger.rules.contract import FoundObject
from ledger.rules.decisions import Option, Typed
from ledger.rules.money import BadAmount, readings
from ledger.rules.words import Words, numbered, say

LAST = 4


@dataclass(frozen=True, slots=True)
class Lack:
    """One thing missing or wrong: the form's field it stands beside, empty for none, and words."""

    field: str
    words: Words


def shortcomings(
    option: Option,
    facts: CaseFacts,
    *,
    reason_code: str,
    words: str,
    evidence: tuple[int, ...] = (),
    object_id: str | None = None,
    typed: Mapping[str, str] | None = None,
) -> tuple[Lack, ...]:
    """Every thing missing or wrong, in the order of the form; empty where it may be recorded.

    `evidence` are the entry numbers relied on, `object_id` the one chosen of several, `typed` what
    was typed by the names of `Typed`. What should have been typed is never said.
    """
    if not option.available:
        return (Lack("", option.why),)
    chosen = option.object_id or object_id
    lacks = [
        *_reason(option, reason_code),
        *_evidence(option, evidence),
        *_choice(option, object_id),
        *_length(option, words),
    ]
    found = read(facts).objects.get(chosen or "")
    for field in option.typed:
        lacks += _typed(field, (typed or {}).get(field, ""), facts, found)
    return tuple(lacks)


def _reason(option: Option, reason_code: str) -> Iterable[Lack]:
    known = {reason.code for reason in option.reason_codes}
    if known and reason_code not in known:
        yield Lack("reason_code", say("Choose a reason from the list."))


def _evidence(option: Option, evidence: tuple[int, ...]) -> Iterable[Lack]:
    """At least the newest finding must be relied on, and nothing that carries no proof."""
    if not option.evidence:
        return
    if option.evidence[-1] not in evidence:
        newest = numbered(option.evidence[-1:])
        yield Lack("evidence", say("Choose the evidence you rely on: {no}.", no=newest))
    foreign = tuple(sorted(set(evidence) - set(option.evidence)))
    if foreign:
        words = say("{nos} does not carry this decision.", nos=numbered(foreign))
        yield Lack("evidence", words)


def _choice(option: Option, object_id: str | None) -> Iterable[Lack]:
    if option.candidates and object_id not in option.candidates:
        yield Lack("object_id", say("Choose the one that is ours."))
    if option.object_id is not None and object_id not in (None, option.object_id):
        words = say("The receipt is another one than the page showed. Read the case again.")
        yield Lack("", words)


def _length(option: Option, words: str) -> Iterable[Lack]:
    """Enough of them, and not one letter held down."""
    text = " ".join(words.split())
    if len(text) < option.words_minimum:
        least = option.words_minimum
        yield Lack("words", say("Say why in your words, {count} characters or more.", count=least))
    elif option.words_minimum and len(set(text.lower())) < LAST:
        yield Lack("words", say("Say why in words that another person understands."))


def _typed(field: Typed, text: str, facts: CaseFacts, found: FoundObject | None) -> Iterable[Lack]:
    title = facts.contract.provider_title
    if not text.strip():
        yield Lack(field.value, say(_ASKED[field], title=title))
    elif not _matches(field, text.strip(), facts, found):
        yield Lack(field.value, say(_WRONG[field], title=title))


def _matches(field: Typed, text: str, facts: CaseFacts, found: FoundObject | None) -> bool:
    if field is Typed.INTENT_AMOUNT:
        return _is_amount(text, facts.amount_minor, facts.currency)
    if found is None:
        return False
    if field is Typed.FOUND_AMOUNT:
        return _is_amount(text, found.amount_minor, found.currency)
    return text.casefold() == found.object_id[-LAST:].casefold()


def _is_amount(text: str, minor: int | None, currency: str | None) -> bool:
    """Any way of writing it, with its currency."""
    if minor is None or currency is None or currency not in text.upper():
        return False
    try:
        return minor in readings(text, currency)
    except BadAmount:
        return False


_ASKED = {
    Typed.OBJECT_LAST_FOUR: "Type the last 4 of the id that {title} holds.",
    Typed.FOUND_AMOUNT: "Type the amount that {title} holds, with its currency.",
    Typed.INTENT_AMOUNT: "Type the amount that we meant to send, with its currency.",
}
_WRONG = {
    Typed.OBJECT_LAST_FOUR: "Not what {title} holds. Read it again in Sent and found.",
    Typed.FOUND_AMOUNT: "Not what {title} holds. Read it again in Sent and found.",
    Typed.INTENT_AMOUNT: "Not what we meant to send. Read it again in Sent and found.",
}
