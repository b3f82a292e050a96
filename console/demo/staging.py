"""Sets one scene up, starts its order as the login `workflow`, and kills where it says so."""

import os
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.urls import reverse

from console import faults
from console.demo.killing import kill_holder
from console.demo.sandbox import Sandbox
from console.demo.scenes import Scene
from examples.orders import workflow
from examples.orders.flows import FLOWS, Outward
from examples.orders.models import Order, Step
from examples.orders.workflow import NewOrder
from ledger import access
from ledger.models import Effect, Tenant
from ledger.rules import money
from ledger.rules.states import State

ACCOUNT = "acct_main"
HELD = "held"


@dataclass(frozen=True, slots=True)
class Played:
    """An order that stands with its first effect prepared."""

    scene: Scene
    tenant: Tenant
    order: Order
    step: Step
    effect_id: UUID
    intent_key: str

    def effect(self) -> Effect:
        """The effect's row as it stands now."""
        access.enter(self.tenant.id)
        return Effect.objects.get(tenant_id=self.tenant.id, effect_id=self.effect_id)

    def state(self) -> State:
        """Where the effect stands now."""
        return State(self.effect().state)

    @property
    def case_url(self) -> str:
        """The address of its case in the console."""
        return case_url(self.tenant.slug, effect_id=self.effect_id)


def case_url(slug: str, *, effect_id: UUID) -> str:
    """The address of a case on this machine."""
    port = os.environ.get("PORT", "8000")
    return f"http://127.0.0.1:{port}{reverse('case', args=[slug, effect_id])}"


def play(scene: Scene, *, tenant: Tenant, sandbox: Sandbox) -> Played:
    """Arm what shall go wrong, then start the order and take its first steps.

    The order, its own first step and the intent are one commit, so that no other process takes
    its steps meanwhile. Raises LookupError where the ledger did not take the intent.
    """
    new = order_of(scene, tenant=tenant)
    key = _first(new.flow).intent(Order(**_values(new))).intent_key
    _arm(scene, key, tenant=tenant, sandbox=sandbox)
    with transaction.atomic():
        order = workflow.start(new)
        workflow.walk(order.id)
    step = order.steps.filter(effect_id__isnull=False).order_by("created_at").first()
    if step is None or step.effect_id is None:
        order.refresh_from_db()
        raise LookupError(f"{order.ref} was refused: {order.code or order.state}.")
    return Played(scene, tenant, order, step, step.effect_id, step.intent_key or key)


def order_of(scene: Scene, *, tenant: Tenant) -> NewOrder:
    """The order that `scene` describes. Raises BadAmount for an amount that is none."""
    currency = (scene.currency or tenant.base_currency) if scene.amount else None
    amount = money.parse(scene.amount, currency) if currency else None
    token, label = scene.payee()
    return NewOrder(
        tenant_id=tenant.id,
        ref=scene.ref,
        flow=scene.flow,
        object_ref=scene.object_ref,
        account=ACCOUNT,
        amount_minor=amount.minor_units if amount else None,
        currency=currency,
        payee_token=token,
        payee_label=label,
        contact_token=f"rcpt_{scene.number}",
        contact_label="m…@example.com",
    )


def is_held(played: Played, *, sandbox: Sandbox) -> bool:
    """Whether the provider has made the effect and holds its answer back."""
    log = sandbox.creates(played.intent_key, tenant=str(played.tenant.id))
    return any(request["outcome"] == HELD for request in log)


def kill_after_accept(played: Played, *, sandbox: Sandbox) -> int:
    """Kill the worker that waits for the held answer, then let the answer go; its number.

    Raises NotKilled; the answer is let go all the same.
    """
    try:
        return kill_holder(played.tenant.id, effect_id=played.effect_id)
    finally:
        sandbox.release(played.intent_key)


def _arm(scene: Scene, key: str, *, tenant: Tenant, sandbox: Sandbox) -> None:
    match = {"reference": key, "tenant": str(tenant.id)}
    entry: dict[str, Any] = dict(scene.faults)
    if scene.kill == "after-accept":
        entry["hold"] = True
    elif scene.kill != "none":
        faults.arm(scene.kill, intent_key=key)
    if entry:
        sandbox.script(match, entries=[entry])
    if scene.on_lookup:
        sandbox.script({**match, "on": "lookup"}, entries=[scene.on_lookup], forever=True)


def _first(flow: str) -> Outward:
    return next(step for step in FLOWS[flow].steps if isinstance(step, Outward))


def _values(new: NewOrder) -> dict[str, Any]:
    return {name: getattr(new, name) for name in new.__slots__}
