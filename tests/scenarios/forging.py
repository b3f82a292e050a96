"""An unknown effect without evidence, and what somebody would invent to have it confirmed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from ledger import clock, dispatch, facts
from ledger.audit import Hand
from ledger.dispatch import Claim
from ledger.facts import Case
from ledger.intents import Intent
from ledger.resolutions import Handover, Proposal
from ledger.resumptions import Resumption
from ledger.rules.contract import Confirmed, Look
from ledger.rules.decisions import Decision
from ledger.rules.findings import Finding, judge
from ledger.rules.states import Actor, Cause, State
from tests import builders
from tests.builders import Home
from tests.logins import login

HOUR = timedelta(hours=1)
INVENTED = "obj-invented-4242"
WORDS = "They told us on the telephone that it has surely happened, so it must be true."
TYPED: Mapping[str, str] = {"found_amount": "42.00 EUR", "intent_amount": "42.00 EUR"}
SANDBOX_CHARGE: Mapping[str, Any] = {
    "provider": "sandbox",
    "operation": "charge",
    "account": "acct_main",
    "recipient_token": "cus_4242",
    "request": {"amount": 4_200, "currency": "EUR", "counterparty": "cus_4242"},
}


@dataclass(frozen=True)
class Forgery:
    """One effect and everything about it that can be claimed; `receipt` is the object claimed.

    It is put together before anybody acts on it, for not every login may read what it needs.
    """

    home: Home
    wanted: Intent
    case: Case
    receipt: str
    look: Look
    finding: Finding

    @property
    def tenant_id(self) -> UUID:
        """The effect's tenant."""
        return self.home.tenant_id

    @property
    def effect_id(self) -> UUID:
        """The effect."""
        return self.case.effect_id

    @property
    def key(self) -> str:
        """Its intent key."""
        return self.wanted.intent_key

    @property
    def version(self) -> int:
        """The number of its newest entry."""
        return int(self.case.effect.version)

    @property
    def claim(self) -> Claim:
        """The claim that was lost, as if it still held."""
        case = self.case
        fence = int(case.effect.fence)
        return Claim(case.tenant_id, case.effect_id, fence, case.view, case.contract)

    @property
    def answer(self) -> Confirmed:
        """The provider's confirmation, which nobody received."""
        return Confirmed(self.look.objects[0], builders.answer())

    def hand(self, kind: str) -> Hand:
        """An entry in hand that claims an exact match."""
        return Hand(
            kind=kind,
            actor=Actor.RECONCILER,
            note=WORDS,
            body=b"{}",
            finding="exact",
            object_id=self.receipt,
            refs=[f"receipt:{self.receipt}", f"object:{self.receipt}"],
        )

    def results(self) -> dict[str, Any]:
        """The columns of a confirmed effect."""
        return {
            "provider_result_id": self.receipt,
            "response_digest": b"\x00" * 32,
            "completed_at": clock.now(),
        }

    def proposal(self, action: Decision) -> Proposal:
        """A decision on the newest version that relies on the newest entry."""
        return Proposal(
            command_id=uuid4(),
            action=action,
            version=self.version,
            evidence=(self.version,),
            reason_code="found_by_key",
            words=WORDS,
            receipt_id=self.receipt,
            typed={**TYPED, "object_last_four": self.receipt[-4:]},
        )

    def handover(self) -> Handover:
        """An escalation to nobody in particular."""
        return Handover(
            command_id=uuid4(),
            owner="Nobody",
            reason_code="other",
            words=WORDS,
            next_check_at=clock.now() + HOUR,
            version=builders.effect_row(self.effect_id)["version"],
        )

    def form(self, decision: str) -> dict[str, Any]:
        """A proposal as a browser's form, with fields beside it that no form has."""
        return {
            **TYPED,
            "object_last_four": self.receipt[-4:],
            "command": str(uuid4()),
            "decision": decision,
            "version": str(self.version),
            "receipt": self.receipt,
            "evidence": [str(self.version)],
            "reason_code": "found_by_key",
            "words": WORDS,
            "owner": "Nobody",
            "next_check_at": f"{clock.now() + HOUR:%Y-%m-%dT%H:%M}",
            "to_state": "4",
            "state": "confirmed",
            "provider_result_id": self.receipt,
            "people_required": "1",
        }

    def news(self) -> Resumption:
        """The news of an ending that never was."""
        return Resumption(
            tenant_id=self.tenant_id,
            effect_id=self.effect_id,
            no=self.version,
            workflow_id=self.wanted.workflow_id or "",
            step_id=self.wanted.step_id,
            intent_key=self.key,
            state=State.CONFIRMED,
            receipt=self.receipt,
            reject_kind=None,
            code=None,
            after=None,
        )


def unproven(home: Home, **changes: Any) -> Intent:
    """The intent of an effect that was sent and whose answer never came; nobody has looked."""
    wanted = home.intent(**changes)
    effect_id = builders.prepare(wanted).effect_id
    with login("worker"):
        held = dispatch.claim(home.tenant_id, effect_id, worker="w1")
        assert held is not None
        dispatch.give_up(held, Cause.TIMEOUT)
    return wanted


def forge(home: Home, wanted: Intent, *, receipt: str = INVENTED) -> Forgery:
    """What can be claimed about the effect of `wanted` as it stands now."""
    effect_id = builders.prepare(wanted).effect_id
    case = facts.case(home.tenant_id, effect_id, now=clock.now())
    look = builders.a_look(case, ({"object_id": receipt},), now=clock.now())
    finding = judge(case.view, look, case.contract, now=clock.now())
    return Forgery(home, wanted, case, receipt, look, finding)


def confirmed(effect_id: UUID) -> bool:
    """Whether the effect is confirmed, ever was, or has a receipt."""
    row = builders.effect_row(effect_id)
    passed = any(entry[3] == State.CONFIRMED for entry in builders.entries(effect_id))
    return passed or row["state"] == State.CONFIRMED or row["provider_result_id"] is not None
