"""Forgetting: what goes, what stays, what is refused afterwards. On all stores."""

import json
import unicodedata
import zlib
from typing import Any, Final

import pytest

from consolidation.episodes import NewEpisode, NewTurn, Recorder
from consolidation.forgetting.forgetter import Forgetter, Named, each_tombstone
from consolidation.forgetting.graves import FORGOTTEN
from consolidation.items import Quoted
from consolidation.records import Records
from consolidation.sessions import NewNote, NewSession, Sessions, Tempo
from consolidation.verify import refold
from graph import transfer
from graph.ledger import ledger_hash
from ontology.claims import HELD
from ontology.episodes import Cited, EpisodeRecord
from ontology.errors import Gone, Incorrect, NotFound, Refused, VersionChanged
from ontology.ids import ClaimId, EpisodeId, FactId, OperationId, SessionId, TombstoneId
from ontology.instants import SECOND, Instant
from ontology.operations import State, episode_of
from ontology.scope import Scope, Tenant, scope_of
from ontology.sessions import Stage
from ontology.tombstones import Tombstone
from tests.conftest import SeededRandomness
from tests.contract.world import SCOPE, World, claim, erase, retract, withdraw
from tests.naive_store import NaiveStore

MARKER: Final = "zqxmarker"
HEALTH: Final = scope_of("acme", "default", "health")
ELSEWHERE: Final = scope_of("acme", "team")


