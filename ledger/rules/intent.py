"""Intent keys, `type:id:action:vN`, and the provider keys derived from them."""

import re
import unicodedata
from dataclasses import dataclass
from uuid import UUID

from ledger.rules.digest import digest

MAX_KEY_BYTES = 200
_USUAL_SEGMENTS = 4
_DOMAIN = b"ascertain/provider-key/1"

_UUID = re.compile(r"\{?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\}?", re.I)
_VERSION = re.compile(r"v([1-9][0-9]{0,8})")
_COUNTED_VERSION = re.compile(r"v[0-9]+[-_.][0-9]+", re.I)
_ATTEMPT = re.compile(r"(?:.*[-_.])?(?:(?:attempt|retry|rerun)[-_.]?[0-9]*|try[-_.]?[0-9]+)", re.I)
_PROCESS = re.compile(r"(?:.*[-_.])?(?:pid|process|proc|worker|thread|host)[-_.]?[0-9]+", re.I)
_PID = re.compile(r"(?:.*[-_.])?pid[-_.]?[0-9]+", re.I)
_EPOCH = re.compile(r"1[0-9]{9}(?:[0-9]{3}|[0-9]{6}|[0-9]{9})?")
_CLOCK = re.compile(
    r"(?:19|20)[0-9]{2}-?(?:0[1-9]|1[0-2])-?[0-3][0-9]"
    r"(?:t[0-2][0-9]|[_ -]?[0-2][0-9][-.]?[0-5][0-9]).*",
    re.I,
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ONE_KEY = "names an attempt. Every attempt of an intent has the same key."
_RESTART = "names a process. After a restart the key would be another."
_MOMENT = "names a moment. Sent a second later, the key would be another."
_PASSING = (
    (_ATTEMPT, _ONE_KEY),
    (_COUNTED_VERSION, _ONE_KEY),
    (_PROCESS, _RESTART),
    (_EPOCH, _MOMENT),
    (_CLOCK, _MOMENT),
)
# The id is the business object's: a wage goes to worker-7, an order may be numbered like a moment.
_PASSING_IN_IDS = ((_ATTEMPT, _ONE_KEY), (_PID, _RESTART))
_PLAIN = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*", re.I)


class BadKey(ValueError):
    """The text cannot be an intent key; says why and what to write instead."""


@dataclass(frozen=True, slots=True)
class IntentKey:
    """A key in one piece and in parts. `action` is empty, `version` None where it has none."""

    text: str
    type: str
    id: str
    action: str
    version: int | None


def check_key(key: str) -> IntentKey:
    """The normalised key (NFC). Raises BadKey where it cannot name one intent for ever.

    That is: empty, over 200 bytes, outer blanks, control or invisible characters, a bare UUID, or
    a segment that names an attempt, a process or a moment. Other odd shapes pass; see `lint`.
    """
    text = unicodedata.normalize("NFC", key)
    _refuse_characters(text)
    parts = _split(text)
    if _is_bare_uuid(text):
        raise BadKey("A bare UUID says nothing about the intent. Write type:id:action:v1.")
    for segment in (parts.type, parts.action):
        _refuse_passing(segment, patterns=_PASSING)
    for segment in parts.id.split(":"):
        _refuse_passing(segment, patterns=_PASSING_IN_IDS)
    return parts


def lint(key: str) -> tuple[str, ...]:
    """What is odd about a key that `check_key` lets pass, in words; empty for a good one."""
    text = unicodedata.normalize("NFC", key)
    parts = _split(text)
    segments = text.split(":")
    findings = (
        (text != key, "The key was not in composed form (NFC); it was normalised."),
        (len(segments) != _USUAL_SEGMENTS, "The usual shape is type:id:action:v1."),
        (parts.version is None, "The key has no version, so a changed intent has no next key."),
        (any(s == "" for s in segments), "A segment is empty."),
        (
            any(s and not _PLAIN.fullmatch(s) for s in segments),
            "Plain letters, digits and single - _ . are safest.",
        ),
        (text != text.lower(), "Capital letters make a different key. Small letters are safer."),
        (
            any(_DATE.fullmatch(s) for s in segments),
            "A date is right for a business day, wrong for the day of sending.",
        ),
        (
            any(p.fullmatch(parts.id) for p in (_PROCESS, _EPOCH, _CLOCK)),
            "The id looks like a process or a moment. It should be the business object's.",
        ),
    )
    return tuple(words for found, words in findings if found)


def provider_key(tenant: UUID, key: str) -> UUID:
    """The idempotency key as sent: a UUIDv8 from the digest of tenant and intent key.

    The same pair always gives the same key; nothing of the intent can be read from it.
    Raises BadKey.
    """
    raw = bytearray(digest(_DOMAIN + tenant.bytes + check_key(key).text.encode())[:16])
    raw[6] = raw[6] & 0x0F | 0x80
    raw[8] = raw[8] & 0x3F | 0x80
    return UUID(bytes=bytes(raw))


def _refuse_characters(text: str) -> None:
    if not text:
        raise BadKey("The key is empty.")
    if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for c in text):
        raise BadKey("The key holds a control or invisible character.")
    if any(c.isspace() and c != " " for c in text) or text != text.strip():
        raise BadKey("The key begins or ends with a blank, or holds an unusual one.")
    if len(text.encode()) > MAX_KEY_BYTES:
        raise BadKey(f"The key is longer than {MAX_KEY_BYTES} bytes.")


def _split(text: str) -> IntentKey:
    segments = text.split(":")
    match = _VERSION.fullmatch(segments[-1]) if len(segments) > 1 else None
    named = segments[:-1] if match else segments
    first, *rest = named
    *ids, last = rest or [""]
    return IntentKey(
        text=text,
        type=first,
        id=":".join(ids) if ids else last,
        action=last if ids else "",
        version=int(match[1]) if match else None,
    )


def _is_bare_uuid(text: str) -> bool:
    bare = re.sub(r"^urn:uuid:", "", text, flags=re.I)
    return bool(_UUID.fullmatch(re.sub(r":v[0-9]+$", "", bare)))


def _refuse_passing(segment: str, *, patterns: tuple[tuple[re.Pattern[str], str], ...]) -> None:
    """Refuse what changes from one attempt to the next: then every attempt would pay anew."""
    for pattern, words in patterns:
        if pattern.fullmatch(segment):
            raise BadKey(f"{segment!r} {words}")
