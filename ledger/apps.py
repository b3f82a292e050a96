"""The Django application that holds the record."""

from django.apps import AppConfig


class LedgerConfig(AppConfig):
    """The record: models, guards and verbs."""

    name = "ledger"
    verbose_name = "Ledger"
