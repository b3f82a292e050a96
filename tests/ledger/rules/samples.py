"""Contracts, intents, looks and cases from which the tables of the rules' tests are built."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ledger.rules.cases import CaseFacts, Decision, Evidence
from ledger.rules.contract import (
    After,
    Answer,
    Contract,
    Definitive,
    FoundObject,
    Freeze,
    IntentView,
    LagKind,
    Look,
    LookFailure,
    Phase,
    Route,
    RouteTerms,
    Standing,
)
from ledger.rules.decisions import option
from ledger.rules.findings import Finding, judge
from ledger.rules.states import Cause, State

SENT = datetime(2026, 10, 14, 12, 2, 44, tzinfo=UTC)
ANSWERED = Answer(
    method="GET", path="/v2/payouts", phase=Phase.ANSWERED, duration_ms=412, status=200
)
KEY = "payout:inv_20418:settle:v1"
COMPARED = ("amount", "currency", "counterparty", "account", "created")


def after(seconds: float) -> datetime:
    """The moment so many seconds after the request was sent."""
    return SENT + timedelta(seconds=seconds)


def terms(route: Route = Route.BY_KEY, **changes: object) -> RouteTerms:
    """A documented, exhaustive route with a lag of 840 s."""
    given = RouteTerms(
        route=route,
        lag_kind=LagKind.DOCUMENTED,
        lag_seconds=840,
        exhaustive=True,
        proves_absence=True,
    )
    return replace(given, **changes)  # type: ignore[arg-type]


def contract(**changes: object) -> Contract:
    """Baltic's payouts: 24 h key window, settled 900 s after sending (30 + 30 + 840)."""
    given = Contract(
        provider="baltic",
        operation="payout",
        version="3",
        title="Payout",
        noun="payout",
        provider_title="Baltic",
        read_on="2026-10-01",
        sources=("https://example.test/payouts",),
        has_amount=True,
        key_window_seconds=86_400,
        compares_parameters=True,
        stores_5xx=False,
        taint_delay_seconds=259_200,
        concurrent_answer="409",
        deadline_seconds=30,
        lease_seconds=60,
        dispatch_within_seconds=3_600,
        response_window_seconds=30,
        max_in_flight_seconds=30,
        dispute_window_seconds=0,
        routes=(
            terms(),
            terms(Route.BY_REQUEST_ID),
            terms(Route.BY_OBJECT_ID, lag_seconds=0, proves_absence=False),
            terms(Route.BY_ATTRIBUTES, lag_kind=LagKind.SOFT, exhaustive=True),
        ),
        schedule_seconds=(900, 3_600),
        definitive=(Definitive("account_closed", "The account is closed.", After.NEW_VERSION),),
        not_processed=("429",),
        compared_fields=COMPARED,
        time_tolerance_seconds=120,
        freeze=Freeze.BLOCK,
        runbook="",
    )
    return replace(given, **changes)  # type: ignore[arg-type]


def message_contract(**changes: object) -> Contract:
    """An email without key and amount; its lookup by reference proves absence after 30 min."""
    email = {
        "operation": "email",
        "title": "Email",
        "noun": "email",
        "provider_title": "Gulf Mail",
        "has_amount": False,
        "key_window_seconds": None,
        "compared_fields": ("counterparty", "created"),
    }
    return contract(**{**email, **changes})


def view(**changes: object) -> IntentView:
    """12,000.00 EUR sent once, at `SENT`, and fenced since."""
    given = IntentView(
        tenant="aurelia",
        effect_id="018f4e9a-0000-7000-8000-000000000001",
        intent_key=KEY,
        operation="payout",
        account="acct_1",
        environment="live",
        provider_key="1de550b2-94cc-8e32-8220-59270eb56497",
        request="{}",
        amount_minor=1_200_000,
        currency="EUR",
        counterparty="cp_4471",
        object_ref="inv_20418",
        fence=4,
        attempts=1,
        first_dispatch_at=SENT,
        last_dispatch_at=SENT,
        fenced=True,
        had_server_error=False,
    )
    return replace(given, **changes)  # type: ignore[arg-type]


