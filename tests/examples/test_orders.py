"""The order workflow: its steps once, its intents in its own commits, its endings heard once."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from psycopg.errors import InsufficientPrivilege

import examples.orders
from examples.orders import workflow
from examples.orders.models import Order
from examples.orders.workflow import NewOrder
from ledger import access, client, dispatch
from ledger.dispatch import Claim
from ledger.ids import screen_id
from ledger.rules.contract import Declined
from tests.builders import answer, effect_row, home, yes
from tests.crowd import all_at_once
from tests.logins import login

pytestmark = pytest.mark.django_db
PAY = "collect"


@pytest.fixture
def tenant() -> UUID:
    """A tenant of the test's own."""
    return home().tenant_id


def new(tenant: UUID, *, flow: str = PAY, object_ref: str = "") -> NewOrder:
    """An order like no other, over 129.00 EUR."""
    name = uuid4().hex[:10]
    return NewOrder(
        tenant_id=tenant,
        ref=f"ord_{name}",
        flow=flow,
        object_ref=object_ref or f"inv_{name}",
        account="acct_main",
        amount_minor=129_00,
        currency="EUR",
        payee_token=f"cus_{name}",
        payee_label="Card ending 4242",
        contact_token=f"rcpt_{name}",
        contact_label="m…@example.com",
    )


def started(tenant: UUID, **changes: str) -> Order:
    """An order that waits for its first effect."""
    with login("workflow"):
        order = workflow.start(new(tenant, **changes))
        workflow.walk(order.id)
    return read(order)


def read(order: Order) -> Order:
    """The order as it stands now."""
    return Order.objects.get(id=order.id)


def runs(order: Order) -> dict[str, int]:
    """How often each step ran."""
    return dict(order.steps.values_list("name", "runs"))


def claimed(order: Order, step: str) -> Claim:
    """The claim of a worker on the step's effect."""
    effect_id = order.steps.get(name=step).effect_id
    assert effect_id is not None
    with login("worker"):
        held = dispatch.claim(order.tenant_id, effect_id, worker="w1")
    assert held is not None
    return held


def confirm(order: Order, step: str) -> str:
    """Have the step's effect confirmed; its receipt."""
    held = claimed(order, step)
    outcome = yes(held)
    with login("worker"):
        dispatch.settle(held, outcome)
    return outcome.found.object_id


def heard(order: Order) -> int:
    """How many endings the workflow hears and goes on from now."""
    with login("workflow"):
        return sum(map(workflow.hear, client.due(order.tenant_id)))


@contextmanager
def dying_before_the_commit() -> Iterator[None]:
    """A transaction that does what the block does and then ends as a killed process's does."""
    with suppress(KeyboardInterrupt), transaction.atomic():
        yield
        raise KeyboardInterrupt


def test_an_example_imports_the_public_client_and_nothing_else_of_ours() -> None:
    folder = Path(examples.orders.__file__).parent
    allowed = ("django", "ledger.client", "examples.orders")
    seen = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                seen |= {f"{node.module}.{name.name}" for name in node.names}
            elif isinstance(node, ast.Import):
                seen |= {name.name for name in node.names}
    ours = {name for name in seen if name.split(".")[0] in ("ledger", "console", "providers")}
    assert ours
    assert all(name.startswith(allowed) for name in ours), ours


def test_the_first_effect_is_prepared_and_not_sent(tenant: UUID) -> None:
    order = started(tenant)
    step = order.steps.get(name="collect")
    effect = effect_row(step.effect_id)
    assert (order.state, runs(order)) == ("waiting", {"reserve_stock": 1, "collect": 1})
    assert effect["intent_key"] == f"payment:{order.object_ref}:collect:v1"
    assert (effect["state"], effect["workflow_id"], effect["step_id"]) == (1, order.ref, "collect")
    assert (effect["object_type"], effect["object_ref"]) == ("invoice", order.object_ref)


def test_step_and_intent_are_one_commit(tenant: UUID) -> None:
    wanted = new(tenant)
    with login("workflow"):
        with dying_before_the_commit():
            order = workflow.start(wanted)
            workflow.walk(order.id)
            assert order.steps.filter(effect_id__isnull=False).exists()
        access.enter(tenant)
        with connection.cursor() as cursor:
            cursor.execute("select count(*) from effect where tenant_id = %s", [tenant])
            assert cursor.fetchone() == (0,)
    assert not Order.objects.filter(ref=wanted.ref).exists()


