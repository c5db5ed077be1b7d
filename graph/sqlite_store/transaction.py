"""A reader under the write lock: what a writer reads of a slot before it decides, and the one commit at the end."""

from collections.abc import Sequence

from graph import decoding
from graph.ports import Answered, Window
from graph.ports import Transaction as TransactionPort
from graph.sqlite_store.access import SqliteAccessTransaction
from graph.sqlite_store.applying import Applying
from graph.sqlite_store.connection import Connection, Row
from graph.sqlite_store.forgetting import SqliteForgettingTransaction
from graph.sqlite_store.handoffs import SqliteHandoffTransaction
from graph.sqlite_store.indexing import SqliteSearchTransaction
from graph.sqlite_store.keys import Keys
from graph.sqlite_store.reader import SqliteReader
from graph.sqlite_store.sessions import SqliteSessionTransaction
from graph.sqlite_store.snapshot import FIRST_KEY, LAST_KEY
from ontology.claims import Episode, Told
from ontology.entries import Entry
from ontology.errors import Fault
from ontology.events import Commit, Payload
from ontology.facts import Slot, Support
from ontology.ids import EPISODE, ClaimId, EpisodeId, Ledger, Owner, Place, claim_id, episode_id, locate
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.intervals import Interval
from ontology.operations import Job, lane_of
from ontology.scope import Scope
from ontology.values import ValueKey

_EXTENTS_AT_ONCE = 16
"""From so many versions on, the extents of the whole slot are read at once."""
_ALL = 2**62


