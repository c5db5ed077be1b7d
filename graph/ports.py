"""What a store must do, in domain types only: no SQL, Cypher, row, driver exception, clock or made-up id crosses.

A `MemoryStore` gives snapshots to read and one locked transaction at a time per tenant to write. Whoever asks
names the scope first; nothing that a snapshot returns lies outside it. Exact reads of every store return the
same things in the same order.

A fact is served at a `known_at` only where some claim that shows in it then has not expired by then. `serve` says
against which instant that is judged for the newest `known_at`, which is older than the clock; the raw rows of `audit`,
`fact`, `evidence` and the lists of claims are given in any case.

Every list of facts has a total order and a limit. `VALID` is (valid_from, recorded_from, ordinal), `RECORDED`
is (recorded_from, ordinal, valid_from); `after` is the order key of the last row of the page before.
`certain` asks for certain versions alone.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from graph.access import AccessStore, AccessTransaction
from graph.forgetting import ForgettingTransaction, Scrubbed, TombstoneReader
from graph.handoffs import HandoffStore, HandoffTransaction
from graph.queue import Queue
from graph.searching import SearchReader, SearchStore, SearchTransaction
from graph.sessions import SessionStore, SessionTransaction
from graph.walking import WalkReader
from ontology.claims import Entity, Episode, Lifecycle, Source, Told
from ontology.entries import Entry
from ontology.episodes import EpisodeRecord, Quote, RecordedEpisode
from ontology.events import Commit, Event, Payload, SlotHead
from ontology.facts import AsOf, Fact, FactVersion, Slot, Support
from ontology.ids import ClaimId, EntityId, EpisodeId, FactId, Ledger, Owner
from ontology.instants import Instant
from ontology.intervals import Interval
from ontology.line import Extent
from ontology.operations import Job
from ontology.schema import Schema
from ontology.scope import Scope, Tenant
from ontology.values import ValueKey

OrderKey = tuple[int, int, int]
BEFORE_ALL: Final[OrderKey] = (-(2**63), -(2**63), -(2**63))
AFTER_ALL: Final[OrderKey] = (2**63 - 1, 2**63 - 1, 2**63 - 1)
PAIRS_MAX: Final = 200
"""Of subjects and predicates in one question."""


class Clock(Protocol):
    """Where the time of day comes from."""

    def now(self) -> Instant: ...


class Randomness(Protocol):
    """Where ledger tags and salts come from."""

    def bytes(self, count: int) -> bytes: ...


class Order(StrEnum):
    VALID = "valid"
    VALID_DESCENDING = "valid_descending"
    RECORDED = "recorded"


class Page(NamedTuple):
    """How much of a list to give, and where to go on."""

    limit: int
    after: OrderKey | None = None

    def begins_after(self, order: Order) -> OrderKey:
        """`after`; of the first page, a key before all others."""
        if self.after is not None:
            return self.after
        return AFTER_ALL if order is Order.VALID_DESCENDING else BEFORE_ALL


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a tenant's ledger stands."""

    ledger: Ledger | None
    """`None` before the first commit."""
    position: int
    """Of the newest commit; 0 before the first."""
    recorded_at: Instant
    """Of the newest commit; `OPEN_START` before the first."""
    digest: bytes
    """Of the newest event; 32 zero bytes before the first."""
    erasures: int
    """How many commits have erased something: answers at an old `known_at` change only with it."""
    schema_version: int
    """0 before the first schema event: then the core pack holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What is believed now of a slot over `span`; rows may reach beyond it."""

    span: Interval
    versions: Sequence[FactVersion]
    extents: Sequence[Extent]
    """Those of one claim share its entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What an idempotency key stands for: the digest of its request and the receipt, as first answered."""

    request: bytes
    receipt: bytes


