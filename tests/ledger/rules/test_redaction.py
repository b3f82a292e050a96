"""Only allow-listed fields are kept, and no secret or card number among them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.digest import digest
from ledger.rules.redaction import excerpt, find_secrets, scrub

# None of these opens anything: published test numbers and made-up letters.
CARD = "4242 4242 4242 4242"
STRIPE = "sk_" + "live_" + "a1B2c3D4e5F6g7H8"
RANDOM = "Zq8vT3xLr9WmK2pYd7NcB4hJf6GsA1uE"
JWT = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxIn0" + ".c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"charged {CARD} today", "card number"),
        ("4242424242424242", "card number"),
        ("card=378282246310005;", "card number"),
        ("6011-1111-1111-1117", "card number"),
        (f"Authorization: Bearer {RANDOM}", "bearer token"),
        ("authorization: Basic dXNlcjpwYXNzd29yZA==", "bearer token"),
        (STRIPE, "api key"),
        ("AKIA" + "IOSFODNN7EXAMPLE", "api key"),
        ("ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2", "api key"),
        (JWT, "api key"),
        ("pi_3MtwBwLkdIwHu7ix_secret_YrKJUKribcBjcG8HVhfZ", "client secret"),
        ('{"client_secret": "abc123"}', "named secret"),
        ("password=hunter2&x=1", "named secret"),
        ("api_key: k-17", "named secret"),
        ("cvc=123", "named secret"),
        ("Set-Cookie: sid=abc123; HttpOnly", "cookie"),
        ("cookie: a=b", "cookie"),
        ("-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\n", "private key"),
        (f"token {RANDOM} seen", "random token"),
    ],
)
def test_a_secret_is_named_and_removed(text: str, kind: str) -> None:
    assert kind in find_secrets(text)
    cleaned = scrub(text)
    assert "removed]" in cleaned
    assert find_secrets(cleaned) == ()


@pytest.mark.parametrize(
    "text",
    [
        "po_9F4C81D07Q2K",
        "pi_3MtwBwLkdIwHu7ix28a3tqPa",
        "payout:inv_20418:settle:v1",
        "1de550b2-94cc-8e32-8220-59270eb56497",
        digest(b"x").hex(),
        "sha256:" + digest(b"x").hex(),
        "2026-10-14T12:02:44.812345+00:00",
        "12,000.00 EUR",
        "4242 4242 4242 4243",
        "0000000000000000",
        "1729000000000",
        "po_4242424242424242",
        "processing",
        "the token expired yesterday",
        "a secret of the trade",
        "INV-20418 OCT SETTLEMENT",
        "averyveryverylongwordwithoutanydigitsinit",
        "",
    ],
)
def test_what_evidence_needs_is_left_alone(text: str) -> None:
    assert find_secrets(text) == ()
    assert scrub(text) == text


BODY: dict[str, object] = {
    "id": "po_1",
    "status": "paid",
    "amount": 1_200_000,
    "final": True,
    "failure": None,
    "fee": 1.5,
    "creditor": {"name": "Meridian Freight", "iban": "DE00"},
    "lines": [1, 2],
    "note": f"card {CARD}",
    "long": "word " * 100,
}


@pytest.mark.parametrize(
    ("allowed", "kept"),
    [
        ((), {}),
        (("id", "amount"), {"id": "po_1", "amount": 1_200_000}),
        (("final", "failure"), {"final": True, "failure": None}),
        (("missing", "creditor", "lines", "fee"), {}),
        (("creditor.name",), {"creditor.name": "Meridian Freight"}),
        (("creditor.name.first", "creditor.bic", "id.x"), {}),
        (("note",), {"note": "card [card number removed]"}),
    ],
)
def test_only_what_is_allowed_is_kept(allowed: tuple[str, ...], kept: dict[str, object]) -> None:
    assert excerpt(BODY, allowed) == kept


def test_a_long_value_is_cut_visibly() -> None:
    value = excerpt(BODY, ("long",))["long"]
    assert isinstance(value, str)
    assert len(value) == 200
    assert value.endswith("…")


def test_a_secret_at_the_cut_does_not_slip_through() -> None:
    text = "x " * 92 + CARD
    assert "4242" not in str(excerpt({"note": text}, ("note",)))


@given(st.text(max_size=200))
def test_scrubbed_text_holds_no_secret(text: str) -> None:
    assert find_secrets(scrub(text)) == ()


@given(
    st.text("abc :=", max_size=10),
    st.sampled_from([CARD, STRIPE, JWT, RANDOM, "password=hunter22"]),
    st.text("xyz .,", max_size=10),
)
def test_a_secret_is_found_wherever_it_stands(before: str, secret: str, behind: str) -> None:
    text = f"{before} {secret} {behind}"
    assert find_secrets(text)
    assert secret not in scrub(text)


@pytest.mark.parametrize(
    "hostile",
    [
        "4 " * 40_000,
        "a_" * 40_000,
        "cookie:" * 10_000,
        "bearer " * 10_000,
        "eyJ" * 20_000,
        "-----BEGIN PRIVATE KEY-----" * 2_000,
        "secret" * 10_000,
        "A1a" * 30_000,
    ],
    ids=lambda text: text[:8],
)
@pytest.mark.timeout(5)
def test_hostile_text_is_searched_in_linear_time(hostile: str) -> None:
    find_secrets(hostile)
    scrub(hostile)
