"""One entry of a case as the timeline shows it: what happened, how strong it is, its ids."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.safestring import SafeString

from console import formats as f
from console.formats import Formats
from console.pages.contracts import ROUTES
from ledger.facts import Case, EntryFact
from ledger.rules.findings import FindingCode
from ledger.rules.states import Cause


@dataclass(frozen=True, slots=True)
class Detail:
    """A value under an entry: its name, the text shown and the whole text to copy."""

    name: str
    text: str
    copy: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One entry, or (`mark`) a moment that changes what later entries mean."""

    anchor: str
    number: str
    clock: SafeString | str
    after: str
    tone: str
    icon: str
    head: str
    rest: str = ""
    tag: str = ""
    tag_tone: str = ""
    lines: tuple[str, ...] = ()
    details: tuple[Detail, ...] = ()
    body: str = ""
    body_title: str = ""
    erased: bool = False
    day: str = ""
    mark: bool = False
    at: datetime | None = None


NOBODY = UUID(int=0)
STRENGTHS: Mapping[FindingCode, tuple[str, str, str]] = {
    # tag, its tone, the item's tone
    FindingCode.EXACT: ("counts as proof", "gr", "gr"),
    FindingCode.LIKELY: ("fits, names no key of ours", "am", "am"),
    FindingCode.DIFFERS: ("differs", "rd", "am"),
    FindingCode.SEVERAL: ("several candidates", "rd", "am"),
    FindingCode.PENDING: ("not final", "am", "am"),
    FindingCode.FAILED_OBJECT: ("counts as proof", "gr", "gr"),
    FindingCode.REVERSED: ("undone later", "rd", "am"),
    FindingCode.ABSENT: ("counts as proof", "gr", "gr"),
    FindingCode.ABSENT_INCONCLUSIVE: ("inconclusive", "am", "am"),
    FindingCode.FAILING: ("says nothing", "", ""),
    FindingCode.UNSUPPORTED: ("says nothing", "", ""),
}
CAUSES = {
    Cause.TIMEOUT: ("No answer within the deadline", "A timeout says nothing about the outcome."),
    Cause.RESET: ("The connection broke", "A broken connection says nothing about the outcome."),
    Cause.SERVER_ERROR: ("Server error", "The provider may have carried it out all the same."),
    Cause.UNLISTED_ANSWER: ("An answer that the contract does not list", "It proves nothing."),
    Cause.UNREADABLE_ANSWER: ("An answer that cannot be read", "It proves nothing."),
    Cause.MISMATCH: (
        "An answer that does not agree with what we sent",
        "It is not taken as proof.",
    ),
    Cause.IN_PROGRESS: ("Still in progress at the provider", "How it ends is not known."),
    Cause.ACKNOWLEDGED_ONLY: ("Acknowledged, not carried out yet", "How it ends is not known."),
    Cause.LEASE_LOST: ("The lease ran out without an answer", "The worker may have sent it."),
    Cause.INTERRUPTED: ("The worker was interrupted", "The request may have been carried out."),
    Cause.LATE_EVIDENCE: (
        "Evidence of an earlier sending came in",
        "So nothing is sent again before this is settled.",
    ),
    Cause.TAKEN_IN: ("Taken in from elsewhere", "Its outcome was not known there."),
}


def item(entry: EntryFact, *, case: Case, people: Mapping[UUID, str], formats: Formats) -> Item:
    """One entry of the case, as its kind is written; `people` are names by id."""
    sent_at = case.effect.first_attempt_at
    after = f.since_sent(entry.at, sent_at=sent_at) if sent_at and entry.at > sent_at else ""
    plain = Item(
        anchor=f"E{entry.no}",
        number=f"E{entry.no}",
        clock=formats.time_of_day(entry.at),
        after=after,
        day=formats.day(entry.at),
        tone="",
        icon="i-dash",
        head=entry.kind.replace("_", " ").capitalize(),
        erased=entry.body is None and entry.kind in _WITH_BODY,
        at=entry.at,
    )
    return _WRITERS.get(entry.kind, _other)(plain, entry, case, people, formats)


def _prepared(item: Item, entry: EntryFact, case: Case, people: Any, formats: Formats) -> Item:
    effect = case.effect
    digest = f"sha256:{bytes(effect.request_digest).hex()}"
    rest = "with the workflow step, in one transaction" if effect.workflow_id else ""
    head, icon = ("Taken in", "i-down") if entry.kind == "taken_in" else ("Prepared", "g-prepared")
    details = [Detail("digest", f.cut(digest, longest=26), digest)]
    if effect.workflow_id:
        details.append(
            Detail("workflow", f.cut(effect.workflow_id, longest=30), effect.workflow_id)
        )
    details.append(Detail("contract", f"version {effect.contract_version}"))
    return replace(
        item,
        icon=icon,
        head=head,
        rest="from elsewhere: never sent by us" if entry.kind == "taken_in" else rest,
        tone="am" if entry.kind == "taken_in" else "",
        details=tuple(details),
        body=_pretty(entry.body),
        body_title="The source line" if entry.kind == "taken_in" else "The request as recorded",
    )


