"""Ids: time-ordered uuids made by the client, and the short form that people read and type."""

import base64
from uuid import UUID

import uuid_utils

EFFECT_PREFIX = "eff_"


def new_id() -> UUID:
    """A fresh UUIDv7."""
    return UUID(bytes=uuid_utils.uuid7().bytes)


def screen_id(effect_id: UUID) -> str:
    """`effect_id` as shown to people: `eff_` and 26 lower-case base32 letters."""
    return EFFECT_PREFIX + base64.b32encode(effect_id.bytes).decode().rstrip("=").lower()


def from_screen_id(text: str) -> UUID | None:
    """The id that `screen_id` or `str(uuid)` wrote, or None for anything else."""
    try:
        text = text.strip().lower()
        if text.startswith(EFFECT_PREFIX):
            return UUID(bytes=base64.b32decode(text[len(EFFECT_PREFIX) :].upper() + "======"))
        return UUID(text)
    except ValueError:
        return None