def test_a_confirmed_order_goes_on_to_its_receipt_and_completes_once(tenant: UUID) -> None:
    order = started(tenant)
    receipt = confirm(order, "collect")
    assert heard(order) == 1
    order = read(order)
    assert (order.state, order.steps.get(name="collect").receipt) == ("waiting", receipt)
    confirm(order, "send_receipt")
    assert heard(order) == 1
    assert heard(order) == 0
    order = read(order)
    assert (order.state, order.completions) == ("completed", 1)
    assert runs(order) == {"reserve_stock": 1, "collect": 1, "send_receipt": 1}


def test_a_refusal_takes_the_failure_branch_and_says_what_may_follow(tenant: UUID) -> None:
    order = started(tenant)
    held = claimed(order, "collect")
    with login("worker"):
        refused = answer(status=402, code="card_declined")
        dispatch.settle(held, Declined("card_declined", refused))
    assert heard(order) == 1
    order = read(order)
    assert (order.state, order.code, order.may_follow) == (
        "failed",
        "card_declined",
        "new_version",
    )
    assert runs(order) == {"reserve_stock": 1, "collect": 1, "release_stock": 1}
    assert order.completions == 0


def test_of_many_processes_that_hear_one_ending_one_goes_on(tenant: UUID) -> None:
    order = started(tenant, flow="pay")
    confirm(order, "pay_supplier")
    with login("workflow"):
        (news,) = client.due(tenant)
    answers = all_at_once(8, lambda _: workflow.hear(news), as_login="workflow")
    assert not answers.errors
    assert sorted(answers.values) == [False] * 7 + [True]
    assert (read(order).completions, read(order).state) == (1, "completed")


def test_of_many_processes_that_walk_one_order_each_step_runs_once(tenant: UUID) -> None:
    with login("workflow"):
        order = workflow.start(new(tenant))
    answers = all_at_once(8, lambda _: workflow.walk(order.id), as_login="workflow")
    assert not answers.errors
    assert answers.values.count(True) == 1
    assert runs(order) == {"reserve_stock": 1, "collect": 1}


def test_an_ending_of_somebody_else_is_left_for_them(tenant: UUID) -> None:
    order = started(tenant, flow="pay")
    confirm(order, "pay_supplier")
    Order.objects.filter(id=order.id).update(ref=f"{order.ref}-renamed")
    assert heard(order) == 0
    with login("workflow"):
        assert len(client.due(tenant)) == 1


def test_a_crash_between_ending_and_next_step_loses_neither(tenant: UUID) -> None:
    order = started(tenant)
    confirm(order, "collect")
    with login("workflow"):
        (news,) = client.due(tenant)
        with dying_before_the_commit():
            assert workflow.hear(news)
        assert client.due(tenant) == [news]
    assert runs(order) == {"reserve_stock": 1, "collect": 1}
    assert heard(order) == 1
    assert runs(order) == {"reserve_stock": 1, "collect": 1, "send_receipt": 1}


def test_a_second_order_with_another_request_under_the_key_fails(tenant: UUID) -> None:
    first = started(tenant, flow="pay")
    second = started(tenant, flow="pay", object_ref=first.object_ref)
    assert (second.state, second.code) == ("failed", "digest_mismatch")
    assert runs(second) == {"match_delivery": 1, "hold_invoice": 1}
    assert effect_row(first.steps.get(name="pay_supplier").effect_id)["state"] == 1


def same_again(first: Order) -> Order:
    """A second order that asks for the very same effect as `first`, after one walk."""
    again = NewOrder(
        **{name: getattr(first, name) for name in NewOrder.__slots__} | {"ref": f"{first.ref}-2"}
    )
    with login("workflow"):
        order = workflow.start(again)
        workflow.walk(order.id)
    return read(order)


def test_a_second_order_goes_on_with_the_receipt_of_an_effect_that_has_happened(
    tenant: UUID,
) -> None:
    first = started(tenant, flow="pay")
    receipt = confirm(first, "pay_supplier")
    second = same_again(first)
    assert (second.state, second.completions) == ("completed", 1)
    assert second.steps.get(name="pay_supplier").receipt == receipt
    assert heard(first) == 1
    assert (read(first).completions, read(second).completions) == (1, 1)


