"""`orders run|once|show`: the process that moves orders on, as the login `workflow`."""

import signal
import threading
from argparse import ArgumentParser
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection

from examples.orders import workflow
from examples.orders.models import Order

PAUSE_SECONDS = 0.5
AFTER_AN_ERROR_SECONDS = 3.0


class Command(BaseCommand):
    """Runs the workflow until it is stopped, once, or shows where orders stand."""

    requires_system_checks = ()
    help = "Move orders on: `run` until stopped, `once`; or `show` where they stand."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """One word, and for `show` an order."""
        parser.add_argument("action", choices=("run", "once", "show"))
        parser.add_argument("ref", nargs="?", help="for show: one order, such as ord_4101")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the word says."""
        if options["action"] == "show":
            self._show(options["ref"])
        elif options["action"] == "once":
            self.stdout.write(f"{workflow.once()} moved")
        else:
            self._run()

    def _run(self) -> None:
        """Until SIGTERM or SIGINT. Nothing is lost when it is killed: every move is one commit."""
        stop = threading.Event()

        def ask_to_stop(number: int, frame: FrameType | None) -> None:
            stop.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, ask_to_stop)
        self.stdout.write("The order workflow runs.")
        pause = 0.0
        while not stop.wait(pause):
            pause = PAUSE_SECONDS
            try:
                with connection.wrap_database_errors:
                    workflow.once()
            except OperationalError as error:  # the database restarts; rows wait for us
                self.stderr.write(f"The database does not answer: {error}")
                connection.close()
                pause = AFTER_AN_ERROR_SECONDS

    def _show(self, ref: str | None) -> None:
        orders = Order.objects.order_by("created_at").prefetch_related("steps")
        if ref:
            orders = orders.filter(ref=ref)
            if not orders:
                raise CommandError(f"There is no order {ref}.")
        for order in orders:
            because = f" ({order.code}; may follow: {order.may_follow})" if order.code else ""
            self.stdout.write(f"{order.ref}  {order.flow}  {order.state}{because}")
            self.stdout.write(f"  completed: {_times(order.completions)}")
            for step in sorted(order.steps.all(), key=lambda one: one.created_at):
                proof = f", receipt {step.receipt}" if step.receipt else ""
                refused = f", refused: {step.refused}" if step.refused else ""
                key = f", {step.intent_key}" if step.intent_key else ""
                self.stdout.write(f"  {step.name} ran {_times(step.runs)}{key}{proof}{refused}")


def _times(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count} times")
