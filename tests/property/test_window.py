"""A step on a window of a line is right or not computed: it changes what the same step on the whole line changes."""

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ontology.changes import Difference, difference
from ontology.entries import Entry
from ontology.fold import apply, fold
from ontology.instants import OPEN_END, OPEN_START, Instant, format_instant, parse_instant
from ontology.line import Beyond, Extent, Line, Run
from tests.histories import Mix, history
from tests.model import Refusal
from tests.property.worlds import entry_of

WINDOWED = Mix(length_max=10, corrections=0, retracts=0.15)


@given(rng=st.randoms(use_true_random=False))
def test_a_step_on_a_window_changes_what_the_whole_fold_changes(rng: Random) -> None:
    check_window(rng)


def check_window(rng: Random) -> int:
    """Try narrow windows first, then wider ones; gives how many were too narrow."""
    entries = random_entries(rng)
    *older, new = entries
    before, after = fold(older), fold(entries)
    stepped = before.copy()
    apply(stepped, new)
    assert stepped.runs() == after.runs()
    assert set(stepped.extents()) == set(after.extents())
    wanted = difference(before, after)
    alone = not new.functional and new.value is not None and rng.random() < 0.5
    narrow = 0
    for window in random_windows(rng, before, new):
        try:
            got = step(before, window, new, alone=alone)
        except Beyond:
            narrow += 1
            continue
        assert got == wanted, (window, new)
    return narrow


def random_entries(rng: Random) -> list[Entry]:
    """At least one entry, in the order of rule 1."""
    functional = rng.random() < 0.6
    entries: list[Entry] = []
    for position, (op, *_) in enumerate(history(rng, WINDOWED), start=1):
        observed = parse_instant(op.get("observed_at") or op["recorded_at"])
        try:
            entries.append(entry_of(op, functional, observed, position))
        except Refusal:
            continue
    if not entries:
        return random_entries(Random(0))
    return sorted(entries, key=lambda e: e.order)


def random_windows(rng: Random, line: Line, new: Entry) -> Iterator[tuple[Instant, Instant]]:
    """Five windows that hold what the entry names, cut at any instant of the line or beside one, and the whole."""
    cuts = {t for run in line.runs() for t in (run.valid_from, run.valid_to)} | {new.observed_at}
    named = {t for t in (new.start_lo, new.start_hi, new.end_lo, new.end_hi) if OPEN_START < t < OPEN_END}
    near = sorted({Instant(t + d) for t in cuts | named for d in (-1, 0, 1) if OPEN_START < t < OPEN_END})
    lowest, highest = min(named, default=OPEN_END), max(named, default=OPEN_START)
    for _ in range(5):
        start = rng.choice([OPEN_START, *[t for t in near if t <= lowest]])
        end = rng.choice([OPEN_END, *[t for t in near if t >= highest]])
        if start < end:
            yield start, end
    yield OPEN_START, OPEN_END


def step(whole: Line, window: tuple[Instant, Instant], new: Entry, *, alone: bool) -> Difference:
    """The step on the rows that a store would read for a window; `alone`, on those of the value alone."""
    start, end = window

    def meets(piece: Run | Extent) -> bool:
        return piece.valid_from < end and start < piece.valid_to

    rows = [run for run in whole.runs() if meets(run) and not (alone and run.value != new.value)]
    shows = [e for e in whole.extents() if meets(e) and not (alone and e.entry.value != new.value)]
    before = Line.of(window, rows, shows)
    after = before.copy()
    apply(after, new)
    return difference(before, after)


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
