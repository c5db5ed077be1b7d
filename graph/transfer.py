"""How a tenant's journal leaves a store, and becomes a ledger again in another.

Ids, recorded times and digests stay what they are, so the chain of the copy is the chain of the original; only
the name of the tenant may differ. Payloads come in their newest form, so an erasure finds nothing to take on the way
in: what it took is in none of them, and what was said after it comes after it. It is applied all the same, so that
the copy counts it. Everything is streamed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from graph.journal import NO_DIGEST, decode, verify_chain
from graph.journal_lines import Chained, JournalLines, event_line, header_line, trailer_line
from graph.ports import Head, MemoryStore, Reader, Transaction
from ontology.errors import Conflict, Fault, Incorrect, Unsupported, shown
from ontology.events import Commit, Event
from ontology.ids import Ledger, Owner
from ontology.instants import Instant, format_instant
from ontology.scope import Tenant, scope_of

EVENTS_PER_PAGE: Final = 100
EVENTS_PER_WRITE: Final = 200
"""How many commits of a journal are applied in one transaction of the store."""
BYTES_PER_WRITE: Final = 1_000_000
"""How much of a journal one transaction takes in before it ends: a store may hold all of it in memory until then."""

Progress = Callable[[int], object]
"""Told the newest position that is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transferred:
    """What was exported or imported."""

    events: int
    position: int
    """Of the last event; 0 where there is none."""
    digest: bytes


def export_events(
    store: MemoryStore,
    tenant: Tenant,
    write_line: Callable[[bytes], object],
    *,
    after: int = 0,
    progress: Progress | None = None,
) -> Transferred:
    """Write the journal of a tenant, as of one snapshot, line by line, each with its line end.

    `after` leaves out the events up to a position, for a copy that has them. Raises `Incorrect` if it is none.
    """
    with store.read(scope_of(tenant)) as reader:
        done = Transferred(events=0, position=after, digest=_digest_at(reader, after))
        write_line(header_line(reader.head.ledger, after, done.digest))
        for event, payloads in events_after(reader, after):
            write_line(event_line(event, payloads))
            done = Transferred(events=done.events + 1, position=event.position, digest=event.digest)
            if progress is not None and done.events % EVENTS_PER_PAGE == 0:
                progress(done.position)
        write_line(trailer_line(done.events, done.position, done.digest))
    return done


def verify_events(store: MemoryStore, tenant: Tenant) -> list[str]:
    """What is wrong with the chain of a tenant's journal, as `verify_chain` tells it."""
    with store.read(scope_of(tenant)) as reader:
        return verify_chain(events_after(reader, 0), complete=True)


def verify_lines(lines: Iterable[bytes]) -> list[str]:
    """The same of an exported journal. Raises `Incorrect` and `Unsupported` for what is no complete one."""
    journal = JournalLines(lines)
    return verify_chain(journal.events(), complete=True, since=(journal.after, journal.previous))


def import_events(
    store: MemoryStore,
    tenant: Tenant,
    lines: Callable[[], Iterable[bytes]],
    *,
    now: Instant,
    resume: bool = False,
    progress: Progress | None = None,
) -> Transferred:
    """Apply an exported journal to a tenant that has no events, or exactly those that the journal leaves out.

    `lines` gives the lines from the start, and is called twice: first all of them are checked, so that nothing is
    written of a journal that is cut, altered, or recorded after `now` or out of order. With `resume`, events that
    the tenant has already are passed over, as after an import that was interrupted.
    Raises `Incorrect` with the number of the line, `Unsupported` for another format, and `Conflict` where the
    journal does not go on from what the tenant has.
    """
    with store.read(scope_of(tenant)) as reader:
        start = reader.head
        checked = JournalLines(lines())
        restated: dict[tuple[int, Owner | None], bytes] = {}
        events = in_time(checked.events(), now, start.position, restated)
        problems = verify_chain(events, complete=True, since=(checked.after, checked.previous))
        if problems:
            raise Incorrect(f"the journal is altered: {problems[0]}", remedy="import an export that nobody changed")
        _check_continues(reader, checked, resume=resume)
        _check_restated(reader, restated)
    journal = JournalLines(lines())
    return apply_events(store, tenant, beyond(journal.events(), start), journal.ledger, start, progress)


def rebuild(
    source: MemoryStore,
    target: MemoryStore,
    tenant: Tenant,
    *,
    into: Tenant | None = None,
    progress: Progress | None = None,
) -> Transferred:
    """Apply the journal of a tenant in `source`, as of one snapshot, to one without events in `target`.

    Raises `Conflict` where that one has events, `Fault` for a journal whose chain does not hold.
    """
    into = into or tenant
    with target.read(scope_of(into)) as reader:
        start = reader.head
    if start.position:
        raise Conflict(f"the tenant {shown(into)} has events; rebuild into one that has none")
    with source.read(scope_of(tenant)) as reader:
        problems = verify_chain(events_after(reader, 0), complete=True)
        if problems:
            raise Fault(f"the journal of {shown(tenant)} is damaged: {problems[0]}")
        return apply_events(target, into, events_after(reader, 0), reader.head.ledger or Ledger(""), start, progress)


