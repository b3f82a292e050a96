"""A finding is stored as canonical JSON and reads back as the same finding, whatever it holds."""

from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.absence import Clause
from ledger.rules.comparison import FieldComparison, Verdict
from ledger.rules.contract import FoundObject, LookFailure, Route, Standing
from ledger.rules.digest import BadJson
from ledger.rules.finding_json import finding_from_json, finding_to_json
from ledger.rules.findings import Finding, FindingCode
from ledger.rules.words import say
from tests.ledger.rules.samples import found, judged

FAILED = {"standing": Standing.FAILED_NO_EFFECT, "status": "refused"}
STORED = [
    judged(found()),
    judged(found("a"), found("b", **FAILED)),
    judged(found(amount_minor=10**30, created_at=None)),
    judged(at=335),
    judged(),
    judged(failure=LookFailure.UNREADABLE),
]


@pytest.mark.parametrize("finding", STORED, ids=lambda finding: finding.code)
def test_a_stored_finding_reads_back_the_same(finding: Finding) -> None:
    assert finding_from_json(finding_to_json(finding)) == finding


texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=9)
moments = st.datetimes(timezones=st.just(UTC))


@given(
    st.builds(
        Finding,
        code=st.sampled_from(FindingCode),
        route=st.sampled_from(Route),
        asked_at=moments,
        words=st.builds(lambda text, at: say("{text} {at}", text=text, at=at), texts, moments),
        object_id=st.none() | texts,
        objects=st.lists(
            st.builds(
                FoundObject,
                object_id=texts,
                standing=st.sampled_from(Standing),
                status=texts,
                amount_minor=st.none() | st.integers(),
                currency=st.none() | texts,
                counterparty=st.none() | texts,
                account=st.none() | texts,
                created_at=st.none() | moments,
                reference=st.none() | texts,
            ),
            max_size=2,
        ).map(tuple),
        comparisons=st.lists(
            st.builds(
                FieldComparison,
                name=texts,
                sent=st.none() | texts | moments,
                found=st.none() | texts | moments,
                verdict=st.sampled_from(Verdict),
                note=texts,
            ),
            max_size=2,
        ).map(tuple),
        clauses=st.lists(
            st.builds(Clause, texts, texts, st.booleans(), st.builds(say, texts)), max_size=2
        ).map(tuple),
        counts_from=st.none() | moments,
        retry_until=st.none() | moments,
        look_again_at=st.none() | moments,
        left_out=st.lists(texts, max_size=2).map(tuple),
    )
)
def test_any_finding_survives_being_stored(finding: Finding) -> None:
    assert finding_from_json(finding_to_json(finding)) == finding


def test_hostile_provider_text_is_marked_not_lost() -> None:
    finding = judged(found(status="a\x00b\ud800c"))
    stored = finding_from_json(finding_to_json(finding))
    assert stored.objects[0].status == "a\ufffdb\ufffdc"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{}", KeyError),
        ("[]", TypeError),
        ('{"v":2}', ValueError),
        ("nonsense", BadJson),
        (finding_to_json(STORED[0]).replace('"exact"', '"fine"'), ValueError),
        (finding_to_json(STORED[0]).replace('"objects":[', '"objects":[1,'), TypeError),
        (finding_to_json(STORED[0]).replace('"left_out":[]', '"left_out":[1]'), TypeError),
    ],
)
def test_other_text_is_not_read_as_a_finding(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        finding_from_json(text)
