"""Every contract of every provider in the registry, with the peer that the provider brings."""

from collections.abc import Callable

import pytest

from ledger.rules.contract import Contract
from tests.conformance.peers import Peer, SandboxPeer
from tests.providers.conftest import provider_log, running_sandbox
from tests.providers.peer import Sandbox

__all__ = ["provider_log", "running_sandbox"]


@pytest.fixture
def sandbox_peer(provider_log: Sandbox) -> Peer:
    """The sandbox, emptied."""
    return SandboxPeer(provider_log)


@pytest.fixture
def peer_of(request: pytest.FixtureRequest) -> Callable[[Contract], Peer]:
    """The peer for a contract's provider: the fixture `<provider>_peer`, or the test fails."""

    def find(contract: Contract) -> Peer:
        try:
            found: Peer = request.getfixturevalue(f"{contract.provider}_peer")
        except pytest.FixtureLookupError:
            pytest.fail(f"the provider {contract.provider} brings no peer to be tested with")
        return found

    return find
