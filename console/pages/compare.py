"""Sent and found: the comparison field by field, or what was asked when nothing was found."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from console import formats as f
from console.formats import Formats
from console.pages.contracts import ROUTES
from ledger.facts import Case, EntryFact
from ledger.rules.comparison import FieldComparison, Verdict, compare, shown
from ledger.rules.contract import FoundObject
from ledger.rules.findings import SILENT, FindingCode

VERDICTS = {
    Verdict.SAME: ("eq", "eq"),
    Verdict.DIFFERS: ("ne", "ne"),
    Verdict.NOT_COMPARED: ("na", "dash"),
}


@dataclass(frozen=True, slots=True)
class Found:
    """One side of a field: what the provider holds, and how it compares."""

    value: SafeString | str
    tone: str
    icon: str
    words: str


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One field: what we sent and each candidate's value."""

    name: str
    sent: SafeString | str
    found: tuple[Found, ...]
    differs: bool
    mono: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """One found object at the head of its column."""

    object_id: str
    standing: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What a lookup that found nothing asked, and the conditions of a proof with their ticks."""

    sentence: str
    detail: str
    clauses: tuple[tuple[bool, str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The card "Sent and found" in one of its three shapes: fields, asked in vain, or not asked."""

    tag: str
    tone: str
    provider: str
    sent_at: SafeString | str
    read_at: SafeString | str
    evidence: int | None = None
    candidates: tuple[Candidate, ...] = ()
    rows: tuple[FieldRow, ...] = ()
    asked: Asked | None = None
    left_out: tuple[str, ...] = ()

    @property
    def many(self) -> bool:
        """Whether there is more than one candidate, each in a column of its own."""
        return len(self.candidates) > 1


def of(case: Case, *, formats: Formats) -> Comparison:
    """The comparison of the newest evidence that found or missed an object."""
    telling = [e for e in case.entries if e.finding and e.finding.code not in SILENT]
    sent_at = formats.when(case.effect.first_attempt_at)
    provider = case.contract.provider_title
    if not telling:
        return Comparison("", "", provider, sent_at, f.NOTHING)
    newest = telling[-1]
    finding = newest.finding
    assert finding is not None
    read_at = formats.when(finding.asked_at)
    if not finding.objects:
        tag = "proven absent" if finding.code is FindingCode.ABSENT else "not found"
        tone = "gr" if finding.code is FindingCode.ABSENT else "am"
        return Comparison(
            tag, tone, provider, sent_at, read_at, newest.no, asked=_asked(newest, case, formats)
        )
    columns = [compare(case.view, found, case.contract) for found in finding.objects[:4]]
    tag, tone = _tag(columns, finding.code)
    return Comparison(
        tag,
        tone,
        provider,
        sent_at,
        read_at,
        newest.no,
        candidates=tuple(_candidate(found) for found in finding.objects[:4]),
        rows=_rows(columns, formats),
        left_out=finding.left_out,
    )


def _tag(columns: list[tuple[FieldComparison, ...]], code: FindingCode) -> tuple[str, str]:
    if len(columns) > 1:
        return f"{len(columns)} candidates", "rd"
    decided = [row for row in columns[0] if row.verdict is not Verdict.NOT_COMPARED]
    same = sum(row.verdict is Verdict.SAME for row in decided)
    if code is FindingCode.FAILED_OBJECT:
        return "failed at the provider", "gr"
    tone = "gr" if same == len(decided) else "rd"
    return f"{same} of {len(decided)} agree", tone


def _candidate(found: FoundObject) -> Candidate:
    return Candidate(f.visible(found.object_id), found.standing.value.replace("_", " "))


def _rows(columns: list[tuple[FieldComparison, ...]], formats: Formats) -> tuple[FieldRow, ...]:
    return tuple(
        FieldRow(
            name=shown(side[0].name).capitalize(),
            sent=_value(side[0].sent, formats),
            found=tuple(_found(row, formats) for row in side),
            differs=any(row.verdict is Verdict.DIFFERS for row in side),
            mono=side[0].name in ("reference", "counterparty", "account"),
        )
        for side in zip(*columns, strict=True)
    )


def _found(row: FieldComparison, formats: Formats) -> Found:
    tone, icon = VERDICTS[row.verdict]
    words = {Verdict.SAME: row.note or "Same", Verdict.DIFFERS: f"Differs: {row.note}"}
    said = words.get(row.verdict, row.note or "not compared")
    return Found(_value(row.found, formats), tone, icon, f"{said[:1].upper()}{said[1:]}")


def _value(value: str | datetime | None, formats: Formats) -> SafeString | str:
    if value is None:
        return f.NOTHING
    return formats.when_millisecond(value) if isinstance(value, datetime) else f.visible(value)


def _asked(entry: EntryFact, case: Case, formats: Formats) -> Asked:
    finding = entry.finding
    assert finding is not None
    look = (entry.body or {}).get("look") or {}
    answer = look.get("answer") or {}
    request = f"{answer.get('method', '')} {answer.get('path', '')}".strip()
    ends = [look.get("window_from"), look.get("window_until")]
    window = [formats.second(datetime.fromisoformat(end)) for end in ends if end]
    parts = [f"{look.get('pages', 1)} {'page' if look.get('pages', 1) == 1 else 'pages'} read"]
    parts += [f"made between {window[0]} and {window[1]}"] if window[1:] else []
    parts += [f"answer {answer['status']}"] if answer.get("status") else []
    return Asked(
        sentence=f"{ROUTES[finding.route]}: {f.visible(request)}"
        if request
        else ROUTES[finding.route],
        detail=", ".join(parts),
        clauses=tuple(
            (clause.holds, clause.letter, clause.name, formats.say(clause.words))
            for clause in finding.clauses
        ),
    )
