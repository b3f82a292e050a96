"""Which login reads and writes which table: signing in has one of its own where web runs."""

from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model

AUTH = "auth"
SIGN_IN_APPS = {"sessions", "account"}
SIGN_IN_MODELS = {"ledger.account"}


class AuthRouter:
    """Sends sessions and accounts over the alias `auth` where it exists, all else over default."""

    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        """The alias for the model; never the one its relation was read through."""
        meta = model._meta
        signing_in = meta.app_label in SIGN_IN_APPS or meta.label_lower in SIGN_IN_MODELS
        return AUTH if signing_in and AUTH in connections else DEFAULT_DB_ALIAS

    db_for_write = db_for_read

    def allow_relation(self, one: Model, other: Model, **hints: Any) -> bool:
        """Always: both aliases are logins of one database."""
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        """Only as the owner, who is always the default of the process that migrates."""
        return db == DEFAULT_DB_ALIAS