class Reader(TombstoneReader, SearchReader, WalkReader, Protocol):
    """One consistent snapshot of one scope. What belongs to another scope is not found."""

    @property
    def scope(self) -> Scope: ...

    @property
    def head(self) -> Head: ...

    def serve(self, known_at: Instant, until: Instant) -> None:
        """From now on judge what is asked at this `known_at`, or a later one, by what has expired at `until`."""
        ...

    def schema(self) -> Schema | None:
        """The newest schema of the tenant, `None` before its first schema event."""
        ...

    def entities_by_key(self, keys: Sequence[str]) -> dict[str, Entity]:
        """Those of the namespace's entities that have one of these keys."""
        ...

    def entities_by_id(self, ids: Sequence[EntityId]) -> dict[EntityId, Entity]:
        """Those of the namespace's entities that have one of these ids; a malformed id is not found."""
        ...

    def list_entities(
        self, as_of: AsOf, *, type: str | None, name: str | None, limit: int, after: EntityId | None
    ) -> list[Entity]:
        """Entities that a fact visible in this scope at `as_of` is about or points at, by (position, ordinal) of id.

        With `type`, those that hold this text under the predicate `type`; with `name`, under `name` or `alias`.
        """
        ...

    def state(
        self, pairs: Sequence[tuple[EntityId, str | None]], as_of: AsOf, *, certain: bool, page: Page
    ) -> list[Fact]:
        """Facts visible at `as_of` of each (subject, predicate or all), order `VALID`. At most `PAIRS_MAX` pairs."""
        ...

    def of_predicate(self, predicate: str, as_of: AsOf, *, certain: bool, page: Page) -> list[Fact]:
        """Facts visible at `as_of` of every subject, order `VALID`."""
        ...

    def holders(self, value: ValueKey, predicate: str | None, as_of: AsOf, *, certain: bool, page: Page) -> list[Fact]:
        """Facts visible at `as_of` that have this value (an entity reference is a value), order `VALID`."""
        ...

    def history(
        self, subject: EntityId, predicate: str | None, known_at: Instant, within: Interval, *,
        certain: bool, order: Order, page: Page,
    ) -> list[Fact]:  # fmt: skip
        """Versions believed at `known_at` whose valid time meets `within`."""
        ...

    def holders_history(
        self, value: ValueKey, predicate: str | None, known_at: Instant, within: Interval, *,
        certain: bool, order: Order, page: Page,
    ) -> list[Fact]:  # fmt: skip
        """The same for the facts that have this value."""
        ...

    def audit(
        self,
        subject: EntityId,
        predicate: str | None,
        *,
        valid_at: Instant | None,
        touched: Interval | None,
        page: Page,
    ) -> list[Fact]:
        """Raw rectangles, order `RECORDED`: all of them, or those that hold at `valid_at`, or those opened or closed
        at a recorded time of `touched`."""
        ...

    def fact(self, id: FactId) -> Fact:
        """One version, with its ends and support as known when it was last believed. Raises `NotFound`."""
        ...

    def served(self, versions: Sequence[FactVersion]) -> dict[FactId, list[Interval]]:
        """Over which recorded times these versions were served, in order, for those that may ever have expired; the
        others were served as long as they were believed."""
        ...

    def evidence(self, version: FactVersion, known_at: Instant, *, limit: int, after: OrderKey | None) -> list[Told]:
        """The claims that show in a version at `known_at` (or when it was last believed, if that is earlier), by
        order of rule 1."""
        ...

    def first_evidence(
        self, versions: Sequence[FactVersion], known_at: Instant, *, limit: int
    ) -> Mapping[FactId, list[Told]]:
        """Of each version the first claims that `evidence` gives, `limit` at most of each. One of another
        scope is left out."""
        ...

    def claims(self, subject: EntityId, predicate: str | None, *, limit: int, after: OrderKey | None) -> list[Told]:
        """Every claim and retraction of the subject's slots, held and ended ones too, by (position, ordinal, 0)."""
        ...

    def claim(self, id: ClaimId) -> Told:
        """Raises `NotFound`."""
        ...

    def claims_of_episode(self, id: EpisodeId) -> list[Told]:
        """Assertions that cite the episode and are folded or held, in any scope of the tenant's that shares this
        namespace and purpose, by (position, ordinal)."""
        ...

    def claims_of_source(self, source: Source) -> list[Told]:
        """The same for a source."""
        ...

    def held(
        self, states: Collection[Lifecycle], rule: str | None, *, limit: int, after: OrderKey | None
    ) -> list[Told]:
        """Claims and retractions of the scope that are in one of these states, which are states of waiting, and of
        one rule or any, by (position, ordinal, 0)."""
        ...

    def held_counts(self) -> dict[tuple[Lifecycle, str], int]:
        """How many of the scope wait, by state and by the rule that holds them."""
        ...

    def quotes(self, claims: Sequence[ClaimId]) -> dict[ClaimId, Quote]:
        """The words that these claims quote, of those of this scope that quote any."""
        ...

    def recorded_episode(self, id: EpisodeId) -> RecordedEpisode:
        """An episode whose verbatim is kept, or was. Raises `NotFound`, also for one that was only cited."""
        ...

    def overdue(self, now: Instant, *, limit: int, after: OrderKey | None) -> list[Told]:
        """Assertions of the scope that are accepted and expired by `now`, by (expires_at, position, ordinal)."""
        ...

    def episode_record(self, id: EpisodeId) -> EpisodeRecord | None:
        """What a recorded episode of the scope comes down to; `None` before it was read, and once it was destroyed."""
        ...

    def slot_heads(self, slots: Sequence[Slot]) -> dict[Slot, SlotHead]: ...

    def slots_of(self, subject: EntityId, predicate: str | None) -> list[SlotHead]: ...

    def slots(self, predicate: str | None, *, limit: int, after: Slot | None) -> list[SlotHead]:
        """Every slot of the scope, or of one predicate, by (position, ordinal) of its subject, predicate, language."""
        ...

    def events(self, *, after: int, limit: int) -> list[tuple[Event, tuple[Payload, ...]]]:
        """Events of the tenant with a position greater than `after`, in order, with the payloads that still exist
        (a restated one in its newest form). Privileged: payloads span scopes; callers filter by slot."""
        ...

    def answered(self, principal: str, key: str) -> Answered | None:
        """What this key stands for, however old."""
        ...


