"""The suite every adapter passes: what a send and a lookup may claim, under every fault."""

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

import providers
from ledger.rules.contract import (
    After,
    Confirmed,
    Contract,
    Declined,
    IntentView,
    Look,
    NotProcessed,
    Route,
    SendOutcome,
    Unclear,
    contract_from_json,
    contract_to_json,
)
from ledger.rules.findings import HAPPENED, SILENT, Finding, FindingCode, judge
from ledger.rules.states import Cause
from providers.http import uptime_seconds
from tests.conformance.peers import Fault, LookFault, Peer
from tests.providers.intents import view_of

PeerOf = Callable[[Contract], Peer]

CONTRACTS = providers.contracts()


def each(contracts: Sequence[Contract]) -> pytest.MarkDecorator:
    """The test once for each of the contracts."""
    ids = [f"{contract.provider}-{contract.operation}" for contract in contracts]
    return pytest.mark.parametrize("contract", contracts, ids=ids)


EACH = each(CONTRACTS)
# Without a key two sends are two effects, and nothing more can be asked of the adapter.
EACH_KEYED = each([c for c in CONTRACTS if c.key_window_seconds is not None])
EACH_PROVING = each([c for c in CONTRACTS if any(t.proves_absence for t in c.routes)])
EACH_ROUTE = pytest.mark.parametrize(
    ("contract", "route"),
    [
        pytest.param(c, t.route, id=f"{c.provider}-{c.operation}-{t.route}")
        for c in CONTRACTS
        for t in c.routes
    ],
)
EACH_FAULT = pytest.mark.parametrize("fault", list(Fault))
LATE = (Fault.ANSWER_AFTER_DEADLINE, Fault.ACCEPT_AFTER_DEADLINE)
HURRY_SECONDS = 0.2


def dispatch(view: IntentView, contract: Contract, *, for_seconds: float = 60) -> SendOutcome:
    """Send under a claim that permits it for `for_seconds` more."""
    send_by = uptime_seconds() + for_seconds
    return providers.provider(contract.provider).dispatch(view, contract, send_by=send_by)


def send(
    peer: Peer, contract: Contract, fault: Fault = Fault.NONE
) -> tuple[SendOutcome, IntentView]:
    """Send a fresh intent into `fault`; the view is as the ledger holds it afterwards."""
    view = view_of(contract, sent_at=peer.now())
    peer.fail(fault, view)
    hurried = replace(contract, deadline_seconds=HURRY_SECONDS)  # type: ignore[arg-type]
    outcome = dispatch(view, hurried if fault in LATE else contract)
    tainted = isinstance(outcome, Unclear) and outcome.server_error
    return outcome, replace(view, fenced=True, had_server_error=tainted)


def look(peer: Peer, contract: Contract, view: IntentView, route: Route) -> Look:
    """One look by the peer's clock."""
    return providers.provider(contract.provider).look(view, route, contract, now=peer.now())


def find(
    peer: Peer,
    contract: Contract,
    view: IntentView,
    route: Route,
    *,
    earlier: tuple[Finding, ...] = (),
) -> Finding:
    """What one look proves."""
    return judge(view, look(peer, contract, view, route), contract, now=peer.now(), earlier=earlier)


def moments_seconds(contract: Contract, peer: Peer) -> list[int]:
    """When somebody might look, after the send: around the last arrival and the settle time."""
    last = contract.deadline_seconds + peer.hold_seconds
    settled = last + peer.lag_seconds
    about = {last - 1, last + 1, settled - last, settled - 4, settled - 1, settled + 1}
    return [0, *sorted(at for at in about if at > 0), 600, 86_400]


@EACH
def test_a_plain_send_is_confirmed_and_makes_one_effect(
    contract: Contract, peer_of: PeerOf
) -> None:
    peer = peer_of(contract)
    outcome, view = send(peer, contract)
    assert isinstance(outcome, Confirmed), outcome
    assert outcome.found.object_id == peer.object_id(view)
    assert re.fullmatch(r"[0-9a-f]{64}", outcome.answer.body_digest or ""), "it is the receipt"
    assert (peer.creates(view), peer.effects(view)) == (1, 1)


@EACH
def test_after_its_time_to_send_nothing_leaves_and_nothing_is_claimed(
    contract: Contract, peer_of: PeerOf
) -> None:
    peer = peer_of(contract)
    view = view_of(contract, sent_at=peer.now())
    outcome = dispatch(view, contract, for_seconds=0)
    assert isinstance(outcome, Unclear), outcome
    assert outcome.cause is Cause.LEASE_LOST
    assert (peer.creates(view), peer.effects(view)) == (0, 0)


