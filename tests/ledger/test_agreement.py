"""What Python says about the record and what PostgreSQL's catalog says are the same."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import clock, facts
from ledger.models import Effect, Entry, Payload, Resolution
from ledger.rules import absence, digest
from ledger.rules.cases import Decision
from ledger.rules.policy import Tier, people_required
from ledger.rules.states import EDGES, LOGINS, Actor, Cause, Edge, Login, RejectKind, State
from tests.builders import (
    PAY,
    SECOND_FROM,
    THIRD_FROM,
    Home,
    home,
    look,
    policy,
    prepared,
    unknown,
)
from tests.ledger.deciding import act

pytestmark = pytest.mark.usefixtures("database")
QUICK = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def ask(statement: str, *params: Any) -> list[tuple[Any, ...]]:
    """All rows of a statement, as the owner."""
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return list(cursor.fetchall())


def check_of(name: str) -> str:
    """The expression of a CHECK constraint, as the catalog has it."""
    [(text,)] = ask(
        "select pg_get_expr(conbin, conrelid) from pg_constraint where conname = %s", name
    )
    return str(text)


# --- states, actors, logins ---


def test_the_legal_edges_of_the_entry_are_those_of_the_rules() -> None:
    expression = check_of("legal_edge")
    grid = product([int(s) for s in State], [int(s) for s in State], [a.value for a in Actor])
    accepted = set()
    for source, target, actor in grid:
        for resolved in (False, True):
            resolution = "gen_random_uuid()" if resolved else "null::uuid"
            [(legal,)] = ask(
                f"select {expression} from (select %s::smallint as from_state,"
                f" %s::smallint as to_state, %s::text as actor, {resolution} as resolution_id) e",
                source,
                target,
                actor,
            )
            if legal and source != target:
                accepted.add(Edge(State(source), State(target), Actor(actor), resolved))
            if source == target:
                assert legal is (not resolved), "evidence never carries a resolution"
    assert accepted == EDGES


def test_the_logins_of_the_actors_are_those_of_the_rules() -> None:
    expression = check_of("login_is_actor")
    accepted = {
        (actor, login)
        for actor, login in product(Actor, Login)
        if ask(f"select {expression} from (select %s as login, %s as actor) e", login, actor)[0][0]
    }
    assert accepted == set(LOGINS.items())


def test_the_kinds_of_rejection_are_those_of_the_rules() -> None:
    assert set(re.findall(r"'(\w+)'::text", check_of("rejected_has_a_kind"))) == set(RejectKind)


def test_the_cause_that_intake_writes_is_one_of_the_rules() -> None:
    [(source,)] = ask("select prosrc from pg_proc where proname = 'set_birth'")
    assert set(re.findall(r"new\.cause := '(\w+)'", source)) == {Cause.TAKEN_IN.value}


# --- models ---

TYPES: dict[type[models.Field], str] = {
    models.UUIDField: "uuid",
    models.TextField: "text",
    models.BinaryField: "bytea",
    models.SmallIntegerField: "smallint",
    models.IntegerField: "integer",
    models.BigIntegerField: "bigint",
    models.BooleanField: "boolean",
    models.DateTimeField: "timestamp with time zone",
}
UNMANAGED = [
    model for model in apps.get_app_config("ledger").get_models() if not model._meta.managed
]
# A column that no page and no verb reads by the ORM.
NOT_IN_MODELS = {("effect", "hand")}


@pytest.mark.parametrize("model", UNMANAGED, ids=lambda model: model._meta.db_table)
def test_a_model_has_the_columns_of_its_table(model: type[models.Model]) -> None:
    table = model._meta.db_table
    stored = {
        (name, kind, nullable)
        for name, kind, nullable in ask(
            "select attname, format_type(atttypid, atttypmod), not attnotnull from pg_attribute"
            " where attrelid = %s::regclass and attnum > 0 and not attisdropped",
            table,
        )
        if (table, name) not in NOT_IN_MODELS
    }
    assert {
        (f.column, column_type(f), f.null) for f in model._meta.concrete_fields if f.column
    } == stored


def column_type(field: models.Field) -> str:
    """The PostgreSQL type that the field stands for."""
    if base := getattr(field, "base_field", None):
        return f"{column_type(base)}[]"
    return TYPES[type(field)]


@pytest.mark.parametrize("model", UNMANAGED, ids=lambda model: model._meta.db_table)
def test_a_model_has_the_primary_key_of_its_table(model: type[models.Model]) -> None:
    [(names,)] = ask(
        "select array_agg(a.attname::text order by k.n) from pg_constraint c,"
        " unnest(c.conkey) with ordinality k (attnum, n), pg_attribute a"
        " where c.conrelid = %s::regclass and c.contype = 'p' and a.attrelid = c.conrelid"
        " and a.attnum = k.attnum",
        model._meta.db_table,
    )
    assert [field.column for field in model._meta.pk_fields] == names


def test_every_table_of_the_record_has_a_model() -> None:
    made = {table for (table,) in ask(RECORD_TABLES)}
    assert made == {model._meta.db_table for model in UNMANAGED}


# The tables that the guards' own SQL makes: all but Django's and the people's.
RECORD_TABLES = """
  select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
  and relname not in ('orders_order')
  and exists (select from pg_attribute where attrelid = pg_class.oid
    and attname in ('tenant_id', 'freeze_mode'))"""


# --- keys (S1) ---

# Contracts belong to the deployment, not to a tenant.
WITHOUT_TENANT = {"contract_pkey"}


def test_every_primary_and_unique_key_starts_with_the_tenant() -> None:
    keys = ask(
        "select c.relname::text, a.attname::text from pg_index i"
        " join pg_class c on c.oid = i.indexrelid"
        " left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]"
        f" where i.indisunique and i.indrelid::regclass::text in ({RECORD_TABLES})"
    )
    assert len(keys) > 20
    assert {name for name, first in keys if first != "tenant_id"} == WITHOUT_TENANT


def test_every_foreign_key_of_the_record_holds_the_tenant_on_both_sides() -> None:
    keys = ask(
        "select c.conname::text, c.confrelid::regclass::text,"
        " (select attname::text from pg_attribute where attrelid = c.conrelid"
        "   and attnum = c.conkey[1]),"
        " (select attname::text from pg_attribute where attrelid = c.confrelid"
        "   and attnum = c.confkey[1])"
        " from pg_constraint c where c.contype = 'f'"
        f" and c.conrelid::regclass::text in ({RECORD_TABLES})"
    )
    assert keys
    assert not [key for key in keys if key[2:] != ("tenant_id", "tenant_id")]


def test_the_record_uses_no_sequence_and_no_advisory_lock() -> None:
    assert not ask(
        "select a.attrelid::regclass, a.attname from pg_attribute a left join pg_attrdef d"
        " on d.adrelid = a.attrelid and d.adnum = a.attnum where (a.attidentity <> ''"
        " or pg_get_expr(d.adbin, d.adrelid) like '%nextval%')"
        f" and a.attrelid::regclass::text in ({RECORD_TABLES})".replace("%nextval%", "%%nextval%%")
    )
    assert not ask(
        "select proname from pg_proc where prosrc ~ 'advisory|nextval|pg_notify'"
        " and pronamespace = 'public'::regnamespace"
    )


def test_the_state_stands_in_no_index_of_the_effect() -> None:
    moved = {
        column
        for (column,) in ask(
            "select column_name::text from information_schema.column_privileges"
            " where table_name = 'effect' and grantee = 'ascertain_worker'"
            " and privilege_type = 'UPDATE'"
        )
    }
    assert "state" in moved
    indexes = " ".join(
        text
        for (text,) in ask(
            "select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'effect'::regclass"
        )
    )
    assert not [
        column for column in moved if re.search(rf"\b{column}\b", indexes.split("USING")[-1])
    ]


def test_amounts_are_whole_numbers_in_every_table() -> None:
    assert not ask(
        f"select table_name, column_name from information_schema.columns where table_name in"
        f" ({RECORD_TABLES}) and data_type in ('numeric', 'real', 'double precision', 'money')"
    )


# --- functions ---


def test_every_function_that_runs_as_the_owner_has_a_pinned_path() -> None:
    found = ask(
        "select proname, proconfig from pg_proc where pronamespace = 'public'::regnamespace"
        " and prosecdef"
    )
    assert len(found) > 8
    assert {tuple(config) for _, config in found} == {("search_path=public, pg_temp",)}


texts = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=40)
moments = st.datetimes(
    min_value=datetime(1990, 1, 1),  # noqa: DTZ001 - the zone is added below
    max_value=datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
links = st.fixed_dictionaries({
    "prev": st.binary(max_size=32),
    "tenant": st.uuids(), "effect": st.uuids(),
    "no": st.integers(1, 2**31 - 1), "kind": texts,
    "source": st.integers(0, 6), "target": st.integers(0, 6),
    "actor": texts, "login": texts,
    "resolution": st.none() | st.uuids(), "at": moments,
    "finding": st.none() | texts, "object_id": st.none() | texts,
    "proof": st.binary(max_size=64),
})  # fmt: skip

# The parameters of SQL's `link`, in its order.
LINKED = {
    "prev": "bytea", "tenant": "uuid", "effect": "uuid", "no": "int", "kind": "text",
    "source": "smallint", "target": "smallint", "actor": "text", "login": "text",
    "resolution": "uuid", "at": "timestamptz", "finding": "text", "object_id": "text",
    "proof": "bytea",
}  # fmt: skip


@QUICK
@given(links)
def test_the_databases_link_is_its_python_twin(one: dict[str, Any]) -> None:
    marks = ", ".join(f"%s::{kind}" for kind in LINKED.values())
    [(stored,)] = ask(f"select link({marks})", *(one[name] for name in LINKED))
    assert bytes(stored) == digest.link(one["prev"], **{k: one[k] for k in LINKED if k != "prev"})


@QUICK
@given(st.integers(0, 2**31 - 1))
def test_the_databases_key_margin_is_that_of_the_rules(window_seconds: int) -> None:
    sent = datetime(2026, 1, 1, tzinfo=UTC)
    contract = replace(PAY, key_window_seconds=window_seconds)
    [(margin,)] = ask("select extract(epoch from key_margin(%s))::bigint", window_seconds)
    until = absence.retry_until(sent, contract)
    assert sent + timedelta(seconds=window_seconds - margin) == until


def test_the_deadlines_of_a_claim_are_those_of_the_contract(at: Home) -> None:
    effect_id = unknown(at)
    found = facts.case(at.tenant_id, effect_id, now=clock.now())
    assert found.effect.key_until == absence.key_until(found.effect.first_attempt_at, PAY)
    within = timedelta(seconds=PAY.dispatch_within_seconds)
    assert found.effect.dispatch_until == found.effect.created_at + within
    assert found.effect.lease_seconds == PAY.lease_seconds


# --- how many persons ---

bars = st.none() | st.integers(0, 10**15)
amounts = st.none() | st.integers(0, 10**15)


def required(at: Home, version: int, currency: str, amount: int | None) -> int:
    """What PostgreSQL asks for."""
    [(count,)] = ask(
        "select people_required(%s, %s, 'pay', %s, %s::bigint)",
        at.tenant_id, version, currency, amount,
    )  # fmt: skip
    return int(count)


@QUICK
@given(second=bars, third=bars, amount=amounts)
def test_the_database_asks_for_as_many_persons_as_the_rules(
    second: int | None, third: int | None, amount: int | None
) -> None:
    at = home()
    version = policy(at.tenant_id, {"EUR": (second, third)})
    tiers = {"EUR": Tier(second, third)}
    edges = [bar + step for bar in (second, third) if bar is not None for step in (-1, 0, 1)]
    for minor in (amount, *(edge for edge in edges if edge >= 0)):
        told = people_required(Decision.ACCEPT, "EUR", minor, tiers=tiers)
        assert required(at, version, "EUR", minor) == told


def test_what_the_policy_does_not_know_takes_three(at: Home) -> None:
    for version, currency in ((1, "SEK"), (7, "EUR")):
        assert required(at, version, currency, 1) == 3
    assert required(at, 1, "EUR", None) == 3
    assert required(at, 1, "XXX", None) == 1


def test_an_operations_own_tier_goes_before_the_one_for_all(at: Home) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into policy_tier values (%s, 1, 'pay', 'EUR', 10, null)", (at.tenant_id,)
        )
    assert [required(at, 1, "EUR", minor) for minor in (9, 10, THIRD_FROM)] == [1, 2, 2]
    case = facts.case(at.tenant_id, prepared(at, amount_minor=10), now=clock.now())
    assert case.facts.people_required[Decision.ACCEPT] == 2
    other = prepared(at, operation="pay_freely", amount_minor=SECOND_FROM - 1)
    case = facts.case(at.tenant_id, other, now=clock.now())
    assert case.facts.people_required[Decision.ACCEPT] == 1


# --- the chain ---


def test_the_whole_chain_of_an_effect_is_counted_again_in_python(at: Home) -> None:
    effect_id = unknown(at)
    look(at, effect_id)
    look(at, effect_id, {"object_id": "obj-chain"})
    act(at, effect_id, Decision.ACCEPT)
    look(at, effect_id)
    head = b""
    for entry in Entry.objects.filter(effect_id=effect_id).order_by("no"):
        head = digest.link(
            head,
            tenant=entry.tenant_id,
            effect=entry.effect_id,
            no=entry.no,
            kind=entry.kind,
            source=entry.from_state,
            target=entry.to_state,
            actor=entry.actor,
            login=entry.login,
            resolution=entry.resolution_id,
            at=entry.at,
            finding=entry.finding,
            object_id=entry.object_id,
            proof=bytes(entry.proof),
        )
        assert bytes(entry.hash) == head
        assert bytes(entry.proof) == proof_of(entry)
    assert bytes(Effect.objects.get(effect_id=effect_id).head) == head
    assert entry.no == 7


def proof_of(entry: Entry) -> bytes:
    """The digest of what the entry rests on: its salted body, its resolution, or its note."""
    if entry.resolution_id:
        return bytes(Resolution.objects.get(resolution_id=entry.resolution_id).digest)
    body = Payload.objects.filter(effect_id=entry.effect_id, no=entry.no).first()
    if body is not None:
        return digest.digest(bytes(body.salt) + bytes(body.body))
    return digest.digest((entry.note or "").encode())


def test_every_body_but_the_request_has_a_salt_of_its_own(at: Home) -> None:
    effect_id = unknown(at)
    look(at, effect_id)
    salts = [(no, len(bytes(salt))) for no, salt in Payload.objects.filter(
        effect_id=effect_id).order_by("no").values_list("no", "salt")]  # fmt: skip
    assert salts == [(1, 0), (3, 16), (4, 16)]
