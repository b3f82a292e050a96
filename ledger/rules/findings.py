"""What one lookup proves: its finding, with the comparison and the clauses behind it."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from ledger.rules.absence import BETWEEN_LOOKS, Clause, absence, counts_from, retry_until
from ledger.rules.comparison import (
    FieldComparison,
    Verdict,
    agrees,
    compare,
    differences,
    names_another,
    names_of,
)
from ledger.rules.contract import (
    Contract,
    FoundObject,
    IntentView,
    Look,
    LookFailure,
    Route,
    Standing,
)
from ledger.rules.words import Words, join, say

KEPT_OBJECTS = 20
_STILL_RUNNING = (409, 425)


class FindingCode(StrEnum):
    """What a lookup found. Only `PROOF` settles anything; `HAPPENED` forbids to say it did not."""

    EXACT = "exact"
    LIKELY = "likely"
    DIFFERS = "differs"
    SEVERAL = "several"
    PENDING = "pending"
    FAILED_OBJECT = "failed_object"
    REVERSED = "reversed"
    ABSENT = "absent"
    ABSENT_INCONCLUSIVE = "absent_inconclusive"
    FAILING = "failing"
    UNSUPPORTED = "unsupported"


_F = FindingCode
HAPPENED = frozenset({_F.EXACT, _F.LIKELY, _F.DIFFERS, _F.SEVERAL, _F.PENDING, _F.REVERSED})
PROOF = frozenset({_F.EXACT, _F.DIFFERS, _F.FAILED_OBJECT, _F.REVERSED, _F.ABSENT})
SILENT = frozenset({_F.FAILING, _F.UNSUPPORTED})


@dataclass(frozen=True, slots=True)
class Finding:
    """What one look by one route proves; `words` says it in a sentence.

    `objects` are those that could be this effect's, live ones first, at most 20; `left_out` the ids
    of those that are other effects'. `clauses` stand where nothing was found.
    `counts_from` is when an absence by this route counts, `retry_until` when the last send under
    the same key must be over, `look_again_at` when asking again can change the finding. `tied` is
    False where an object only fits what we sent: nothing on it names our key or request.
    """

    code: FindingCode
    route: Route
    asked_at: datetime
    words: Words
    object_id: str | None = None
    objects: tuple[FoundObject, ...] = ()
    comparisons: tuple[FieldComparison, ...] = ()
    clauses: tuple[Clause, ...] = ()
    counts_from: datetime | None = None
    retry_until: datetime | None = None
    look_again_at: datetime | None = None
    left_out: tuple[str, ...] = ()
    tied: bool = True

    @property
    def object(self) -> FoundObject | None:
        """The one object the finding is about, or None."""
        return next((o for o in self.objects if o.object_id == self.object_id), None)

    @property
    def kept_as(self) -> FindingCode:
        """The code as the record keeps it: an exact match that only fits is `likely`."""
        return _F.LIKELY if self.code is _F.EXACT and not self.tied else self.code


def judge(
    view: IntentView,
    look: Look,
    contract: Contract,
    *,
    now: datetime,
    earlier: tuple[Finding, ...] = (),
    claimed: Collection[str] = (),
) -> Finding:
    """The finding of `look`. `earlier` are this effect's findings so far, oldest first.

    `claimed` are the object ids that are the receipts of other effects: they are not ours.
    """
    if look.failure is not None:
        return _failed_look(look, contract)
    ours = tuple(o for o in look.objects if not _is_anothers(view, look, o, claimed))
    live = tuple(o for o in ours if o.standing is not Standing.FAILED_NO_EFFECT)
    failed = tuple(o for o in ours if o.standing is Standing.FAILED_NO_EFFECT)
    left_out = tuple(o.object_id for o in look.objects if o not in ours)[:KEPT_OBJECTS]
    draft = _Draft(view, look, contract, (live + failed)[:KEPT_OBJECTS], left_out)
    if len(live) > 1:
        return draft.several(len(live))
    if live:
        return draft.one(live[0])
    if look.answer.status in _STILL_RUNNING:
        return draft.still_running()
    own_failed = next((o for o in failed if _is_ours(view, look, o, contract)), None)
    if own_failed is not None:
        return draft.failed_object(own_failed)
    return draft.nothing(_clauses(view, look, contract, now=now, earlier=earlier), len(failed))


def _clauses(
    view: IntentView, look: Look, contract: Contract, *, now: datetime, earlier: tuple[Finding, ...]
) -> tuple[Clause, ...]:
    counting = tuple(
        finding.asked_at
        for finding in earlier
        if finding.route is look.route and _holds_but_for_a_second_look(finding)
    )
    return absence(view, look, contract, now=now, earlier_absences=counting)


def _holds_but_for_a_second_look(finding: Finding) -> bool:
    others = [clause.holds for clause in finding.clauses if clause.letter != "I"]
    return bool(others) and all(others) and finding.code in (_F.ABSENT, _F.ABSENT_INCONCLUSIVE)


def _is_anothers(
    view: IntentView, look: Look, found: FoundObject, claimed: Collection[str]
) -> bool:
    """Whether an object belongs to another effect: its receipt, or a hit that names its key."""
    named = look.route is Route.BY_ATTRIBUTES and names_another(view, found)
    return named or found.object_id in claimed


def _is_tied(view: IntentView, route: Route, found: FoundObject) -> bool:
    """Whether an object names our key or request: what only fits could be somebody else's twin."""
    return route is not Route.BY_ATTRIBUTES or found.reference in names_of(view)


def _is_ours(view: IntentView, look: Look, found: FoundObject, contract: Contract) -> bool:
    """Whether a failed object is this effect's: by attributes it could be anybody's."""
    return _is_tied(view, look.route, found) and agrees(compare(view, found, contract))


