"""When "not found" proves that nothing happened, clause by clause."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ledger.rules.contract import Contract, IntentView, LagKind, Look, Route, RouteTerms
from ledger.rules.words import Words, duration, say

CLOCK_SKEW = timedelta(minutes=2)
BETWEEN_LOOKS = timedelta(minutes=5)
LEAST_MARGIN_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Clause:
    """One condition of the proof: its letter, name, whether it holds, and why in words."""

    letter: str
    name: str
    holds: bool
    words: Words


def key_until(first_dispatch: datetime | None, contract: Contract) -> datetime | None:
    """When the provider may forget the key; None if nothing was sent or no window is promised."""
    if first_dispatch is None or contract.key_window_seconds is None:
        return None
    return first_dispatch + timedelta(seconds=contract.key_window_seconds)


def retry_until(first_dispatch: datetime | None, contract: Contract) -> datetime | None:
    """When the last send under the same key must be over: the window less 10 %, at least 10 min."""
    until = key_until(first_dispatch, contract)
    if until is None or contract.key_window_seconds is None:
        return None
    return until - timedelta(seconds=max(LEAST_MARGIN_SECONDS, contract.key_window_seconds // 10))


def under_way_until(view: IntentView, contract: Contract) -> datetime | None:
    """When the last thing sent must have been carried out or dropped; None if never sent."""
    if view.last_dispatch_at is None:
        return None
    bound = contract.deadline_seconds + contract.max_in_flight_seconds
    return view.last_dispatch_at + timedelta(seconds=bound)


def counts_from(view: IntentView, contract: Contract, terms: RouteTerms | None) -> datetime | None:
    """From when a lookup by this route may prove absence, if all else holds.

    None where it never can: nothing was sent, no such route, or its delay is unpublished.
    """
    bound = under_way_until(view, contract)
    if bound is None or terms is None or terms.lag_seconds is None:
        return None
    if terms.lag_kind is LagKind.UNPUBLISHED:
        return None
    taint = contract.taint_delay_seconds if _tainted(view, contract) else 0
    return bound + timedelta(seconds=max(terms.lag_seconds, taint))


def absence(
    view: IntentView,
    look: Look,
    contract: Contract,
    *,
    now: datetime,
    earlier_absences: tuple[datetime, ...] = (),
) -> tuple[Clause, ...]:
    """The clauses A to I, each with its tick; absence is proven only where all hold.

    `earlier_absences` are the moments of earlier looks by the same route that hold in every clause
    but the last. Clause H stands only where a server error may be stored or carried out later.
    """
    terms = contract.terms(look.route)
    since = counts_from(view, contract, terms)
    clauses = [
        _fenced(view),
        _nothing_under_way(view, contract, min(now, look.asked_at)),
        _settled(view, contract, look, since),
        _complete_route(contract, terms),
        _exhausted(view, contract, look),
        _within_reach(view, terms, look),
        _same_identity(view, look),
    ]
    if contract.stores_5xx is not False:
        clauses.append(_no_taint(view, contract, look, since))
    clauses.append(_agreeing_looks(contract, terms, look, since, earlier_absences))
    return tuple(clauses)


def _tainted(view: IntentView, contract: Contract) -> bool:
    return view.had_server_error and contract.stores_5xx is not False


def _fenced(view: IntentView) -> Clause:
    words = "No worker can still send this." if view.fenced else "A worker may still send this."
    return Clause("A", "No sender left", view.fenced, say(words))


def _nothing_under_way(view: IntentView, contract: Contract, moment: datetime) -> Clause:
    name, bound = "Nothing under way", under_way_until(view, contract)
    if bound is None:
        return Clause("B", name, False, say("It is not known when this was sent."))
    if moment < bound:
        words = say("What was sent may still be carried out until {bound}.", bound=bound)
        return Clause("B", name, False, words)
    return Clause("B", name, True, say("What was sent was over by {bound}.", bound=bound))


def _settled(view: IntentView, contract: Contract, look: Look, since: datetime | None) -> Clause:
    name, title = "Settled", contract.provider_title
    if since is None or view.last_dispatch_at is None:
        words = say(
            "{title} does not say how long its lookup may miss {noun}s that exist.",
            title=title,
            noun=contract.noun,
        )
        return Clause("C", name, False, words)
    if look.asked_at < since:
        words = say(
            "{title} needs {settle} to settle; absence counts from {since}.",
            title=title,
            settle=duration(since - view.last_dispatch_at),
            since=since,
        )
        return Clause("C", name, False, words)
    words = say(
        "Asked at {asked}, after everything had settled at {since}.",
        asked=look.asked_at,
        since=since,
    )
    return Clause("C", name, True, words)


def _complete_route(contract: Contract, terms: RouteTerms | None) -> Clause:
    holds = terms is not None and terms.exhaustive and terms.proves_absence
    words = (
        "This lookup shows every {noun}, whatever became of it."
        if holds
        else "This lookup may leave out {noun}s that exist, so it cannot prove absence."
    )
    return Clause("D", "Complete route", holds, say(words, noun=contract.noun))


def _exhausted(view: IntentView, contract: Contract, look: Look) -> Clause:
    name = "All pages read"
    if not look.exhausted:
        return Clause("E", name, False, say("Not all pages were read."))
    if not _covers(view, contract, look):
        words = say("The time asked for does not cover when this was sent.")
        return Clause("E", name, False, words)
    return Clause("E", name, True, say("All pages were read, over all of the time in question."))


def _covers(view: IntentView, contract: Contract, look: Look) -> bool:
    """Whether the window of a lookup by attributes covers the sending, with two minutes of skew."""
    if look.route is not Route.BY_ATTRIBUTES and look.window_from is look.window_until is None:
        return True
    bound = under_way_until(view, contract)
    if look.window_from is None or look.window_until is None or bound is None:
        return False
    first = view.first_dispatch_at or view.last_dispatch_at
    begins = first is not None and look.window_from <= first - CLOCK_SKEW
    return begins and look.window_until >= min(bound + CLOCK_SKEW, look.asked_at)


def _within_reach(view: IntentView, terms: RouteTerms | None, look: Look) -> Clause:
    name, first = "Within reach", view.first_dispatch_at or view.last_dispatch_at
    reach = terms.reach_back_seconds if terms else None
    if reach is None:
        return Clause("F", name, True, say("This lookup is not limited to recent days."))
    back = timedelta(seconds=reach)
    holds = first is not None and look.asked_at - back <= first - CLOCK_SKEW
    words = (
        "This lookup reaches back {back}, to before this was sent."
        if holds
        else ("This lookup reaches back {back} only; this was sent before.")
    )
    return Clause("F", name, holds, say(words, back=duration(back)))


def _same_identity(view: IntentView, look: Look) -> Clause:
    holds = (look.account, look.environment) == (view.account, view.environment)
    words = (
        "Asked for the account and environment it was sent with."
        if holds
        else "Asked for another account or environment than it was sent with."
    )
    return Clause("G", "Same account", holds, say(words))


def _no_taint(view: IntentView, contract: Contract, look: Look, since: datetime | None) -> Clause:
    name, title = "No server error", contract.provider_title
    if not view.had_server_error:
        return Clause("H", name, True, say("No attempt met a server error."))
    holds = since is not None and look.asked_at >= since
    words = (
        "{title} answered with a server error; that was long enough ago."
        if holds
        else "{title} answered with a server error and may still carry it out for {delay}."
    )
    delay = duration(timedelta(seconds=contract.taint_delay_seconds))
    return Clause("H", name, holds, say(words, title=title, delay=delay))


def _agreeing_looks(
    contract: Contract,
    terms: RouteTerms | None,
    look: Look,
    since: datetime | None,
    earlier: tuple[datetime, ...],
) -> Clause:
    name = "Looks agree"
    if terms is not None and terms.lag_kind is LagKind.DOCUMENTED:
        words = say(
            "One look is enough: {title} documents its delay.", title=contract.provider_title
        )
        return Clause("I", name, True, words)
    counting = [
        t for t in earlier if since is not None and since <= t <= look.asked_at - BETWEEN_LOOKS
    ]
    if not counting:
        words = say("A second look is needed, at least 5 min after one that counts.")
        return Clause("I", name, False, words)
    words = say(
        "Two looks agree, at {first} and {second}.", first=max(counting), second=look.asked_at
    )
    return Clause("I", name, True, words)
