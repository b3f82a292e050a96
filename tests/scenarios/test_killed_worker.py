"""The ugly path without a browser: a real worker, SIGKILL at every point after the dispatch mark.

K2 to K6 of the kill points: what the record says, what the provider's log says, and how often the
workflow went on. A charge waits for a person, a receipt email settles itself.
"""

import re
from dataclasses import dataclass
from typing import Any

import pytest

from ledger.ids import screen_id
from tests.demonstration import POINTS, Demonstration, Part
from tests.person import Person
from tests.servers import wait_until

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(500)]

OPERATIONS = ("charge", "email")
OWN_STEP = {"charge": "reserve_stock", "email": "render_receipt"}
STEP = {"charge": "collect", "email": "send_receipt"}
UNDONE = {"charge": "release_stock", "email": "print_receipt"}
AFTERWARDS = {"charge": {"send_receipt": 1}, "email": {}}
NO_REQUEST = "after-mark"  # the only point at which the provider has heard of nothing


@dataclass(frozen=True)
class Killed:
    """One effect, and where its worker died."""

    part: Part
    operation: str
    point: str

    @property
    def happened(self) -> bool:
        """Whether the provider had accepted before the kill."""
        return self.point != NO_REQUEST

    @property
    def settles_itself(self) -> bool:
        """Whether the sample policy lets its exact match settle without a person."""
        return self.operation == "email" and self.happened

    @property
    def steps(self) -> dict[str, int]:
        """How often the order's steps ran up to the one that waits."""
        return {OWN_STEP[self.operation]: 1, STEP[self.operation]: 1}


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_killed_worker_costs_no_second_create_and_the_workflow_goes_on_once(
    demonstration: Demonstration, operation: str, point: str
) -> None:
    part = demonstration.part(f"{operation} {point}")
    killed = Killed(part, operation, point)
    part.comes_to("exact" if killed.happened else "absent")
    both_sides_agree(killed)
    if killed.settles_itself:
        assert (part.path, part.resolutions) == ([1, 2, 3, 4], 0)
    else:
        waits(killed)
        with Person(demonstration.url, "operator-one") as person:
            settle(person, killed)
    ended(killed)


def both_sides_agree(killed: Killed) -> None:
    """One create at most, as the record says, which has an entry for every version."""
    part, effect = killed.part, killed.part.effect
    assert re.search(r"Killed worker process.* with SIGKILL", part.said)
    assert (effect["cause"], effect["attempts"], part.path[:3]) == ("lease_lost", 1, [1, 2, 3])
    assert len(part.creates) == len(part.happened) == int(killed.happened)
    assert part.lookups
    (whole,) = part.stage.rows(
        "select count(*) as entries, max(no) as last from entry where effect_id = %s",
        part.effect_id,
    )
    assert whole == {"entries": effect["version"], "last": effect["version"]}


def waits(killed: Killed) -> None:
    """Nothing was decided by itself, whatever was found."""
    part, order = killed.part, killed.part.order
    assert (part.path, part.receipts, part.resolutions) == ([1, 2, 3], [], 0)
    assert (order["state"], order["completions"]) == ("waiting", 0)
    assert order["steps"] == killed.steps


def settle(person: Person, killed: Killed) -> None:
    """Look once more, for an absence has to be fresh, then send the form as it opens."""
    part = killed.part
    case = f"/t/aurelia/effects/{screen_id(part.effect_id)}"
    look_up(person, part, case)
    if killed.operation == "email":
        refuse_a_retry(person, part, case)
    decision = "accept" if killed.happened else "reject"
    form = person.form(case, decide=decision)
    assert form["decision"] == decision
    words = "Looked up twice; the order is to go on accordingly."
    answer = person.send(f"{case}/resolutions", {**form, "words": words})
    assert answer.status_code == 303, answer.text
    (applied,) = part.applications
    assert applied["action"] == decision


def look_up(person: Person, part: Part, case: str) -> None:
    """Ask by hand and wait for the evidence."""
    part.may_be_looked_up()
    asked = len(done(part))
    form = {"csrfmiddlewaretoken": person.form(case)["csrfmiddlewaretoken"]}
    assert person.send(f"{case}/lookups", form).status_code == 302
    wait_until(lambda: len(done(part)) > asked, what="the lookup that a person asked for")


def done(part: Part) -> list[dict[str, Any]]:
    """The lookups that are finished."""
    return part.stage.rows(
        "select asked_by from lookup where effect_id = %s and finished_at is not null",
        part.effect_id,
    )


def refuse_a_retry(person: Person, part: Part, case: str) -> None:
    """The provider keeps no key for a message, so a retry could be a second one."""
    form = {**person.form(case, decide="reject"), "decision": "redispatch"}
    answer = person.send(f"{case}/resolutions", {**form, "words": "Send it again, please do."})
    assert answer.status_code == 422
    assert "a retry could be a second message" in answer.text
    assert part.resolutions == 0


def ended(killed: Killed) -> None:
    """The workflow heard of it once and went on, or took back its own step, once."""
    part = killed.part
    part.reaches(4 if killed.happened else 5)
    order = part.order_ends()
    assert (len(part.creates), part.receipts) == (int(killed.happened), part.happened)
    if killed.happened:
        assert (order["state"], order["completions"]) == ("completed", 1)
        assert order["steps"] == {**killed.steps, **AFTERWARDS[killed.operation]}
    else:
        assert (order["state"], order["completions"]) == ("failed", 0)
        assert order["steps"] == {**killed.steps, UNDONE[killed.operation]: 1}
    (told,) = part.stage.rows(
        "select count(*) as n, count(acknowledged_at) as heard from resumption"
        " where effect_id = %s",
        part.effect_id,
    )
    assert told == {"n": 1, "heard": 1}
