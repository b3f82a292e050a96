"""The one door to the network: one attempt, one deadline, caps, and honest phases."""

import gzip
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ledger.rules.contract import Phase
from providers.http import ANSWER_BYTES_MAX, Door, ReadOnlyDoor, Reply, Trouble
from tests.providers.peer import Sandbox

BODY = b'{"amount":12900,"currency":"EUR","counterparty":"cus_7f3a"}'
KEY = {"Idempotency-Key": "k1"}
# A peer that waits for ever within a test.
NEVER = 30.0


@contextmanager
def listener() -> Iterator[socket.socket]:
    """A socket that listens on a free port of the loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        yield server


def url_of(server: socket.socket) -> str:
    """The address of a listening socket."""
    return f"http://127.0.0.1:{server.getsockname()[1]}"


def whole_request(connection: socket.socket) -> bytes:
    """One request, read to its end: a peer that closes before that resets the connection."""
    seen = b""
    while True:
        head, end, body = seen.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        if end and len(body) >= int(length[1] if length else 0):
            return seen
        part = connection.recv(65_536)
        if not part:
            return seen
        seen += part


def speak(server: socket.socket, *answers: bytes) -> tuple[threading.Thread, list[bytes]]:
    """Answer one connection each with the given bytes; returns the requests seen."""
    seen: list[bytes] = []

    def serve() -> None:
        for answer in answers:
            connection, _ = server.accept()
            with connection:
                seen.append(whole_request(connection))
                connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread, seen


def send(
    url: str, *, deadline_seconds: float = 5.0, headers: dict[str, str] | None = None
) -> Reply:
    """One POST through a fresh door."""
    door = Door(url, read_only=False)
    try:
        return door.send(
            "POST",
            path="/v1/charges",
            deadline_seconds=deadline_seconds,
            headers=KEY | {"Content-Type": "application/json"} | (headers or {}),
            content=BODY,
        )
    finally:
        door.close()


def test_an_answer_comes_back_whole_with_kept_headers_only(provider_log: Sandbox) -> None:
    text = '{"id":"x"}'
    headers = {"Set-Cookie": "session=1", "X-Request-Id": "r1", "Retry-After": "7", "Server": "s"}
    provider_log.script({"raw": {"text": text, "status": 418, "headers": headers}})
    reply = send(provider_log.url)
    assert (reply.phase, reply.status, reply.body) == (Phase.ANSWERED, 418, text.encode())
    assert reply.trouble is None
    assert set(reply.headers) == {"x-request-id", "retry-after", "date"}


def test_a_cookie_is_never_sent_back() -> None:
    answer = (
        b"HTTP/1.1 200 OK\r\nSet-Cookie: session=1; Path=/\r\n"
        b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    )
    with listener() as server:
        _, seen = speak(server, answer, answer)
        door = Door(url_of(server), read_only=True)
        for _ in range(2):
            assert door.send("GET", path="/", deadline_seconds=5).phase is Phase.ANSWERED
        door.close()
    assert not any(b"cookie" in request.lower() for request in seen)


def test_nothing_is_sent_where_nobody_listens() -> None:
    with listener() as server:
        url = url_of(server)
    reply = send(url)
    assert (reply.phase, reply.trouble) == (Phase.NOT_SENT, Trouble.NOT_SENT)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1:9", "http://"])
def test_an_address_that_cannot_be_asked_is_not_sent(url: str) -> None:
    assert send(url).phase is Phase.NOT_SENT


def test_a_name_that_does_not_resolve_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> list[object]:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert send("http://nowhere.invalid").phase is Phase.NOT_SENT


@pytest.mark.parametrize("fault", ["reset_before", "reset_after", "lose_answer"])
def test_a_request_without_an_answer_was_sent_and_went_once(
    provider_log: Sandbox, fault: str
) -> None:
    provider_log.script(fault)
    reply = send(provider_log.url)
    assert (reply.phase, reply.status) == (Phase.SENT, None)
    assert reply.trouble is Trouble.BROKEN_OFF
    assert len(provider_log.requests(key="k1")) == 1
    assert provider_log.creates() == (0 if fault == "reset_before" else 1)


def test_a_held_answer_ends_at_the_deadline_as_a_timeout(provider_log: Sandbox) -> None:
    provider_log.script("hold")
    started = time.monotonic()
    reply = send(provider_log.url, deadline_seconds=0.3)
    assert time.monotonic() - started < 3
    assert (reply.phase, reply.trouble) == (Phase.SENT, Trouble.TIMEOUT)
    provider_log.wait_for("client_gone", key="k1")
    assert provider_log.creates() == 1


def test_an_answer_that_drips_ends_at_the_deadline(provider_log: Sandbox) -> None:
    provider_log.script({"drip_seconds": 0.05})
    started = time.monotonic()
    reply = send(provider_log.url, deadline_seconds=0.4)
    assert time.monotonic() - started < 3
    assert (reply.phase, reply.trouble) == (Phase.PARTIAL_ANSWER, Trouble.TIMEOUT)
    assert reply.status == 201
    assert reply.body == b""


def test_headers_that_drip_end_at_the_deadline() -> None:
    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            whole_request(connection)
            until = time.monotonic() + 5
            while time.monotonic() < until:
                try:
                    connection.sendall(b"H")
                except OSError:
                    return
                threading.Event().wait(0.05)

    with listener() as server:
        thread = threading.Thread(target=drip, args=(server,), daemon=True)
        thread.start()
        started = time.monotonic()
        reply = send(url_of(server), deadline_seconds=0.4)
        assert time.monotonic() - started < 3
    assert reply.phase is Phase.SENT
    assert reply.status is None


def test_a_body_without_a_length_that_is_cut_at_the_deadline_is_no_answer() -> None:
    def stall(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            whole_request(connection)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}")
            connection.settimeout(NEVER)
            connection.recv(1)

    with listener() as server:
        threading.Thread(target=stall, args=(server,), daemon=True).start()
        reply = send(url_of(server), deadline_seconds=0.3)
    assert (reply.phase, reply.trouble) == (Phase.PARTIAL_ANSWER, Trouble.TIMEOUT)


def test_a_truncated_body_is_a_partial_answer(provider_log: Sandbox) -> None:
    provider_log.script("truncated")
    reply = send(provider_log.url)
    assert (reply.phase, reply.status) == (Phase.PARTIAL_ANSWER, 201)
    assert reply.trouble is Trouble.BROKEN_OFF


@pytest.mark.parametrize(
    "answer",
    [b"HELLO\r\n\r\n", b"HTTP/1.1 2OO OK\r\n\r\n", b"\x16\x03\x01\x00\x05hello", b"\r\n\r\n"],
)
def test_an_answer_that_is_not_http_says_nothing(answer: bytes) -> None:
    with listener() as server:
        speak(server, answer)
        reply = send(url_of(server))
    assert (reply.phase, reply.status) == (Phase.SENT, None)


def test_an_answer_over_the_cap_is_not_read(provider_log: Sandbox) -> None:
    provider_log.script({"raw": {"text": "x" * 1024, "repeat": 257}})
    reply = send(provider_log.url)
    assert (reply.phase, reply.trouble) == (Phase.ANSWERED, Trouble.TOO_LARGE)
    assert reply.body == b""


def test_a_body_at_the_cap_is_read(provider_log: Sandbox) -> None:
    provider_log.script({"raw": {"text": " " * 1024, "repeat": 256}})
    assert len(send(provider_log.url).body) == ANSWER_BYTES_MAX


def test_a_small_answer_that_inflates_over_the_cap_is_not_read(provider_log: Sandbox) -> None:
    provider_log.script({"raw": {"text": "0" * 1024, "repeat": 60_000, "gzip": True}})
    reply = send(provider_log.url)
    assert reply.trouble is Trouble.TOO_LARGE
    assert reply.body == b""


def test_a_compressed_answer_is_read(provider_log: Sandbox) -> None:
    provider_log.script({"raw": {"text": '{"a":1}', "gzip": True}})
    assert send(provider_log.url).body == b'{"a":1}'


def test_a_compressed_answer_without_its_end_is_not_read() -> None:
    body = gzip.compress(b'{"a":1}')[:-8]
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body)
    )
    with listener() as server:
        speak(server, head + body)
        reply = send(url_of(server))
    assert (reply.trouble, reply.body) == (Trouble.WRONG_ENCODING, b"")


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "nonsense", "gzip"])
def test_an_encoding_that_is_not_what_it_says_is_not_read(
    provider_log: Sandbox, encoding: str
) -> None:
    provider_log.script({"raw": {"text": "{}", "headers": {"Content-Encoding": encoding}}})
    assert send(provider_log.url).trouble is Trouble.WRONG_ENCODING


@pytest.mark.parametrize("kind", ["text/html", "text/plain", "", "application/xml"])
def test_another_content_type_is_not_read(provider_log: Sandbox, kind: str) -> None:
    provider_log.script({"raw": {"text": '{"id":"x"}', "content_type": kind}})
    reply = send(provider_log.url)
    assert (reply.phase, reply.trouble) == (Phase.ANSWERED, Trouble.WRONG_TYPE)
    assert (reply.status, reply.body) == (200, b"")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(provider_log: Sandbox, status: int) -> None:
    target = {"Location": f"{provider_log.url}/v1/payouts"}
    provider_log.script({"raw": {"text": "{}", "status": status, "headers": target}})
    assert send(provider_log.url).status == status
    assert len(provider_log.requests()) == 1


def test_a_proxy_in_the_environment_is_not_used(
    provider_log: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listener() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, url_of(proxy))
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert send(provider_log.url).status == 201
        proxy.settimeout(0.0)
        with pytest.raises(BlockingIOError):
            proxy.accept()


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "post"])
def test_a_reading_door_sends_nothing_but_get(provider_log: Sandbox, method: str) -> None:
    door = Door(provider_log.url, read_only=True)
    with pytest.raises(ReadOnlyDoor):
        door.send(method, path="/v1/charges", deadline_seconds=5, headers=KEY, content=BODY)
    door.close()
    assert provider_log.requests() == []


def test_a_header_with_a_line_break_is_refused_before_anything_leaves(
    provider_log: Sandbox,
) -> None:
    with pytest.raises(ValueError, match="control character"):
        send(provider_log.url, headers={"X-Reference": "a\r\nX-Account: other"})
    assert provider_log.requests() == []


def test_the_deadline_passing_before_the_first_byte_stops_the_request() -> None:
    # A process that was stopped while it connected must not send when it wakes up later.
    with listener() as server:
        slow = socket.create_connection

        def late(*args: object, **kwargs: object) -> socket.socket:
            connection = slow(*args, **kwargs)  # type: ignore[arg-type]
            threading.Event().wait(0.2)
            return connection

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(socket, "create_connection", late)
            reply = send(url_of(server), deadline_seconds=0.1)
        connection, _ = server.accept()
        with connection:
            connection.settimeout(1)
            assert connection.recv(1) == b""
    assert (reply.phase, reply.trouble) == (Phase.NOT_SENT, Trouble.NOT_SENT)


def test_every_request_has_a_connection_of_its_own(provider_log: Sandbox) -> None:
    # The peer closes an idle connection whenever it likes; a send on it would be an unknown.
    ok = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
        b"Connection: keep-alive\r\n\r\n{}"
    )
    with listener() as server:
        _, seen = speak(server, ok, ok, ok)
        door = Door(url_of(server), read_only=True)
        phases = [door.send("GET", path="/", deadline_seconds=5).phase for _ in range(3)]
        door.close()
    assert phases == [Phase.ANSWERED] * 3
    assert len(seen) == 3
    assert all(re.search(rb"(?i)\r\nconnection: close\r\n", request) for request in seen)


def test_at_most_twenty_connections_are_open_and_the_next_one_is_not_sent(
    provider_log: Sandbox,
) -> None:
    provider_log.script("hold", forever=True)
    door = Door(provider_log.url, read_only=False)
    replies: list[Reply] = []

    def one(key: str, deadline_seconds: float) -> None:
        headers = {"Idempotency-Key": key, "Content-Type": "application/json"}
        replies.append(
            door.send(
                "POST",
                path="/v1/charges",
                deadline_seconds=deadline_seconds,
                headers=headers,
                content=BODY,
            )
        )

    threads = [threading.Thread(target=one, args=(f"k{no}", 20.0)) for no in range(20)]
    for thread in threads:
        thread.start()
    for no in range(20):
        provider_log.wait_for("held", key=f"k{no}")
    one("k20", 0.2)
    assert replies[-1].phase is Phase.NOT_SENT
    assert provider_log.requests(key="k20") == []
    provider_log.release()
    for thread in threads:
        thread.join(timeout=10)
    door.close()
    assert [reply.status for reply in replies[1:]] == [201] * 20
