"""Before a tenant is chosen: the way in, the tenant switcher, and a person's own settings."""

from zoneinfo import available_timezones

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_safe

from console import forms, people
from console.pages import frame
from ledger import access
from ledger.models import Account


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """To the queue where there is one tenant, else to the choice between them."""
    found = access.tenants(people.account(request).id)
    only = found[0][1] if len(found) == 1 else None
    return redirect("queue", only) if only else redirect("tenants")


@require_safe
def tenants(request: HttpRequest) -> HttpResponse:
    """Every tenant the account can see, with its unknown effects."""
    account = people.account(request)
    found = people.tenants(account.id)
    rows = [
        {"slug": t.slug, "name": t.name, "environment": t.environment.upper(), "count": t.unknown}
        for t in found
    ]
    values = {"frame": frame.plain(account), "tenants": rows}
    return render(request, "console/tenants/page.html", values)


@require_http_methods(["GET", "HEAD", "POST"])
def preferences(request: HttpRequest) -> HttpResponse:
    """Theme, density and time zone of the account; changed by the sign-in login alone."""
    account, back, wrong = people.account(request), _back(request), ""
    if request.method == "POST":
        changes, wrong = forms.preferences(request.POST)
        if not wrong:
            Account.objects.filter(pk=account.id).update(**changes)
            return redirect(back)
    values = {
        "frame": frame.plain(account),
        "themes": frame.choices(frame.THEMES, current=account.theme),
        "densities": frame.choices(frame.DENSITIES, current=account.density),
        "zones": sorted(available_timezones()),
        "zone": request.POST.get("zone", account.zone),
        "wrong": wrong,
        "next": back,
    }
    return render(request, "console/preferences/page.html", values, status=422 if wrong else 200)


def _back(request: HttpRequest) -> str:
    """The address to go back to: one of ours, or the beginning."""
    asked = request.POST.get("next") or request.GET.get("next") or "/"
    ours = url_has_allowed_host_and_scheme(asked, allowed_hosts=None)
    return asked if ours and asked.startswith("/") else "/"
