"""What a process refuses to start with."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register, run_checks
from django.core.exceptions import ImproperlyConfigured

from console.logins import LOGINS

SHORTEST_SECRET_KEY = 50
TAG = "ascertain"


@register(TAG, Tags.security)
def safe_settings(app_configs: Sequence[Any] | None, **options: Any) -> list[CheckMessage]:
    """One error per unsafe setting; each says what to set."""
    serving = settings.LOGIN in ("web", "worker")
    problems = {
        "E001": (settings.LOGIN not in LOGINS, f"ASCERTAIN_LOGIN must be one of {LOGINS}."),
        "E002": (settings.DEBUG, "DEBUG must stay off: its pages show settings and data."),
        "E003": ("*" in settings.ALLOWED_HOSTS, "ALLOWED_HOSTS must name hosts, not all of them."),
        "E004": (
            settings.LOGIN == "web" and secret_key_length() < SHORTEST_SECRET_KEY,
            f"Set SECRET_KEY or SECRET_KEY_FILE, {SHORTEST_SECRET_KEY} characters or more.",
        ),
        "E005": (serving and not settings.REDIS_URL, "Set REDIS_URL: the broker and the cache."),
        "E006": (
            settings.SECURE and settings.SANDBOX,
            "ASCERTAIN_SANDBOX=1 is for demonstrations; unset it, or say SECURE=0.",
        ),
    }
    wrong = {number: words for number, (found, words) in problems.items() if found}
    return [Error(words, id=f"ascertain.{number}") for number, words in wrong.items()]


def secret_key_length() -> int:
    """How long the signing key is; Django itself refuses to read an empty one."""
    try:
        return len(settings.SECRET_KEY)
    except ImproperlyConfigured:
        return 0


def refuse_unsafe_start() -> None:
    """Raise ImproperlyConfigured with every problem that safe_settings finds."""
    if found := run_checks(tags=[TAG]):
        raise ImproperlyConfigured("\n".join(str(problem.msg) for problem in found))
