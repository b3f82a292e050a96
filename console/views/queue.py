"""The queue of unknown effects, its preview and its pulse."""

from urllib.parse import parse_qsl

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console.pages import peek as peeks
from console.pages import queue as pages
from console.queries import asking, queue
from console.views.boundary import Here, show, tenant_page
from ledger.rules.states import State

LONGEST_NUMBER = 15


@require_safe
@tenant_page
def listing(here: Here) -> HttpResponse:
    """The queue as its address asks for it; for htmx, the chosen effect's preview alone."""
    seat, now = here.seat, here.formats.now
    asked = asking.read(here.request.GET.dict(), base_currency=seat.base_currency)
    peek = peeks.of(seat, asked=asked, formats=here.formats) if asked.chosen else None
    if here.target == "peek":
        return render(here.request, "console/queue/_peek.html", {"peek": peek})
    facets = queue.facets(seat.tenant_id, asked=asked, now=now)
    page = queue.page(seat.tenant_id, asked=asked, now=now)
    unknown = sum(facet.count for facet in facets if facet.state == State.UNKNOWN)
    values = pages.values(facets, page=page, seat=seat, asked=asked, formats=here.formats)
    return show(
        here,
        "console/queue/page.html",
        {**values, "peek": peek, "gone": asked.chosen is not None and peek is None},
        unknown=unknown,
        keys="queue",
    )


@require_safe
@tenant_page
def pulse(here: Here) -> HttpResponse:
    """Whether the queue moved since the list was read; 204 where it did not. Moves no row."""
    given = here.request.GET
    asked = asking.read(
        dict(parse_qsl(given.get("list", ""))), base_currency=here.seat.base_currency
    )
    seen = (_number(given.get("count")), _number(given.get("entries")))
    now = queue.pulse(here.seat.tenant_id)
    if now == seen:
        return HttpResponse(status=204)
    moved = pages.pulse(here.seat, asked=asked, seen=seen, now=now)
    return render(here.request, "console/queue/_pulse.html", {"pulse": moved})


def _number(text: str | None) -> int:
    plain = text is not None and text.isascii() and text.isdigit()
    return int(text) if text and plain and len(text) <= LONGEST_NUMBER else 0
