"""Nothing confirms without evidence: no task and no command, while the provider says nothing.

All of ours are enumerated, and what the tables here do not name fails. The policy lets scheduled
lookups settle by themselves here, so that the evidence is all that is missing.
"""

import io
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command, get_commands
from django.db import connection, transaction

from console.celery import app
from console.demo import story
from console.demo.sample import ACCOUNTS, BOTH
from console.demo.sandbox import Sandbox
from console.demo.scenes import SCENES
from ledger import lookups
from ledger.models import Account, Lookup, PolicyAutoSettle, PolicyTier, Tenant
from ledger.rules.states import State
from tests import builders
from tests.builders import Home
from tests.logins import login
from tests.scenarios.forging import INVENTED, SANDBOX_CHARGE, Forgery, confirmed, forge, unproven
from tests.servers import BrokerServer, DatabaseServer, SandboxServer

pytestmark = pytest.mark.django_db

OURS = ("console", "ledger", "providers", "examples")
LONG_OVERDUE = "2000-01-01"
ESCALATED = next(scene for scene in SCENES[BOTH[0]] if scene.escalated_to)


@pytest.fixture
def home(database: DatabaseServer) -> Home:
    """A tenant whose policy lets an exact match of any charge settle itself."""
    builders.store_contracts()
    made = builders.home()
    version = {"tenant_id": made.tenant_id, "version": 2}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "insert into policy (tenant_id, version) values (%s, %s)", list(version.values())
        )
        PolicyTier.objects.create(  # what takes a second person never settles itself
            **version, operation="*", currency="EUR", second_from=10**9 + 1, third_from=None
        )
        PolicyAutoSettle.objects.create(
            **version, provider="sandbox", operation="charge", currency="EUR",
            ceiling_minor=10**9,
        )  # fmt: skip
    return made


@contextmanager
def silent(answer: bytes | None) -> Iterator[str]:
    """A provider that says `answer` to everything and hangs up; with None, nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        if answer is None:
            server.close()
            yield url
            return
        thread = threading.Thread(target=hang_up, args=(server, answer))
        thread.start()
        try:
            yield url
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def hang_up(server: socket.socket, answer: bytes) -> None:
    """Until the server is shut, read a little of each request and close its connection."""
    with suppress(OSError):
        while True:
            caller, _ = server.accept()
            with caller, suppress(OSError):
                caller.recv(65_536)
                caller.sendall(answer)


ANSWERS = {
    "nobody listens": None,
    "it hangs up": b"",
    "it says yes": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes",
    "it fails": b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
}

# --- tasks ---


def looked_up(forgery: Forgery) -> None:
    """A scheduled lookup, carried out."""
    ticket = lookups.request(forgery.tenant_id, forgery.effect_id, by=None)
    run("look", forgery.tenant_id, ticket.lookup_id)


def swept(forgery: Forgery) -> None:
    """A sweep that finds the effect long overdue and rings for it."""
    run("sweep")
    assert builders.open_row(forgery.effect_id)["due_at"] > forgery.case.effect.created_at


def attended(forgery: Forgery) -> None:
    """What the sweep rings for: the lookup is asked for, and carried out."""
    run("attend", forgery.tenant_id, forgery.effect_id)
    (asked,) = Lookup.objects.filter(effect_id=forgery.effect_id)
    run("look", forgery.tenant_id, asked.lookup_id)


def run(name: str, *given: object) -> None:
    """The task, in this process."""
    app.tasks[f"console.tasks.{name}"](*map(str, given))


TASKS: Mapping[str, Callable[[Forgery], object]] = {
    "console.heartbeat.beat": lambda _: app.tasks["console.heartbeat.beat"](),
    "console.tasks.attend": attended,
    "console.tasks.look": looked_up,
    "console.tasks.rank": lambda f: run("rank", f.tenant_id, f.effect_id),
    "console.tasks.reap": lambda _: run("reap"),
    "console.tasks.send": lambda f: run("send", f.tenant_id, f.effect_id, f.key),
    "console.tasks.sweep": swept,
}


def test_every_task_is_driven() -> None:
    app.loader.import_default_modules()
    assert sorted(name for name in app.tasks if name.startswith(OURS)) == sorted(TASKS)


@pytest.mark.parametrize("said", ANSWERS)
def test_no_task_confirms_while_the_provider_shows_nothing(
    home: Home, valkey: BrokerServer, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    with silent(ANSWERS[said]) as url:
        monkeypatch.setenv("SANDBOX_URL", url)
        for name, task in TASKS.items():
            forgery = forge(home, overdue(home))
            with login("worker"):
                task(forgery)
            assert not confirmed(forgery.effect_id), name
            assert builders.effect_row(forgery.effect_id)["state"] == State.UNKNOWN, name
    valkey.empty()


def overdue(home: Home) -> Any:
    """An unproven charge, sent an hour ago, whose lookup is due before any other effect's."""
    wanted = unproven(home, **SANDBOX_CHARGE)
    effect_id = builders.prepare(wanted).effect_id
    with builders.guards_aside() as cursor:
        cursor.execute(
            "update effect_open set due_at = %s where effect_id = %s", (LONG_OVERDUE, effect_id)
        )
        cursor.execute(
            "update effect set (first_attempt_at, last_attempt_at) = (first_attempt_at - interval"
            " '1 hour', last_attempt_at - interval '1 hour') where effect_id = %s",
            (effect_id,),
        )
    return wanted