@EACH
@EACH_FAULT
def test_one_dispatch_is_one_request_and_claims_no_more_than_it_knows(
    contract: Contract, fault: Fault, peer_of: PeerOf
) -> None:
    peer = peer_of(contract)
    outcome, view = send(peer, contract, fault)
    assert peer.creates(view) == 1
    assert not isinstance(outcome, Declined), "no fault is a refusal"
    if isinstance(outcome, Confirmed):
        assert peer.effects(view) == 1
        assert fault is Fault.NONE
    if isinstance(outcome, NotProcessed):
        assert peer.effects(view) == 0
    if fault is Fault.ACCEPT_AFTER_DEADLINE:
        peer.finish_waiting()
        assert peer.effects(view) == 1


@pytest.mark.parametrize(
    ("contract", "code"),
    [
        pytest.param(c, d.code, id=f"{c.operation}-{d.code}")
        for c in CONTRACTS
        for d in c.definitive
    ],
)
def test_every_listed_refusal_is_declined_with_no_effect(
    contract: Contract, code: str, peer_of: PeerOf
) -> None:
    peer = peer_of(contract)
    view = view_of(contract, sent_at=peer.now())
    peer.refuse(code, view)
    outcome = dispatch(view, contract)
    assert isinstance(outcome, Declined), outcome
    assert outcome.code == code
    assert peer.effects(view) == 0


@EACH
@EACH_FAULT
def test_lookups_never_create(contract: Contract, fault: Fault, peer_of: PeerOf) -> None:
    peer = peer_of(contract)
    _, view = send(peer, contract, fault)
    if fault is Fault.ACCEPT_AFTER_DEADLINE:
        peer.finish_waiting()
    view = replace(view, provider_object_id=peer.object_id(view) or "unknown-object")
    before = (peer.creates(view), peer.effects(view))
    for terms in contract.routes * 2:
        look(peer, contract, view, terms.route)
        peer.advance(45)
    assert peer.lookups(view) == 2 * len(contract.routes)
    assert (peer.creates(view), peer.effects(view)) == before


@EACH
@EACH_FAULT
def test_absence_is_proven_only_of_what_did_not_happen(
    contract: Contract, fault: Fault, peer_of: PeerOf
) -> None:
    peer = peer_of(contract)
    _, view = send(peer, contract, fault)
    waiting, passed = fault is Fault.ACCEPT_AFTER_DEADLINE, 0
    findings: tuple[Finding, ...] = ()
    for moment in moments_seconds(contract, peer):
        peer.advance(moment - passed)
        passed = moment
        if waiting and moment:
            # A provider that keeps its word on the hold time carries it out by then at the latest.
            peer.finish_waiting()
            waiting = False
        for terms in contract.routes:
            finding = find(peer, contract, view, terms.route, earlier=findings)
            findings = (*findings, finding)
            if finding.code is FindingCode.ABSENT:
                assert peer.effects(view) == 0
                assert terms.proves_absence


@EACH_PROVING
def test_absence_is_proven_once_it_counts_and_not_a_second_earlier(
    contract: Contract, peer_of: PeerOf
) -> None:
    peer = peer_of(contract)
    _, view = send(peer, contract, Fault.DROP_BEFORE_ACCEPT)
    proving = next(t for t in contract.routes if t.proves_absence)
    peer.advance(contract.settle_seconds - 3)
    early = find(peer, contract, view, proving.route)
    assert early.code is FindingCode.ABSENT_INCONCLUSIVE
    peer.advance(4)
    findings = (early, find(peer, contract, view, proving.route, earlier=(early,)))
    if proving.lag_kind != "documented":
        peer.advance(301)
        findings = (*findings, find(peer, contract, view, proving.route, earlier=findings))
    assert findings[-1].code is FindingCode.ABSENT, findings[-1].words.render()
    assert peer.effects(view) == 0


@EACH
def test_an_unfenced_effect_is_never_proven_absent(contract: Contract, peer_of: PeerOf) -> None:
    peer = peer_of(contract)
    _, view = send(peer, contract, Fault.DROP_BEFORE_ACCEPT)
    peer.advance(7200)
    for terms in contract.routes:
        finding = find(peer, contract, replace(view, fenced=False), terms.route)
        assert finding.code is not FindingCode.ABSENT


