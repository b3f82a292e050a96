"""All effects of a tenant, settled ones included, newest first."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from console.pages import effects as pages
from console.queries import history
from console.views.boundary import Here, show, tenant_page


@require_safe
@tenant_page
def listing(here: Here) -> HttpResponse:
    """Fifty effects in the states asked for, and the way to older ones."""
    asked = pages.read(here.request.GET.dict())
    stretch = history.page(
        here.seat.tenant_id,
        states=asked.states,
        provider=asked.provider,
        older_than=asked.older,
    )
    values = pages.values(stretch, asked=asked, seat=here.seat, formats=here.formats)
    return show(here, "console/effects/page.html", values)
