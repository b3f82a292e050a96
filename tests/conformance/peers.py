"""What a provider must bring to be tested: a peer that fails on demand and counts what it made."""

from datetime import datetime
from enum import StrEnum
from typing import Protocol

from ledger.rules.contract import IntentView
from tests.providers.peer import Sandbox


class Fault(StrEnum):
    """What the suite makes a provider do to one request. Every peer knows them all."""

    NONE = "none"
    ACCEPT_THEN_DROP = "accept_then_drop"
    DROP_BEFORE_ACCEPT = "drop_before_accept"
    RESET_BEFORE_ACCEPT = "reset_before_accept"
    RESET_AFTER_ACCEPT = "reset_after_accept"
    ANSWER_AFTER_DEADLINE = "answer_after_deadline"
    ACCEPT_AFTER_DEADLINE = "accept_after_deadline"
    RATE_LIMITED = "rate_limited"
    ERROR_DONE = "error_done"
    ERROR_NOT_DONE = "error_not_done"
    PROXY_PAGE = "proxy_page"
    EMPTY_ANSWER = "empty_answer"
    CUT_ANSWER = "cut_answer"
    ACKNOWLEDGED = "acknowledged"
    TWO_OBJECTS = "two_objects"
    OTHER_RECIPIENT = "other_recipient"
    PENDING = "pending"


class LookFault(StrEnum):
    """What the suite makes a provider do to one lookup."""

    DROPPED = "dropped"
    SLOW = "slow"
    RATE_LIMITED = "rate_limited"
    ERROR = "error"
    PROXY_PAGE = "proxy_page"
    EMPTY_ANSWER = "empty_answer"
    CUT_ANSWER = "cut_answer"
    NOT_ALLOWED = "not_allowed"
    WRONG_SHAPE = "wrong_shape"


class Peer(Protocol):
    """A provider's offline double, as a process of its own, with a clock and a log.

    Its two promises come from the provider's own documents, never from the contract under test.
    """

    hold_seconds: int
    """By when a request that arrived is carried out or dropped."""
    lag_seconds: int
    """How long an object stays out of the lists."""

    def now(self) -> datetime:
        """The peer's time, with a time zone."""

    def advance(self, seconds: int) -> None:
        """Move the peer's clock."""

    def fail(self, fault: Fault, view: IntentView) -> None:
        """Meet the next create of `view` with `fault`."""

    def fail_look(self, fault: LookFault, view: IntentView) -> None:
        """Meet the next lookup of `view` with `fault`."""

    def endless_lists(self, view: IntentView) -> None:
        """From now on, every list says that there is another page."""

    def refuse(self, code: str, view: IntentView) -> None:
        """Meet the next create of `view` with the refusal `code`."""

    def finish_waiting(self) -> None:
        """Carry out what ACCEPT_AFTER_DEADLINE holds back, and wait until it is done."""

    def effects(self, view: IntentView) -> int:
        """How many effects of `view` took place."""

    def creates(self, view: IntentView) -> int:
        """How many create requests arrived for `view`."""

    def lookups(self, view: IntentView) -> int:
        """How many lookups arrived for `view`."""

    def object_id(self, view: IntentView) -> str | None:
        """The id of an object of `view`, if one was made."""


_FAULTS: dict[Fault, object] = {
    Fault.NONE: "ok",
    Fault.ACCEPT_THEN_DROP: "lose_answer",
    Fault.DROP_BEFORE_ACCEPT: {"lose_answer": True, "not_done": True},
    Fault.RESET_BEFORE_ACCEPT: "reset_before",
    Fault.RESET_AFTER_ACCEPT: "reset_after",
    Fault.ANSWER_AFTER_DEADLINE: "hold",
    Fault.ACCEPT_AFTER_DEADLINE: "hold_before",
    Fault.RATE_LIMITED: "status_429",
    Fault.ERROR_DONE: "error_500_done",
    Fault.ERROR_NOT_DONE: "error_500_not_done",
    Fault.PROXY_PAGE: "html_502",
    Fault.EMPTY_ANSWER: "empty_200",
    Fault.CUT_ANSWER: "truncated",
    Fault.ACKNOWLEDGED: "acknowledge_202",
    Fault.TWO_OBJECTS: {"two_objects": True, "lose_answer": True},
    Fault.OTHER_RECIPIENT: {"stored": {"counterparty": "cus_other"}},
    Fault.PENDING: "stay_pending",
}
_LOOK_FAULTS: dict[LookFault, object] = {
    LookFault.DROPPED: "lose_answer",
    LookFault.SLOW: "hold",
    LookFault.RATE_LIMITED: "status_429",
    LookFault.ERROR: "error_500_done",
    LookFault.PROXY_PAGE: "html_502",
    LookFault.EMPTY_ANSWER: "empty_200",
    LookFault.CUT_ANSWER: "truncated",
    LookFault.NOT_ALLOWED: {"raw": {"status": 403, "text": "{}"}},
    LookFault.WRONG_SHAPE: {"raw": {"text": '{"items":[]}'}},
}
_ENDLESS = {"raw": {"text": '{"data":[],"has_more":true,"next_cursor":"7"}'}}


class SandboxPeer:
    """The sandbox process behind the suite's words."""

    hold_seconds = 5
    lag_seconds = 60

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.now = sandbox.now
        self.advance = sandbox.advance

    def fail(self, fault: Fault, view: IntentView) -> None:
        self._sandbox.script(_FAULTS[fault], reference=view.intent_key)

    def fail_look(self, fault: LookFault, view: IntentView) -> None:
        self._sandbox.script(_LOOK_FAULTS[fault], reference=view.intent_key, on="lookup")

    def endless_lists(self, view: IntentView) -> None:
        self._sandbox.script(_ENDLESS, forever=True, reference=view.intent_key, on="lookup")

    def refuse(self, code: str, view: IntentView) -> None:
        self._sandbox.script({"decline": code}, reference=view.intent_key)

    def finish_waiting(self) -> None:
        assert self._sandbox.release() == 1
        self._sandbox.wait_for("client_gone", kind="create")

    def effects(self, view: IntentView) -> int:
        return self._sandbox.creates(reference=view.intent_key)

    def creates(self, view: IntentView) -> int:
        return len(self._sandbox.requests(reference=view.intent_key, kind="create"))

    def lookups(self, view: IntentView) -> int:
        return len(self._sandbox.requests(reference=view.intent_key, kind="lookup"))

    def object_id(self, view: IntentView) -> str | None:
        made = self._sandbox.effects(reference=view.intent_key)
        return str(made[0]["id"]) if made else None
