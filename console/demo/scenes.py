"""What the demonstration plays: each order's flow and amount, and what goes wrong with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Where the worker is killed; the last means that nobody kills it.
KILLS = (
    "before-dispatch",
    "after-mark",
    "after-accept",
    "after-response",
    "during-receipt",
    "none",
)
# The operations of the console and the order flow that needs each first.
FLOWS = {
    "charge": "collect",
    "payout": "pay",
    "refund": "refund",
    "disbursement": "lend",
    "email": "notify",
}
_PREFIXES = {"collect": "inv", "pay": "bill", "refund": "ret", "lend": "loan", "notify": "ord"}
_PAYEES = {
    "collect": ("cus", "Card ending {0}"),
    "pay": ("sup", "IBAN ending {0}"),
    "refund": ("cus", "Card ending {0}"),
    "lend": ("bor", "Account ending {0}"),
}


@dataclass(frozen=True, slots=True)
class Scene:
    """One order of the demonstration.

    `currency` is the tenant's own where none is named. `faults` is what the provider does with its
    first create request, `on_lookup` with every lookup; `escalated_to` names who gets the case from
    an operator once it is unknown.
    """

    number: str
    flow: str
    amount: str
    kill: str = "none"
    faults: Mapping[str, Any] = field(default_factory=dict)
    on_lookup: str = ""
    escalated_to: str = ""
    currency: str = ""

    @property
    def ref(self) -> str:
        """The order's name."""
        return f"ord_{self.number}"

    @property
    def object_ref(self) -> str:
        """The business object that the order is about."""
        return f"{_PREFIXES[self.flow]}_{self.number}"

    def payee(self) -> tuple[str | None, str | None]:
        """The recipient's token and its masked label."""
        if self.flow not in _PAYEES:
            return None, None
        prefix, label = _PAYEES[self.flow]
        return f"{prefix}_{self.number}", label.format(self.number[-4:])


LOSE = {"lose_answer": True}
TWO = {"two_objects": True, **LOSE}
PENDING = {"stay_pending": True, "acknowledge_202": True}
DECLINE = {"decline": "card_declined"}


def _less(minor: int) -> dict[str, Any]:
    """The object holds another amount than was asked for, and the answer is lost."""
    return {"wrong_amount": minor, **LOSE}


SCENES: Mapping[str, tuple[Scene, ...]] = {
    "aurelia": (
        Scene("4101", "collect", "129.00", kill="after-accept"),
        Scene("4102", "pay", "12,000.00", kill="after-accept"),
        Scene("4103", "collect", "64.50", kill="after-mark"),
        Scene("4104", "pay", "312.40", faults=LOSE),
        Scene("4105", "collect", "240.00", faults=_less(200_00)),
        Scene("4106", "pay", "540.00", faults=TWO),
        Scene("4107", "pay", "760.00", faults=PENDING),
        Scene("4108", "collect", "45.00", faults={"error_500_done": True}),
        Scene("4109", "collect", "72.00", faults={"error_500_not_done": True}),
        Scene("4110", "pay", "615.00", faults=LOSE, on_lookup="html_502"),
        Scene("4111", "lend", "850.00", kill="after-mark"),
        Scene("4112", "pay", "38,400.00", kill="after-response"),
        Scene("4113", "collect", "58.20", faults={**DECLINE, **LOSE}),
        Scene("4114", "refund", "49.00", kill="during-receipt"),
        Scene("4115", "notify", "", faults=LOSE),
        Scene("4116", "pay", "927.00", faults={"truncated": True}, escalated_to="Supplier desk"),
        Scene("4117", "collect", "89.90", faults={"reset_after": True}),
        Scene("4118", "collect", "19.90", kill="before-dispatch"),
        Scene("4119", "collect", "35.00"),
        Scene("4120", "pay", "210.00"),
        Scene("4121", "collect", "66.00", faults=DECLINE),
        Scene("4122", "collect", "27.50", faults={"status_429": 2}),
    ),
    "borealis": (
        Scene("8201", "lend", "640.00", kill="after-accept"),
        Scene("8202", "lend", "9,500.00", kill="after-accept"),
        Scene("8203", "lend", "480.00", kill="after-mark"),
        Scene("8204", "lend", "720.00", faults=LOSE),
        Scene("8205", "lend", "900.00", faults=_less(90_00)),
        Scene("8206", "lend", "350.00", faults=TWO),
        Scene("8207", "collect", "84.00", faults={"error_500_done": True}),
        Scene("8208", "collect", "31.75", kill="after-mark"),
        Scene("8209", "lend", "30,000.00", faults={"empty_200": True}),
        Scene("8210", "refund", "22.60", faults={"reset_after": True}),
        Scene("8211", "collect", "118.00", faults=LOSE, on_lookup="status_429"),
        Scene("8212", "lend", "560.00", faults=PENDING, escalated_to="Lending desk"),
        Scene("8213", "collect", "41.30", kill="during-receipt"),
        Scene("8214", "notify", "", faults=LOSE),
        Scene("8215", "lend", "275.00"),
        Scene("8216", "lend", "425.00", faults={"decline": "borrower_blocked"}),
        Scene("8217", "collect", "15.00"),
    ),
}
