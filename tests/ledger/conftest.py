"""The database for the ledger's own tests: the test bank's contracts and a tenant per test."""

from typing import Any

import pytest
from django.db import connection

from tests.builders import Home, home, store_contracts
from tests.ledger.scene import scene
from tests.servers import DatabaseServer


@pytest.fixture(scope="session", autouse=True)
def bank(database: DatabaseServer) -> None:
    """The contracts of the test bank."""
    store_contracts()


@pytest.fixture
def at(bank: None) -> Home:
    """A tenant of this test's own."""
    return home()


@pytest.fixture(scope="session")
def values(bank: None) -> dict[str, Any]:
    """What an attack may name: it is refused or rolled back, so one scene serves all of them."""
    named = scene()
    connection.close()  # a workflow outside a transaction names its tenant for the connection
    return named
