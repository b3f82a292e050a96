"""An intent key is the same for every attempt; a provider key follows from it alone."""

import unicodedata
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.intent import BadKey, IntentKey, check_key, lint, provider_key

TENANT = UUID("018f4e9a-0000-7000-8000-000000000001")


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("payment:ord_88213:capture:v1", ("payment", "ord_88213", "capture", 1)),
        ("order:991:collect:v12", ("order", "991", "collect", 12)),
        ("order:7:line:2:collect:v1", ("order", "7:line:2", "collect", 1)),
        ("fee:a:v1", ("fee", "a", "", 1)),
        ("fee:a:void:v1", ("fee", "a", "void", 1)),
        ("seat:acct_9:2026-03:v1", ("seat", "acct_9", "2026-03", 1)),
        ("seller:a:2026-07-28:v1", ("seller", "a", "2026-07-28", 1)),
        ("ticket:71:reply-5:v1", ("ticket", "71", "reply-5", 1)),
        ("email:inv_20377:reminder:2", ("email", "inv_20377:reminder", "2", None)),
        (
            "order:550e8400-e29b-41d4-a716-446655440000:collect:v1",
            ("order", "550e8400-e29b-41d4-a716-446655440000", "collect", 1),
        ),
        ("payout:worker-7:wage:v1", ("payout", "worker-7", "wage", 1)),
        ("order:1722124800:collect:v1", ("order", "1722124800", "collect", 1)),
        ("country:entry-2:poetry-3:v1", ("country", "entry-2", "poetry-3", 1)),
        ("plain", ("plain", "", "", None)),
    ],
)
def test_a_key_that_names_one_intent_passes(key: str, parts: tuple[str, str, str, int]) -> None:
    assert check_key(key) == IntentKey(key, *parts)


@pytest.mark.parametrize(
    "key",
    [
        "550e8400-e29b-41d4-a716-446655440000",
        "550E8400E29B41D4A716446655440000",
        "urn:uuid:550e8400-e29b-41d4-a716-446655440000",
        "550e8400-e29b-41d4-a716-446655440000:v1",
    ],
)
def test_a_bare_uuid_is_refused(key: str) -> None:
    with pytest.raises(BadKey, match="UUID"):
        check_key(key)


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("order:8038:collect:v1-2", "attempt"),
        ("order:8038:collect-attempt-3:v1", "attempt"),
        ("order:8038:attempt3:v1", "attempt"),
        ("order:8038-retry2:collect:v1", "attempt"),
        ("order:8038:retry:v1", "attempt"),
        ("order:8038:collect:try_2", "attempt"),
        ("order:8038:pid123:v1", "process"),
        ("order:pid-123:collect:v1", "process"),
        ("order:8038:worker-7:v1", "process"),
        ("order:8038:1722124800:v1", "moment"),
        ("order:8038:1722124800123:v1", "moment"),
        ("1722124800:8038:collect:v1", "moment"),
        ("order:8038:20260728101500:v1", "moment"),
        ("order:8038:2026-07-28t10:v1", "moment"),
        ("order:8038:2026-07-28_1015:v1", "moment"),
    ],
)
def test_what_changes_between_attempts_is_refused(key: str, says: str) -> None:
    with pytest.raises(BadKey, match=says):
        check_key(key)


@pytest.mark.parametrize(
    "key",
    [
        "",
        " order:1:a:v1",
        "order:1:a:v1 ",
        "order:1:\ta:v1",
        "order:1:a\n:v1",
        "order:1:a\x00:v1",
        "order:1\u200b:a:v1",
        "order:1\u202e:a:v1",
        "order:1\u00a0:a:v1",
        "order:\ud800:a:v1",
        "x" * 201,
        "é" * 101,
    ],
    ids=ascii,
)
def test_characters_that_mislead_are_refused(key: str) -> None:
    with pytest.raises(BadKey):
        check_key(key)


def test_two_hundred_bytes_are_the_limit() -> None:
    assert check_key("x" * 200).text == "x" * 200


def test_composed_and_decomposed_letters_are_one_key() -> None:
    composed, decomposed = "caf\u00e9:1:pay:v1", "cafe\u0301:1:pay:v1"
    assert check_key(decomposed) == check_key(composed)
    assert provider_key(TENANT, decomposed) == provider_key(TENANT, composed)
    assert any("NFC" in words for words in lint(decomposed))


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("fee:a:v1", "shape"),
        ("order:1:collect", "version"),
        ("order::collect:v1", "empty"),
        ("order:in 2041:collect:v1", "Plain letters"),
        ("seller:a:2026-07-28:v1", "date"),
        ("payout:worker-7:wage:v1", "process or a moment"),
        ("order:1722124800:collect:v1", "process or a moment"),
        ("Order:1:collect:v1", "Capital"),
    ],
)
def test_an_odd_shape_is_named_and_passes(key: str, words: str) -> None:
    assert check_key(key).text == key
    assert any(words in warning for warning in lint(key))


def test_a_good_key_has_nothing_odd() -> None:
    assert lint("payment:ord_88213:capture:v1") == ()


def test_provider_key_is_a_stable_uuid_of_version_8() -> None:
    key = provider_key(TENANT, "payment:ord_88213:capture:v1")
    # Keys already sent must never change: this value is a promise, not a calculation.
    assert key == UUID("1de550b2-94cc-8e32-8220-59270eb56497")
    assert (key.version, key.variant) == (8, "specified in RFC 4122")


def test_provider_key_refuses_what_check_key_refuses() -> None:
    with pytest.raises(BadKey):
        provider_key(TENANT, "order:1:attempt2:v1")


names = st.from_regex(r"[a-z]{1,2}[0-9]{1,3}", fullmatch=True)
keys = st.builds(
    "{}:{}:{}:v{}".format, st.just("order"), names, st.just("collect"), st.integers(1, 99)
)


@given(st.uuids(), st.uuids(), keys, keys)
def test_provider_keys_differ_exactly_where_tenant_or_key_differ(
    tenant: UUID, other_tenant: UUID, key: str, other: str
) -> None:
    same = (tenant, key) == (other_tenant, other)
    assert (provider_key(tenant, key) == provider_key(other_tenant, other)) == same


@given(st.text(max_size=60))
def test_any_text_passes_normalised_or_is_refused_with_words(key: str) -> None:
    try:
        text = check_key(key).text
    except BadKey as refusal:
        text = str(refusal)
    assert text.endswith(".") or text == unicodedata.normalize("NFC", key) == check_key(text).text
