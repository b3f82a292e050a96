"""What is known of an effect when somebody decides, and what its evidence adds up to."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from ledger.rules.contract import Contract, FoundObject, Standing
from ledger.rules.findings import HAPPENED, SILENT, Finding, FindingCode
from ledger.rules.money import format_money
from ledger.rules.states import Cause, State
from ledger.rules.words import Value, Words, say


class Decision(StrEnum):
    """What a person can do with a case, in the order of the page."""

    ACCEPT = "accept"
    ACCEPT_WITH_DIFFERENCE = "accept_with_difference"
    ACCEPT_ONE_OF_SEVERAL = "accept_one_of_several"
    REJECT = "reject"
    REDISPATCH = "redispatch"
    COMPENSATE = "compensate"
    ESCALATE = "escalate"
    LOOK_UP = "look_up"
    REOPEN = "reopen"


class Evidence(NamedTuple):
    """One finding and its entry's number: asked for by a person, or an answer to a sending."""

    no: int
    finding: Finding
    asked_by_person: bool
    from_answer: bool = False


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """Everything a decision may rest on; read in one go, never looked up again.

    `findings` stand in the order of their numbers. `people_required` comes from the policy; a
    decision it leaves out takes three. `cause` is why the effect is unknown, seen in entry
    `cause_no`. `declined_code` counts only with `declined_no`, the entry that shows it.
    `second_from_minor` is the tier's amount, for the words; `look_allowed_at` ends a rate limit.
    """

    state: State
    contract: Contract
    now: datetime
    amount_minor: int | None
    currency: str | None
    first_dispatch_at: datetime | None
    last_dispatch_at: datetime | None
    attempts: int
    findings: tuple[Evidence, ...]
    key_until: datetime | None
    retry_until: datetime | None
    people_required: Mapping[Decision, int]
    taken_in: bool = False
    open_lookup: bool = False
    escalated_to: str | None = None
    open_resolution: bool = False
    provider_answers: bool = True
    declined_code: str | None = None
    declined_no: int | None = None
    cause: Cause | None = None
    cause_at: datetime | None = None
    cause_no: int | None = None
    second_from_minor: int | None = None
    look_allowed_at: datetime | None = None
    next_look_at: datetime | None = None
    workflow: str | None = None
    step: str | None = None

    def say(self, template: str, **values: Value) -> Words:
        """A sentence that may also name the provider `{title}` and its `{noun}`."""
        return say(template, title=self.contract.provider_title, noun=self.contract.noun, **values)

    @property
    def money(self) -> str | None:
        """The amount with its currency, or None where the effect carries none."""
        if not self.contract.has_amount or self.amount_minor is None or self.currency is None:
            return None
        return format_money(self.amount_minor, self.currency)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the findings add up to.

    `newest` is the newest that says anything, `newest_look` the newest of all. `objects` holds each
    object that could be ours as it was last seen; `happened` the numbers of all findings that speak
    for an effect.
    """

    newest: Evidence | None
    newest_look: Evidence | None
    objects: Mapping[str, FoundObject]
    happened: tuple[int, ...]

    @property
    def live(self) -> tuple[str, ...]:
        """The ids of the objects that took effect or still may."""
        return tuple(
            key for key, o in self.objects.items() if o.standing is not Standing.FAILED_NO_EFFECT
        )

    @property
    def took_effect(self) -> tuple[str, ...]:
        """The ids of the objects that took effect and were not undone."""
        return tuple(key for key, o in self.objects.items() if o.standing is Standing.TOOK_EFFECT)

    def is_newest(self, code: FindingCode) -> bool:
        """Whether the newest finding that says anything is of this code."""
        return self.newest is not None and self.newest.finding.code is code


def read(facts: CaseFacts) -> Reading:
    """What the findings of `facts` add up to."""
    said = [item for item in facts.findings if item.finding.code not in SILENT]
    return Reading(
        newest=said[-1] if said else None,
        newest_look=facts.findings[-1] if facts.findings else None,
        objects={found.object_id: found for item in said for found in item.finding.objects},
        happened=tuple(item.no for item in said if item.finding.code in HAPPENED),
    )


def agreeing(facts: CaseFacts, reading: Reading) -> tuple[int, ...]:
    """The numbers of the findings that carry the newest one: same code and object, or same absence.

    For an absence that needs two looks the first belongs to the proof, although alone it was none.
    """
    if reading.newest is None:
        return ()
    newest = reading.newest.finding
    return tuple(item.no for item in facts.findings if _carries(item.finding, newest))


def _carries(finding: Finding, newest: Finding) -> bool:
    if newest.code is not FindingCode.ABSENT:
        return (finding.code, finding.object_id) == (newest.code, newest.object_id)
    missing = {clause.letter for clause in finding.clauses if not clause.holds}
    absent = finding.code in (FindingCode.ABSENT, FindingCode.ABSENT_INCONCLUSIVE)
    complete = missing <= {"I"} and bool(finding.clauses)
    return absent and complete and finding.route is newest.route
