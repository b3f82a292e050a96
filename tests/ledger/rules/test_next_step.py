"""The next step is the first rule that matches, with its reason and a form that can be opened."""

from dataclasses import replace

import pytest

from ledger.rules.cases import CaseFacts
from ledger.rules.contract import Route
from ledger.rules.next_step import next_step
from ledger.rules.states import State
from tests.ledger.rules.samples import (
    ABSENT,
    EARLY,
    EXACT,
    GONE,
    PENDING,
    REVERSED,
    RUNNING,
    SHORT,
    SILENT,
    TWO,
    UNREACHABLE,
    after,
    clock,
    contract,
    facts,
    found,
    item,
)

LIKENESS = item(6, found(), route=Route.BY_ATTRIBUTES, at=300)
HARDLY = item(6, route=Route.BY_OBJECT_ID)
ASK = "Ask Baltic, and escalate with what they say."


@pytest.mark.parametrize(
    ("case", "rule", "words", "why", "decision"),
    [
        (
            facts(GONE),
            "R1",
            "Mark rejected.",
            "Baltic says that nothing was carried out.",
            "reject",
        ),
        (
            facts(declined_code="account_closed", declined_no=3),
            "R1",
            "Mark rejected.",
            "Baltic says that nothing was carried out.",
            "reject",
        ),
        (facts(), "R2", "Look up.", "Nobody has asked Baltic yet.", "look_up"),
        (facts(open_lookup=True), "R2", "Wait for the lookup.", "A lookup is running.", None),
        (
            facts(EARLY, at=900),
            "R2",
            "Look up again.",
            "The newest lookup no longer carries a decision.",
            "look_up",
        ),
        (
            facts(ABSENT, at=2_000),
            "R2",
            "Look up again.",
            "The newest lookup no longer carries a decision.",
            "look_up",
        ),
        (
            facts(GONE, last_dispatch_at=after(1_100)),
            "R2",
            "Look up again.",
            "The newest lookup no longer carries a decision.",
            "look_up",
        ),
        (
            facts(LIKENESS, at=310),
            "R2",
            "Look up again before you accept.",
            "One payout fits what we sent, but another may not show yet.",
            "look_up",
        ),
        (
            facts(EXACT),
            "R3",
            "Accept the receipt.",
            "Exactly one payout was found and every compared field agrees.",
            "accept",
        ),
        (
            facts(item(5, found(), at=3), at=10),
            "R3",
            "Accept the receipt.",
            "Exactly one payout was found and every compared field agrees.",
            "accept",
        ),
        (
            facts(item(6, found(), route=Route.BY_ATTRIBUTES)),
            "R3",
            "Accept the receipt.",
            "Exactly one payout was found and every compared field agrees.",
            "accept",
        ),
        (
            facts(SHORT),
            "R4",
            "Escalate with the difference.",
            "One payout was found: amount 40.00 less.",
            "escalate",
        ),
        (
            facts(SHORT, escalated_to="Payments L2"),
            "R4",
            "Escalated to Payments L2, who decides next.",
            "One payout was found: amount 40.00 less.",
            None,
        ),
        (
            facts(item(6, found(**REVERSED))),
            "R4",
            "Escalate: it was undone.",
            "It happened and was undone later.",
            "escalate",
        ),
        (
            facts(EXACT, item(8, at=1_150)),
            "R4",
            "Escalate: the lookups disagree.",
            "One lookup found something, a later one did not.",
            "escalate",
        ),
        (
            facts(TWO),
            "R5",
            "Compare the candidates, then escalate.",
            "2 payouts could be ours.",
            "escalate",
        ),
        (
            facts(EXACT, item(7, found("b"))),
            "R5",
            "Compare the candidates, then escalate.",
            "2 payouts could be ours.",
            "escalate",
        ),
        (
            facts(EARLY, at=340),
            "R6",
            "Wait until 12:17:44, then look up.",
            "Nothing was found, but it is too early for that to count.",
            None,
        ),
        (
            facts(item(6, found(**PENDING))),
            "R6",
            "Wait, then look up again.",
            "Baltic has not finished with it.",
            "look_up",
        ),
        (
            facts(RUNNING),
            "R6",
            "Wait, then look up again.",
            "Baltic has not finished with it.",
            "look_up",
        ),
        (
            facts(ABSENT),
            "R7",
            "Allow one retry, before 09:38:44.",
            "Nothing exists at Baltic, and it still knows the key.",
            "redispatch",
        ),
        (
            facts(item(6, at=90_000), at=90_000),
            "R8",
            "Mark rejected; a new intent can follow.",
            (
                "Nothing exists at Baltic. Baltic forgot the key at 12:02:44. "
                "A retry would be a new payout."
            ),
            "reject",
        ),
        (
            facts(ABSENT, taken_in=True),
            "R8",
            "Mark rejected; a new intent can follow.",
            (
                "Nothing exists at Baltic. This was taken in from outside and is never sent "
                "from here."
            ),
            "reject",
        ),
        (
            facts(SILENT),
            "R9",
            ASK,
            "Lookups fail or are not offered, so no evidence can come by itself.",
            "escalate",
        ),
        (
            facts(provider_answers=False),
            "R9",
            ASK,
            "Lookups fail or are not offered, so no evidence can come by itself.",
            "escalate",
        ),
        (
            facts(contract=contract(routes=())),
            "R9",
            ASK,
            "Lookups fail or are not offered, so no evidence can come by itself.",
            "escalate",
        ),
        (
            facts(HARDLY),
            "R9",
            ASK,
            "No lookup that this provider offers can settle it.",
            "escalate",
        ),
        (
            facts(HARDLY, at=84_000),
            "R10",
            "Escalate now.",
            "Baltic forgets the key in 40 min, and nothing yet allows a decision.",
            "escalate",
        ),
        (
            facts(item(6, **UNREACHABLE), at=84_000, escalated_to="Ana"),
            "R10",
            "Escalated to Ana, who decides next.",
            "Baltic forgets the key in 40 min, and nothing yet allows a decision.",
            None,
        ),
        (
            facts(EARLY, at=340, key_until=after(800)),
            "R10",
            "Escalate now.",
            "Baltic forgets the key in 7 min 40 s, and nothing yet allows a decision.",
            "escalate",
        ),
        (facts(at=84_000), "R2", "Look up.", "Nobody has asked Baltic yet.", "look_up"),
        (
            facts(EXACT, open_resolution=True),
            "",
            "Wait for the second person.",
            "A decision is proposed.",
            None,
        ),
        (
            facts(state=State.PREPARED),
            "",
            "Nothing to do.",
            "It waits for a worker; nothing was sent yet.",
            None,
        ),
        (
            facts(state=State.DISPATCHED),
            "",
            "Wait for the answer.",
            "It was sent; a worker holds the lease.",
            None,
        ),
        (
            facts(EXACT, state=State.CONFIRMED),
            "",
            "Nothing to do.",
            "The outcome is recorded.",
            None,
        ),
        (
            facts(EXACT, state=State.REJECTED),
            "",
            "A later finding speaks against the recorded outcome.",
            "Settled as it is, it stays so until two people reopen it.",
            None,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("R") else "",
)
def test_the_first_rule_that_matches_is_the_next_step(
    case: CaseFacts, rule: str, words: str, why: str, decision: str | None
) -> None:
    step = next_step(case)
    assert (step.rule, step.words.render(clock), step.why.render(clock), step.decision) == (
        rule,
        words,
        why,
        decision,
    )


def test_a_form_that_is_locked_is_not_opened() -> None:
    waiting = replace(facts(), look_allowed_at=after(5_000))
    assert next_step(waiting).decision != "look_up"