def test_a_second_order_fails_where_the_effect_was_refused(tenant: UUID) -> None:
    first = started(tenant, flow="pay")
    held = claimed(first, "pay_supplier")
    with login("worker"):
        dispatch.settle(held, Declined("card_declined", answer(status=402, code="card_declined")))
    second = same_again(first)
    assert (second.state, second.code) == ("failed", "rejected")
    assert runs(second) == {"match_delivery": 1, "pay_supplier": 1, "hold_invoice": 1}


def test_a_second_order_does_not_wait_for_an_effect_of_another_workflow(
    tenant: UUID, caplog: pytest.LogCaptureFixture
) -> None:
    first = started(tenant, flow="pay")
    second = same_again(first)
    assert (second.state, second.code) == ("failed", "other_workflow")
    assert second.steps.get(name="pay_supplier").refused == "other_workflow"
    effect_id = first.steps.get(name="pay_supplier").effect_id
    assert [one.effect for one in caplog.records if one.msg == "order_refused"] == [str(effect_id)]
    confirm(first, "pay_supplier")
    assert heard(first) == 1
    assert (read(first).state, read(second).state) == ("completed", "failed")


def test_an_order_that_asks_again_for_its_own_effect_waits_on_and_ends_once(tenant: UUID) -> None:
    order = started(tenant, flow="pay")
    Order.objects.filter(id=order.id).update(state="running")
    with login("workflow"):
        assert workflow.walk(order.id)
    assert read(order).state == "waiting"
    Order.objects.filter(id=order.id).update(state="running")
    confirm(order, "pay_supplier")
    with login("workflow"):
        assert workflow.walk(order.id)
    assert (read(order).state, read(order).completions) == ("completed", 1)
    assert heard(order) == 0
    with login("workflow"):
        assert client.due(tenant) == []
    assert read(order).completions == 1


def test_a_freeze_names_its_case_in_the_log_once(
    tenant: UUID, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = started(tenant, flow="pay")
    claimed(first, "pay_supplier")
    flow = workflow.FLOWS["pay"]
    other = workflow.Outward("pay_supplier", "payout", "payout:{object}:settle:v2", "invoice")
    again = {"pay": type(flow)("pay", (flow.steps[0], other), flow.undo)}
    monkeypatch.setattr(workflow, "FLOWS", {**workflow.FLOWS, **again})
    second = started(tenant, flow="pay", object_ref=first.object_ref)
    with login("workflow"):
        workflow.walk(second.id)
    case = f"effects/{screen_id(first.steps.get(name='pay_supplier').effect_id)}"
    assert [one.case for one in caplog.records if one.msg == "order_refused"] == [case]


def test_a_frozen_order_goes_on_once_the_freeze_ends(
    tenant: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = started(tenant, flow="pay")
    held = claimed(first, "pay_supplier")
    flow = workflow.FLOWS["pay"]
    other = workflow.Outward("pay_supplier", "payout", "payout:{object}:settle:v2", "invoice")
    again = {"pay": type(flow)("pay", (flow.steps[0], other), flow.undo)}
    monkeypatch.setattr(workflow, "FLOWS", {**workflow.FLOWS, **again})
    second = started(tenant, flow="pay", object_ref=first.object_ref)
    assert (second.state, second.code, runs(second)) == ("running", "frozen", {"match_delivery": 1})
    with login("worker"):
        dispatch.settle(held, yes(held))
    with login("workflow"):
        assert workflow.walk(second.id)
    assert read(second).state == "waiting"
    assert runs(second) == {"match_delivery": 1, "pay_supplier": 1}


@pytest.mark.parametrize("name", ["web", "auth", "worker", "sealer", "auditor"])
def test_the_tables_belong_to_the_workflow_alone(name: str, tenant: UUID) -> None:
    with login(name), pytest.raises(Exception) as refused, transaction.atomic():  # noqa: PT011
        Order.objects.exists()
    assert isinstance(refused.value.__cause__, InsufficientPrivilege)


def test_once_moves_every_order_of_every_tenant(tenant: UUID) -> None:
    other = home().tenant_id
    orders = [started(tenant, flow="pay"), started(other, flow="pay")]
    for order in orders:
        confirm(order, "pay_supplier")
    with login("workflow"):
        assert workflow.once() >= 2
    assert [read(order).state for order in orders] == ["completed", "completed"]
