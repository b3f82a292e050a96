"""Asking a provider from the case, and how far the answer is."""

from uuid import UUID

from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from console import doorbell, people, refusals
from console.pages import looking
from console.pages.decide import Entered
from console.pages.looking import Looking
from console.views.boundary import Here, act, refused, show, tenant_page
from console.views.case import case_page, read
from ledger import lookups
from ledger.errors import LedgerError
from ledger.ids import screen_id
from ledger.rules.decisions import Decision


@act
def ask(here: Here, effect_id: UUID) -> HttpResponse:
    """Ask for a lookup, or join the one that runs; the worker does the asking."""
    tenant_id, slug = here.seat.tenant_id, here.seat.slug
    try:
        with transaction.atomic():
            ticket = lookups.request(tenant_id, effect_id, by=people.acting(here.request))
    except LedgerError as refusal:
        return _refused(here, effect_id, refusal)
    if not ticket.joined:
        doorbell.look(tenant_id, lookup_id=ticket.lookup_id)
    if here.fragment:
        return progress_fragment(here, effect_id, ticket.lookup_id)
    return redirect("lookup", slug, screen_id(effect_id), ticket.lookup_id)


@require_safe
@tenant_page
def progress(here: Here, effect_id: UUID, lookup_id: UUID) -> HttpResponse:
    """A lookup's progress: a fragment for htmx, else a page that reads itself again."""
    if here.fragment:
        return progress_fragment(here, effect_id, lookup_id)
    state = _state(here, effect_id, lookup_id)
    if state.done:
        return redirect(state.done)
    values = {
        "looking": state,
        "title": "Asking the provider",
        "back_url": f"../../{screen_id(effect_id)}",
    }
    return show(here, "console/case/looking.html", values)


def progress_fragment(here: Here, effect_id: UUID, lookup_id: UUID) -> HttpResponse:
    """The one line on the case that tells how far a lookup is."""
    values = {"looking": _state(here, effect_id, lookup_id)}
    return render(here.request, "console/case/_looking.html", values)


def _state(here: Here, effect_id: UUID, lookup_id: UUID) -> Looking:
    case = read(here, effect_id)
    found = next((each for each in case.lookups if each.lookup_id == lookup_id), None)
    if found is None:
        raise Http404
    return looking.of(found, case=case, seat=here.seat, formats=here.formats)


def _refused(here: Here, effect_id: UUID, refusal: LedgerError) -> HttpResponse:
    case = read(here, effect_id)
    refused(here, refusal, what="look_up", effect=screen_id(effect_id))
    shown = refusals.shown(refusal, say=here.formats.say)
    if here.fragment:
        values = {"looking": Looking(shown.words, "refused", say=shown.words)}
        return render(here.request, "console/case/_looking.html", values, status=shown.status)
    entered = Entered(decision=Decision.LOOK_UP)
    return case_page(here, case, given={}, entered=entered, refusal=shown)
