"""Each process connects as its own login, and the tests can take every one."""

import psycopg
import pytest
from django.db import connection, connections, transaction
from psycopg.conninfo import conninfo_to_dict

from console.logins import LOGINS, database_settings, database_url, role
from tests.logins import login, session_user
from tests.servers import DatabaseServer

RUNTIME = [name for name in LOGINS if name != "owner"]


def test_a_login_without_a_url_of_its_own_is_the_owners_with_another_user() -> None:
    env = {"DATABASE_URL": "postgresql://ascertain_owner:pw@db:5433/main?sslmode=require"}
    told = conninfo_to_dict(database_url("worker", env))
    assert told == {
        "user": "ascertain_worker",
        "password": "pw",
        "host": "db",
        "port": "5433",
        "dbname": "main",
        "sslmode": "require",
    }


def test_a_socket_folder_with_a_space_survives() -> None:
    env = {"DATABASE_URL": "postgresql://o@/ascertain?host=%2Ftmp%2Fa%20b"}
    assert database_settings(database_url("web", env))["HOST"] == "/tmp/a b"


def test_a_logins_own_url_wins_and_the_owner_has_the_plain_one() -> None:
    env = {"DATABASE_URL": "postgresql:///plain", "DATABASE_URL_WEB": "postgresql:///own"}
    assert database_url("web", env) == "postgresql:///own"
    assert database_url("owner", env) == "postgresql:///plain"
    assert database_url("web", {}) == ""


def test_an_unknown_login_is_refused() -> None:
    with pytest.raises(ValueError, match="no login"):
        role("root")


@pytest.mark.parametrize("name", RUNTIME)
def test_a_test_can_be_every_login_and_is_the_owner_afterwards(
    name: str, database: DatabaseServer
) -> None:
    with login(name):
        assert session_user() == role(name)
    assert session_user() == "ascertain_owner"


def test_a_refusal_inside_a_transaction_gives_the_login_back(database: DatabaseServer) -> None:
    with pytest.raises(Exception, match="permission denied"), transaction.atomic(), login("web"):
        connection.cursor().execute("delete from effect")
    assert session_user() == "ascertain_owner"


def test_a_refusal_outside_a_transaction_gives_the_login_back(database: DatabaseServer) -> None:
    with pytest.raises(Exception, match="permission denied"), login("web"), transaction.atomic():
        connection.cursor().execute("delete from effect")
    assert session_user() == "ascertain_owner"


def test_one_login_cannot_become_another(database: DatabaseServer) -> None:
    with login("web"), pytest.raises(RuntimeError), login("worker"):
        pass


@pytest.mark.parametrize("name", RUNTIME)
def test_a_runtime_login_owns_nothing_and_has_no_special_power(
    name: str, database: DatabaseServer
) -> None:
    with database.admin() as admin:
        powers = admin.execute(
            "select rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication "
            "from pg_roles where rolname = %s",
            [role(name)],
        ).fetchone()
    assert powers == (False,) * 5
    with psycopg.connect(database.url(name), autocommit=True) as own:
        owned = own.execute(
            "select count(*) from pg_class where relowner = current_user::regrole"
        ).fetchone()
        assert owned == (0,)
        for forbidden in ("create table mine ()", "create temp table mine ()"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                own.execute(forbidden)


def test_signing_in_has_a_connection_of_its_own(database: DatabaseServer) -> None:
    with connections["auth"].cursor() as cursor:
        cursor.execute("select session_user")
        assert cursor.fetchone() == ("ascertain_auth",)
