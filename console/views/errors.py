"""What an error of ours says: whether anything was recorded, and a reference to ask about."""

import logging
import sys

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from console import logs

log = logging.getLogger(__name__)


def server_error(request: HttpRequest) -> HttpResponse:
    """500. A lost connection may have lost the answer to a commit, so then we do not know."""
    error = sys.exc_info()[1]
    reference = (logs.request_id.get() or "none")[:8].upper()
    log.error("server_error", extra={"reference": reference})
    title, words = _words(request, lost=isinstance(error, OperationalError | InterfaceError))
    values = {
        "product_name": settings.PRODUCT_NAME,
        "title": title,
        "words": words,
        "reference": reference,
        "again": request.path if request.method == "GET" else request.path.rsplit("/", 1)[0],
    }
    return HttpResponse(render_to_string("500.html", values), status=500)


def _words(request: HttpRequest, *, lost: bool) -> tuple[str, str]:
    if request.method in ("GET", "HEAD"):
        return "This page could not be read", "Nothing has changed. The record is as it was."
    if lost:
        return (
            "We cannot tell whether this was recorded",
            "The connection to the record was lost. Read the case again before you try again.",
        )
    return "Not recorded", "Nothing has changed."
