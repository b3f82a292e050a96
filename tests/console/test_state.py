"""The state folder: one holder, private files, sockets that fit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from console import state
from tests.servers import ROOT


def test_one_folder_has_one_holder(tmp_path: Path) -> None:
    assert not state.is_held(tmp_path)
    with state.held(tmp_path):
        assert state.is_held(tmp_path)
        with pytest.raises(state.AlreadyRunning), state.held(tmp_path):
            pass
    assert not state.is_held(tmp_path)


def test_a_holder_that_is_killed_lets_go(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from console.state import held\n"
        "with held(Path(sys.argv[1])): print('held', flush=True); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True)
    with state.held(tmp_path):
        pass


def test_the_environment_is_told_only_while_the_stack_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCERTAIN_STATE_DIR", str(tmp_path))
    state.remember_environment(tmp_path, {"DATABASE_URL": "x"})
    assert state.running_environment(ROOT) == {}
    with state.held(tmp_path):
        assert state.running_environment(ROOT) == {"DATABASE_URL": "x"}
        state.forget(tmp_path)
        assert state.running_environment(ROOT) == {}


def test_a_private_file_is_replaced_whole_and_closed_to_others(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("old")
    path.chmod(0o644)
    state.write_private(path, json.dumps({"a": 1}))
    assert (path.stat().st_mode & 0o777, json.loads(path.read_text())) == (0o600, {"a": 1})


def test_the_signing_key_is_made_once_and_is_long_enough(tmp_path: Path) -> None:
    first = state.secret_key_file(tmp_path).read_text()
    assert state.secret_key_file(tmp_path).read_text() == first
    assert len(first) >= 50
    assert (tmp_path / "secret-key").stat().st_mode & 0o077 == 0


def test_a_port_is_remembered_while_it_is_free(tmp_path: Path) -> None:
    first = state.remembered_port(tmp_path, "provider")
    assert state.remembered_port(tmp_path, "provider") == first


def test_sockets_below_a_long_path_move_to_a_short_one(tmp_path: Path) -> None:
    deep = tmp_path / ("long" * 30)
    deep.mkdir()
    folder = state.socket_folder(deep, "s", owner=os.geteuid())
    try:
        assert len(os.fsencode(folder / ".s.PGSQL.5432.lock")) <= 100
        assert folder.stat().st_mode & 0o777 == 0o700
        assert folder == state.socket_folder(deep, "s", owner=os.geteuid())
    finally:
        folder.rmdir()


def test_sockets_never_go_where_somebody_else_could_reach(tmp_path: Path) -> None:
    deep = tmp_path / ("long" * 30)
    deep.mkdir()
    folder = state.socket_folder(deep, "s", owner=os.geteuid())
    folder.rmdir()
    folder.symlink_to(tmp_path)
    try:
        with pytest.raises(SystemExit, match="belongs to another account"):
            state.socket_folder(deep, "s", owner=os.geteuid())
    finally:
        folder.unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs a folder elsewhere")
def test_roots_state_below_a_closed_folder_lies_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASCERTAIN_STATE_DIR", raising=False)
    tmp_path.chmod(0o700)
    assert state.state_dir(tmp_path).parent == Path("/var/lib")
