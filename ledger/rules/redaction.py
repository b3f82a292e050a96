"""What may be kept of a provider's words: allow-listed fields, no secrets, no card numbers."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

Scalar: TypeAlias = str | int | bool | None

LONGEST_VALUE = 200
LONGEST_TEXT = 64 * 1024
_CUT = "…"

# A run of card-like digits, alone: not part of a longer number or of an id.
_CARD = re.compile(r"(?<![0-9A-Za-z_.-])[0-9](?:[ -]?[0-9]){12,18}(?![0-9A-Za-z_]|[.-][0-9A-Za-z])")
_BEARER = re.compile(r"\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{8,})", re.I)
_API_KEY = re.compile(
    r"\b(?:(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{8,}|whsec_[A-Za-z0-9+/=]{8,}|AKIA[0-9A-Z]{16}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{30,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}\.?[A-Za-z0-9_-]{0,2000})"
)
_NAMED = re.compile(
    r"""(?:client_?secret|api_?key|apikey|access_?token|refresh_?token|password|passwd|secret
    |private_?key|authorization|cvc2?|cvv2?)["']?\s{0,3}[:=]\s{0,3}["']?
    ([^\s"',;&<>{}\[]{3,})""",
    re.I | re.X,
)
_SECRET_TAIL = re.compile(r"\b[a-z]{2,6}_[A-Za-z0-9]{6,64}_secret_[A-Za-z0-9]{4,}")
_COOKIE = re.compile(r"\b(?:set-cookie|cookie)\s{0,3}:\s{0,3}([^\r\n]{3,4000})", re.I)
_PEM = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,20000}(?:-----END[A-Z -]{0,60})?")
_WORD = re.compile(r"[A-Za-z0-9+/=_-]{32,}")
_OBJECT_ID = re.compile(r"[a-z]{2,6}_[A-Za-z0-9]{8,40}")
_HEX = re.compile(r"[0-9a-f-]+|[0-9A-F-]+")
_LEAST_BITS = 4.0

_KINDS = (
    ("private key", _PEM),
    ("cookie", _COOKIE),
    ("client secret", _SECRET_TAIL),
    ("api key", _API_KEY),
    ("bearer token", _BEARER),
    ("named secret", _NAMED),
)


def excerpt(body: Mapping[str, object], allowed: tuple[str, ...]) -> dict[str, Scalar]:
    """The allow-listed scalars of `body` by their names, `amount.value` reaching into a mapping.

    Texts are scrubbed and cut at 200 characters; anything but text, whole number, truth or null is
    left out, and so is a name that is absent.
    """
    kept: dict[str, Scalar] = {}
    for name in allowed:
        found, value = _reach(body, name)
        if found and (value is None or isinstance(value, str | int | bool)):
            kept[name] = _short(scrub(value)) if isinstance(value, str) else value
    return kept


def find_secrets(text: str) -> tuple[str, ...]:
    """The kinds of secrets in `text`, never the secrets: `card number`, `api key` …

    Only the first 64 KiB are searched; `scrub` cuts the rest.
    """
    text = text[:LONGEST_TEXT]
    kinds = [kind for kind, pattern in _KINDS if pattern.search(text)]
    if any(_is_card(match[0]) for match in _CARD.finditer(text)):
        kinds.append("card number")
    if any(_is_random(match[0]) for match in _WORD.finditer(text)):
        kinds.append("random token")
    return tuple(kinds)


def scrub(text: str) -> str:
    """`text` with each secret replaced by its kind, `[card number removed]`, cut at 64 KiB."""
    text = text[:LONGEST_TEXT]
    for kind, pattern in _KINDS:
        text = pattern.sub(f"[{kind} removed]", text)
    text = _CARD.sub(lambda m: "[card number removed]" if _is_card(m[0]) else m[0], text)
    return _WORD.sub(lambda m: "[random token removed]" if _is_random(m[0]) else m[0], text)


def _reach(body: Mapping[str, object], name: str) -> tuple[bool, object]:
    """Whether the dotted name is there, and its value."""
    value: object = body
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return False, None
        value = value[part]
    return True, value


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + _CUT


def _is_card(text: str) -> bool:
    """Luhn's check over 13 to 19 digits that are not all the same."""
    digits = [int(c) for c in text if c.isdigit()]
    doubled = [sum(divmod(d * (1 + i % 2), 10)) for i, d in enumerate(reversed(digits))]
    return len(set(digits)) > 1 and sum(doubled) % 10 == 0


def _is_random(text: str) -> bool:
    """Whether a long word looks drawn by lot: mixed kinds of letters and 4 bits per letter.

    Digests, UUIDs and provider object ids are not secrets and stay.
    """
    if _HEX.fullmatch(text) or _OBJECT_ID.fullmatch(text):
        return False
    kinds = (str.isupper, str.islower, str.isdigit)
    if not all(any(kind(c) for c in text) for kind in kinds):
        return False
    counts = Counter(text).values()
    bits = -sum(n / len(text) * math.log2(n / len(text)) for n in counts)
    return bits >= _LEAST_BITS
