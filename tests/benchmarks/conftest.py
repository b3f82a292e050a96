"""A database of its own with 50,000 effects, so that counters see no other test's work."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connections

from tests.benchmarks.filling import Filled, fill
from tests.builders import store_contracts
from tests.servers import DatabaseServer


@pytest.fixture(scope="session")
def big(database: DatabaseServer) -> tuple[str, Filled]:
    """The big database, made once: its name and what stands in it."""
    name = database.create("counters", template=f"{database.name}_template")
    with _connected(name):
        store_contracts()
        return name, fill()


@pytest.fixture(scope="module")
def filled(big: tuple[str, Filled]) -> Iterator[Filled]:
    """Every alias points at the big database for the tests of one module."""
    name, found = big
    with _connected(name):
        yield found


@contextmanager
def _connected(name: str) -> Iterator[None]:
    before = {alias: connections[alias].settings_dict["NAME"] for alias in connections}
    _turn(dict.fromkeys(before, name))
    try:
        yield
    finally:
        _turn(before)


def _turn(names: dict[str, str]) -> None:
    for alias, name in names.items():
        connections[alias].close()
        connections[alias].settings_dict["NAME"] = name
