"""A lost answer without a human: the sample policy's receipt email, from its order to its end."""

from uuid import UUID, uuid4

import pytest

from console import tasks
from console.demo.sample import make_policy
from console.demo.sandbox import Sandbox
from examples.orders import workflow
from examples.orders.models import Order
from examples.orders.workflow import NewOrder
from ledger import client, lookups
from ledger.models import Tenant
from tests.builders import effect_row, entries, home
from tests.logins import login

pytestmark = pytest.mark.django_db
LOST = "lose_answer"


def lost(tenant_id: UUID, *, sandbox: Sandbox) -> Order:
    """An order whose receipt email was taken by the provider, and whose answer was lost."""
    name = uuid4().hex[:10]
    match = {"reference": f"email:ord_{name}:receipt:v1", "tenant": str(tenant_id)}
    sandbox.script(match, entries=[LOST])
    new = NewOrder(
        tenant_id=tenant_id,
        ref=f"ord_{name}",
        flow="notify",
        object_ref=f"ord_{name}",
        account="acct_main",
        contact_token=f"rcpt_{name}",
        contact_label="m…@example.com",
    )
    with login("workflow"):
        order = workflow.start(new)
        workflow.walk(order.id)
    step = order.steps.get(name="send_receipt")
    with login("worker"):
        tasks.send(str(tenant_id), str(step.effect_id), str(step.intent_key))
    assert effect_row(step.effect_id)["state"] == 3
    return order


def looked_up(order: Order) -> UUID:
    """The order's effect, after its scheduled lookup."""
    effect_id = order.steps.get(name="send_receipt").effect_id
    assert effect_id is not None
    with login("worker"):
        ticket = lookups.request(order.tenant_id, effect_id, by=None)
        tasks.look(str(order.tenant_id), str(ticket.lookup_id))
    return effect_id


def heard(order: Order) -> int:
    """How many endings the workflow hears."""
    with login("workflow"):
        return sum(map(workflow.hear, client.due(order.tenant_id)))


def test_where_it_is_on_one_create_one_receipt_and_one_completed_workflow(
    prompt_sandbox: Sandbox,
) -> None:
    tenant = Tenant.objects.create(slug=f"t-{uuid4().hex[:12]}", name="A tenant")
    make_policy(tenant)
    order = lost(tenant.id, sandbox=prompt_sandbox)
    effect_id = looked_up(order)
    effect = effect_row(effect_id)
    assert (effect["state"], entries(effect_id)[-1][1:]) == (
        4,
        ("settled_itself", 3, 4, "reconciler", "ascertain_worker"),
    )
    assert (heard(order), heard(order)) == (1, 0)
    order.refresh_from_db()
    assert (order.state, order.completions) == ("completed", 1)
    assert dict(order.steps.values_list("name", "runs")) == {"render_receipt": 1, "send_receipt": 1}
    sent = prompt_sandbox.creates(effect["intent_key"], tenant=str(tenant.id))
    (made,) = prompt_sandbox.effects(effect["intent_key"], tenant=str(tenant.id))
    assert len(sent) == 1
    assert (made["took_effect"], made["id"]) == (True, effect["provider_result_id"])


def test_where_it_is_off_the_effect_waits_in_the_queue(prompt_sandbox: Sandbox) -> None:
    order = lost(home().tenant_id, sandbox=prompt_sandbox)
    effect = effect_row(looked_up(order))
    assert (effect["state"], effect["provider_result_id"]) == (3, None)
    assert heard(order) == 0
    order.refresh_from_db()
    assert (order.state, order.completions) == ("waiting", 0)
