"""What may be decided follows from the evidence alone, and every lock says why."""

from dataclasses import replace

import pytest

from ledger.rules.cases import Decision, Evidence
from ledger.rules.contract import After, Definitive, Route
from ledger.rules.decisions import RULES, Option, Typed, option, options
from ledger.rules.findings import FindingCode
from ledger.rules.guards import Because
from ledger.rules.states import EDGES, Actor, RejectKind, State
from tests.ledger.rules.samples import (
    ABSENT,
    ANSWERED,
    EARLY,
    EXACT,
    FAILED,
    GONE,
    PENDING,
    REVERSED,
    RUNNING,
    SETTLING,
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
    lock,
    message_contract,
    view,
)

LIKENESS = item(6, found(reference=None), route=Route.BY_ATTRIBUTES)


@pytest.mark.parametrize(
    ("name", "evidence", "open_"),
    [
        ("no lookup", (), ""),
        ("too early", (EARLY,), ""),
        ("silent", (SILENT,), ""),
        ("exact", (EARLY, EXACT), "accept"),
        ("exact, then silence", (EXACT, item(7, **UNREACHABLE)), "accept"),
        ("exact at once", (item(5, found(), at=3),), "accept"),
        ("exact twice", (EXACT, item(7, found())), "accept"),
        ("differs", (SHORT,), "accept_with_difference"),
        ("several", (TWO,), "accept_one_of_several"),
        ("two different objects over two lookups", (EXACT, item(7, found("b"))), "several"),
        ("pending", (item(6, found(**PENDING)),), ""),
        ("running", (RUNNING,), ""),
        ("pending, then exact", (item(5, found(**PENDING)), EXACT), "accept"),
        ("running, then exact", (RUNNING, item(7, found())), "accept"),
        ("reversed", (item(6, found(**REVERSED)),), ""),
        ("exact, then reversed", (EXACT, item(7, found(**REVERSED))), ""),
        ("failed", (GONE,), "reject"),
        ("pending, then failed", (item(5, found(**PENDING)), GONE), "reject"),
        ("exact, then failed", (EXACT, item(7, found(**FAILED))), "reject"),
        ("failed, then exact", (GONE, item(7, found())), "accept"),
        ("another is alive beside the failed", (EXACT, item(7, found("b", **FAILED))), ""),
        ("absent", (ABSENT,), "reject redispatch"),
        ("too early, then absent", (EARLY, ABSENT), "reject redispatch"),
        ("absent, then silence", (ABSENT, item(7, **UNREACHABLE)), "reject redispatch"),
        ("exact, then absent", (EXACT, item(7)), ""),
        ("exact, then not found yet", (EXACT, item(7, at=800)), ""),
        ("absent, then exact", (ABSENT, item(7, found())), "accept"),
        ("absent, then differs", (ABSENT, item(7, found(currency="USD"))), "difference"),
        (
            "absent, then not found by another route",
            (
                ABSENT,
                item(7, route=Route.BY_OBJECT_ID),
            ),
            "",
        ),
        ("running, then absent", (item(5, answer=replace(ANSWERED, status=409)), ABSENT), ""),
        ("failed, then absent", (item(5, found(**FAILED)), ABSENT), "reject"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_the_evidence_allows(name: str, evidence: tuple[Evidence, ...], open_: str) -> None:
    short = {"several": "accept_one_of_several", "difference": "accept_with_difference"}
    expected = {short.get(word, word) for word in open_.split()}
    case = facts(*evidence)
    assert {d for d in SETTLING if option(Decision(d), case).available} == expected


@pytest.mark.parametrize("state", [State.UNKNOWN, State.CONFIRMED, State.REJECTED])
def test_what_was_sent_can_always_be_looked_up(state: State) -> None:
    assert option(Decision.LOOK_UP, facts(state=state)).available
    assert not option(Decision.LOOK_UP, facts(state=State.PREPARED)).available
    assert not option(Decision.LOOK_UP, facts(state=State.DISPATCHED)).available


@pytest.mark.parametrize(
    ("at", "allowed"), [(1_098, True), (1_698, True), (1_698.5, False), (5_000, False)]
)
def test_absence_carries_for_ten_minutes(at: float, allowed: bool) -> None:
    case = facts(ABSENT, at=at)
    assert option(Decision.REJECT, case).available is allowed
    assert option(Decision.REDISPATCH, case).available is allowed


@pytest.mark.parametrize(
    ("at", "allowed"), [(77_759, True), (77_760, False), (86_399, False), (90_000, False)]
)
def test_a_retry_ends_with_the_margin_of_the_key_window(at: float, allowed: bool) -> None:
    case = facts(item(6, at=at), at=at)
    assert option(Decision.REDISPATCH, case).available is allowed
    assert option(Decision.REJECT, case).available


def test_a_retry_needs_ten_minutes_of_key_whatever_the_margin_says() -> None:
    case = facts(ABSENT, key_until=after(1_799), retry_until=after(1_790), at=1_200)
    assert lock("redispatch", case)[0] == Because.KEY_CLOSED
    assert option(Decision.REDISPATCH, replace(case, key_until=after(1_800))).available


@pytest.mark.parametrize("evidence", [ABSENT, GONE], ids=["absent", "failed"])
def test_what_was_found_before_the_last_sending_proves_nothing_about_it(
    evidence: Evidence,
) -> None:
    case = facts(evidence, last_dispatch_at=after(1_098), attempts=2)
    assert lock("reject", case)[0] == Because.LOOK_TOO_OLD
    assert option(Decision.REJECT, replace(case, last_dispatch_at=after(1_097))).available


@pytest.mark.parametrize(
    ("changes", "allowed"),
    [
        ({}, True),
        ({"attempts": 2}, False),
        ({"declined_no": None}, False),
        ({"declined_code": "insufficient_balance"}, False),
        ({"declined_code": None}, False),
    ],
    ids=str,
)
def test_a_listed_refusal_rejects_where_it_answers_the_only_attempt(
    changes: dict[str, object], allowed: bool
) -> None:
    given: dict[str, object] = {"declined_code": "account_closed", "declined_no": 3, **changes}
    rejecting = option(Decision.REJECT, facts(**given))  # type: ignore[arg-type]
    assert rejecting.available is allowed
    if allowed:
        assert rejecting.evidence == (3,)
        assert rejecting.reject_kind is RejectKind.PROVIDER_DECLINED
        assert [reason.code for reason in rejecting.reason_codes] == ["provider_refused"]


@pytest.mark.parametrize(
    ("evidence", "decision", "nos", "kind", "reasons", "receipt"),
    [
        ((EARLY, EXACT), "accept", (6,), None, ["found_by_key"], "po_9F4C81D07Q2K"),
        (
            (EXACT, item(7, **UNREACHABLE), item(9, found())),
            "accept",
            (6, 9),
            None,
            ["found_by_key"],
            "po_9F4C81D07Q2K",
        ),
        (
            (item(6, found(), route=Route.BY_REQUEST_ID),),
            "accept",
            (6,),
            None,
            ["found_by_request_id"],
            "po_9F4C81D07Q2K",
        ),
        ((GONE,), "reject", (6,), RejectKind.PROVIDER_DECLINED, ["failed_at_provider"], None),
        ((EARLY, ABSENT), "reject", (6,), RejectKind.ABSENCE_PROVEN, ["absence_proven"], None),
        ((ABSENT, item(8)), "redispatch", (6, 8), None, ["absence_proven"], None),
    ],
)
def test_an_open_decision_names_its_proof(
    evidence: tuple[Evidence, ...],
    decision: str,
    nos: tuple[int, ...],
    kind: RejectKind | None,
    reasons: list[str],
    receipt: str | None,
) -> None:
    found_option = option(Decision(decision), facts(*evidence))
    assert found_option.available
    assert found_option.evidence == nos
    assert found_option.reject_kind is kind
    assert [reason.code for reason in found_option.reason_codes] == reasons
    assert found_option.object_id == receipt


def test_the_first_of_two_looks_belongs_to_the_proof() -> None:
    promised = contract(stores_5xx=False)
    window = {"window_from": after(-200), "window_until": after(5_000)}
    first = item(5, at=1_000, route=Route.BY_ATTRIBUTES, **window)
    second = item(6, at=1_300, route=Route.BY_ATTRIBUTES, **window).finding
    proven = Evidence(6, replace(second, code=FindingCode.ABSENT), True)
    case = facts(first, proven, at=1_310, contract=promised)
    assert option(Decision.REJECT, case).evidence == (5, 6)


ALONE, ABOVE = 1, 2


@pytest.mark.parametrize(
    ("decision", "evidence", "people", "words", "typed"),
    [
        ("accept", EXACT, ALONE, 0, ""),
        ("accept", EXACT, ABOVE, 10, "object_last_four"),
        ("accept", item(6, found(), route=Route.BY_ATTRIBUTES), ALONE, 0, ""),
        ("accept", LIKENESS, ALONE, 10, "object_last_four"),
        ("accept_with_difference", SHORT, ABOVE, 40, "object_last_four found_amount"),
        ("accept_one_of_several", TWO, ABOVE, 40, "object_last_four found_amount"),
        ("reject", ABSENT, ALONE, 10, ""),
        ("reject", ABSENT, ABOVE, 10, "intent_amount"),
        ("redispatch", ABSENT, ALONE, 20, "intent_amount"),
        ("redispatch", ABSENT, ABOVE, 20, "intent_amount"),
        ("escalate", EXACT, ALONE, 10, ""),
        ("look_up", EXACT, ALONE, 0, ""),
    ],
)
def test_friction_follows_risk(
    decision: str, evidence: Evidence, people: int, words: int, typed: str
) -> None:
    case = facts(evidence, people_required=dict.fromkeys(Decision, people))
    asked = option(Decision(decision), case)
    assert (asked.words_minimum, asked.typed) == (words, tuple(Typed(t) for t in typed.split()))


def test_where_no_amount_moves_none_is_typed() -> None:
    case = facts(TWO, contract=message_contract(), amount_minor=None, currency="XXX")
    assert option(Decision.ACCEPT_ONE_OF_SEVERAL, case).typed == (Typed.OBJECT_LAST_FOUR,)
    assert option(Decision.REDISPATCH, case).typed == ()


def test_what_the_policy_leaves_out_takes_three() -> None:
    case = facts(EXACT, people_required={})
    assert option(Decision.ACCEPT, case).people == 3
    assert option(Decision.ESCALATE, case).people == 1
    assert option(Decision.LOOK_UP, case).people == 1


@pytest.mark.parametrize(
    ("evidence", "form"),
    [
        ((), "accept"),
        ((EARLY,), "accept"),
        ((EXACT,), "accept"),
        ((SHORT,), "accept_with_difference"),
        ((TWO,), "accept_one_of_several"),
        ((EXACT, item(7, found("b"))), "accept_one_of_several"),
    ],
)
def test_the_page_shows_one_form_of_accepting(evidence: tuple[Evidence, ...], form: str) -> None:
    shown = [o.decision for o in options(facts(*evidence)) if o.shown]
    assert shown == [form, "reject", "redispatch", "compensate", "escalate", "look_up"]


def test_a_settled_effect_shows_reopening() -> None:
    assert options(facts(state=State.REJECTED))[-1].shown


def test_only_what_took_effect_can_be_chosen() -> None:
    case = facts(item(6, found("a"), found("b"), found("c", **PENDING), found("d", **FAILED)))
    assert option(Decision.ACCEPT_ONE_OF_SEVERAL, case).candidates == ("a", "b")


def test_every_decision_is_listed_once_in_the_order_of_the_page() -> None:
    assert [o.decision for o in options(facts())] == list(Decision)
    assert set(RULES) == set(Decision)


def test_every_settling_decision_leads_along_a_legal_edge_of_the_operator() -> None:
    operators = {(e.source, e.target) for e in EDGES if e.actor is Actor.OPERATOR}
    targets = {RULES[Decision(d)].target for d in SETTLING}
    assert {(State.UNKNOWN, target) for target in targets} == operators
    assert all(e.needs_resolution for e in EDGES if e.actor is Actor.OPERATOR)


def test_what_a_decision_does_is_said_in_a_sentence() -> None:
    said = {
        decision: option(Decision(decision), facts(evidence)).why.render(clock)
        for decision, evidence in (
            ("accept", EXACT),
            ("accept_with_difference", SHORT),
            ("redispatch", ABSENT),
            ("look_up", ABSENT),
        )
    }
    assert said == {
        "accept": "Records that it happened, with po_9F4C81D07Q2K as its receipt.",
        "accept_with_difference": "Records that it happened with a difference: amount 40.00 less.",
        "redispatch": "Lets a worker send it once more with the same key, until 09:38:44.",
        "look_up": "Asks Baltic what it holds. A lookup cannot create anything.",
    }


def test_reason_codes_are_unique_and_speak() -> None:
    for rule in RULES.values():
        codes = [reason.code for reason in rule.reasons]
        assert len(codes) == len(set(codes))
        assert all(reason.words and reason.code.isidentifier() for reason in rule.reasons)


def test_a_contract_that_lists_no_refusal_declines_nothing() -> None:
    listed = contract(definitive=(Definitive("blocked", "Blocked.", After.NEVER),))
    case = facts(contract=listed, declined_code="account_closed", declined_no=3)
    assert not option(Decision.REJECT, case).available


def test_options_are_values() -> None:
    one: Option = option(Decision.ACCEPT, facts(EXACT))
    assert one == option(Decision.ACCEPT, facts(EXACT))


@pytest.mark.parametrize(
    ("reference", "people"),
    [
        (None, 2),
        ("somebody else's", 2),
        (view().intent_key, 1),
        (view().intent_key.rpartition(":v")[0], 1),
        (view().provider_key, 1),
    ],
)
def test_an_object_that_only_fits_takes_a_second_person(reference: str | None, people: int) -> None:
    found_by_fit = item(6, found(reference=reference), route=Route.BY_ATTRIBUTES)
    alone = dict.fromkeys(Decision, 1)
    assert option(Decision.ACCEPT, facts(found_by_fit, people_required=alone)).people == people


@pytest.mark.parametrize(("taken_in", "people"), [(False, 1), (True, 2)])
def test_absence_of_what_was_taken_in_takes_a_second_person(taken_in: bool, people: int) -> None:
    alone = dict.fromkeys(Decision, 1)
    case = facts(ABSENT, taken_in=taken_in, people_required=alone)
    assert option(Decision.REJECT, case).people == people


def test_only_what_fits_is_kept_as_likely() -> None:
    assert LIKENESS.finding.kept_as is FindingCode.LIKELY
    assert EXACT.finding.kept_as is FindingCode.EXACT
