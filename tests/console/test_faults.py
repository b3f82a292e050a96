"""Fault points: they kill once where armed, and do nothing in a real deployment."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import LazySettings

from console import faults
from tests.servers import ROOT

KEY = "payment:inv_1:collect:v1"


@pytest.fixture
def state(tmp_path: Path, settings: LazySettings) -> Path:
    """A state folder of the test's own."""
    settings.STATE_DIR = tmp_path
    return tmp_path


def passing(name: str, *, state: Path, sandbox: str = "1") -> int:
    """How a process ends that passes the point and would then end with 7."""
    script = (
        "import django; django.setup()\n"
        "from console import faults\n"
        f"faults.point({name!r}, intent_key={KEY!r})\n"
        "raise SystemExit(7)"
    )
    environment = {
        **os.environ,
        "ASCERTAIN_STATE_DIR": str(state),
        "ASCERTAIN_SANDBOX": sandbox,
        "DJANGO_SETTINGS_MODULE": "console.settings",
    }
    return subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment).returncode


def test_an_armed_point_kills_the_process_that_passes_it_and_the_next_lives(state: Path) -> None:
    faults.arm("after-mark", intent_key=KEY)
    assert faults.armed("after-mark", intent_key=KEY)
    assert passing("after-mark", state=state) == -signal.SIGKILL
    assert not faults.armed("after-mark", intent_key=KEY)
    assert passing("after-mark", state=state) == 7


def test_a_point_kills_for_its_own_name_and_effect_only(state: Path) -> None:
    faults.arm("after-mark", intent_key="payment:inv_2:collect:v1")
    faults.arm("after-response", intent_key=KEY)
    assert passing("after-mark", state=state) == 7
    assert faults.disarm("after-response", intent_key=KEY)
    assert not faults.disarm("after-response", intent_key=KEY)


def test_a_real_deployment_has_no_fault_points(state: Path, settings: LazySettings) -> None:
    faults.arm("after-mark", intent_key=KEY)
    assert passing("after-mark", state=state, sandbox="0") == 7
    settings.SANDBOX = False
    assert not faults.armed("after-mark", intent_key=KEY)
    faults.point("after-mark", intent_key=KEY)  # or this test would end here
    with pytest.raises(RuntimeError, match="real deployment"):
        faults.arm("after-mark", intent_key=KEY)


def test_a_name_that_is_no_point_is_refused(state: Path) -> None:
    for step in (faults.arm, faults.armed, faults.disarm, faults.point):
        with pytest.raises(ValueError, match="is no fault point"):
            step("now", intent_key=KEY)
