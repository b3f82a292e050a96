"""Every lock names its cause, its reason in words, and what would change it."""

import pytest

from ledger.rules.cases import CaseFacts
from ledger.rules.guards import Because
from ledger.rules.states import Cause, State
from tests.ledger.rules.samples import (
    ABSENT,
    EARLY,
    EXACT,
    GONE,
    PENDING,
    RUNNING,
    SETTLING,
    SHORT,
    SILENT,
    TWO,
    after,
    contract,
    facts,
    found,
    item,
    lock,
)


@pytest.mark.parametrize(
    ("decision", "case", "because", "why", "change"),
    [
        (
            "accept",
            facts(),
            "no_lookup",
            "No payout was found at Baltic yet. Look up first.",
            "",
        ),
        (
            "reject",
            facts(cause=Cause.IN_PROGRESS),
            "still_processing",
            "Baltic was still working on the request. Look up first.",
            "",
        ),
        (
            "accept",
            facts(SILENT),
            "lookup_failing",
            "Baltic does not answer lookups (E6). That says nothing about the payout.",
            "Look up again.",
        ),
        (
            "reject",
            facts(SILENT, next_look_at=after(1_700)),
            "lookup_failing",
            "Baltic does not answer lookups (E6). That says nothing about the payout.",
            "The next lookup is set for 12:31:04.",
        ),
        (
            "accept",
            facts(SHORT),
            "differs",
            "The payout found differs: amount 40.00 less (E6).",
            "Two people can accept it with its difference.",
        ),
        (
            "accept",
            facts(TWO),
            "several",
            "2 payouts were found that could be ours (E6).",
            "Two people can accept the one that is ours.",
        ),
        (
            "accept",
            facts(EXACT, item(7, found("b"))),
            "several",
            "2 payouts were found that could be ours (E6, E7).",
            "Choose the one that is ours.",
        ),
        (
            "accept",
            facts(item(6, found(**PENDING))),
            "still_pending",
            "The payout found is not final yet (E6).",
            "Look up again later.",
        ),
        (
            "accept",
            facts(RUNNING),
            "still_processing",
            "Baltic is still working on the request (E6).",
            "Look up again later.",
        ),
        (
            "accept",
            facts(GONE),
            "failed",
            "Baltic holds the payout as failed (E6).",
            "Mark it rejected.",
        ),
        (
            "accept",
            facts(EXACT, item(8, at=1_150)),
            "contradicted",
            "A later lookup found nothing (E8).",
            "Look up again; if they still disagree, escalate.",
        ),
        (
            "accept_with_difference",
            facts(EXACT),
            "nothing_differs",
            "Nothing differs. Accept the receipt.",
            "",
        ),
        (
            "accept_one_of_several",
            facts(EXACT),
            "only_one",
            "There are not two payouts to choose from.",
            "",
        ),
        (
            "reject",
            facts(EXACT),
            "effect_exists",
            "A matching payout exists (E6).",
            "This needs proof that nothing happened.",
        ),
        (
            "redispatch",
            facts(EXACT),
            "effect_exists",
            "A matching payout exists (E6).",
            "A retry could do it twice.",
        ),
        (
            "reject",
            facts(SHORT),
            "effect_exists",
            "A payout that may be ours exists (E6).",
            "This needs proof that nothing happened.",
        ),
        (
            "reject",
            facts(EXACT, item(8, at=1_150)),
            "effect_exists",
            "A matching payout exists (E6).",
            "This needs proof that nothing happened.",
        ),
        (
            "reject",
            facts(EARLY, at=340),
            "too_early",
            "Baltic needs 15 min to settle; absence counts from 12:17:44.",
            "Look up again after 12:17:44.",
        ),
        (
            "redispatch",
            facts(EARLY, at=900),
            "too_early",
            "Baltic needs 15 min to settle; absence counts from 12:17:44.",
            "That time has passed. Look up again.",
        ),
        (
            "reject",
            facts(item(6, exhausted=False)),
            "cannot_prove_absence",
            "Not all pages were read.",
            "Ask Baltic what they know, and escalate.",
        ),
        (
            "reject",
            facts(ABSENT, at=1_699),
            "look_too_old",
            "The newest lookup is 10 min old (E6); this needs one of the last 10 min.",
            "Look up again.",
        ),
        (
            "redispatch",
            facts(GONE),
            "failed",
            "Baltic holds a failed payout (E6).",
            "Mark it rejected.",
        ),
        (
            "redispatch",
            facts(item(6, at=86_400), at=86_400),
            "key_closed",
            "Baltic forgot the key at 12:02:44. A retry would be a new payout.",
            "Mark rejected, then start a new intent.",
        ),
        (
            "redispatch",
            facts(item(6, at=77_760), at=77_760),
            "key_closed",
            "Baltic forgets the key at 12:02:44; too little time is left for a safe retry.",
            "Mark rejected, then start a new intent.",
        ),
        (
            "redispatch",
            facts(ABSENT, contract=contract(key_window_seconds=None)),
            "no_key",
            (
                "Baltic promises no time for which it knows a key again; "
                "a retry could be a second payout."
            ),
            "Mark rejected, then start a new intent.",
        ),
        (
            "redispatch",
            facts(ABSENT, taken_in=True),
            "taken_in",
            "This was taken in from outside and is never sent from here.",
            "Its owner can start a new intent.",
        ),
        (
            "escalate",
            facts(escalated_to="Payments L2"),
            "already_escalated",
            "Already escalated to Payments L2.",
            "",
        ),
        ("look_up", facts(open_lookup=True), "lookup_running", "A lookup is running.", ""),
        (
            "look_up",
            facts(look_allowed_at=after(1_240)),
            "lookup_limit",
            "Next lookup at 12:23:24.",
            "",
        ),
        (
            "look_up",
            facts(contract=contract(routes=())),
            "no_route",
            "Baltic offers no lookup.",
            "Ask them, and add what they say to the escalation.",
        ),
        ("compensate", facts(), "not_confirmed", "The payout must be confirmed first.", ""),
        (
            "compensate",
            facts(state=State.CONFIRMED),
            "not_offered",
            "Not possible in this version yet.",
            "",
        ),
        ("reopen", facts(), "not_settled", "Only a settled effect can be reopened.", ""),
        (
            "reopen",
            facts(state=State.REJECTED),
            "not_offered",
            "Not possible in this version yet.",
            "",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_every_lock_says_why_and_what_would_change_it(
    decision: str, case: CaseFacts, because: str, why: str, change: str
) -> None:
    assert lock(decision, case) == (because, why, change)


@pytest.mark.parametrize("decision", [*SETTLING, "escalate"])
@pytest.mark.parametrize(
    ("state", "because", "why"),
    [
        (State.PREPARED, Because.NOT_SENT, "Nothing was sent yet."),
        (State.DISPATCHED, Because.IN_MOTION, "Sent; the answer is still awaited."),
        (State.CONFIRMED, Because.ALREADY_SETTLED, "Already settled as Confirmed."),
        (State.REJECTED, Because.ALREADY_SETTLED, "Already settled as Rejected."),
        (State.COMPENSATED, Because.ALREADY_SETTLED, "Already settled as Compensated."),
    ],
)
def test_only_an_unknown_effect_is_decided(
    decision: str, state: State, because: Because, why: str
) -> None:
    for evidence in ((EXACT,), (SHORT,), (TWO,), (ABSENT,), (GONE,)):
        assert lock(decision, facts(*evidence, state=state))[:2] == (because, why)


@pytest.mark.parametrize("decision", SETTLING)
def test_an_open_resolution_locks_every_other(decision: str) -> None:
    for evidence in ((EXACT,), (SHORT,), (TWO,), (ABSENT,), (GONE,)):
        case = facts(*evidence, open_resolution=True)
        assert lock(decision, case)[0] == Because.AWAITING_VOTE
