"""Looking through the sandbox's adapter: by every route, under every fault, creating nothing."""

import ast
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from ledger.rules.contract import (
    Contract,
    IntentView,
    Look,
    LookFailure,
    Route,
    Standing,
)
from providers.http import ReadOnlyDoor
from providers.sandbox import adapter, exchange, looking
from tests.providers.intents import view_of
from tests.providers.peer import Sandbox, start, stop
from tests.providers.sending import dispatch

CONTRACTS = {contract.operation: contract for contract in adapter.CONTRACTS}
CHARGE, EMAIL = CONTRACTS["charge"], CONTRACTS["email"]
LISTS = [Route.BY_KEY, Route.BY_REQUEST_ID, Route.BY_ATTRIBUTES]
EVERY = [
    pytest.param(contract, terms.route, id=f"{contract.operation}-{terms.route}")
    for contract in adapter.CONTRACTS
    for terms in contract.routes
]


def sent(log: Sandbox, contract: Contract = CHARGE, *, fault: object = "lose_answer") -> IntentView:
    """An intent whose answer was lost, as the ledger holds it a little later."""
    view = view_of(contract, sent_at=log.now())
    log.script(fault, reference=view.intent_key)
    dispatch(view, contract)
    return replace(view, fenced=True)


def ask(log: Sandbox, view: IntentView, route: Route, contract: Contract = CHARGE) -> Look:
    """One look by the sandbox's clock."""
    return adapter.look(view, route, contract, now=log.now())


def with_object_id(log: Sandbox, view: IntentView) -> IntentView:
    """The view once the object's id is known."""
    (effect,) = log.effects(reference=view.intent_key)
    return replace(view, provider_object_id=str(effect["id"]))


@pytest.mark.parametrize(("contract", "route"), EVERY)
def test_every_declared_route_finds_the_object_after_the_settle_time(
    provider_log: Sandbox, contract: Contract, route: Route
) -> None:
    view = with_object_id(provider_log, sent(provider_log, contract))
    early = ask(provider_log, view, route, contract)
    assert early.failure is None
    assert len(early.objects) == (1 if route is Route.BY_OBJECT_ID else 0)
    provider_log.advance(61)
    late = ask(provider_log, view, route, contract)
    (found,) = late.objects
    assert found.object_id == view.provider_object_id
    assert found.standing is Standing.TOOK_EFFECT
    assert (found.amount_minor, found.currency) == (view.amount_minor, view.currency)
    assert (found.counterparty, found.account) == (view.counterparty, view.account)
    assert found.created_at is not None
    assert (late.pages, late.exhausted, late.account) == (1, True, view.account)
    assert late.answer.method == "GET"
    assert provider_log.creates() == 1


def test_a_route_that_is_not_declared_or_not_answerable_is_unsupported(
    provider_log: Sandbox,
) -> None:
    email = view_of(EMAIL)
    assert ask(provider_log, email, Route.BY_KEY, EMAIL).failure is LookFailure.UNSUPPORTED
    charge = view_of(CHARGE)
    assert ask(provider_log, charge, Route.BY_OBJECT_ID).failure is LookFailure.UNSUPPORTED
    bare = replace(charge, counterparty=None)
    assert ask(provider_log, bare, Route.BY_ATTRIBUTES).failure is LookFailure.UNSUPPORTED
    assert provider_log.requests() == []


def test_an_unknown_object_id_is_an_empty_answer_not_a_failure(provider_log: Sandbox) -> None:
    view = view_of(CHARGE, provider_object_id="ch_0123456789abcdef")
    look = ask(provider_log, view, Route.BY_OBJECT_ID)
    assert (look.failure, look.objects, look.answer.status) == (None, (), 404)


def test_an_object_id_cannot_climb_out_of_its_path(provider_log: Sandbox) -> None:
    view = view_of(CHARGE, provider_object_id="../../_sandbox/requests?x=")
    look = ask(provider_log, view, Route.BY_OBJECT_ID)
    assert look.objects == ()
    (row,) = provider_log.requests()
    assert str(row["path"]).startswith("/v1/charges/")


