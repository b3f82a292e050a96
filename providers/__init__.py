"""The registry of providers: name to module, with entry points for those installed elsewhere."""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from ledger.rules.contract import Contract, Provider

GROUP = "ascertain.providers"

_BUILT_IN = {"sandbox": "providers.sandbox.adapter"}


class UnknownProvider(LookupError):
    """No provider of that name is built in or installed, or it has no such operation."""


@cache
def names() -> tuple[str, ...]:
    """The names of all providers, built in and installed, sorted. A built-in name wins."""
    installed = {entry.name for entry in entry_points(group=GROUP)}
    return tuple(sorted(installed | set(_BUILT_IN)))


@cache
def provider(name: str) -> Provider:
    """The module of the provider `name`. Raises UnknownProvider."""
    path = _BUILT_IN.get(name)
    if path is None:
        found = entry_points(group=GROUP, name=name)
        if not found:
            raise UnknownProvider(f"no provider is called {name!r}")
        path = next(iter(found)).value
    module: Provider = import_module(path)
    if name != module.NAME:
        raise UnknownProvider(f"the module for {name!r} calls itself {module.NAME!r}")
    return module


def contracts() -> tuple[Contract, ...]:
    """Every contract that every provider declares, by provider and operation."""
    return tuple(contract for name in names() for contract in provider(name).CONTRACTS)


def contract(provider_name: str, *, operation: str) -> Contract:
    """The current contract of one operation. Raises UnknownProvider."""
    for found in provider(provider_name).CONTRACTS:
        if found.operation == operation:
            return found
    raise UnknownProvider(f"{provider_name!r} declares no operation {operation!r}")
