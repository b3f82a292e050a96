"""One tenant with an effect in every situation, for attacks that are refused or rolled back."""

from typing import Any
from uuid import UUID

from django.db import transaction

from ledger import access, dispatch
from ledger.ids import new_id
from ledger.rules.contract import NotProcessed, Standing
from ledger.rules.decisions import Decision
from tests.builders import (
    SECOND_FROM,
    Home,
    answer,
    confirmed,
    declined,
    dispatched,
    effect_row,
    guards_aside,
    home,
    look,
    person,
    prepared,
    taken_in,
    unknown,
)
from tests.ledger.attack import run
from tests.ledger.attacks_on_decisions import proposal
from tests.ledger.deciding import act, found
from tests.logins import login


def scene() -> dict[str, Any]:
    """Every id that an attack may name, by the name that it uses in its SQL."""
    at, other = home(), home()
    viewer = person(at.tenant_id, ["view"])
    named = {
        "tenant": at.tenant_id, "other": other.tenant_id, "fresh": new_id(),
        "person": at.operator.person_id, "account": at.operator.account_id,
        "viewer": viewer.person_id, "viewer_account": viewer.account_id,
        "foreigner": other.operator.person_id, "foreigner_account": other.operator.account_id,
    }  # fmt: skip
    named |= _states(at) | _evidence(at) | _applied(at) | _foreign(other)
    for tenant_id in (at.tenant_id, other.tenant_id):
        _fill(tenant_id)
    return named


def _states(at: Home) -> dict[str, Any]:
    shared = {"object_ref": "n-shared", "operation": "pay_held"}
    neighbour, held = prepared(at, **shared), dispatched(at, **shared)
    waiting, done = prepared(at), confirmed(at)
    return {
        "neighbour": neighbour, "dispatched": held.effect_id, "prepared": waiting,
        "prepared_key": effect_row(waiting)["intent_key"], "unknown": unknown(at),
        "unknown_version": 3,
        "late": prepared(at, operation="pay_late"), "retried": _put_back(at),
        "confirmed": done, "confirmed_object": effect_row(done)["provider_result_id"],
        "rejected": declined(at),
    }  # fmt: skip


def _put_back(at: Home) -> UUID:
    """An effect that waits to be sent again, its key window running."""
    held = dispatched(at)
    with login("worker"):
        dispatch.settle(held, NotProcessed(answer(status=429)))
    return held.effect_id


def _evidence(at: Home) -> dict[str, Any]:
    """Unknown effects by what was found of them: id, entry, object and version of each."""
    pending, wrong = {"standing": Standing.PENDING}, {"amount_minor": 1}
    named: dict[str, Any] = {}
    for name, effect_id, looks in (
        ("exact", unknown(at), [[{}]]),
        ("above", unknown(at, amount_minor=SECOND_FROM), [[{}]]),
        ("foreign_money", unknown(at, currency="SEK"), [[{}]]),
        ("absent", unknown(at), [[]]),
        ("seen_before", unknown(at), [[pending], []]),
        ("brief_key", unknown(at, operation="pay_brief_key"), [[]]),
        ("unkeyed", unknown(at, operation="pay_unkeyed"), [[]]),
        ("taken_in", taken_in(at), [[]]),
        ("twin", unknown(at), [[{"object_id": "obj-twin"}]]),
        ("contrary", unknown(at), [[{}], []]),
        ("another", unknown(at), [[wrong], [{}]]),
    ):
        found = [look(at, effect_id, *objects) for objects in looks]
        telling = found[0] if name == "contrary" else found[-1]
        named |= {
            name: effect_id, f"{name}_no": telling.no, f"{name}_object": telling.object_id,
            f"{name}_version": found[-1].no,
        }  # fmt: skip
    confirmed(at, found={"object_id": "obj-twin"})
    return named


def _applied(at: Home) -> dict[str, Any]:
    effect_id, _ = found(at, {})
    return {"applied": act(at, effect_id, Decision.ACCEPT).resolution_id}


def _foreign(other: Home) -> dict[str, Any]:
    """Another tenant's effect with evidence, and a resolution that waits to be applied."""
    effect_id, seen = found(other, {})
    act(other, found(other, {})[0], Decision.ACCEPT)
    named = {
        "tenant": other.tenant_id, "fresh": new_id(), "person": other.operator.person_id,
        "account": other.operator.account_id, "exact": effect_id, "exact_no": seen.no,
        "exact_object": seen.object_id, "exact_version": seen.no,
    }  # fmt: skip
    with login("web"), transaction.atomic():
        access.enter(other.tenant_id)
        run(proposal(), named)
    return {
        "foreign_exact": effect_id, "foreign_exact_no": seen.no,
        "foreign_exact_object": seen.object_id, "foreign_exact_version": seen.no,
        "foreign_resolution": named["fresh"],
    }  # fmt: skip


def _fill(tenant_id: UUID) -> None:
    """A row in each table that no effect above has left one in."""
    with guards_aside() as cursor:
        cursor.execute(
            "insert into policy_auto_settle select tenant_id, version, 'p', 'o', 'EUR', 1 from"
            " policy where tenant_id = %(tenant)s;"
            " insert into record (tenant_id, record_id, kind, body) values"
            " (%(tenant)s, gen_random_uuid(), 'x', '{}');"
            " insert into escalation (tenant_id, escalation_id, effect_id, command_id, owner,"
            " reason_code, words, next_check_at, at) select tenant_id, gen_random_uuid(),"
            " effect_id, gen_random_uuid(), 'o', 'r', 'w', now(), now() from effect"
            " where tenant_id = %(tenant)s limit 1",
            {"tenant": tenant_id},
        )
