"""Strict JSON, its canonical form, and the one hash of the project with its version."""

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from typing import NoReturn, TypeAlias
from uuid import UUID

Json: TypeAlias = "bool | int | str | list[Json] | dict[str, Json] | None"

DIGEST_VERSION = 1
MAX_BYTES = 256 * 1024
MAX_DEPTH = 32
MAX_KEYS = 10_000
MAX_DIGITS = 20
MAX_INTEGER = 2**53 - 1

# Every match moves on, an unclosed string to the end, so the scan stays linear in the text.
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


class BadJson(ValueError):
    """The text or value is not JSON that every reader reads the same way; says what is wrong."""


def loads(text: str | bytes) -> Json:
    """The value of `text`, read so that no other reader could read it differently.

    Raises BadJson for duplicate keys, numbers that are not whole or beyond ±(2**53 - 1), lone
    surrogates, NUL, more than 32 levels, 256 KiB or 10,000 keys, and for anything not JSON.
    """
    clear = _decoded(text)
    _refuse_depth(clear)
    keys = _KeyCount()
    try:
        value = json.loads(
            clear,
            object_pairs_hook=keys.mapping,
            parse_float=_refuse_fraction,
            parse_int=_whole,
            parse_constant=_refuse_fraction,
        )
    except json.JSONDecodeError as error:
        raise BadJson(f"This is not JSON, from character {error.pos + 1}.") from None
    return _checked(value, depth=0)


def canonical(value: object) -> bytes:
    """`value` as canonical JSON in UTF-8 (RFC 8785 without fractions): one value, one text.

    Takes dict, list, tuple, str, int, bool and None. Raises BadJson as `loads` does.
    """
    if _keys_within(value) > MAX_KEYS:
        raise BadJson(f"This has more than {MAX_KEYS:,} keys.")
    text = json.dumps(
        _checked(value, depth=0), ensure_ascii=False, allow_nan=False, separators=(",", ":")
    ).encode()
    if len(text) > MAX_BYTES:
        raise BadJson("This is longer than 256 KiB.")
    return text


def digest(data: bytes) -> bytes:
    """The 32 bytes of SHA-256 over `data`. Nothing else in the project hashes."""
    return hashlib.sha256(data).digest()


def request_digest(value: object) -> bytes:
    """The digest, version `DIGEST_VERSION`, of a request's canonical form. Raises BadJson."""
    return digest(canonical(value))


def short(whole: bytes) -> str:
    """A digest as people compare it: its first six and last four hex digits, `9f2c41…a7e1`."""
    return f"{whole.hex()[:6]}…{whole.hex()[-4:]}"


def link(  # noqa: PLR0913 - the layout has this many fields, each named
    prev: bytes,
    *,
    tenant: UUID,
    effect: UUID,
    no: int,
    kind: str,
    source: int,
    target: int,
    actor: str,
    login: str,
    resolution: UUID | None,
    at: datetime,
    finding: str | None,
    object_id: str | None,
    proof: bytes,
) -> bytes:
    """The hash of entry `no`, byte for byte what the database's function `link` writes.

    `prev` is the hash of the entry before it, empty for the first; `at` needs a time zone.
    """
    microseconds = (at - _EPOCH) // timedelta(microseconds=1)
    return digest(
        b"".join(
            (
                b"entry/1",
                prev,
                tenant.bytes,
                effect.bytes,
                no.to_bytes(4, "big", signed=True),
                digest(kind.encode()),
                int(source).to_bytes(2, "big", signed=True),
                int(target).to_bytes(2, "big", signed=True),
                digest(actor.encode()),
                digest(login.encode()),
                resolution.bytes if resolution else b"",
                microseconds.to_bytes(8, "big", signed=True),
                digest((finding or "").encode()),
                digest((object_id or "").encode()),
                digest(proof),
            )
        )
    )


class _KeyCount:
    """Counts keys over the whole text while refusing two of the same name in one object."""

    def __init__(self) -> None:
        self.seen = 0

    def mapping(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        self.seen += len(pairs)
        if self.seen > MAX_KEYS:
            raise BadJson(f"This has more than {MAX_KEYS:,} keys.")
        found = dict(pairs)
        if len(found) != len(pairs):
            raise BadJson("A key stands twice in one object.")
        return found


def _decoded(text: str | bytes) -> str:
    try:
        size = len(text if isinstance(text, bytes) else text.encode())
        if size > MAX_BYTES:
            raise BadJson("This is longer than 256 KiB.")
        return text.decode() if isinstance(text, bytes) else text
    except UnicodeError:
        raise BadJson("This is not UTF-8 text.") from None


def _refuse_depth(text: str) -> None:
    depth = 0
    for match in _STRUCTURE.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        if depth > MAX_DEPTH:
            raise BadJson(f"This is nested deeper than {MAX_DEPTH} levels.")


def _refuse_fraction(_: str) -> NoReturn:
    raise BadJson("A number is not whole. Write amounts in the smallest unit, the rest as text.")


def _whole(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise BadJson(f"A number has more than {MAX_DIGITS} digits.")
    return int(digits)


def _checked(value: object, *, depth: int) -> Json:
    """`value` with its keys in canonical order, by UTF-16 code units."""
    if depth >= MAX_DEPTH and isinstance(value, list | tuple | dict):
        raise BadJson(f"This is nested deeper than {MAX_DEPTH} levels.")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _safe_integer(value)
    if isinstance(value, str):
        return _safe_text(value)
    if isinstance(value, list | tuple):
        return [_checked(item, depth=depth + 1) for item in value]
    if isinstance(value, dict):
        named = {_safe_key(key): item for key, item in value.items()}
        ordered = sorted(named, key=lambda key: key.encode("utf-16-be"))
        return {key: _checked(named[key], depth=depth + 1) for key in ordered}
    raise BadJson(f"A {type(value).__name__} cannot be written as JSON here.")


def _safe_integer(value: int) -> int:
    if abs(value) > MAX_INTEGER:
        raise BadJson("A number is beyond 9007199254740991, where readers begin to disagree.")
    return int(value)


def _safe_text(value: str) -> str:
    if "\x00" in value:
        raise BadJson("A text holds the character NUL.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadJson("A text holds half of a character pair.") from None
    return str(value)


def _safe_key(key: object) -> str:
    if not isinstance(key, str):
        raise BadJson("A key is not text.")
    return _safe_text(key)


def _keys_within(value: object, depth: int = 0) -> int:
    if depth > MAX_DEPTH:
        return 0
    if isinstance(value, dict):
        return len(value) + sum(_keys_within(item, depth + 1) for item in value.values())
    if isinstance(value, list | tuple):
        return sum(_keys_within(item, depth + 1) for item in value)
    return 0
