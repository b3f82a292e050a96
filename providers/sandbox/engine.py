"""What the sandbox does with a request once it is read: keys, objects, effects and lookups."""

import json
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from ledger.rules.digest import digest
from providers.sandbox.faults import Plan, Reply, plan
from providers.sandbox.profiles import Profile
from providers.sandbox.shape import as_object, object_status
from providers.sandbox.store import Row, Store

CURRENCY_LETTERS = 3


@dataclass(frozen=True, slots=True)
class Ask:
    """A request as it was read from the wire; None where a header is missing."""

    method: str
    path: str
    query: str
    kind: str
    profile: Profile
    account: str
    tenant: str | None = None
    key: str | None = None
    reference: str | None = None
    request_id: str | None = None
    attempt: str | None = None
    body: bytes = b""
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Response:
    """An answer before any fault touches it."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    replayed: bool = False
    objects: int = 0


def answer(status: int, *, value: object, **headers: str) -> Response:
    """`value` as a JSON answer; header names are written with underscores."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Response(status, json.dumps(value).encode(), named)


def refusal(status: int, *, code: str, message: str) -> Response:
    """An error in the sandbox's own shape."""
    return answer(status, value={"error": {"code": code, "message": message}})


class Engine:
    """The sandbox without its sockets."""

    def __init__(self, store: Store, *, settle_seconds: int) -> None:
        self.store = store
        self._settle_seconds = settle_seconds
        self._running: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def receive(self, ask: Ask) -> tuple[int, Plan]:
        """Log the request and take what the scripts hold for it: its number and its plan."""
        fields = _fields(ask)
        counterparty = _text(fields.get("counterparty"))
        facts: dict[str, str | None] = {
            "kind": ask.kind,
            "operation": ask.profile.operation,
            "tenant": ask.tenant,
            "account": ask.account,
            "key": ask.key,
            "reference": ask.reference,
            "counterparty": counterparty,
        }
        with self.store.transaction():
            entry = self.store.next_entry(facts)
            chosen = Plan() if entry is None else plan(entry)
            no = self.store.insert(
                "request",
                row={
                    "arrived_ms": self.store.now_ms(),
                    "method": ask.method,
                    "path": ask.path,
                    "query": ask.query,
                    "request_id": ask.request_id,
                    "attempt": ask.attempt,
                    "amount": _whole(fields.get("amount")),
                    "currency": _text(fields.get("currency")),
                    "body_digest": digest(ask.body).hex() if ask.body else None,
                    "fault": chosen.words,
                    **facts,
                },
            )
        return no, chosen

    def claim_key(self, ask: Ask) -> bool:
        """Whether the key is free; if so it is taken until `free_key`. Keyless always is."""
        if ask.key is None or ask.profile.key_seconds is None:
            return True
        with self._lock:
            if (ask.account, ask.key) in self._running:
                return False
            self._running.add((ask.account, ask.key))
            return True

    def free_key(self, ask: Ask) -> None:
        """Give the key back, at the end of the request that took it."""
        with self._lock:
            self._running.discard((ask.account, ask.key or ""))

    def accept(self, ask: Ask, *, chosen: Plan, no: int) -> Response:
        """Do what the request asks, once per key: objects and stored answer in one commit."""
        with self.store.transaction():
            before = self._replay(ask)
            response = before or self._execute(ask, chosen, no=no)
            if before is None and self._is_kept(ask, chosen, response):
                self._keep(ask, response)
            replayed = int(response.replayed)
            changes: Row = {
                "outcome": "accepted",
                "objects": response.objects,
                "replayed": replayed,
            }
            self.store.update_request(no, changes=changes)
        return response

    def _replay(self, ask: Ask) -> Response | None:
        if ask.key is None or ask.profile.key_seconds is None:
            return None
        used = self.store.used_key(ask.account, key=ask.key)
        if used is None:
            return None
        if self.store.now_ms() - used["created_ms"] >= ask.profile.key_seconds * 1000:
            self.store.drop_key(ask.account, key=ask.key)
            return None
        if used["operation"] != ask.profile.operation or used["body"] != ask.body:
            words = "this key was used with another request; this one was not run"
            return refusal(ask.profile.mismatch_status, code="idempotency_mismatch", message=words)
        headers = {"Idempotent-Replayed": "true"}
        return Response(used["status"], used["answer"], headers, replayed=True)

    def _is_kept(self, ask: Ask, chosen: Plan, response: Response) -> bool:
        if ask.key is None or ask.profile.key_seconds is None or chosen.forget_key:
            return False
        if response.status >= HTTPStatus.BAD_REQUEST:
            return ask.profile.stores_errors and _code(response) != "invalid_request"
        return not chosen.not_done

    def _keep(self, ask: Ask, response: Response) -> None:
        self.store.insert(
            "used_key",
            row={
                "account": ask.account,
                "key": ask.key,
                "operation": ask.profile.operation,
                "body": ask.body,
                "status": response.status,
                "answer": response.body,
                "created_ms": self.store.now_ms(),
            },
        )

    def _execute(self, ask: Ask, chosen: Plan, *, no: int) -> Response:
        fields = _fields(ask)
        words = _fault_of(fields, ask.profile)
        if words:
            return refusal(400, code="invalid_request", message=words)
        code = chosen.decline or _magic(fields, ask.profile) or self._cap(fields, ask.profile)
        if code:
            return self._refuse(ask, chosen, no=no, code=code)
        made = [self._made(ask, chosen, no=no) for _ in range(chosen.copies)]
        if not chosen.not_done:
            for row in made:
                self.store.insert("object", row=row)
        count = 0 if chosen.not_done else len(made)
        if chosen.reply is Reply.ERROR:
            error = refusal(500, code="internal", message="something went wrong here")
            return Response(500, error.body, objects=count)
        if chosen.reply is Reply.ACKNOWLEDGE:
            return Response(202, json.dumps({"received": True}).encode(), objects=count)
        shown = as_object(made[0], now_ms=self.store.now_ms())
        return Response(201, json.dumps(shown).encode(), objects=count)

    def _refuse(self, ask: Ask, chosen: Plan, *, no: int, code: str) -> Response:
        """A refusal; for some operations it leaves a failed object behind, as cards do."""
        if ask.profile.refusal_leaves_object and not chosen.not_done:
            failed: Row = {"status": "failed", "failure_code": code, "fails_ms": None}
            self.store.insert("object", row=self._made(ask, chosen, no=no) | failed)
        return refusal(ask.profile.refusal_status, code=code, message="refused; nothing was done")

    def _made(self, ask: Ask, chosen: Plan, *, no: int) -> Row:
        fields = _fields(ask)
        now_ms = self.store.now_ms()
        lag = self._settle_seconds if chosen.lag_seconds is None else chosen.lag_seconds
        later = chosen.fail_later_seconds
        amount = _whole(fields.get("amount")) if ask.profile.has_amount else None
        if amount is not None:
            amount += chosen.wrong_by_minor
        stored = chosen.stored
        if chosen.wrong_amount is not None:
            amount = chosen.wrong_amount
        return {
            "id": f"{ask.profile.prefix}_{secrets.token_hex(8)}",
            "operation": ask.profile.operation,
            "scope": ask.account,
            "tenant": ask.tenant,
            "account": str(stored.get("account", ask.account)),
            "key": ask.key if ask.profile.key_seconds is not None else None,
            "reference": ask.reference,
            "request_id": ask.request_id,
            "amount": _whole(stored.get("amount", amount)),
            "currency": _text(stored.get("currency", fields.get("currency"))),
            "counterparty": _text(stored.get("counterparty", fields.get("counterparty"))),
            "status": "pending" if chosen.pending else "succeeded",
            "failure_code": None,
            "parent": _text(fields.get("charge")),
            "created_ms": now_ms,
            "listed_ms": None if chosen.never_listed else now_ms + lag * 1000,
            "fails_ms": None if later is None else now_ms + later * 1000,
            "request_no": no,
        }

    def _cap(self, fields: Mapping[str, object], profile: Profile) -> str | None:
        """A refund that names a charge may not give back more than the charge took."""
        parent, amount = _text(fields.get("charge")), _whole(fields.get("amount"))
        if profile.operation != "refund" or parent is None or amount is None:
            return None
        charges = self.store.select("object", where=["id = :id"], values={"id": parent})
        if not charges:
            return None
        refunds = self.store.select(
            "object",
            where=["parent = :id", "operation = 'refund'"],
            values={"id": parent},
            limit=10_000,
        )
        now_ms = self.store.now_ms()
        given = sum(
            int(row["amount"] or 0)
            for row in refunds
            if object_status(row, now_ms=now_ms) in ("succeeded", "pending")
        )
        taken = int(charges[0]["amount"] or 0)
        if given >= taken:
            return "charge_already_refunded"
        return "amount_too_large" if given + amount > taken else None


def _fields(ask: Ask) -> Mapping[str, object]:
    if ask.kind == "lookup":
        return ask.parameters
    try:
        value = json.loads(ask.body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _fault_of(fields: Mapping[str, object], profile: Profile) -> str | None:
    """What is wrong with the body, or None."""
    if not _text(fields.get("counterparty")):
        return "counterparty must be a text"
    if not profile.has_amount:
        return None
    amount, currency = _whole(fields.get("amount")), _text(fields.get("currency"))
    if amount is None or not 0 < amount <= 10**15:
        return "amount must be a whole number of minor units above 0"
    if currency is None or len(currency) != CURRENCY_LETTERS or not currency.isupper():
        return "currency must be three capital letters"
    return None


def _magic(fields: Mapping[str, object], profile: Profile) -> str | None:
    """A counterparty that ends in `_<code>` is refused with that code."""
    counterparty = _text(fields.get("counterparty")) or ""
    return next((c for c in profile.refusals if counterparty.endswith(f"_{c}")), None)


def _code(response: Response) -> str | None:
    error = json.loads(response.body).get("error")
    return _text(error.get("code")) if isinstance(error, dict) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
