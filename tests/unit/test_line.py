"""Cells of valid time: where they are cut, what they give back, and that a window never guesses."""

from collections.abc import Callable

import pytest

from ontology.entries import Entry
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.line import Beyond, Extent, Held, Line, Run
from ontology.values import ValueKey
from tests.property.worlds import entry_of

A, B = ValueKey(b"a"), ValueKey(b"b")


def claim(value: str, position: int = 1) -> Entry:
    said = {"op": "assert", "subject": "s", "predicate": "p", "value": value, "valid_from": "2020-01-01"}
    return entry_of(said, True, 0, position)  # type: ignore[arg-type]


def run(start: int, end: int, value: ValueKey = A, *, certain: bool = True) -> Run:
    return Run(Instant(start), Instant(end), value, certain)


def extent(entry: Entry, start: int, end: int) -> Extent:
    return Extent(entry, Instant(start), Instant(end))


def window(start: int, end: int, *runs: Run) -> Line:
    return Line.of((Instant(start), Instant(end)), runs, [])


def test_an_empty_line_is_one_cell_from_open_start_to_open_end() -> None:
    assert list(Line().cells(OPEN_START)) == [(OPEN_START, OPEN_END, {})]
    assert Line().runs() == []


def test_a_cut_splits_the_cell_that_holds_its_instant_and_keeps_what_it_holds() -> None:
    line = Line.of((OPEN_START, OPEN_END), [run(0, 10)], [])
    line.cut(Instant(4))
    assert [(start, end) for start, end, cell in line.cells(Instant(0), Instant(10)) if A in cell] == [(0, 4), (4, 10)]
    assert line.runs() == [run(0, 10)]


def test_a_cut_at_an_edge_or_outside_does_nothing() -> None:
    line = window(0, 10)
    line.cut(Instant(0), Instant(10), Instant(-1), Instant(11))
    assert list(line.cells(Instant(0), Instant(10))) == [(0, 10, {})]


def test_cells_that_are_cut_apart_share_nothing() -> None:
    line = window(0, 10, run(0, 10))
    line.cut(Instant(5))
    del line.at(Instant(5))[A]
    assert line.runs() == [run(0, 5)]


def test_a_cell_holds_its_first_instant_and_not_its_last() -> None:
    line = window(-5, 20, run(0, 10))
    assert A in line.at(Instant(0))
    assert A not in line.at(Instant(10))
    assert A not in line.at(Instant(-1))


def test_span_gives_the_cells_of_a_stretch_cut_at_both_ends() -> None:
    line = window(0, 20, run(0, 10))
    assert [start for start, _ in line.span(Instant(5), Instant(15))] == [5, 10]


def test_an_empty_span_is_empty_even_outside_the_window() -> None:
    assert list(window(0, 20).span(Instant(30), Instant(30))) == []
    assert list(window(0, 20).span(Instant(40), Instant(30))) == []


def test_cells_before_come_latest_first_and_without_the_one_that_begins_there() -> None:
    line = Line.of((OPEN_START, OPEN_END), [run(0, 10)], [])
    assert [start for start, _, _ in line.cells_before(Instant(10))] == [0, OPEN_START]
    assert [start for start, _, _ in line.cells_before(Instant(11))] == [10, 0, OPEN_START]


@pytest.mark.parametrize(
    "ask",
    [
        lambda line: line.at(Instant(-1)),
        lambda line: line.at(Instant(20)),
        lambda line: list(line.cells(Instant(-1))),
        lambda line: list(line.cells(Instant(5))),
        lambda line: list(line.cells(Instant(5), Instant(21))),
        lambda line: list(line.cells_before(Instant(5))),
        lambda line: list(line.cells_before(Instant(21))),
        lambda line: list(line.span(Instant(-1), Instant(5))),
        lambda line: list(line.span(Instant(5), Instant(21))),
    ],
)
def test_a_window_says_so_when_it_is_asked_for_more_than_it_has(ask: Callable[[Line], object]) -> None:
    with pytest.raises(Beyond):
        ask(window(0, 20, run(0, 10)))


def test_a_window_answers_what_lies_inside_it() -> None:
    line = window(0, 20, run(0, 10))
    assert len(list(line.cells(Instant(5), Instant(20)))) == 2
    assert next(iter(line.cells_before(Instant(5))))[0] == 0  # whoever stops here never leaves the window


def test_span_writes_nothing_before_it_finds_the_window_too_narrow() -> None:
    line = window(0, 20, run(0, 10))
    with pytest.raises(Beyond):
        list(line.span(Instant(5), Instant(30)))
    assert len(list(line.cells(Instant(0), Instant(20)))) == 2


def test_rows_that_reach_beyond_a_window_are_cut_to_it() -> None:
    assert window(5, 20, run(0, 10), run(15, 30, B)).runs() == [run(5, 10), run(15, 20, B)]


def test_neighbouring_cells_of_one_value_and_certainty_are_one_run() -> None:
    line = window(0, 20, run(0, 10), run(10, 20))
    assert line.runs() == [run(0, 20)]


def test_a_change_of_certainty_is_an_edge() -> None:
    possible = run(10, 20, certain=False)
    assert window(0, 20, run(0, 10), possible).runs() == [run(0, 10), possible]


def test_runs_come_by_start_end_and_value() -> None:
    line = window(0, 20, run(5, 10, B), run(0, 20, A, certain=False), run(15, 20, B))
    assert line.runs() == [run(0, 20, A, certain=False), run(5, 10, B), run(15, 20, B)]


def test_extents_tell_where_each_claim_shows_cut_at_the_ends_of_runs() -> None:
    one, two = claim("a", 1), claim("a", 2)
    line = Line.of(
        (OPEN_START, OPEN_END),
        [run(0, 10), run(10, 20, certain=False)],
        [extent(one, 0, 10), extent(one, 10, 20), extent(two, 5, 10)],
    )
    assert set(line.extents()) == {extent(one, 0, 10), extent(one, 10, 20), extent(two, 5, 10)}


def test_an_extent_that_stops_inside_a_run_leaves_the_run_whole() -> None:
    one, two = claim("a", 1), claim("a", 2)
    line = Line.of((OPEN_START, OPEN_END), [run(0, 20)], [extent(one, 0, 5), extent(two, 5, 20)])
    assert line.runs() == [run(0, 20)]
    assert set(line.extents()) == {extent(one, 0, 5), extent(two, 5, 20)}


def test_a_retraction_shows_nowhere() -> None:
    hole = entry_of({"op": "retract", "subject": "s", "predicate": "p"}, True, 0, 1)
    with pytest.raises(TypeError, match="shows nowhere"):
        Line.of((OPEN_START, OPEN_END), [run(0, 20)], [extent(hole, 0, 5)])


def test_a_copy_is_written_without_a_trace_in_the_original() -> None:
    line = window(0, 20, run(0, 10))
    twin = line.copy()
    for _, cell in twin.span(Instant(2), Instant(4)):
        cell[B] = Held(True, ())
    assert line.runs() == [run(0, 10)]
    assert twin.runs() == [run(0, 10), run(2, 4, B)]
    assert twin.window == (0, 20)
