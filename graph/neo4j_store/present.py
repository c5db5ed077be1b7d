"""What is believed now of a slot, read ahead: a writer needs it of most slots that it names, and each query costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from graph.ports import Window
from ontology.facts import Support
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.intervals import Interval
from ontology.values import ValueKey

MOST: Final = 16
"""Of so many versions, extents and support rows a slot is read ahead; one with more is asked about by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """A slot under the tenant's lock; `None` where it has more than is read ahead."""

    whole: Window | None
    """All that is believed now."""
    support: Mapping[ValueKey, Support] | None
    """The newest of every value that was ever said."""


def part(whole: Window, value: ValueKey | None, around: Interval, margin: int | None) -> Window:
    """The window that was asked for, cut from that of the whole axis."""
    versions = [version for version in whole.versions if value in (None, version.value_key)]
    extents = [extent for extent in whole.extents if value in (None, extent.entry.value)]
    span = whole.span
    if margin is not None:
        starts = [version.valid_from for version in versions]  # in the order of valid time
        span = Interval(
            _at([start for start in reversed(starts) if start < around.start], margin, OPEN_START),
            _at([start for start in starts if start > around.end], margin, OPEN_END),
        )
    return Window(
        span=span,
        versions=[each for each in versions if each.valid_from < span.end and each.valid_to > span.start],
        extents=[each for each in extents if each.valid_from < span.end and each.valid_to > span.start],
    )


def _at(starts: list[Instant], number: int, otherwise: Instant) -> Instant:
    """The start with this number, counted from 1."""
    return starts[max(number, 1) - 1] if len(starts) >= max(number, 1) else otherwise
