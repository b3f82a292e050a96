"""Credentials for providers: an environment variable, or the file that `NAME_FILE` names."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, overload


class MissingSecret(LookupError):
    """A secret that is needed is in neither place, is empty, or is in both; never its value."""


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A credential that shows itself only when asked."""

    _value: str

    def reveal(self) -> str:
        """The text itself, for the header it goes into and nowhere else."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"


@overload
def secret(name: str) -> Secret: ...
@overload
def secret(name: str, *, required: Literal[False]) -> Secret | None: ...


def secret(name: str, *, required: bool = True) -> Secret | None:
    """The secret `name` from the environment or from the file in `name`_FILE.

    Raises MissingSecret when it is in neither and `required`, in both, or empty.
    """
    direct, path = os.environ.get(name), os.environ.get(f"{name}_FILE")
    if direct is not None and path is not None:
        raise MissingSecret(f"{name} and {name}_FILE are both set; keep one")
    if direct is None and path is None:
        if required:
            raise MissingSecret(f"set {name}, or {name}_FILE to the file that holds it")
        return None
    try:
        value = direct if direct is not None else Path(path or "").read_text(encoding="utf-8")
    except (OSError, UnicodeError):
        raise MissingSecret(f"the file in {name}_FILE cannot be read") from None
    value = value.strip()
    if not value:
        raise MissingSecret(f"{name} is empty")
    return Secret(value)
