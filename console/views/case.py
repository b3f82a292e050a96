"""One effect's case file."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from console.pages import case as pages
from console.pages import recorded
from console.pages.decide import Entered
from console.refusals import Refusal
from console.views.boundary import Here, show, tenant_page
from ledger import facts
from ledger.errors import NotFound
from ledger.facts import Case

NOTHING_ENTERED = Entered()


@require_safe
@tenant_page
def page(here: Here, effect_id: UUID) -> HttpResponse:
    """The whole case on one page; 404 for an effect of another tenant, as for none."""
    return case_page(here, read(here, effect_id), given=here.request.GET.dict())


def read(here: Here, effect_id: UUID) -> Case:
    """The case as it is now. Raises Http404 where this tenant has no such effect."""
    try:
        return facts.case(here.seat.tenant_id, effect_id, now=here.formats.now)
    except NotFound as nothing:
        raise Http404 from nothing


def case_page(
    here: Here,
    case: Case,
    *,
    given: dict[str, str],
    entered: Entered = NOTHING_ENTERED,
    refusal: Refusal | None = None,
    seen: int | None = None,
) -> HttpResponse:
    """The case file, or the same page with a refused form kept and what moved since `seen`."""
    values: dict[str, Any] = pages.values(
        case, seat=here.seat, formats=here.formats, given=given, entered=entered
    )
    path = here.request.path if refusal is None else here.request.path.rsplit("/", 1)[0]
    values["head"]["url"] = here.request.build_absolute_uri(path)
    values["refusal"] = refusal
    values["moved"] = recorded.moved(case, seen=seen, formats=here.formats) if refusal else ()
    values["note"] = recorded.note(case, number=given.get("recorded", ""), formats=here.formats)
    return show(
        here,
        "console/case/page.html",
        values,
        status=refusal.status if refusal else 200,
        keys="case",
    )
