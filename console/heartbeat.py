"""The worker's sign of life: from the clock over the broker through the worker to the database."""

from celery import shared_task
from django.db.models.functions import Now

from console.models import Heartbeat
from ledger import clock

WORKER = "worker"


@shared_task(name="console.heartbeat.beat")
def beat() -> None:
    """Note the database's time. Only a worker that takes messages can do it."""
    Heartbeat.objects.bulk_create(
        [Heartbeat(name=WORKER, at=Now())],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=["at"],
    )


def age_seconds() -> float | None:
    """How long ago the worker last gave a sign of life; None if it never did."""
    found = Heartbeat.objects.filter(name=WORKER).first()
    return (clock.now() - found.at).total_seconds() if found else None
