"""What an operation changes: only the runs and extents that differ, and never a guess at the edge of a window."""

import pytest

from ontology.changes import Difference, difference
from ontology.entries import Entry
from ontology.fold import apply, fold
from ontology.instants import OPEN_END, OPEN_START, parse_instant
from ontology.line import Beyond, Extent, Line, Run
from tests.property.worlds import entry_of, value_key


def claim(value: str, start: str, end: str | None = None, position: int = 1) -> Entry:
    return entry_of(
        {"op": "assert", "subject": "s", "predicate": "p", "value": value, "valid_from": start, "valid_to": end},
        True,
        parse_instant("2030-01-01"),
        position,
    )


def run(value: str, start: str, end: str | None = None) -> Run:
    return Run(parse_instant(start), OPEN_END if end is None else parse_instant(end), value_key(value), True)


def extent(entry: Entry, start: str, end: str | None = None) -> Extent:
    return Extent(entry, parse_instant(start), OPEN_END if end is None else parse_instant(end))


OLD = claim("a", "2020-01-01")


def test_equal_lines_differ_in_nothing() -> None:
    line = fold([OLD])
    assert difference(line, line.copy()) == Difference(closed=[], opened=[], hidden=[], shown=[])


def test_a_change_closes_what_it_cuts_and_opens_what_is_left() -> None:
    new = claim("b", "2022-01-01", position=2)
    assert difference(fold([OLD]), fold([OLD, new])) == Difference(
        closed=[run("a", "2020-01-01")],
        opened=[run("a", "2020-01-01", "2022-01-01"), run("b", "2022-01-01")],
        hidden=[extent(OLD, "2020-01-01")],
        shown=[extent(OLD, "2020-01-01", "2022-01-01"), extent(new, "2022-01-01")],
    )


def test_a_reinforcement_shows_a_claim_and_touches_no_version() -> None:
    again = claim("a", "2021-01-01", position=2)
    assert difference(fold([OLD]), fold([OLD, again])) == Difference(
        closed=[], opened=[], hidden=[], shown=[extent(again, "2021-01-01")]
    )


def test_periods_that_come_to_touch_become_one_version() -> None:
    first = claim("a", "2020-01-01", "2021-01-01")
    second = claim("a", "2021-01-01", "2022-01-01", position=2)
    change = difference(fold([first]), fold([first, second]))
    assert change.closed == [run("a", "2020-01-01", "2021-01-01")]
    assert change.opened == [run("a", "2020-01-01", "2022-01-01")]
    assert (change.hidden, change.shown) == ([], [extent(second, "2021-01-01", "2022-01-01")])


def test_lists_are_in_the_order_of_time() -> None:
    new = claim("b", "2022-01-01", "2023-01-01", position=2)
    opened = difference(fold([OLD]), fold([OLD, new])).opened
    assert [r.valid_from for r in opened] == sorted(r.valid_from for r in opened)


def windowed(start: str, end: str) -> Line:
    line = fold([OLD])
    return Line.of((parse_instant(start), parse_instant(end)), line.runs(), line.extents())


@pytest.mark.parametrize("start", ["2021-01-01", "2022-01-01"])
def test_a_change_that_reaches_the_start_of_its_window_may_go_on_before(start: str) -> None:
    before = windowed(start, "2024-01-01")
    after = before.copy()
    apply(after, claim("b", "2022-01-01", "2023-01-01", position=2))
    with pytest.raises(Beyond):
        difference(before, after)


def test_a_change_that_reaches_the_end_of_its_window_may_go_on_after() -> None:
    before = windowed("2019-01-01", "2024-01-01")
    after = before.copy()
    apply(after, claim("b", "2022-01-01", "2023-01-01", position=2))
    with pytest.raises(Beyond):
        difference(before, after)


def test_a_change_that_reaches_the_end_of_the_world_is_whole() -> None:
    change = difference(Line(), fold([claim("a", "-infinity", "infinity")]))
    assert change.opened == [Run(OPEN_START, OPEN_END, value_key("a"), True)]


def test_what_reaches_the_edge_unchanged_is_no_change() -> None:
    bounded = claim("b", "2022-01-01", "2023-01-01")
    line = fold([bounded])
    before = Line.of((parse_instant("2022-06-01"), OPEN_END), line.runs(), line.extents())
    after = before.copy()
    apply(after, claim("b", "2024-01-01", position=2))
    assert difference(before, after).opened == [run("b", "2024-01-01")]
