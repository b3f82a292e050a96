"""What was just recorded on a case, and what moved while somebody was reading it."""

from console import formats as f
from console.formats import Formats
from ledger.facts import Case, EntryFact
from ledger.rules.states import State

MOST = 5
HEADS = {
    State.CONFIRMED: "Recorded as Reconciled.",
    State.REJECTED: "Recorded as Rejected.",
    State.PREPARED: "Recorded: one retry is allowed.",
}


def note(case: Case, *, number: str, formats: Formats) -> dict[str, str] | None:
    """The status line after an entry of this case was written by a person; None for anything else.

    It is written from the record, never from the address, so it cannot claim what did not happen.
    """
    wanted = number.removeprefix("E")
    entry = next((e for e in case.entries if str(e.no) == wanted), None)
    if entry is None or entry.kind not in ("decision", "escalated"):
        return None
    at = f"{formats.second(entry.at)}, entry E{entry.no}."
    if entry.kind == "escalated":
        owner = f.visible(case.escalations[0].owner) if case.escalations else "them"
        return {"head": f"Escalated to {owner}.", "words": f"It stays unknown and frozen. {at}"}
    return {"head": HEADS.get(entry.target, "Recorded."), "words": at}


def moved(case: Case, *, seen: int | None, formats: Formats) -> tuple[str, ...]:
    """What was filed after the version that was `seen`, at most five lines."""
    if seen is None:
        return ()
    later = [entry for entry in case.entries if entry.no > seen]
    return tuple(_line(entry, formats) for entry in later[:MOST])


def _line(entry: EntryFact, formats: Formats) -> str:
    at = formats.second(entry.at)
    if entry.finding is not None:
        return f"E{entry.no}, {at}: {formats.say(entry.finding.words)}"
    if entry.source is not entry.target:
        return f"E{entry.no}, {at}: {entry.source.word} → {entry.target.word}."
    return f"E{entry.no}, {at}: {entry.kind.replace('_', ' ')}."
