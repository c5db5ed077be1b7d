"""Steps of the kernel on a window of a line, held against the same step on the whole line."""

from collections.abc import Iterator
from random import Random

from ontology.changes import Difference, difference
from ontology.entries import Entry
from ontology.fold import apply, fold
from ontology.instants import OPEN_END, OPEN_START, Instant, parse_instant
from ontology.line import Beyond, Extent, Line, Run
from tests.histories import ONE_VALUE, PLAIN, history
from tests.model import Refusal
from tests.property.worlds import entry_of


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
    for position, (op, *_) in enumerate(history(rng, ONE_VALUE if rng.random() > 0.6 else PLAIN), start=1):
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
