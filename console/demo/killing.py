"""Finds the process that holds an effect's claim and ends it with SIGKILL, as a crash would."""

import os
import re
import signal
import socket
import subprocess
from pathlib import Path
from uuid import UUID

from django.conf import settings

from ledger import access
from ledger.models import Entry

_HOLDER = re.compile(r"worker (?P<host>\S+)/(?P<pid>[0-9]+)")


class NotKilled(RuntimeError):
    """The holder could not be killed; says why."""


def kill_holder(tenant_id: UUID, *, effect_id: UUID) -> int:
    """Kill the process that the effect's last `sent` entry names; its number.

    Raises NotKilled where there is none, it is not on this machine, or it is no Celery worker.
    """
    if not settings.SANDBOX:
        raise NotKilled("Only workers of a demonstration are killed.")
    access.enter(tenant_id)
    sent = (
        Entry.objects.filter(tenant_id=tenant_id, effect_id=effect_id, kind="sent")
        .order_by("-no")
        .first()
    )
    found = _HOLDER.match(sent.note or "") if sent else None
    if found is None:
        raise NotKilled("No worker has claimed the effect.")
    if found["host"] != socket.gethostname():
        raise NotKilled(f"Its worker runs on {found['host']}, not here.")
    pid = int(found["pid"])
    if "celery" not in _command(pid):
        raise NotKilled(f"Process {pid} is no longer a worker.")
    os.kill(pid, signal.SIGKILL)
    return pid


def _command(pid: int) -> str:
    """The command line of the process; empty where it is gone."""
    if Path("/proc/self").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            return ""
    asked = subprocess.run(  # macOS has no /proc
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True
    )
    return asked.stdout
