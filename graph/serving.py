"""By which instant it is judged what has expired, and over which recorded times a version was served. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from ontology.facts import FactVersion
from ontology.instants import OPEN_END, Instant
from ontology.intervals import Interval, coalesce, intersect


class Serving(NamedTuple):
    """What is asked at `known_at` or later is judged at `until`, all else at the `known_at` at which it is asked."""

    known_at: Instant = OPEN_END
    until: Instant = OPEN_END

    def judged_at(self, known_at: Instant) -> Instant:
        """An instant at which what never expires has not."""
        return min(self.until if known_at >= self.known_at else known_at, Instant(OPEN_END - 1))


def stretches(version: FactVersion, shown: Iterable[tuple[Instant, Instant, Instant]]) -> list[Interval]:
    """The recorded times over which some claim that had not expired showed in a version.

    `shown` has over which recorded times a claim shows in it and when that claim expires.
    """
    believed = Interval(version.recorded_from, version.recorded_to)
    seen = (
        intersect((believed, Interval(start, min(end, expires)))) for start, end, expires in shown if start < expires
    )
    return coalesce(each for each in seen if each is not None)
