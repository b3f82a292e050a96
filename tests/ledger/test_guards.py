"""PostgreSQL itself refuses every attack, whichever login makes it."""

import contextlib
from typing import Any

import psycopg
import pytest

from tests.ledger import (
    attacks_on_decisions,
    attacks_on_effects,
    attacks_on_evidence,
    attacks_on_retries,
)
from tests.ledger.attack import RUNTIME, Attack, is_refused, play
from tests.servers import DatabaseServer

ATTACKS: tuple[Attack, ...] = (
    *attacks_on_effects.ATTACKS,
    *attacks_on_decisions.ATTACKS,
    *attacks_on_evidence.ATTACKS,
    *attacks_on_retries.ATTACKS,
)
RULES = {
    "D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "D9", "D20", "D21", "D22", "D25", "D26", "D27",
    "T20",
}  # fmt: skip


EACH_LOGIN = [
    pytest.param(attack, name, id=f"{attack.rule} {name}: {attack.name}")
    for attack in ATTACKS
    for name in attack.logins
]


@pytest.mark.parametrize(("attack", "name"), EACH_LOGIN)
def test_the_record_withstands_the_attack(
    attack: Attack, name: str, values: dict[str, Any]
) -> None:
    outcome = play(attack, name, values)
    if attack.refusal:
        assert is_refused(attack, outcome.said), outcome.said or "it went through"
    else:
        assert (outcome.said, outcome.held) == ("", True)


def test_every_rule_has_an_attack() -> None:
    assert {attack.rule for attack in ATTACKS} >= RULES


# `login` may become anybody; a login's own connection may not.
@pytest.mark.parametrize("name", RUNTIME)
def test_a_login_cannot_become_another(name: str, database: DatabaseServer) -> None:
    with database.connect(name) as own:
        for statement in ("set session authorization ascertain_owner", "set role ascertain_owner"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                own.execute(statement)


@pytest.mark.parametrize("name", RUNTIME)
def test_a_login_gives_no_right_away(name: str, database: DatabaseServer) -> None:
    rights = (
        "select relname, relacl::text from pg_class where relnamespace = 'public'::regnamespace"
    )
    with database.connect("owner") as owner, database.connect(name) as own:
        before = set(owner.execute(rights))
        for table in ("effect", "entry", "resolution", "payload"):
            with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
                own.execute(f"grant all on {table} to public")
        assert set(owner.execute(rights)) == before
