"""Strict JSON refuses what readers disagree on; one value has one text and one digest."""

import hashlib
from datetime import UTC, date, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.digest import (
    BadJson,
    canonical,
    digest,
    link,
    loads,
    request_digest,
    short,
)

texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"b":1,"a":[true,null,"x"]}', {"a": [True, None, "x"], "b": 1}),
        ("9007199254740991", 2**53 - 1),
        ("-0", 0),
        ('"\\ud83d\\ude00"', "😀"),
        (b' {"k" : "\xc3\xa9"} ', {"k": "é"}),
        ("[" * 32 + "]" * 32, None),
        ('"[[[{{{"', "[[[{{{"),
        ('"\\"[\\\\"', '"[\\'),
    ],
)
def test_loads_reads_what_all_readers_read_alike(text: str | bytes, value: object) -> None:
    found = loads(text)
    assert value is None or found == value


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '{"x":{"a":1,"b":2,"a":1}}',
        '{"a":1,"\\u0061":1}',
        "1.0",
        "1e3",
        "1e400",
        "-1.5",
        "NaN",
        "Infinity",
        "-Infinity",
        '{"a":NaN}',
        '"\\ud800"',
        '{"\\udc00":1}',
        '"\\u0000"',
        '{"a\\u0000":1}',
        b'"\x00"',
        "9007199254740992",
        "-9007199254740992",
        "1" * 21,
        "9" * 5000,
        "[" * 33 + "]" * 33,
        "[" * 100_000,
        '{"a":' * 33 + "1" + "}" * 33,
        '"' + "x" * (256 * 1024) + '"',
        b"\xff\xfe",
        b'\xef\xbb\xbf{"a":1}',
        "",
        "{",
        "[1,]",
        "'a'",
        '{"a":1} x',
        '"\ud800"',
        '"tab\there"',
        "<html>",
        '"\\"' * 2000,
    ],
    ids=lambda text: repr(text[:24]),
)
def test_loads_refuses_what_readers_read_differently(text: str | bytes) -> None:
    with pytest.raises(BadJson):
        loads(text)


def test_key_count_is_capped_over_the_whole_text() -> None:
    within = "[" + ",".join(f'{{"a":1,"b{i}":2}}' for i in range(5_000)) + "]"
    assert len(loads(within)) == 5_000  # type: ignore[arg-type]
    with pytest.raises(BadJson, match="keys"):
        loads(within[:-1] + ',{"one":"more"}]')


def test_a_refusal_never_repeats_the_text() -> None:
    with pytest.raises(BadJson) as refusal:
        loads('{"card": 4242424242424242 oops}')
    assert "4242" not in str(refusal.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
        (
            {
                "\u20ac": 1,
                "\r": 2,
                "1": 3,
                "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"): 4,
                "\ufb33": 5,
                "\u0080": 6,
                "\u00f6": 7,
            },
            '{"\\r":2,"1":3,"\u0080":6,"\u00f6":7,"\u20ac":1,"😀":4,"\ufb33":5}',
        ),
        ('\b\t\n\f\r"\\\x1f/\u007f\u2028', '"\\b\\t\\n\\f\\r\\"\\\\\\u001f/\u007f\u2028"'),
        ([True, False, None, -7, ()], "[true,false,null,-7,[]]"),
        ({"z": {"y": 1, "x": {}}}, '{"z":{"x":{},"y":1}}'),
    ],
)
def test_canonical_form_is_that_of_rfc_8785(value: object, text: str) -> None:
    assert canonical(value) == text.encode()


@pytest.mark.parametrize(
    "value",
    [
        1.0,
        float("nan"),
        2**53,
        "\ud800",
        "a\x00",
        {1: 2},
        {"\udfff": 1},
        object(),
        b"x",
        {1, 2},
        {"k": [1.5]},
        "x" * (256 * 1024),
        {str(i): i for i in range(10_001)},
    ],
    ids=lambda value: repr(value)[:20],
)
def test_canonical_refuses_what_has_no_single_text(value: object) -> None:
    with pytest.raises(BadJson):
        canonical(value)


def test_canonical_and_loads_agree_on_depth() -> None:
    deep: object = 1
    for _ in range(32):
        deep = [deep]
    assert loads(canonical(deep)) == deep
    with pytest.raises(BadJson, match="deeper"):
        canonical([deep])
    with pytest.raises(BadJson, match="deeper"):
        loads("[" * 33 + "1" + "]" * 33)


