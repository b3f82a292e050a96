"""Many callers at once: threads released together by a barrier, each with its own connection."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import connections

from tests.logins import login


@dataclass(slots=True)
class Answers:
    """What each of many threads got: its value or its exception, in no order."""

    values: list[Any] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)


def all_at_once(count: int, action: Callable[[int], Any], *, as_login: str) -> Answers:
    """Run `action(number)` in `count` threads as that login, released together by a barrier."""
    barrier, answers = threading.Barrier(count, timeout=60), Answers()

    def run(number: int) -> None:
        try:
            with login(as_login):
                barrier.wait()
                answers.values.append(action(number))
        except BaseException as error:  # noqa: BLE001 - a thread's failure is the test's to judge
            answers.errors.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers
