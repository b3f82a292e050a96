"""What `manage.py up` runs, seen from both sides: the record's rows and the provider's own log."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

import httpx
import psycopg
from psycopg.rows import dict_row

from ledger.ids import from_screen_id
from tests.running import Up
from tests.servers import ROOT, wait_until

DEMO_SECONDS, SETTLES_WITHIN_SECONDS = 150, 180
POINTS = ("after-mark", "after-accept", "after-response", "during-receipt")
KILLED = ("--kill", "after-accept")
# Who plays what; all are started together, so that they settle together.
CAST: Mapping[str, tuple[str, ...]] = {
    "retried": ("charge", "--amount", "64.50", "--kill", "after-mark"),
    "main": ("charge", "--amount", "129.00", *KILLED),
    "without_script": ("charge", "--amount", "31.00", *KILLED),
    "in_parallel": ("charge", "--amount", "45.00", *KILLED),
    "at_the_tier": ("payout", "--amount", "1,000.00", *KILLED),
    **{f"charge {point}": ("charge", "--amount", "75.50", "--kill", point) for point in POINTS},
    **{f"email {point}": ("email", "--kill", point) for point in POINTS},
}


@dataclass(frozen=True)
class Part:
    """One effect of the demonstration: its row, its entries, its order, the provider's log."""

    stage: "Demonstration"
    effect_id: UUID
    intent_key: str
    tenant_id: UUID
    said: str = ""

    @property
    def effect(self) -> dict[str, Any]:
        """The effect's row as it is now."""
        (found,) = self.stage.rows("select * from effect where effect_id = %s", self.effect_id)
        return found

    @property
    def path(self) -> list[int]:
        """The states it went through."""
        moves = self.stage.rows(
            "select to_state from entry where effect_id = %s and from_state <> to_state"
            " order by no",
            self.effect_id,
        )
        return [move["to_state"] for move in moves]

    @property
    def finding(self) -> str | None:
        """What the newest lookup proved; None before the first."""
        found = self.stage.rows(
            "select finding from entry where effect_id = %s and kind in ('lookup',"
            " 'settled_itself') order by no desc limit 1",
            self.effect_id,
        )
        return found[0]["finding"] if found else None

    @property
    def receipts(self) -> list[str]:
        """The provider's objects that are filed as its receipt."""
        found = self.stage.rows(
            "select ref from effect_ref where effect_id = %s and kind = 'receipt'", self.effect_id
        )
        return [row["ref"] for row in found]

    @property
    def applications(self) -> list[dict[str, Any]]:
        """The decisions that were carried out."""
        return self.stage.rows(
            "select r.action, r.person_id, r.reason_code, r.evidence, r.receipt_id, a.no"
            " from application a join resolution r using (tenant_id, resolution_id)"
            " where r.effect_id = %s order by a.no",
            self.effect_id,
        )

    @property
    def resolutions(self) -> int:
        """How many decisions were recorded at all."""
        (found,) = self.stage.rows(
            "select count(*) as n from resolution where effect_id = %s", self.effect_id
        )
        return int(found["n"])

    @property
    def order(self) -> dict[str, Any]:
        """The order that waits for it, and how often each of its steps ran."""
        ref = self.effect["workflow_id"]
        (order,) = self.stage.rows(
            "select * from orders_order where tenant_id = %s and ref = %s", self.tenant_id, ref
        )
        steps = self.stage.rows(
            "select name, runs from orders_step where order_id = %s", order["id"]
        )
        return {**order, "steps": {step["name"]: step["runs"] for step in steps}}

    @property
    def creates(self) -> list[dict[str, Any]]:
        """The create requests that reached the provider, oldest first."""
        return self._log("requests", kind="create")

    @property
    def lookups(self) -> list[dict[str, Any]]:
        """The lookups that reached the provider, oldest first."""
        return self._log("requests", kind="lookup")

    @property
    def happened(self) -> list[str]:
        """The ids of the provider's objects that took effect."""
        return [one["id"] for one in self._log("effects") if one["took_effect"]]

    def _log(self, what: str, **query: str) -> list[dict[str, Any]]:
        return self.stage.log(what, reference=self.intent_key, tenant=str(self.tenant_id), **query)

    def comes_to(self, *findings: str) -> str:
        """Wait until a lookup has found one of `findings`; which one."""
        return str(
            wait_until(
                lambda: self.finding if self.finding in findings else "",
                timeout_seconds=SETTLES_WITHIN_SECONDS,
                what=lambda: f"{findings} for {self.intent_key}, at {self.finding}",
            )
        )

    def may_be_looked_up(self) -> None:
        """Wait until the five seconds after the newest lookup are over."""
        wait_until(
            lambda: (
                not self.stage.rows(
                    "select from lookup where effect_id = %s and (finished_at is null"
                    " or finished_at > now() - interval '5 seconds')",
                    self.effect_id,
                )
            ),
            what="the end of the pause between two lookups",
        )

    def reaches(self, state: int) -> None:
        """Wait until the effect stands in `state`."""
        wait_until(
            lambda: self.effect["state"] == state,
            timeout_seconds=SETTLES_WITHIN_SECONDS,
            what=lambda: f"state {state} of {self.intent_key}, now {self.path}",
        )

    def order_ends(self) -> dict[str, Any]:
        """Wait until its order is completed or failed; the order."""
        return dict(
            wait_until(
                lambda: order if (order := self.order)["ended_at"] else None,
                timeout_seconds=60,
                what=lambda: f"the end of order {self.order}",
            )
        )


@dataclass
class Demonstration:
    """A running `up` with its sample tenants, and the cast that plays beside them."""

    up: Up
    crew: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(4))
    playing: dict[str, Future[Part]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The console's address, without a slash at the end."""
        return f"http://127.0.0.1:{self.up.port}"

    @cached_property
    def told(self) -> dict[str, str]:
        """How to reach its servers, as `up` remembers it for other commands."""
        return dict(json.loads((self.up.state / "env.json").read_text()))

    def start(self) -> None:
        """Let the whole cast begin."""
        self.playing = {name: self.crew.submit(self.play, *words) for name, words in CAST.items()}

    def part(self, name: str) -> Part:
        """One of the cast, once its worker was killed and its effect has come to rest."""
        return self.playing[name].result()

    def play(self, *words: str) -> Part:
        """`manage.py demo` with these words; the effect that it made."""
        said = self.run("demo", *words)
        key, screen_id = (
            re.search(rf"^{name}: (\S+)$", said, re.MULTILINE) for name in ("Intent key", "Effect")
        )
        assert key, said
        assert screen_id, said
        return self.of(key[1], effect_id=from_screen_id(screen_id[1]), said=said)

    def of(self, intent_key: str, *, effect_id: UUID | None = None, said: str = "") -> Part:
        """The effect of an intent key; `effect_id` where two tenants might use it."""
        (found,) = self.rows(
            "select tenant_id, effect_id from effect where intent_key = %s"
            " and (%s::uuid is null or effect_id = %s)",
            intent_key,
            effect_id,
            effect_id,
        )
        return Part(self, found["effect_id"], intent_key, found["tenant_id"], said)

    def log(self, what: str, **query: str) -> list[dict[str, Any]]:
        """The provider's `requests` or `effects` that agree with the query."""
        answer = httpx.get(f"{self.told['SANDBOX_URL']}/_sandbox/{what}", params=query)
        return list(answer.raise_for_status().json()[what])

    def rows(self, statement: str, *params: Any) -> list[dict[str, Any]]:
        """What the owner reads."""
        with psycopg.connect(self.told["DATABASE_URL"], row_factory=dict_row) as connection:
            return connection.execute(statement, params).fetchall()  # type: ignore[call-overload]

    def run(self, *words: str) -> str:
        """Another command of manage.py beside it; what it printed. Fails the test if it failed."""
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT, env=self.up.env, capture_output=True, text=True, timeout=DEMO_SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