def test_with_one_object_at_the_provider_the_same_lookup_does_confirm(
    home: Home, server_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgery = forge(home, unproven(home, **SANDBOX_CHARGE))
    with prompt_sandbox(server_folder / f"prompt-{uuid4().hex[:8]}") as provider:
        monkeypatch.setenv("SANDBOX_URL", provider.url)
        provider.send_as_stranger(
            "/v1/charges",
            body=dict(forgery.wanted.request),
            Idempotency_Key=str(forgery.case.effect.provider_key),
            X_Account=forgery.wanted.account,
        )
        with login("worker"):
            looked_up(forgery)
    assert confirmed(forgery.effect_id)


@contextmanager
def prompt_sandbox(folder: Path) -> Iterator[Sandbox]:
    """A sandbox whose lookups show at once what was made."""
    folder.mkdir()
    server = SandboxServer(folder)
    server.child.command = [*server.child.command, "--settle-seconds", "0"]
    server.start()
    try:
        yield Sandbox(server.url)
    finally:
        server.stop()


# --- commands ---


@dataclass(frozen=True)
class Place:
    """Where commands run: a folder for their files, and the settings of this process."""

    folder: Path
    settings: LazySettings


def taken_in(forgery: Forgery, place: Place) -> None:
    """A stranger's file that says that it succeeded, under the effect's own object and key."""
    file, effect = place.folder / "stuck.csv", forgery.case.effect
    file.write_text(
        "id,type,amount,currency,customer,object_id,idempotency_key,status,outcome\n"
        f"{effect.object_ref},charge,42.00,EUR,cus_4242,{INVENTED},{effect.provider_key},"
        "succeeded,confirmed\n"
    )
    with login("worker"):
        command("intake", str(file), "--tenant", slug_of(forgery))
    key = f"payment:{effect.object_ref}:intake:v1"
    taken = builders.one_row("select effect_id from effect where intent_key = %s", key)
    assert not confirmed(taken["effect_id"])


def moved_on(forgery: Forgery, place: Place) -> None:
    """The workflow's runner, told to go on and to show."""
    with login("workflow"):
        command("orders", "once")
        command("orders", "show")


def seeded(forgery: Forgery, place: Place) -> None:
    """Every part of the seed; the operator's part meets the effect as one of its scenes."""
    command("seed")
    for name, word in (("workflow", "--fill"), ("web", "--escalate")):
        place.settings.LOGIN = name
        with sample_tenant(forgery) if name == "web" else nullcontext(), login(name):
            command("seed", word)
    assert builders.open_row(forgery.effect_id)["escalated_to"] == ESCALATED.escalated_to


@contextmanager
def sample_tenant(forgery: Forgery) -> Iterator[None]:
    """Lend the effect's tenant and operator the names of the demonstration's."""
    tenant = Tenant.objects.filter(pk=forgery.tenant_id)
    account = Account.objects.filter(pk=forgery.home.operator.account_id)
    names = slug_of(forgery), account.get().username
    tenant.update(slug=BOTH[0])
    account.using("default").update(username=ACCOUNTS[0].username)
    yield
    tenant.update(slug=names[0])
    account.using("default").update(username=names[1])


def granted(forgery: Forgery, place: Place) -> None:
    """The rights of an operator to somebody who had none."""
    account = Account.objects.get(pk=builders.person(forgery.tenant_id).account_id)
    command("grant", "operator", account.username, "--tenant", slug_of(forgery))


def demonstrated(forgery: Forgery, place: Place) -> None:
    """A demonstration in the effect's tenant, with nobody there to send it."""
    with login("workflow"):
        command("demo", "charge", "--tenant", slug_of(forgery))
    assert builders.one_row(
        "select from effect where tenant_id = %s and state = 1", forgery.tenant_id
    ) == {}  # fmt: skip


def command(*words: str) -> None:
    """The command to its end, whether it succeeds or not."""
    with suppress(CommandError):
        call_command(*words, stdout=io.StringIO(), stderr=io.StringIO())


def slug_of(forgery: Forgery) -> str:
    """The tenant's slug."""
    return str(Tenant.objects.get(pk=forgery.tenant_id).slug)


COMMANDS: Mapping[str, Callable[[Forgery, Place], object]] = {
    "db_roles": lambda *_: command("db_roles"),
    "demo": demonstrated,
    "grant": granted,
    "intake": taken_in,
    "orders": moved_on,
    "seed": seeded,
    "sync_contracts": lambda *_: command("sync_contracts"),
}


def test_every_command_is_driven() -> None:
    ours = {name for name, app_name in get_commands().items() if str(app_name).startswith(OURS)}
    assert ours == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_confirms_what_nobody_has_proved(
    home: Home,
    sandbox: SandboxServer,
    database: DatabaseServer,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
) -> None:
    monkeypatch.setenv("DATABASE_URL", database.url("owner"))
    monkeypatch.setattr(story, "LONGEST_SECONDS", 0.5)  # there is no worker to wait for
    forgery = forge(home, unproven(home, workflow_id=ESCALATED.ref, **SANDBOX_CHARGE))
    COMMANDS[name](forgery, Place(tmp_path, settings))
    assert not confirmed(forgery.effect_id)
    assert builders.effect_row(forgery.effect_id)["state"] == State.UNKNOWN
