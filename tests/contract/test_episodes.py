"""Recorded episodes and the queue of their reading, on every store."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from consolidation.episodes import NewEpisode, NewTurn, Recorder
from consolidation.items import Quoted
from consolidation.policy import OWNER
from graph import journal, transfer
from graph.journal_rows import seal
from graph.ledger import ledger_hash
from graph.ports import MemoryStore
from graph.sqlite_store.store import SqliteStore
from ontology.episodes import Quote, SaidAt, SaidBy, Turn
from ontology.errors import Busy, NotFound
from ontology.events import ChangeSet, Kind, Restated
from ontology.ids import ClaimId, EpisodeId, Ledger, OperationId
from ontology.instants import SECOND, Instant, parse_instant
from ontology.operations import Lease, State, episode_of, operation_of
from ontology.scope import Scope, scope_of
from tests.conftest import FrozenClock, SeededRandomness
from tests.contract.world import SCOPE, World, claim, erase

OTHER = scope_of("acme", "team")
ELSEWHERE = scope_of("zeta")
MINUTE = 60 * SECOND
QUOTED = Quoted(turn=2, start=5, end=9, text="'te\x00a")


class Told:
    """A store behind the recorder."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.clock = FrozenClock()
        self.recorder = Recorder(store=store, clock=self.clock, randomness=SeededRandomness())

    def record(self, *episodes: NewEpisode, scope: Scope = SCOPE, key: str | None = None) -> list[dict[str, Any]]:
        receipt: dict[str, Any] = self.recorder.record(scope, "tester", episodes, key=key).receipt
        self.clock.advance(SECOND)
        return list(receipt["items"])

    def say(self, *texts: str, session: str | None = None, scope: Scope = SCOPE) -> list[OperationId]:
        items = self.record(*(NewEpisode(text=text, session=session) for text in texts), scope=scope)
        return [OperationId(item["operation"]) for item in items]

    def lease(self, worker: str = "one", limit: int = 100, seconds: int = 60) -> list[Lease]:
        now = self.clock.now()
        return self.store.queue.lease(worker, now, until=Instant(now + seconds * SECOND), limit=limit)

    def complete(self, lease: Lease) -> bool:
        return self.store.queue.complete(lease, b"[]", self.clock.now())

    def state(self, id: OperationId, scope: Scope = SCOPE) -> State:
        return self.store.queue.operation(scope, id).state


@pytest.fixture
def told(store: MemoryStore) -> Told:
    return Told(store)


def ids(leases: Sequence[Lease]) -> list[OperationId]:
    return [lease.operation.id for lease in leases]


# --- the words


def test_what_was_recorded_is_read_back_word_for_word(told: Told) -> None:
    text = "Mira moved to Paris. \u202e\u0000 'quoted' \\ 👩‍👩‍👧\r\n"
    item = told.record(
        NewEpisode(
            text=text, me_key="mira", media_type="text/markdown", source="chat", source_uri="https://example.org/1",
            session="s1", observed_at="2024-11-18T23:40:00-05:00", zone="America/Bogota", root="chat-export",
        )
    )[0]  # fmt: skip
    with told.store.read(SCOPE) as reader:
        found = reader.recorded_episode(EpisodeId(item["episode"]))
    words = found.verbatim
    assert words is not None
    assert (words.body, words.media_type, words.session) == (text, "text/markdown", "s1")
    assert (words.source_uri, words.me) == ("https://example.org/1", SaidBy(text="mira", is_key=True))
    assert words.said_at == SaidAt(text="2024-11-18T23:40:00-05:00", zone="America/Bogota")
    assert (found.episode.source, found.episode.root) == ("chat", "chat-export")
    assert found.episode.observed_at == parse_instant("2024-11-19T04:40:00Z")
    assert (found.principal, found.scope, words.kept.scope) == ("tester", SCOPE, SCOPE)


def test_turns_keep_who_said_what_and_when(told: Told) -> None:
    turns = [NewTurn(speaker="Mira", text="I moved."), NewTurn(speaker="Bo", text="When?", at="2026-01-02T03:04Z")]
    item = told.record(NewEpisode(turns=turns, me_name="Mira"))[0]
    with told.store.read(SCOPE) as reader:
        words = reader.recorded_episode(EpisodeId(item["episode"])).verbatim
    assert words is not None
    at = SaidAt(text="2026-01-02T03:04Z", zone=None)
    assert words.body == (
        Turn(speaker="Mira", text="I moved.", at=None), Turn(speaker="Bo", text="When?", at=at),
    )  # fmt: skip
    assert words.me == SaidBy(text="Mira", is_key=False)
    assert words.said_at is None


