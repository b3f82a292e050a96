"""What a provider promises for an operation, what it may be asked, and what it may answer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from ledger.rules.states import Cause


class Route(StrEnum):
    """How the truth is asked for, in the order in which it is asked."""

    BY_KEY = "by_key"
    BY_REQUEST_ID = "by_request_id"
    BY_OBJECT_ID = "by_object_id"
    BY_ATTRIBUTES = "by_attributes"


class LagKind(StrEnum):
    """How much a route's delay may be relied on."""

    DOCUMENTED = "documented"
    SOFT = "soft"
    CALIBRATED = "calibrated"
    UNPUBLISHED = "unpublished"


class Freeze(StrEnum):
    """What a second key for the same object and operation meets while the first is open."""

    BLOCK = "block"
    WARN = "warn"
    OFF = "off"


class After(StrEnum):
    """What may follow a definitive refusal."""

    SAME_KEY = "same_key"
    NEW_VERSION = "new_version"
    NEVER = "never"


class Standing(StrEnum):
    """What a found provider object says about the effect."""

    TOOK_EFFECT = "took_effect"
    PENDING = "pending"
    FAILED_NO_EFFECT = "failed_no_effect"
    REVERSED = "reversed"


class Phase(StrEnum):
    """How far a request got before its answer, or instead of one."""

    NOT_SENT = "not_sent"
    SENT = "sent"
    PARTIAL_ANSWER = "partial_answer"
    ANSWERED = "answered"


class LookFailure(StrEnum):
    """Why a lookup gave no answer; none of these says anything about the effect."""

    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    RATE_LIMITED = "rate_limited"
    UNREADABLE = "unreadable"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class RouteTerms:
    """What one route shows and when: its lag, whether it is exhaustive, and its reach back."""

    route: Route
    lag_kind: LagKind
    lag_seconds: int | None
    exhaustive: bool
    proves_absence: bool
    reach_back_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Definitive:
    """A listed refusal: the provider's code, what it says in words, what may follow."""

    code: str
    words: str
    after: After


@dataclass(frozen=True, slots=True)
class Contract:
    """A provider's promises for one operation, as versioned, immutable data. Times in seconds.

    `title` is the operation on screen ("Card payment"), `noun` the object the provider makes
    ("payment"), `provider_title` the provider on screen.
    """

    provider: str
    operation: str
    version: str
    title: str
    noun: str
    provider_title: str
    read_on: str
    sources: tuple[str, ...]
    has_amount: bool
    key_window_seconds: int | None
    compares_parameters: bool | None
    stores_5xx: bool | None
    taint_delay_seconds: int
    concurrent_answer: str
    deadline_seconds: int
    lease_seconds: int
    dispatch_within_seconds: int
    response_window_seconds: int
    max_in_flight_seconds: int
    dispute_window_seconds: int
    routes: tuple[RouteTerms, ...]
    schedule_seconds: tuple[int, ...]
    definitive: tuple[Definitive, ...]
    not_processed: tuple[str, ...]
    compared_fields: tuple[str, ...]
    time_tolerance_seconds: int
    freeze: Freeze
    runbook: str
    unverified: tuple[str, ...] = ()

    @property
    def settle_seconds(self) -> int:
        """Seconds after the last dispatch before an absence can count on the best route.

        It is deadline + provider's hold time + the lag of the first route that proves absence,
        or of the first route where none does.
        """
        proving = [t for t in self.routes if t.proves_absence] or list(self.routes)
        lag = (proving[0].lag_seconds or 0) if proving else 0
        return self.deadline_seconds + self.max_in_flight_seconds + lag

    def terms(self, route: Route) -> RouteTerms | None:
        """The terms of `route`, or None where the provider does not offer it."""
        return next((t for t in self.routes if t.route is route), None)

    def refusal(self, code: str | None) -> Definitive | None:
        """The listed refusal named `code`, or None: then the answer proves nothing."""
        return next((d for d in self.definitive if d.code == code), None)


def contract_to_json(contract: Contract) -> str:
    """`contract` as JSON text with sorted keys; the stored row's body."""
    return json.dumps(asdict(contract), sort_keys=True, separators=(",", ":"))


