"""The news of an ending: written with the ending, due until a workflow has heard it once."""

from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from ledger import client, dispatch
from ledger.client import Resumption
from ledger.rules.contract import Declined
from ledger.rules.decisions import Decision
from ledger.rules.states import State
from tests.builders import (
    Home,
    answer,
    confirmed,
    declined,
    dispatched,
    effect_row,
    home,
    look,
    one_row,
    prepared,
    unknown,
)
from tests.crowd import all_at_once
from tests.ledger.deciding import act
from tests.logins import login


def due(at: Home) -> list[Resumption]:
    """What the tenant's workflow still has to hear."""
    with login("workflow"):
        return client.due(at.tenant_id)


def hear(resumption: Resumption) -> bool:
    """The workflow acknowledges an ending."""
    with login("workflow"):
        return client.acknowledge(resumption)


def test_a_confirmed_effect_is_heard_with_its_receipt(at: Home) -> None:
    effect_id = confirmed(at)
    stored = effect_row(effect_id)
    assert due(at) == [
        Resumption(
            tenant_id=at.tenant_id,
            effect_id=effect_id,
            no=3,
            workflow_id=stored["workflow_id"],
            step_id="pay",
            intent_key=stored["intent_key"],
            state=State.CONFIRMED,
            receipt=stored["provider_result_id"],
            reject_kind=None,
            code=None,
            after=None,
        )
    ]


def test_a_refused_effect_is_heard_with_its_code_and_what_may_follow(at: Home) -> None:
    declined(at)
    [heard] = due(at)
    assert (heard.state, heard.receipt) == (State.REJECTED, None)
    assert (heard.reject_kind, heard.code, heard.after) == (
        "provider_declined", "card_declined", "new_version")  # fmt: skip


def test_an_effect_that_was_never_sent_is_heard_as_such(at: Home) -> None:
    effect_id = prepared(at, operation="pay_late")
    with login("worker"):
        assert dispatch.expire(at.tenant_id, effect_id)
    [heard] = due(at)
    assert (heard.reject_kind, heard.after) == ("not_dispatched", "new_version")


@pytest.mark.parametrize("objects", [[{}], []], ids=["accepted", "rejected"])
def test_a_persons_decision_is_heard_too(at: Home, objects: list[dict[str, Any]]) -> None:
    effect_id = unknown(at)
    look(at, effect_id, *objects)
    assert not due(at)
    act(at, effect_id, Decision.ACCEPT if objects else Decision.REJECT)
    [heard] = due(at)
    assert heard.effect_id == effect_id


def test_nothing_is_heard_before_the_end(at: Home) -> None:
    prepared(at)
    dispatched(at)
    unknown(at)
    assert due(at) == []


def test_an_effect_of_no_workflow_is_heard_by_nobody(at: Home) -> None:
    confirmed(at, workflow_id=None, step_id=None)
    assert due(at) == []


def test_an_ending_is_heard_once(at: Home) -> None:
    confirmed(at)
    [heard] = due(at)
    assert hear(heard)
    assert not hear(heard)
    assert due(at) == []


def test_workflows_at_once_hear_an_ending_once(at: Home) -> None:
    confirmed(at)
    [heard] = due(at)
    answers = all_at_once(8, lambda _: client.acknowledge(heard), as_login="workflow")
    assert not answers.errors
    assert sum(answers.values) == 1


def test_an_ending_is_unheard_again_when_the_workflow_rolls_back(at: Home) -> None:
    confirmed(at)
    [heard] = due(at)
    with login("workflow"), transaction.atomic():
        assert client.acknowledge(heard)
        transaction.set_rollback(True)
    assert due(at) == [heard]


def test_endings_of_another_tenant_are_not_heard(at: Home) -> None:
    other = home()
    confirmed(other)
    [heard] = due(other)
    assert due(at) == []
    stolen = Resumption(**{**fields(heard), "tenant_id": at.tenant_id})
    assert not hear(stolen)
    assert due(other) == [heard]


def fields(heard: Resumption) -> dict[str, Any]:
    """The resumption's fields by name."""
    return {name: getattr(heard, name) for name in Resumption.__slots__}


def test_endings_are_due_in_their_order_and_up_to_a_limit(at: Home) -> None:
    made = [confirmed(at), declined(at), confirmed(at)]
    assert [heard.effect_id for heard in due(at)] == made
    with login("workflow"):
        assert [heard.effect_id for heard in client.due(at.tenant_id, limit=2)] == made[:2]


def test_an_ending_that_was_rolled_back_is_no_news(at: Home) -> None:
    held = dispatched(at)
    with login("worker"), transaction.atomic():
        dispatch.settle(held, Declined("card_declined", answer(status=402)))
        transaction.set_rollback(True)
    assert not counted(held.effect_id)


def test_a_late_answer_is_no_second_news(at: Home) -> None:
    effect_id = unknown(at)
    looked = look(at, effect_id, {})
    act(at, effect_id, Decision.ACCEPT)
    look(at, effect_id, {"object_id": looked.object_id})
    assert counted(effect_id) == 1


def counted(effect_id: UUID) -> int:
    """How many endings of the effect were ever news."""
    return one_row("select count(*) from resumption where effect_id = %s", effect_id)["count"]
