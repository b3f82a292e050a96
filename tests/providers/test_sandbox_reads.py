"""The sandbox's read routes: what they show, when, and to whom."""

import pytest

from tests.providers.peer import Sandbox

BODY = {"amount": 12_900, "currency": "EUR", "counterparty": "cus_7f3a"}


def make(sandbox: Sandbox, *, key: str = "k1", **headers: str) -> str:
    """Make one charge; its id."""
    sent = {"Idempotency-Key": key} | {n.replace("_", "-"): v for n, v in headers.items()}
    return str(sandbox.client.post("/v1/charges", json=BODY, headers=sent).json()["id"])


def listed(sandbox: Sandbox, path: str = "/v1/charges", **filters: str) -> list[str]:
    """The ids that a list route shows."""
    return [row["id"] for row in sandbox.client.get(path, params=filters).json()["data"]]


def test_lists_show_an_object_only_after_the_settle_time(provider_log: Sandbox) -> None:
    made = make(provider_log, X_Request_Id="e1.1")
    routes = ({"idempotency_key": "k1"}, {"request_id": "e1"}, {"amount": "12900"})
    provider_log.advance(58)
    assert [listed(provider_log, **route) for route in routes] == [[], [], []]
    provider_log.advance(3)
    assert [listed(provider_log, **route) for route in routes] == [[made]] * 3


def test_the_object_route_shows_it_at_once(provider_log: Sandbox) -> None:
    made = make(provider_log)
    assert provider_log.client.get(f"/v1/charges/{made}").json()["id"] == made
    missing = provider_log.client.get("/v1/charges/ch_0000")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")
    assert provider_log.client.get(f"/v1/payouts/{made}").status_code == 404


def test_a_script_sets_the_lag_of_one_object(provider_log: Sandbox) -> None:
    provider_log.script({"lag_seconds": 0}, {"lag_seconds": 600}, "never_listed")
    now, late = make(provider_log), make(provider_log, key="k2")
    never = make(provider_log, key="k3")
    assert listed(provider_log) == [now]
    provider_log.advance(601)
    assert listed(provider_log) == [late, now]
    provider_log.advance(3600)
    assert never not in listed(provider_log)


def test_a_request_id_matches_whole_or_by_its_group(provider_log: Sandbox) -> None:
    first = make(provider_log, key="k1", X_Request_Id="e1.1")
    second = make(provider_log, key="k2", X_Request_Id="e1.2")
    make(provider_log, key="k3", X_Request_Id="e11.1")
    make(provider_log, key="k4", X_Request_Id="other")
    provider_log.advance(61)
    assert listed(provider_log, request_id="e1") == [second, first]
    assert listed(provider_log, request_id="e1.1") == [first]
    assert listed(provider_log, request_id="e*") == []


def test_accounts_do_not_see_each_other(provider_log: Sandbox) -> None:
    made = make(provider_log, X_Account="north")
    provider_log.advance(61)
    south = {"X-Account": "south"}
    answer = provider_log.client.get("/v1/charges", headers=south)
    assert answer.json()["data"] == []
    assert provider_log.client.get(f"/v1/charges/{made}", headers=south).status_code == 404


def test_pages_hold_every_object_once_newest_first(provider_log: Sandbox) -> None:
    made = [make(provider_log, key=f"k{no}") for no in range(7)]
    provider_log.advance(61)
    seen: list[str] = []
    filters = {"limit": "3", "currency": "EUR"}
    while True:
        page = provider_log.client.get("/v1/charges", params=filters).json()
        seen += [row["id"] for row in page["data"]]
        if not page["has_more"]:
            assert page["next_cursor"] is None
            break
        filters["cursor"] = page["next_cursor"]
    assert seen == made[::-1]


def test_the_window_is_inclusive_on_both_sides(provider_log: Sandbox) -> None:
    made = make(provider_log)
    provider_log.advance(61)
    at = str(provider_log.effects()[0]["created"])
    assert listed(provider_log, created_from=at, created_to=at) == [made]
    assert listed(provider_log, created_from=at[:-1] + "+01:00", created_to=at) == [made]
    assert listed(provider_log, created_to=at[:-1] + "+01:00") == []


def test_lists_reach_back_only_so_far(provider_log: Sandbox) -> None:
    made = make(provider_log)
    provider_log.advance(91 * 86_400)
    assert listed(provider_log, idempotency_key="k1") == []
    assert provider_log.client.get(f"/v1/charges/{made}").status_code == 200


@pytest.mark.parametrize(
    ("filters", "code"),
    [
        ({"color": "red"}, "unknown_filter"),
        ({"amount": "12.9"}, "invalid_filter"),
        ({"created_from": "yesterday"}, "invalid_filter"),
        ({"created_from": "2026-11-30T10:00:00"}, "invalid_filter"),
        ({"cursor": "x"}, "invalid_filter"),
    ],
)
def test_a_filter_is_applied_or_refused_never_ignored(
    provider_log: Sandbox, filters: dict[str, str], code: str
) -> None:
    answer = provider_log.client.get("/v1/charges", params=filters)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


def test_emails_cannot_be_found_by_key(provider_log: Sandbox) -> None:
    answer = provider_log.client.get("/v1/emails", params={"idempotency_key": "k1"})
    assert answer.json()["error"]["code"] == "unknown_filter"


def test_reads_never_create(provider_log: Sandbox) -> None:
    make(provider_log)
    for path in ("/v1/charges", "/v1/charges/ch_0", "/v1/charges?idempotency_key=new"):
        provider_log.client.get(path)
    assert len(provider_log.effects()) == 1
    assert [row["kind"] for row in provider_log.requests()] == ["create"] + ["lookup"] * 3


def test_a_pending_object_fails_later_and_a_finished_one_is_reversed(
    provider_log: Sandbox,
) -> None:
    provider_log.script({"stay_pending": True, "fail_later": 300}, {"fail_later": 300})
    pending, finished = make(provider_log), make(provider_log, key="k2")

    def statuses() -> list[str]:
        rows = [provider_log.client.get(f"/v1/charges/{i}").json() for i in (pending, finished)]
        return [row["status"] for row in rows]

    assert statuses() == ["pending", "succeeded"]
    assert provider_log.creates() == 2
    provider_log.advance(301)
    assert statuses() == ["failed", "reversed"]
    assert provider_log.creates() == 0