class Transaction(
    Reader,
    AccessTransaction,
    ForgettingTransaction,
    SessionTransaction,
    HandoffTransaction,
    SearchTransaction,
    Protocol,
):
    """A reader under the tenant's write lock. A write applies at most one commit, an import many, all or none."""

    def within(self, scope: Scope) -> "Transaction":
        """The same transaction, looking at another scope of the tenant, before anything is applied."""
        ...

    def window(self, slot: Slot, value: ValueKey | None, around: Interval, margin: int | None) -> Window:
        """What is believed now around a stretch of valid time, and `margin` versions more on each side.

        With `value`, of that value alone. With `margin=None` all of it: the window is the whole axis.
        """
        ...

    def entries(self, slot: Slot) -> list[tuple[Entry, ClaimId]]:
        """Every operation of the slot that is folded, in the order of rule 1."""
        ...

    def support_now(self, slot: Slot, values: Sequence[ValueKey]) -> dict[ValueKey, Support]: ...

    def voice(self, slot: Slot, value: ValueKey, root: str, episode: EpisodeId | None) -> tuple[float | None, bool]:
        """(highest confidence of this root among the claims that are folded, or `None`; whether this episode has one
        that is no echo)."""
        ...

    def repeated(self, slot: Slot, value: ValueKey, episode: EpisodeId) -> list[Told]:
        """Assertions of a value that cite this episode and are folded or held."""
        ...

    def heard(self, slot: Slot, value: ValueKey) -> list[Told]:
        """Assertions of a value that are folded, held or rejected, by (position, ordinal)."""
        ...

    def episodes(self, ids: Sequence[EpisodeId]) -> dict[EpisodeId, Episode]: ...

    def recorded_as(self, contents: Sequence[bytes]) -> dict[bytes, EpisodeId]:
        """The recorded episodes of this scope that have one of these contents."""
        ...

    def enqueue(self, jobs: Sequence[Job], now: Instant) -> None:
        """Queue the reading of episodes that this transaction recorded, each with a place in its session."""
        ...

    def words_recorded(self, before: Instant, *, limit: int, after: tuple[int, int]) -> list[EpisodeId]:
        """The episodes of the tenant, in any scope, that were recorded before an instant and still have their words,
        by (position, ordinal)."""
        ...

    def payloads_about(self, subject: Owner | None) -> list[tuple[int, Payload]]:
        """Every payload about a subject or a recorded episode that still exists, with its position, in order; with
        `None` those that concern neither."""
        ...

    def apply(self, commit: Commit, *, ledger: Ledger) -> None:
        """Write all of a commit. `ledger` becomes the tenant's tag if this is its first."""
        ...

    def remember(self, principal: str, key: str, answered: Answered, until: Instant) -> None:
        """Keep what an idempotency key stands for, with this transaction."""
        ...

    def forget_keys(self, before: Instant) -> int:
        """Drop idempotency keys kept until an instant that has passed; gives how many."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What may differ between engines without breaking the contract."""

    engine: str
    """For people: shown by `doctor` and `/readyz`, never compared."""
    concurrent_writers: bool


class Grade(StrEnum):
    """How good it is what a check found."""

    OK = "ok"
    WARNING = "warning"
    """It works, and should be looked at."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check found, in words for whoever keeps the store running."""

    check: str
    finding: str
    grade: Grade = Grade.OK
    private: bool = False
    """Whether it names a path or a user, which not everybody need know who may ask whether the store is ready."""


class MemoryStore(SearchStore, Protocol):
    """Where memory is kept. Safe to use from many threads; one object per process and database."""

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def access(self) -> AccessStore:
        """Issued keys and the owners of namespaces."""
        ...

    def read(self, scope: Scope) -> AbstractContextManager[Reader]:
        """A snapshot. Raises `Unavailable` if the store cannot be reached."""
        ...

    def write(self, scope: Scope) -> AbstractContextManager[Transaction]:
        """The tenant's write lock and a transaction under it, committed if the block ends without an exception.

        Raises `Busy` if the lock cannot be had in time; nothing is written then.
        """
        ...

    @property
    def queue(self) -> Queue: ...

    @property
    def sessions(self) -> SessionStore: ...

    @property
    def handoffs(self) -> HandoffStore: ...

    def tenants(self) -> list[Tenant]: ...

    def scopes(self, tenant: Tenant) -> list[Scope]:
        """Every scope of the tenant of which there are claims or recorded episodes, by (namespace, purpose)."""
        ...

    def ledger(self, tenant: Tenant) -> Iterator[tuple[str, tuple[object, ...]]]:
        """Every row of a tenant's ledger as (kind, plain values), in a total order that all stores share: what
        `ledger_hash` hashes. Kinds: schema, entity, episode, kept, claim, transition, version, support, quote,
        record, tombstone."""
        ...

    def scrub(self) -> Scrubbed:
        """Leave nothing in the files of what was erased before. Called again after a crash: a store that has begun
        one ends it when it is opened."""
        ...

    def check(self, now: Instant) -> list[Finding]:
        """What `doctor` and `/readyz` report. `now` is the caller's time, to hold other clocks against.

        Raises `Unavailable`.
        """
        ...

    def close(self) -> None: ...
