"""Ringing for the worker from the web: a message that may be lost, for the row is the job."""

from uuid import UUID

from django.db import transaction

from console.celery import app


def look(tenant_id: UUID, *, lookup_id: UUID) -> None:
    """Ask a worker to carry out the lookup once this transaction is committed.

    A broker that does not answer costs the seconds until the next sweep, never the request.
    """
    given = (str(tenant_id), str(lookup_id))
    transaction.on_commit(
        lambda: app.send_task("console.tasks.look", given, retry=False), robust=True
    )
