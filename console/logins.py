"""The database logins: their names, the URL each connects with, and the SQL that makes them."""

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

OWNER = "owner"
LOGINS = (OWNER, "web", "auth", "worker", "workflow", "sealer", "auditor")

# One block per role, because roles belong to the whole cluster and two sessions may make them at
# once: the loser of that race sees a unique violation on the catalog, not "duplicate object".
CREATE_ROLE = """
do $$ begin
  if not exists (select from pg_roles where rolname = '{role}') then
    create role {role} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls;
  end if;
exception when duplicate_object or unique_violation then null;
end $$;
"""


def role(login: str) -> str:
    """The PostgreSQL role of a login: "web" is ascertain_web. Raises ValueError if unknown."""
    if login not in LOGINS:
        raise ValueError(f"{login!r} is no login; the logins are {', '.join(LOGINS)}.")
    return f"ascertain_{login}"


def database_url(login: str, env: Mapping[str, str]) -> str:
    """What libpq needs to connect as `login`, as a URL or conninfo string; empty if not told.

    DATABASE_URL_<LOGIN> if set; else DATABASE_URL, which is the owner's, with the user replaced.
    """
    if own := env.get(f"DATABASE_URL_{login.upper()}"):
        return own
    owners = env.get("DATABASE_URL", "")
    if not owners or login == OWNER:
        return owners
    return make_conninfo(owners, user=role(login))


def database_settings(url: str, *, pool_size: int = 0) -> dict[str, Any]:
    """Django's settings for a URL or conninfo string; an empty one is a local `ascertain`.

    `pool_size` connections are pooled in the process; 0 keeps one per thread for a minute.
    """
    given = conninfo_to_dict(url) or {"dbname": "ascertain"}
    names = ("user", "password", "host", "port")
    settings = {name.upper(): given.pop(name, None) or "" for name in names}
    settings["NAME"] = given.pop("dbname", None) or ""
    # Steps run on psycopg's own cursors, whose statements are prepared from the third time on.
    options: dict[str, Any] = {**given, "prepare_threshold": 3}
    if pool_size:
        options["pool"] = {"min_size": 1, "max_size": pool_size, "timeout": 3}
    return {
        "ENGINE": "django.db.backends.postgresql",
        **settings,
        "OPTIONS": options,
        "CONN_MAX_AGE": 0 if pool_size else 60,
        "CONN_HEALTH_CHECKS": True,
    }


def role_sql() -> str:
    """The SQL that makes all logins, for a DBA to read and run; running it again does nothing."""
    return "".join(CREATE_ROLE.format(role=role(login)) for login in LOGINS).strip()


def database_sql(name: str) -> str:
    """The SQL that hands the database `name` to the owner and closes it to strangers."""
    others = ", ".join(role(login) for login in LOGINS if login != OWNER)
    database = sql.Identifier(name).as_string(None)
    return (
        f"alter database {database} owner to {role(OWNER)};\n"
        f"revoke all on database {database} from public;\n"
        f"grant connect on database {database} to {others};"
    )


def create_roles(connection: psycopg.Connection[Any]) -> None:
    """Make the logins that are absent. `connection` must be in autocommit and may create roles."""
    connection.execute(role_sql())


def create_database(connection: psycopg.Connection[Any], name: str, *, template: str = "") -> None:
    """Make the database `name` if absent, owned by the owner; a copy of `template` if given."""
    if not connection.execute("select 1 from pg_database where datname = %s", [name]).fetchone():
        model = sql.Identifier(template or "template1")
        create = sql.SQL("create database {} template {}").format(sql.Identifier(name), model)
        connection.execute(create)
    connection.execute(database_sql(name))
