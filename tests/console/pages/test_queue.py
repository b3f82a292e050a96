"""The queue: order, filters, pages, counts, the pulse, and what an empty list says."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import quote
from uuid import UUID

import psycopg
import pytest

from console.logins import role
from console.queries import asking, queue
from ledger import access, clock, contracts
from ledger.ids import screen_id
from ledger.sql import rows
from tests import builders
from tests.builders import Home
from tests.console.pages.conftest import Browser
from tests.logins import login

pytestmark = pytest.mark.django_db

OF_THE_TEST = 3  # asking for the login, taking it, giving it back
WAITING = """priority key_until rank_minor since finding provider operation amount_minor currency
    escalated_at escalated_to counts_from"""


def waiting(at: Home, **changes: Any) -> UUID:
    """An unknown effect whose row in the queue has these values."""
    row = {name: changes.pop(name) for name in WAITING.split() if name in changes}
    effect_id = builders.unknown(at, **changes)
    with builders.guards_aside() as cursor:
        for name, value in row.items():
            cursor.execute(
                f"update effect_open set {name} = %s where effect_id = %s", [value, effect_id]
            )
    return effect_id


def many(at: Home, count: int) -> None:
    """So many more unknown effects, written past the triggers, for places and plans alone."""
    with builders.guards_aside() as cursor:
        cursor.execute(
            "insert into effect_open (tenant_id, effect_id, state, priority, key_until, rank_minor,"
            " due_at, since, created_at, last_no, looks, intent_key, operation, provider, account,"
            " environment, currency, amount_minor, exclusive)"
            " select %s, gen_random_uuid(), 3, 1 + n %% 4, now() + n %% 97 * interval '1 hour',"
            " -(n %% 1000), now(), now() - n * interval '1 second', now(), 3, 0, 'bulk:' || n"
            " || ':pay:v1', 'pay', 'testbank', 'main', 'test', 'EUR', n %% 1000, false"
            " from generate_series(1, %s) n",
            [at.tenant_id, count],
        )
        cursor.execute("analyze effect_open")


def shown(page: str) -> list[str]:
    """The ids of the rows, from the top."""
    return re.findall(r'data-case="(eff_[a-z2-7]+)"', page)


def ids(*effect_ids: UUID) -> list[str]:
    """Effect ids as the page shows them."""
    return [screen_id(effect_id) for effect_id in effect_ids]


@contextmanager
def counted() -> Iterator[dict[str, int]]:
    """How many statements each database login runs inside the block, whoever's cursor runs them."""
    found = {"web": 0, "auth": 0}
    real = psycopg.Cursor.execute

    def count(cursor: Any, *args: Any, **options: Any) -> Any:
        found["auth" if cursor.connection.info.user == role("auth") else "web"] += 1
        return real(cursor, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", count)
        yield found


def in_hours(hours: float) -> Any:
    """A moment from now."""
    return clock.now() + timedelta(hours=hours)


def test_rows_stand_by_priority_then_key_end_then_amount(operator: Browser) -> None:
    soon, later = in_hours(1), in_hours(9)
    third = waiting(operator.home, priority=2, key_until=soon, rank_minor=-1)
    fourth = waiting(operator.home, priority=2, key_until=later, rank_minor=-9)
    second = waiting(operator.home, priority=1, key_until=later, rank_minor=-5)
    first = waiting(operator.home, priority=1, key_until=later, rank_minor=-7)
    assert shown(operator.page("queue")) == ids(first, second, third, fourth)


@pytest.mark.parametrize(
    ("order", "column", "values"),
    [
        ("amount", "rank_minor", (-900, -50, -2)),
        ("age", "since", (in_hours(-30), in_hours(-20), in_hours(-1))),
        ("key", "key_until", (in_hours(1), in_hours(2), "infinity")),
    ],
)
def test_other_orders_follow_their_column(
    operator: Browser, order: str, column: str, values: tuple[Any, ...]
) -> None:
    made = [waiting(operator.home, **{column: value}) for value in values]
    assert shown(operator.page("queue", query=f"sort={order}")) == ids(*made)


@pytest.mark.parametrize("order", ["priority", "amount", "age", "key", "newest"])
def test_pages_follow_each_other_without_a_gap_or_a_repeat(operator: Browser, order: str) -> None:
    many(operator.home, 120)
    view = "view=open" if order == "newest" else f"sort={order}"
    pages, url = [], f"{operator.url('queue')}?{view}"
    while url:
        page = operator.get(url).content.decode()
        pages.append(shown(page))
        onward = re.search(r'href="([^"]+)" rel="next"', page)
        url = onward[1].replace("&amp;", "&") if onward else ""
    assert [len(one) for one in pages] == [50, 50, 20]
    assert len({row for one in pages for row in one}) == 120
    back = re.search(r'href="([^"]+)" rel="prev"', page)
    assert back is not None
    assert shown(operator.get(back[1].replace("&amp;", "&")).content.decode()) == pages[1]


@pytest.mark.parametrize(
    "place",
    ["nonsense", "1~2~3", "~~~", "99999999~infinity~1~{id}", "1~soon~1~{id}", "1~infinity~x~{id}"],
)
def test_a_broken_place_begins_at_the_start(operator: Browser, place: str) -> None:
    effect_id = waiting(operator.home)
    query = f"after={quote(place.format(id=screen_id(effect_id)))}"
    assert shown(operator.page("queue", query=query)) == ids(effect_id)


def test_tabs_count_what_they_show(operator: Browser) -> None:
    expiring = waiting(operator.home, key_until=in_hours(2))
    named = waiting(operator.home, escalated_at=in_hours(-1), escalated_to="L2")
    builders.prepared(operator.home)
    page = operator.page("queue")
    counts = re.findall(r'<span class="n num[^"]*">([\d,]+)</span></a>', page)
    assert counts == ["2", "1", "1", "3"]
    assert shown(operator.page("queue", query="view=expiring")) == ids(expiring)
    assert shown(operator.page("queue", query="view=escalated")) == ids(named)
    assert len(shown(operator.page("queue", query="view=open"))) == 3


@pytest.mark.parametrize(
    "query",
    [
        "finding=exact",
        "provider=otherbank",
        "operation=refund",
        "amount=gte:500.00-GBP",
        "amount=500+GBP",
        "age=gte:4h",
        "key_left=lt:2h",
        "escalated=yes",
    ],
)
def test_a_filter_in_the_address_leaves_the_rest_out(operator: Browser, query: str) -> None:
    contracts.store(replace(builders.PAY, provider="otherbank", operation="refund"))
    wanted = waiting(
        operator.home,
        finding="exact",
        provider="otherbank",
        operation="refund",
        amount_minor=50_000,
        currency="GBP",
        since=in_hours(-5),
        key_until=in_hours(1),
        escalated_at=in_hours(-1),
    )
    waiting(operator.home, amount_minor=49_999, currency="EUR", key_until=in_hours(20))
    assert shown(operator.page("queue", query=query)) == ids(wanted)


@pytest.mark.parametrize(
    ("query", "notice"),
    [
        ("colour=red", "There is no filter “colour”."),
        ("finding=lost", "“lost” is no value for the filter finding."),
        ("amount=much", "“much” is no value for the filter amount."),
        ("amount=-5+EUR", "is no value for the filter amount."),
        ("age=old", "“old” is no value for the filter age."),
        ("sort=random", "“random” is no value for the filter sort."),
        ("view=mine", "“mine” is no value for the filter view."),
        ("escalated=perhaps", "“perhaps” is no value for the filter escalated."),
        ("provider=a%00b", "is no value for the filter provider."),
        ("chosen=eff_1", "is no value for the filter chosen."),
    ],
)
def test_a_filter_without_meaning_is_named_and_never_dropped_in_silence(
    operator: Browser, query: str, notice: str
) -> None:
    effect_id = waiting(operator.home)
    page = operator.page("queue", query=query)
    assert notice in page.replace("&#x27;", "'")
    assert shown(page) == ids(effect_id)


def test_no_address_becomes_sql(operator: Browser) -> None:
    evil = quote("'; drop table effect; --")
    for name in sorted(asking.KNOWN):
        assert operator.get(f"{operator.url('queue')}?{name}={evil}").status_code == 200


def test_an_empty_queue_says_that_nothing_needs_anybody(operator: Browser) -> None:
    page = operator.page("queue")
    assert "Nothing needs you" in page
    assert "has a proven outcome" in page


def test_filters_that_exclude_all_name_the_one_to_drop(operator: Browser) -> None:
    waiting(operator.home, finding="exact")
    page = operator.page("queue", query="finding=exact&amount=50000+EUR&age=gte:3d")
    assert "No effect matches 3 filters" in page
    one = operator.page("queue", query="finding=exact&amount=50000+EUR")
    assert "No effect matches 2 filters" in one
    assert "1 match without “Amount ≥ 50,000.00 EUR”." in one
    assert re.search(r'href="[^"]*\?finding=exact">Drop that filter', one)


def test_a_difference_is_said_on_the_row(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    builders.look(operator.home, effect_id, {"amount_minor": 200})
    assert "Found 40.00 less" in operator.page("queue")


def test_two_candidates_are_counted_on_the_row(operator: Browser) -> None:
    builders.look(operator.home, builders.unknown(operator.home), {}, {})
    assert "2 candidates" in operator.page("queue")


def test_the_chosen_row_is_previewed_and_marked(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    builders.look(operator.home, effect_id, {})
    page = operator.page("queue", query=f"chosen={screen_id(effect_id)}")
    assert 'aria-current="true"' in page
    assert "Test Bank holds exactly one payment made with our key." in page
    part = operator.get(
        f"{operator.url('queue')}?chosen={screen_id(effect_id)}",
        **{"HX-Request": "true", "HX-Target": "peek"},
    ).content.decode()
    assert "<html" not in part
    assert "Accept the receipt." in part


def test_a_foreign_effect_is_not_previewed(operator: Browser) -> None:
    foreign = builders.unknown(builders.home(), recipient_label="Foreign Customer")
    page = operator.page("queue", query=f"chosen={screen_id(foreign)}")
    assert "Foreign Customer" not in page
    assert "This effect is not here any more." in page


def test_the_pulse_says_how_many_are_new_and_moves_no_row(operator: Browser) -> None:
    waiting(operator.home)
    url = pulse_of(operator.page("queue"))
    assert operator.get(url).status_code == 204
    waiting(operator.home)
    waiting(operator.home)
    answer = operator.get(url)
    text = answer.content.decode()
    assert "2 more — refresh" in text
    assert "data-case" not in text
    assert len(answer.content) <= 1024


def pulse_of(page: str) -> str:
    """The address that the page polls."""
    found = re.search(r'hx-get="([^"]+/pulse[^"]+)"', page)
    assert found is not None
    return found[1].replace("&amp;", "&")


def test_evidence_that_comes_in_shows_in_the_pulse(operator: Browser) -> None:
    effect_id = builders.unknown(operator.home)
    url = pulse_of(operator.page("queue"))
    builders.look(operator.home, effect_id)
    assert "New evidence — refresh" in operator.get(url).content.decode()


def test_the_number_of_statements_does_not_grow_with_the_rows(operator: Browser) -> None:
    waiting(operator.home)
    operator.page("queue")
    with counted() as few:
        operator.page("queue")
    many(operator.home, 200)
    with counted() as much:
        operator.page("queue", query="sort=amount")
    assert few == much
    assert few["web"] == 4 + OF_THE_TEST, few
    assert few["auth"] == 2, few  # session and account


def test_the_count_is_exact_and_capped_at_ten_thousand(operator: Browser) -> None:
    many(operator.home, 1234)
    assert "1,234 effects without a proven outcome" in operator.page("queue")
    assert "50 of 1,234 shown" in operator.page("queue")


@pytest.mark.parametrize("order", ["priority", "amount", "age", "key"])
def test_a_page_is_read_in_index_order_at_any_depth(home: Home, order: str) -> None:
    many(home, 20_000)
    asked = asking.read({"sort": order}, base_currency="EUR")
    with login("web"):
        access.enter(home.tenant_id)
        first = queue.page(home.tenant_id, asked=asked, now=clock.now())
        start = buffers(home, asked)
        deep = asking.read({"sort": order, "after": deep_place(home, order)}, base_currency="EUR")
        there = buffers(home, deep)
    assert len(first.rows) == queue.PAGE
    assert start <= 60, start
    assert there <= 60, there


def deep_place(home: Home, order: str) -> str:
    """The place of the row that stands 15,000 rows down in an order."""
    columns = queue.ORDERS[asking.Sort(order)]
    names = ", ".join(name for name, _ in columns)
    found = rows(
        f"select concat_ws('~', {names}) from effect_open where tenant_id = %s and state = 3"
        f" order by {names} offset 15000 limit 1",
        (home.tenant_id,),
    )
    return str(found[0][0])


def buffers(home: Home, asked: asking.Asked) -> int:
    """How many buffers the page's statement touches."""
    with CaptureStatement() as captured:
        queue.page(home.tenant_id, asked=asked, now=clock.now())
    plan = rows(f"explain (analyze, buffers, format json) {captured.sql}", captured.params)
    top = plan[0][0][0]["Plan"]
    return int(top["Shared Hit Blocks"]) + int(top["Shared Read Blocks"])


class CaptureStatement:
    """Keeps the statement and parameters that the queue sends."""

    sql = ""
    params: tuple[Any, ...] = ()

    def __enter__(self) -> "CaptureStatement":
        self.real = queue.rows

        def keep(statement: str, params: Any = (), **options: Any) -> Any:
            self.sql, self.params = statement, params
            return self.real(statement, params, **options)

        queue.rows = keep  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        queue.rows = self.real  # type: ignore[assignment]
