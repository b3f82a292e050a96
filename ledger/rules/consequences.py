"""What follows from a decision, said before it is taken, always in the same order."""

from dataclasses import dataclass

from ledger.rules.cases import CaseFacts, Decision, read
from ledger.rules.decisions import Option
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
_FINAL = "Final once recorded. Later, only a compensation or a reopening by two people can follow."
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
        "Final once recorded. If evidence against it comes later, two people can reopen it.",
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
    Decision.ACCEPT_WITH_DIFFERENCE: ": a difference always does",
    Decision.ACCEPT_ONE_OF_SEVERAL: ": a choice among several always does",
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
        "since": _since(option, facts),
    }


def _since(option: Option, facts: CaseFacts) -> str:
    """Why others must agree, as far as the facts say."""
    second = facts.second_from_minor
    if facts.contract.has_amount and facts.money is None:
        return ", since the amount is not known"
    above = second is not None and facts.amount_minor is not None and facts.amount_minor >= second
    if above and facts.currency is not None and second is not None:
        return f", since {facts.money} is at or above {format_money(second, facts.currency)}"
    newest = read(facts).newest
    if option.decision is Decision.ACCEPT and newest is not None and not newest.finding.tied:
        return ": what only fits, with nothing on it that is ours, always does"
    return _ALWAYS.get(option.decision, ", as the policy says")
