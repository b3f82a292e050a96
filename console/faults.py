"""Named points in the worker's path where a demonstration or a test may kill it; off elsewhere."""

import os
import signal
from pathlib import Path

from django.conf import settings

from ledger.rules.digest import digest

POINTS = ("before-dispatch", "after-mark", "after-response", "during-receipt")


def point(name: str, *, intent_key: str) -> None:
    """Kill this process with SIGKILL if somebody armed `name` for the effect; once per arming.

    Only where the provider is the sandbox. Raises ValueError for a name that is no fault point.
    """
    path = _path(name, intent_key)
    if not settings.SANDBOX:
        return
    try:
        path.unlink()  # who removes the file has taken the arming: a restarted worker lives on
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def arm(name: str, *, intent_key: str) -> Path:
    """Have the process that next passes `name` with the effect killed; the file that says so.

    Raises RuntimeError where the provider is not the sandbox, ValueError for an unknown name.
    """
    if not settings.SANDBOX:
        raise RuntimeError("Faults are for the sandbox only; this is a real deployment.")
    path = _path(name, intent_key)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.touch(mode=0o600)
    return path


def armed(name: str, *, intent_key: str) -> bool:
    """Whether `name` waits for the effect; always False where the provider is not the sandbox."""
    return settings.SANDBOX and _path(name, intent_key).exists()


def disarm(name: str, *, intent_key: str) -> bool:
    """Take an arming back; False where it was used up, or never made."""
    try:
        _path(name, intent_key).unlink()
    except FileNotFoundError:
        return False
    return True


def _path(name: str, intent_key: str) -> Path:
    if name not in POINTS:
        raise ValueError(f"{name!r} is no fault point; they are {', '.join(POINTS)}.")
    return Path(settings.STATE_DIR) / "faults" / f"{digest(intent_key.encode()).hex()}.{name}"
