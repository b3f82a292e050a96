"""Each field of a found object has a verdict and a note; the contract says which decide."""

import pytest

from ledger.rules.comparison import Verdict, compare, differences
from tests.ledger.rules.samples import KEY, after, contract, found, view

SAME, DIFFERS, NOT_COMPARED = Verdict.SAME, Verdict.DIFFERS, Verdict.NOT_COMPARED


@pytest.mark.parametrize(
    ("ours", "theirs", "promised", "name", "expected"),
    [
        ({}, {}, {}, "amount", ("12,000.00", "12,000.00", SAME, "")),
        (
            {},
            {"amount_minor": 1_204_000},
            {},
            "amount",
            ("12,000.00", "12,040.00", DIFFERS, "40.00 more"),
        ),
        (
            {"amount_minor": 2_000, "currency": "JPY"},
            {"amount_minor": 200_000, "currency": "JPY"},
            {},
            "amount",
            ("2,000", "200,000", DIFFERS, "198,000 more, 100 times what we sent"),
        ),
        (
            {"amount_minor": 200_000, "currency": "JPY"},
            {"amount_minor": 2_000, "currency": "JPY"},
            {},
            "amount",
            ("200,000", "2,000", DIFFERS, "198,000 less, a 100th of what we sent"),
        ),
        (
            {},
            {"amount_minor": None},
            {},
            "amount",
            ("12,000.00", None, DIFFERS, "not stated by the provider"),
        ),
        (
            {"amount_minor": None},
            {},
            {},
            "amount",
            (None, "12,000.00", DIFFERS, "unknown on our side"),
        ),
        ({}, {"currency": "USD"}, {}, "currency", ("EUR", "USD", DIFFERS, "not the same")),
        (
            {},
            {"currency": None},
            {},
            "currency",
            ("EUR", None, DIFFERS, "not stated by the provider"),
        ),
        (
            {},
            {"counterparty": "cp_1"},
            {},
            "counterparty",
            ("cp_4471", "cp_1", DIFFERS, "not the same"),
        ),
        (
            {"counterparty": None},
            {},
            {},
            "counterparty",
            (None, "cp_4471", NOT_COMPARED, "not part of the request"),
        ),
        (
            {},
            {"counterparty": "cp_1"},
            {"compared_fields": ("amount",)},
            "counterparty",
            ("cp_4471", "cp_1", NOT_COMPARED, "not compared here"),
        ),
        (
            {},
            {"amount_minor": 5},
            {"compared_fields": ("currency",)},
            "amount",
            ("12,000.00", "0.05", NOT_COMPARED, "not compared here"),
        ),
        ({}, {"account": "acct_2"}, {}, "account", ("acct_1", "acct_2", DIFFERS, "not the same")),
        ({}, {}, {}, "created", (after(0), after(1.2), SAME, "1.2 s later")),
        (
            {},
            {"created_at": after(-119.5)},
            {},
            "created",
            (after(0), after(-119.5), SAME, "1 min 59 s earlier"),
        ),
        (
            {},
            {"created_at": after(-121)},
            {},
            "created",
            (after(0), after(-121), DIFFERS, "2 min 1 s earlier"),
        ),
        (
            {},
            {"created_at": after(181)},
            {},
            "created",
            (after(0), after(181), DIFFERS, "3 min 1 s later"),
        ),
        (
            {"last_dispatch_at": after(3_600)},
            {"created_at": after(3_601)},
            {},
            "created",
            (after(0), after(3_601), SAME, "1.0 s later"),
        ),
        (
            {},
            {"created_at": None},
            {},
            "created",
            (after(0), None, DIFFERS, "not stated by the provider"),
        ),
        (
            {"first_dispatch_at": None, "last_dispatch_at": None},
            {},
            {},
            "created",
            (None, after(1.2), NOT_COMPARED, "it is not known when this was sent"),
        ),
        (
            {},
            {"reference": "INV-20418 OCT SETTLEM"},
            {},
            "reference",
            (KEY, "INV-20418 OCT SETTLEM", NOT_COMPARED, "not compared"),
        ),
        (
            {},
            {"reference": "payout:inv_20418:settle"},
            {},
            "reference",
            (KEY, "payout:inv_20418:settle", NOT_COMPARED, "not compared"),
        ),
        (
            {},
            {"reference": "payout:inv_20418:settle:v2"},
            {},
            "reference",
            (KEY, "payout:inv_20418:settle:v2", DIFFERS, "names another intent"),
        ),
        ({}, {}, {}, "status", (None, "processing", NOT_COMPARED, "the provider's word")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_field_has_a_verdict_and_a_note(
    ours: dict[str, object],
    theirs: dict[str, object],
    promised: dict[str, object],
    name: str,
    expected: tuple[object, ...],
) -> None:
    rows = compare(view(**ours), found(**theirs), contract(**promised))
    row = next(row for row in rows if row.name == name)
    assert (row.sent, row.found, row.verdict, row.note) == expected


def test_differences_are_named_in_one_phrase() -> None:
    rows = compare(view(), found(amount_minor=1_196_000, counterparty="x"), contract())
    assert differences(rows) == "amount 40.00 less, recipient not the same"
