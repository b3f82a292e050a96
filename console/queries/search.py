"""One box for every id: an exact one leads straight to its case, anything else to a short list."""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from ledger.ids import from_screen_id
from ledger.rules import money
from ledger.sql import rows

MOST = 50
SHORTEST = 3
LONGEST = 200

NO_DECIMALS, TWO_DECIMALS, THREE_DECIMALS = 0, 2, 3
WITHOUT_DECIMALS = [code for code, n in money.EXPONENTS.items() if n == NO_DECIMALS]
WITH_THREE_DECIMALS = [code for code, n in money.EXPONENTS.items() if n == THREE_DECIMALS]

SAMPLES = ((NO_DECIMALS, "JPY"), (TWO_DECIMALS, "EUR"), (THREE_DECIMALS, "KWD"))

_COLUMNS = (
    "e.effect_id, e.state, e.intent_key, e.operation, e.recipient_label, e.amount_minor,"
    " e.currency, e.created_at"
)


@dataclass(frozen=True, slots=True)
class Hit:
    """One effect found, and why."""

    effect_id: UUID
    state: int
    intent_key: str
    operation: str
    recipient_label: str | None
    amount_minor: int | None
    currency: str
    created_at: datetime
    why: str
    exact: bool


def find(tenant_id: UUID, *, text: str) -> tuple[Hit, ...]:
    """At most 50 effects that `text` may mean, exact ids first, each once.

    Ids are looked for among all effects of the tenant; objects, amounts and names among open ones.
    """
    wanted = text.strip()[:LONGEST]
    if not wanted or "\0" in wanted:
        return ()
    hits: dict[UUID, Hit] = {}
    for ask in (_exact, _by_reference, _by_workflow, _by_prefix, _among_open):
        for hit in ask(tenant_id, wanted):
            hits.setdefault(hit.effect_id, hit)
    return tuple(hits.values())[:MOST]


def _exact(tenant_id: UUID, text: str) -> list[Hit]:
    effect_id = from_screen_id(text)
    found = rows(
        f"select {_COLUMNS} from effect e where e.tenant_id = %s and e.effect_id = %s"
        f" union all select {_COLUMNS} from effect e where e.tenant_id = %s and e.intent_key = %s",
        (tenant_id, effect_id, tenant_id, text),
    )
    why = "effect id" if effect_id else "intent key"
    return [_hit(values, why, exact=True) for values in found]


def _by_reference(tenant_id: UUID, text: str) -> list[Hit]:
    found = rows(
        f"select {_COLUMNS}, r.kind from effect_ref r join effect e using (tenant_id, effect_id)"
        " where r.tenant_id = %s and r.ref = %s order by r.kind desc limit %s",
        (tenant_id, text, MOST),
    )
    words = {
        "receipt": "its receipt",
        "object": "provider object",
        "seen": "provider object",
        "request": "provider request",
        "key": "idempotency key",
        "lookup": "id of a lookup",
    }
    return [_hit(values[:-1], words[values[-1]], exact=True) for values in found]


def _by_workflow(tenant_id: UUID, text: str) -> list[Hit]:
    found = rows(
        f"select {_COLUMNS} from effect e where e.tenant_id = %s and e.workflow_id = %s"
        " order by e.effect_id desc limit %s",
        (tenant_id, text, MOST),
    )
    return [_hit(values, "workflow", exact=True) for values in found]


def _by_prefix(tenant_id: UUID, text: str) -> list[Hit]:
    """Intent keys that begin so. The column sorts by bytes, so a range reads only the matches."""
    if len(text) < SHORTEST:
        return []
    found = rows(
        f"select {_COLUMNS} from effect e where e.tenant_id = %s and e.intent_key >= %s"
        ' and e.intent_key < %s collate "C" order by e.intent_key limit %s',
        (tenant_id, text, f"{text}\U0010ffff", MOST),
    )
    return [_hit(values, "intent key begins so", exact=False) for values in found]


def _among_open(tenant_id: UUID, text: str) -> list[Hit]:
    """Open effects by object, amount or recipient's name; the open ones are few enough to read."""
    pattern = f"%{_escaped(text)}%" if len(text) >= SHORTEST else None
    code, minors = _amounts(text)
    params: Any = {
        "tenant": tenant_id,
        "text": text,
        "code": code,
        "pattern": pattern,
        "none": WITHOUT_DECIMALS,
        "three": WITH_THREE_DECIMALS,
        "minors_none": minors[NO_DECIMALS],
        "minors_two": minors[TWO_DECIMALS],
        "minors_three": minors[THREE_DECIMALS],
    }
    found = rows(
        f"select {_COLUMNS}, same_object, same_amount from (select o.*,"
        "  o.object_ref = %(text)s as same_object,"
        "  (%(code)s::text is null or o.currency = %(code)s) and o.amount_minor = any("
        "   case when o.currency = any(%(none)s) then %(minors_none)s::bigint[]"
        "   when o.currency = any(%(three)s) then %(minors_three)s::bigint[]"
        "   else %(minors_two)s::bigint[] end) as same_amount,"
        "  o.recipient_label ilike %(pattern)s as same_name"
        "  from effect_open o where o.tenant_id = %(tenant)s) e"
        " where same_object or same_amount or same_name"
        " order by e.rank_minor, e.effect_id limit 50",
        params,
    )
    return [_hit(v[:-2], _why(*v[-2:]), exact=bool(v[-2])) for v in found]


def _hit(values: tuple[Any, ...], why: str, *, exact: bool) -> Hit:
    named = dict(zip((field.name for field in fields(Hit)), values, strict=False))
    return Hit(**named, why=why, exact=exact)


def _why(same_object: bool | None, same_amount: bool | None) -> str:
    if same_object:
        return "object"
    return "amount" if same_amount else "recipient's name"


def _amounts(text: str) -> tuple[str | None, dict[int, list[int]]]:
    """What `text` means as an amount: its currency, if named, and smallest units by exponent."""
    code = text[-3:].upper() if text[-3:].isalpha() else None
    found: dict[int, list[int]] = {}
    for exponent, currency in SAMPLES:
        try:
            found[exponent] = sorted(money.readings(text, code or currency))
        except money.BadAmount:
            found[exponent] = []
    return code if any(found.values()) else None, found


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
