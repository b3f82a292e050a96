"""The one door to the network: one attempt, one deadline, capped answers, and how far it got.

Nothing is retried, no redirect is followed, no proxy is taken from the environment, no cookie is
kept and no connection is used twice: an idle connection that the peer has closed meanwhile would
turn a request into an unknown for nothing.
"""

import http.cookiejar
import math
import threading
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import httpx

from ledger.rules.contract import Phase

ANSWER_BYTES_MAX = 256 * 1024
CONNECTIONS_MAX = 20
JSON_TYPES = ("application/json", "application/problem+json")
HEADERS_KEPT = ("request-id", "x-request-id", "idempotent-replayed", "retry-after", "date")

# Gzip and zlib by their own headers; anything else that a peer might send is not read.
_ANY_ZLIB = zlib.MAX_WBITS | 32
_CONTROL = frozenset(range(0x20)) | {0x7F}
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", None)


def uptime_seconds() -> float:
    """The clock of every `send_by`: nobody sets it, and it runs on while the machine is suspended.

    A monotonic clock may stand still in a suspended machine, while the lease runs out elsewhere.
    """
    return time.monotonic() if _BOOT_CLOCK is None else time.clock_gettime(_BOOT_CLOCK)


class ReadOnlyDoor(RuntimeError):
    """A lookup tried to send something other than a GET: a defect of the adapter."""


class Trouble(StrEnum):
    """Why there is no usable answer."""

    NOT_SENT = "not_sent"
    LEASE_OVER = "lease_over"
    TIMEOUT = "timeout"
    BROKEN_OFF = "broken_off"
    TOO_LARGE = "too_large"
    WRONG_TYPE = "wrong_type"
    WRONG_ENCODING = "wrong_encoding"


@dataclass(frozen=True, slots=True)
class Reply:
    """What one request brought back.

    `phase` is ANSWERED when a whole answer was read; `trouble` then says why its body may not be
    used, if so. LEASE_OVER: the permission to send ended before a whole request was written.
    `headers` has lower-case names, allow-listed ones alone. `body` is decompressed.
    """

    phase: Phase
    duration_ms: int
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    trouble: Trouble | None = None


class _TooLate(Exception):
    """The deadline passed before the first byte was written."""


class _LeaseOver(Exception):
    """The permission to send ended before the whole request was written."""


_WRITES = (
    "connection.connect_tcp.started",
    "connection.start_tls.started",
    ".send_request_headers.started",
    ".send_request_body.started",
)
# The only errors that prove that no byte of the request was written.
_NEVER_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    _TooLate,
)