def test_an_episode_is_found_in_its_scope_alone(told: Told) -> None:
    id = EpisodeId(told.record(NewEpisode(text="secret"))[0]["episode"])
    for scope in (OTHER, scope_of("acme", "default", "billing"), ELSEWHERE):
        with told.store.read(scope) as reader, pytest.raises(NotFound):
            reader.recorded_episode(id)
        with pytest.raises(NotFound):
            told.store.queue.operation(scope, operation_of(id))
        assert told.store.queue.operations(scope, State.QUEUED, limit=10, after=None) == []


@pytest.mark.parametrize("id", ["epi_abcdefgh_1_0", "epi_abcdefgh_9_9", "m-17", "", "ent_abcdefgh_1_0"])
def test_an_episode_that_nobody_recorded_is_not_found(told: Told, id: str) -> None:
    told.say("something")
    with told.store.read(SCOPE) as reader, pytest.raises(NotFound):
        reader.recorded_episode(EpisodeId(id))


def test_an_episode_that_was_only_cited_has_no_words(store: MemoryStore) -> None:
    world = World(store)
    world.write(claim("anna", "likes", "tea", episode="m-1"))
    with store.read(SCOPE) as reader, pytest.raises(NotFound):
        reader.recorded_episode(EpisodeId("m-1"))


def test_the_same_words_of_a_source_in_a_session_are_kept_once(told: Told) -> None:
    said = NewEpisode(text="I moved", source="chat", session="s1")
    first = told.record(said)[0]
    again, new = told.record(said, NewEpisode(text="I moved", source="chat", session="s2"))
    assert (again["episode"], again["operation"], again["duplicate"]) == (first["episode"], first["operation"], True)
    assert new["episode"] != first["episode"]
    other = told.record(said, scope=OTHER)[0]
    assert (other["duplicate"], other["episode"] == first["episode"]) == (False, False)
    position = told.store.read(SCOPE)
    with position as reader:
        before = reader.head.position
    assert told.record(said, said)[1]["episode"] == first["episode"]
    with told.store.read(SCOPE) as reader:
        assert reader.head.position == before


def test_equal_words_inside_one_request_are_kept_once(told: Told) -> None:
    one, two = told.record(NewEpisode(text="twice"), NewEpisode(text="twice"))
    assert (one["episode"], one["duplicate"], two["duplicate"]) == (two["episode"], False, True)
    assert len(told.lease()) == 1


def test_the_words_lie_in_a_payload_of_their_own(told: Told) -> None:
    one, two = (EpisodeId(item["episode"]) for item in told.record(NewEpisode(text="alpha"), NewEpisode(text="beta")))
    with told.store.write(SCOPE) as tx:
        ((_, payload),) = tx.payloads_about(one)
        event, payloads = tx.events(after=0, limit=1)[0]
    assert payload.subject == one
    assert (b"alpha" in payload.body, b"beta" in payload.body) == (True, False)
    assert [subject for subject, _ in event.digests] == [None, one, two]
    assert [p.subject for p in payloads if b"alpha" in p.body] == [one]


def test_the_words_of_one_episode_can_be_destroyed_alone(told: Told) -> None:
    one, two = (EpisodeId(item["episode"]) for item in told.record(NewEpisode(text="alpha"), NewEpisode(text="beta")))
    before = ledger_hash(told.store, SCOPE.tenant)
    with told.store.write(SCOPE) as tx:
        ((position, payload),) = tx.payloads_about(one)
        gone = Restated(position=position, payload=seal(one, bytes(32), _emptied(payload.body)))
        changes = _nothing(tx.head.position + 1, told.clock.now())
        commit = journal.commit(changes, tx.head, salts=lambda: bytes(32), restated=[gone])
        tx.apply(commit, ledger=tx.head.ledger or Ledger(""))
    with told.store.read(SCOPE) as reader:
        assert reader.recorded_episode(one).verbatim is None
        kept = reader.recorded_episode(two).verbatim
    assert kept is not None
    assert kept.body == "beta"
    assert transfer.verify_events(told.store, SCOPE.tenant) == []
    assert ledger_hash(told.store, SCOPE.tenant) == before


