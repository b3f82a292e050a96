"""The demonstration: real workers killed at every point, and queues that fill by themselves."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from console.demo.sample import ACCOUNTS, PASSWORD
from console.demo.sandbox import Sandbox
from console.demo.scenes import KILLS, SCENES
from console.people import ROLES
from console.processes import Child
from tests.servers import ROOT, BrokerServer, DatabaseServer, SandboxServer, wait_until

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(400)]

PROCESSES = {
    "worker": ("celery", "-A", "console.celery", "worker", "--concurrency", "2",
               "--without-gossip", "--without-mingle", "--loglevel", "INFO"),
    "beat": ("celery", "-A", "console.celery", "beat", "--pidfile=",
             "--scheduler", "celery.beat:Scheduler"),
    "workflow": ("django", "orders", "run"),
}  # fmt: skip


@dataclass
class Theatre:
    """A database, a broker, a sandbox and all processes of their own, as `up` runs them."""

    folder: Path
    server: DatabaseServer
    database: str
    broker: BrokerServer
    provider: SandboxServer
    base: dict[str, str]
    children: list[Child] = field(default_factory=list)

    def environment(self, login: str) -> dict[str, str]:
        """What a process of that login is told."""
        url = self.server.url(login, database=self.database)
        return {
            **{name: text for name, text in self.base.items() if "DATABASE_URL" not in name},
            f"DATABASE_URL_{login.upper()}": url,
            "ASCERTAIN_LOGIN": login,
            "ASCERTAIN_STATE_DIR": str(self.folder),
            "REDIS_URL": self.broker.url,
            "SANDBOX_URL": self.provider.url,
        }

    def start(self) -> None:
        """Start worker, clock and order workflow."""
        for name, command in PROCESSES.items():
            login = name if name in ("worker", "workflow") else "owner"
            child = Child(
                name,
                command=[sys.executable, "-m", *command],
                env=self.environment(login),
                log=self.folder / f"{name}.log",
                folder=ROOT,
                grace_seconds=15,
            )
            child.start()
            self.children.append(child)

    def stop(self) -> None:
        """Stop them all."""
        for child in reversed(self.children):
            child.stop()

    def run(self, *words: str, login: str = "workflow") -> str:
        """Run a command of manage.py to its end; what it printed. Fails the test if it failed."""
        done = subprocess.run(
            [sys.executable, "-m", "django", *words],
            env=self.environment(login), cwd=ROOT, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr + self.said()
        return done.stdout

    def said(self) -> str:
        """The end of the worker's log."""
        return (self.folder / "worker.log").read_text()[-3000:]

    def rows(self, statement: str, *params: Any) -> list[dict[str, Any]]:
        """What the owner reads."""
        url = self.server.url("owner", database=self.database)
        with psycopg.connect(url, row_factory=dict_row) as connection:
            return connection.execute(statement, params).fetchall()  # type: ignore[call-overload]

    def effect(self, key: str) -> dict[str, Any]:
        """The effect of an intent key."""
        (found,) = self.rows("select * from effect where intent_key = %s", key)
        return found


@pytest.fixture(scope="module")
def theatre(
    server_folder: Path, database: DatabaseServer, process_env: Callable[..., dict[str, str]]
) -> Iterator[Theatre]:
    """The whole stage, with the sample tenants made."""
    folder = server_folder / "theatre"
    for part in ("broker", "provider"):
        (folder / part).mkdir(parents=True)
    broker, provider = BrokerServer(folder / "broker"), SandboxServer(folder / "provider")
    name = database.create("theatre", template=f"{database.name}_template")
    stage = Theatre(folder, database, name, broker, provider, process_env("owner"))
    broker.start()
    provider.start()
    stage.run("seed", login="owner")
    stage.start()
    yield stage
    stage.stop()
    provider.stop()
    broker.stop()


def test_sample_accounts_are_made_once_and_shown_each_time(theatre: Theatre) -> None:
    before = theatre.rows("select id from account order by id")
    said = theatre.run("seed", login="owner")
    assert theatre.rows("select id from account order by id") == before
    assert len(before) == len(ACCOUNTS)
    assert PASSWORD in said
    assert all(one.username in said for one in ACCOUNTS)


def test_sample_accounts_hold_what_their_roles_say_and_no_more(theatre: Theatre) -> None:
    held = theatre.rows(
        "select a.username, t.slug, array_agg(p.codename) as names from tenant_grant g"
        " join account a on a.id = g.user_id join tenant t on t.id = g.content_object_id"
        " join auth_permission p on p.id = g.permission_id group by 1, 2"
    )
    assert {(row["username"], row["slug"]): frozenset(row["names"]) for row in held} == {
        (one.username, slug): frozenset().union(*(ROLES[role] for role in one.roles))
        for one in ACCOUNTS
        for slug in one.tenants
    }
    recorded = theatre.rows("select count(*) as n from record where kind = 'role_granted'")
    assert recorded[0]["n"] == sum(len(one.roles) * len(one.tenants) for one in ACCOUNTS)


