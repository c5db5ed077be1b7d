"""What an episode comes down to, on every store: a payload of the episode's own, which goes where the words go."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from consolidation.episodes import NewEpisode, NewTurn
from consolidation.records import Records
from consolidation.retention import Keeping, Sweeper
from consolidation.write import Writer
from graph import journal, transfer
from graph.journal_rows import seal
from graph.ledger import ledger_hash
from graph.ports import MemoryStore
from ontology.durations import days
from ontology.episodes import Cited, EpisodeRecord
from ontology.errors import NotFound
from ontology.events import ChangeSet, Kind, Restated
from ontology.ids import EpisodeId
from ontology.instants import DAY, Instant
from ontology.packs import load_core
from ontology.scope import Scope, Tenant, scope_of
from tests.conftest import SeededRandomness
from tests.contract.test_episodes import Told
from tests.contract.world import SCOPE
from tests.naive_store import NaiveStore

OTHER = scope_of("acme", "team")


class Read(Told):
    """A store behind the recorder, and what keeps records."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.records = Records(store=store, clock=self.clock, randomness=SeededRandomness(7))

    def recorded(self, text: str = "Mira likes tea. It works.") -> EpisodeId:
        return EpisodeId(self.record(NewEpisode(turns=[NewTurn(speaker="Mira", text=text)]))[0]["episode"])

    def keep(self, record: EpisodeRecord) -> EpisodeRecord | None:
        return self.records.keep("reader", record)

    def found(self, id: EpisodeId, scope: Scope = SCOPE) -> EpisodeRecord | None:
        with self.store.read(scope) as reader:
            return reader.episode_record(id)

    def hash(self) -> str:
        return ledger_hash(self.store, SCOPE.tenant)

    def destroy(self, id: EpisodeId) -> None:
        """Destroy all that the journal holds of an episode, as forgetting does."""
        with self.store.write(SCOPE) as tx:
            head = tx.head
            gone = [
                Restated(position=at, payload=seal(id, bytes(32), journal_body())) for at, _ in tx.payloads_about(id)
            ]
            now = Instant(head.recorded_at + 1)
            changes = ChangeSet(position=head.position + 1, recorded_at=now, kind=Kind.ERASE, principal="x")
            tx.apply(
                journal.commit(changes, head, salts=lambda: bytes(32), restated=gone),
                ledger=head.ledger,  # type: ignore[arg-type]
            )


def journal_body() -> bytes:
    """The body of a payload in which nothing is left."""
    return b"[2,[],[],[],null]"


@pytest.fixture
def told(store: MemoryStore) -> Read:
    return Read(store)


def record(id: EpisodeId, summary: str | None = None, scope: Scope = SCOPE) -> EpisodeRecord:
    places: Iterable[Cited] = (Cited(0, 0, 14), Cited(0, 16, 24))
    first, last = places
    return EpisodeRecord(
        episode=id, scope=scope, made_by="extractive 1", summary=summary, sentences=(first, last), attempted=(),
        happened=(first,), decisions=(), outcome=(last,),
    )  # fmt: skip


def test_a_record_is_read_back_as_it_was_kept(told: Read) -> None:
    id, other = told.recorded(), told.recorded("Another.")
    assert told.found(id) is None
    made = record(id, "In words of a model: \x00 'é' \U0001f44b")
    assert told.keep(made) == made
    assert told.found(id) == made
    assert told.found(other) is None
    with told.store.read(SCOPE) as reader:
        words = reader.recorded_episode(id).verbatim
        assert words is not None, "the words are still there, and come first"
        assert words.body[0].text == "Mira likes tea. It works."  # type: ignore[union-attr]


def test_the_first_record_stays(told: Read) -> None:
    id = told.recorded()
    first = told.keep(record(id))
    before = told.hash()
    assert told.keep(record(id, "another")) == first
    assert told.hash() == before


def test_a_record_is_found_in_its_scope_alone(told: Read) -> None:
    id = told.recorded()
    told.keep(record(id))
    for scope in (OTHER, scope_of("zeta")):
        assert told.found(id, scope) is None
    for odd in ("", "epi_aaaaaaaa_1_0", "ent_aaaaaaaa_1_0"):
        assert told.found(EpisodeId(odd)) is None
    with pytest.raises(NotFound):
        told.keep(record(EpisodeId("epi_aaaaaaaa_1_0")))


def test_a_record_is_part_of_the_ledger_and_moves_with_the_journal(told: Read) -> None:
    id = told.recorded()
    before = told.hash()
    told.keep(record(id))
    after = told.hash()
    assert after != before
    lines: list[bytes] = []
    transfer.export_events(told.store, SCOPE.tenant, lines.append)
    copy = replace(SCOPE, tenant=Tenant("copy"))
    transfer.import_events(told.store, copy.tenant, lambda: lines, now=told.clock.now())
    assert ledger_hash(told.store, copy.tenant) == after
    assert told.found(id, copy) == replace(record(id), scope=copy)


def test_a_record_goes_with_the_words_and_none_is_kept_after(told: Read) -> None:
    id = told.recorded()
    told.keep(record(id, "marker"))
    told.destroy(id)
    assert told.found(id) is None
    assert not [row for kind, row in told.store.ledger(SCOPE.tenant) if kind == "record"]
    assert told.keep(record(id, "marker")) is None
    assert transfer.verify_events(told.store, SCOPE.tenant) == []


def test_a_record_goes_with_words_that_are_kept_for_a_time(told: Read) -> None:
    id = told.recorded()
    told.keep(record(id, "marker"))
    writer = Writer(store=told.store, clock=told.clock, randomness=SeededRandomness(8), core=load_core())
    keeping = Keeping(verbatim_ttl=days(1), receipt_days=30)
    sweeper = Sweeper(
        store=told.store, writer=writer, clock=told.clock, randomness=SeededRandomness(9), keeping=keeping
    )  # fmt: skip
    sweeper.sweep()
    assert told.found(id) is not None
    told.clock.advance(2 * DAY)
    sweeper.sweep()
    assert told.found(id) is None
    with told.store.read(SCOPE) as reader:
        assert reader.recorded_episode(id).verbatim is None
    assert "marker" not in str(list(told.store.ledger(SCOPE.tenant)))
    copy = NaiveStore()
    transfer.rebuild(told.store, copy, SCOPE.tenant)
    assert ledger_hash(copy, SCOPE.tenant) == told.hash()
