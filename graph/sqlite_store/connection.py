"""How a database file is opened and a named query is run; no exception of sqlite3 goes further than this module."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from graph.sqlite_store.vectors import Vectors
from graph.statements import named_queries
from ontology.errors import Busy, Fault, Incorrect, Unavailable, Unsupported, VigenciaError, Violation, shown

Row = tuple[Any, ...]
"""A row as sqlite3 gives it; its columns are those of the query, in order."""

OLDEST: Final = (3, 37, 0)
"""The first SQLite with all that the store uses: STRICT tables 3.37, RETURNING 3.35, row values 3.15."""
MEMORY: Final = ":memory:"

_PRAGMAS: Final = (
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -16384",
    "PRAGMA mmap_size = 2147418112",
    "PRAGMA trusted_schema = OFF",
)
"""What each connection is told. `secure_delete` overwrites what an erasure frees; `FULL` syncs every commit.

Up to 2 GB of the file, the most that SQLite takes, are read in place: beyond what is mapped a read of a random slot
costs twice as much. It takes address space, no memory of its own."""

_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


class Connection:
    """A connection that runs queries by name; used by one thread at a time."""

    __slots__ = ("_raw", "broken", "vectors")

    broken: bool
    """Whether a transaction could not be ended; nobody may use it again."""
    vectors: Vectors
    """What its store keeps in memory of them."""

    def __init__(self, path: str, busy_seconds: float, vectors: Vectors) -> None:
        """Open `path`. Raises `Unavailable` where that cannot be done, `Unsupported` for an old SQLite."""
        if sqlite3.sqlite_version_info < OLDEST:
            raise Unsupported(
                f"SQLite {sqlite3.sqlite_version} is too old; Vigencia needs {'.'.join(map(str, OLDEST))}",
                remedy="use a Python that is built with a newer SQLite",
            )
        self.broken = False
        self.vectors = vectors
        try:
            self._raw = sqlite3.connect(
                path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, cached_statements=256
            )
            for pragma in _PRAGMAS:
                self._raw.execute(pragma)
        except sqlite3.Error as exc:
            raise translated(exc) from exc

    def all(self, query: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Every row that a named query gives."""
        try:
            return self._raw.execute(QUERIES[query], parameters).fetchall()
        except (sqlite3.Error, UnicodeEncodeError, OverflowError) as exc:
            raise translated(exc) from exc

    def one(self, query: str, parameters: Sequence[object] = ()) -> Row | None:
        """The first row, `None` where there is none."""
        try:
            rows = self._raw.execute(QUERIES[query], parameters).fetchall()
        except (sqlite3.Error, UnicodeEncodeError, OverflowError) as exc:
            raise translated(exc) from exc
        return rows[0] if rows else None

    def each(self, query: str, parameters: Sequence[object] = ()) -> Iterator[Row]:
        """The rows one by one, for what may be too much at once."""
        try:
            yield from self._raw.execute(QUERIES[query], parameters)
        except sqlite3.Error as exc:
            raise translated(exc) from exc

    def many(self, query: str, rows: Iterable[Sequence[object]]) -> int:
        """Run a query once for each of `rows`; gives how many rows it changed."""
        try:
            return self._raw.executemany(QUERIES[query], rows).rowcount
        except (sqlite3.Error, UnicodeEncodeError, OverflowError) as exc:
            raise translated(exc) from exc

    def run(self, statement: str) -> list[Row]:
        """Run a statement that is no query: transactions, migrations, `PRAGMA`."""
        try:
            return self._raw.execute(statement).fetchall()
        except sqlite3.Error as exc:
            raise translated(exc) from exc

    @property
    def in_transaction(self) -> bool:
        return self._raw.in_transaction

    def rollback(self) -> None:
        """Leave nothing of an open transaction; never raises, for it runs while an error is on its way."""
        try:
            if self._raw.in_transaction:
                self._raw.execute("ROLLBACK")
        except sqlite3.Error:
            self.broken = True

    def close(self) -> None:
        try:
            self._raw.close()
        except sqlite3.Error as exc:
            raise translated(exc) from exc


def translated(exc: Exception) -> VigenciaError:
    """What an exception of the driver means to a caller."""
    code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
    match exc:
        case UnicodeEncodeError():
            detail = f"text with a lone surrogate cannot be kept: {shown(exc.object)}"
            return Incorrect(detail, violations=(Violation(pointer="", code="lone_surrogate", detail=detail),))
        case OverflowError():
            detail = "a number is beyond 64 bits; give a smaller one"
            return Incorrect(detail, violations=(Violation(pointer="", code="out_of_range", detail=detail),))
        case sqlite3.OperationalError() if code in _BUSY:
            return Busy("the store is locked by another writer; nothing was written")
        case sqlite3.IntegrityError() | sqlite3.InterfaceError():
            return Fault(f"the store refused what was written: {exc}")
        case sqlite3.ProgrammingError() if "closed" in str(exc).lower():
            return Unavailable("the store is closed")
        case sqlite3.OperationalError() | sqlite3.DatabaseError() if code not in (0, sqlite3.SQLITE_ERROR):
            return Unavailable(f"the store cannot be used: {exc}", remedy="check its disk and its file, then try again")
        case _:
            return Fault(f"a query failed: {exc}")


_PACKAGE: Final = "graph.sqlite_store"
QUERIES: Final = {
    **named_queries(_PACKAGE, "queries.sql", "--"),
    **named_queries(_PACKAGE, "episodes.sql", "--"),
    **named_queries(_PACKAGE, "forgetting.sql", "--"),
    **named_queries(_PACKAGE, "sessions.sql", "--"),
    **named_queries(_PACKAGE, "handoffs.sql", "--"),
    **named_queries(_PACKAGE, "searching.sql", "--"),
    **named_queries(_PACKAGE, "walking.sql", "--"),
}
