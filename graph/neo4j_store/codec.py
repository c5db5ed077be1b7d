"""How records become the columns that graph/decoding.py takes.

Two things are kept otherwise: a value key is hexadecimal, since no index takes bytes, and what ended after the
snapshot has not ended in it.
"""

from typing import Any

from ontology.instants import OPEN_END, Instant
from ontology.values import ValueKey

Row = list[Any]
"""A record, or a list inside one, as the driver gives it; its columns are those of the query, in order."""


def key(text: str) -> ValueKey:
    """The value key behind its hexadecimal form."""
    return ValueKey(bytes.fromhex(text))


def version(row: Row, until: Instant) -> Row:
    """The columns of a version as it was after the commit at `until`."""
    return [*row[:5], key(row[5]), *row[6:10], row[10] if row[10] <= until else OPEN_END]


def entry(row: Row) -> Row:
    """The columns of an entry, and whatever follows them."""
    return [*row[:4], None if row[4] is None else key(row[4]), *row[5:]]


def extent(row: Row) -> Row:
    """The columns of an extent and of the entry that shows."""
    return [*row[:2], *entry(row[2:])]


def told(row: Row, until: int) -> Row:
    """The columns of a claim, and its transitions until the commit at position `until`."""
    return [*entry(row[:34]), sorted(each for each in row[34] if each[0] <= until)]