def found(object_id: str = "po_9F4C81D07Q2K", **changes: object) -> FoundObject:
    """The payout as Baltic holds it, in agreement with `view()`."""
    given = FoundObject(
        object_id=object_id,
        standing=Standing.TOOK_EFFECT,
        status="processing",
        amount_minor=1_200_000,
        currency="EUR",
        counterparty="cp_4471",
        account="acct_1",
        created_at=after(1.2),
        reference=KEY,
    )
    return replace(given, **changes)  # type: ignore[arg-type]


def look(*objects: FoundObject, at: float = 1_098, **changes: object) -> Look:
    """A lookup by key, `at` seconds after sending, that returned `objects`."""
    given = Look(
        route=Route.BY_KEY,
        asked_at=after(at),
        account="acct_1",
        environment="live",
        answer=ANSWERED,
        objects=objects,
    )
    return replace(given, **changes)  # type: ignore[arg-type]


def judged(*objects: FoundObject, **changes: object) -> Finding:
    """What a lookup by key, 1,098 s after sending, proves where it returned `objects`."""
    seen = look(*objects, **changes)  # type: ignore[arg-type]
    return judge(view(), seen, contract(), now=seen.asked_at)


def item(no: int, *objects: FoundObject, **changes: object) -> Evidence:
    """Evidence number `no`: what a lookup that a person asked for proves."""
    return Evidence(no, judged(*objects, **changes), True)


def facts(*findings: Evidence, at: float = 1_200, **changes: object) -> CaseFacts:
    """The unknown payout of `view()`, `at` seconds after sending, decided by one person."""
    given = CaseFacts(
        state=State.UNKNOWN,
        contract=contract(),
        now=after(at),
        amount_minor=1_200_000,
        currency="EUR",
        first_dispatch_at=SENT,
        last_dispatch_at=SENT,
        attempts=1,
        findings=findings,
        key_until=after(86_400),
        retry_until=after(86_400 - 8_640),
        people_required=dict.fromkeys(Decision, 1),
        cause=Cause.TIMEOUT,
        cause_at=after(30),
        cause_no=3,
        workflow="wf_settle_20418",
        step="4",
    )
    return replace(given, **changes)  # type: ignore[arg-type]


def clock(moment: datetime) -> str:
    """A moment as the tests read it."""
    return moment.strftime("%H:%M:%S")


FAILED = {"standing": Standing.FAILED_NO_EFFECT, "status": "refused"}
PENDING = {"standing": Standing.PENDING, "status": "awaiting_funds"}
REVERSED = {"standing": Standing.REVERSED, "status": "returned"}
UNREACHABLE = {
    "failure": LookFailure.UNREACHABLE,
    "answer": replace(ANSWERED, status=503),
}
EARLY = item(5, at=335)
EXACT = item(6, found())
SHORT = item(6, found(amount_minor=1_196_000))
TWO = item(6, found("a"), found("b"))
ABSENT = item(6)
SILENT = item(6, **UNREACHABLE)
RUNNING = item(6, answer=replace(ANSWERED, status=409))
GONE = item(6, found(**FAILED))
SETTLING = (
    Decision.ACCEPT,
    Decision.ACCEPT_WITH_DIFFERENCE,
    Decision.ACCEPT_ONE_OF_SEVERAL,
    Decision.REJECT,
    Decision.REDISPATCH,
)


def lock(decision: str, case: CaseFacts) -> tuple[str, str, str]:
    """Cause, reason and remedy of a locked decision."""
    locked = option(Decision(decision), case)
    assert not locked.available
    change = locked.change.render(clock) if locked.change else ""
    return str(locked.because), locked.why.render(clock), change