def test_a_journal_carries_the_words_to_another_store(told: Told, tmp_path: Path) -> None:
    told.say("one", "two", session="s")
    told.record(NewEpisode(turns=[NewTurn(speaker="Bo", text="hi")]), scope=OTHER)
    with_words = SqliteStore(str(tmp_path / "copy.db"))
    transfer.rebuild(told.store, with_words, SCOPE.tenant)
    assert ledger_hash(with_words, SCOPE.tenant) == ledger_hash(told.store, SCOPE.tenant)
    assert with_words.queue.backlog(told.clock.now()).queued == 0, "the queue is no part of the ledger"
    transfer.rebuild(told.store, with_words, SCOPE.tenant, into=ELSEWHERE.tenant)
    lease = told.lease()[0]
    with with_words.read(ELSEWHERE) as reader:
        copied = reader.recorded_episode(lease.operation.episode)
    assert copied.verbatim is not None
    assert (copied.verbatim.body, copied.verbatim.kept.scope) == ("one", ELSEWHERE)
    with_words.close()


def test_a_key_answers_a_retry_with_the_first_receipt(told: Told) -> None:
    first = told.record(NewEpisode(text="hello"), key="k")
    assert told.record(NewEpisode(text="hello"), key="k") == first
    assert len(told.lease()) == 1


def test_the_words_that_claims_quote_are_kept_with_them(store: MemoryStore) -> None:
    world = World(store)
    receipt = world.write(claim("anna", "likes", "tea", quote=QUOTED), claim("anna", "likes", "milk"))
    one, two = (ClaimId(item["claim"]) for item in receipt["items"])
    with store.read(SCOPE) as reader:
        assert reader.quotes([one, two]) == {one: Quote(claim=one, turn=2, start=5, end=9, text=QUOTED.text)}
        assert reader.quotes([]) == {}
    with store.read(OTHER) as reader:
        assert reader.quotes([one]) == {}


def test_the_words_that_a_claim_quotes_go_with_it(store: MemoryStore, tmp_path: Path) -> None:
    world = World(store)
    items = [claim("anna", "likes", drink, quote=QUOTED) for drink in ("tea", "milk")]
    tea, milk = (ClaimId(item["claim"]) for item in world.write(*items)["items"])
    world.write(erase("anna", "likes", "tea"))
    with store.read(SCOPE) as reader:
        assert list(reader.quotes([tea, milk])) == [milk]
        bodies = [payload.body for _, payloads in reader.events(after=0, limit=10) for payload in payloads]
    assert sum(body.count(b"'te") for body in bodies) == 1
    copy = SqliteStore(str(tmp_path / "copy.db"))
    transfer.rebuild(store, copy, SCOPE.tenant)
    assert ledger_hash(copy, SCOPE.tenant) == ledger_hash(store, SCOPE.tenant)
    subject = world.id("anna")
    assert ledger_hash(copy, SCOPE.tenant, subject=subject) == ledger_hash(store, SCOPE.tenant, subject=subject)
    assert [row[0] for kind, row in store.ledger(SCOPE.tenant) if kind == "quote"] == [milk]
    copy.close()


def test_a_claim_that_a_later_item_takes_back_leaves_no_quote(store: MemoryStore) -> None:
    world = World(store)
    world.write(claim("anna", "likes", "tea", quote=QUOTED), erase("anna", "likes", "tea"))
    assert [kind for kind, _ in store.ledger(SCOPE.tenant) if kind == "quote"] == []


# --- the queue


def test_what_is_recorded_is_queued_in_order(told: Told) -> None:
    queued = told.say("a", "b", "c")
    leases = told.lease(limit=2)
    assert ids(leases) == queued[:2]
    assert [(lease.token, lease.operation.state, lease.operation.attempts) for lease in leases] == [
        (1, State.RUNNING, 1), (1, State.RUNNING, 1),
    ]  # fmt: skip
    assert ids(told.lease("two")) == queued[2:]
    assert told.lease() == []
    assert (leases[0].operation.principal, leases[0].operation.scope) == ("tester", SCOPE)
    assert episode_of(queued[0]) == leases[0].operation.episode


def test_a_clock_that_was_set_back_delays_no_operation(told: Told) -> None:
    """The recorded time goes on from the newest commit, which lies ahead then; what is due goes by the clock."""
    told.say("before")
    told.clock.advance(-3600 * SECOND)
    told.say("after")
    assert len(told.lease()) == 1, "the first one is due when the clock is there again"
    (lease,) = told.store.queue.operations(SCOPE, State.RUNNING, limit=10, after=None)
    with told.store.read(SCOPE) as reader:
        words = reader.recorded_episode(lease.episode).verbatim
    assert words is not None
    assert words.body == "after"


def test_nothing_is_queued_where_the_transaction_fails(told: Told) -> None:
    told.say("before")
    with suppress(RuntimeError), told.store.write(SCOPE) as tx:
        told.recorder._record(tx, "me", told.recorder._check(SCOPE, [NewEpisode(text="lost")], "me", OWNER))
        raise RuntimeError
    assert told.store.queue.backlog(told.clock.now()).queued == 1