def _sent(item: Item, entry: EntryFact, case: Case, people: Any, formats: Formats) -> Item:
    attempt = sum(other.kind == "sent" for other in case.entries[: entry.no])
    key = str(case.effect.provider_key)
    worker = f.visible(entry.note) or "a worker"
    return replace(
        item,
        tone="ac",
        icon="i-send",
        clock=formats.time_of_day(entry.at, milliseconds=True),
        head="Sent",
        rest=f"to {case.contract.provider_title}, attempt {attempt}",
        lines=(
            f"By {worker}, lease {case.contract.lease_seconds} s, fencing token {entry.no}.",
            "From here an answer is owed.",
        ),
        details=(Detail("Idempotency-Key", f.cut(key, longest=26), key),)
        if case.effect.key_window_seconds
        else (),
    )


def _answer(item: Item, entry: EntryFact, case: Case, people: Any, formats: Formats) -> Item:
    body = entry.body or {}
    cause = str(body.get("cause") or "")
    head, rest, lines, tone, icon = _answered(entry, body, case)
    if cause in CAUSES:
        head, words = CAUSES[Cause(cause)]
        duration_ms = (body.get("answer") or {}).get("duration_ms")
        rest = f"after {duration_ms / 1000:.1f} s" if duration_ms else ""
        lines = (words, _phase(body.get("answer") or {}))
        tone, icon = "am", "g-unknown"
    return replace(
        item,
        tone=tone,
        icon=icon,
        head=head,
        rest=f"{rest}, outcome unknown" if cause and rest else "outcome unknown" if cause else rest,
        lines=tuple(line for line in lines if line),
        details=_wire(body.get("answer") or {}),
        body=_pretty(_excerpt(body)),
        body_title="What was kept of the answer",
    )


def _answered(
    entry: EntryFact, body: Mapping[str, Any], case: Case
) -> tuple[str, str, tuple[str, ...], str, str]:
    noun = case.contract.noun
    if entry.kind == "returned":
        return "Not processed", "the same key may be sent again", (), "am", "i-refresh"
    if entry.kind == "late_answer":
        words = ("It came after the claim was gone, so it is evidence and moved no state.",)
        return "A late answer", f"about the {noun}", words, "am", "i-clock"
    if code := body.get("code"):
        refusal = case.contract.refusal(str(code))
        said = (refusal.words,) if refusal else ()
        return "Refused", f"with {f.visible(str(code))}, which is definitive", said, "gr", "i-nope"
    return "Answered", f"with one {noun} that agrees", (), "gr", "g-confirmed"


def _phase(answer: Mapping[str, Any]) -> str:
    return {
        "not_sent": "Nothing had been sent.",
        "sent": "Bytes were sent, so the request may have been carried out.",
        "partial_answer": "The answer broke off before its end.",
        "answered": "",
    }.get(str(answer.get("phase")), "")


def _lease_lost(item: Item, entry: EntryFact, case: Case, people: Any, formats: Formats) -> Item:
    head, words = CAUSES[Cause.LEASE_LOST]
    note = f.visible(entry.note)
    return replace(
        item, tone="am", icon="g-unknown", head=head, rest="outcome unknown", lines=(words, note)
    )


def _lookup(
    item: Item, entry: EntryFact, case: Case, people: Mapping[UUID, str], formats: Formats
) -> Item:
    finding, body = entry.finding, entry.body or {}
    if finding is None:
        return replace(item, icon="i-search", head="Lookup")
    tag, tag_tone, tone = STRENGTHS[finding.kept_as]
    early = finding.code is FindingCode.ABSENT_INCONCLUSIVE and finding.counts_from
    if early and finding.asked_at < early:
        tag = "too early to count"
    look = body.get("look") or {}
    who = people.get(_uuid(body.get("asked_by")) or NOBODY)
    by = f"Asked by {f.visible(who)}." if who else "Asked by schedule."
    settled = (
        ("It settled the case, as the policy allows.",) if entry.kind == "settled_itself" else ()
    )
    return replace(
        item,
        tone=tone,
        icon="i-search",
        head=f"Lookup {ROUTES[finding.route].lower()}",
        rest=_count(len(finding.objects), case.contract.noun, finding.code),
        tag=tag,
        tag_tone=tag_tone,
        lines=(f"{by} {formats.say(finding.words)}", *settled),
        details=_ids(finding.object_id) + _wire(look.get("answer") or {}),
        body=_pretty(_looked(look)),
        body_title="What was asked and what was kept of the answer",
    )


