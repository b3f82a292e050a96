"""A task that a test holds open: it says that it began and ends when it is let go."""

import time
from pathlib import Path

from celery import shared_task

LONGEST_SECONDS = 25


@shared_task(name="tests.stack.hold")
def hold(folder: str, name: str) -> None:
    """Touch NAME.began, wait for NAME.go, touch NAME.ended."""
    place = Path(folder)
    (place / f"{name}.began").touch()
    until = time.monotonic() + LONGEST_SECONDS
    while not (place / f"{name}.go").exists() and time.monotonic() < until:
        time.sleep(0.05)
    with (place / f"{name}.ended").open("a") as ended:
        ended.write("once\n")
