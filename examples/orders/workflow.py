"""The order workflow: starts orders, takes their steps, and goes on when an effect has ended."""

import logging
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from examples.orders.flows import FLOWS, Outward, Own
from examples.orders.models import Order, Step
from ledger import client
from ledger.client import LedgerError, Prepared, Resumption, State

OTHER_WORKFLOW = "other_workflow"
_LIMIT = 1000
_ENDED = (State.CONFIRMED, State.REJECTED, State.COMPENSATED)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOrder:
    """What an order is made from. Tokens are what providers know; labels are masked for people.

    `amount_minor` is in the currency's smallest unit; both are None for a flow without money.
    """

    tenant_id: UUID
    ref: str
    flow: str
    object_ref: str
    account: str
    amount_minor: int | None = None
    currency: str | None = None
    payee_token: str | None = None
    payee_label: str | None = None
    contact_token: str | None = None
    contact_label: str | None = None


def start(new: NewOrder) -> Order:
    """The order, made once per (tenant, ref): asked again, the one that stands. Takes no step."""
    values = {name: getattr(new, name) for name in new.__slots__}
    key = {"tenant_id": values.pop("tenant_id"), "ref": values.pop("ref")}
    if new.flow not in FLOWS:
        raise ValueError(f"{new.flow!r} is no flow; they are {', '.join(FLOWS)}.")
    order, _ = Order.objects.get_or_create(**key, defaults=values)
    return order


def once() -> int:
    """Hear every ending that is due and take every step that can be taken; how many moved."""
    tenants = Order.objects.filter(state="waiting").values_list("tenant_id", flat=True).distinct()
    moved = sum(hear(news) for tenant in tenants for news in client.due(tenant, limit=_LIMIT))
    running = Order.objects.filter(state="running").order_by("created_at")
    return moved + sum(walk(order_id) for order_id in running.values_list("id", flat=True)[:_LIMIT])


@transaction.atomic
def walk(order_id: UUID) -> bool:
    """Take the order's next steps up to one that waits; False where another process is at it.

    A step's row and its intent are one transaction: there is never one without the other.
    """
    order = (
        Order.objects.select_for_update(skip_locked=True)
        .filter(id=order_id, state="running")
        .first()
    )
    return order is not None and _go_on(order)


@transaction.atomic
def hear(news: Resumption) -> bool:
    """Acknowledge an ending and go on from it, in one transaction; False where it is not ours now.

    Acknowledging locks the news, so of two processes one goes on and the other finds it heard.
    """
    ours = {"tenant_id": news.tenant_id, "ref": news.workflow_id}
    if not Order.objects.filter(**ours).exists() or not client.acknowledge(news):
        return False
    order = Order.objects.select_for_update().get(**ours)
    step = order.steps.filter(name=news.step_id, effect_id=news.effect_id).first()
    if order.state != "waiting" or step is None:
        return False  # it went on, or ended, without this news; heard all the same
    if news.state is State.CONFIRMED:
        _end(step, receipt=news.receipt)
        order.place += 1
        order.state = "running"
        _go_on(order)
    else:
        _end(step, refused=news.code or news.reject_kind)
        _fail(order, code=step.refused, may_follow=news.after)
    return True


def _end(step: Step, *, receipt: str | None = None, refused: str | None = None) -> None:
    step.receipt, step.refused, step.ended_at = receipt, refused, timezone.now()
    step.save(update_fields=["receipt", "refused", "ended_at"])


def _go_on(order: Order) -> bool:
    """Take steps until one waits, one is held up or none is left; whether anything moved."""
    steps = FLOWS[order.flow].steps
    begun = order.place, order.state
    while order.state == "running" and order.place < len(steps):
        step = steps[order.place]
        if isinstance(step, Own):
            _run(order, step.name)
            order.place += 1
        elif not _prepare(order, step):
            break
    if order.state == "running" and order.place == len(steps):
        order.state, order.ended_at = "completed", timezone.now()
        order.completions += 1
    order.save()
    return (order.place, order.state) != begun


def _run(order: Order, name: str) -> Step:
    """Count one more run of the step; above one, something ran twice."""
    step, _ = order.steps.get_or_create(name=name)
    order.steps.filter(id=step.id).update(runs=F("runs") + 1, ended_at=timezone.now())
    return step


def _prepare(order: Order, outward: Outward) -> bool:
    """Record the step's intent beside its row and wait for its end; False where it is held up.

    An effect that stood already is somebody else's: the news of its end goes to them. One that has
    ended is taken as it ended, one still open is never waited for.
    """
    wanted = outward.intent(order)
    try:
        with transaction.atomic():
            prepared = client.prepare(wanted)
    except LedgerError as refusal:
        return _refused(order, refusal)
    ours = prepared.created or _waits_for(order, prepared)
    step = _run(order, outward.name)
    step.effect_id, step.intent_key, step.ended_at = prepared.effect_id, wanted.intent_key, None
    step.save(update_fields=["effect_id", "intent_key", "ended_at"])
    order.code = None
    if prepared.state in _ENDED:
        _take_over(order, step, prepared)
    elif ours:
        order.state = "waiting"
    else:
        _end(step, refused=OTHER_WORKFLOW)
        _warn(order, OTHER_WORKFLOW, effect=str(prepared.effect_id))
        _fail(order, code=OTHER_WORKFLOW, may_follow=None)
    return True


def _waits_for(order: Order, prepared: Prepared) -> bool:
    """Whether a step of this very order, and of no other, has the effect on its row."""
    return order.steps.filter(effect_id=prepared.effect_id).exists()


def _take_over(order: Order, step: Step, prepared: Prepared) -> None:
    """Act on an effect that had ended when it was asked for; no news of it will come."""
    if prepared.state is State.CONFIRMED:
        _end(step, receipt=prepared.receipt)
        order.place += 1
    else:
        _end(step, refused=prepared.state.name.lower())
        _fail(order, code=step.refused, may_follow=None)


def _refused(order: Order, refusal: LedgerError) -> bool:
    """A freeze passes, so the order tries again; any other refusal ends it."""
    if order.code != refusal.code:  # a freeze is met again and again
        _warn(order, refusal.code, case=refusal.details.get("case"), words=refusal.message)
    if refusal.code == "frozen":
        order.code = refusal.code
        return False
    _fail(order, code=refusal.code, may_follow=None)
    return True


def _warn(order: Order, code: str, **facts: str | None) -> None:
    _log.warning("order_refused", extra={"order": order.ref, "code": code, **facts})


def _fail(order: Order, *, code: str | None, may_follow: str | None) -> None:
    """The failure branch: undo what was done inside, and say what the provider lets follow."""
    _run(order, FLOWS[order.flow].undo.name)
    order.state, order.ended_at = "failed", timezone.now()
    order.code, order.may_follow = code, may_follow
    order.save()