def test_the_next_of_a_session_waits_for_the_one_before(told: Told) -> None:
    first, second, third = told.say("a", "b", "c", session="s")
    other = told.say("x", session="t")
    leases = told.lease()
    assert ids(leases) == [first, *other]
    assert told.lease() == []
    assert told.complete(leases[0])
    following = told.lease()
    assert ids(following) == [second]
    assert told.store.queue.give_up(following[0], "poison", told.clock.now())
    assert ids(told.lease()) == [third]
    assert (told.state(first), told.state(second), told.state(third)) == (State.DONE, State.FAILED, State.RUNNING)


def test_one_that_waits_for_another_attempt_delays_its_own_session_alone(told: Told) -> None:
    first, _ = told.say("a", "b", session="s")
    other = told.say("x", session="t")
    lease = told.lease(limit=1)[0]
    next_at = Instant(told.clock.now() + MINUTE)
    assert told.store.queue.postpone(lease, "the model is away", told.clock.now(), next_at=next_at)
    assert ids(told.lease()) == other
    operation = told.store.queue.operation(SCOPE, first)
    assert (operation.state, operation.reason, operation.next_at) == (State.QUEUED, "the model is away", next_at)
    told.clock.advance(MINUTE)
    again = told.lease(limit=1)[0]
    assert (again.operation.id, again.operation.attempts, again.token) == (first, 2, 2)


def test_one_that_is_given_back_has_not_been_attempted(told: Told) -> None:
    (first,) = told.say("a")
    now = told.clock.now()
    assert told.store.queue.postpone(told.lease()[0], None, now, next_at=now)
    lease = told.lease()[0]
    assert (lease.operation.id, lease.operation.attempts, lease.operation.reason) == (first, 1, None)


def test_a_lease_that_ran_out_is_taken_over_and_the_late_worker_is_refused(told: Told) -> None:
    (first,) = told.say("a")
    late = told.lease("late", seconds=10)[0]
    told.clock.advance(9 * SECOND)
    assert told.lease("two") == []
    told.clock.advance(SECOND)
    taken = told.lease("two")[0]
    assert (taken.operation.id, taken.token) == (first, late.token + 1)
    now = told.clock.now()
    queue = told.store.queue
    assert not queue.complete(late, b"[]", now)
    assert not queue.renew(late, until=Instant(now + MINUTE))
    assert not queue.give_up(late, "late", now)
    assert not queue.postpone(late, "late", now, next_at=now)
    assert told.state(first) is State.RUNNING
    assert told.complete(taken)
    assert not told.complete(taken)
    assert queue.operation(SCOPE, first).receipts == b"[]"


def test_a_heartbeat_keeps_an_operation(told: Told) -> None:
    told.say("a")
    lease = told.lease("one", seconds=10)[0]
    told.clock.advance(9 * SECOND)
    assert told.store.queue.renew(lease, until=Instant(told.clock.now() + 10 * SECOND))
    told.clock.advance(9 * SECOND)
    assert told.lease("two") == []
    assert told.complete(lease)


def test_a_dead_letter_can_be_retried_and_goes_before_the_rest_of_its_session(told: Told) -> None:
    first, second, third = told.say("a", "b", "c", session="s")
    assert told.store.queue.give_up(told.lease()[0], "poison", told.clock.now())
    running = told.lease()[0]
    assert told.store.queue.retry(SCOPE, first, told.clock.now())
    assert not told.store.queue.retry(SCOPE, first, told.clock.now())
    assert told.lease() == [], "another of its session is running"
    assert told.complete(running)
    again = told.lease()
    assert ids(again) == [first]
    assert again[0].operation.attempts == 1
    assert told.complete(again[0])
    assert ids(told.lease()) == [third]
    assert not told.store.queue.retry(SCOPE, second, told.clock.now()), "it is done"
    with pytest.raises(NotFound):
        told.store.queue.retry(SCOPE, OperationId("opr_abcdefgh_99_0"), told.clock.now())


def test_a_retried_one_goes_first_where_the_next_was_not_begun(told: Told) -> None:
    first, second = told.say("a", "b", session="s")
    assert told.store.queue.give_up(told.lease()[0], "poison", told.clock.now())
    assert told.store.queue.retry(SCOPE, first, told.clock.now())
    leases = told.lease()
    assert ids(leases) == [first]
    assert told.complete(leases[0])
    assert ids(told.lease()) == [second]


def test_an_episode_that_comes_to_a_session_at_rest_can_be_begun(told: Told) -> None:
    told.say("a", session="s")
    assert told.complete(told.lease()[0])
    later = told.say("b", session="s")
    assert ids(told.lease()) == later