@dataclass(frozen=True, slots=True)
class _Draft:
    """One look about to become a finding."""

    view: IntentView
    look: Look
    contract: Contract
    objects: tuple[FoundObject, ...]
    left_out: tuple[str, ...]

    def finding(
        self,
        code: FindingCode,
        words: Words,
        *,
        about: FoundObject | None = None,
        clauses: tuple[Clause, ...] = (),
        look_again_at: datetime | None = None,
    ) -> Finding:
        terms = self.contract.terms(self.look.route)
        return Finding(
            code=code,
            route=self.look.route,
            asked_at=self.look.asked_at,
            words=words,
            object_id=about.object_id if about else None,
            objects=self.objects,
            comparisons=compare(self.view, about, self.contract) if about else (),
            clauses=clauses,
            counts_from=counts_from(self.view, self.contract, terms),
            retry_until=retry_until(self.view.first_dispatch_at, self.contract),
            look_again_at=look_again_at,
            left_out=self.left_out,
            tied=about is None or _is_tied(self.view, self.look.route, about),
        )

    def sentence(self, template: str, **values: str | int | datetime) -> Words:
        return say(template, title=self.contract.provider_title, noun=self.contract.noun, **values)

    def several(self, count: int) -> Finding:
        words = self.sentence("{title} holds {count} {noun}s that could be ours.", count=count)
        return self.finding(_F.SEVERAL, words)

    def one(self, found: FoundObject) -> Finding:
        if found.standing is Standing.PENDING:
            template = "{title} holds one {noun} for this, not final yet: “{status}”."
            words = self.sentence(template, status=found.status)
            return self.finding(_F.PENDING, words, about=found)
        if found.standing is Standing.REVERSED:
            template = "{title} carried it out and undid it later: “{status}”."
            words = self.sentence(template, status=found.status)
            return self.finding(_F.REVERSED, words, about=found)
        rows = compare(self.view, found, self.contract)
        if not agrees(rows):
            template = "{title} holds one {noun} {how}, but it differs: {differences}."
            words = self.sentence(template, how=how(self.look.route), differences=differences(rows))
            return self.finding(_F.DIFFERS, words, about=found)
        same = sum(row.verdict is Verdict.SAME for row in rows)
        template = "{title} holds exactly one {noun} {how}; {same} of {same} compared fields agree."
        words = self.sentence(template, how=how(self.look.route), same=same)
        return self.finding(_F.EXACT, words, about=found)

    def still_running(self) -> Finding:
        return self.finding(
            _F.PENDING, self.sentence("{title} is still working on our first request.")
        )

    def failed_object(self, found: FoundObject) -> Finding:
        template = "{title} holds the {noun} as failed: “{status}”. Nothing was carried out."
        words = self.sentence(template, status=found.status)
        return self.finding(_F.FAILED_OBJECT, words, about=found)

    def nothing(self, clauses: tuple[Clause, ...], foreign_failed: int) -> Finding:
        missing = [clause for clause in clauses if not clause.holds]
        if foreign_failed:
            template = (
                "{title} holds a failed {noun}, but nothing ties it to ours. It proves nothing."
            )
            return self.finding(_F.ABSENT_INCONCLUSIVE, self.sentence(template), clauses=clauses)
        if not missing:
            template = "{title} holds no {noun} for this, and this lookup would show one."
            return self.finding(_F.ABSENT, self.sentence(template), clauses=clauses)
        return self.finding(
            _F.ABSENT_INCONCLUSIVE,
            join(say("Not found yet."), missing[0].words),
            clauses=clauses,
            look_again_at=self._again(missing),
        )

    def _again(self, missing: list[Clause]) -> datetime | None:
        """When the missing clauses can hold by waiting and asking again; None where they cannot."""
        letters = {clause.letter for clause in missing}
        since = counts_from(self.view, self.contract, self.contract.terms(self.look.route))
        if since is None or not letters <= {"A", "B", "C", "H", "I"}:
            return None
        if letters == {"I"}:
            return max(since, self.look.asked_at + BETWEEN_LOOKS)
        return max(since, self.look.asked_at) if letters != {"A"} else None


def how(route: Route) -> str:
    """By which tie an object was found, in words that follow its noun."""
    return {
        Route.BY_KEY: "made with our key",
        Route.BY_REQUEST_ID: "made by our request",
        Route.BY_OBJECT_ID: "under the id we were given",
        Route.BY_ATTRIBUTES: "that fits what we sent",
    }[route]


def _failed_look(look: Look, contract: Contract) -> Finding:
    unsupported = look.failure is LookFailure.UNSUPPORTED
    template = _FAILURES[look.failure or LookFailure.UNREADABLE]
    status = f" ({look.answer.status})" if look.answer.status else ""
    words = say(
        template + " This says nothing about the {noun}.",
        title=contract.provider_title,
        noun=contract.noun,
        status=status,
    )
    wait = look.answer.retry_after_seconds
    return Finding(
        code=_F.UNSUPPORTED if unsupported else _F.FAILING,
        route=look.route,
        asked_at=look.asked_at,
        words=words,
        look_again_at=None if wait is None else look.asked_at + timedelta(seconds=wait),
    )


_FAILURES = {
    LookFailure.UNREACHABLE: "{title} did not answer{status}.",
    LookFailure.REFUSED: "{title} refused the lookup{status}.",
    LookFailure.RATE_LIMITED: "{title} asks us to slow down{status}.",
    LookFailure.UNREADABLE: "{title}'s answer could not be read{status}.",
    LookFailure.UNSUPPORTED: "{title} offers no lookup of this kind.",
}
