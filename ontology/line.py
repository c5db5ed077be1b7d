"""The belief of one slot along valid time: cells that hold, for each value, how surely and by which claims.

A line may be a window onto a longer one. Whoever asks it about what lies outside gets `Beyond`, so a step
that was computed on a window is either right or not computed.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ontology.entries import Entry
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.values import ValueKey


class Beyond(Exception):
    """The window is too narrow to tell."""


class Held(NamedTuple):
    """How one value is held in a cell."""

    certain: bool
    seen: tuple[Entry, ...]
    """The claims that make it show here."""


Cell = dict[ValueKey, Held]


class Run(NamedTuple):
    """A maximal stretch of valid time over which one value is held with one certainty."""

    valid_from: Instant
    valid_to: Instant
    value: ValueKey
    certain: bool


class Extent(NamedTuple):
    """A stretch, inside one run, over which a claim shows."""

    entry: Entry
    valid_from: Instant
    valid_to: Instant


class Line:
    """Cells between increasing `cuts`; the first and the last cut are the window."""

    __slots__ = ("_cells", "_cuts")

    def __init__(self, start: Instant = OPEN_START, end: Instant = OPEN_END) -> None:
        self._cuts: list[Instant] = [start, end]
        self._cells: list[Cell] = [{}]

    @classmethod
    def of(cls, window: tuple[Instant, Instant], runs: Iterable[Run], extents: Iterable[Extent]) -> "Line":
        """The line over `window` that has these runs and extents, which may reach beyond it."""
        line = cls(*window)
        rows, shows = list(runs), list(extents)
        pieces: list[Run | Extent] = [*rows, *shows]
        inner = {t for piece in pieces for t in (piece.valid_from, piece.valid_to) if window[0] < t < window[1]}
        line._cuts = [window[0], *sorted(inner), window[1]]
        line._cells = [{} for _ in line._cuts[1:]]
        for run in rows:
            for cell in line._cells[line._reach(run.valid_from) : line._reach(run.valid_to)]:
                cell[run.value] = Held(run.certain, ())
        for extent in shows:
            value = extent.entry.value
            if value is None:
                raise TypeError("a retraction shows nowhere")
            for cell in line._cells[line._reach(extent.valid_from) : line._reach(extent.valid_to)]:
                certain, seen = cell[value]
                cell[value] = Held(certain, (*seen, extent.entry))
        return line

    def copy(self) -> "Line":
        """A line of its own; cells are shared until one is written."""
        twin = Line()
        twin._cuts = self._cuts.copy()
        twin._cells = [cell.copy() for cell in self._cells]
        return twin

    def part(self, start: Instant, end: Instant, margin: int) -> "Line":
        """A window of its own onto the cells that meet `[start, end]`, with `margin` cells more on each side."""
        first = max(bisect_right(self._cuts, start) - 1 - margin, 0)
        after = min(bisect_left(self._cuts, end) + 1 + margin, len(self._cells))
        window = Line()
        window._cuts = self._cuts[first : after + 1]
        window._cells = [cell.copy() for cell in self._cells[first:after]]
        return window

    def put_back(self, part: "Line") -> None:
        """Let the cells of `part` take the place of those in its window."""
        start, end = part.window
        first, after = bisect_left(self._cuts, start), bisect_left(self._cuts, end)
        self._cuts[first:after] = part._cuts[:-1]
        self._cells[first:after] = part._cells

    @property
    def window(self) -> tuple[Instant, Instant]:
        return self._cuts[0], self._cuts[-1]

    def at(self, instant: Instant) -> Cell:
        """The cell that holds `instant`."""
        return self._cells[self._index(instant)]

    def cells(self, start: Instant, end: Instant = OPEN_END) -> Iterator[tuple[Instant, Instant, Cell]]:
        """The cells from the one that holds `start`, up to `end`, as (from, to, cell).

        Raises `Beyond` when the caller wants more than the window has.
        """
        index = self._index(start)
        while index < len(self._cells) and self._cuts[index] < end:
            yield self._cuts[index], self._cuts[index + 1], self._cells[index]
            index += 1
        if self._cuts[-1] < end:
            raise Beyond

    def cells_before(self, instant: Instant) -> Iterator[tuple[Instant, Instant, Cell]]:
        """The cells that begin before `instant`, latest first. Raises `Beyond` as `cells` does."""
        if instant > self._cuts[-1]:
            raise Beyond
        for index in range(min(bisect_left(self._cuts, instant), len(self._cells)) - 1, -1, -1):
            yield self._cuts[index], self._cuts[index + 1], self._cells[index]
        if self._cuts[0] > OPEN_START:
            raise Beyond

    def cut(self, *instants: Instant) -> None:
        """Make a cell begin at each of `instants` that lies inside the window."""
        for instant in instants:
            if self._cuts[0] < instant < self._cuts[-1]:
                index = bisect_right(self._cuts, instant) - 1
                if self._cuts[index] != instant:
                    self._cuts.insert(index + 1, instant)
                    self._cells.insert(index + 1, self._cells[index].copy())

    def span(self, start: Instant, end: Instant) -> Iterator[tuple[Instant, Cell]]:
        """The cells of `[start, end)`, cut at both ends, as (from, cell); they may be written.

        Raises `Beyond` before the first one where the window does not hold them all.
        """
        if start >= end:
            return
        if start < self._cuts[0] or end > self._cuts[-1]:
            raise Beyond
        self.cut(start, end)
        first, after = bisect_left(self._cuts, start), bisect_left(self._cuts, end)
        yield from zip(self._cuts[first:after], self._cells[first:after], strict=True)

    def runs(self) -> list[Run]:
        """The maximal runs of one value and one certainty, by (from, to, value)."""
        return sorted(run for run, _ in self._shown())

    def extents(self) -> Iterator[Extent]:
        """Where each claim shows, cut at the ends of runs."""
        for run, cells in self._shown():
            opened: dict[Entry, Instant] = {}
            for start, _, cell in cells:
                seen = cell[run.value].seen
                for entry in [e for e in opened if e not in seen]:
                    yield Extent(entry, opened.pop(entry), start)
                for entry in seen:
                    opened.setdefault(entry, start)
            for entry, start in opened.items():
                yield Extent(entry, start, run.valid_to)

    def _shown(self) -> Iterator[tuple[Run, list[tuple[Instant, Instant, Cell]]]]:
        """Each run with its cells, in the order in which runs end."""
        running: dict[tuple[ValueKey, bool], list[tuple[Instant, Instant, Cell]]] = {}
        for index, cell in enumerate(self._cells):
            here = {(value, held.certain) for value, held in cell.items()}
            for key in [k for k in running if k not in here]:
                yield _ended(key, running.pop(key))
            for key in here:
                running.setdefault(key, []).append((self._cuts[index], self._cuts[index + 1], cell))
        for key, cells in running.items():
            yield _ended(key, cells)

    def _reach(self, instant: Instant) -> int:
        """The index of the first cell that begins at or after `instant`."""
        return min(bisect_left(self._cuts, instant), len(self._cells))

    def _index(self, instant: Instant) -> int:
        if not self._cuts[0] <= instant < self._cuts[-1]:
            raise Beyond
        return bisect_right(self._cuts, instant) - 1


def _ended(
    key: tuple[ValueKey, bool], cells: list[tuple[Instant, Instant, Cell]]
) -> tuple[Run, list[tuple[Instant, Instant, Cell]]]:
    return Run(cells[0][0], cells[-1][1], key[0], key[1]), cells
