"""The one Python clock; deadlines that decide anything are compared by the database's own."""

from datetime import UTC, datetime


def now() -> datetime:
    """The present moment, aware, in UTC."""
    return datetime.now(UTC)
