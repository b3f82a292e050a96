"""What every page of a tenant goes through: who is here, which tenant, what a refusal becomes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from console import formats, people, refusals
from console.formats import Formats
from console.pages import frame
from console.people import Seat
from console.queries import queue
from ledger import access, audit, clock
from ledger.errors import LedgerError, NotPermitted
from ledger.ids import screen_id
from ledger.models import Account

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Here:
    """One request inside a tenant: who sits where, and how moments are written for them."""

    request: HttpRequest
    account: Account
    seat: Seat
    formats: Formats

    @property
    def fragment(self) -> bool:
        """Whether htmx asks, so that a part of the page is enough."""
        return self.request.headers.get("HX-Request") == "true"

    @property
    def target(self) -> str:
        """The id of the element that htmx fills; "" for a whole page."""
        return self.request.headers.get("HX-Target", "") if self.fragment else ""


Page = Callable[Concatenate[Here, P], HttpResponse]
View = Callable[Concatenate[HttpRequest, str, P], HttpResponse]


def tenant_page(page: Page[P]) -> View[P]:
    """A view that enters the tenant named in its address before anything else.

    404 where the account holds nothing there, with the same body as for no such tenant; 403 with
    what is missing where it holds something but may not view.
    """

    @wraps(page)
    def view(request: HttpRequest, tenant: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        account = people.account(request)
        seat = people.seat(account.id, slug=tenant)
        if seat is None:
            raise Http404
        access.enter(seat.tenant_id)
        here = Here(request, account, seat, formats.of(account.zone, now=clock.now()))
        if not seat.may("view"):
            return missing(here, "view")
        return page(here, *args, **kwargs)

    return view


def act(page: Callable[[Here, UUID], HttpResponse]) -> View[...]:
    """A view that acts on an effect by POST; whoever follows its address as a link gets the case.

    That is what happens after signing in again, since the form that was sent is then gone.
    """

    @require_http_methods(["GET", "HEAD", "POST"])
    @tenant_page
    @wraps(page)
    def view(here: Here, effect_id: UUID) -> HttpResponse:
        if here.request.method != "POST":
            return redirect("case", here.seat.slug, screen_id(effect_id))
        return page(here, effect_id)

    return view


def show(
    here: Here,
    template: str,
    values: Mapping[str, Any],
    *,
    status: int = 200,
    unknown: int | None = None,
    keys: str = "",
    sought: str = "",
) -> HttpResponse:
    """A whole page inside the frame. `unknown` is the queue's count where the page knows it."""
    count = queue.unknown(here.seat.tenant_id) if unknown is None else unknown
    around = frame.of(
        here.account,
        seat=here.seat,
        formats=here.formats,
        here=here.request.get_full_path() if here.request.method == "GET" else here.request.path,
        keys=keys,
        unknown=count,
        sought=sought,
    )
    return render(here.request, template, {"frame": around, **values}, status=status)


def missing(here: Here, permission: str) -> HttpResponse:
    """403: what is missing, and who can grant it."""
    granters = ", ".join(people.granters(here.seat.tenant_id))
    values = {
        "title": "You may not see this",
        "words": refusals.lacking(permission, tenant=here.seat.tenant_name),
        "granters": granters or "Nobody in this tenant can grant it; ask who runs the deployment.",
    }
    return show(here, "console/refused.html", values, status=403, unknown=0)


def refused(here: Here, refusal: LedgerError, *, what: str, effect: str | None) -> None:
    """Write a refused attempt to the record, after what it tried was rolled back."""
    try:
        by = people.acting(here.request)
    except NotPermitted:
        by = None
    audit.record(
        "refused",
        tenant_id=here.seat.tenant_id,
        by=by,
        object_type="effect" if effect else "page",
        object_id=effect or here.request.path,
        facts={"attempt": what, "code": refusal.code, "account": str(here.account.id)},
    )
