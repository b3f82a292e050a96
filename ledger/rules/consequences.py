"""What follows from a decision, said before it is taken, always in the same order."""

from dataclasses import dataclass

from ledger.rules.cases import CaseFacts, Decision, read
from ledger.rules.decisions import Option
from ledger.rules.findings import FindingCode
from ledger.rules.money import format_money
from ledger.rules.states import RejectKind
from ledger.rules.words import Value, Words


@dataclass(frozen=True, slots=True)
class _Row:
    """The sentences of one decision: record, what runs next, what is sent, money, undoing."""

    record: str
    runs: str
    runs_without_workflow: str
    sent: str
    money: str
    undo: str


_GOES_ON = "Workflow {workflow} goes on from step {step}."
_NO_WORKFLOW = "No workflow waits for this."
_NOTHING_SENT = "Nothing is sent to {title}."
_NO_MONEY = "No money moves."
_FINAL = "Final once recorded. This version neither undoes nor reopens it."
_KINDS = {
    RejectKind.PROVIDER_DECLINED: "the provider did not carry it out",
    RejectKind.ABSENCE_PROVEN: "nothing exists at the provider",
    RejectKind.NOT_DISPATCHED: "it was never sent",
}

_ROWS = {
    Decision.ACCEPT: _Row(
        "The ledger records Reconciled with {object}.",
        _GOES_ON,
        _NO_WORKFLOW,
        _NOTHING_SENT,
        _NO_MONEY,
        _FINAL,
    ),
    Decision.ACCEPT_WITH_DIFFERENCE: _Row(
        "The ledger records Reconciled with {object}, and the difference beside it.",
        _GOES_ON,
        _NO_WORKFLOW,
        _NOTHING_SENT,
        _NO_MONEY,
        _FINAL,
    ),
    Decision.ACCEPT_ONE_OF_SEVERAL: _Row(
        "The ledger records Reconciled with the {noun} you choose; the others stay on record.",
        _GOES_ON,
        _NO_WORKFLOW,
        _NOTHING_SENT,
        _NO_MONEY,
        _FINAL,
    ),
    Decision.REJECT: _Row(
        "The ledger records Rejected: {kind}.",
        "Workflow {workflow} is told at step {step} that nothing happened.",
        _NO_WORKFLOW,
        _NOTHING_SENT,
        _NO_MONEY,
        "Final once recorded. Later evidence is filed, but this version cannot reopen it.",
    ),
    Decision.REDISPATCH: _Row(
        "The ledger records Safe to retry: the same key may be sent once more.",
        "A worker sends it soon; workflow {workflow} waits on.",
        "A worker sends it soon.",
        "The same request goes to {title} again, before {until}.",
        "{money} may move, once.",
        "Once a worker has sent it, it cannot be taken back.",
    ),
    Decision.ESCALATE: _Row(
        "The effect stays Unknown and frozen; who must act is recorded.",
        "Lookups go on as scheduled.",
        "Lookups go on as scheduled.",
        _NOTHING_SENT,
        _NO_MONEY,
        "Everybody who may decide still can.",
    ),
    Decision.LOOK_UP: _Row(
        "What {title} answers is filed as evidence.",
        "Nothing else runs.",
        "Nothing else runs.",
        "One question is sent to {title}; it cannot create anything.",
        _NO_MONEY,
        "A lookup decides nothing.",
    ),
}
_OTHERS = {
    1: "Nobody else must agree.",
    2: "Needs another person{since}.",
    3: "Needs two other persons{since}.",
}
_ALWAYS = {
    Decision.ACCEPT_WITH_DIFFERENCE: "a difference is never accepted alone",
    Decision.ACCEPT_ONE_OF_SEVERAL: "a choice between candidates is never made alone",
}


def consequences(option: Option, facts: CaseFacts) -> tuple[Words, ...]:
    """Sentences on the record, what runs next, what is sent, money, undoing, who must agree.

    Empty for what this version does not offer. Money is left out where the effect carries none.
    """
    row = _ROWS.get(option.decision)
    if row is None:
        return ()
    parts = (
        row.record,
        row.runs if facts.workflow else row.runs_without_workflow,
        row.sent,
        row.money if facts.contract.has_amount else "",
        row.undo,
        _OTHERS[option.people],
    )
    gaps = _gaps(option, facts)
    return tuple(facts.say(part, **gaps) for part in parts if part)


def _gaps(option: Option, facts: CaseFacts) -> dict[str, Value]:
    return {
        "object": option.object_id or facts.contract.noun,
        "kind": _KINDS[option.reject_kind or RejectKind.ABSENCE_PROVEN],
        "workflow": facts.workflow or "",
        "step": facts.step or "1",
        "money": facts.money or "An amount not known here",
        "until": facts.retry_until or facts.now,
        "since": f", since {because_of(option, facts)}" if option.people > 1 else "",
    }


def because_of(option: Option, facts: CaseFacts) -> str:
    """Why `option` takes more people than one, as half a sentence; true of what the facts say."""
    second = facts.second_from_minor
    if facts.contract.has_amount and facts.money is None:
        return "the amount is not known here"
    above = second is not None and facts.amount_minor is not None and facts.amount_minor >= second
    if above and facts.currency is not None and second is not None:
        return f"{facts.money} is at or above {format_money(second, facts.currency)}"
    return _ALWAYS.get(option.decision) or _weakness(option, facts) or "the policy says so"


def _weakness(option: Option, facts: CaseFacts) -> str:
    """What the proof lacks, where it is one that nobody settles on alone."""
    reading = read(facts)
    if option.decision is Decision.ACCEPT and reading.newest and not reading.newest.finding.tied:
        return "it only fits what was sent, nothing on it names our key"
    absent = reading.is_newest(FindingCode.ABSENT)
    if option.decision is Decision.REJECT and facts.taken_in and absent:
        return "its key or request id is what the source file claims"
    if facts.contract.has_amount and facts.second_from_minor is None:
        return f"the policy has no threshold for {facts.currency}"
    return ""


def second_person(option: Option, facts: CaseFacts) -> str:
    """The whole sentence for an operator who cannot decide alone; "" where one person can."""
    if option.people <= 1:
        return ""
    others = "a second person" if option.people == 2 else "two more persons"  # noqa: PLR2004
    why = because_of(option, facts)
    return (
        f"{why[0].upper()}{why[1:]}, so {others} must agree. "
        "Nobody can decide this alone; escalate it instead."
    )