def _count(number: int, noun: str, code: FindingCode) -> str:
    if code in (FindingCode.FAILING, FindingCode.UNSUPPORTED):
        return "gave no answer"
    return (
        "found nothing"
        if not number
        else f"found one {noun}"
        if number == 1
        else f"found {number} {noun}s"
    )


def _decision(
    item: Item, entry: EntryFact, case: Case, people: Mapping[UUID, str], formats: Formats
) -> Item:
    made = next((r for r in case.resolutions if r.resolution_id == entry.resolution_id), None)
    if made is None:
        return replace(item, icon="i-pen", tone="ac")
    names = {
        "accept": "Receipt accepted",
        "reject": "Marked rejected",
        "redispatch": "One retry allowed",
    }
    relied = ", ".join(f"E{no}" for no in made.evidence)
    said = (f"“{f.visible(made.words)}”",) if made.words else ()
    by = f"Decided by {f.visible(people.get(made.person_id, 'a person'))}, relying on {relied}."
    digest = bytes(made.digest).hex()
    details = (
        Detail("reason", made.reason_code.replace("_", " ")),
        Detail("resolution", f.cut(digest, longest=16), digest),
    )
    return replace(
        item,
        tone="ac",
        icon="i-pen",
        head=names.get(made.action, "Decision"),
        rest=f"{entry.source.word} → {entry.target.word}",
        lines=(by, *said),
        details=details,
    )


def _escalated(
    item: Item, entry: EntryFact, case: Case, people: Mapping[UUID, str], formats: Formats
) -> Item:
    made = min(case.escalations, key=lambda e: abs(e.at - entry.at), default=None)
    if made is None:
        return replace(
            item, tone="am", icon="g-escalated", head="Escalated", lines=(f.visible(entry.note),)
        )
    who = people.get(made.person_id or NOBODY)
    by = f"By {f.visible(who)}." if who else "It escalated itself."
    return replace(
        item,
        tone="am",
        icon="g-escalated",
        head="Escalated",
        rest=f"to {f.visible(made.owner)}",
        lines=(f"{by} “{f.visible(made.words)}”" if made.words else by,),
        details=(
            Detail("reason", made.reason_code.replace("_", " ")),
            Detail("next check", formats.clock(made.next_check_at)),
        ),
    )


def _other(item: Item, entry: EntryFact, case: Case, people: Any, formats: Formats) -> Item:
    return replace(item, lines=(f.visible(entry.note),) if entry.note else ())


def _wire(answer: Mapping[str, Any]) -> tuple[Detail, ...]:
    """How the answer came: status and duration, the provider's request id, the body's digest."""
    found = []
    if answer.get("status"):
        replayed = ", replayed" if answer.get("replayed") else ""
        found.append(
            Detail("", f"{answer['status']} in {answer.get('duration_ms', 0)} ms{replayed}")
        )
    elif answer.get("method"):
        found.append(Detail("", "no status returned"))
    if request_id := answer.get("request_id"):
        found.append(Detail("request", f.cut(str(request_id), longest=30), str(request_id)))
    if digest := answer.get("body_digest"):
        found.append(Detail("response", f.cut(f"sha256:{digest}", longest=22), f"sha256:{digest}"))
    return tuple(found)


def _ids(object_id: str | None) -> tuple[Detail, ...]:
    return (Detail("", f.cut(object_id, longest=30), object_id),) if object_id else ()


def _excerpt(body: Mapping[str, Any]) -> dict[str, Any]:
    """What may be shown of an answer: its allow-listed fields and the object it named."""
    kept = {"fields": (body.get("answer") or {}).get("excerpt"), "object": body.get("found")}
    return {name: value for name, value in kept.items() if value}


def _looked(look: Mapping[str, Any]) -> dict[str, Any]:
    """What may be shown of a lookup: the question, and the objects as they were kept."""
    answer = look.get("answer") or {}
    asked = f"{answer.get('method') or ''} {answer.get('path') or ''}".strip()
    return {
        "asked": asked,
        "fields": answer.get("excerpt") or {},
        "objects": look.get("objects") or [],
    }


def _pretty(value: Mapping[str, Any] | None) -> str:
    return f.visible_block(json.dumps(value, indent=2, ensure_ascii=False)) if value else ""


def _uuid(text: object) -> UUID | None:
    return UUID(text) if isinstance(text, str) and text else None


_WITH_BODY = frozenset(
    [
        "answer",
        "given_up",
        "returned",
        "late_answer",
        "lookup",
        "settled_itself",
        "prepared",
        "taken_in",
    ]
)
_WRITERS = {
    "prepared": _prepared,
    "taken_in": _prepared,
    "sent": _sent,
    "answer": _answer,
    "given_up": _answer,
    "returned": _answer,
    "late_answer": _answer,
    "lease_lost": _lease_lost,
    "lookup": _lookup,
    "settled_itself": _lookup,
    "decision": _decision,
    "escalated": _escalated,
}
