"""The sweep: it writes down what has expired, erases what may not stay, and prunes what is only bookkeeping.

No read waits for it: what has expired is not served in any case. Each step is a short transaction, decided anew under
the lock, so that it may be killed at any instant, run twice, or beside another sweep.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Final

from consolidation.commits import Commits
from consolidation.items import Expire
from consolidation.receipts import Result
from consolidation.write import Writer
from graph import journal
from graph.ports import Clock, MemoryStore, OrderKey, Randomness, Transaction
from graph.restating import destroyed
from ontology.claims import Told
from ontology.durations import Micros, format_duration
from ontology.errors import JSON
from ontology.events import ChangeSet, Kind, Restated
from ontology.ids import EPISODE, EpisodeId, locate
from ontology.instants import DAY, Instant
from ontology.scope import Scope, Tenant, scope_of

SWEEPER: Final = "sweep"
"""The principal of what the sweep writes."""
CLAIMS_AT_ONCE: Final = 100
"""In one transaction."""
EPISODES_AT_ONCE: Final = 20
RECEIPTS_AT_ONCE: Final = 1_000

log = logging.getLogger("vigencia.consolidation.retention")

Stopped = Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """How long what is no claim is kept."""

    verbatim_ttl: Micros | None
    """The words of an episode; `None` for ever."""
    receipt_days: int
    """What came of the reading of an episode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep did, or would do."""

    expired: int = 0
    """Claims that are kept and served no more."""
    erased: int = 0
    """Claims of which nothing is left: those of each value that went."""
    verbatims: int = 0
    """Episodes whose words were destroyed."""
    keys: int = 0
    """Idempotency keys that were over."""
    handoffs: int = 0
    """Handoffs that were over."""
    receipts: int = 0
    """Operations that are done and lost their receipts."""

    def __add__(self, other: "Swept") -> "Swept":
        return Swept(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})


NOTHING: Final = Swept()


class Sweeper:
    """Sweeps one store, tenant by tenant. Any number of them may."""

    def __init__(
        self, *, store: MemoryStore, writer: Writer, clock: Clock, randomness: Randomness, keeping: Keeping
    ) -> None:
        self._store = store
        self._writer = writer
        self._clock = clock
        self._commits = Commits(clock, randomness)
        self._keeping = keeping

    def sweep(
        self, tenants: Sequence[Tenant] | None = None, *, dry_run: bool = False, stopped: Stopped = lambda: False
    ) -> Swept:
        """Sweep these tenants, or all, until `stopped`; a dry run writes nothing. Raises `Busy`, `Unavailable`."""
        done = NOTHING
        for tenant in self._store.tenants() if tenants is None else tenants:
            for step in self._steps(tenant, dry_run=dry_run):
                done += step
                if stopped():
                    return done
        if not dry_run:
            done += self._receipts(stopped)
        return done

    def _steps(self, tenant: Tenant, *, dry_run: bool) -> Iterator[Swept]:
        for scope in self._store.scopes(tenant):
            yield from self._claims(scope, dry_run=dry_run)
        yield from self._verbatims(tenant, dry_run=dry_run)
        if not dry_run:
            with self._store.write(scope_of(tenant)) as tx:
                keys = tx.forget_keys(self._clock.now())
                handoffs = tx.drop_handoffs(self._clock.now())
            yield Swept(keys=keys, handoffs=handoffs)

    def _claims(self, scope: Scope, *, dry_run: bool) -> Iterator[Swept]:
        """Transaction by transaction, in the order in which they expired."""
        after: OrderKey | None = None
        while True:
            with self._store.read(scope) as reader:
                overdue = reader.overdue(self._clock.now(), limit=CLAIMS_AT_ONCE, after=after)
            if overdue:
                items = [Expire(claim=told.claim.id) for told in overdue]
                written = self._writer.write(scope, SWEEPER, items, dry_run=dry_run)
                yield _counted(written.receipt)
                after = _place(overdue[-1])
            if len(overdue) < CLAIMS_AT_ONCE:
                return

    def _verbatims(self, tenant: Tenant, *, dry_run: bool) -> Iterator[Swept]:
        ttl = self._keeping.verbatim_ttl
        if ttl is None:
            return
        before, after = Instant(self._clock.now() - ttl), (0, 0)
        reason = f"its words are kept for {format_duration(ttl)}"
        while True:
            with self._store.write(scope_of(tenant)) as tx:
                old = tx.words_recorded(before, limit=EPISODES_AT_ONCE, after=after)
                if old and not dry_run:
                    self._destroy(tx, old, reason)
            yield Swept(verbatims=len(old))
            if len(old) < EPISODES_AT_ONCE:
                return
            last = locate(old[-1], EPISODE)
            after = last.position, last.ordinal

    def _destroy(self, tx: Transaction, episodes: Sequence[EpisodeId], reason: str) -> None:
        """Leave of the words of these episodes only when they went, and why; the commit names each payload. What came
        of their reading quotes them, and notes of which they were made are the same words."""
        head, now = tx.head, self._commits.time_after(tx.head)
        restated = [
            Restated(position=position, payload=destroyed(payload, now, reason, salt=self._commits.salt()))
            for episode in episodes
            for position, payload in tx.payloads_about(episode)
        ]
        changes = ChangeSet(position=head.position + 1, recorded_at=now, kind=Kind.ERASE, principal=SWEEPER)
        commit = journal.commit(changes, head, salts=self._commits.salt, restated=restated)
        tx.forget_readings(episodes, self._clock.now())
        tx.apply(commit, ledger=self._commits.ledger(head))

    def _receipts(self, stopped: Stopped) -> Swept:
        before = Instant(self._clock.now() - self._keeping.receipt_days * DAY)
        done = NOTHING
        while not stopped():
            dropped = self._store.queue.forget_receipts(before, limit=RECEIPTS_AT_ONCE)
            done += Swept(receipts=dropped)
            if dropped < RECEIPTS_AT_ONCE:
                break
        return done


def _counted(receipt: dict[str, JSON]) -> Swept:
    items = receipt["items"]
    results = Counter(item["result"] for item in items if isinstance(item, dict)) if isinstance(items, list) else {}
    return Swept(expired=results.get(Result.EXPIRED, 0), erased=results.get(Result.ERASED, 0))


def _place(told: Told) -> OrderKey:
    claim = told.claim
    return claim.expires_at, claim.entry.position, claim.entry.ordinal
