"""What should a slot have believed, and when? Its operations folded again, commit by commit. Pure.

The rectangles come from the operations alone, so whoever compares them with what is stored learns whether the
rule that made the stored ones is still the rule.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from ontology.changes import Difference, difference
from ontology.entries import Entry
from ontology.fold import apart, apply, fold
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.line import Beyond, Line, Run


@dataclass(frozen=True, slots=True, order=True)
class Folded:
    """An operation and the recorded times between which it was folded."""

    recorded_from: Instant
    recorded_to: Instant
    entry: Entry


@dataclass(frozen=True, slots=True, order=True)
class Rectangle:
    """A run and the recorded times between which it was believed."""

    run: Run
    recorded_from: Instant
    recorded_to: Instant


def rectangles(operations: Sequence[Folded]) -> list[Rectangle]:
    """Every rectangle of a slot that these operations make, in order."""
    folded = {op.entry: op for op in operations}
    return sorted(
        rectangle for part in apart([*folded]) for rectangle in _rectangles([folded[entry] for entry in part])
    )


def _rectangles(operations: Sequence[Folded]) -> list[Rectangle]:
    coming = [(op.recorded_from, op, True) for op in operations]
    going = [(op.recorded_to, op, False) for op in operations if op.recorded_to != OPEN_END]
    standing: dict[Entry, None] = {}
    line = Line()
    believed: dict[Run, Instant] = {}
    closed: list[Rectangle] = []
    for now, moves in groupby(sorted(coming + going, key=lambda move: move[0]), key=lambda move: move[0]):
        added: list[Entry] = []
        removed: list[Entry] = []
        for _, op, comes in moves:
            (added if comes else removed).append(op.entry)
        line, change = _step(line, standing, added, removed)
        for run in change.closed:
            since = believed.pop(run)
            if since < now:
                closed.append(Rectangle(run, since, now))
        believed |= dict.fromkeys(change.opened, now)
    return closed + [Rectangle(run, since, OPEN_END) for run, since in believed.items()]


def _step(
    line: Line, standing: dict[Entry, None], added: Iterable[Entry], removed: Sequence[Entry]
) -> tuple[Line, Difference]:
    """One commit: the next line and what changed; `standing` is kept up to date, in the order of rule 1."""
    ordered = sorted(added, key=lambda e: e.order)
    last = next(reversed(standing), None)
    if removed or (last is not None and ordered[0].order < last.order):
        left = [e for e in (*standing, *ordered) if e not in set(removed)]
        standing.clear()
        standing |= dict.fromkeys(sorted(left, key=lambda e: e.order))
        after = fold(standing)
        return after, difference(line, after)
    standing |= dict.fromkeys(ordered)
    return line, _append(line, ordered)


def _append(line: Line, entries: Sequence[Entry]) -> Difference:
    """Write operations that come last onto `line`, by way of a window that widens until it is wide enough."""
    named = [t for e in entries for t in (e.start_lo, e.start_hi, e.end_lo, e.end_hi) if OPEN_START < t < OPEN_END]
    start, end = (min(named), max(named)) if named else (OPEN_START, OPEN_END)
    margin = 4
    while True:
        before = line.part(start, end, margin)
        after = before.copy()
        try:
            for entry in entries:
                apply(after, entry)
            change = difference(before, after)
        except Beyond:
            margin *= 8
            continue
        line.put_back(after)
        return change
