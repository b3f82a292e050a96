"""What each provider promises and can be asked, from the contracts in force."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from console.pages import contracts as pages
from console.queries import contracts
from console.views.boundary import Here, show, tenant_page


@require_safe
@tenant_page
def listing(here: Here) -> HttpResponse:
    """The capability matrix, and every contract in sentences."""
    values = pages.values(contracts.in_force(), formats=here.formats)
    return show(here, "console/providers/page.html", values)
