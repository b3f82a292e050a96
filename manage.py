#!/usr/bin/env python3
"""Runs Ascertain: `up`, `test` and every Django command, inside a .venv made on first use."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
UNFINISHED = VENV / ".unfinished"
KINDS = ("run", "test", "lint")  # each lock file holds all of the one before it
OLDEST_PYTHON, OLDEST_PIP = (3, 11), (22, 3)

# The login a command takes when ASCERTAIN_LOGIN does not name one; all others run as the owner.
LOGINS = {"demo": "workflow", "intake": "worker", "orders": "workflow"}
NEEDS_NO_DATABASE = {
    "check", "collectstatic", "compilemessages", "help", "makemessages", "makemigrations",
    "--help", "--version", "version",
}  # fmt: skip


def main(argv):
    """Run the command named by argv[1]; see README.md."""
    if sys.version_info < OLDEST_PYTHON or os.name != "posix":
        raise SystemExit("Ascertain needs Python 3.11 or newer on Linux or macOS.")
    command = argv[1] if len(argv) > 1 else "help"
    enter_venv("test" if command == "test" else "run")
    if command == "test":
        os.chdir(ROOT)
        os.execv(sys.executable, [sys.executable, "-m", "pytest", *argv[2:]])
    if command == "up":
        from console.stack import up

        raise SystemExit(up(ROOT))
    django_command(command, argv)


def django_command(command, argv):
    """Run a Django command against DATABASE_URL or, without one, the stack that `up` runs."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    login = os.environ.setdefault("ASCERTAIN_LOGIN", LOGINS.get(command, "owner"))
    if not {"DATABASE_URL", f"DATABASE_URL_{login.upper()}"} & set(os.environ):
        from console.state import running_environment

        running = running_environment(ROOT)
        if not running and command not in NEEDS_NO_DATABASE and "--print" not in argv:
            raise SystemExit(
                f"Nothing is running here. Start `python3 manage.py up` in another terminal, "
                f"or set DATABASE_URL, then run `manage.py {command}` again."
            )
        for name, value in running.items():
            os.environ.setdefault(name, value)
    from django.core.management import execute_from_command_line

    execute_from_command_line(argv)


def enter_venv(kind):
    """Go on inside .venv with the packages of requirements-KIND.lock, made first if need be."""
    python = VENV / "bin" / "python"
    if not is_current(kind):
        install(kind, python=python)
    if Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(python, [str(python), *sys.argv])


def is_current(kind):
    """Whether a finished installation of `kind`, or of one that contains it, matches its lock."""
    if UNFINISHED.exists():
        return False
    return any(
        stamp.exists() and stamp.read_text() == lock_digest(larger)
        for larger in KINDS[KINDS.index(kind) :]
        for stamp in [VENV / f".{larger}"]
    )


def lock_digest(kind):
    """The SHA-256 of requirements-KIND.lock in hex."""
    return hashlib.sha256((ROOT / f"requirements-{kind}.lock").read_bytes()).hexdigest()


def install(kind, *, python):
    """Bring .venv to requirements-KIND.lock; a run that was killed halfway is started over."""
    with only_one_installer() as lock:
        if is_current(kind):  # somebody else made it while we waited
            return
        print(f"Installing the packages of requirements-{kind}.lock into .venv …", flush=True)
        if UNFINISHED.exists() or not is_usable(python):
            make = [base_python(), "-m", "venv", "--clear", "--without-pip", str(VENV)]
            subprocess.run(make, check=True, pass_fds=[lock])
        UNFINISHED.touch()
        done = subprocess.run(
            [*pip_command(python), "install", "--quiet", "--quiet", "--no-input",
             "--disable-pip-version-check", "--no-warn-script-location", "--require-hashes",
             "--requirement", str(ROOT / f"requirements-{kind}.lock")],
            env={**os.environ, "PIP_USER": "0"},
            pass_fds=[lock],
        )  # fmt: skip
        if done.returncode:
            raise SystemExit("The packages could not be installed; pip's own words are above.")
        fresh = VENV / f".{kind}.new"
        fresh.write_text(lock_digest(kind))
        fresh.replace(VENV / f".{kind}")
        UNFINISHED.unlink()


class only_one_installer:  # noqa: N801 - reads as a phrase in `with`
    """A lock on the checkout that pip inherits, so that it outlives us if only we are killed."""

    def __enter__(self):
        import fcntl

        self.lock = os.open(ROOT, os.O_RDONLY)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another command is installing packages here; waiting for it …", flush=True)
            fcntl.flock(self.lock, fcntl.LOCK_EX)
        return self.lock

    def __exit__(self, *_):
        os.close(self.lock)


def is_usable(python):
    """Whether .venv's interpreter starts and is a virtual environment's."""
    try:
        ask = "import sys; sys.exit(sys.prefix == sys.base_prefix)"
        return subprocess.run([python, "-c", ask], capture_output=True).returncode == 0
    except OSError:
        return False


def base_python():
    """The interpreter behind this one, for a virtual environment's own may lack pip."""
    return getattr(sys, "_base_executable", None) or sys.executable


def pip_command(python):
    """The start of a pip command line that installs into .venv.

    The interpreter's own pip is enough where it knows `--python` (22.3); Debian ships ensurepip
    apart from pip, so neither may be counted on alone. Raises SystemExit where there is none.
    """
    ask = [base_python(), "-m", "pip", "--version"]
    asked = subprocess.run(ask, capture_output=True, text=True)
    if asked.returncode == 0:
        version = re.findall(r"\d+", asked.stdout)[:2]
        if tuple(map(int, version)) >= OLDEST_PIP:
            return [base_python(), "-m", "pip", "--python", str(python)]
    bundled = [str(python), "-m", "ensurepip", "--upgrade", "--default-pip"]
    if subprocess.run(bundled, capture_output=True).returncode == 0:
        return [str(python), "-m", "pip"]
    raise SystemExit(
        "This Python has neither pip 22.3 or newer nor ensurepip. On Debian or Ubuntu: "
        "apt-get install python3-pip. Then run the same command again."
    )


if __name__ == "__main__":
    main(sys.argv)
