"""What the sandbox promises, as the ledger relies on it: one contract per operation.

Read from `README.md` beside this file on the date in each contract. The sandbox's own code does not
import this, so the two can disagree, and the tests would show it.
"""

from dataclasses import replace

from ledger.rules.contract import (
    After,
    Contract,
    Definitive,
    Freeze,
    LagKind,
    Route,
    RouteTerms,
)

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR

SETTLE_SECONDS = 60

_MONEY_FIELDS = ("amount", "currency", "counterparty", "created", "account")


def _listed(
    route: Route, *, reach_back_days: int, exhaustive: bool = True, proves_absence: bool = True
) -> RouteTerms:
    return RouteTerms(
        route=route,
        lag_kind=LagKind.DOCUMENTED,
        lag_seconds=SETTLE_SECONDS,
        exhaustive=exhaustive,
        proves_absence=proves_absence,
        reach_back_seconds=reach_back_days * DAY,
    )


def _routes(*, reach_back_days: int, keyed: bool) -> tuple[RouteTerms, ...]:
    """The read routes in the order in which they are asked.

    An id that is not found says only that this object does not exist, and attributes may belong to
    another effect: neither ever proves that ours did not happen.
    """
    by_key = _listed(Route.BY_KEY, reach_back_days=reach_back_days)
    by_request_id = _listed(Route.BY_REQUEST_ID, reach_back_days=reach_back_days)
    by_object_id = RouteTerms(
        route=Route.BY_OBJECT_ID,
        lag_kind=LagKind.DOCUMENTED,
        lag_seconds=0,
        exhaustive=False,
        proves_absence=False,
    )
    by_attributes = _listed(
        Route.BY_ATTRIBUTES,
        reach_back_days=reach_back_days,
        exhaustive=False,
        proves_absence=False,
    )
    if not keyed:
        return (by_request_id, by_object_id, by_attributes)
    return (by_key, by_request_id, by_object_id, by_attributes)


_CHARGE = Contract(
    provider="sandbox",
    operation="charge",
    version="1",
    title="Card payment",
    noun="payment",
    provider_title="Sandbox Cards",
    read_on="2026-11-30",
    sources=("providers/sandbox/README.md",),
    has_amount=True,
    key_window_seconds=24 * HOUR,
    compares_parameters=True,
    stores_5xx=True,
    taint_delay_seconds=30 * MINUTE,
    concurrent_answer=(
        "A second request with a key that is still running is answered 409 key_in_use and is not "
        "run. It says nothing about how the first one ends."
    ),
    deadline_seconds=5,
    lease_seconds=8,
    dispatch_within_seconds=15 * MINUTE,
    response_window_seconds=30,
    max_in_flight_seconds=5,
    dispute_window_seconds=120 * DAY,
    routes=_routes(reach_back_days=90, keyed=True),
    schedule_seconds=(0, 60, 300, 1800),
    definitive=(
        Definitive("card_declined", "The card was declined. Nothing was taken.", After.NEW_VERSION),
        Definitive(
            "insufficient_funds",
            "The card does not cover the amount. Nothing was taken.",
            After.NEW_VERSION,
        ),
    ),
    not_processed=("429",),
    compared_fields=_MONEY_FIELDS,
    time_tolerance_seconds=2 * MINUTE,
    freeze=Freeze.BLOCK,
    runbook=(
        "Look up by key after the settle time. One payment that agrees in every field: accept it. "
        "None found, and every condition holds: ask whether the customer still owes the amount. "
        "If yes, allow one retry with the same key inside its 24 hours; if not, mark rejected. "
        "Two payments: do not refund by hand, escalate to the payments owner first."
    ),
)

