"""What PostgreSQL refuses by itself, as whole SQL files in the order of their numbers."""

from pathlib import Path


def scripts() -> tuple[str, ...]:
    """The text of each guard file, in order; loaded by migrations."""
    return tuple(path.read_text() for path in sorted(Path(__file__).parent.glob("*.sql")))
