"""The sandbox as a process: its memory, its doors, its page, its scripts."""

import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from tests.providers.peer import Sandbox, start, stop

BODY = {"amount": 12_900, "currency": "EUR", "counterparty": "cus_7f3a"}
KEY = {"Idempotency-Key": "k1", "X-Reference": "order:1:collect:v1", "X-Request-Id": "e1.1"}


def test_a_killed_sandbox_forgets_nothing_that_it_accepted(tmp_path: Path) -> None:
    first = start(tmp_path / "store", "--control")
    first.advance(1000)
    first.script("lose_answer", "ok", "html_502")
    with pytest.raises(httpx.RemoteProtocolError):
        first.client.post("/v1/charges", json=BODY, headers=KEY)
    first.client.post("/v1/charges", json=BODY, headers=KEY | {"Idempotency-Key": "k2"})
    assert stop(first, with_signal=signal.SIGKILL) == -signal.SIGKILL
    second = start(tmp_path / "store", "--control")
    try:
        answer = second.client.post("/v1/charges", json=BODY, headers=KEY)
        assert answer.status_code == 502
        assert second.creates(key="k1") == 1
        assert [row["replayed"] for row in second.requests(key="k1")] == [False, True]
        moved = second.client.post("/_sandbox/clock", json={"advance_seconds": 0}).json()["now"]
        ahead = datetime.fromisoformat(moved) - datetime.now(UTC)
        assert timedelta(seconds=990) < ahead <= timedelta(seconds=1000)
    finally:
        assert stop(second) == 0


def test_a_request_held_when_the_sandbox_dies_stays_done(tmp_path: Path) -> None:
    first = start(tmp_path / "store", "--control")
    first.script("hold")

    def send() -> None:
        with httpx.Client(base_url=first.url, trust_env=False) as client:
            try:
                client.post("/v1/charges", json=BODY, headers=KEY)
            except httpx.HTTPError:
                return

    sender = threading.Thread(target=send)
    sender.start()
    first.wait_for("held", key="k1")
    stop(first, with_signal=signal.SIGKILL)
    sender.join(timeout=10)
    second = start(tmp_path / "store", "--control")
    try:
        assert second.creates(key="k1") == 1
        assert second.requests(key="k1")[0]["outcome"] == "interrupted"
    finally:
        stop(second)


def test_the_control_surface_is_shut_unless_it_was_asked_for(tmp_path: Path) -> None:
    sandbox = start(tmp_path / "store", "--settle-seconds", "0")
    try:
        for name in ("scripts", "release", "clock", "reset"):
            answer = sandbox.client.post(f"/_sandbox/{name}", json={})
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "control_closed")
        sandbox.client.post("/v1/charges", json=BODY, headers=KEY)
        assert sandbox.creates() == 1
        listed = sandbox.client.get("/v1/charges", params={"idempotency_key": "k1"}).json()
        assert len(listed["data"]) == 1
    finally:
        stop(sandbox)


def test_with_keys_required_the_reading_key_cannot_create(tmp_path: Path) -> None:
    env = {"SANDBOX_API_KEY": "send-7f3a", "SANDBOX_READ_KEY": "read-7f3a"}
    sandbox = start(tmp_path / "store", "--require-key", env=env)

    def statuses(key: str) -> tuple[int, int]:
        headers = KEY | {"Authorization": f"Bearer {key}"}
        reading = sandbox.client.get("/v1/charges", headers=headers).status_code
        creating = sandbox.client.post("/v1/charges", json=BODY, headers=headers).status_code
        return reading, creating

    try:
        assert statuses("wrong") == (401, 401)
        assert statuses("read-7f3a") == (200, 401)
        assert sandbox.creates() == 0
        assert statuses("send-7f3a") == (200, 201)
    finally:
        stop(sandbox)


def test_the_sandbox_does_not_know_the_adapters_contract() -> None:
    program = (
        "import sys, providers.sandbox.__main__; "
        "print([m for m in sys.modules if m in "
        "('providers.sandbox.contracts', 'providers.sandbox.adapter', 'httpx')])"
    )
    root = Path(__file__).parents[2]
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root
    )
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "script",
    [
        {"do": []},
        {"do": ["explode"]},
        {"do": [{"lose_answer": True, "html_502": True}]},
        {"do": [{"delay_before_seconds": -1}]},
        {"do": [{"lag_seconds": "soon"}]},
        {"do": [{"raw": {"body": "x"}}]},
        {"do": ["ok"], "match": {"amount": "1"}},
        {"do": ["ok"], "match": {"on": "never"}},
        {"do": ["ok"], "forever": 1},
        {"do": ["ok"], "times": 2},
    ],
)
def test_a_script_that_makes_no_sense_is_refused(
    provider_log: Sandbox, script: dict[str, object]
) -> None:
    answer = provider_log.client.post("/_sandbox/scripts", json=script)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_script")


def test_entries_go_in_order_to_the_requests_that_match(provider_log: Sandbox) -> None:
    provider_log.script("error_500_not_done", "ok", reference="order:1:collect:v1")
    provider_log.script("html_502", forever=True, tenant="south")

    def status(key: str, **headers: str) -> int:
        sent = {"Idempotency-Key": key} | {n.replace("_", "-"): v for n, v in headers.items()}
        return provider_log.client.post("/v1/payouts", json=BODY, headers=sent).status_code

    ours = {"X_Reference": "order%3A1%3Acollect%3Av1"}
    assert [status("k0"), status("k1", **ours), status("k2", **ours)] == [201, 500, 201]
    assert status("k3", **ours) == 201
    assert [status(f"s{no}", X_Tenant="south") for no in range(3)] == [502] * 3
    faults = [row["fault"] for row in provider_log.requests(reference="order:1:collect:v1")]
    assert faults == ["error_500_not_done", "", ""]


def test_the_control_surface_takes_json_only(provider_log: Sandbox) -> None:
    # The content types that a page in a browser may send to another origin unasked.
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        answer = provider_log.client.post(
            "/_sandbox/reset", content=b"{}", headers={"Content-Type": kind}
        )
        assert answer.status_code == 415


def test_the_page_shows_the_log_and_runs_nothing(provider_log: Sandbox) -> None:
    evil = '"><script>alert(1)</script>'
    headers = {"Idempotency-Key": "k1", "X-Reference": "a%22%3E%3Cscript%3E"}
    body = BODY | {"counterparty": evil}
    provider_log.client.post("/v1/charges", json=body, headers=headers)
    provider_log.client.post("/v1/charges", json=BODY, headers={"Idempotency-Key": "k2"})
    page = provider_log.client.get("/_sandbox/", params={"key": "k1"})
    assert "<script" not in page.text
    assert "style=" not in page.text
    assert "&lt;script&gt;alert(1)" in page.text
    assert "?key=k1" in page.text
    assert "?key=k2" not in page.text
    assert "1 create request, 0 lookups, 1 effect that took place." in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    style = provider_log.client.get("/_sandbox/style.css")
    assert style.headers["content-type"].startswith("text/css")
    assert "light-dark(" in style.text


def test_a_body_that_is_too_large_or_has_no_length_is_refused(provider_log: Sandbox) -> None:
    large = provider_log.client.post("/v1/charges", content=b"x" * 300_000, headers=KEY)
    assert large.status_code == 413
    stream = provider_log.client.post("/v1/charges", content=iter([b"{}"]), headers=KEY)
    assert stream.status_code == 413
    assert provider_log.requests() == []
