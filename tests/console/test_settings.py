"""The settings are safe unless told otherwise, and a process with unsafe ones does not start."""

import os
import secrets
import subprocess
import sys

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client

from console.broker import broker_url, cache_url, socket_path, socket_url
from console.middleware import HEADERS, keep_or_end
from tests.servers import ROOT, DatabaseServer

SIGN_IN = "/signin"
KEY = secrets.token_urlsafe(50)
PRODUCTION = {
    "ASCERTAIN_LOGIN": "web",
    "ALLOWED_HOSTS": "console.example.com",
    "DATABASE_URL_WEB": "postgresql:///ascertain",
    "DATABASE_URL_AUTH": "postgresql:///ascertain",
    "REDIS_URL": "redis://127.0.0.1:6379/0",
    "SECRET_KEY": KEY,
}


def manage(*command: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a Django command in an environment that holds `env` and nothing of ours."""
    bare = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "DATABASE_URL": "dbname=x"}
    django = [sys.executable, "-m", "django", *command]
    settings_module = {"DJANGO_SETTINGS_MODULE": "console.settings"}
    return subprocess.run(
        django, env={**bare, **settings_module, **env}, cwd=ROOT, capture_output=True, text=True
    )


def test_check_deploy_is_clean() -> None:
    done = manage("check", "--deploy", "--fail-level", "WARNING", **PRODUCTION)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("change", "number"),
    [
        ({"ASCERTAIN_LOGIN": "root"}, "E001"),
        ({"ALLOWED_HOSTS": "*"}, "E003"),
        ({"SECRET_KEY": "short"}, "E004"),
        ({"SECRET_KEY": ""}, "E004"),
        ({"REDIS_URL": ""}, "E005"),
        ({"ASCERTAIN_SANDBOX": "1"}, "E006"),
    ],
)
def test_unsafe_settings_are_refused(change: dict[str, str], number: str) -> None:
    done = manage("check", **{**PRODUCTION, **change})
    assert done.returncode != 0
    assert number in done.stderr or "is no login" in done.stderr


def test_web_does_not_start_with_unsafe_settings() -> None:
    env = {**PRODUCTION, "SECRET_KEY": "short", "PATH": os.environ["PATH"]}
    start = [sys.executable, "-c", "import console.wsgi"]
    done = subprocess.run(start, env=env, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0
    assert "Set SECRET_KEY or SECRET_KEY_FILE" in done.stderr


def test_no_migration_is_missing(database: DatabaseServer) -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/signin", "/nowhere", "/static/x"])
def test_every_answer_carries_the_headers(client: Client, path: str) -> None:
    answer = client.get(path)
    for name, value in HEADERS.items():
        if name != "Cache-Control":
            assert answer.headers[name] == value
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert "no-store" in answer.headers["Cache-Control"]


@pytest.mark.django_db
def test_a_form_from_another_origin_is_refused() -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.get("/signin")
    form = {"login": "a", "password": "b", "csrfmiddlewaretoken": strict.cookies["csrf"].value}
    assert strict.post("/signin", form).status_code == 200
    foreign = strict.post("/signin", form, headers={"Origin": "https://elsewhere.example"})
    assert foreign.status_code == 403


@pytest.mark.parametrize(
    ("url", "broker", "cache"),
    [
        ("redis://h:1/0", "redis://h:1/0", "redis://h:1/1"),
        ("rediss://u:p@h/0", "rediss://u:p@h/0", "rediss://u:p@h/1"),
        ("unix:///a/b", "redis+socket:///a/b?virtual_host=0", "unix:///a/b?db=1"),
    ],
)
def test_broker_and_cache_share_a_server_and_not_a_database(
    url: str, broker: str, cache: str
) -> None:
    assert (broker_url(url), cache_url(url)) == (broker, cache)


def test_a_socket_path_with_a_space_comes_back_whole() -> None:
    assert socket_path(socket_url("/tmp/a b/v.sock")) == "/tmp/a b/v.sock"


class Session(dict[str, int]):
    """What keep_or_end uses of a session."""

    def flush(self) -> None:
        """Empty it."""
        self.clear()


def test_a_session_is_renewed_at_most_every_five_minutes() -> None:
    session = Session()
    keep_or_end(session, now=1_000)
    assert session == {"signed_in_at": 1_000, "renewed_at": 1_000}
    keep_or_end(session, now=1_000 + settings.SESSION_RENEW_SECONDS - 1)
    assert session["renewed_at"] == 1_000
    keep_or_end(session, now=1_000 + settings.SESSION_RENEW_SECONDS)
    assert session["renewed_at"] == 1_300


def test_a_session_ends_twelve_hours_after_sign_in_however_busy_it_is() -> None:
    session = Session()
    start, end = 1_000_000, 1_000_000 + 12 * 60 * 60
    for now in range(start, end, 60):
        keep_or_end(session, now=now)
    assert session["signed_in_at"] == start
    keep_or_end(session, now=end)
    assert session == {}