def apply_events(
    store: MemoryStore,
    tenant: Tenant,
    events: Iterator[Chained],
    ledger: Ledger,
    start: Head,
    progress: Progress | None,
    with_each: Callable[[Transaction, Sequence[Commit]], object] = lambda *_: None,
) -> Transferred:
    """Apply events that were checked, from where the tenant stood, some in each transaction of the store.

    `with_each` may do more in the transaction of some commits, after them.
    """
    done = Transferred(events=0, position=start.position, digest=start.digest)
    for batch in _batches(events, tenant):
        with store.write(scope_of(tenant)) as tx:
            if tx.head.position != done.position:
                raise Conflict(f"somebody else writes to the tenant {shown(tenant)}; try where nobody does")
            for commit in batch:
                tx.apply(commit, ledger=ledger)
            with_each(tx, batch)
        last = batch[-1].event
        done = Transferred(events=done.events + len(batch), position=last.position, digest=last.digest)
        if progress is not None:
            progress(done.position)
    return done


def _batches(events: Iterable[Chained], tenant: Tenant) -> Iterator[list[Commit]]:
    """Commits that are applied together: many small ones, or one that is large."""
    batch: list[Commit] = []
    size = 0
    for event in events:
        batch.append(_commit(event, tenant))
        size += sum(len(payload.body) for payload in batch[-1].payloads)
        if len(batch) == EVENTS_PER_WRITE or size >= BYTES_PER_WRITE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _commit(chained: Chained, tenant: Tenant) -> Commit:
    event, payloads = chained
    return Commit(changes=decode(event, payloads, tenant=tenant), event=event, payloads=payloads, restated=())


def in_time(
    events: Iterable[Chained], now: Instant, start: int, restated: dict[tuple[int, Owner | None], bytes]
) -> Iterator[Chained]:
    """The events, their recorded times checked (rule 13); notes what new ones restate of those up to `start`."""
    last: Event | None = None
    for event, payloads in events:
        if event.recorded_at > now or (last is not None and event.recorded_at <= last.recorded_at):
            wrong = "later than now" if event.recorded_at > now else "not later than the event before it"
            at = format_instant(event.recorded_at)
            raise Incorrect(f"the event at position {event.position} is recorded at {at}, {wrong}")
        if event.position > start:
            restated.update({(at, subject): digest for at, subject, digest in event.restated if at <= start})
        last = event
        yield event, payloads


def _check_continues(reader: Reader, journal: JournalLines, *, resume: bool) -> None:
    head, tenant = reader.head, shown(reader.scope.tenant)
    if head.position == journal.after == 0:
        return
    if head.ledger not in (None, journal.ledger):
        raise Conflict(f"the tenant {tenant} has a ledger of its own; import into a tenant that has no events")
    if head.position > journal.after and not resume:
        raise Conflict(
            f"the tenant {tenant} has events up to position {head.position}",
            remedy="import into one that has none; after an import of this journal that was interrupted, give --resume",
        )
    if head.position < journal.after or _digest_at(reader, journal.after) != journal.previous:
        raise Conflict(f"the journal goes on from position {journal.after}, which the tenant {tenant} does not have")


def _check_restated(reader: Reader, restated: dict[tuple[int, Owner | None], bytes]) -> None:
    """Whether the tenant holds in their newest form the payloads that the events to come restate."""
    for (position, subject), digest in restated.items():
        _, payloads = reader.events(after=position - 1, limit=1)[0]
        if any(payload.subject == subject and payload.digest != digest for payload in payloads):
            raise Unsupported(
                f"the journal erases from position {position}, which the tenant has as it was before",
                remedy="export all of the journal and import it into a tenant that has no events",
            )


def beyond(events: Iterable[Chained], start: Head) -> Iterator[Chained]:
    """The events that the tenant does not have, if the last of those that it has is the same."""
    for event, payloads in events:
        if event.position > start.position:
            yield event, payloads
        elif event.position == start.position and event.digest != start.digest:
            raise Conflict(f"the journal has another event at position {event.position} than the tenant")


def events_after(reader: Reader, after: int) -> Iterator[Chained]:
    """Every event of the snapshot from a position on, read page by page."""
    while page := reader.events(after=after, limit=EVENTS_PER_PAGE):
        yield from page
        after = page[-1][0].position


def _digest_at(reader: Reader, position: int) -> bytes:
    if position == 0:
        return NO_DIGEST
    found = reader.events(after=position - 1, limit=1)
    if not found:
        raise Incorrect(f"there is no event at position {position}; the newest one is at {reader.head.position}")
    return found[0][0].digest