def test_all_attempts_are_found_by_request_id(provider_log: Sandbox) -> None:
    view = sent(provider_log, EMAIL)
    dispatch(replace(view, fence=3, attempts=2), EMAIL)
    provider_log.advance(61)
    look = ask(provider_log, view, Route.BY_REQUEST_ID, EMAIL)
    assert {found.request_id for found in look.objects} == {
        f"{view.effect_id}.1",
        f"{view.effect_id}.3",
    }


def test_request_ids_from_elsewhere_are_asked_too(provider_log: Sandbox) -> None:
    theirs = view_of(CHARGE, sent_at=provider_log.now())
    dispatch(theirs, CHARGE)
    provider_log.advance(61)
    request_id = f"{theirs.effect_id}.1"
    view = view_of(CHARGE, provider_request_ids=(request_id,), attempts=0, fence=0)
    look = ask(provider_log, view, Route.BY_REQUEST_ID)
    assert [found.request_id for found in look.objects] == [request_id]
    assert look.pages == 2


def test_two_objects_under_one_key_are_both_reported(provider_log: Sandbox) -> None:
    view = sent(provider_log, fault={"two_objects": True, "lose_answer": True})
    provider_log.advance(61)
    for route in LISTS:
        assert len(ask(provider_log, view, route).objects) == 2
    assert provider_log.creates(key=view.provider_key) == 2


def test_attributes_find_only_what_fits_and_lies_in_the_window(provider_log: Sandbox) -> None:
    dispatch(view_of(CHARGE, sent_at=provider_log.now()), CHARGE)
    provider_log.advance(3600)
    view = sent(provider_log)
    for changes in ({"amount_minor": 1}, {"currency": "USD"}, {"counterparty": "cus_other"}):
        dispatch(view_of(CHARGE, **changes), CHARGE)
    provider_log.advance(3600)
    dispatch(view_of(CHARGE, sent_at=provider_log.now()), CHARGE)
    provider_log.advance(61)
    look = ask(provider_log, view, Route.BY_ATTRIBUTES)
    assert [found.reference for found in look.objects] == [view.intent_key]
    assert look.window_from is not None
    assert look.window_until is not None
    assert look.window_from < view.first_dispatch_at < look.window_until  # type: ignore[operator]