class SqliteTransaction(
    SqliteReader,
    SqliteForgettingTransaction,
    SqliteAccessTransaction,
    SqliteSessionTransaction,
    SqliteHandoffTransaction,
    SqliteSearchTransaction,
):
    """What a writer may ask and do; whoever made it commits or rolls back."""

    __slots__ = ("_applying", "_keys", "_slot_rows", "erased")

    def __init__(self, connection: Connection, scope: Scope) -> None:
        super().__init__(connection, scope)
        self._applying: Applying | None = None
        self._keys: Keys | None = None
        self._slot_rows: dict[Slot, Row | None] = {}
        """The rows of slots that were looked up; nobody else changes them under this lock."""
        self.erased = False
        """Whether its commit erased something, so that the file should be scrubbed after it."""

    @property
    def _fixed(self) -> bool:
        return False

    def within(self, scope: Scope) -> TransactionPort:
        return SqliteTransaction(self._connection, scope)

    def window(self, slot: Slot, value: ValueKey | None, around: Interval, margin: int | None) -> Window:
        row = self._slot_row(slot)
        if row is None:
            return Window(span=Interval(OPEN_START, OPEN_END), versions=(), extents=())
        span = Interval(OPEN_START, OPEN_END) if margin is None else self._span(row[0], value, around, margin)
        if value is None:
            rows = self._connection.all("window", (row[0], span.start, span.end, row[9]))
        else:
            rows = self._connection.all("window_of_value", (row[0], span.start, span.end, value))
        shown = [each for each in self._extents(row[0], value, rows) if each[0] < span.end and each[1] > span.start]
        return Window(
            span=span,
            versions=[decoding.version(self._ledger, slot, each) for each in rows],
            extents=decoding.extents(shown),
        )

    def entries(self, slot: Slot) -> list[tuple[Entry, ClaimId]]:
        row = self._slot_row(slot)
        found = [] if row is None else map(decoding.entry, self._connection.all("entries", (row[0],)))
        return [(entry, claim_id(Place(self._ledger, entry.position, entry.ordinal))) for entry in found]

    def support_now(self, slot: Slot, values: Sequence[ValueKey]) -> dict[ValueKey, Support]:
        row = self._slot_row(slot)
        if row is None:
            return {}
        rows = ((value, self._connection.one("support_now", (row[0], value))) for value in values)
        return {value: decoding.support(slot, value, held, held[0]) for value, held in rows if held is not None}

    def voice(self, slot: Slot, value: ValueKey, root: str, episode: EpisodeId | None) -> tuple[float | None, bool]:
        row = self._slot_row(slot)
        if row is None:
            return None, False
        heard = self._connection.one("voice_of_root", (row[0], value, self._tenant_pk, root))
        cited = episode is not None and bool(self._of_episode(row, value, episode, 1, every=False))
        return None if heard is None else heard[0], cited

    def repeated(self, slot: Slot, value: ValueKey, episode: EpisodeId) -> list[Told]:
        row = self._slot_row(slot)
        return [] if row is None else self._tell(self._of_episode(row, value, episode, _ALL, every=True))

    def heard(self, slot: Slot, value: ValueKey) -> list[Told]:
        row = self._slot_row(slot)
        return [] if row is None else self._tell(self._connection.all("heard", (row[0], value)))

    def episodes(self, ids: Sequence[EpisodeId]) -> dict[EpisodeId, Episode]:
        rows = (self._connection.one("episode", (self._tenant_pk, id)) for id in ids)
        return {row[0]: decoding.episode(row) for row in rows if row is not None}

    def recorded_as(self, contents: Sequence[bytes]) -> dict[bytes, EpisodeId]:
        rows = ((content, self._connection.one("recorded_as", (self._scope_pk, content))) for content in contents)
        return {content: episode_id(Place(self._ledger, *row)) for content, row in rows if row is not None}

    def enqueue(self, jobs: Sequence[Job], now: Instant) -> None:
        if self._keys is None:
            raise Fault("only what this transaction recorded can be queued")
        for job in jobs:
            place = locate(job.episode, EPISODE)
            key = (self._keys.tenant, place.position, place.ordinal, self._keys.scope(job.scope))
            self._connection.many("enqueue", [(*key, lane_of(job), job.principal, now)])

    def words_recorded(self, before: Instant, *, limit: int, after: tuple[int, int]) -> list[EpisodeId]:
        rows = self._connection.all("words_recorded", (self._tenant_pk, *after, limit))
        old = (row for row in rows if row[2] < before)  # recorded times grow with positions
        return [episode_id(Place(self._ledger, row[0], row[1])) for row in old]

    def payloads_about(self, subject: Owner | None) -> list[tuple[int, Payload]]:
        if subject is None:
            rows = self._connection.all("payloads_of_nobody", (self._tenant_pk,))
            return [(row[0], decoding.payload(None, row[1:])) for row in rows]
        place = decoding.owner_place(subject, self._ledger)
        rows = [] if place is None else self._connection.all("payloads_about", (self._tenant_pk, *place))
        return [(row[0], decoding.payload(subject, row[1:])) for row in rows]

    def apply(self, commit: Commit, *, ledger: Ledger) -> None:
        if self._applying is None:
            known = {slot: None if row is None else row[0] for slot, row in self._slot_rows.items()}
            self._keys = Keys(self._connection, self._scope.tenant, self.head.ledger or ledger, known)
            self._applying = Applying(self._connection, self._keys, self._scope.tenant)
        self._slot_rows.clear()
        self._applying.apply(commit)
        self.erased |= commit.changes.erases or bool(commit.restated)

    def remember(self, principal: str, key: str, answered: Answered, until: Instant) -> None:
        row = (self._scope.tenant, principal, key, answered.request, answered.receipt, until)
        self._connection.all("put_answer", row)

    def forget_keys(self, before: Instant) -> int:
        return self._connection.many("forget_answers", [(self._scope.tenant, before)])

    # ---- what these are made of

    def _slot_row(self, slot: Slot) -> Row | None:
        if slot not in self._slot_rows:
            self._slot_rows[slot] = super()._slot_row(slot)
        return self._slot_rows[slot]

    def _span(self, slot_pk: int, value: ValueKey | None, around: Interval, margin: int) -> Interval:
        parameters = (slot_pk, around.start, around.end, max(margin, 1))
        if value is None:
            found = self._connection.all("window_span", parameters)
        else:
            found = self._connection.all("window_span_of_value", (*parameters, value))
        start, end = found[0]
        return Interval(OPEN_START if start is None else start, OPEN_END if end is None else end)

    def _extents(self, slot_pk: int, value: ValueKey | None, versions: Sequence[Row]) -> list[Row]:
        """The rows of the extents inside these versions."""
        if len(versions) > _EXTENTS_AT_ONCE:
            low, high = (FIRST_KEY, LAST_KEY) if value is None else (value, value)
            return self._connection.all("extents_of_slot", (self._tenant_pk, slot_pk, low, high))
        return [
            extent
            for row in versions
            for extent in self._connection.all("extents_of_version", (self._tenant_pk, slot_pk, row[5], row[7], row[8]))
        ]

    def _of_episode(self, row: Row, value: ValueKey, episode: EpisodeId, limit: int, *, every: bool) -> list[Row]:
        parameters = (self._tenant_pk, episode, row[0], value, limit, every)
        return self._connection.all("claims_of_episode_for", parameters)


_conforms: type[TransactionPort] = SqliteTransaction
