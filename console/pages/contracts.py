"""A contract in sentences, and the matrix of what each provider can be asked."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils.safestring import SafeString

from console.formats import Formats
from console.queries.contracts import InForce
from ledger.rules.comparison import shown
from ledger.rules.contract import After, Contract, Definitive, Freeze, LagKind, Route, RouteTerms
from ledger.rules.words import duration, listed

ROUTES = {
    Route.BY_KEY: "By key",
    Route.BY_REQUEST_ID: "By request id",
    Route.BY_OBJECT_ID: "By object id",
    Route.BY_ATTRIBUTES: "By attributes",
}
AFTER = {
    After.SAME_KEY: "the same key may be sent again",
    After.NEW_VERSION: "a new version of the intent may follow",
    After.NEVER: "nothing may follow",
}
LAGS = {
    LagKind.DOCUMENTED: "documented",
    LagKind.SOFT: "stated without promise",
    LagKind.CALIBRATED: "measured by us",
    LagKind.UNPUBLISHED: "not published",
}
FREEZES = {
    Freeze.BLOCK: "While one is unknown, another for the same object is refused.",
    Freeze.WARN: "While one is unknown, another for the same object is warned about.",
    Freeze.OFF: "Another for the same object is not held back.",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """What one route can do for one operation: a glyph, a word and a detail."""

    icon: str
    tone: str
    word: str
    detail: str


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a contract: its name and what it promises."""

    name: str
    words: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A definitive refusal, and what may follow it."""

    code: str
    words: str
    after: str


@dataclass(frozen=True, slots=True)
class Shown:
    """One contract as the page shows it."""

    anchor: str
    title: str
    provider: str
    operation: str
    version: str
    read_on: str
    added: SafeString | str
    cells: tuple[Cell, ...]
    facts: tuple[Fact, ...]
    refusals: tuple[Refusal, ...]
    unverified: tuple[str, ...]
    sources: tuple[str, ...]
    runbook: str


def values(found: tuple[InForce, ...], *, formats: Formats) -> dict[str, Any]:
    """Everything that the providers' template names, beside the frame."""
    return {
        "routes": tuple(ROUTES.values()),
        "contracts": [_shown(each, formats) for each in found],
    }


def _shown(each: InForce, formats: Formats) -> Shown:
    contract = each.contract
    return Shown(
        anchor=f"{contract.provider}-{contract.operation}",
        title=contract.title,
        provider=contract.provider_title,
        operation=contract.operation,
        version=contract.version,
        read_on=contract.read_on,
        added=formats.when(each.added_at),
        cells=tuple(_cell(contract.terms(route)) for route in ROUTES),
        facts=facts(contract),
        refusals=refusals(contract),
        unverified=contract.unverified,
        sources=contract.sources,
        runbook=contract.runbook,
    )


def _cell(terms: RouteTerms | None) -> Cell:
    if terms is None:
        return Cell("dash", "", "Not offered", "")
    lag = "at once" if not terms.lag_seconds else f"within {seconds(terms.lag_seconds)}"
    detail = f"shows an object {lag}, {LAGS[terms.lag_kind]}"
    if terms.lag_kind is LagKind.UNPUBLISHED:
        detail = "how long it may miss an object is not published"
    if terms.proves_absence:
        return Cell("check", "ok", "Finds, and proves absence", detail)
    return Cell("eq", "wait", "Finds only", detail)


def facts(contract: Contract) -> tuple[Fact, ...]:
    """What the contract promises, in sentences."""
    settle = seconds(contract.settle_seconds)
    return (
        Fact("Key window", _window(contract)),
        Fact("Same key, other data", _mismatch(contract)),
        Fact("Same key at once", contract.concurrent_answer),
        Fact("Normal response", f"within {seconds(contract.response_window_seconds)}"),
        Fact("Our deadline", f"{seconds(contract.deadline_seconds)}, then the outcome is unknown"),
        Fact(
            "Settle time", f"{settle} after the last sending; before it absence counts for nothing"
        ),
        Fact("Server errors", _taint(contract)),
        Fact("Compared fields", listed(tuple(shown(name) for name in contract.compared_fields))),
        Fact("Time tolerance", seconds(contract.time_tolerance_seconds)),
        Fact("Dispute window", _dispute(contract)),
        Fact("Freeze", FREEZES[contract.freeze]),
    )


def refusals(contract: Contract) -> tuple[Refusal, ...]:
    """The definitive refusals, and what may follow each."""
    return tuple(_refusal(each) for each in contract.definitive)


def _refusal(each: Definitive) -> Refusal:
    return Refusal(each.code, each.words, AFTER[each.after])


def _window(contract: Contract) -> str:
    if contract.key_window_seconds is None:
        return (
            f"{contract.provider_title} keeps no key: sending again would be a new {contract.noun}"
        )
    return f"{contract.provider_title} keeps a key for {seconds(contract.key_window_seconds)}"


def _mismatch(contract: Contract) -> str:
    if contract.key_window_seconds is None:
        return "does not apply"
    words = {True: "refused", False: "not noticed", None: "not stated"}
    return words[contract.compares_parameters]


def _taint(contract: Contract) -> str:
    if contract.stores_5xx is False:
        return "are not stored; nothing follows from one"
    wait = seconds(contract.taint_delay_seconds)
    return f"may be stored or carried out later; wait {wait} before absence counts"


def _dispute(contract: Contract) -> str:
    if not contract.dispute_window_seconds:
        return "none"
    return f"{seconds(contract.dispute_window_seconds)} from the outcome"


def seconds(length: int) -> str:
    """A length in seconds as people read it."""
    return duration(timedelta(seconds=length))