class _Unusable(Exception):
    """An answer that is not read further; carries the trouble."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.value)
        self.trouble = trouble


class Door:
    """Requests to one provider. Safe to use from many threads; at most 20 connections."""

    def __init__(self, base_url: str, *, read_only: bool) -> None:
        """`read_only` makes everything but GET raise ReadOnlyDoor before a byte is sent.

        Raises ValueError for an address that cannot be read.
        """
        try:
            httpx.URL(base_url)
        except httpx.InvalidURL as error:
            raise ValueError(f"{base_url!r} is not an address") from error
        self._read_only = read_only
        self._client = httpx.Client(
            base_url=base_url,
            trust_env=False,
            follow_redirects=False,
            cookies=http.cookiejar.CookieJar(
                http.cookiejar.DefaultCookiePolicy(allowed_domains=[])
            ),
            limits=httpx.Limits(max_connections=CONNECTIONS_MAX, max_keepalive_connections=0),
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "gzip, identity",
                "Connection": "close",
                "User-Agent": "ascertain",
            },
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def send(
        self,
        method: str,
        *,
        path: str,
        deadline_seconds: float,
        send_by: float = math.inf,
        headers: Mapping[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> Reply:
        """Send one request, once, and return what came back within `deadline_seconds` in all.

        Nothing is written once `uptime_seconds` has reached `send_by`, whoever was paused where.
        Never raises for what the network does. Raises ReadOnlyDoor as said, and ValueError for a
        header or an address that cannot be written.
        """
        if self._read_only and method != "GET":
            raise ReadOnlyDoor(f"a lookup may not send {method}")
        request = self._client.build_request(
            method, path, headers=headers, params=parameters, content=content
        )
        _check_headers(request.headers)
        watch = _Watch(deadline_seconds, send_by=send_by)
        request.extensions = {
            "timeout": httpx.Timeout(deadline_seconds).as_dict(),
            "trace": watch.trace,
        }
        return self._exchange(request, watch)

    def _exchange(self, request: httpx.Request, watch: "_Watch") -> Reply:
        status: int | None = None
        kept: dict[str, str] = {}
        try:
            with watch:
                response = self._client.send(request, stream=True)
                try:
                    status, kept = response.status_code, _kept(response.headers)
                    body = _body(response)
                finally:
                    response.close()
        except _LeaseOver:
            phase = Phase.SENT if watch.has_begun else Phase.NOT_SENT
            return Reply(phase, watch.duration_ms, trouble=Trouble.LEASE_OVER)
        except _NEVER_SENT:
            trouble = Trouble.LEASE_OVER if watch.lease_is_over else Trouble.NOT_SENT
            return Reply(Phase.NOT_SENT, watch.duration_ms, trouble=trouble)
        except _Unusable as unusable:
            return Reply(Phase.ANSWERED, watch.duration_ms, status, kept, trouble=unusable.trouble)
        except httpx.HTTPError as error:
            phase = Phase.SENT if status is None else Phase.PARTIAL_ANSWER
            late = watch.is_over or isinstance(error, httpx.TimeoutException)
            trouble = Trouble.TIMEOUT if late else Trouble.BROKEN_OFF
            if watch.was_cut_short:
                trouble = Trouble.LEASE_OVER
            return Reply(phase, watch.duration_ms, status, kept, trouble=trouble)
        if watch.is_over:
            # The cut reads like the end of a body that does not say its length.
            return Reply(
                Phase.PARTIAL_ANSWER, watch.duration_ms, status, kept, trouble=Trouble.TIMEOUT
            )
        return Reply(Phase.ANSWERED, watch.duration_ms, status, kept, body)


class _Watch:
    """The deadline of one request: no byte is written after it, and the socket is cut at it.

    The library's timeouts are per read; a peer that sends one byte a second never meets them.
    Where `send_by` comes before the deadline, a request not written whole by then is cut too.
    """

    def __init__(self, deadline_seconds: float, *, send_by: float) -> None:
        self._started = uptime_seconds()
        self._until = self._started + deadline_seconds
        self._send_by = send_by
        self._stream: object = None
        self._timers = [threading.Timer(deadline_seconds, self._end)]
        if send_by < self._until:
            self._timers.append(threading.Timer(send_by - self._started, self._cut_short))
        self._is_written = False
        self.has_begun = False
        self.is_over = False
        self.was_cut_short = False

    @property
    def duration_ms(self) -> int:
        """Milliseconds since the request began."""
        return round((uptime_seconds() - self._started) * 1000)

    @property
    def lease_is_over(self) -> bool:
        """Whether the permission to send has ended."""
        return uptime_seconds() >= self._send_by

    def __enter__(self) -> "_Watch":
        for timer in self._timers:
            timer.daemon = True
            timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        for timer in self._timers:
            timer.cancel()

    def trace(self, event: str, details: Mapping[str, object]) -> None:
        """Called by the transport at each step of the exchange."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._stream = details["return_value"]
        # Asked right before each step that writes; a request without its body is not carried out.
        if event.endswith(_WRITES) and self.lease_is_over:
            raise _LeaseOver
        if event.endswith(".send_request_headers.started"):
            if uptime_seconds() >= self._until:
                raise _TooLate
            self.has_begun = True
        if event.endswith(".send_request_body.complete"):
            self._is_written = True

    def _end(self) -> None:
        self.is_over = True
        self._cut()

    def _cut_short(self) -> None:
        if not self._is_written:
            self.was_cut_short = True
            self._cut()

    def _cut(self) -> None:
        find = getattr(self._stream, "get_extra_info", None)
        connection = find("socket") if find else None
        if connection is None:
            return
        try:
            # The reading thread wakes with an end of file; closing would leave it asleep.
            connection.shutdown(2)
        except OSError:
            return


def _check_headers(headers: httpx.Headers) -> None:
    """Refuse what would be refused while the request is being written, or smuggle a line."""
    for name, value in headers.raw:
        if not _CONTROL.isdisjoint(value):
            raise ValueError(f"the header {name.decode('ascii')} holds a control character")


def _kept(headers: httpx.Headers) -> dict[str, str]:
    return {name: headers[name][:200] for name in HEADERS_KEPT if name in headers}


def _body(response: httpx.Response) -> bytes:
    """The decompressed body. Raises _Unusable before more than the cap is in memory."""
    raw = bytearray()
    for chunk in response.iter_raw():
        raw += chunk
        if len(raw) > ANSWER_BYTES_MAX:
            raise _Unusable(Trouble.TOO_LARGE)
    body = _plain(bytes(raw), encoding=response.headers.get("content-encoding", "identity"))
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in JSON_TYPES:
        raise _Unusable(Trouble.WRONG_TYPE)
    return body


def _plain(raw: bytes, *, encoding: str) -> bytes:
    wanted = encoding.strip().lower()
    if wanted == "identity":
        return raw
    if wanted not in ("gzip", "deflate"):
        raise _Unusable(Trouble.WRONG_ENCODING)
    inflate = zlib.decompressobj(_ANY_ZLIB)
    try:
        body = inflate.decompress(raw, ANSWER_BYTES_MAX + 1)
    except zlib.error:
        raise _Unusable(Trouble.WRONG_ENCODING) from None
    if len(body) > ANSWER_BYTES_MAX:
        raise _Unusable(Trouble.TOO_LARGE)
    if not inflate.eof:
        raise _Unusable(Trouble.WRONG_ENCODING)
    return body
