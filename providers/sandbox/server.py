"""The sandbox's HTTP process: the public routes, the control surface and the log.

It uses the standard library's threading server because the faults need the raw socket: a reset
is a close with linger 0, a lost answer a close without a byte, a held answer a thread that waits.
"""

import hmac
import json
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

from providers.sandbox import control, page
from providers.sandbox.engine import Ask, Engine, Response, refusal
from providers.sandbox.faults import Plan, Reply
from providers.sandbox.profiles import BY_PATH, Profile
from providers.sandbox.reads import read_list, read_object
from providers.sandbox.wire import Holds, client_is_gone, deliver, reset, too_many

BODY_MAX = 256 * 1024
IDLE_SECONDS = 30
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Sandbox(ThreadingHTTPServer):
    """The listening process; one thread per connection."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(
        self,
        address: tuple[str, int],
        engine: Engine,
        *,
        control_open: bool,
        keys: Mapping[str, bool],
    ) -> None:
        """`keys` maps an accepted bearer key to whether it may create; empty asks for none."""
        super().__init__(address, Exchange)
        self.engine = engine
        self.control_open = control_open
        self.keys = keys
        self.holds = Holds()
        self.stopping = threading.Event()


class Exchange(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    server_version = "sandbox"
    sys_version = ""
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True
    server: Sandbox

    def do_GET(self) -> None:
        """Public reads, the log, the page."""
        self._answer(b"")

    def do_POST(self) -> None:
        """Public creates and the control surface."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > BODY_MAX:
            self.close_connection = True
            self._send(
                refusal(
                    413, code="too_large", message="the body must say its length, up to 256 KiB"
                )
            )
            self._drain()
            return
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            # The client died while it was sending: nothing arrived that could be accepted.
            self.close_connection = True
            return
        self._answer(body)

    def _drain(self) -> None:
        """Read on after a refusal: closing on unread bytes would reset the answer away."""
        self.wfile.flush()
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(1)
            left = 4 * BODY_MAX
            while left > 0 and (chunk := self.connection.recv(65_536)):
                left -= len(chunk)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: the request log is the log."""

    def _answer(self, body: bytes) -> None:
        path = urlsplit(self.path).path
        parts = [unquote(part) for part in path.strip("/").split("/")]
        if path == "/healthz":
            self._send(Response(200, b'{"ok": true}'))
        elif parts[0] == "_sandbox":
            self._inside(parts[1:], body)
        elif parts[0] == "v1" and len(parts) in (2, 3) and parts[1] in BY_PATH:
            self._public(BY_PATH[parts[1]], parts[2:], body)
        else:
            self._send(refusal(404, code="no_such_route", message="there is nothing here"))

    # The public surface.

    def _public(self, profile: Profile, rest: list[str], body: bytes) -> None:
        ask = self._ask(profile, body)
        if not self._is_allowed(creates=ask.kind == "create"):
            self._send(
                refusal(401, code="unauthorized", message="a key that may do this is needed")
            )
            return
        if ask.kind == "create" and rest:
            self._send(
                refusal(405, code="not_allowed", message="objects are made at the collection")
            )
            return
        no, chosen = self.server.engine.receive(ask)
        if chosen.reply is Reply.RESET_BEFORE:
            self.server.engine.store.update_request(no, changes={"outcome": "reset"})
            reset(self)
            return
        if chosen.reply is Reply.TOO_MANY:
            self._finish(no, too_many(chosen.retry_after_seconds), chosen)
        elif ask.kind == "create":
            self._create(ask, chosen, no=no)
        else:
            self._look(ask, chosen, no=no, rest=rest)

    def _create(self, ask: Ask, chosen: Plan, *, no: int) -> None:
        engine = self.server.engine
        if ask.profile.key_seconds is not None and not ask.key:
            words = "send an Idempotency-Key"
            self._finish(no, refusal(400, code="key_missing", message=words), Plan())
            return
        if not engine.claim_key(ask):
            words = "a request with this key is running"
            self._finish(no, refusal(409, code="key_in_use", message=words), Plan())
            return
        try:
            # A request that arrived is carried out even if its client has gone meanwhile.
            self._wait_before(ask, chosen)
            response = engine.accept(ask, chosen=chosen, no=no)
            self._wait_after(ask, chosen, no=no)
            self._finish(no, response, chosen)
        finally:
            engine.free_key(ask)

    def _look(self, ask: Ask, chosen: Plan, *, no: int, rest: list[str]) -> None:
        self._wait_before(ask, chosen)
        store = self.server.engine.store
        found = (
            read_object(ask, store=store, object_id=rest[0])
            if rest
            else read_list(ask, store=store)
        )
        if chosen.reply is Reply.ERROR:
            found = refusal(500, code="internal", message="something went wrong here")
        self._wait_after(ask, chosen, no=no)
        self._finish(no, found, chosen)

    def _wait_before(self, ask: Ask, chosen: Plan) -> None:
        self.server.stopping.wait(chosen.delay_before_seconds)
        if chosen.hold_before_seconds:
            seconds = chosen.hold_before_seconds
            self.server.holds.wait(ask, seconds=seconds, stop=self.server.stopping.is_set)

    def _wait_after(self, ask: Ask, chosen: Plan, *, no: int) -> None:
        self.server.stopping.wait(chosen.delay_after_seconds)
        if chosen.hold_seconds:
            self.server.engine.store.update_request(no, changes={"outcome": "held"})
            seconds = chosen.hold_seconds
            self.server.holds.wait(ask, seconds=seconds, stop=self._is_over)

    def _is_over(self) -> bool:
        return self.server.stopping.is_set() or client_is_gone(self.connection)

    def _finish(self, no: int, response: Response, chosen: Plan) -> None:
        # The log is written before the answer leaves: whoever has the answer finds it there.
        store = self.server.engine.store
        store.update_request(
            no, changes={"outcome": "answered", "status": _status(chosen, response)}
        )
        request_id = self.headers.get("X-Request-Id", "")
        if request_id and request_id.isascii() and request_id.isprintable():
            extra = {"X-Request-Id": request_id}
            response = Response(response.status, response.body, {**response.headers, **extra})
        outcome = deliver(self, response=response, chosen=chosen)
        if outcome != "answered":
            store.update_request(no, changes={"outcome": outcome, "status": None})

    def _ask(self, profile: Profile, body: bytes) -> Ask:
        query = urlsplit(self.path).query
        pairs = parse_qsl(query, keep_blank_values=True)
        reference, account = self.headers.get("X-Reference"), self.headers.get("X-Account")
        return Ask(
            method=self.command,
            path=urlsplit(self.path).path,
            query=query,
            kind="create" if self.command == "POST" else "lookup",
            profile=profile,
            account=unquote(account) if account else "default",
            tenant=self.headers.get("X-Tenant"),
            key=self.headers.get("Idempotency-Key") or dict(pairs).get("idempotency_key"),
            reference=unquote(reference) if reference else None,
            request_id=self.headers.get("X-Request-Id"),
            attempt=self.headers.get("X-Attempt"),
            body=body,
            parameters=dict(pairs),
        )

    def _is_allowed(self, *, creates: bool) -> bool:
        if not self.server.keys:
            return True
        given = self.headers.get("Authorization", "").removeprefix("Bearer ").encode()
        return any(
            hmac.compare_digest(given, key.encode()) and (may_create or not creates)
            for key, may_create in self.server.keys.items()
        )

    # The log and the control surface.

    def _inside(self, parts: list[str], body: bytes) -> None:
        name = "/".join(parts)
        query = dict(parse_qsl(urlsplit(self.path).query))
        engine = self.server.engine
        if self.command == "POST":
            self._send(self._control(name, body))
        elif name == "requests":
            self._send(control.requests(engine.store, query=query))
        elif name == "effects":
            self._send(control.effects(engine.store, query=query))
        elif name == "style.css":
            self._send(Response(200, page.style(), {"Content-Type": "text/css; charset=utf-8"}))
        elif name == "":
            headers = {"Content-Type": "text/html; charset=utf-8", **PAGE_HEADERS}
            self._send(Response(200, page.render(engine.store, query=query).encode(), headers))
        else:
            self._send(refusal(404, code="no_such_route", message="there is nothing here"))

    def _control(self, name: str, body: bytes) -> Response:
        if not self.server.control_open:
            return refusal(
                403, code="control_closed", message="start the sandbox with --control for this"
            )
        if self.headers.get_content_type() != "application/json":
            # A page in a browser cannot send this type across origins without being asked first.
            return refusal(415, code="json_only", message="send application/json")
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return refusal(400, code="invalid_request", message="the body is not JSON")
        return control.act(name, value=value, engine=self.server.engine, holds=self.server.holds)

    def _send(self, response: Response) -> None:
        deliver(self, response=response, chosen=Plan())


def _status(chosen: Plan, response: Response) -> int:
    """The status line that goes out under a fault."""
    fixed = {Reply.HTML: 502, Reply.EMPTY: 200}
    if chosen.raw is not None:
        return chosen.raw.status
    return fixed.get(chosen.reply, response.status)
