"""The sandbox asked for the truth: by key, request id, object id and attributes, never creating."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from urllib.parse import quote, urlencode

from ledger.rules.contract import (
    Answer,
    Contract,
    FoundObject,
    IntentView,
    Look,
    LookFailure,
    Phase,
    Route,
)
from ledger.rules.digest import Json
from providers.sandbox import parse
from providers.sandbox.exchange import PATHS, Exchange, NotSetUp, read, unsent

PAGE_LIMIT = 100
PAGES_MAX = 10
CLOCK_SKEW = timedelta(minutes=2)

Belongs = Callable[[Mapping[str, Json]], bool]


@dataclass(frozen=True, slots=True)
class Question:
    """One list to read, and how to tell that the provider applied the filter."""

    filters: Mapping[str, str]
    belongs: Belongs


def look(view: IntentView, route: Route, contract: Contract, *, now: datetime) -> Look:
    """Ask by `route` once, all pages. Failures come back as `Look.failure`, never raised.

    `now` is when the asking begins, and the end of the window where nothing was sent by us.
    """
    window = _window(view, contract, now=now) if route is Route.BY_ATTRIBUTES else (None, None)
    blank = Look(
        route=route,
        asked_at=now,
        account=view.account,
        environment=view.environment,
        answer=unsent("GET", path=PATHS[view.operation], code="not_asked"),
        window_from=window[0],
        window_until=window[1],
    )
    if contract.terms(route) is None:
        return replace(blank, failure=LookFailure.UNSUPPORTED)
    try:
        if route is Route.BY_OBJECT_ID:
            return _by_object_id(blank, view, contract)
        questions = _questions(view, route, contract, window=window)
        return _by_lists(blank, view, contract, questions=questions)
    except NotSetUp:
        return replace(blank, failure=LookFailure.UNREACHABLE)


def _by_object_id(blank: Look, view: IntentView, contract: Contract) -> Look:
    wanted = view.provider_object_id
    if wanted is None:
        return replace(blank, failure=LookFailure.UNSUPPORTED)
    path = f"{PATHS[view.operation]}/{quote(wanted, safe='')}"
    got = read(view, path=path, deadline_seconds=contract.deadline_seconds)
    # The contract says that an id can be read at once, so this code is "not found" here alone.
    if got.answer.status == HTTPStatus.NOT_FOUND and got.answer.code == "not_found":
        return replace(blank, answer=got.answer)
    failure = _failure(got)
    if failure is None and got.value is not None:
        try:
            has_amount = contract.has_amount
            seen = parse.found(got.value, operation=view.operation, has_amount=has_amount)
        except parse.Unreadable:
            failure = LookFailure.UNREADABLE
        else:
            if seen.object_id == wanted:
                return replace(blank, answer=got.answer, objects=(parse.clean(seen, view=view),))
            failure = LookFailure.UNREADABLE
    return replace(blank, answer=got.answer, failure=failure)


def _by_lists(
    blank: Look, view: IntentView, contract: Contract, *, questions: tuple[Question, ...]
) -> Look:
    """Every list, page after page; one that fails makes the whole look fail."""
    if not questions:
        return replace(blank, failure=LookFailure.UNSUPPORTED)
    objects: dict[str, FoundObject] = {}
    pages, exhausted, answer = 0, True, blank.answer
    for question in questions:
        cursor: str | None = ""
        while cursor is not None:
            if pages == PAGES_MAX:
                exhausted = False
                break
            got, page, failure = _page(view, contract, question=question, cursor=cursor)
            answer, pages = _kept(answer, got.answer), pages + 1
            if page is None:
                return replace(blank, answer=answer, pages=pages, failure=failure)
            objects |= {found.object_id: found for found in page.objects}
            cursor = page.cursor
    found = tuple(parse.clean(seen, view=view) for seen in objects.values())
    return replace(blank, answer=answer, objects=found, pages=pages, exhausted=exhausted)


def _page(
    view: IntentView, contract: Contract, *, question: Question, cursor: str
) -> tuple[Exchange, parse.Page | None, LookFailure | None]:
    filters = {**question.filters, "limit": str(PAGE_LIMIT)}
    if cursor:
        filters["cursor"] = cursor
    path = f"{PATHS[view.operation]}?{urlencode(filters)}"
    got = read(view, path=path, deadline_seconds=contract.deadline_seconds)
    failure = _failure(got)
    if failure is not None or got.value is None:
        return got, None, failure or LookFailure.UNREADABLE
    try:
        has_amount = contract.has_amount
        page = parse.page(got.value, operation=view.operation, has_amount=has_amount)
    except parse.Unreadable:
        return got, None, LookFailure.UNREADABLE
    if not all(question.belongs(item) for item in page.raw):
        # A provider that ignores a filter shows everything; its empty page would prove nothing.
        return got, None, LookFailure.UNREADABLE
    return got, page, None


def _kept(before: Answer, latest: Answer) -> Answer:
    """The last page's answer under the first page's address, with the time of all pages."""
    if before.phase is Phase.NOT_SENT:
        return latest
    return replace(latest, path=before.path, duration_ms=before.duration_ms + latest.duration_ms)


def _failure(got: Exchange) -> LookFailure | None:
    """Why this answer says nothing, or None where it can be read."""
    status = got.answer.status or 0
    if not got.is_whole or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return LookFailure.UNREACHABLE
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return LookFailure.RATE_LIMITED
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return LookFailure.REFUSED
    if status == HTTPStatus.BAD_REQUEST and got.answer.code:
        return LookFailure.REFUSED
    if status != HTTPStatus.OK or got.value is None:
        return LookFailure.UNREADABLE
    return None


def _questions(
    view: IntentView,
    route: Route,
    contract: Contract,
    *,
    window: tuple[datetime | None, datetime | None],
) -> tuple[Question, ...]:
    """The lists to read for `route`; none where too little is known of the effect."""
    if route is Route.BY_KEY:
        return (Question({"idempotency_key": view.provider_key}, _is("idempotency_key", view)),)
    if route is Route.BY_REQUEST_ID:
        # One question covers all attempts of ours; ids from elsewhere are asked one by one.
        others = (i for i in view.provider_request_ids if not _in_group(view.effect_id, i))
        ids = dict.fromkeys((view.effect_id, *others))
        return tuple(Question({"request_id": i}, _by_request(i)) for i in ids)
    filters = {"counterparty": view.counterparty or ""}
    if contract.has_amount:
        filters |= {"amount": str(view.amount_minor or ""), "currency": view.currency or ""}
    if not all(filters.values()):
        return ()
    wanted = dict(filters)
    if window[0] is not None:
        filters["created_from"] = _written(window[0])
    if window[1] is not None:
        filters["created_to"] = _written(window[1])
    return (Question(filters, _has(wanted)),)


def _is(name: str, view: IntentView) -> Belongs:
    return lambda item: item.get(name) == view.provider_key


def _by_request(wanted: str) -> Belongs:
    return lambda item: _in_group(wanted, str(item.get("request_id")))


def _has(wanted: Mapping[str, str]) -> Belongs:
    return lambda item: all(str(item.get(name)) == text for name, text in wanted.items())


def _in_group(group: str, request_id: str) -> bool:
    return request_id == group or request_id.startswith(f"{group}.")


def _window(
    view: IntentView, contract: Contract, *, now: datetime
) -> tuple[datetime | None, datetime]:
    """From the first sending to the last moment at which the last one can have been carried out."""
    if view.first_dispatch_at is None or view.last_dispatch_at is None:
        return None, now + CLOCK_SKEW
    bound = timedelta(seconds=contract.deadline_seconds + contract.max_in_flight_seconds)
    return view.first_dispatch_at - CLOCK_SKEW, view.last_dispatch_at + bound + CLOCK_SKEW


def _written(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
