"""How an answer leaves the sandbox, or fails to: lost, reset, cut short, held or dripped."""

import gzip
import json
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from providers.sandbox.engine import Ask, Response
from providers.sandbox.faults import Plan, Raw, Reply

POLL_SECONDS = 0.02
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
HTML_PAGE = (
    b"<!doctype html><html><head><title>502 Bad Gateway</title></head>"
    b"<body><h1>Bad Gateway</h1><p>The upstream did not answer in time.</p></body></html>"
)


@dataclass(slots=True)
class Hold:
    """One request that waits, and the words by which it can be released."""

    facts: Mapping[str, str | None]
    released: threading.Event = field(default_factory=threading.Event)


class Holds:
    """Every request that waits now."""

    def __init__(self) -> None:
        self._holds: list[Hold] = []
        self._lock = threading.Lock()

    def wait(self, ask: Ask, *, seconds: float, stop: Callable[[], bool]) -> None:
        """Wait until released, `seconds` have passed, or `stop` says so."""
        facts = {"key": ask.key, "reference": ask.reference, "request_id": ask.request_id}
        hold = Hold(facts)
        with self._lock:
            self._holds.append(hold)
        until = time.monotonic() + seconds
        while time.monotonic() < until and not stop():
            if hold.released.wait(POLL_SECONDS):
                break
        with self._lock:
            self._holds.remove(hold)

    def release(self, match: Mapping[str, str]) -> int:
        """Let every waiting request go that `match` describes; returns how many."""
        with self._lock:
            chosen = [h for h in self._holds if all(h.facts.get(k) == v for k, v in match.items())]
        for hold in chosen:
            hold.released.set()
        return len(chosen)


def client_is_gone(connection: socket.socket) -> bool:
    """Whether the other side has closed the connection."""
    try:
        readable, _, _ = select.select([connection], [], [], 0)
        return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""
    except (OSError, ValueError):
        return True


def deliver(exchange: BaseHTTPRequestHandler, *, response: Response, chosen: Plan) -> str:
    """Send `response` as the plan wants it; returns the outcome for the log."""
    reply = chosen.reply
    try:
        if reply in (Reply.RESET_BEFORE, Reply.RESET_AFTER):
            reset(exchange)
            return "reset"
        if reply is Reply.LOSE:
            exchange.close_connection = True
            return "lost"
        if reply is Reply.RAW and chosen.raw:
            _send_raw(exchange, chosen.raw, drip_seconds=chosen.drip_seconds)
        elif reply is Reply.HTML:
            _send(exchange, 502, HTML_PAGE, {"Content-Type": "text/html"})
        elif reply is Reply.EMPTY:
            _send(exchange, 200, b"", {"Content-Type": "application/json"})
        elif reply is Reply.TRUNCATED:
            _send_half(exchange, response)
        else:
            headers = {"Content-Type": "application/json", **response.headers}
            drip = chosen.drip_seconds
            _send(exchange, response.status, response.body, headers, drip_seconds=drip)
    except OSError:
        exchange.close_connection = True
        return "client_gone"
    return "answered"


def reset(exchange: BaseHTTPRequestHandler) -> None:
    """Close the connection with RST: linger 0 and no polite shutdown before it."""
    connection = exchange.connection
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    exchange.close_connection = True
    socket.close(connection.detach())


def too_many(retry_after_seconds: int | None) -> Response:
    """429 as the limiter in front of the key layer gives it."""
    error = {"error": {"code": "rate_limited", "message": "too many requests; not processed"}}
    headers = {} if retry_after_seconds is None else {"Retry-After": str(retry_after_seconds)}
    return Response(429, json.dumps(error).encode(), headers)


def _send(
    exchange: BaseHTTPRequestHandler,
    status: int,
    body: bytes,
    headers: Mapping[str, str],
    *,
    drip_seconds: float = 0.0,
) -> None:
    exchange.send_response(status)
    for name, value in headers.items():
        exchange.send_header(name, value)
    exchange.send_header("Content-Length", str(len(body)))
    exchange.end_headers()
    if not drip_seconds:
        exchange.wfile.write(body)
        return
    for position in range(len(body)):
        exchange.wfile.write(body[position : position + 1])
        time.sleep(drip_seconds)


def _send_half(exchange: BaseHTTPRequestHandler, response: Response) -> None:
    """Promise the whole body, send half of it, and close."""
    exchange.send_response(response.status)
    exchange.send_header("Content-Type", "application/json")
    exchange.send_header("Content-Length", str(len(response.body)))
    exchange.end_headers()
    exchange.wfile.write(response.body[: len(response.body) // 2])
    exchange.close_connection = True


def _send_raw(exchange: BaseHTTPRequestHandler, raw: Raw, *, drip_seconds: float) -> None:
    body = raw.text.encode("utf-8", "surrogatepass") * raw.repeat
    headers = {"Content-Type": raw.content_type, **raw.headers}
    if raw.gzip:
        body = gzip.compress(body, 9)
        headers["Content-Encoding"] = "gzip"
    _send(exchange, raw.status, body, headers, drip_seconds=drip_seconds)
