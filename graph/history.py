"""How belief and the world changed: periods, what was held about one instant, differences, logs, changes.

Rule 16 of the time page. Whatever is computed from many rows reads at most `ceiling` of them, in the order of
time, and says before which instant its answer is complete.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from graph.paging import Asked, OfSubject, OfValue, each_version, read, read_history
from graph.periods import (
    ALWAYS,
    Period,
    Piece,
    Statement,
    by_statement,
    in_order,
    minus,
    periods,
    recorded_order,
    recorded_time,
    runs,
    statement_of,
)  # fmt: skip
from graph.ports import Order, OrderKey, Page, Reader
from ontology.facts import Fact, FactVersion
from ontology.ids import EntityId, FactId
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.intervals import Interval

__all__ = [
    "Asked", "Change", "Difference", "Holding", "Listed", "Log", "Logged", "OfSubject", "OfValue", "Period",
    "Statement", "belief", "believed_during", "changes", "diff", "first", "last", "log", "next_after", "periods",
    "read_periods",
]  # fmt: skip

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """That a statement was held about one instant of valid time, over an unbroken stretch of recorded time."""

    statement: Statement
    recorded_from: Instant
    recorded_to: Instant
    certain: bool
    """Whether it was certain all the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What ended and what started in the world at one instant."""

    at: Instant
    ended: tuple[Statement, ...]
    started: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Generic[T]):
    """An answer that may be cut."""

    rows: list[T]
    complete_before: Instant | None
    """`None` if nothing was cut; otherwise the answer is right only before this instant of the time it goes by."""

    @property
    def truncated(self) -> bool:
        return self.complete_before is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The net difference of two beliefs, in periods of valid time."""

    added: list[Period]
    removed: list[Period]
    complete_before: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """A version that was opened or closed in a window of recorded time, or both."""

    fact: Fact
    opened: bool
    closed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    rows: list[Logged]
    after: OrderKey | None
    """Where the next page begins; `None` on the last one."""


def read_periods(
    reader: Reader, asked: Asked, known_at: Instant, *, ceiling: int, within: Interval = ALWAYS, certain: bool = False
) -> Listed[Period]:
    """The periods believed at `known_at`, cut to `within`."""
    versions, cut = read_history(reader, asked, known_at, within, certain=certain, ceiling=ceiling)
    return Listed(rows=periods(versions, within=within), complete_before=cut)


def belief(
    reader: Reader, subject: EntityId, predicate: str | None, valid_at: Instant, *, ceiling: int
) -> Listed[Holding]:
    """What was held about one instant, over recorded time, by (recorded_from, value text, …)."""

    def page(page: Page) -> list[Fact]:
        return reader.audit(subject, predicate, valid_at=valid_at, touched=None, page=page)

    versions, cut = read(page, recorded_order, ceiling)
    served = reader.served(versions)
    holdings = [
        Holding(
            statement=statement,
            recorded_from=stretch.start,
            recorded_to=stretch.end,
            certain=all(row.certain for row in joined),
        )
        for statement, rows in by_statement(versions).items()
        for stretch, joined in runs(_served(rows, served))
    ]
    rows = sorted(holdings, key=lambda h: (h.recorded_from, h.statement.order))
    return Listed(rows=rows, complete_before=None if cut is None else cut.recorded_from)


def diff(
    reader: Reader, asked: Asked, known_from: Instant, known_to: Instant, *, ceiling: int, within: Interval = ALWAYS
) -> Difference:
    """What must be removed from the belief at `known_from`, and added, to get that at `known_to`; cut to `within`.

    A value that only became certain, or uncertain, is no difference. Reads at most `ceiling` versions of each.
    """
    old, old_cut = read_history(reader, asked, known_from, within, certain=False, ceiling=ceiling)
    new, new_cut = read_history(reader, asked, known_to, within, certain=False, ceiling=ceiling)
    cut = min((t for t in (old_cut, new_cut) if t is not None), default=None)
    seen = within if cut is None else Interval(within.start, min(cut, within.end))
    return Difference(added=minus(new, old, seen), removed=minus(old, new, seen), complete_before=cut)


def log(reader: Reader, subject: EntityId, predicate: str | None, after: Instant, until: Instant, *, page: Page) -> Log:
    """Every version opened or closed at a recorded time in `(after, until]`, transients included.

    In the order (recorded_from, ordinal, valid_from), each once, so one that was opened before the window and
    closed in it stands where it was opened.
    """
    window = Interval(Instant(after + 1), Instant(until + 1))
    if window.start >= window.end:
        return Log(rows=[], after=None)
    more = Page(page.limit + 1, page.after)
    facts = reader.audit(subject, predicate, valid_at=None, touched=window, page=more)
    rows = [
        Logged(fact=f, opened=f.version.recorded_from in window, closed=f.version.recorded_to in window)
        for f in facts[: page.limit]
    ]
    last = recorded_order(rows[-1].fact.version) if len(facts) > page.limit and rows else None
    return Log(rows=rows, after=last)


