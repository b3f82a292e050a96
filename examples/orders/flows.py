"""What each kind of order does, step by step, and the intent that a step states."""

from collections.abc import Mapping
from dataclasses import dataclass

from examples.orders.models import Order
from ledger.client import Intent

PROVIDER = "sandbox"


@dataclass(frozen=True, slots=True)
class Own:
    """A step inside our own walls: its row is its whole effect."""

    name: str


@dataclass(frozen=True, slots=True)
class Outward:
    """A step that acts on the outside world, so it waits for the ledger's word.

    `key` names the intent for ever: no attempt, no process and no moment stands in it.
    """

    name: str
    operation: str
    key: str
    object_type: str

    def intent(self, order: Order) -> Intent:
        """The intent of this step for `order`."""
        writes = self.operation == "email"
        token = order.contact_token if writes else order.payee_token
        return Intent(
            tenant_id=order.tenant_id,
            intent_key=self.key.format(object=order.object_ref, order=order.ref),
            provider=PROVIDER,
            operation=self.operation,
            request=self._request(order, token),
            account=order.account,
            amount_minor=None if writes else order.amount_minor,
            currency="XXX" if writes else (order.currency or ""),
            workflow_id=order.ref,
            step_id=self.name,
            object_type=self.object_type,
            object_ref=order.ref if writes else order.object_ref,
            recipient_token=token,
            recipient_label=order.contact_label if writes else order.payee_label,
        )

    def _request(self, order: Order, token: str | None) -> Mapping[str, str | int | None]:
        if self.operation == "email":
            return {"counterparty": token, "template": "receipt", "order": order.ref}
        return {
            "amount": order.amount_minor,
            "currency": order.currency,
            "counterparty": token,
            self.object_type: order.object_ref,
        }


@dataclass(frozen=True, slots=True)
class Flow:
    """The steps of one kind of order, and the own step taken when the outside refuses."""

    name: str
    steps: tuple[Own | Outward, ...]
    undo: Own


_RECEIPT = Outward("send_receipt", "email", "email:{order}:receipt:v1", "order")
_COLLECT = Outward("collect", "charge", "payment:{object}:collect:v1", "invoice")
_PAY = Outward("pay_supplier", "payout", "payout:{object}:settle:v1", "invoice")
_REFUND = Outward("refund", "refund", "refund:{object}:return:v1", "return")
_DISBURSE = Outward("disburse", "disbursement", "loan:{object}:disburse:v1", "loan")

_ALL = (
    Flow("collect", (Own("reserve_stock"), _COLLECT, _RECEIPT), Own("release_stock")),
    Flow("pay", (Own("match_delivery"), _PAY), Own("hold_invoice")),
    Flow("refund", (Own("take_goods_back"), _REFUND, _RECEIPT), Own("tell_support")),
    Flow("lend", (Own("sign_agreement"), _DISBURSE), Own("withdraw_offer")),
    Flow("notify", (Own("render_receipt"), _RECEIPT), Own("print_receipt")),
)
FLOWS: Mapping[str, Flow] = {flow.name: flow for flow in _ALL}
