"""How the sandbox writes its objects, requests and times as JSON."""

from datetime import UTC, datetime, timedelta

from providers.sandbox.store import Row

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(milliseconds: int) -> str:
    """Milliseconds since 1970 as RFC 3339 in UTC, to the millisecond."""
    at = _EPOCH + timedelta(milliseconds=milliseconds)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def object_status(row: Row, *, now_ms: int) -> str:
    """The object's status at `now_ms`: one that was to fail later has failed by then."""
    fails_ms = row["fails_ms"]
    if isinstance(fails_ms, int) and now_ms >= fails_ms:
        return "failed" if row["status"] == "pending" else "reversed"
    return str(row["status"])


def as_object(row: Row, *, now_ms: int) -> dict[str, object]:
    """The public form of a stored object."""
    return {
        "id": row["id"],
        "object": row["operation"],
        "status": object_status(row, now_ms=now_ms),
        "amount": row["amount"],
        "currency": row["currency"],
        "counterparty": row["counterparty"],
        "account": row["account"],
        "created": moment(int(row["created_ms"] or 0)),
        "reference": row["reference"],
        "request_id": row["request_id"],
        "idempotency_key": row["key"],
        "failure_code": row["failure_code"],
    }


def as_effect(row: Row, *, now_ms: int) -> dict[str, object]:
    """The log's form of a stored object: the public one and what only the sandbox knows."""
    listed_ms = row["listed_ms"]
    return {
        **as_object(row, now_ms=now_ms),
        "operation": row["operation"],
        "tenant": row["tenant"],
        "took_effect": object_status(row, now_ms=now_ms) in ("succeeded", "pending"),
        "listed_from": moment(listed_ms) if isinstance(listed_ms, int) else None,
        "request_no": row["request_no"],
    }


def as_request(row: Row) -> dict[str, object]:
    """The log's form of a request."""
    shown = {name: value for name, value in row.items() if name != "arrived_ms"}
    shown["arrived_at"] = moment(int(row["arrived_ms"] or 0))
    shown["replayed"] = bool(row["replayed"])
    return dict(shown)
