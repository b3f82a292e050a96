"""The worker's and the clock's entry point: the Celery application and its fixed schedule."""

import os
import signal
from typing import Any

from celery import Celery
from celery.signals import task_prerun, worker_init, worker_process_init
from django import db

from console.processes import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

app = Celery("ascertain")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["console"], related_name="heartbeat")


def every(seconds: float, *, task: str) -> dict[str, Any]:
    """A schedule entry; what was not taken within ten seconds is dropped, for another follows."""
    return {"task": task, "schedule": seconds, "options": {"expires": 10}}


app.conf.beat_schedule = {
    "sweep": every(1.0, task="console.tasks.sweep"),
    "reap": every(1.0, task="console.tasks.reap"),
    "heartbeat": every(5.0, task="console.heartbeat.beat"),
}
# Celery closes the connection after each task unless told a number; Django's own rule (a minute,
# and a check that it still answers) is applied before each task instead.
app.conf["CELERY_DB_REUSE_MAX"] = 1_000_000_000


@task_prerun.connect
def drop_old_connections(**_: Any) -> None:
    """Close connections that are too old or broken."""
    db.close_old_connections()


@worker_init.connect
def refuse(**_: Any) -> None:
    """Do not start with unsafe settings."""
    from console.checks import refuse_unsafe_start

    refuse_unsafe_start()


@worker_process_init.connect
def end_with_the_worker(**_: Any) -> None:
    """Leave no orphan: a pool process dies with the worker, however that dies."""
    die_with_parent(signal.SIGKILL, parent=os.getppid())()
