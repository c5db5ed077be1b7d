"""How half-open intervals of valid time relate, meet and join."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ontology.instants import Instant


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """Half-open `[start, end)`; empty when `start == end`."""

    start: Instant
    end: Instant

    def __contains__(self, instant: Instant) -> bool:
        return self.start <= instant < self.end

    def overlaps(self, other: "Interval") -> bool:
        return self.start < other.end and other.start < self.end


class Relation(StrEnum):
    """The thirteen relations of Allen 1983, *Maintaining Knowledge about Temporal Intervals*."""

    BEFORE = "before"
    AFTER = "after"
    MEETS = "meets"
    MET_BY = "met_by"
    EQUALS = "equals"
    STARTS = "starts"
    STARTED_BY = "started_by"
    FINISHES = "finishes"
    FINISHED_BY = "finished_by"
    DURING = "during"
    CONTAINS = "contains"
    OVERLAPS = "overlaps"
    OVERLAPPED_BY = "overlapped_by"


def relate(first: Interval, second: Interval) -> Relation:
    """Which of Allen's relations holds of two intervals that are not empty."""
    if first.end < second.start:
        return Relation.BEFORE
    if second.end < first.start:
        return Relation.AFTER
    if first.end == second.start:
        return Relation.MEETS
    if second.end == first.start:
        return Relation.MET_BY
    if first == second:
        return Relation.EQUALS
    if first.start == second.start:
        return Relation.STARTS if first.end < second.end else Relation.STARTED_BY
    if first.end == second.end:
        return Relation.FINISHES if first.start > second.start else Relation.FINISHED_BY
    if second.start < first.start and first.end < second.end:
        return Relation.DURING
    if first.start < second.start and second.end < first.end:
        return Relation.CONTAINS
    return Relation.OVERLAPS if first.start < second.start else Relation.OVERLAPPED_BY


def intersect(intervals: Iterable[Interval]) -> Interval | None:
    """The part that all of at least one interval share, `None` where they share nothing."""
    listed = list(intervals)
    shared = Interval(max(i.start for i in listed), min(i.end for i in listed))
    return shared if shared.start < shared.end else None


def coalesce(intervals: Iterable[Interval]) -> list[Interval]:
    """The union as sorted intervals of which no two touch; empty ones vanish."""
    joined: list[Interval] = []
    for interval in sorted(intervals):
        if interval.start == interval.end:
            continue
        if joined and interval.start <= joined[-1].end:
            joined[-1] = Interval(joined[-1].start, max(joined[-1].end, interval.end))
        else:
            joined.append(interval)
    return joined


def subtract(intervals: Iterable[Interval], holes: Iterable[Interval]) -> list[Interval]:
    """What of `intervals` lies in none of `holes`, coalesced."""
    left = coalesce(intervals)
    for hole in coalesce(holes):
        left = [
            part
            for whole in left
            for part in (
                Interval(whole.start, min(whole.end, hole.start)),
                Interval(max(whole.start, hole.end), whole.end),
            )
            if part.start < part.end
        ]
    return left
