"""Names that an attacker plants, and every pair of states that no edge joins."""

from dataclasses import replace
from itertools import product
from typing import Any

from django.db import connection

from ledger.rules.states import EDGES, LOGINS, Actor, Edge, Login, State
from tests.ledger.attack import Attack, Granted, play
from tests.ledger.attacks_on_decisions import APPLIED, proposal
from tests.ledger.attacks_on_effects import BODY, CLAIM, hand, step
from tests.ledger.attacks_on_evidence import CONFIRMING, lookup


def plant(rights: str) -> tuple[Granted, ...]:
    """As if the login could make temporary objects, which it cannot."""
    with connection.cursor() as cursor:
        cursor.execute("select current_database()")
        name = cursor.fetchone()[0]
    return (Granted(f'grant temporary on database "{name}" to {rights}'),)


PLANTED = (
    "create temporary table {table} (like public.{table}); grant all on {table} to public;"
    " set local search_path = pg_temp, public;"
)


def hijack(sql: str, table: str, holds: str, name: str) -> Attack:
    """`sql` after a table of the same name was planted before the record's own."""
    planted = PLANTED.format(table=table) + sql
    return Attack("D5", f"a planted {table}", (name,), planted, guards=plant("public"), holds=holds)


def test_a_planted_table_takes_no_entry_away(values: dict[str, Any]) -> None:
    sent = "select count(*) = 1 from public.entry where effect_id = %(prepared)s and kind = 'sent'"
    for table in ("entry", "effect_open", "payload", "effect_ref", "resumption"):
        attack = hijack(step("prepared", **CLAIM), table, sent, "worker")
        outcome = play(attack, "worker", values, unguarded=True)
        assert (outcome.said, outcome.held) == ("", True)


def test_without_its_pinned_path_the_trigger_would_write_into_the_planted_table(
    values: dict[str, Any],
) -> None:
    sent = "select count(*) = 1 from public.entry where effect_id = %(prepared)s and kind = 'sent'"
    attack = hijack(step("prepared", **CLAIM), "entry", sent, "worker")
    unpinned = Granted("alter function file_entry() reset search_path")
    attack = replace(attack, guards=(*attack.guards, unpinned))
    outcome = play(attack, "worker", values, unguarded=True)
    assert (outcome.said, outcome.held) == ("", False)


def test_a_planted_policy_allows_nothing(values: dict[str, Any]) -> None:
    rows = (
        "insert into pg_temp.policy_auto_settle values"
        " (%(tenant)s, 1, 'testbank', 'pay', 'EUR', 1000000);"
    )
    sql = f"{lookup('null')}; {rows} {CONFIRMING}"
    attack = hijack(sql, "policy_auto_settle", "select true", "worker")
    assert "automation settles nothing" in play(attack, "worker", values, unguarded=True).said


def test_a_planted_grant_makes_nobody_an_operator(values: dict[str, Any]) -> None:
    rows = (
        "insert into pg_temp.tenant_grant select * from public.tenant_grant;"
        " update pg_temp.tenant_grant set user_id = %(viewer_account)s;"
    )
    sql = rows + proposal(person_id="%(viewer)s", account_id="%(viewer_account)s")
    attack = hijack(sql, "tenant_grant", "select true", "web")
    assert "not_permitted" in play(attack, "web", values, unguarded=True).said


def test_a_planted_tier_lets_nobody_decide_alone(values: dict[str, Any]) -> None:
    rows = "insert into pg_temp.policy_tier values (%(tenant)s, 1, '*', 'EUR', null, null);"
    sql = f"{rows} {proposal('above')}; {APPLIED}"
    attack = hijack(sql, "policy_tier", "select true", "web")
    assert "second_person_needed" in play(attack, "web", values, unguarded=True).said


def test_a_planted_function_is_not_called(values: dict[str, Any]) -> None:
    planted = (
        "create function pg_temp.may_settle_itself(e effect, h effect_hand) returns boolean"
        " language sql as 'select true'; create function pg_temp.now() returns timestamptz"
        " language sql as $$ select '2000-01-01'::timestamptz $$;"
        " set local search_path = pg_temp, public, pg_catalog;"
    )
    attack = Attack(
        "D5", "a planted function", ("worker",), f"{planted} {lookup('null')}; {CONFIRMING}",
        guards=plant("public"))  # fmt: skip
    assert "automation settles nothing" in play(attack, "worker", values, unguarded=True).said


STANDING = (
    (State.PREPARED, "prepared"),
    (State.PREPARED, "late"),
    (State.DISPATCHED, "dispatched"),
    (State.UNKNOWN, "unknown"),
    (State.CONFIRMED, "confirmed"),
    (State.REJECTED, "rejected"),
)
BY_WORKER = {
    edge for edge in EDGES
    if LOGINS[edge.actor] is Login.WORKER and edge.source and not edge.needs_resolution
}  # fmt: skip


def told(actor: Actor, target: State) -> str:
    """An answer with the finding that its move needs."""
    finding = "'failed_object'" if target is State.REJECTED else "'exact'"
    return hand("answer", actor, body=BODY, finding=finding, object_id="'obj-forged'")


def test_no_step_of_a_worker_leads_where_no_edge_does(values: dict[str, Any]) -> None:
    passed = set()
    for (source, name), target, actor in product(STANDING, State, Actor):
        for kind in ("provider_declined", "not_dispatched", "absence_proven"):
            sql = step(
                name, state=str(int(target)), hand=told(actor, target),
                lease_until="now() + interval '8 s'", cause="'timeout'", declined_code="'x'",
                reject_kind=f"'{kind}'", provider_result_id="'obj-forged'",
                response_digest="sha256('x')", completed_at="now()",
            )  # fmt: skip
            if (
                source != target
                and not play(Attack("D4", "a step", ("worker",), sql), "worker", values).said
            ):
                passed.add(Edge(source, target, actor))
    assert passed <= BY_WORKER
    unproven = {edge for edge in BY_WORKER if edge.source is State.UNKNOWN}
    assert passed == {
        edge for edge in BY_WORKER - unproven if edge.actor in (Actor.WORKER, Actor.RECONCILER)
    }
