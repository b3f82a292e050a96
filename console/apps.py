"""The Django application that is deployed."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """Pages, API and worker tasks."""

    name = "console"
    verbose_name = "Console"

    def ready(self) -> None:
        """Register the start-up checks, and make our Celery application the one tasks belong to."""
        from console import celery, checks  # noqa: F401 - the apps must be loaded first