_PAYOUT = replace(
    _CHARGE,
    operation="payout",
    title="Payout",
    noun="payout",
    provider_title="Sandbox Payouts",
    key_window_seconds=30 * DAY,
    stores_5xx=False,
    taint_delay_seconds=0,
    dispatch_within_seconds=HOUR,
    response_window_seconds=60,
    dispute_window_seconds=10 * DAY,
    routes=_routes(reach_back_days=180, keyed=True),
    definitive=(
        Definitive(
            "account_closed",
            "The receiving account is closed. Nothing was paid out.",
            After.NEW_VERSION,
        ),
        Definitive(
            "destination_invalid",
            "The destination does not exist. Nothing was paid out.",
            After.NEW_VERSION,
        ),
    ),
    runbook=(
        "Look up by key after the settle time, before anybody calls the recipient. One payout that "
        "agrees in every field: accept it. A payout that differs in amount or recipient needs two "
        "people. None found, and every condition holds: allow one retry with the same key, the key "
        "is kept for 30 days. Never pay the same invoice through another account meanwhile."
    ),
)

_REFUND = replace(
    _CHARGE,
    operation="refund",
    title="Refund",
    noun="refund",
    provider_title="Sandbox Refunds",
    stores_5xx=False,
    taint_delay_seconds=0,
    dispatch_within_seconds=HOUR,
    response_window_seconds=30,
    dispute_window_seconds=0,
    definitive=(
        Definitive(
            "charge_already_refunded",
            "The payment was given back in full before. This refund was not made.",
            After.NEVER,
        ),
        Definitive(
            "amount_too_large",
            "The refund is larger than what is left of the payment. It was not made.",
            After.NEW_VERSION,
        ),
    ),
    runbook=(
        "Look up by key after the settle time. One refund that agrees in every field: accept it. "
        "If the refund was answered with charge_already_refunded, find the other refund before "
        "telling the customer anything. None found, and every condition holds: allow one retry "
        "with the same key inside its 24 hours. A dispute on the payment goes first: escalate."
    ),
)

_DISBURSEMENT = replace(
    _CHARGE,
    operation="disbursement",
    title="Loan disbursement",
    noun="disbursement",
    provider_title="Sandbox Lending",
    key_window_seconds=2 * HOUR,
    stores_5xx=False,
    taint_delay_seconds=0,
    dispatch_within_seconds=30 * MINUTE,
    response_window_seconds=60,
    dispute_window_seconds=14 * DAY,
    routes=_routes(reach_back_days=180, keyed=True),
    definitive=(
        Definitive(
            "borrower_blocked",
            "The borrower is blocked. Nothing was disbursed.",
            After.NEVER,
        ),
        Definitive(
            "limit_exceeded",
            "The lending limit is used up. Nothing was disbursed; the same request may be sent "
            "again once the limit is raised.",
            After.SAME_KEY,
        ),
    ),
    runbook=(
        "The key is kept for 2 hours only: look up by key as soon as the settle time has passed. "
        "One disbursement that agrees in every field: accept it. None found, and every condition "
        "holds: decide on the retry well before the key closes. After that a retry would be a "
        "second loan: mark rejected, or escalate to the lending owner."
    ),
)

_EMAIL = replace(
    _CHARGE,
    operation="email",
    title="Receipt email",
    noun="message",
    provider_title="Sandbox Mail",
    has_amount=False,
    key_window_seconds=None,
    compares_parameters=None,
    stores_5xx=False,
    taint_delay_seconds=0,
    concurrent_answer="There is no key: two requests are two messages.",
    dispatch_within_seconds=HOUR,
    response_window_seconds=30,
    dispute_window_seconds=0,
    routes=_routes(reach_back_days=30, keyed=False),
    definitive=(
        Definitive(
            "address_rejected",
            "The address was refused. No message was taken.",
            After.NEW_VERSION,
        ),
    ),
    compared_fields=("counterparty", "created", "account"),
    freeze=Freeze.WARN,
    runbook=(
        "Look up by request id after the settle time. One message to the same recipient: accept "
        "it; taken by the provider is what confirmed means, delivery is another matter. None "
        "found, and every condition holds: mark rejected and let the workflow send a new message. "
        "A receipt that arrives twice does little harm; one that moves money never goes by email."
    ),
)

CONTRACTS: tuple[Contract, ...] = (_CHARGE, _PAYOUT, _REFUND, _DISBURSEMENT, _EMAIL)
