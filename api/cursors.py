"""How a list is continued: an opaque text that pins the clocks and belongs to one query.

A cursor grants nothing: the scope is checked again on each page. It is unsigned, so all that it holds is
checked as anything that a caller sends; one that was altered is at worst another place in the same list.
"""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

import orjson

from ontology.errors import CursorMismatch, Violation
from ontology.facts import AsOf
from ontology.instants import OPEN_END, OPEN_START, Instant

CHARS_MAX: Final = 600

CursorKey = tuple[int | str, ...]
"""The order key of the last row of a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where a page ended, and the instants at which the whole walk is asked."""

    after: CursorKey
    as_of: AsOf
    served_at: Instant
    """By which it is judged what has expired."""


def filter_hash(*parts: object) -> str:
    """What tells one query from another: equal for equal scopes, routes and filters."""
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=9).hexdigest()


def write_cursor(cursor: Cursor, query: str) -> str:
    """The text of a cursor for the query with this hash."""
    packed = orjson.dumps([query, cursor.as_of.valid_at, cursor.as_of.known_at, cursor.served_at, *cursor.after])
    return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()


def read_cursor(text: str, query: str, shape: tuple[type, ...]) -> Cursor:
    """The cursor that `text` holds, with an order key of the types of `shape`.

    Raises `CursorMismatch` for one of another query and for what `write_cursor` did not write.
    """
    try:
        if len(text) > CHARS_MAX:
            raise ValueError
        packed = orjson.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
        given, valid_at, known_at, served_at, *after = packed
    except (ValueError, TypeError, binascii.Error):
        raise _mismatch("the cursor cannot be read") from None
    if given != query:
        raise _mismatch("the cursor belongs to another query")
    instants_hold = all(type(t) is int and OPEN_START <= t <= OPEN_END for t in (valid_at, known_at, served_at))
    key_holds = len(after) == len(shape) and all(type(part) is kind for part, kind in zip(after, shape, strict=False))
    if not instants_hold or not key_holds or any(type(part) is int and abs(part) > OPEN_END for part in after):
        raise _mismatch("the cursor was altered")
    as_of = AsOf(valid_at=Instant(valid_at), known_at=Instant(known_at))
    return Cursor(after=tuple(after), as_of=as_of, served_at=Instant(served_at))


def next_link(path: str, query: Mapping[str, str], cursor: str) -> str:
    """The value of the `Link` header for the page after this one (RFC 8288)."""
    return f'<{path}?{urlencode({**query, "cursor": cursor})}>; rel="next"'


def _mismatch(problem: str) -> CursorMismatch:
    detail = f"{problem}; repeat the query as it was, or begin again without 'cursor'"
    return CursorMismatch(detail, violations=(Violation(pointer="/cursor", code="cursor_mismatch", detail=detail),))
