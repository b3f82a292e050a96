"""What every answer carries and every session obeys."""

import re
import uuid
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse

from console import logs
from ledger import clock

Next = Callable[[HttpRequest], HttpResponse]

# No nonce is needed, for no page has a script or a style of its own.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Permissions-Policy": (
        "accelerometer=(), camera=(), geolocation=(), gyroscope=(), microphone=(), payment=(), "
        "usb=()"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",  # static files come with their own
}
GIVEN_REQUEST_ID = re.compile(r"[A-Za-z0-9-]{8,64}")


def security_headers(get_response: Next) -> Next:
    """Add HEADERS to every answer that does not say otherwise; error pages and files included."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return middleware


def request_id(get_response: Next) -> Next:
    """Name the request: the proxy's X-Request-ID if it is a plain word, else a new id."""

    def middleware(request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        name = given if GIVEN_REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        token = logs.request_id.set(name)
        try:
            response = get_response(request)
        finally:
            logs.request_id.reset(token)
        response.headers["X-Request-ID"] = name
        return response

    return middleware


def session_limits(get_response: Next) -> Next:
    """End a signed-in session after SESSION_ABSOLUTE_SECONDS, or when idle for its cookie's age."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if SESSION_KEY in request.session:
            keep_or_end(request.session, now=int(clock.now().timestamp()))
        return get_response(request)

    return middleware


def keep_or_end(session: Any, *, now: int) -> None:
    """Renew the session, at most once per SESSION_RENEW_SECONDS, or empty it if it is too old.

    `now` is in seconds since 1970. Saving is what renews: the row expires SESSION_IDLE_SECONDS
    after it was last saved.
    """
    if now - session.get("signed_in_at", now) >= settings.SESSION_ABSOLUTE_SECONDS:
        session.flush()
    elif now - session.get("renewed_at", 0) >= settings.SESSION_RENEW_SECONDS:
        session["signed_in_at"] = session.get("signed_in_at", now)
        session["renewed_at"] = now