def contract_from_json(text: str) -> Contract:
    """The contract that `contract_to_json` wrote. Raises KeyError or TypeError on other shapes."""
    data: dict[str, Any] = json.loads(text)
    data["routes"] = tuple(
        RouteTerms(**{**r, "route": Route(r["route"]), "lag_kind": LagKind(r["lag_kind"])})
        for r in data["routes"]
    )
    data["definitive"] = tuple(
        Definitive(d["code"], d["words"], After(d["after"])) for d in data["definitive"]
    )
    data["freeze"] = Freeze(data["freeze"])
    for name in ("sources", "schedule_seconds", "not_processed", "compared_fields", "unverified"):
        data[name] = tuple(data[name])
    return Contract(**data)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back on the wire, reduced to what may be kept: no bodies, no secrets.

    `excerpt` holds only allow-listed fields; `body_digest` is the SHA-256 of the raw body in hex.
    """

    method: str
    path: str
    phase: Phase
    duration_ms: int
    status: int | None = None
    code: str | None = None
    request_id: str | None = None
    replayed: bool = False
    retry_after_seconds: int | None = None
    body_digest: str | None = None
    excerpt: Mapping[str, str | int | bool | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object as the provider holds it. `amount_minor` is in the currency's smallest unit."""

    object_id: str
    standing: Standing
    status: str
    amount_minor: int | None
    currency: str | None
    counterparty: str | None
    account: str | None
    created_at: datetime | None
    reference: str | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class IntentView:
    """What an adapter may know of an effect; built by the ledger, read only.

    `request` is the canonical JSON text to send; `counterparty` a token, never an account number.
    """

    tenant: str
    effect_id: str
    intent_key: str
    operation: str
    account: str
    environment: str
    provider_key: str
    request: str
    amount_minor: int | None
    currency: str | None
    counterparty: str | None
    object_ref: str | None
    fence: int
    attempts: int
    first_dispatch_at: datetime | None
    last_dispatch_at: datetime | None
    fenced: bool
    had_server_error: bool
    provider_object_id: str | None = None
    provider_request_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The provider made the object and it agrees with the intent."""

    found: FoundObject
    answer: Answer


@dataclass(frozen=True, slots=True)
class Declined:
    """A refusal that the contract lists as definitive: nothing happened."""

    code: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class NotProcessed:
    """Listed as not processed, or provably never sent: the same key may be sent again."""

    answer: Answer
    retry_after_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Unclear:
    """Anything else. The effect is unknown, whatever the status line said."""

    cause: Cause
    answer: Answer
    server_error: bool = False
    found: FoundObject | None = None


SendOutcome = Confirmed | Declined | NotProcessed | Unclear


@dataclass(frozen=True, slots=True)
class Look:
    """One lookup by one route: what was asked and the facts that came back, not what they prove."""

    route: Route
    asked_at: datetime
    account: str
    environment: str
    answer: Answer
    objects: tuple[FoundObject, ...] = ()
    pages: int = 1
    exhausted: bool = True
    failure: LookFailure | None = None
    window_from: datetime | None = None
    window_until: datetime | None = None


class Sender(Protocol):
    """A provider module's effectful half: it may be called with a committed claim only."""

    def dispatch(self, view: IntentView, contract: Contract, *, send_by: float) -> SendOutcome:
        """Send the effect once, with no retry. Never raises for what the network does.

        Nothing may be written once `providers.http.uptime_seconds()` has reached `send_by`: the
        answer is then Unclear(LEASE_LOST), for somebody may have looked and found nothing.
        """


class TruthSource(Protocol):
    """A provider module's read-only half: it cannot create anything."""

    def look(self, view: IntentView, route: Route, contract: Contract, *, now: datetime) -> Look:
        """Ask by `route` once. Failures come back as `Look.failure`, never as an exception."""


class Provider(Sender, TruthSource, Protocol):
    """One provider module: its contracts by operation, and both halves."""

    NAME: str
    CONTRACTS: Sequence[Contract]
