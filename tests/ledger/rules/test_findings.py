"""What a lookup proves, said in words, compared field by field, and stored without loss."""

from dataclasses import replace
from datetime import datetime

import pytest

from ledger.rules.comparison import Verdict
from ledger.rules.contract import FoundObject, LookFailure, Route, Standing
from ledger.rules.findings import HAPPENED, PROOF, SILENT, FindingCode, judge
from tests.ledger.rules.samples import (
    ANSWERED,
    KEY,
    after,
    clock,
    contract,
    found,
    judged,
    look,
    message_contract,
    terms,
    view,
)

FAILED = {"standing": Standing.FAILED_NO_EFFECT, "status": "refused"}
PENDING = {"standing": Standing.PENDING, "status": "awaiting_funds"}
REVERSED = {"standing": Standing.REVERSED, "status": "returned"}
UNPROVABLE = (
    "Not found yet. This lookup may leave out payouts that exist, so it cannot prove absence."
)
SAME, DIFFERS, NOT_COMPARED = Verdict.SAME, Verdict.DIFFERS, Verdict.NOT_COMPARED


@pytest.mark.parametrize(
    ("objects", "changes", "code", "object_id", "words"),
    [
        (
            [found()],
            {},
            "exact",
            "po_9F4C81D07Q2K",
            "Baltic holds exactly one payout made with our key; 5 of 5 compared fields agree.",
        ),
        (
            [found()],
            {"at": 5},
            "exact",
            "po_9F4C81D07Q2K",
            "Baltic holds exactly one payout made with our key; 5 of 5 compared fields agree.",
        ),
        (
            [found(amount_minor=1_196_000)],
            {},
            "differs",
            "po_9F4C81D07Q2K",
            "Baltic holds one payout made with our key, but it differs: amount 40.00 less.",
        ),
        (
            [found("a"), found("b")],
            {},
            "several",
            None,
            "Baltic holds 2 payouts that could be ours.",
        ),
        (
            [found("a"), found("b", **PENDING)],
            {},
            "several",
            None,
            "Baltic holds 2 payouts that could be ours.",
        ),
        (
            [found("a"), found("b", **FAILED)],
            {},
            "exact",
            "a",
            "Baltic holds exactly one payout made with our key; 5 of 5 compared fields agree.",
        ),
        (
            [found(**PENDING)],
            {},
            "pending",
            "po_9F4C81D07Q2K",
            "Baltic holds one payout for this, not final yet: “awaiting_funds”.",
        ),
        (
            [found(**REVERSED)],
            {},
            "reversed",
            "po_9F4C81D07Q2K",
            "Baltic carried it out and undid it later: “returned”.",
        ),
        (
            [found(**FAILED)],
            {},
            "failed_object",
            "po_9F4C81D07Q2K",
            "Baltic holds the payout as failed: “refused”. Nothing was carried out.",
        ),
        (
            [found(**FAILED, amount_minor=5)],
            {},
            "absent_inconclusive",
            None,
            "Baltic holds a failed payout, but nothing ties it to ours. It proves nothing.",
        ),
        (
            [],
            {},
            "absent",
            None,
            "Baltic holds no payout for this, and this lookup would show one.",
        ),
        (
            [],
            {"at": 335},
            "absent_inconclusive",
            None,
            "Not found yet. Baltic needs 15 min to settle; absence counts from 12:17:44.",
        ),
        (
            [],
            {"route": Route.BY_OBJECT_ID},
            "absent_inconclusive",
            None,
            UNPROVABLE,
        ),
        (
            [],
            {"answer": replace(ANSWERED, status=409)},
            "pending",
            None,
            "Baltic is still working on our first request.",
        ),
        (
            [],
            {"failure": LookFailure.UNREACHABLE, "answer": replace(ANSWERED, status=503)},
            "failing",
            None,
            "Baltic did not answer (503). This says nothing about the payout.",
        ),
        (
            [],
            {"failure": LookFailure.UNREACHABLE, "answer": replace(ANSWERED, status=None)},
            "failing",
            None,
            "Baltic did not answer. This says nothing about the payout.",
        ),
        (
            [],
            {"failure": LookFailure.RATE_LIMITED, "answer": replace(ANSWERED, status=429)},
            "failing",
            None,
            "Baltic asks us to slow down (429). This says nothing about the payout.",
        ),
        (
            [found()],
            {"failure": LookFailure.UNREADABLE},
            "failing",
            None,
            "Baltic's answer could not be read (200). This says nothing about the payout.",
        ),
        (
            [],
            {"failure": LookFailure.UNSUPPORTED, "answer": replace(ANSWERED, status=None)},
            "unsupported",
            None,
            "Baltic offers no lookup of this kind. This says nothing about the payout.",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_a_look_becomes_one_finding_with_words(
    objects: list[FoundObject],
    changes: dict[str, object],
    code: str,
    object_id: str | None,
    words: str,
) -> None:
    finding = judged(*objects, **changes)
    assert (finding.code, finding.object_id) == (code, object_id)
    assert finding.words.render(clock) == words


def test_a_failed_object_found_by_attributes_is_not_ours_unless_it_names_us() -> None:
    anybody = found(**FAILED, reference=None)
    by_attributes = {"route": Route.BY_ATTRIBUTES}
    assert judged(anybody, **by_attributes).code == "absent_inconclusive"
    assert judged(replace(anybody, reference=KEY), **by_attributes).code == "failed_object"
    assert judged(anybody).code == "failed_object"


def test_a_failed_object_that_is_not_ours_never_lets_absence_count() -> None:
    promised = contract(routes=(terms(Route.BY_ATTRIBUTES),))
    seen = look(
        found(**FAILED, reference=None),
        route=Route.BY_ATTRIBUTES,
        window_from=after(-200),
        window_until=after(1_098),
    )
    assert judge(view(), seen, promised, now=seen.asked_at).code == "absent_inconclusive"
    empty = replace(seen, objects=())
    assert judge(view(), empty, promised, now=seen.asked_at).code == "absent"


def test_receipts_of_other_effects_are_left_out() -> None:
    seen = look(found("re_a"), found("re_b"))
    alone = judge(view(), seen, contract(), now=seen.asked_at)
    assert alone.code == "several"
    rest = judge(view(), seen, contract(), now=seen.asked_at, claimed=["re_a"])
    assert (rest.code, rest.object_id, rest.left_out) == ("exact", "re_b", ("re_a",))
    none = judge(view(), seen, contract(), now=seen.asked_at, claimed=["re_a", "re_b"])
    assert (none.code, none.left_out) == ("absent", ("re_a", "re_b"))


def test_a_hit_by_attributes_that_names_another_intent_is_left_out() -> None:
    other = found("po_2", reference="payout:inv_20419:settle:v1")
    by_attributes = {"route": Route.BY_ATTRIBUTES}
    finding = judged(found(), other, **by_attributes)
    assert (finding.code, finding.object_id, finding.left_out) == (
        "exact",
        "po_9F4C81D07Q2K",
        ("po_2",),
    )
    assert judged(other).code == "differs"


def test_two_agreeing_looks_prove_absence_on_a_soft_route() -> None:
    window = {"window_from": after(-200), "window_until": after(5_000)}
    first = judged(route=Route.BY_ATTRIBUTES, at=1_000, **window)
    assert (first.code, first.look_again_at) == ("absent_inconclusive", after(1_300))
    second = look(route=Route.BY_ATTRIBUTES, at=1_300, **window)  # type: ignore[arg-type]
    proven = judge(view(), second, contract(), now=second.asked_at, earlier=(first,))
    assert proven.code == "absent"
    by_key = replace(first, route=Route.BY_KEY)
    again = judge(view(), second, contract(), now=second.asked_at, earlier=(by_key,))
    assert again.code == "absent_inconclusive"
    incomplete = judged(route=Route.BY_ATTRIBUTES, at=1_000)
    again = judge(view(), second, contract(), now=second.asked_at, earlier=(incomplete,))
    assert again.code == "absent_inconclusive"


@pytest.mark.parametrize(
    ("changes", "again"),
    [
        ({"at": 335}, after(900)),
        ({"at": 335, "account": "acct_2"}, None),
        ({"at": 335, "exhausted": False}, None),
        ({"route": Route.BY_OBJECT_ID}, None),
    ],
)
def test_a_finding_says_when_asking_again_can_help(
    changes: dict[str, object], again: datetime | None
) -> None:
    finding = judged(**changes)
    assert finding.code == "absent_inconclusive"
    assert finding.look_again_at == again


def test_a_provider_that_asks_for_patience_sets_the_next_look() -> None:
    slow = replace(ANSWERED, status=429, retry_after_seconds=45)
    finding = judged(failure=LookFailure.RATE_LIMITED, answer=slow, at=100)
    assert finding.look_again_at == after(145)


def test_a_finding_carries_the_times_that_matter() -> None:
    finding = judged(at=335)
    assert finding.counts_from == after(900)
    assert finding.retry_until == after(86_400 - 8_640)


def test_every_differing_field_alone_keeps_a_find_from_being_exact() -> None:
    changes: list[dict[str, object]] = [
        {"amount_minor": 1_199_999},
        {"currency": "USD"},
        {"counterparty": "cp_x"},
        {"account": "acct_x"},
        {"created_at": after(10_000)},
        {"reference": "payout:inv_1:settle:v1"},
    ]
    assert [judged(found(**change)).code for change in changes] == ["differs"] * 6


def test_a_message_is_compared_without_an_amount() -> None:
    ours = view(amount_minor=None, currency="XXX")
    theirs = found("msg_1", amount_minor=None, currency=None)
    seen = look(theirs)
    finding = judge(ours, seen, message_contract(), now=seen.asked_at)
    assert finding.code == "exact"
    assert "amount" not in {row.name for row in finding.comparisons}


def test_the_sets_of_codes_fit_together() -> None:
    assert set(FindingCode) == HAPPENED | PROOF | SILENT | {FindingCode.ABSENT_INCONCLUSIVE}
    assert not HAPPENED & {FindingCode.ABSENT, FindingCode.FAILED_OBJECT}
    assert not SILENT & (PROOF | HAPPENED)


def test_a_huge_answer_is_kept_as_its_first_twenty_objects() -> None:
    finding = judged(*(found(f"po_{i}") for i in range(500)))
    assert (finding.code, len(finding.objects)) == ("several", 20)
    assert "500 payouts" in finding.words.render()