def test_attributes_of_an_intent_that_we_never_sent_search_without_a_beginning(
    provider_log: Sandbox,
) -> None:
    dispatch(view_of(CHARGE), CHARGE)
    provider_log.advance(86_400)
    view = replace(view_of(CHARGE), first_dispatch_at=None, last_dispatch_at=None)
    look = ask(provider_log, view, Route.BY_ATTRIBUTES)
    assert len(look.objects) == 1
    assert look.window_from is None


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_every_page_is_read(
    provider_log: Sandbox, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    view = sent(provider_log)
    for _ in range(4):
        dispatch(view_of(CHARGE), CHARGE)
    provider_log.advance(61)
    monkeypatch.setattr(looking, "PAGE_LIMIT", limit)
    look = ask(provider_log, view, Route.BY_ATTRIBUTES)
    assert len({found.object_id for found in look.objects}) == 5
    assert (look.pages, look.exhausted) == (-(-5 // limit), True)
    assert view.intent_key in {found.reference for found in look.objects}


def test_a_list_without_end_is_reported_as_not_exhausted(provider_log: Sandbox) -> None:
    endless = {"raw": {"text": '{"data":[],"has_more":true,"next_cursor":"7"}'}}
    provider_log.script(endless, forever=True, on="lookup")
    look = ask(provider_log, view_of(CHARGE), Route.BY_KEY)
    assert (look.failure, look.exhausted, look.pages) == (None, False, looking.PAGES_MAX)
    assert len(provider_log.requests()) == looking.PAGES_MAX


FAILURES: list[tuple[object, LookFailure]] = [
    ("lose_answer", LookFailure.UNREACHABLE),
    ("reset_before", LookFailure.UNREACHABLE),
    ("reset_after", LookFailure.UNREACHABLE),
    ("truncated", LookFailure.UNREACHABLE),
    ("error_500_done", LookFailure.UNREACHABLE),
    ("html_502", LookFailure.UNREACHABLE),
    ("status_429", LookFailure.RATE_LIMITED),
    ("empty_200", LookFailure.UNREADABLE),
    ({"raw": {"status": 401, "text": "{}"}}, LookFailure.REFUSED),
    ({"raw": {"status": 403, "text": "<html>", "content_type": "text/html"}}, LookFailure.REFUSED),
    ({"raw": {"status": 302, "text": "{}"}}, LookFailure.UNREADABLE),
    ({"raw": {"status": 404, "text": '{"error":{"code":"gone"}}'}}, LookFailure.UNREADABLE),
    ({"raw": {"status": 404, "text": "<html>"}}, LookFailure.UNREADABLE),
    ({"raw": {"text": "<html>", "content_type": "text/html"}}, LookFailure.UNREADABLE),
    ({"raw": {"text": "{}"}}, LookFailure.UNREADABLE),
    ({"raw": {"text": "[]"}}, LookFailure.UNREADABLE),
    ({"raw": {"text": '{"data":[{}],"has_more":false}'}}, LookFailure.UNREADABLE),
    ({"raw": {"text": "{", "repeat": 2000}}, LookFailure.UNREADABLE),
    ({"raw": {"text": " " * 1024, "repeat": 300}}, LookFailure.UNREADABLE),
    ({"raw": {"text": "0" * 1024, "repeat": 60_000, "gzip": True}}, LookFailure.UNREADABLE),
]


@pytest.mark.parametrize(("fault", "failure"), FAILURES, ids=lambda value: str(value)[:60])
@pytest.mark.parametrize("route", [*LISTS, Route.BY_OBJECT_ID])
def test_an_answer_that_cannot_be_read_is_a_failed_look_never_an_absence(
    provider_log: Sandbox, fault: object, failure: LookFailure, route: Route
) -> None:
    view = with_object_id(provider_log, sent(provider_log))
    provider_log.advance(61)
    provider_log.script(fault, on="lookup")
    look = ask(provider_log, view, route)
    assert (look.failure, look.objects) == (failure, ())
    assert len(provider_log.requests(kind="lookup")) == 1
    again = ask(provider_log, view, route)
    assert (again.failure, len(again.objects)) == (None, 1)
    assert provider_log.creates() == 1


LISTS_THAT_LIE = [
    '{"data":[],"has_more":false}',
    '{"data":[],"has_more":true,"next_cursor":null}',
    '{"data":[],"has_more":false,"next_cursor":"7"}',
    '{"data":[],"has_more":"no","next_cursor":null}',
    '{"data":{},"has_more":false,"next_cursor":null}',
    '{"data":[null],"has_more":false,"next_cursor":null}',
    '{"data":[],"data":[],"has_more":false,"next_cursor":null}',
]


@pytest.mark.parametrize("text", LISTS_THAT_LIE[1:])
def test_a_list_that_contradicts_itself_is_unreadable(provider_log: Sandbox, text: str) -> None:
    provider_log.script({"raw": {"text": text}}, on="lookup")
    look = ask(provider_log, view_of(CHARGE), Route.BY_KEY)
    assert look.failure is LookFailure.UNREADABLE


@pytest.mark.parametrize("route", LISTS)
def test_a_provider_that_ignores_the_filter_is_unreadable(
    provider_log: Sandbox, route: Route
) -> None:
    dispatch(view_of(CHARGE, amount_minor=5), CHARGE)
    provider_log.advance(61)
    everything = provider_log.client.get("/v1/charges", headers={"X-Account": "acct_north"})
    assert len(everything.json()["data"]) == 1
    provider_log.script({"raw": {"text": everything.text}}, on="lookup")
    look = ask(provider_log, view_of(CHARGE), route)
    assert (look.failure, look.objects) == (LookFailure.UNREADABLE, ())


def test_the_wrong_object_under_an_id_is_unreadable(provider_log: Sandbox) -> None:
    view = with_object_id(provider_log, sent(provider_log))
    other = view.provider_object_id or ""
    body = provider_log.client.get(f"/v1/charges/{other}", headers={"X-Account": view.account})
    provider_log.script({"raw": {"text": body.text}}, on="lookup")
    asked = replace(view, provider_object_id="ch_0123456789abcdef")
    assert ask(provider_log, asked, Route.BY_OBJECT_ID).failure is LookFailure.UNREADABLE


def test_a_slow_answer_is_unreachable_within_the_deadline(provider_log: Sandbox) -> None:
    provider_log.script("hold", on="lookup")
    hurried = replace(CHARGE, deadline_seconds=0.2)  # type: ignore[arg-type]
    look = ask(provider_log, view_of(CHARGE), Route.BY_KEY, hurried)
    assert look.failure is LookFailure.UNREACHABLE
    provider_log.release()


def test_a_rate_limit_says_until_when(provider_log: Sandbox) -> None:
    provider_log.script({"status_429": 90}, on="lookup")
    look = ask(provider_log, view_of(CHARGE), Route.BY_KEY)
    assert look.failure is LookFailure.RATE_LIMITED
    assert look.answer.retry_after_seconds == 90


def test_where_nobody_listens_the_look_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.fromisoformat("2026-11-30T10:00:00Z")
    for address in ("http://127.0.0.1:1", ""):
        monkeypatch.setenv("SANDBOX_URL", address)
        look = adapter.look(view_of(CHARGE), Route.BY_KEY, CHARGE, now=now)
        assert (look.failure, look.asked_at) == (LookFailure.UNREACHABLE, now)


def test_another_account_sees_nothing(provider_log: Sandbox) -> None:
    view = sent(provider_log)
    provider_log.advance(61)
    other = replace(view, account="acct_south")
    assert ask(provider_log, other, Route.BY_KEY).objects == ()
    assert len(ask(provider_log, view, Route.BY_KEY).objects) == 1


def test_a_declined_charge_is_found_as_a_failed_object(provider_log: Sandbox) -> None:
    view = sent(provider_log, fault={"decline": "card_declined", "lose_answer": True})
    provider_log.advance(61)
    (found,) = ask(provider_log, view, Route.BY_KEY).objects
    assert found.standing is Standing.FAILED_NO_EFFECT
    assert provider_log.creates() == 0


def test_an_object_that_was_undone_is_found_as_reversed(provider_log: Sandbox) -> None:
    view = sent(provider_log, fault={"fail_later": 120, "lose_answer": True})
    provider_log.advance(121)
    (found,) = ask(provider_log, view, Route.BY_KEY).objects
    assert found.standing is Standing.REVERSED


def test_the_door_for_lookups_cannot_create(provider_log: Sandbox) -> None:
    with pytest.raises(ReadOnlyDoor):
        exchange.door(reading=True).send("POST", path="/v1/charges", deadline_seconds=5)
    source = ast.parse(Path(looking.__file__).read_text())
    imported = {
        name.name
        for node in ast.walk(source)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("providers")
        for name in node.names
    }
    assert imported == {"parse", "PATHS", "Exchange", "NotSetUp", "read", "unsent"}
    assert provider_log.requests() == []


def test_looks_use_the_reading_key_where_there_is_one(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {"SANDBOX_API_KEY": "send-7f3a", "SANDBOX_READ_KEY": "read-7f3a"}
    folder = tmp_path_factory.mktemp("keys")
    sandbox = start(folder / "store", "--require-key", "--settle-seconds", "0", env=keys)
    try:
        monkeypatch.setenv("SANDBOX_URL", sandbox.url)
        view = view_of(CHARGE)
        now = view.first_dispatch_at + timedelta(seconds=5)  # type: ignore[operator]
        refused = adapter.look(view, Route.BY_KEY, CHARGE, now=now)
        assert refused.failure is LookFailure.REFUSED
        assert refused.answer.status == 401
        monkeypatch.setenv("SANDBOX_READ_KEY", "read-7f3a")
        assert adapter.look(view, Route.BY_KEY, CHARGE, now=now).failure is None
        dispatch(view, CHARGE)
        assert sandbox.creates() == 0
        (folder / "key").write_text("send-7f3a\n")
        monkeypatch.setenv("SANDBOX_API_KEY_FILE", str(folder / "key"))
        dispatch(view, CHARGE)
        assert sandbox.creates() == 1
        assert len(adapter.look(view, Route.BY_KEY, CHARGE, now=now).objects) == 1
    finally:
        stop(sandbox)
