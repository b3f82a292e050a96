"""After `send_by` nothing is written, wherever the process was paused before."""

import socket
import threading
from collections.abc import Callable

import pytest

from ledger.rules.contract import Phase
from ledger.rules.states import Cause
from providers.http import Door, Reply, Trouble, uptime_seconds
from tests.providers.peer import Sandbox
from tests.providers.sending import CHARGE, assert_unclear, dispatch, fresh
from tests.providers.test_http import BODY, KEY, listener, url_of, whole_request
from tests.servers import wait_until

LATER_SECONDS = 0.5


def send(url: str, *, for_seconds: float = LATER_SECONDS, content: bytes = BODY) -> Reply:
    """One POST that may be written for `for_seconds`, and answered within 10 seconds."""
    door = Door(url, read_only=False)
    try:
        return door.send(
            "POST",
            path="/v1/charges",
            deadline_seconds=10,
            send_by=uptime_seconds() + for_seconds,
            headers=KEY,
            content=content,
        )
    finally:
        door.close()


def pause(seconds: float = LATER_SECONDS) -> None:
    """A process that somebody stopped, and woke `seconds` later."""
    until = uptime_seconds() + seconds
    wait_until(lambda: uptime_seconds() >= until, what="the moment")


def connecting(
    monkeypatch: pytest.MonkeyPatch, *, then: Callable[[socket.socket], socket.socket]
) -> None:
    """Hand each connection that is made to `then` before anything is written to it."""
    connect = socket.create_connection
    monkeypatch.setattr(
        socket,
        "create_connection",
        lambda *args, **kwargs: then(connect(*args, **kwargs)),
    )


def test_a_request_after_its_time_does_not_even_connect() -> None:
    with listener() as server:
        reply = send(url_of(server), for_seconds=0)
        assert (reply.phase, reply.trouble) == (Phase.NOT_SENT, Trouble.LEASE_OVER)
        server.settimeout(0.0)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_process_paused_while_it_connected_writes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def paused(connection: socket.socket) -> socket.socket:
        pause()
        return connection

    connecting(monkeypatch, then=paused)
    with listener() as server:
        reply = send(url_of(server))
        connection, _ = server.accept()
        with connection:
            connection.settimeout(5)
            assert connection.recv(1) == b""
    assert (reply.phase, reply.trouble) == (Phase.NOT_SENT, Trouble.LEASE_OVER)


class PausedAfterHeaders(socket.socket):
    """A connection whose writes return when the time to send is over."""

    def send(self, *args: object) -> int:  # type: ignore[override]
        """Write, and sleep."""
        sent = super().send(*args)  # type: ignore[arg-type]
        pause()
        return sent


def test_a_process_paused_after_the_headers_leaves_the_request_without_its_body(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # In a process that is stopped as a whole no timer runs either.
    monkeypatch.setattr(threading.Timer, "run", lambda _: None)
    connecting(monkeypatch, then=lambda made: PausedAfterHeaders(fileno=made.detach()))
    seen: list[bytes] = []

    def serve(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            seen.append(whole_request(connection))

    with listener() as server:
        peer = threading.Thread(target=serve, args=(server,))
        peer.start()
        reply = send(url_of(server))
        peer.join(10)
    assert (reply.phase, reply.trouble) == (Phase.SENT, Trouble.LEASE_OVER)
    head, end, body = seen[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST")
    assert (end, body) == (b"\r\n\r\n", b"")


def test_a_peer_that_takes_the_request_too_slowly_is_cut_off() -> None:
    with listener() as server:  # it never reads, so the buffers fill up
        reply = send(url_of(server), content=b"x" * (32 * 1024 * 1024))
    assert (reply.phase, reply.trouble) == (Phase.SENT, Trouble.LEASE_OVER)
    assert reply.duration_ms < 5000


def test_an_answer_may_come_after_the_time_to_send(provider_log: Sandbox) -> None:
    provider_log.script({"delay_after_seconds": 1})
    reply = send(provider_log.url)
    assert (reply.phase, reply.status, reply.trouble) == (Phase.ANSWERED, 201, None)


def test_the_adapter_sends_nothing_late_and_never_calls_it_not_processed(
    provider_log: Sandbox,
) -> None:
    outcome = dispatch(fresh(provider_log), CHARGE, for_seconds=0)
    assert_unclear(outcome, Cause.LEASE_LOST)
    assert provider_log.requests() == []