def test_operations_are_listed_by_state_and_page(told: Told) -> None:
    queued = told.say(*"abcde")
    told.say("x", scope=OTHER)
    for lease in told.lease(limit=2):
        assert told.store.queue.give_up(lease, f"no {lease.token}", told.clock.now())
    failed = told.store.queue.operations(SCOPE, State.FAILED, limit=10, after=None)
    assert [(operation.id, operation.reason) for operation in failed] == [(id, "no 1") for id in queued[:2]]
    page = told.store.queue.operations(SCOPE, State.QUEUED, limit=2, after=None)
    rest = told.store.queue.operations(SCOPE, State.QUEUED, limit=2, after=page[-1].id)
    assert [operation.id for operation in (*page, *rest)] == queued[2:]


def test_what_waits_in_a_scope_is_counted_up_to_a_ceiling(told: Told) -> None:
    queue = told.store.queue
    assert queue.waiting(SCOPE, ceiling=9) == 0
    told.say(*"abcde")
    told.say("x", scope=OTHER)
    assert (queue.waiting(SCOPE, ceiling=9), queue.waiting(SCOPE, ceiling=5), queue.waiting(SCOPE, ceiling=4)) == (
        5, 5, 4,
    )  # fmt: skip
    done, failed, *_ = told.lease(limit=3)
    told.complete(done)
    assert queue.give_up(failed, "no", told.clock.now())
    assert queue.waiting(SCOPE, ceiling=9) == 3, "one is being done, and two are to be begun"
    assert queue.waiting(OTHER, ceiling=9) == 1
    assert queue.waiting(ELSEWHERE, ceiling=9) == 0


def test_what_is_not_done_is_listed_whatever_its_state(told: Told) -> None:
    said = told.say(*"abcde")
    elsewhere = told.say("x", scope=OTHER)
    done, failed, *_ = told.lease(limit=3)
    told.complete(done)
    assert told.store.queue.give_up(failed, "no", told.clock.now())
    queue = told.store.queue
    assert queue.unread(SCOPE.tenant, limit=10, after=None) == [*said[1:], *elsewhere]
    assert queue.unread(SCOPE.tenant, limit=2, after=said[1]) == said[2:4]
    assert queue.unread(ELSEWHERE.tenant, limit=10, after=None) == []


def test_the_backlog_counts_what_there_is_to_do(told: Told) -> None:
    queue = told.store.queue
    empty = queue.backlog(told.clock.now())
    assert (empty.queued, empty.running, empty.failed, empty.overdue_since, empty.done_at) == (0, 0, 0, None, None)
    since = told.clock.now()
    told.say("a", "b", "c", session="s")
    told.say("x", scope=ELSEWHERE)
    backlog = queue.backlog(told.clock.now())
    assert (backlog.queued, backlog.running, backlog.overdue_since) == (4, 0, since)
    one, two = told.lease()
    now = told.clock.now()
    assert queue.postpone(one, "away", now, next_at=Instant(now + MINUTE))
    told.clock.advance(SECOND)
    assert told.complete(two)
    backlog = queue.backlog(told.clock.now())
    assert (backlog.queued, backlog.running, backlog.failed, backlog.overdue_since) == (3, 0, 0, None)
    assert (backlog.retried, backlog.reason, backlog.failed_at) == (1, "away", now)
    assert backlog.done_at == told.clock.now()


def test_two_workers_at_once_never_have_the_same_operation(told: Told) -> None:
    told.say(*(f"episode {number}" for number in range(30)))
    found: list[list[OperationId]] = [[], []]

    def work(mine: list[OperationId], name: str) -> None:
        while True:
            with suppress(Busy):  # the other has the lock for too long: on a busy machine 0.2 s are soon over
                leases = told.lease(name, limit=3)
                mine += ids(leases)
                if not leases:
                    return

    threads = [threading.Thread(target=work, args=(mine, str(n))) for n, mine in enumerate(found)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found[0]) + len(found[1]) == len({*found[0], *found[1]}) == 30


# --- small parts


def _emptied(body: bytes) -> bytes:
    document = orjson.loads(body)
    document[3] = [[] for _ in document[3]]
    return orjson.dumps(document)


def _nothing(position: int, now: Instant) -> ChangeSet:
    return ChangeSet(
        position=position, recorded_at=now, kind=Kind.ERASE, principal="me", operations=(), schema=None, erasures=(),
        entities=(), episodes=(), verbatims=(), claims=(), quotes=(), transitions=(), closed=(), opened=(), hidden=(),
        shown=(), support=(), slots=(),
    )  # fmt: skip
