""" "Not found" proves absence only where every clause holds, and never before it counts."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.absence import absence, counts_from, key_until, retry_until
from ledger.rules.contract import Contract, IntentView, LagKind, Look, Route
from tests.ledger.rules.samples import SENT, after, contract, look, terms, view

SETTLED = 900.0
WINDOW = {"window_from": after(-120), "window_until": after(1_020)}
BY_ATTRIBUTES = {"route": Route.BY_ATTRIBUTES, **WINDOW}


def failed(
    case: IntentView,
    seen: Look,
    promised: Contract,
    *,
    earlier: tuple[datetime, ...] = (),
) -> str:
    """The letters of the clauses that do not hold, in order."""
    clauses = absence(case, seen, promised, now=seen.asked_at, earlier_absences=earlier)
    return "".join(clause.letter for clause in clauses if not clause.holds)


@pytest.mark.parametrize(
    ("name", "case", "seen", "promised", "missing"),
    [
        ("all hold", {}, {}, {}, ""),
        ("at the very moment", {}, {"at": SETTLED}, {}, ""),
        ("one second early", {}, {"at": SETTLED - 1}, {}, "C"),
        ("while under way", {}, {"at": 59}, {}, "BC"),
        ("at the end of under way", {}, {"at": 60}, {}, "C"),
        ("a worker may still send", {"fenced": False}, {}, {}, "A"),
        ("never sent", {"first_dispatch_at": None, "last_dispatch_at": None}, {}, {}, "BC"),
        ("the last of two sendings counts", {"last_dispatch_at": after(600)}, {}, {}, "C"),
        ("pages left unread", {}, {"exhausted": False}, {}, "E"),
        ("another account", {}, {"account": "acct_2"}, {}, "G"),
        ("another environment", {}, {"environment": "test"}, {}, "G"),
        ("route not offered", {}, {}, {"routes": ()}, "CDI"),
        ("not exhaustive", {}, {}, {"routes": (terms(exhaustive=False),)}, "D"),
        ("not authoritative", {}, {}, {"routes": (terms(proves_absence=False),)}, "D"),
        ("no lag", {}, {}, {"routes": (terms(lag_seconds=None),)}, "C"),
        (
            "unpublished lag",
            {},
            {},
            {"routes": (terms(lag_kind=LagKind.UNPUBLISHED),)},
            "CI",
        ),
        ("within reach", {}, {}, {"routes": (terms(reach_back_seconds=1_218),)}, ""),
        ("out of reach", {}, {}, {"routes": (terms(reach_back_seconds=1_217),)}, "F"),
        ("server error, not stored", {"had_server_error": True}, {}, {}, ""),
        ("server error, stored", {"had_server_error": True}, {}, {"stores_5xx": True}, "CH"),
        ("server error, unsaid", {"had_server_error": True}, {}, {"stores_5xx": None}, "CH"),
        (
            "server error long ago",
            {"had_server_error": True},
            {"at": 60 + 259_200},
            {"stores_5xx": True},
            "",
        ),
        ("no server error", {}, {}, {"stores_5xx": True}, ""),
        ("attributes, first look", {}, BY_ATTRIBUTES, {}, "I"),
        (
            "attributes without a window",
            {},
            {"route": Route.BY_ATTRIBUTES},
            {"routes": (terms(Route.BY_ATTRIBUTES),)},
            "E",
        ),
        (
            "window begins too late",
            {},
            {**WINDOW, "window_from": after(-119)},
            {},
            "E",
        ),
        ("window ends too early", {}, {**WINDOW, "window_until": after(179)}, {}, "E"),
        ("window just wide enough", {}, {**WINDOW, "window_until": after(180)}, {}, ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_clause_alone_keeps_absence_unproven(
    name: str,
    case: dict[str, object],
    seen: dict[str, object],
    promised: dict[str, object],
    missing: str,
) -> None:
    told = failed(view(**case), look(**seen), contract(**promised))  # type: ignore[arg-type]
    assert told == missing


@pytest.mark.parametrize(
    ("at", "earlier", "missing"),
    [
        (1_200, (), "I"),
        (1_199, (after(SETTLED),), "I"),
        (1_200, (after(SETTLED),), ""),
        (1_300, (after(SETTLED - 1),), "I"),
        (1_300, (after(1_001),), "I"),
        (1_300, (after(1_000),), ""),
        (1_300, (after(1_400),), "I"),
        (1_300, (after(100), after(950)), ""),
    ],
)
def test_a_soft_route_needs_two_counting_looks_five_minutes_apart(
    at: float, earlier: tuple[datetime, ...], missing: str
) -> None:
    seen = look(
        at=at,
        route=Route.BY_ATTRIBUTES,
        window_from=after(-120),
        window_until=after(at),
    )
    assert failed(view(), seen, contract(), earlier=earlier) == missing


def test_clauses_are_listed_in_order_and_h_only_where_a_server_error_may_live_on() -> None:
    letters = [
        "".join(c.letter for c in absence(view(), look(), contract(stores_5xx=s), now=after(1_098)))
        for s in (False, True, None)
    ]
    assert letters == ["ABCDEFGI", "ABCDEFGHI", "ABCDEFGHI"]


def test_every_clause_says_why() -> None:
    early = look(at=335, account="acct_2")
    words = {
        clause.letter: clause.words.render(lambda moment: moment.strftime("%H:%M:%S"))
        for clause in absence(view(fenced=False), early, contract(), now=after(335))
    }
    assert words["C"] == "Baltic needs 15 min to settle; absence counts from 12:17:44."
    assert words["A"] == "A worker may still send this."
    assert words["G"] == "Asked for another account or environment than it was sent with."
    assert all(text and "{" not in text for text in words.values())


@pytest.mark.parametrize(
    ("window", "margin"),
    [(86_400, 8_640), (3_600, 600), (6_000, 600), (6_010, 601), (60, 600)],
)
def test_the_margin_is_a_tenth_and_at_least_ten_minutes(window: int, margin: int) -> None:
    promised = contract(key_window_seconds=window)
    assert key_until(SENT, promised) == after(window)
    assert retry_until(SENT, promised) == after(window - margin)


def test_without_a_window_or_a_sending_there_is_no_time_for_a_retry() -> None:
    assert key_until(None, contract()) is retry_until(None, contract()) is None
    unpublished = contract(key_window_seconds=None)
    assert key_until(SENT, unpublished) is retry_until(SENT, unpublished) is None


lags = st.integers(0, 7_200)
bounds = st.integers(0, 3_600)


@given(
    lag=lags,
    deadline=bounds,
    in_flight=bounds,
    second_sending=st.integers(0, 5_000),
    asked=st.integers(0, 400_000),
    tainted=st.booleans(),
    stores=st.sampled_from([True, False, None]),
    kind=st.sampled_from(list(LagKind)),
    earlier=st.lists(st.integers(0, 400_000), max_size=3),
)
def test_absence_is_never_proven_before_it_counts_and_waiting_never_unproves_it(
    lag: int,
    deadline: int,
    in_flight: int,
    second_sending: int,
    asked: int,
    tainted: bool,
    stores: bool | None,
    kind: LagKind,
    earlier: list[int],
) -> None:
    route = terms(lag_kind=kind, lag_seconds=lag)
    promised = contract(
        routes=(route,),
        deadline_seconds=deadline,
        max_in_flight_seconds=in_flight,
        stores_5xx=stores,
    )
    case = view(last_dispatch_at=after(second_sending), attempts=2, had_server_error=tainted)
    looks = tuple(after(t) for t in earlier)
    proven = failed(case, look(at=asked), promised, earlier=looks) == ""
    since = counts_from(case, promised, route)
    if proven:
        assert since is not None
        assert after(asked) >= since >= after(second_sending + deadline + in_flight + lag)
        assert kind is not LagKind.UNPUBLISHED
        assert stores is False or not tainted or asked >= 259_200
        assert failed(case, look(at=asked + 1), promised, earlier=looks) == ""


def test_the_clock_at_hand_never_makes_a_look_later_than_it_was() -> None:
    early = look(at=30)
    clauses = absence(view(), early, contract(), now=SENT + timedelta(days=1))
    assert [c.letter for c in clauses if not c.holds] == ["B", "C"]
