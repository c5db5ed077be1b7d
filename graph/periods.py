"""The periods of what is held: which stretches of valid time, and which statements, versions stand for. Pure.

A *period* is the unbroken stretch of valid time over which one value of one subject and predicate is held, certain
or possible; a version is only a part of it, since it has one certainty.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from graph.ports import OrderKey
from ontology.facts import FactVersion
from ontology.ids import EntityId, FactId
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.intervals import Interval
from ontology.values import Value

ALWAYS: Final = Interval(OPEN_START, OPEN_END)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """That a subject has a value, whenever."""

    subject: EntityId
    predicate: str
    value: Value

    @property
    def order(self) -> tuple[str, str, str, str, str]:
        return self.value.text, self.value.type.value, self.value.qualifier, self.predicate, self.subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """An unbroken stretch of valid time over which a statement is held."""

    statement: Statement
    valid_from: Instant
    valid_to: Instant
    certain: bool
    """Whether all of it is certain."""
    versions: tuple[FactId, ...]
    """The versions of which it is made, in the order of valid time."""


Piece = tuple[Interval, FactVersion]
"""A part of the valid or the recorded time of a version."""


def periods(versions: Iterable[FactVersion], *, within: Interval = ALWAYS, certain: bool = False) -> list[Period]:
    """The periods that versions visible at one `known_at` make, cut to `within`, by (start, value text, …).

    With `certain`, those of the certain versions alone.
    """
    wanted = [row for row in versions if row.certain or not certain]
    return _in_order(
        period
        for statement, rows in by_statement(wanted).items()
        for period in _periods(statement, subtracted(rows, [], within))
    )


def minus(left: Iterable[FactVersion], right: Iterable[FactVersion], within: Interval) -> list[Period]:
    """The stretches inside `within` over which `left` holds a statement and `right` does not."""
    others = by_statement(right)
    return _in_order(
        period
        for statement, rows in by_statement(left).items()
        for period in _periods(statement, subtracted(rows, others.get(statement, []), within))
    )


def runs(pieces: Iterable[Piece]) -> Iterator[tuple[Interval, list[FactVersion]]]:
    """Pieces that touch, joined; they come by start and overlap nowhere."""
    joined: list[FactVersion] = []
    start = end = OPEN_START
    for interval, version in pieces:
        if joined and interval.start > end:
            yield Interval(start, end), joined
            joined = []
        if not joined:
            start = interval.start
        joined.append(version)
        end = interval.end
    if joined:
        yield Interval(start, end), joined


def subtracted(rows: Iterable[FactVersion], holes: Iterable[FactVersion], within: Interval) -> Iterator[Piece]:
    """What of the valid time of `rows` lies inside `within` and in none of `holes`; each list overlaps nowhere."""
    gaps = sorted(map(valid_time, holes))
    first = 0
    for row in sorted(rows, key=valid_order):
        start, end = max(row.valid_from, within.start), min(row.valid_to, within.end)
        while first < len(gaps) and gaps[first].end <= start:
            first += 1
        at = first
        while at < len(gaps) and gaps[at].start < end and start < end:
            if start < gaps[at].start:
                yield Interval(start, gaps[at].start), row
            start = max(start, gaps[at].end)
            at += 1
        if start < end:
            yield Interval(start, end), row


def _periods(statement: Statement, pieces: Iterable[Piece]) -> Iterator[Period]:
    for stretch, rows in runs(pieces):
        certain = all(row.certain for row in rows)
        ids = tuple(dict.fromkeys(row.id for row in rows))
        yield Period(
            statement=statement, valid_from=stretch.start, valid_to=stretch.end, certain=certain, versions=ids
        )  # fmt: skip


def _in_order(found: Iterable[Period]) -> list[Period]:
    return sorted(found, key=lambda period: (period.valid_from, period.statement.order))


def statement_of(version: FactVersion) -> Statement:
    return Statement(subject=version.slot.subject, predicate=version.slot.predicate, value=version.value)


def by_statement(versions: Iterable[FactVersion]) -> dict[Statement, list[FactVersion]]:
    grouped: dict[Statement, list[FactVersion]] = {}
    for version in versions:
        grouped.setdefault(statement_of(version), []).append(version)
    return grouped


def in_order(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    return tuple(sorted(statements, key=lambda s: s.order))


def valid_time(version: FactVersion) -> Interval:
    return Interval(version.valid_from, version.valid_to)


def recorded_time(version: FactVersion) -> Interval:
    return Interval(version.recorded_from, version.recorded_to)


def valid_order(version: FactVersion) -> OrderKey:
    return version.valid_from, version.recorded_from, version.ordinal


def recorded_order(version: FactVersion) -> OrderKey:
    return version.recorded_from, version.ordinal, version.valid_from
