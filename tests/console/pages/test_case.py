"""The case file: what stands above the fold, the evidence, and what each decision says."""

import re
from datetime import timedelta
from typing import Any

import pytest

from ledger.ids import screen_id
from ledger.rules.contract import LookFailure, Standing
from tests import builders
from tests.console.pages.conftest import Browser
from tests.console.pages.test_queue import OF_THE_TEST, counted

pytestmark = pytest.mark.django_db


def plain(html: str) -> str:
    """The text of a piece of a page, its blanks pressed together."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def part(page: str, start: str, end: str) -> str:
    """The text between two marks of a page."""
    return plain(page[page.index(start) : page.index(end, page.index(start))])


def test_everything_that_a_decision_needs_stands_in_the_head(operator: Browser) -> None:
    effect_id = builders.unknown(
        operator.home,
        intent_key="invoice:inv-20418:settle:v1",
        workflow_id="wf-20418",
        step_id="settle",
        object_ref="inv-20418",
        amount_minor=1_234_500,
        currency="JPY",
    )
    head = part(operator.case(effect_id), '<header class="chead">', '<div class="cgrid">')
    for words in (
        "Unknown", "Frozen: no retry, no failover", "Test payment · IBAN ending 4471",
        "invoice:inv-20418:settle:v1", "1,234,500 JPY", "Test Bank", "account main",
        "wf-20418", "step settle", "invoice inv-20418", "Last attempt", "Request digest",
    ):  # fmt: skip
        assert words in head


def test_the_digest_is_short_on_screen_and_whole_in_the_copy_button(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    whole = bytes(builders.effect_row(effect_id)["request_digest"]).hex()
    page = operator.case(effect_id)
    assert f'data-copy="sha256:{whole}"' in page
    assert f"{whole[:6]}…{whole[-4:]}" in page


def test_nothing_is_called_proven_before_a_lookup(operator: Browser) -> None:
    page = operator.case(builders.unknown(operator.home))
    assert "Nothing is proven yet." in page
    assert "No lookup has said anything yet." in page
    assert "A timeout says nothing about the outcome." in page


def test_an_exact_match_is_compared_field_by_field(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    found = builders.look(operator.home, effect_id, {})
    page = operator.case(effect_id)
    assert "4 of 4 agree" in page
    assert str(found.object_id) in page
    assert "Next step: accept the receipt" in page
    assert f'<a class="inl" href="#E{found.no}">E{found.no}</a>' in page


def test_a_differing_field_is_marked_with_the_difference(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    builders.look(operator.home, effect_id, {"amount_minor": 4_000})
    page = operator.case(effect_id)
    assert '<tr class="ne">' in page
    assert "Differs: 2.00 less" in page
    assert "3 of 4 agree" in page


def test_candidates_stand_in_a_column_each(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    builders.look(operator.home, effect_id, {"object_id": "obj-a"}, {"object_id": "obj-b"})
    head = part(operator.case(effect_id), '<table class="diff many">', "</thead>")
    assert "obj-a" in head
    assert "obj-b" in head


def test_absence_shows_every_condition_with_its_tick(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home, operation="pay_slowly")
    builders.look(operator.home, effect_id)
    page = operator.case(effect_id)
    clauses = part(page, '<ul class="clauses">', "</ul>")
    assert "A. No sender left : holds." in clauses
    assert "C. Settled : does not hold." in clauses
    assert "absence counts from" in clauses
    assert "too early to count" in page
    assert "Wait until" in page or "wait until" in page


def test_no_retry_and_no_rejection_is_offered_before_absence_counts(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home, operation="pay_slowly")
    builders.look(operator.home, effect_id)
    others = part(operator.case(effect_id), 'aria-labelledby="h-ctl"', "</section>")
    assert "Mark rejected" in others
    assert others.count("Look up again after") == 2
    assert "decide=reject" not in operator.case(effect_id)


def test_a_decision_asked_for_by_name_but_locked_opens_nothing(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    page = operator.case(effect_id, query="decide=reject")
    assert 'name="decision" value="reject"' not in page


def test_evidence_is_numbered_newest_first_and_can_be_turned_round(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    builders.look(operator.home, effect_id)
    newest = re.findall(r'id="(E\d+)"', operator.case(effect_id))
    assert newest == ["E4", "E3", "E2", "E1"]
    assert (
        re.findall(r'id="(E\d+)"', operator.case(effect_id, query="order=oldest")) == newest[::-1]
    )


def test_who_asked_and_what_was_kept_stand_on_a_lookup(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    builders.look(operator.home, effect_id, {"object_id": "obj-77"}, by=operator.home.operator)
    page = operator.case(effect_id)
    assert "Asked by A person." in page
    assert "What was asked and what was kept of the answer" in page
    assert "counts as proof" in page


def test_three_failing_lookups_in_a_row_are_one_item(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    for _ in range(3):
        answer = builders.answer(method="GET", status=503)
        builders.look(operator.home, effect_id, failure=LookFailure.UNREACHABLE, answer=answer)
    page = operator.case(effect_id)
    assert "Lookup failing" in page
    assert "3 times, E4 to E6" in page
    assert len(re.findall(r'id="E\d+"', page)) == 4


def test_a_failed_object_leads_to_the_rejection(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    failed = {"standing": Standing.FAILED_NO_EFFECT, "status": "failed"}
    builders.look(operator.home, effect_id, failed)
    page = operator.case(effect_id)
    assert "Next step: mark rejected" in page
    assert 'name="decision" value="reject"' in page


def test_a_settled_case_offers_nothing_to_settle(operator: Browser) -> None:
    page = operator.case(builders.confirmed(operator.home))
    assert "Next step: nothing to do" in page
    assert "Mark rejected" not in page
    assert "Not possible in this version yet." in page
    assert "Receipt" in page


def test_a_refusal_is_shown_with_its_code_and_what_may_follow(operator: Browser) -> None:
    page = operator.case(builders.declined(operator.home))
    assert "with card_declined, which is definitive" in page
    assert "A new version of the intent may follow." in page


def test_what_was_taken_in_is_never_retried(operator: Browser) -> None:
    page = operator.case(builders.taken_in(operator.home))
    assert "never sent by us" in page
    assert "Taken in" in page


def test_an_effect_in_motion_is_readable(operator: Browser) -> None:
    for effect_id in (
        builders.prepared(operator.home),
        builders.dispatched(operator.home).effect_id,
    ):
        assert "Other decisions" in operator.case(effect_id)


def test_neighbours_say_how_they_are_alike(operator: Browser) -> None:
    like = {"recipient_token": "token-zed", "amount_minor": 7_777}
    effect_id = builders.unknown(operator.home, **like, object_ref="n-1")
    other = builders.confirmed(operator.home, **like, object_ref="n-2")
    builders.confirmed(operator.home, recipient_token="token-else", amount_minor=1)
    near = part(operator.case(effect_id), 'aria-labelledby="h-sim"', "</section>")
    assert "Same recipient and amount" in near
    assert builders.effect_row(other)["intent_key"] in near
    assert near.count("Confirmed") == 1


def test_a_neighbour_of_another_tenant_is_no_neighbour(operator: Browser) -> None:
    like = {"recipient_token": "token-zed", "amount_minor": 7_777}
    builders.confirmed(builders.home(), **like)
    near = part(
        operator.case(builders.unknown(operator.home, **like)),
        'aria-labelledby="h-sim"',
        "</section>",
    )
    assert "None among the 800 effects nearest in time." in near


def test_the_case_comes_from_its_list_and_leads_to_the_next(operator: Browser) -> None:
    made = [builders.unknown(operator.home, amount_minor=amount) for amount in (900, 500, 100)]
    page = operator.page("queue", query="sort=amount")
    links = re.findall(r'<a class="l1 what" href="([^"]+)"', page)
    middle = operator.get(links[1].replace("&amp;", "&")).content.decode()
    before = re.search(r'href="([^"]+)" data-key="k"', middle)
    after = re.search(r'href="([^"]+)" data-key="j"', middle)
    assert before is not None
    assert after is not None
    assert screen_id(made[0]) in before[1]
    assert screen_id(made[2]) in after[1]


def test_hidden_and_reordering_characters_are_shown_by_number(operator: Browser) -> None:
    evil = "Pay\u202eGBP\u200b<b>x</b>"
    effect_id = builders.unknown(operator.home, recipient_label=evil)
    for page in (operator.case(effect_id), operator.page("queue")):
        assert "Pay[U+202E]GBP[U+200B]&lt;b&gt;x&lt;/b&gt;" in page
        assert "\u202e" not in page
        assert "<b>x</b>" not in page


def test_the_sandbox_log_is_linked_outside_production_only(
    operator: Browser, settings: Any
) -> None:
    effect_id = builders.unknown(operator.home)
    assert "_sandbox" not in operator.case(effect_id)  # the test bank is no sandbox
    settings.SANDBOX = False
    assert "_sandbox" not in operator.case(effect_id)


def test_moments_are_written_in_the_zone_of_the_reader(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    account = builders.Account.objects.get(pk=operator.home.operator.account_id)
    for zone, offset in (("UTC", 0), ("Asia/Kolkata", 330)):
        builders.Account.objects.filter(pk=account.pk).update(zone=zone)
        sent = builders.effect_row(effect_id)["last_attempt_at"] + timedelta(minutes=offset)
        page = operator.case(effect_id)
        assert f"{sent:%H:%M:%S}" in part(page, '<dl class="strip">', "</dl>")


def test_the_number_of_statements_does_not_grow_with_the_evidence(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    builders.look(operator.home, effect_id, by=operator.home.operator)
    operator.case(effect_id)
    with counted() as few:
        operator.case(effect_id)
    for _ in range(10):
        builders.look(operator.home, effect_id)
    with counted() as much:
        operator.case(effect_id)
    assert few == much
    assert few["web"] <= 18 + OF_THE_TEST, few


def test_an_effect_that_never_was_is_not_there(operator: Browser) -> None:
    for identity in ("eff_" + "a" * 26, "eff_1", "eff_" + "A" * 26):
        assert operator.get(f"/t/{operator.slug}/effects/{identity}").status_code == 404
