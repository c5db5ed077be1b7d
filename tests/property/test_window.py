"""A step on a window of a line is right or not computed: it changes what the same step on the whole line changes."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ontology.entries import Entry
from ontology.fold import fold
from ontology.instants import Instant, format_instant, parse_instant
from ontology.line import Beyond, Line
from tests.property.windows import check_window, random_entries, step
from tests.property.worlds import entry_of


@given(rng=st.randoms(use_true_random=False))
def test_a_step_on_a_window_changes_what_the_whole_fold_changes(rng: Random) -> None:
    check_window(rng)


def test_some_windows_are_wide_enough_and_some_are_not() -> None:
    """Else the property above would hold of a kernel that always asks for more, or was never asked for less."""
    tried = 200
    narrow = sum(check_window(Random(seed)) for seed in range(tried))
    assert tried < narrow < 4 * tried


def test_the_rows_of_a_line_give_the_line_again() -> None:
    for seed in range(200):
        line = fold(random_entries(Random(seed)))
        twin = Line.of(line.window, line.runs(), line.extents())
        assert twin.runs() == line.runs()
        assert set(twin.extents()) == set(line.extents())


def test_an_exact_open_assertion_reads_little_of_a_long_slot() -> None:
    """In a slot of 3,000 periods each new one needs a window of four, wherever it falls (time page, storage hints)."""
    day = parse_instant("2020-01-02") - parse_instant("2020-01-01")
    first = parse_instant("2000-01-01")
    entries = [_open(Instant(first + 2 * n * day), f"v{n % 7}", n + 1) for n in range(3_000)]
    line = fold(entries)
    for n in (10, 1_500, 2_990):
        new = _open(Instant(first + (2 * n + 1) * day), "new", 4_000)
        around = Instant(first + (2 * n - 2) * day), Instant(first + (2 * n + 6) * day)
        change = step(line, around, new, alone=False)
        assert [(r.valid_from, r.valid_to) for r in change.opened] == [
            (first + 2 * n * day, new.start_lo),
            (new.start_lo, first + (2 * n + 2) * day),
        ]


def test_a_window_that_ends_inside_a_change_is_too_narrow() -> None:
    first = parse_instant("2020-01-01")
    line = fold([_open(first, "x", 1)])
    new = _open(parse_instant("2021-01-01"), "y", 2)
    with pytest.raises(Beyond):
        step(line, (parse_instant("2020-06-01"), parse_instant("2022-01-01")), new, alone=False)


def _open(start: Instant, value: str, position: int) -> Entry:
    return entry_of(
        {"op": "assert", "subject": "s", "predicate": "p", "value": value, "valid_from": format_instant(start)},
        True,
        parse_instant("2030-01-01"),
        position,
    )
