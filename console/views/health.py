"""Is this process alive, and can the deployment do its work? For machines; no sign-in."""

from collections.abc import Callable
from functools import cache

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError

from console import heartbeat
from console.celery import app
from console.logins import role

SERVICE_UNAVAILABLE = 503


class NotReady(Exception):
    """Why a part cannot do its work, in words for the operator of the deployment."""


@require_safe
@login_not_required
@transaction.non_atomic_requests
def healthz(request: HttpRequest) -> JsonResponse:
    """200: this process answers. It says nothing about what it depends on."""
    return JsonResponse({"alive": True})


@require_safe
@login_not_required
@transaction.non_atomic_requests
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when every part works, else 503; each part with its state or the reason why not."""
    parts = {name: ask(check) for name, check in CHECKS.items()}
    ready = all(part["ok"] for part in parts.values())
    body = {"ready": ready, "parts": parts}
    answer = JsonResponse(body, status=200 if ready else SERVICE_UNAVAILABLE)
    vars(answer)["_has_been_logged"] = True  # asked twice a second, Django would log each "no"
    return answer


def ask(check: Callable[[], dict[str, object]]) -> dict[str, object]:
    """What the check says, with `ok`, and `reason` where it is not."""
    try:
        return {"ok": True, **check()}
    except NotReady as reason:
        return {"ok": False, "reason": str(reason)}
    except DatabaseError:
        return {"ok": False, "reason": "The database does not answer."}
    except (OperationalError, OSError):
        return {"ok": False, "reason": "The broker does not answer."}


def database() -> dict[str, object]:
    """The database answers, and we are the login that we should be."""
    with connection.cursor() as cursor:
        cursor.execute("select session_user")
        (user,) = cursor.fetchone()
    if user != role(settings.LOGIN):
        raise NotReady(f"Connected as {user}, not as {role(settings.LOGIN)}.")
    return {"login": user}


def migrations() -> dict[str, object]:
    """Every migration of this version was applied."""
    if waiting := waiting_migrations():
        waiting_migrations.cache_clear()  # only "none" is worth remembering
        raise NotReady(f"{waiting} migrations are not applied; run `manage.py migrate`.")
    return {}


@cache
def waiting_migrations() -> int:
    """How many migrations of this version are not applied."""
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def broker() -> dict[str, object]:
    """The broker answers."""
    with app.connection_for_write() as broker_connection:
        broker_connection.ensure_connection(max_retries=1, interval_start=0, timeout=2)
    return {}


def worker() -> dict[str, object]:
    """A worker took a message lately. Judged by its row, for a process may live and not work."""
    age = heartbeat.age_seconds()
    if age is None:
        raise NotReady("No worker has given a sign of life yet.")
    if age > settings.HEARTBEAT_LATE_SECONDS:
        raise NotReady(f"The last sign of life of a worker is {age:.0f} s old.")
    return {"age_seconds": round(age, 1)}


CHECKS = {"database": database, "migrations": migrations, "broker": broker, "worker": worker}