@given(values)
def test_canonical_text_reads_back_as_the_same_value(value: object) -> None:
    assert loads(canonical(value)) == value
    assert canonical(loads(canonical(value))) == canonical(value)


@given(st.dictionaries(texts, values, max_size=6), st.randoms())
def test_the_order_of_keys_does_not_change_the_digest(
    value: dict[str, object], luck: object
) -> None:
    items = list(value.items())
    luck.shuffle(items)  # type: ignore[attr-defined]
    assert request_digest(dict(items)) == request_digest(value)


@given(values, values)
def test_different_values_have_different_texts(one: object, other: object) -> None:
    same = repr(_typed(one)) == repr(_typed(other))
    assert (canonical(one) == canonical(other)) == same


def _typed(value: object) -> object:
    """A value that `repr` tells apart exactly where JSON does (True is not 1, order is nothing)."""
    if isinstance(value, dict):
        return {"object": sorted((key, repr(_typed(item))) for key, item in value.items())}
    return [_typed(item) for item in value] if isinstance(value, list) else value


def test_request_digest_is_plain_sha256_of_the_canonical_text() -> None:
    assert request_digest({"b": 1, "a": "é"}) == hashlib.sha256('{"a":"é","b":1}'.encode()).digest()


def test_short_digest_keeps_both_ends() -> None:
    assert short(bytes.fromhex("9f2c41" + "00" * 27 + "a7e1")) == "9f2c41…a7e1"


ENTRY = {
    "tenant": UUID(int=1),
    "effect": UUID(int=2),
    "no": 6,
    "kind": "answer",
    "source": 3,
    "target": 4,
    "actor": "operator",
    "login": "ascertain_web",
    "resolution": UUID(int=3),
    "at": datetime(2026, 10, 14, 12, 2, 44, 812_345, UTC),
    "finding": "exact",
    "object_id": "po_1",
    "proof": b"proof",
}


def sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def test_link_has_the_layout_of_the_database_function() -> None:
    days = (date(2026, 10, 14) - date(2000, 1, 1)).days
    microseconds = ((days * 24 + 12) * 3600 + 2 * 60 + 44) * 1_000_000 + 812_345
    expected = sha(
        b"entry/1prev"
        + UUID(int=1).bytes
        + UUID(int=2).bytes
        + b"\x00\x00\x00\x06"
        + sha(b"answer")
        + b"\x00\x03"
        + b"\x00\x04"
        + sha(b"operator")
        + sha(b"ascertain_web")
        + UUID(int=3).bytes
        + microseconds.to_bytes(8, "big")
        + sha(b"exact")
        + sha(b"po_1")
        + sha(b"proof")
    )
    assert link(b"prev", **ENTRY) == expected  # type: ignore[arg-type]


def test_link_reads_absent_parts_as_empty_and_any_zone_alike() -> None:
    bare = {**ENTRY, "resolution": None, "finding": None, "object_id": None}
    empty = {**bare, "finding": "", "object_id": ""}
    assert link(b"", **bare) == link(b"", **empty)  # type: ignore[arg-type]
    moved = ENTRY["at"].astimezone(timezone(timedelta(hours=9)))  # type: ignore[attr-defined]
    assert link(b"", **{**ENTRY, "at": moved}) == link(b"", **ENTRY)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"tenant": UUID(int=9)},
        {"effect": UUID(int=9)},
        {"no": 7},
        {"kind": "sent"},
        {"source": 2},
        {"target": 5},
        {"actor": "worker"},
        {"login": "ascertain_worker"},
        {"resolution": None},
        {"at": datetime(2026, 10, 14, 12, 2, 44, 812_346, UTC)},
        {"finding": "absent"},
        {"object_id": "po_2"},
        {"proof": b"prooF"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_field_is_under_the_hash(change: dict[str, object]) -> None:
    assert link(b"p", **{**ENTRY, **change}) != link(b"p", **ENTRY)  # type: ignore[arg-type]


def test_the_previous_hash_is_under_the_hash() -> None:
    assert link(b"p", **ENTRY) != link(b"q", **ENTRY)  # type: ignore[arg-type]


def test_digest_has_32_bytes() -> None:
    assert digest(b"") == bytes.fromhex(
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
