"""Whatever the lookups said in whatever order, no decision is open without its proof."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.cases import CaseFacts, Decision, Evidence, read
from ledger.rules.consequences import consequences
from ledger.rules.contract import LookFailure, Route, Standing
from ledger.rules.decisions import options
from ledger.rules.findings import HAPPENED, SILENT, FindingCode
from ledger.rules.next_step import next_step
from ledger.rules.standing import standing, summary
from ledger.rules.states import Cause, State
from ledger.rules.words import Words
from tests.ledger.rules.samples import (
    SETTLING,
    after,
    contract,
    facts,
    found,
    item,
    message_contract,
)

objects = st.builds(
    lambda name, standing_, amount: found(name, standing=standing_, amount_minor=amount),
    st.sampled_from(["po_a", "po_b"]),
    st.sampled_from(Standing),
    st.sampled_from([1_200_000, 1_196_000]),
)
looks = st.tuples(
    st.lists(objects, max_size=2, unique_by=lambda o: o.object_id),
    st.integers(0, 90_000),
    st.none() | st.sampled_from(LookFailure),
    st.sampled_from([Route.BY_KEY, Route.BY_ATTRIBUTES, Route.BY_OBJECT_ID]),
)


@st.composite
def cases(draw: st.DrawFn) -> CaseFacts:
    """Any unknown effect with up to four lookups in the order of their time."""
    seen = sorted(draw(st.lists(looks, max_size=4)), key=lambda look: look[1])
    evidence = tuple(
        item(5 + i, *things, at=at, failure=failure, route=route)
        for i, (things, at, failure, route) in enumerate(seen)
    )
    now = (seen[-1][1] if seen else 0) + draw(st.integers(0, 2_000))
    last_sent = draw(st.sampled_from([0, 0, 0, 1_000]))
    return facts(
        *evidence,
        at=now,
        state=draw(st.sampled_from([State.UNKNOWN] * 6 + list(State)[1:])),
        contract=draw(
            st.sampled_from([contract(), message_contract(), contract(routes=()), contract()])
        ),
        last_dispatch_at=after(last_sent),
        people_required=dict.fromkeys(Decision, draw(st.integers(1, 3))),
        taken_in=draw(st.booleans()),
        open_lookup=draw(st.booleans()),
        open_resolution=draw(st.sampled_from([False, False, True])),
        provider_answers=draw(st.booleans()),
        escalated_to=draw(st.sampled_from([None, "Payments L2"])),
        cause=draw(st.none() | st.sampled_from(Cause)),
        workflow=draw(st.sampled_from([None, "wf_1"])),
        declined_code=draw(st.sampled_from([None, "account_closed"])),
        declined_no=draw(st.sampled_from([None, 3])),
        attempts=draw(st.integers(1, 2)),
        second_from_minor=draw(st.sampled_from([None, 1_000_000, 2_000_000])),
    )


def opened(case: CaseFacts) -> set[Decision]:
    return {option.decision for option in options(case) if option.available}


def newest_answer(case: CaseFacts) -> Evidence | None:
    said = [item_ for item_ in case.findings if item_.finding.code not in SILENT]
    return said[-1] if said else None


@given(cases())
def test_nothing_is_settled_without_its_proof(case: CaseFacts) -> None:
    open_, newest = opened(case), newest_answer(case)
    code = newest.finding.code if newest else None
    ever_found = any(item_.finding.code in HAPPENED for item_ in case.findings)
    if open_ & set(SETTLING):
        assert case.state is State.UNKNOWN
        assert not case.open_resolution
    if Decision.ACCEPT in open_:
        assert code is FindingCode.EXACT
        assert len(read(case).live) == 1
    if Decision.ACCEPT_WITH_DIFFERENCE in open_:
        assert code is FindingCode.DIFFERS
    if Decision.REJECT in open_ and not (case.declined_no and case.declined_code):
        assert code in (FindingCode.FAILED_OBJECT, FindingCode.ABSENT)
        assert code is FindingCode.FAILED_OBJECT or not ever_found
        assert newest is not None
        assert case.last_dispatch_at is not None
        assert newest.finding.asked_at > case.last_dispatch_at
    if Decision.REDISPATCH in open_:
        assert code is FindingCode.ABSENT
        assert not ever_found
        assert newest is not None
        assert case.retry_until is not None
        assert case.now < case.retry_until
        assert case.now - newest.finding.asked_at <= timedelta(minutes=10)
        assert not case.taken_in


@given(cases())
def test_it_happened_and_it_did_not_are_never_both_open(case: CaseFacts) -> None:
    open_ = opened(case)
    accepting = open_ & set(SETTLING[:3])
    assert len(accepting) <= 1
    refused = case.declined_no is not None and case.declined_code is not None
    assert refused or not (accepting and open_ & {Decision.REJECT, Decision.REDISPATCH})


@given(cases())
def test_a_decision_is_open_or_says_why_not(case: CaseFacts) -> None:
    for option in options(case):
        assert option.available == (option.because is None)
        assert option.why.render()
        if option.available and option.decision in SETTLING:
            assert option.evidence
            assert option.reason_codes
            assert set(option.evidence) <= {item_.no for item_ in case.findings} | {3}
            assert option.object_id or option.candidates or option.target is not State.CONFIRMED
        if not option.available:
            assert option.object_id is None
            assert option.candidates == ()


@given(cases())
def test_the_next_step_is_one_that_can_be_taken(case: CaseFacts) -> None:
    step = next_step(case)
    assert step.decision is None or step.decision in opened(case)
    assert step.rule == "" or step.rule in {f"R{n}" for n in range(1, 11)}
    if step.rule in ("R1", "R3", "R7", "R8"):
        assert step.decision in SETTLING


@given(cases())
def test_what_can_be_settled_is_proven_and_not_also_unknown(case: CaseFacts) -> None:
    lists = standing(case)
    asks = [line.words.render() for line in lists.not_known]
    settles = opened(case) & {Decision.ACCEPT, Decision.REJECT, Decision.REDISPATCH}
    assert not (settles and "Whether it happened." in asks)
    if case.state is State.UNKNOWN and settles:
        assert lists.proven


@given(cases())
def test_no_sentence_has_an_open_gap(case: CaseFacts) -> None:
    step, lists = next_step(case), standing(case)
    lines = (*lists.proven, *lists.proves_nothing, *lists.not_known)
    said: list[Words] = [step.words, step.why, summary(case)]
    said += [words for line in lines for words in (line.words, line.source)]
    for option in options(case):
        said += [option.why, *([option.change] if option.change else [])]
        said += consequences(option, case)
    for words in said:
        text = words.render()
        assert "{" not in text
        assert "  " not in text
        assert text[:1].isupper() or text[:1].isdigit()
