"""The decision panel: the next step with its form, and the other decisions with their reasons."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

from django.urls import reverse

from console.formats import Formats
from console.pages.contracts import ROUTES
from console.people import Seat
from ledger.facts import Case, EntryFact
from ledger.ids import screen_id
from ledger.rules.consequences import consequences, second_person
from ledger.rules.decisions import Because, Decision, Option, Typed, options
from ledger.rules.next_step import NextStep, next_step

MOST_EVIDENCE = 12
TITLES = {
    Decision.ACCEPT: "Accept the receipt",
    Decision.ACCEPT_WITH_DIFFERENCE: "Accept with the difference",
    Decision.ACCEPT_ONE_OF_SEVERAL: "Accept one of the candidates",
    Decision.REJECT: "Mark rejected",
    Decision.REDISPATCH: "Allow one retry",
    Decision.COMPENSATE: "Launch compensation",
    Decision.ESCALATE: "Escalate",
    Decision.LOOK_UP: "Look up",
    Decision.REOPEN: "Reopen",
}
ICONS = {
    Decision.ESCALATE: "up",
    Decision.LOOK_UP: "search",
    Decision.REDISPATCH: "refresh",
    Decision.REJECT: "nope",
}
KEYS = {Decision.ESCALATE: ("e", "E")}
CONSEQUENCE_ICONS = ("check", "right", "send", "dash", "lock", "user")


@dataclass(frozen=True, slots=True)
class Entered:
    """What somebody had typed into a form that was refused; kept as it was."""

    decision: Decision | None = None
    token: str = ""
    reason_code: str = ""
    words: str = ""
    evidence: tuple[int, ...] | None = None
    owner: str = ""
    next_check: str = ""
    wrong: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Choice:
    """One option of a list or one box of evidence."""

    value: str
    title: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class TypedField:
    """A value to be read from the evidence and typed."""

    name: str
    title: str
    hint: str
    wrong: str


@dataclass(frozen=True, slots=True)
class Form:
    """One decision's form. `locked` says why it cannot be sent, empty where it can."""

    kind: str
    decision: str
    url: str
    button: str
    token: str
    version: int
    receipt_id: str
    locked: str
    consequences: tuple[tuple[str, str], ...]
    reasons: tuple[Choice, ...]
    evidence: tuple[Choice, ...]
    words: str
    words_minimum: int
    words_hint: str
    typed: tuple[TypedField, ...]
    owner: str
    next_check: str
    zone: str
    wrong: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Next:
    """The panel's head, and the form that is open, if any."""

    title: str
    rule: str
    why: str
    form: Form | None


@dataclass(frozen=True, slots=True)
class Other:
    """A decision beside the one that is open: what it does, or why it is locked."""

    name: str
    title: str
    available: bool
    icon: str
    key: str
    key_title: str
    why: str
    change: str
    url: str


def panel(
    case: Case, *, seat: Seat, formats: Formats, asked: str, entered: Entered, query: str
) -> tuple[Next, tuple[Other, ...]]:
    """The panel for `case`: the form that the rules open, or the one `asked` for by name."""
    found = options(case.facts)
    step = next_step(case.facts)
    wanted = entered.decision or _wanted(asked, found) or step.decision
    chosen = next((option for option in found if option.decision is wanted), None)
    others = tuple(
        _other(option, case, seat, formats, query)
        for option in found
        if option.shown and option is not chosen and option.because is not Because.ALREADY_SETTLED
    )
    return _head(step, chosen, case, seat, formats, entered), others


def _head(
    step: NextStep,
    chosen: Option | None,
    case: Case,
    seat: Seat,
    formats: Formats,
    entered: Entered,
) -> Next:
    advice, why = _lowered(formats.say(step.words)), formats.say(step.why)
    if chosen is None:
        return Next(f"Next step: {advice.rstrip('.')}", step.rule, why, None)
    form = _form(chosen, case, seat, formats, entered)
    if chosen.decision is step.decision:
        return Next(f"Next step: {advice.rstrip('.')}", step.rule, why, form)
    return Next(TITLES[chosen.decision], step.rule, f"The rules advise: {advice}", form)


def _wanted(asked: str, found: tuple[Option, ...]) -> Decision | None:
    """The decision named in the address, where it is possible."""
    return next((o.decision for o in found if o.decision.value == asked and o.available), None)


def _lowered(words: str) -> str:
    return f"{words[:1].lower()}{words[1:]}"


