"""Deciding a case and handing it over; a refusal shows the same page with everything kept."""

from uuid import UUID

from django.db import transaction
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse

from console import forms, people, refusals
from console.pages import case as pages
from console.views.boundary import Here, act, refused
from console.views.case import case_page, read
from ledger import resolutions
from ledger.errors import LedgerError
from ledger.ids import screen_id


@act
def resolve(here: Here, effect_id: UUID) -> HttpResponse:
    """Record a decision: 303 to the case, or the same page with the refusal and the form kept."""
    form = forms.Decided.read(here.request.POST)
    try:
        with transaction.atomic():
            by = people.acting(here.request)
            done = resolutions.propose(here.seat.tenant_id, effect_id, form.proposal(), by=by)
    except LedgerError as refusal:
        return _refused(here, effect_id, refusal, form, what=form.what)
    return _recorded(here, effect_id, done.no)


@act
def escalate(here: Here, effect_id: UUID) -> HttpResponse:
    """Name who must act: 303 to the case, or the same page with the refusal and the form kept."""
    form = forms.HandedOver.read(here.request.POST, zone=here.formats.zone)
    tenant_id = here.seat.tenant_id
    try:
        with transaction.atomic():
            by = people.acting(here.request)
            done = resolutions.escalate(tenant_id, effect_id, form.handover(), by=by)
    except LedgerError as refusal:
        return _refused(here, effect_id, refusal, form, what="escalate")
    return _recorded(here, effect_id, done.no)


def _recorded(here: Here, effect_id: UUID, number: int) -> HttpResponse:
    """303 to the case, whose status line is then written from the record."""
    came = pages.came(here.request.POST.dict(), seat=here.seat)
    url = reverse("case", args=[here.seat.slug, screen_id(effect_id)])
    query = f"&{came.query}" if came.query else ""
    return HttpResponseRedirect(f"{url}?recorded=E{number}{query}", status=303)


def _refused(
    here: Here,
    effect_id: UUID,
    refusal: LedgerError,
    form: forms.Decided | forms.HandedOver,
    *,
    what: str,
) -> HttpResponse:
    case = read(here, effect_id)
    refused(here, refusal, what=what, effect=screen_id(effect_id))
    shown = refusals.shown(refusal, say=here.formats.say)
    entered = form.entered(shown.fields, renewed=shown.code == "moved")
    return case_page(
        here,
        case,
        given=here.request.POST.dict(),
        entered=entered,
        refusal=shown,
        seen=form.version,
    )