def changes(
    reader: Reader, asked: Asked, after: Instant, until: Instant, known_at: Instant, *,
    ceiling: int, certain: bool = False,
) -> Listed[Change]:  # fmt: skip
    """What changed in the world in `(after, until]`, as believed at `known_at`, by instant."""
    window = Interval(after, min(Instant(until + 1), OPEN_END))
    if window.start >= window.end:
        return Listed(rows=[], complete_before=None)
    versions, cut = read_history(reader, asked, known_at, window, certain=certain, ceiling=ceiling)
    ended: dict[Instant, list[Statement]] = {}
    started: dict[Instant, list[Statement]] = {}
    for period in periods(versions):
        started.setdefault(period.valid_from, []).append(period.statement)
        ended.setdefault(period.valid_to, []).append(period.statement)
    rows = [
        Change(at=at, ended=in_order(ended.get(at, ())), started=in_order(started.get(at, ())))
        for at in sorted(started.keys() | ended.keys())
        if after < at <= until and at < OPEN_END and (cut is None or at < cut)
    ]
    return Listed(rows=rows, complete_before=cut)


def believed_during(
    reader: Reader, subject: EntityId, predicate: str | None, known_from: Instant, known_to: Instant, *,
    closed: bool, ceiling: int,
) -> tuple[list[Statement], bool]:  # fmt: skip
    """The statements believed at some recorded time in `[known_from, known_to)`, or with `closed` up to `known_to`
    itself, and whether some may be missing. By (value text, …)."""
    known_until = Instant(known_to + 1) if closed else known_to
    asked = OfSubject(subject, predicate)
    before, cut = read_history(reader, asked, known_from, ALWAYS, certain=False, ceiling=ceiling)
    window = Interval(Instant(known_from + 1), known_until)
    opened: list[FactVersion] = []
    cut_row: FactVersion | None = None
    if window.start < window.end:
        opened, cut_row = read(
            lambda page: reader.audit(subject, predicate, valid_at=None, touched=window, page=page),
            recorded_order,
            ceiling,
        )
    served = reader.served(opened)
    believed = [
        version
        for version in (*before, *opened)
        if any(time.start < known_until and time.end > known_from for time, _ in _served([version], served))
    ]
    return list(in_order(by_statement(believed))), cut is not None or cut_row is not None


def _served(versions: Iterable[FactVersion], served: Mapping[FactId, Sequence[Interval]]) -> Iterator[Piece]:
    """The recorded times over which versions were believed and had not expired, by start."""
    return iter(
        sorted(
            ((time, version) for version in versions for time in served.get(version.id, [recorded_time(version)])),
            key=lambda piece: piece[0],
        )
    )


def first(
    reader: Reader, asked: Asked, known_at: Instant, *, limit: int, ceiling: int, certain: bool = False
) -> list[Period]:
    """The `limit` periods that begin first, by (start, recorded_from, ordinal) of their first versions.

    Looks at no more than `ceiling` versions, each with one look-up beside it; so do `last` and `next_after`.
    """
    return _starting(reader, asked, known_at, Order.VALID, None, limit=limit, ceiling=ceiling, certain=certain)


def last(
    reader: Reader, asked: Asked, known_at: Instant, *, limit: int, ceiling: int, certain: bool = False
) -> list[Period]:
    """The `limit` periods that begin last, latest first."""
    order = Order.VALID_DESCENDING
    return _starting(reader, asked, known_at, order, None, limit=limit, ceiling=ceiling, certain=certain)


def next_after(
    reader: Reader, asked: Asked, known_at: Instant, instant: Instant, *,
    limit: int, ceiling: int, certain: bool = False,
) -> list[Period]:  # fmt: skip
    """The `limit` periods that begin first after `instant`, itself excluded."""
    after = (instant, OPEN_END, OPEN_END)
    return _starting(reader, asked, known_at, Order.VALID, after, limit=limit, ceiling=ceiling, certain=certain)


def _starting(
    reader: Reader, asked: Asked, known_at: Instant, order: Order, after: OrderKey | None, *,
    limit: int, ceiling: int, certain: bool,
) -> list[Period]:  # fmt: skip
    def at(instant: Instant, statement: Statement) -> FactVersion | None:
        within = Interval(instant, Instant(instant + 1))
        versions, _ = read_history(reader, asked, known_at, within, certain=certain, ceiling=ceiling)
        return next((version for version in versions if statement_of(version) == statement), None)

    found: list[Period] = []
    for version in each_version(reader, asked, known_at, order, after, certain=certain, ceiling=ceiling):
        statement = statement_of(version)
        if version.valid_from > OPEN_START and at(Instant(version.valid_from - 1), statement):
            continue  # it only goes on
        whole = [version]
        while whole[-1].valid_to < OPEN_END and (more := at(whole[-1].valid_to, statement)):
            whole.append(more)
        found += periods(whole)
        if len(found) == limit:
            break
    return found