@EACH
@pytest.mark.parametrize(
    "fault",
    [
        Fault.ACCEPT_THEN_DROP,
        Fault.RESET_AFTER_ACCEPT,
        Fault.ANSWER_AFTER_DEADLINE,
        Fault.ACCEPT_AFTER_DEADLINE,
        Fault.ERROR_DONE,
        Fault.PROXY_PAGE,
        Fault.EMPTY_ANSWER,
        Fault.CUT_ANSWER,
        Fault.ACKNOWLEDGED,
        Fault.TWO_OBJECTS,
        Fault.OTHER_RECIPIENT,
        Fault.PENDING,
    ],
)
def test_what_happened_is_found_by_the_first_route(
    contract: Contract, fault: Fault, peer_of: PeerOf
) -> None:
    peer = peer_of(contract)
    _, view = send(peer, contract, fault)
    if fault is Fault.ACCEPT_AFTER_DEADLINE:
        peer.finish_waiting()
    assert peer.effects(view) >= 1
    peer.advance(contract.settle_seconds + 1)
    finding = find(peer, contract, view, contract.routes[0].route)
    assert finding.code in HAPPENED
    expected = {
        Fault.TWO_OBJECTS: FindingCode.SEVERAL,
        Fault.OTHER_RECIPIENT: FindingCode.DIFFERS,
        Fault.PENDING: FindingCode.PENDING,
    }
    assert finding.code is expected.get(fault, FindingCode.EXACT), finding.words.render()


@EACH_ROUTE
@pytest.mark.parametrize("fault", list(LookFault))
def test_a_lookup_that_fails_is_silent(
    contract: Contract, route: Route, fault: LookFault, peer_of: PeerOf
) -> None:
    peer = peer_of(contract)
    _, view = send(peer, contract, Fault.ACCEPT_THEN_DROP)
    view = replace(view, provider_object_id=peer.object_id(view))
    peer.advance(contract.settle_seconds + 1)
    peer.fail_look(fault, view)
    hurried = replace(contract, deadline_seconds=HURRY_SECONDS)  # type: ignore[arg-type]
    finding = find(peer, hurried if fault is LookFault.SLOW else contract, view, route)
    assert finding.code in SILENT
    assert peer.lookups(view) == 1
    assert find(peer, contract, view, route).code is FindingCode.EXACT
    assert peer.effects(view) == 1


@EACH
def test_a_search_that_has_no_end_never_proves_absence(contract: Contract, peer_of: PeerOf) -> None:
    peer = peer_of(contract)
    _, view = send(peer, contract, Fault.DROP_BEFORE_ACCEPT)
    peer.advance(7200)
    peer.endless_lists(view)
    for terms in contract.routes:
        if terms.route is not Route.BY_OBJECT_ID:
            finding = find(peer, contract, view, terms.route)
            assert finding.code is not FindingCode.ABSENT
            assert peer.lookups(view) <= 100


@EACH_KEYED
def test_two_workers_with_one_key_make_one_effect(contract: Contract, peer_of: PeerOf) -> None:
    peer = peer_of(contract)
    view = view_of(contract, sent_at=peer.now())
    barrier, outcomes = threading.Barrier(2), list[SendOutcome]()

    def work(fence: int) -> None:
        mine = replace(view, fence=fence, attempts=fence)
        barrier.wait(timeout=10)
        outcomes.append(dispatch(mine, contract))

    workers = [threading.Thread(target=work, args=(fence,)) for fence in (1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=20)
    assert len(outcomes) == 2
    assert all(isinstance(outcome, Confirmed | Unclear) for outcome in outcomes)
    assert any(isinstance(outcome, Confirmed) for outcome in outcomes)
    assert (peer.creates(view), peer.effects(view)) == (2, 1)


@EACH_KEYED
def test_the_same_key_after_a_lost_answer_makes_no_second_effect(
    contract: Contract, peer_of: PeerOf
) -> None:
    peer = peer_of(contract)
    _, view = send(peer, contract, Fault.ACCEPT_THEN_DROP)
    again = replace(view, fence=2, attempts=2)
    outcome = dispatch(again, contract)
    assert isinstance(outcome, Confirmed), outcome
    assert peer.effects(view) == 1


@EACH
def test_a_contract_is_whole_and_survives_storage(contract: Contract) -> None:
    assert contract_from_json(contract_to_json(contract)) == contract
    assert contract.deadline_seconds < contract.lease_seconds
    assert contract.routes
    assert contract.terms(contract.routes[0].route) is contract.routes[0]
    assert list(contract.schedule_seconds) == sorted(set(contract.schedule_seconds))
    assert len(re.findall(r"[.;?](?:\s|$)", contract.runbook)) >= 2
    assert contract.concurrent_answer
    assert contract.sources
    assert contract.read_on
    for listed in contract.definitive:
        assert listed.words.endswith(".")
        assert isinstance(listed.after, After)


@EACH
def test_attributes_and_object_ids_never_prove_absence(contract: Contract) -> None:
    for terms in contract.routes:
        if terms.route in (Route.BY_ATTRIBUTES, Route.BY_OBJECT_ID):
            assert not terms.proves_absence


def test_a_provider_without_a_peer_fails_the_suite(peer_of: PeerOf) -> None:
    stranger = replace(CONTRACTS[0], provider="stranger")
    with pytest.raises(pytest.fail.Exception, match="brings no peer"):
        peer_of(stranger)
