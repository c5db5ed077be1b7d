"""What one standing operation of a slot says about valid time: the input of the fold.

The texts of a period as stated (`Stated`) become integers once (`entry`), when the operation is checked. What
the operation itself says wrongly is refused here (rule 12), so that no later fold can refuse anything.
"""

from dataclasses import dataclass
from enum import IntEnum

from ontology.errors import Refused, Violation, shown
from ontology.instants import OPEN_END, OPEN_START, Granule, Instant, Semantics, parse_bound
from ontology.values import ValueKey


class Start(IntEnum):
    """How the start of a period is known."""

    KNOWN = 0
    UNKNOWN = 1
    """It began, nobody says when: absent or `"unknown"`."""
    OPEN = 2
    """Explicitly since always: `"-infinity"`."""


class End(IntEnum):
    """How the end of a period is known."""

    KNOWN = 0
    OPEN = 1
    """Absent: until the next known start."""
    INFINITY = 2
    """Explicitly for ever."""
    UNKNOWN = 3
    """It ended, nobody knows when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A period in the words of its source; `None` is what was not said."""

    valid_from: str | None
    valid_to: str | None
    zone: str | None
    semantics: Semantics | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entry:
    """An assertion or a retraction as the fold reads it; two entries are equal only if they are the same one."""

    position: int
    ordinal: int
    """The commit and the place in it: with `observed_at`, the order of rule 1."""
    observed_at: Instant
    asserts: bool
    value: ValueKey | None
    """`None` only in a retraction of every value."""
    functional: bool
    start: Start
    start_lo: Instant
    start_hi: Instant
    """Earliest and latest instant of the start; both the latest possible one where the start is unknown."""
    end: End
    end_lo: Instant
    end_hi: Instant
    """Earliest and latest instant of the end; `OPEN_END` where none is stated."""

    @property
    def order(self) -> tuple[Instant, int, int]:
        """The place in the fold: when it was said, then the commit, then the place in the commit."""
        return self.observed_at, self.position, self.ordinal

    @property
    def dated(self) -> bool:
        return self.start is not Start.UNKNOWN


def assertion(
    stated: Stated, *, value: ValueKey, functional: bool, observed_at: Instant, position: int, ordinal: int
) -> Entry:
    """The entry of an assert. Raises `Refused` for an empty or an inverted period."""
    end, end_lo, end_hi, end_earliest = _end(stated)
    if end is End.UNKNOWN:
        end_hi = observed_at
    if stated.valid_from in (None, "unknown"):
        start = Start.UNKNOWN
        before_end = Instant(end_earliest - 1) if end is End.KNOWN else OPEN_END
        start_lo = start_hi = min(observed_at, before_end)
    else:
        granule = _start(stated)
        start = Start.OPEN if granule.latest == OPEN_START else Start.KNOWN
        start_lo, start_hi = granule.earliest, granule.latest
        if end_hi <= start_lo:
            raise _refused(stated, empty=end_hi == start_lo, ended_before_said=end is End.UNKNOWN)
    return Entry(
        position=position, ordinal=ordinal, observed_at=observed_at, asserts=True, value=value,
        functional=functional, start=start, start_lo=start_lo, start_hi=start_hi, end=end, end_lo=end_lo, end_hi=end_hi,
    )  # fmt: skip


def retraction(
    stated: Stated, *, value: ValueKey | None, functional: bool, observed_at: Instant, position: int, ordinal: int
) -> Entry:
    """The entry of a retract; an absent bound means all of that side. Raises `Refused` for an inverted period."""
    for bound in (stated.valid_from, stated.valid_to):
        if bound == "unknown":
            detail = "a retract needs known bounds, got 'unknown'; leave the bound out to mean all of that side"
            raise Refused(detail, violations=(Violation(pointer="", code="unknown_bound", detail=detail),))
    granule = Granule(earliest=OPEN_START, latest=OPEN_START) if stated.valid_from is None else _start(stated)
    _, end_lo, end_hi, _ = _end(stated)
    if end_hi < granule.earliest:
        raise _refused(stated, empty=False, ended_before_said=False)
    return Entry(
        position=position, ordinal=ordinal, observed_at=observed_at, asserts=False, value=value, functional=functional,
        start=Start.OPEN if granule.latest == OPEN_START else Start.KNOWN,
        start_lo=granule.earliest, start_hi=granule.latest, end=End.KNOWN, end_lo=end_lo, end_hi=end_hi,
    )  # fmt: skip


def inherit(stated: Stated, *, start_from: Stated, end_from: Stated) -> Stated:
    """The period of a replacement: what is not stated comes from the claims that it replaces (rule 5)."""
    return Stated(
        valid_from=stated.valid_from if stated.valid_from is not None else start_from.valid_from,
        valid_to=stated.valid_to if stated.valid_to is not None else end_from.valid_to,
        zone=stated.zone if stated.zone is not None else start_from.zone,
        semantics=stated.semantics if stated.semantics is not None else start_from.semantics,
    )


def _start(stated: Stated) -> Granule:
    granule = _bound(stated, stated.valid_from or "", "valid_from")
    whole = stated.semantics is Semantics.WHOLE
    return Granule(earliest=granule.earliest, latest=granule.earliest) if whole else granule


def _end(stated: Stated) -> tuple[End, Instant, Instant, Instant]:
    """(kind, earliest end, latest end, first instant that the text of the end names)."""
    match stated.valid_to:
        case None:
            return End.OPEN, OPEN_END, OPEN_END, OPEN_END
        case "infinity":
            return End.INFINITY, OPEN_END, OPEN_END, OPEN_END
        case "unknown":
            return End.UNKNOWN, OPEN_END, OPEN_END, OPEN_END
        case text:
            granule = _bound(stated, text, "valid_to")
            earliest = granule.latest if stated.semantics is Semantics.WHOLE else granule.earliest
            return End.KNOWN, earliest, granule.latest, granule.earliest


def _bound(stated: Stated, text: str, side: str) -> Granule:
    wrong = "infinity" if side == "valid_from" else "-infinity"
    if text == wrong:
        detail = f"{side} cannot be {wrong!r}; leave it out where it is not known"
        raise Refused(detail, violations=(Violation(pointer=f"/{side}", code="inverted_interval", detail=detail),))
    return parse_bound(text, stated.zone or "UTC", stated.semantics or Semantics.DEFAULT)


def _refused(stated: Stated, *, empty: bool, ended_before_said: bool) -> Refused:
    code = "empty_interval" if empty else "inverted_interval"
    end = "the time it was said" if ended_before_said else f"valid_to {shown(stated.valid_to)}"
    relation = "leaves nothing after" if empty else "is before"
    detail = f"{end} {relation} valid_from {shown(stated.valid_from)}; the end must lie after the start"
    return Refused(detail, violations=(Violation(pointer="/valid_to", code=code, detail=detail),))