@dataclass(frozen=True)
class Ending:
    """Where an effect whose worker died at a point comes to rest, and what the provider saw."""

    states: tuple[int, ...]
    creates: int
    cause: str | None


ENDINGS = {
    "before-dispatch": Ending((1, 2, 4), 1, None),
    "after-mark": Ending((1, 2, 3), 0, "lease_lost"),
    "after-accept": Ending((1, 2, 3), 1, "lease_lost"),
    "after-response": Ending((1, 2, 3), 1, "lease_lost"),
    "during-receipt": Ending((1, 2, 3), 1, "lease_lost"),
    "none": Ending((1, 2, 4), 1, None),
}
OPERATIONS = ("charge", "payout", "refund", "disbursement", "email", "charge")


def test_a_worker_dies_at_every_point_and_both_sides_agree(theatre: Theatre) -> None:
    def play(pair: tuple[str, str]) -> str:
        operation, kill = pair
        return theatre.run("demo", operation, "--amount", "75.50", "--kill", kill)

    with ThreadPoolExecutor() as pool:
        said = dict(zip(KILLS, pool.map(play, zip(OPERATIONS, KILLS, strict=True)), strict=True))
    provider = Sandbox(theatre.provider.url)
    for kill, ending in ENDINGS.items():
        (key,) = [line[12:] for line in said[kill].splitlines() if line.startswith("Intent key: ")]
        effect = theatre.effect(key)
        path = theatre.rows(
            "select to_state from entry where effect_id = %s order by no", effect["effect_id"]
        )
        states = tuple(dict.fromkeys(row["to_state"] for row in path))
        requests = provider.creates(key, tenant=str(effect["tenant_id"]))
        happened = [
            one
            for one in provider.effects(key, tenant=str(effect["tenant_id"]))
            if one["took_effect"]
        ]
        assert (states, effect["cause"]) == (ending.states, ending.cause), kill
        assert (len(requests), len(happened)) == (ending.creates, ending.creates), kill
        assert ("Killed worker process" in said[kill]) is (kill != "none")
        assert "/t/aurelia/effects/" in said[kill]


def test_killed_workers_come_back_and_no_fault_is_left_armed(theatre: Theatre) -> None:
    log = (theatre.folder / "worker.log").read_text()
    assert log.count("signal 9 (SIGKILL)") >= len(KILLS) - 1
    assert not list((theatre.folder / "faults").iterdir())
    said = theatre.run("demo", "payout", "--kill", "none")
    assert "confirmed: answer by worker" in said


def test_the_workflow_ran_its_own_step_once_whatever_died(theatre: Theatre) -> None:
    found = theatre.rows("select name, runs from orders_step")
    assert found
    assert {row["runs"] for row in found} == {1}
    ended = theatre.rows("select completions from orders_order where state = 'completed'")
    assert {row["completions"] for row in ended} == {1}


def test_the_queues_of_both_tenants_fill_with_every_kind_of_case(theatre: Theatre) -> None:
    environment = {
        **theatre.environment("workflow"),
        "DATABASE_URL": theatre.server.url("owner", database=theatre.database),
    }
    done = subprocess.run(
        [sys.executable, "-m", "django", "seed", "--fill"],
        env=environment, cwd=ROOT, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    orders = {scene.ref for scenes in SCENES.values() for scene in scenes}

    def at_rest() -> bool:
        moving = theatre.rows(
            "select 1 from effect where workflow_id = any(%s) and state in (1, 2)", list(orders)
        )
        return not moving

    wait_until(at_rest, timeout_seconds=90, what="the end of every lease")
    unknown = theatre.rows(
        "select t.slug, e.cause, o.escalated_to, e.operation from effect e"
        " join tenant t on t.id = e.tenant_id join effect_open o using (tenant_id, effect_id)"
        " where e.state = 3 and e.workflow_id = any(%s)",
        list(orders),
    )
    for slug in SCENES:
        assert 12 <= sum(row["slug"] == slug for row in unknown) <= 20
    causes = {"lease_lost", "reset", "server_error", "acknowledged_only", "unreadable_answer"}
    assert causes <= {row["cause"] for row in unknown}
    assert {"Supplier desk", "Lending desk"} <= {row["escalated_to"] for row in unknown}
    assert done.stdout.count("killed worker process") == 4


def test_filling_again_plays_nothing_twice(theatre: Theatre) -> None:
    before = theatre.rows("select count(*) as n from orders_order")
    theatre.run("seed", "--fill")
    assert theatre.rows("select count(*) as n from orders_order") == before


@pytest.mark.parametrize("words", [("seed",), ("seed", "--fill"), ("demo", "charge")])
def test_a_real_deployment_is_left_alone(theatre: Theatre, words: tuple[str, ...]) -> None:
    environment = {**theatre.environment("owner"), "ASCERTAIN_SANDBOX": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "django", *words],
        env=environment, cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert "This is a real deployment" in done.stderr
