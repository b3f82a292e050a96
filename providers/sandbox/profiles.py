"""What the sandbox promises for each operation; written apart from the adapter's contract.

The adapter's contract must not be imported here: two descriptions that agree prove something, one
description used twice proves nothing. `README.md` beside this file says the same in words.
"""

from dataclasses import dataclass

HOUR = 3600
DAY = 24 * HOUR


@dataclass(frozen=True, slots=True)
class Profile:
    """One operation of the sandbox. Times in seconds; `key_seconds` None means no keys at all."""

    operation: str
    path: str
    prefix: str
    key_seconds: int | None
    mismatch_status: int
    stores_errors: bool
    has_amount: bool
    refusals: tuple[str, ...]
    refusal_status: int
    refusal_leaves_object: bool
    reach_back_seconds: int


PROFILES: tuple[Profile, ...] = (
    Profile(
        operation="charge",
        path="charges",
        prefix="ch",
        key_seconds=24 * HOUR,
        mismatch_status=400,
        stores_errors=True,
        has_amount=True,
        refusals=("card_declined", "insufficient_funds"),
        refusal_status=402,
        refusal_leaves_object=True,
        reach_back_seconds=90 * DAY,
    ),
    Profile(
        operation="payout",
        path="payouts",
        prefix="po",
        key_seconds=30 * DAY,
        mismatch_status=409,
        stores_errors=False,
        has_amount=True,
        refusals=("account_closed", "destination_invalid"),
        refusal_status=422,
        refusal_leaves_object=True,
        reach_back_seconds=180 * DAY,
    ),
    Profile(
        operation="refund",
        path="refunds",
        prefix="re",
        key_seconds=24 * HOUR,
        mismatch_status=400,
        stores_errors=False,
        has_amount=True,
        refusals=("charge_already_refunded", "amount_too_large"),
        refusal_status=422,
        refusal_leaves_object=False,
        reach_back_seconds=90 * DAY,
    ),
    Profile(
        operation="disbursement",
        path="disbursements",
        prefix="di",
        key_seconds=2 * HOUR,
        mismatch_status=409,
        stores_errors=False,
        has_amount=True,
        refusals=("borrower_blocked", "limit_exceeded"),
        refusal_status=422,
        refusal_leaves_object=False,
        reach_back_seconds=180 * DAY,
    ),
    Profile(
        operation="email",
        path="emails",
        prefix="em",
        key_seconds=None,
        mismatch_status=400,
        stores_errors=False,
        has_amount=False,
        refusals=("address_rejected",),
        refusal_status=422,
        refusal_leaves_object=False,
        reach_back_seconds=30 * DAY,
    ),
)

BY_PATH = {profile.path: profile for profile in PROFILES}
