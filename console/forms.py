"""Forms as plain values: what was typed is kept, whatever becomes of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

from django.http import QueryDict

from console.pages import frame
from console.pages.decide import Entered
from ledger.errors import BadForm
from ledger.resolutions import Handover, Proposal
from ledger.rules.decisions import Decision, Typed
from ledger.rules.forms import Lack
from ledger.rules.words import say

LONGEST_WORDS = 2_000
LONGEST_TYPED = 40
MOST_DIGITS = 9
TOO_OLD = "This form is broken or too old. Read the case again."


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision's form as it was sent."""

    token: str
    decision: str
    version: int | None
    receipt_id: str | None
    reason_code: str
    words: str
    evidence: tuple[int, ...]
    typed: Mapping[str, str]

    @classmethod
    def read(cls, given: QueryDict) -> Self:
        """The form in `given`; nothing is judged here."""
        return cls(
            token=given.get("command", ""),
            decision=given.get("decision", ""),
            version=_number(given.get("version", "")),
            receipt_id=_plain(given.get("receipt", ""), 200) or None,
            reason_code=_plain(given.get("reason_code", ""), 60),
            words=_plain(given.get("words", ""), LONGEST_WORDS),
            evidence=tuple(
                number for text in given.getlist("evidence") if (number := _number(text))
            ),
            typed={
                each.value: _plain(given.get(each.value, ""), LONGEST_TYPED)
                for each in Typed
                if each.value in given
            },
        )

    @property
    def what(self) -> str:
        """The decision's name, for the record of a refusal."""
        return self.decision if self.decision in set(Decision) else "unknown decision"

    def proposal(self) -> Proposal:
        """What is to be recorded. Raises BadForm where a hidden field is missing or broken."""
        token = _uuid(self.token)
        if token is None or self.version is None or self.decision not in set(Decision):
            raise BadForm(TOO_OLD)
        return Proposal(
            command_id=token,
            action=Decision(self.decision),
            version=self.version,
            evidence=self.evidence,
            reason_code=self.reason_code,
            words=self.words,
            receipt_id=self.receipt_id,
            typed=self.typed,
        )

    def entered(self, wrong: Mapping[str, str], *, renewed: bool) -> Entered:
        """The form to show again. `renewed`: the case moved, so token and evidence are new."""
        known = self.decision in set(Decision)
        return Entered(
            decision=Decision(self.decision) if known else None,
            token="" if renewed else str(_uuid(self.token) or ""),
            reason_code=self.reason_code,
            words=self.words,
            evidence=None if renewed else self.evidence,
            wrong=wrong,
        )


@dataclass(frozen=True, slots=True)
class HandedOver:
    """An escalation's form as it was sent; `next_check` is local time in `zone`."""

    token: str
    version: int | None
    owner: str
    reason_code: str
    words: str
    next_check: str
    zone: ZoneInfo

    @classmethod
    def read(cls, given: QueryDict, *, zone: ZoneInfo) -> Self:
        """The form in `given`; nothing is judged here."""
        return cls(
            token=given.get("command", ""),
            version=_number(given.get("version", "")),
            owner=_plain(given.get("owner", ""), 120),
            reason_code=_plain(given.get("reason_code", ""), 60),
            words=_plain(given.get("words", ""), LONGEST_WORDS),
            next_check=given.get("next_check_at", "")[:30],
            zone=zone,
        )

    def handover(self) -> Handover:
        """What is to be recorded. Raises BadForm for a broken hidden field or moment."""
        token = _uuid(self.token)
        if token is None or self.version is None:
            raise BadForm(TOO_OLD)
        return Handover(
            command_id=token,
            owner=self.owner,
            reason_code=self.reason_code,
            words=self.words,
            next_check_at=self._next_check_at(),
            version=self.version,
        )

    def _next_check_at(self) -> datetime:
        try:
            return datetime.fromisoformat(self.next_check).replace(tzinfo=self.zone)
        except ValueError:
            words = "Say when it is looked at next, as a date and a time."
            raise BadForm(lacks=(Lack("next_check_at", say(words)),)) from None

    def entered(self, wrong: Mapping[str, str], *, renewed: bool) -> Entered:
        """The form to show again, as it was; with a new token where the case moved."""
        return Entered(
            decision=Decision.ESCALATE,
            token="" if renewed else str(_uuid(self.token) or ""),
            reason_code=self.reason_code,
            words=self.words,
            owner=self.owner,
            next_check=self.next_check,
            wrong=wrong,
        )


def preferences(given: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """The settings named in a form, and in words what is wrong with them."""
    allowed = {
        "theme": {value for value, _ in frame.THEMES},
        "density": {value for value, _ in frame.DENSITIES},
        "zone": available_timezones(),
    }
    changes = {name: given[name] for name in allowed if name in given}
    wrong = [name for name, value in changes.items() if value not in allowed[name]]
    if "zone" in wrong:
        return changes, "There is no such time zone. Write it like Europe/Berlin."
    return changes, "That is not a setting." if wrong else ""


def _plain(text: str, longest: int) -> str:
    """`text` without NUL, which PostgreSQL cannot keep, and not longer than a form allows."""
    return text.replace("\0", "").replace("\r\n", "\n")[:longest]


def _number(text: str) -> int | None:
    plain = text.isascii() and text.isdigit()
    return int(text) if plain and len(text) <= MOST_DIGITS else None


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