def _form(option: Option, case: Case, seat: Seat, formats: Formats, entered: Entered) -> Form:
    slug, identity = seat.slug, screen_id(case.effect_id)
    kinds = {Decision.LOOK_UP: "lookups", Decision.ESCALATE: "escalations"}
    kind = kinds.get(option.decision, "resolutions")
    picked = entered.evidence if entered.evidence is not None else option.evidence
    return Form(
        kind=kind,
        decision=option.decision.value,
        url=reverse(kind, args=[slug, identity]),
        button=TITLES[option.decision],
        token=entered.token or str(uuid4()),
        version=case.effect.version,
        receipt_id=option.object_id or "",
        locked=_locked(option, case, seat, formats),
        consequences=_consequences(option, case, formats),
        reasons=_reasons(option, entered),
        evidence=_evidence(case, option, picked, formats) if kind == "resolutions" else (),
        words=entered.words,
        words_minimum=option.words_minimum,
        words_hint=_words_hint(option),
        typed=tuple(_typed(each, case, entered) for each in option.typed),
        owner=entered.owner,
        next_check=entered.next_check or _next_check(case, formats),
        zone=formats.zone_name,
        wrong=entered.wrong,
    )


def _locked(option: Option, case: Case, seat: Seat, formats: Formats) -> str:
    """Why the open form cannot be sent."""
    needed = "look_up" if option.decision is Decision.LOOK_UP else "propose"
    if not seat.may(needed):
        right = "ask a provider" if needed == "look_up" else "decide and escalate"
        return f"You may read this. The right to {right} is not yours in {seat.tenant_name}."
    if not option.available:
        return formats.say(option.why)
    return second_person(option, case.facts)


def _consequences(option: Option, case: Case, formats: Formats) -> tuple[tuple[str, str], ...]:
    said = [formats.say(words) for words in consequences(option, case.facts)]
    icons = CONSEQUENCE_ICONS + ("dash",) * len(said)
    return tuple(zip(icons, said, strict=False))


def _reasons(option: Option, entered: Entered) -> tuple[Choice, ...]:
    """The reasons that fit; the only one, or the one chosen before, is preselected."""
    only = option.reason_codes[0].code if len(option.reason_codes) == 1 else ""
    chosen = entered.reason_code or only
    return tuple(Choice(r.code, r.words, r.code == chosen) for r in option.reason_codes)


def _evidence(
    case: Case, option: Option, picked: tuple[int, ...], formats: Formats
) -> tuple[Choice, ...]:
    """The entries that carry the decision, newest first; all are chosen until somebody unticks."""
    named = {entry.no: entry for entry in case.entries}
    return tuple(
        Choice(str(no), f"E{no} {_source(named[no])}, {formats.second(named[no].at)}", no in picked)
        for no in sorted(option.evidence, reverse=True)[:MOST_EVIDENCE]
        if no in named
    )


def _source(entry: EntryFact) -> str:
    if entry.finding is None or entry.kind not in ("lookup", "settled_itself"):
        return "The provider's answer"
    return f"Lookup {ROUTES[entry.finding.route].lower()}"


def _words_hint(option: Option) -> str:
    if option.decision is Decision.ESCALATE:
        return "What is needed from them"
    return f"At least {option.words_minimum} characters" if option.words_minimum else "Optional"


def _typed(each: Typed, case: Case, entered: Entered) -> TypedField:
    title, noun = case.contract.provider_title, case.contract.noun
    titles = {
        Typed.OBJECT_LAST_FOUR: f"Last 4 of the {noun} id {title} holds",
        Typed.FOUND_AMOUNT: f"Amount and currency {title} holds",
        Typed.INTENT_AMOUNT: "Amount and currency, as in the request",
    }
    hints = {
        Typed.OBJECT_LAST_FOUR: "Read it from “Sent and found”",
        Typed.FOUND_AMOUNT: "Read it from “Sent and found”; any separators",
        Typed.INTENT_AMOUNT: "For example 1,250.00 EUR; any separators",
    }
    return TypedField(each.value, titles[each], hints[each], entered.wrong.get(each.value, ""))


def _next_check(case: Case, formats: Formats) -> str:
    """When to look again after an escalation: in four hours, or before the key is forgotten."""
    at, key_until = formats.now + timedelta(hours=4), case.facts.key_until
    if key_until is not None and formats.now < key_until < at + timedelta(hours=1):
        at = formats.now + (key_until - formats.now) / 2
    return f"{at.astimezone(formats.zone):%Y-%m-%dT%H:%M}"


def _other(option: Option, case: Case, seat: Seat, formats: Formats, query: str) -> Other:
    key, key_title = KEYS.get(option.decision, ("", ""))
    base = reverse("case", args=[seat.slug, screen_id(case.effect_id)])
    extra = f"&{query}" if query else ""
    why = formats.say(option.why)
    if option.available and option.people > 1:
        why = f"{why} A second person must agree."
    return Other(
        name=option.decision.value,
        title=TITLES[option.decision],
        available=option.available,
        icon=ICONS.get(option.decision, "check"),
        key=key,
        key_title=key_title,
        why=why,
        change=formats.say(option.change) if option.change else "",
        url=f"{base}?decide={option.decision.value}{extra}",
    )