class Known:
    """A world in which much is told of one person, and of others who know them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.store = world.store
        self.told: list[Tombstone] = []
        randomness = SeededRandomness()
        self.recorder = Recorder(store=world.store, clock=world.clock, randomness=randomness)
        self.forgetter = Forgetter(store=world.store, clock=world.clock, randomness=randomness, outside=[self])
        self.sessions = Sessions(
            store=world.store, recorder=self.recorder, clock=world.clock, randomness=SeededRandomness(5), tempo=Tempo()
        )
        world.declare("knows", cardinality="many")

    def forget(self, tenant: Tenant, tombstone: Tombstone, secret: bytes) -> None:
        """What stands for backups."""
        assert tenant == tombstone.scope.tenant
        assert len(secret) == 32
        self.told.append(tombstone)

    def record(self, *episodes: NewEpisode, scope: Scope = SCOPE) -> list[EpisodeId]:
        receipt: Any = self.recorder.record(scope, "tester", episodes).receipt
        self.world.clock.advance(SECOND)
        return [EpisodeId(item["episode"]) for item in receipt["items"]]

    def away(
        self, subject: str | None = None, *, scope: Scope = SCOPE, blocks: bool = True, by: str = "person", **named: str
    ) -> dict[str, Any]:  # fmt: skip
        """Forget, in both steps."""
        what = Named(subject=subject, **named)
        preview = self.forgetter.preview(scope, what, blocks=blocks)
        confirm = str(preview["manifest"])
        receipt: dict[str, Any] = self.forgetter.forget(scope, by, what, confirm=confirm, blocks=blocks)
        self.world.clock.advance(SECOND)
        return receipt

    def rows(self) -> str:
        return "".join(map(str, self.store.ledger(SCOPE.tenant)))

    def journal(self) -> str:
        lines: list[bytes] = []
        transfer.export_events(self.store, SCOPE.tenant, lines.append)
        return b"".join(lines).decode()

    def stones(self) -> list[Tombstone]:
        with self.store.read(SCOPE) as reader:
            return [*each_tombstone(reader)]


@pytest.fixture
def known(world: World) -> Known:
    return Known(world)


def tell_everything(known: Known) -> EpisodeId:
    """The marker in a key, a name, a value, a quote, an episode, held and rejected copies, an idempotency result."""
    world = known.world
    (episode,) = known.record(
        NewEpisode(turns=[NewTurn(speaker="ann", text=f"{MARKER} moved to Oslo, and Bo too")], session=f"{MARKER}-s")
    )
    quoted = Quoted(turn=0, start=0, end=20, text=f"{MARKER} moved to Oslo")
    person = f"{MARKER}-key"
    world.write(claim(person, "name", f"{MARKER} Vera", "2020-01-01"), key="first")
    world.write(
        claim(person, "lives_in", f"{MARKER} street", "2020-01-01"),
        claim(person, "lives_in", "Oslo", "2021-01-01", episode=episode, source="chat", quote=quoted),
        claim("bo", "lives_in", "Oslo", "2021-01-01", episode=episode, source="chat", quote=quoted),
        claim("bo", "lives_in", "Cork", "2019-01-01"),
    )
    world.write(claim("bo", "knows", {"type": "entity", "key": person}, "2020-01-01"))
    world.write(claim("bo", "knows", {"type": "entity", "key": "cy"}, "2020-01-01"))
    world.write(claim(person, "works_for", f"{MARKER} Ltd", "2020-01-01", trust="untrusted"))
    held = world.write(claim("bo", "works_for", {"type": "entity", "key": person}, trust="untrusted"))["items"][0]
    world.write(withdraw(claim=held["claim"]))
    world.write(claim(person, "note", "gone soon"), key="noted")
    world.write(retract(person, "note", valid_from="2022-01-01"))
    world.tell(person, "note", f"{MARKER} ill", "2022-01-01", scope=HEALTH)
    world.tell(person, "note", f"{MARKER} twin", "2022-01-01", scope=ELSEWHERE)
    return episode


# --- a subject


def test_nothing_of_a_subject_is_left_and_others_keep_what_is_theirs(known: Known) -> None:
    tell_everything(known)
    world = known.world
    here, cy = world.id(f"{MARKER}-key"), world.id("cy")
    twin = world.id(f"{MARKER}-key", ELSEWHERE)
    before = {id: ledger_hash(known.store, SCOPE.tenant, subject=id) for id in (cy, twin)}

    receipt = known.away(f"{MARKER}-key")

    assert receipt["counts"]["entities"] == 1
    assert receipt["counts"]["verbatims"] == 1
    assert receipt["destroyed"] == [here]
    assert receipt["verification"]["found"] == 0
    left = known.rows() + known.journal()
    assert f"{MARKER} street" not in left
    assert f"{MARKER} moved" not in left
    assert {id: ledger_hash(known.store, SCOPE.tenant, subject=id) for id in (cy, twin)} == before
    assert world.state("bo", "lives_in", "2022-01-01") == ["Oslo"]
    assert world.state("bo", "knows", "2022-01-01") == [cy]
    assert world.state(f"{MARKER}-key", "note", "2023-01-01", scope=ELSEWHERE) == [f"{MARKER} twin"]
    assert transfer.verify_events(known.store, SCOPE.tenant) == []
    assert refold(known.store, SCOPE.tenant) == []


def test_the_marker_is_in_no_row_no_payload_and_no_answer(known: Known) -> None:
    world = known.world
    episode = tell_everything(known)
    known.away(f"{MARKER}-key", scope=ELSEWHERE)

    known.away(f"{MARKER}-key")

    assert MARKER not in known.rows()
    assert MARKER not in known.journal()
    with known.store.write(SCOPE) as tx:
        answers = [zlib.decompress(each.receipt).decode() for each in tx.kept_answers() if each.receipt]
        assert MARKER not in "".join(answers)
        recorded = tx.recorded_episode(episode)
        assert recorded.verbatim is None
        assert [t.claim.slot.subject for t in tx.all_of_episode(episode)] == [world.id("bo")]
        assert tx.quotes([t.claim.id for t in tx.all_of_episode(episode)]) == {}
    operation = known.store.queue.operation(SCOPE, OperationId("opr" + episode.removeprefix("epi")))
    assert (operation.state, operation.reason, operation.receipts) == (State.FAILED, "forgotten", None)


def test_what_pointed_at_it_is_gone_at_every_known_at(known: Known) -> None:
    world = known.world
    person = {"type": "entity", "key": "vera"}
    world.write(claim("vera", "name", "Vera"))
    world.write(claim("bo", "works_for", {"type": "entity", "key": "acme"}, "2019-01-01"))
    then = world.tell("bo", "works_for", person, "2020-01-01")

    known.away("vera")

    assert world.state("bo", "works_for", "2021-01-01", then) == []
    assert world.state("bo", "works_for", "2021-01-01") == [world.id("acme")]


def test_a_preview_writes_nothing_and_a_stale_one_is_refused(known: Known) -> None:
    world = known.world
    world.tell("vera", "lives_in", "Oslo", "2020-01-01")
    before = known.journal()
    preview: Any = known.forgetter.preview(SCOPE, Named(subject="vera"))
    assert preview["state"] == "preview"
    assert (preview["counts"]["claims"], preview["counts"]["facts"]) == (1, 1)
    assert known.journal() == before
    world.tell("vera", "note", "more")

    with pytest.raises(VersionChanged) as refused:
        known.forgetter.forget(SCOPE, "person", Named(subject="vera"), confirm=str(preview["manifest"]))

    shown: Any = refused.value.members["preview"]
    assert shown["counts"]["claims"] == 2
    assert world.state("vera", "lives_in", "2021-01-01") == ["Oslo"]


def test_to_forget_again_changes_nothing_and_gives_the_same_receipt(known: Known) -> None:
    world = known.world
    world.tell("vera", "lives_in", "Oslo", "2020-01-01")
    id = world.id("vera")
    first = known.away("vera")
    after = known.journal()

    assert known.away("vera") == first
    assert known.away(id, by="somebody else") == first
    assert known.forgetter.preview(SCOPE, Named(subject=id)) == first
    assert known.journal() == after
    assert {stone.id for stone in known.told} == {first["tombstone"]}
    assert known.told[0].destroyed == (id,)


def test_its_ids_are_known_to_be_forgotten_in_its_namespace(known: Known) -> None:
    world = known.world
    item = world.write(claim("vera", "lives_in", "Oslo", "2020-01-01"))["items"][0]
    id = world.id("vera")
    known.away("vera")

    with known.store.read(SCOPE) as reader:
        for gone in (id, item["claim"], item["opened"][0]):
            stone = reader.tombstone_of(gone)
            assert stone is not None
            assert (stone.subject, stone.scope.namespace) == (id, "default")
        assert reader.tombstone_of("ent_aaaaaaaa_1_0") is None
        with pytest.raises(NotFound):
            reader.claim(ClaimId(item["claim"]))
        with pytest.raises(NotFound):
            reader.fact(FactId(item["opened"][0]))


# --- what comes back


def test_a_key_that_was_forgotten_is_refused_until_its_tombstone_is_lifted(known: Known) -> None:
    world = known.world
    world.tell("vera", "lives_in", "Oslo", "2020-01-01")
    stone = known.away("vera")["tombstone"]

    for item in (claim("vera", "note", "x"), claim("bo", "knows", {"type": "entity", "key": "vera"})):
        with pytest.raises(Refused) as refused:
            world.write(item)
        assert refused.value.slug == "forgotten"
        assert refused.value.members == {"tombstone": stone}
    world.tell("vera", "note", "another one", scope=ELSEWHERE)

    lifted = known.forgetter.lift(SCOPE, "root", TombstoneId(stone))
    assert lifted.lifted is not None
    assert lifted.lifted.actor == "root"
    world.clock.advance(SECOND)
    world.tell("vera", "lives_in", "Bonn", "2020-01-01")
    assert world.state("vera", "lives_in", "2021-01-01") == ["Bonn"]
    assert known.forgetter.lift(SCOPE, "other", TombstoneId(stone)) == lifted
    assert transfer.verify_events(known.store, SCOPE.tenant) == []


def test_without_block_a_key_may_come_back(known: Known) -> None:
    known.world.tell("vera", "lives_in", "Oslo", "2020-01-01")
    known.away("vera", blocks=False)

    known.world.tell("vera", "lives_in", "Bonn", "2020-01-01")

    assert known.world.state("vera", "lives_in", "2021-01-01") == ["Bonn"]


def test_an_id_that_was_forgotten_is_refused_even_without_block(known: Known) -> None:
    known.world.tell("vera", "lives_in", "Oslo", "2020-01-01")
    id = known.world.id("vera")
    known.away("vera", blocks=False)

    with pytest.raises(Refused) as refused:
        known.world.write(claim("bo", "knows", {"type": "entity", "id": id}))
    assert refused.value.slug == "forgotten"


def test_a_name_alone_is_held_for_review(known: Known) -> None:
    world = known.world
    world.tell("vera", "name", "Vera  Lind")
    known.away("vera")

    item = world.write(claim("somebody", "name", "vera lind"))["items"][0]

    assert (item["state"], item["rule"]) == ("quarantined", FORGOTTEN)
    with known.store.read(SCOPE) as reader:
        assert [t.claim.id for t in reader.held(HELD, FORGOTTEN, limit=9, after=None)] == [item["claim"]]
    assert world.write(claim("other", "name", "Vera Lindt"))["items"][0]["state"] == "accepted"


def test_a_retry_of_what_was_forgotten_does_not_bring_it_back(known: Known) -> None:
    world = known.world
    item = claim("vera", "lives_in", "Oslo", "2020-01-01")
    world.write(item, key="k")
    known.away("vera", blocks=False)

    with pytest.raises(Gone):
        world.write(item, key="k")


WRITTEN: Final = {
    "JSON": ("Zoë Lind", json.dumps({"who": "Zoë\tLind"})),
    "JSON in JSON": ("Zoë Lind", json.dumps({"body": json.dumps({"who": "Zoë Lind"})})),
    "JSON of a character beyond 16 bits": ("𠮷野", json.dumps({"who": "𠮷野"})),
    "HTML": ("Zoë Lind", "<p>Zo&euml;&nbsp;Lind</p>"),
    "an address": ("Zoë Lind", "see https://crm.example/people/Zo%C3%AB%20Lind"),
    "other code points": ("Zoë Lind", unicodedata.normalize("NFD", "it was Zoë Lind.")),
    "Japanese": ("山田太郎", "昨日山田太郎さんは来た"),
    "Latin amid Japanese": ("Zoë", "昨日Zoëさんは来た"),
    "Korean": ("영희", "어제 영희는 집에 갔다"),
    "Thai": ("สมชาย", "เมื่อวานสมชายไปตลาด"),
}
"""A name, and a text that says it in its way."""


@pytest.mark.parametrize(("name", "text"), WRITTEN.values(), ids=WRITTEN)
def test_an_episode_that_says_the_name_in_its_own_way_loses_its_words(known: Known, name: str, text: str) -> None:
    known.world.tell("vera", "name", name)
    says, other = known.record(NewEpisode(text=text), NewEpisode(text="Zoëlind, 山下 and C:\\u0-path stay"))

    receipt = known.away("vera")

    assert receipt["counts"]["verbatims"] == 1
    with known.store.read(SCOPE) as reader:
        assert reader.recorded_episode(says).verbatim is None
        assert reader.recorded_episode(other).verbatim is not None


def test_the_key_of_a_request_goes_with_the_words_that_it_brought(known: Known) -> None:
    known.world.tell("vera", "name", "Vera")
    known.recorder.record(SCOPE, "tester", [NewEpisode(text="Vera is ill")], key=f"{MARKER}-retry")
    known.world.clock.advance(SECOND)

    known.away("vera")

    with known.store.read(SCOPE) as reader:
        answered = reader.answered("tester", f"{MARKER}-retry")
    assert answered is None or not answered.receipt


# --- a slot


def test_a_slot_goes_and_the_subject_stays(known: Known) -> None:
    world = known.world
    then = world.tell("vera", "lives_in", "Oslo", "2020-01-01")
    world.tell("vera", "lives_in", MARKER, "2021-01-01")
    world.tell("vera", "note", "stays")

    receipt = known.away("vera", predicate="lives_in")

    assert (receipt["target"], receipt["block"]) == ("slot", False)
    assert receipt["verification"]["found"] == 0
    assert MARKER not in known.rows() + known.journal()
    assert world.state("vera", "lives_in", "2020-06-01", then) == []
    assert world.state("vera", "note", "2030-01-01") == ["stays"]
    assert known.away("vera", predicate="lives_in") == receipt
    world.tell("vera", "lives_in", "Bonn", "2021-01-01")
    assert world.state("vera", "lives_in", "2022-01-01") == ["Bonn"]
    assert transfer.verify_events(known.store, SCOPE.tenant) == []
    assert refold(known.store, SCOPE.tenant) == []


# --- a source, an episode


def test_forgetting_the_source_of_a_change_opens_what_it_closed(known: Known) -> None:
    """Scenario D3, with the older time as a hole."""
    world = known.world
    world.tell("bo", "lives_in", "Cork", "2020-01-01", source="s1")
    then = world.tell("bo", "lives_in", "Bonn", "2024-01-01", source="s2")

    receipt = known.away(source="s2")

    assert receipt["verification"]["found"] == 0
    assert world.state("bo", "lives_in", "2025-01-01") == ["Cork"]
    assert world.state("bo", "lives_in", "2025-01-01", then) == []
    assert world.state("bo", "lives_in", "2021-01-01", then) == ["Cork"]
    assert "Bonn" not in known.rows() + known.journal()
    assert "s2" not in known.rows()
    assert known.away(source="s2") == receipt
    assert refold(known.store, SCOPE.tenant) == []
    assert transfer.verify_events(known.store, SCOPE.tenant) == []


def test_what_another_source_says_too_stays_with_its_own_support(known: Known) -> None:
    world = known.world
    world.tell("vera", "lives_in", "Oslo", "2020-01-01", source="s1")
    world.tell("vera", "lives_in", "Oslo", "2021-01-01", source="s2")
    world.tell("vera", "note", MARKER, source="s1")

    known.away(source="s1")

    assert world.state("vera", "lives_in", "2022-01-01") == ["Oslo"]
    assert world.state("vera", "lives_in", "2020-06-01") == []
    with known.store.write(SCOPE) as tx:
        (head,) = tx.slots_of(world.id("vera"), None)
        (told,) = tx.claims(world.id("vera"), None, limit=9, after=None)
        assert told.claim.entry.value is not None
        support = tx.support_now(head.slot, [told.claim.entry.value])[told.claim.entry.value]
        assert (support.sources, support.occurrences) == (1, 1)
    assert MARKER not in known.rows() + known.journal()


def test_a_recorded_episode_goes_with_its_words_and_its_claims(known: Known) -> None:
    world = known.world
    gone, stays = known.record(
        NewEpisode(text=f"Bo moved to {MARKER}.", session="s"), NewEpisode(text="Cy lives in Rome.", session="s")
    )
    quote = Quoted(turn=None, start=0, end=2, text="Bo")
    world.tell("bo", "lives_in", "Cork", "2020-01-01")
    world.tell("bo", "lives_in", MARKER, "2021-01-01", episode=gone, quote=quote)
    world.tell("cy", "lives_in", "Rome", "2021-01-01", episode=stays)
    lease = known.store.queue.lease("w", world.clock.now(), until=Instant(world.clock.now() + SECOND), limit=9)
    assert [each.operation.episode for each in lease] == [gone]

    receipt = known.away(episode=gone)

    assert receipt["counts"]["episodes"] == receipt["counts"]["claims"] == 1
    assert receipt["verification"]["found"] == 0
    assert MARKER not in known.rows() + known.journal()
    assert world.state("bo", "lives_in", "2022-01-01") == ["Cork"]
    assert not known.store.queue.complete(lease[0], MARKER.encode(), world.clock.now())
    later = Instant(world.clock.now() + SECOND)
    (next_one,) = known.store.queue.lease("w", world.clock.now(), until=later, limit=9)
    assert next_one.operation.episode == stays
    with known.store.read(SCOPE) as reader:
        with pytest.raises(NotFound):
            reader.recorded_episode(gone)
        assert reader.tombstone_of(gone) is not None
        assert [each.episode.id for each in reader.recorded_episodes(limit=9, after=None)] == [stays]
    with pytest.raises(Refused) as refused:
        world.tell("bo", "note", "again", episode=gone)
    assert refused.value.slug == "forgotten"
    assert known.away(episode=gone) == receipt


def test_an_episode_that_was_only_cited_goes_too(known: Known) -> None:
    world = known.world
    world.tell("bo", "note", "one", episode=f"{MARKER}-call", source="phone")
    world.tell("bo", "note", "two", episode="other", source="phone")

    receipt = known.away(episode=f"{MARKER}-call")

    assert MARKER not in known.rows() + known.journal()
    assert world.state("bo", "note", "2030-01-01") == ["two"]
    assert known.away(episode=f"{MARKER}-call") == receipt


# --- the same everywhere


def test_a_copy_made_of_the_journal_is_the_same_and_refuses_the_same(known: Known) -> None:
    tell_everything(known)
    world = known.world
    world.write(erase("bo", "note"))
    known.away(f"{MARKER}-key")
    known.away(source="chat")
    world.tell("bo", "lives_in", "Rome", "2023-01-01")
    known.forgetter.lift(SCOPE, "root", known.stones()[1].id)
    copy = NaiveStore()

    transfer.rebuild(known.store, copy, SCOPE.tenant)

    assert [*copy.ledger(SCOPE.tenant)] == [*known.store.ledger(SCOPE.tenant)]
    again = World(copy)
    again.clock.advance(3600 * SECOND)
    with pytest.raises(Refused):
        again.tell(f"{MARKER}-key", "note", "x")


def test_a_journal_in_which_a_destroyed_payload_came_back_is_found_out(known: Known) -> None:
    known.world.tell("vera", "lives_in", "Oslo", "2020-01-01")
    before = known.journal().splitlines()
    known.away("vera")
    after = known.journal().splitlines()
    forged = [after[0], *before[1:-1], *after[len(before) - 1 :]]

    with pytest.raises(Incorrect, match="still there"):
        transfer.import_events(
            NaiveStore(), Tenant("copy"), lambda: [f"{line}\n".encode() for line in forged],
            now=Instant(known.world.clock.now() + SECOND),
        )  # fmt: skip


@pytest.mark.parametrize(
    "named", [Named(), Named(subject="a", source="b"), Named(predicate="note"), Named(subject="a", predicate="a\nb")]
)
def test_a_target_that_is_none_is_refused(known: Known, named: Named) -> None:
    with pytest.raises(Incorrect):
        known.forgetter.preview(SCOPE, named)


def test_what_was_never_there_cannot_be_forgotten(known: Known) -> None:
    for named in (Named(subject="nobody"), Named(source="nobody"), Named(episode="none"), Named(subject="ent_x")):
        with pytest.raises(NotFound):
            known.forgetter.preview(SCOPE, named)


def test_what_is_outside_is_told_again_after_a_crash(known: Known) -> None:
    known.world.tell("vera", "lives_in", "Oslo", "2020-01-01")
    known.away("vera")
    known.told.clear()

    known.forgetter.resume()

    assert [stone.subject for stone in known.told] == [known.stones()[0].subject]


# --- what sessions and records still have


def notes_of(known: Known, id: SessionId, scope: Scope = SCOPE) -> list[str]:
    return [note.text for note in known.store.sessions.notes(scope, id, limit=100, after=0)]


def test_notes_that_mention_a_subject_go_whatever_their_purpose_and_others_stay(known: Known) -> None:
    tell_everything(known)
    sessions = known.sessions

    def noted(scope: Scope, *texts: str, **opened: Any) -> SessionId:
        id = SessionId(str(sessions.open(scope, "tester", NewSession(**opened)).receipt["id"]))
        sessions.note(scope, "tester", id, [NewNote(text=text) for text in texts])
        known.world.clock.advance(SECOND)
        return id

    here = noted(SCOPE, f"met {MARKER} vera today", "bought milk", me_key=f"{MARKER}-key")
    health = noted(HEALTH, f"{MARKER}-key is ill")
    elsewhere = noted(ELSEWHERE, f"{MARKER} Vera of another team")
    preview = known.forgetter.preview(SCOPE, Named(subject=f"{MARKER}-key"))
    counts: Any = preview["counts"]
    assert counts["notes"] == 2
    known.away(f"{MARKER}-key")
    assert (notes_of(known, here), notes_of(known, health, HEALTH)) == (["bought milk"], [])
    assert known.store.sessions.session(SCOPE, here).me is None
    assert notes_of(known, elsewhere, ELSEWHERE) == [f"{MARKER} Vera of another team"]


def test_notes_and_the_record_go_with_the_episode_that_was_made_of_them(known: Known) -> None:
    sessions = known.sessions
    id = SessionId(str(sessions.open(SCOPE, "tester", NewSession()).receipt["id"]))
    sessions.note(SCOPE, "tester", id, [NewNote(text=f"{MARKER} moved")])
    (operation,) = sessions.end(SCOPE, "tester", id).operations
    episode = episode_of(operation)
    place = (Cited(0, 0, 5),)
    record = EpisodeRecord(
        episode=episode, scope=SCOPE, made_by="m", summary=MARKER, sentences=place, attempted=(), happened=place,
        decisions=(), outcome=(),
    )  # fmt: skip
    assert Records(store=known.store, clock=known.world.clock, randomness=SeededRandomness(6)).keep("r", record)
    assert MARKER in known.rows()
    done = known.away(episode=episode)
    assert done["verification"]["found"] == 0
    assert notes_of(known, id) == []
    assert known.store.sessions.session(SCOPE, id).stage is Stage.ENDED
    assert MARKER not in known.rows() + known.journal()
    with known.store.read(SCOPE) as reader:
        assert reader.episode_record(episode) is None


def test_the_sessions_of_a_source_lose_their_notes_and_its_name(known: Known) -> None:
    sessions = known.sessions
    known.world.tell("bo", "lives_in", "Cork", "2019-01-01", source="spy")
    id = SessionId(str(sessions.open(SCOPE, "tester", NewSession(source="spy")).receipt["id"]))
    sessions.note(SCOPE, "tester", id, [NewNote(text="a secret")])
    known.away(source="spy")
    assert notes_of(known, id) == []
    assert known.store.sessions.session(SCOPE, id).source == "tester"
