"""/healthz says that the process lives, /readyz what does not work and why."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.db.models.functions import Now
from django.test import Client

from console import heartbeat
from console.models import Heartbeat
from console.views import health
from tests.logins import login
from tests.servers import BrokerServer, DatabaseServer

pytestmark = pytest.mark.django_db


@pytest.fixture
def no_heartbeat(database: DatabaseServer) -> None:
    """A deployment whose worker never worked."""
    Heartbeat.objects.all().delete()


def test_healthz_needs_no_sign_in_and_no_database(client: Client) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"alive": True})


def test_readyz_is_503_with_the_reason_until_a_worker_worked(
    client: Client, valkey: BrokerServer, no_heartbeat: None
) -> None:
    answer = client.get("/readyz")
    parts = answer.json()["parts"]
    assert answer.status_code == 503
    assert parts["worker"] == {"ok": False, "reason": "No worker has given a sign of life yet."}
    assert all(parts[name]["ok"] for name in ("database", "migrations", "broker"))


def test_readyz_is_200_once_a_worker_worked(client: Client, valkey: BrokerServer) -> None:
    with login("worker"):
        heartbeat.beat()
        heartbeat.beat()
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["ready"]) == (200, True)
    assert answer.json()["parts"]["worker"]["age_seconds"] < 60


def test_readyz_is_503_when_the_worker_went_quiet(client: Client, valkey: BrokerServer) -> None:
    late = timedelta(seconds=settings.HEARTBEAT_LATE_SECONDS + 10)
    Heartbeat.objects.update_or_create(name="worker", defaults={"at": Now() - late})
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "sign of life of a worker is 100 s old" in answer.json()["parts"]["worker"]["reason"]


def test_readyz_names_a_broker_that_does_not_answer(client: Client, valkey: BrokerServer) -> None:
    valkey.child.stop()
    try:
        parts = client.get("/readyz").json()["parts"]
    finally:
        valkey.start()
    assert parts["broker"] == {"ok": False, "reason": "The broker does not answer."}


def test_readyz_names_a_process_on_the_wrong_login(
    client: Client, database: DatabaseServer
) -> None:
    with login("worker"):
        found = health.ask(health.database)
    assert found["reason"] == "Connected as ascertain_worker, not as ascertain_owner."


def test_readyz_counts_the_migrations_that_are_missing(database: DatabaseServer) -> None:
    health.waiting_migrations.cache_clear()
    with database.connect("owner") as admin:
        row = "from django_migrations where app = 'console' and name like '0001%'"
        found = admin.execute(f"delete {row} returning app, name, applied").fetchone()
        try:
            answer = health.ask(health.migrations)
        finally:
            insert = "insert into django_migrations (app, name, applied) values (%s, %s, %s)"
            admin.execute(insert, found)
    assert answer["reason"] == "1 migrations are not applied; run `manage.py migrate`."
    assert health.ask(health.migrations) == {"ok": True}
