"""The reaper takes each row alone: one that cannot be moved holds up no other."""

import logging

import pytest

from ledger import dispatch
from ledger.rules.states import State
from tests.builders import Home, dispatched, effect_row, guards_aside
from tests.logins import login


def reap() -> int:
    """One run of the reaper over everything that is due."""
    with login("worker"):
        return dispatch.reap(limit=10_000)


def set_contract(effect_id: object, version: str) -> None:
    """Point the effect at another version of its contract, past every guard."""
    with guards_aside() as cursor:
        cursor.execute(
            "update effect set contract_version = %s where effect_id = %s", (version, effect_id)
        )


def test_a_row_that_cannot_be_read_is_logged_and_the_next_is_moved(
    at: Home, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = dispatched(at, operation="pay_lost"), dispatched(at, operation="pay_lost")
    version = effect_row(bad.effect_id)["contract_version"]
    set_contract(bad.effect_id, "no such version")
    try:
        with caplog.at_level(logging.ERROR, logger="ledger.dispatch"):
            assert reap() >= 1
        assert effect_row(good.effect_id)["state"] == State.UNKNOWN
        assert effect_row(bad.effect_id)["state"] == State.DISPATCHED
        (line,) = caplog.records
        assert (line.message, line.effect_id) == ("reap.failed", str(bad.effect_id))
        assert line.exc_info
    finally:
        set_contract(bad.effect_id, version)
    assert reap() >= 1
    assert effect_row(bad.effect_id)["state"] == State.UNKNOWN
