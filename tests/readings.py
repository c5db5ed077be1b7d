"""Every question of the time page, answered from nothing but the list of all versions of a slot (rule 16).

A version is a rectangle of valid × recorded time. Whoever has them all has every answer; that is what each
world of the tests is asked for, and what its own answers must agree with.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.intervals import Interval, coalesce, intersect, subtract

Key = tuple[str, str]
"""Subject and predicate."""

Path = tuple[tuple[str, ...], Interval]
"""The nodes of a path, and when all of its edges hold."""


class Rectangle(NamedTuple):
    """One version: a value held with one certainty over valid time × recorded time."""

    recorded_from: int
    valid_from: int
    valid_to: int
    recorded_to: int
    value: str
    certain: bool

    def known(self, known_at: int) -> bool:
        return self.recorded_from <= known_at < self.recorded_to

    def holds(self, valid_at: int) -> bool:
        return self.valid_from <= valid_at < self.valid_to

    @property
    def valid(self) -> Interval:
        return Interval(Instant(self.valid_from), Instant(self.valid_to))


class Period(NamedTuple):
    """A stretch of valid time over which a value holds."""

    valid_from: int
    value: str
    valid_to: int


class Readings(ABC):
    """Answers about slots of which somebody knows all versions. `known_at=None` asks for what is known now."""

    @abstractmethod
    def slots(self) -> list[Key]:
        """Every slot that was ever written to, in order."""

    @abstractmethod
    def audit(self, key: Key) -> list[Rectangle]:
        """Every version there ever was of a slot, in order."""

    def visible(self, key: Key, known_at: int | None = None) -> list[Rectangle]:
        """The versions that were believed at one recorded time."""
        at = OPEN_END - 1 if known_at is None else known_at
        return [row for row in self.audit(key) if row.known(at)]

    def state(self, key: Key, valid_at: int, known_at: int | None = None) -> dict[str, bool]:
        """Which values hold, and whether certainly."""
        return {row.value: row.certain for row in self.visible(key, known_at) if row.holds(valid_at)}

    def history(self, key: Key, known_at: int | None = None, *, certain: bool = False) -> list[Period]:
        """The unbroken periods over which each value holds: certainly, or at all."""
        return _periods(row for row in self.visible(key, known_at) if row.certain or not certain)

    def belief(self, key: Key, valid_at: int) -> list[tuple[int, str, int]]:
        """(recorded from, value, recorded to) of what was held about one instant."""
        rows = [row for row in self.audit(key) if row.holds(valid_at)]
        return sorted(
            (held.start, value, held.end)
            for value in {row.value for row in rows}
            for held in coalesce(_recorded(row) for row in rows if row.value == value)
        )

    def diff(self, key: Key, known_from: int, known_to: int) -> tuple[list[Period], list[Period]]:
        """(added, removed): the net difference of two beliefs, whatever their certainty."""
        old, new = self.visible(key, known_from), self.visible(key, known_to)
        return _without(new, old), _without(old, new)

    def log(self, key: Key, known_from: int, known_to: int) -> list[tuple[int, bool, Rectangle]]:
        """(when, whether it opened, version) of each one opened or closed in `(known_from, known_to]`."""
        return sorted(
            (when, opened, row)
            for row in self.audit(key)
            for when, opened in ((row.recorded_from, True), (row.recorded_to, False))
            if known_from < when <= known_to and when != OPEN_END
        )

    def changes(
        self, key: Key, after: int, until: int, known_at: int | None = None
    ) -> list[tuple[int, list[str], list[str]]]:
        """(at, ended, started) of each change of the world in `(after, until]`."""
        periods = self.history(key, known_at)
        found = {}
        for t in sorted({t for p in periods for t in (p.valid_from, p.valid_to) if after < t <= until}):
            ended = [p.value for p in periods if p.valid_to == t]
            started = [p.value for p in periods if p.valid_from == t]
            found[t] = sorted(ended), sorted(started)
        return [(t, ended, started) for t, (ended, started) in found.items()]

    def believed_during(self, key: Key, known_from: int, known_to: int, *, closed: bool = False) -> list[str]:
        """Every value believed at some time of the window, which is half-open unless `closed`."""
        end = known_to + 1 if closed else known_to
        return sorted({r.value for r in self.audit(key) if r.recorded_from < end and r.recorded_to > known_from})

    def paths(self, start: str, steps: Sequence[str], known_at: int | None = None) -> list[Path]:
        """Each path without circles from a node, along steps of which `^` means backwards (rule 15)."""
        found: dict[tuple[str, ...], list[Interval]] = {(start,): [Interval(OPEN_START, OPEN_END)]}
        for step in steps:
            longer: dict[tuple[str, ...], list[Interval]] = {}
            for nodes, periods in found.items():
                for there, edge in self._edges(nodes[-1], step, known_at):
                    shared = [both for period in periods if (both := intersect([period, edge])) is not None]
                    if there not in nodes and shared:
                        longer.setdefault((*nodes, there), []).extend(shared)
            found = longer
        return [(nodes, period) for nodes in sorted(found) for period in coalesce(found[nodes])]

    def _edges(self, node: str, step: str, known_at: int | None) -> Iterator[tuple[str, Interval]]:
        inverse, predicate = step.startswith("^"), step.removeprefix("^")
        for key in self.slots():
            for row in self.visible(key, known_at) if key[1] == predicate else ():
                here, there = (row.value, key[0]) if inverse else (key[0], row.value)
                if here == node:
                    yield there, row.valid


def _recorded(row: Rectangle) -> Interval:
    return Interval(Instant(row.recorded_from), Instant(row.recorded_to))


def _periods(rows: Iterable[Rectangle]) -> list[Period]:
    listed = list(rows)
    return sorted(
        Period(period.start, value, period.end)
        for value in {row.value for row in listed}
        for period in coalesce(row.valid for row in listed if row.value == value)
    )


def _without(new: Collection[Rectangle], old: Collection[Rectangle]) -> list[Period]:
    """The periods of `new` that are not in `old`."""
    return sorted(
        Period(period.start, value, period.end)
        for value in {row.value for row in new}
        for period in subtract(
            (row.valid for row in new if row.value == value), (row.valid for row in old if row.value == value)
        )
    )
