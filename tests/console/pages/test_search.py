"""One box for every id: exact ones lead to the case, others to a list that says why."""

from urllib.parse import quote
from uuid import UUID

import pytest
from django.http import HttpResponse

from ledger.ids import screen_id
from tests import builders
from tests.console.pages.conftest import Browser

pytestmark = pytest.mark.django_db


def find(browser: Browser, text: str) -> HttpResponse:
    """The answer to the box."""
    return browser.get(f"{browser.url('search')}?q={quote(text)}")


def leads_to(answer: HttpResponse, effect_id: UUID) -> bool:
    """Whether the answer goes straight to this case."""
    return answer.status_code == 302 and answer.headers["Location"].endswith(screen_id(effect_id))


def test_every_id_of_an_effect_leads_straight_to_it(operator: Browser) -> None:
    effect_id = builders.confirmed(
        operator.home, workflow_id="wf-only", found={"object_id": "ch-1"}
    )
    row = builders.effect_row(effect_id)
    for text in (
        screen_id(effect_id), str(effect_id), row["intent_key"], "ch-1", "wf-only", "  ch-1 ",
    ):  # fmt: skip
        assert leads_to(find(operator, text), effect_id), text


def test_the_object_of_one_open_effect_leads_straight_to_it(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home, object_ref="inv-5")
    assert leads_to(find(operator, "inv-5"), effect_id)


def test_a_request_id_leads_to_its_case(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    builders.look(
        operator.home, effect_id, answer=builders.answer(method="GET", request_id="req-abc")
    )
    assert leads_to(find(operator, "req-abc"), effect_id)


def test_a_workflow_with_several_effects_is_listed(operator: Browser) -> None:
    made = [builders.confirmed(operator.home, workflow_id="wf-two") for _ in range(2)]
    page = find(operator, "wf-two").content.decode()
    assert all(screen_id(effect_id) in page for effect_id in made)
    assert "matches its workflow" in page


def test_the_beginning_of_a_key_is_listed_as_that(operator: Browser) -> None:
    effect_id = builders.confirmed(operator.home, intent_key="invoice:zz-1:pay:v1")
    builders.confirmed(operator.home, intent_key="invoice:zy-1:pay:v1")
    page = find(operator, "invoice:zz").content.decode()
    assert "intent key begins so" in page
    assert screen_id(effect_id) in page
    assert "zy-1" not in page


@pytest.mark.parametrize("text", ["1234.56", "1,234.56", "1.234,56", "1 234.56 EUR", "1234.56EUR"])
def test_an_amount_is_found_however_it_is_written(operator: Browser, text: str) -> None:
    wanted = builders.unknown(operator.home, amount_minor=123_456)
    builders.unknown(operator.home, amount_minor=123_457)
    page = find(operator, text).content.decode()
    assert "matches its amount" in page
    assert screen_id(wanted) in page
    assert page.count("matches its") == 1


def test_an_amount_without_a_currency_is_read_by_each_currency_s_decimals(
    operator: Browser,
) -> None:
    euro = builders.unknown(operator.home, amount_minor=1_200_000, currency="EUR")
    yen = builders.unknown(operator.home, amount_minor=12_000, currency="JPY")
    builders.unknown(operator.home, amount_minor=12_000, currency="EUR")
    page = find(operator, "12000").content.decode()
    assert screen_id(euro) in page
    assert screen_id(yen) in page
    assert page.count("matches its amount") == 2


def test_a_recipient_is_found_by_part_of_the_name_and_wildcards_are_letters(
    operator: Browser,
) -> None:
    effect_id = builders.unknown(operator.home, recipient_label="Halden 100%_Marine")
    builders.unknown(operator.home, recipient_label="Halden 100 Marine")
    page = find(operator, "100%_mar").content.decode()
    assert screen_id(effect_id) in page
    assert page.count("recipient&#x27;s name") == 1
    assert "Nothing found" in find(operator, "%%%").content.decode()


def test_nothing_found_says_what_was_tried(operator: Browser) -> None:
    page = find(operator, "no-such-thing").content.decode()
    assert "Nothing found" in page
    assert "provider object id and provider request id" in page


def test_another_tenant_s_effect_is_not_found(operator: Browser) -> None:
    foreign = builders.confirmed(builders.home(), found={"object_id": "ch-foreign"})
    for text in (screen_id(foreign), "ch-foreign"):
        assert "Nothing found" in find(operator, text).content.decode()


@pytest.mark.parametrize(
    "text", ["", " ", "\0", "a\0b", "'", "%", "\\", "eff_", "9" * 300, "١٢٣", "<script>x</script>"]
)
def test_odd_text_is_answered_with_a_page(operator: Browser, text: str) -> None:
    answer = find(operator, text)
    assert answer.status_code == 200
    assert b"<script>x" not in answer.content
