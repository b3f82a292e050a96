"""The search box: an exact id leads straight to its case."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from console.pages import search as pages
from console.queries import search
from console.views.boundary import Here, show, tenant_page


@require_safe
@tenant_page
def results(here: Here) -> HttpResponse:
    """To the one effect that was named exactly, else what the text may mean and why."""
    text = here.request.GET.get("q", "").strip()[: search.LONGEST]
    hits = search.find(here.seat.tenant_id, text=text)
    exact = [hit for hit in hits if hit.exact]
    if len(exact) == 1:
        return redirect("case", here.seat.slug, exact[0].effect_id)
    values = pages.values(hits, text=text, seat=here.seat, formats=here.formats)
    return show(here, "console/search/page.html", values, sought=text)
