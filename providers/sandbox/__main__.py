"""Start the sandbox: `python -m providers.sandbox --port 8701 --store sandbox.sqlite3`."""

import argparse
import signal
import sys
import threading
from pathlib import Path

from providers.sandbox.engine import Engine
from providers.sandbox.server import Sandbox
from providers.sandbox.store import Store
from providers.secrets import secret

SETTLE_SECONDS = 60


def options(arguments: list[str]) -> argparse.Namespace:
    """The command line, read and checked."""
    parser = argparse.ArgumentParser(prog="python -m providers.sandbox", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="0 takes a free port")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--store", type=Path, required=True, help="file that holds the memory")
    parser.add_argument(
        "--settle-seconds",
        type=int,
        default=SETTLE_SECONDS,
        help="seconds until a new object shows on the list routes",
    )
    parser.add_argument(
        "--control",
        action="store_true",
        help="open the control surface: scripts, release, clock, reset (demo and tests only)",
    )
    parser.add_argument(
        "--require-key",
        action="store_true",
        help="ask for SANDBOX_API_KEY, or SANDBOX_READ_KEY on reads, as a bearer key",
    )
    return parser.parse_args(arguments)


def bearer_keys() -> dict[str, bool]:
    """The accepted keys and whether each may create. Raises MissingSecret without the main one."""
    keys = {secret("SANDBOX_API_KEY").reveal(): True}
    reading = secret("SANDBOX_READ_KEY", required=False)
    if reading:
        keys[reading.reveal()] = False
    return keys


def main(arguments: list[str]) -> int:
    """Serve until SIGTERM or SIGINT; 1 when the port is taken."""
    wanted = options(arguments)
    engine = Engine(Store(wanted.store), settle_seconds=wanted.settle_seconds)
    keys = bearer_keys() if wanted.require_key else {}
    address = (wanted.host, wanted.port)
    try:
        listening = Sandbox(address, engine, control_open=wanted.control, keys=keys)
    except OSError as error:
        sys.stderr.write(f"sandbox cannot listen on {wanted.host}:{wanted.port}: {error}\n")
        return 1
    with listening as server:

        def stop(*_: object) -> None:
            server.stopping.set()
            # `shutdown` waits for the serving loop, which is this thread: so from another one.
            threading.Thread(target=server.shutdown).start()

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        host, port = server.server_address[:2]
        sys.stdout.write(f"sandbox listening on http://{host!s}:{port}\n")
        sys.stdout.flush()
        server.serve_forever(poll_interval=0.1)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
