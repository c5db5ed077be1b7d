"""What an operation changes in the belief of a slot: the runs and extents that close and open."""

from collections.abc import Sequence
from dataclasses import dataclass

from ontology.instants import OPEN_END, OPEN_START
from ontology.line import Beyond, Extent, Line, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What a line lost and gained; each list in the order (from, to)."""

    closed: list[Run]
    opened: list[Run]
    hidden: list[Extent]
    shown: list[Extent]


def gained(line: Line) -> Difference:
    """What turns an empty line into `line`."""
    return Difference(closed=[], opened=line.runs(), hidden=[], shown=sorted(line.extents(), key=_order))


def difference(before: Line, after: Line) -> Difference:
    """What turns `before` into `after`, two lines over one window.

    Raises `Beyond` if a change reaches an edge of the window, past which it may go on.
    """
    runs_before, runs_after = set(before.runs()), set(after.runs())
    shows_before, shows_after = set(before.extents()), set(after.extents())
    change = Difference(
        closed=sorted(runs_before - runs_after),
        opened=sorted(runs_after - runs_before),
        hidden=sorted(shows_before - shows_after, key=_order),
        shown=sorted(shows_after - shows_before, key=_order),
    )
    start, end = after.window
    pieces: list[Run | Extent] = [*change.closed, *change.opened, *change.hidden, *change.shown]
    for piece in pieces:
        if OPEN_START < piece.valid_from == start or piece.valid_to == end < OPEN_END:
            raise Beyond
    return change


def together(parts: Sequence[Difference]) -> Difference:
    """The difference that parts make which do not meet, such as those of values that do not compete."""
    if len(parts) == 1:
        return parts[0]
    return Difference(
        closed=sorted(run for part in parts for run in part.closed),
        opened=sorted(run for part in parts for run in part.opened),
        hidden=sorted((extent for part in parts for extent in part.hidden), key=_order),
        shown=sorted((extent for part in parts for extent in part.shown), key=_order),
    )


def _order(extent: Extent) -> tuple[int, int, int, int]:
    return extent.valid_from, extent.valid_to, extent.entry.position, extent.entry.ordinal
