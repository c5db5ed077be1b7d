"""How a backup becomes a store again: all of it is checked before anything is written.

What was forgotten since the backup was made stays forgotten: the keys of its owners are destroyed, so their payloads
do not open, and the ledger comes to be without them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from graph.backup import KEYS, OWNERS, key_of, ownership_of
from graph.backup_lines import BackupLines, Ended, Gone, TenantLines
from graph.journal import verify_chain
from graph.journal_lines import Chained
from graph.ports import Head, MemoryStore, Transaction
from graph.sealing import Sealing
from graph.transfer import EVENTS_PER_PAGE, Progress, apply_events, beyond, in_time
from ontology.access import ApiKey, Ownership
from ontology.episodes import Verbatim
from ontology.errors import Conflict, Incorrect, shown
from ontology.events import Commit
from ontology.instants import Instant
from ontology.operations import Job
from ontology.scope import Tenant, scope_of

_EMPTY: Final = "restore into a store that is empty; after a restore of this backup that was interrupted, give --resume"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a store has from a backup."""

    tenants: dict[Tenant, Ended]
    unreadable: int
    """Payloads of which something was left out, since the key to it was destroyed."""
    forgotten: int
    """Tombstones that were applied again."""
    keys: int
    owners: int
    """Of namespaces."""
    queued: int
    """Episodes that are to be read."""

    @property
    def events(self) -> int:
        return sum(ended.events for ended in self.tenants.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Beside:
    """What is kept of a tenant beside its journal."""

    keys: list[ApiKey]
    owners: list[Ownership]


def restore(
    store: MemoryStore,
    lines: Callable[[], Iterable[bytes]],
    sealing: Sealing,
    *,
    tree: str,
    now: Instant,
    resume: bool = False,
    checking: Progress | None = None,
    progress: Progress | None = None,
    forget_again: Callable[[Tenant, Gone], int] = lambda *_: 0,
) -> Restored:
    """Bring a backup into a store that is empty.

    `lines` gives the lines from the start, and is called twice: first all of them are checked, so that nothing is
    written of a backup that is cut, altered, sealed with other keys, or recorded after `now`. With `resume`, what an
    interrupted restore of the same backup wrote is passed over. `checking` and `progress` are told how many events
    are checked, and written. `forget_again` applies the tombstones of a tenant, and gives how many, before anybody gets
    a key.
    Raises `Incorrect`, `Unsupported`, and `Conflict` for a store that is not empty.
    """
    there = _what_is_there(store, resume=resume)
    _check(lines, sealing, tree, now, there, checking)
    done: dict[Tenant, Ended] = {}
    gone: dict[Tenant, Gone] = {}
    beside: dict[Tenant, _Beside] = {}
    queued = events = 0
    for part in BackupLines(lines(), sealing, tree).tenants():
        with store.read(scope_of(part.tenant)) as reader:
            start = reader.head
        before = events

        def told(position: int, before: int = before) -> None:
            if progress is not None:
                progress(before + position)

        queueing = _Queueing(part, now)
        apply_events(
            store, part.tenant, beyond(part.events(), start), part.ledger, start, told, with_each=queueing.queue
        )
        done[part.tenant] = _ended(part)
        gone[part.tenant], beside[part.tenant] = part.gone, _read_beside(part)
        events, queued = events + done[part.tenant].events, queued + queueing.queued
    forgotten = sum(forget_again(tenant, payloads) for tenant, payloads in gone.items())
    for tenant, kept in beside.items():
        _put_beside(store, tenant, kept)
    return Restored(
        tenants=done,
        unreadable=sum(map(len, gone.values())),
        forgotten=forgotten,
        keys=sum(len(kept.keys) for kept in beside.values()),
        owners=sum(len(kept.owners) for kept in beside.values()),
        queued=queued,
    )


def _what_is_there(store: MemoryStore, *, resume: bool) -> dict[Tenant, Head]:
    """How far each tenant of the store is. Raises `Conflict` for a store that is not empty, unless with `resume`."""
    tenants = store.tenants()
    if not resume and (tenants or store.access.has_keys()):
        what = f"memory of the tenant {shown(tenants[0])}" if tenants else "keys"
        raise Conflict(f"the store has {what}", remedy=_EMPTY)
    heads: dict[Tenant, Head] = {}
    for tenant in tenants:
        with store.read(scope_of(tenant)) as reader:
            heads[tenant] = reader.head
    return heads


def _check(
    lines: Callable[[], Iterable[bytes]],
    sealing: Sealing,
    tree: str,
    now: Instant,
    there: Mapping[Tenant, Head],
    checking: Progress | None,
) -> None:
    """Read all of a backup, verify each journal in it, and that what is there already is the beginning of it.

    Raises `Incorrect`, `Conflict`.
    """
    left = dict(there)
    events = 0

    def looked_at(part: TenantLines) -> Iterator[Chained]:
        nonlocal events
        for event, payloads in part.events():
            events += 1
            if checking is not None and events % EVENTS_PER_PAGE == 0:
                checking(events)
            head = left.get(part.tenant)
            if head is not None and (head.position, head.digest) == (event.position, event.digest):
                del left[part.tenant]
            yield event, tuple(each for each in payloads if not part.is_gone(event.position, each.subject))

    for part in BackupLines(lines(), sealing, tree).tenants():
        tenant = part.tenant
        problems = verify_chain(
            in_time(looked_at(part), now, 0, {}),
            complete=True,
            is_destroyed=part.is_gone,
        )
        if problems:
            raise Incorrect(
                f"the backup of the tenant {shown(tenant)} is altered: {problems[0]}",
                remedy="give a backup that nobody changed",
            )
        _read_beside(part)
    if left:
        raise Conflict(
            f"the store has what is not in the backup, of the tenant {shown(next(iter(left)))}", remedy=_EMPTY
        )


def _read_beside(part: TenantLines) -> _Beside:
    def rows(what: str) -> list[Any]:
        return part.beside.get(what, [])

    try:
        return _Beside(
            keys=[key_of(part.tenant, row) for row in rows(KEYS)], owners=[ownership_of(row) for row in rows(OWNERS)]
        )
    except (KeyError, TypeError, ValueError) as exc:
        raise Incorrect(f"the backup has keys or owners of the tenant {shown(part.tenant)} that are none") from exc


def _put_beside(store: MemoryStore, tenant: Tenant, beside: _Beside) -> None:
    """Keep issued keys and owners; those that an interrupted restore brought are there already."""
    there = {key.prefix for key in beside.keys if store.access.key(key.digest) is not None}
    with store.write(scope_of(tenant)) as tx:
        for key in beside.keys:
            if key.prefix not in there:
                tx.put_key(replace(key, revocation=None))
            if key.revocation is not None:
                tx.revoke_key(key.prefix, key.revocation)
        for ownership in beside.owners:
            tx.own(ownership)


class _Queueing:
    """Queues what is to be read in the transaction that records it, so that none is read twice or not at all."""

    def __init__(self, part: TenantLines, now: Instant) -> None:
        self._part = part
        self._now = now
        self.queued = 0

    def queue(self, tx: Transaction, commits: Sequence[Commit]) -> None:
        jobs = [
            Job(
                episode=verbatim.kept.episode,
                scope=verbatim.kept.scope,
                session=verbatim.session,
                principal=commit.changes.principal,
            )
            for commit in commits
            for verbatim in commit.changes.verbatims
            if isinstance(verbatim, Verbatim)  # of destroyed words nothing can be read
            and self._part.is_unread(verbatim.kept.episode, commit.changes.position)
        ]
        if jobs:
            tx.enqueue(jobs, self._now)
            self.queued += len(jobs)


def _ended(part: TenantLines) -> Ended:
    if part.ended is None:
        raise ValueError("the events of a tenant were not read")
    return part.ended
