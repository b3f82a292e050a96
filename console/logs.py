"""One line of JSON per fact: an event's name, ids and digests; never names or bodies."""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from ledger.rules.redaction import scrub

request_id: ContextVar[str] = ContextVar("request_id", default="")

LONGEST_VALUE = 4_000
STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "request"}
QUIET = ("httpx", "httpcore", "kombu", "amqp", "celery.worker.strategy", "celery.app.trace")


class JsonFormatter(logging.Formatter):
    """A record as one JSON object. Control characters are escaped, so no line can be forged."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
        }
        if current := request_id.get():
            line["request_id"] = current
        line |= {name: value for name, value in vars(record).items() if name not in STANDARD}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps({name: safe(value) for name, value in line.items()})


def safe(value: Any) -> Any:
    """The value as JSON knows it; a text without secrets, and cut where it is long."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = scrub(str(value))
    if len(text) > LONGEST_VALUE:
        return f"{text[:LONGEST_VALUE]}… ({len(text)} characters)"
    return text


def logging_settings() -> dict[str, Any]:
    """Django's LOGGING: from INFO up to standard error; chatty libraries from WARNING."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JsonFormatter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {name: {"level": "WARNING"} for name in QUIET}
        | {"django": {"handlers": [], "propagate": True}},
    }
