"""Sessions and their working notes, on every store: bookkeeping beside memory, gone once it was read."""

import threading
from contextlib import suppress
from dataclasses import replace

import pytest

from consolidation.episodes import NewEpisode
from graph import transfer
from graph.ledger import ledger_hash
from graph.ports import MemoryStore
from ontology.claims import Source
from ontology.episodes import SaidBy
from ontology.errors import Busy, NotFound
from ontology.ids import OperationId, SessionId, session_id
from ontology.instants import SECOND, Instant, parse_instant
from ontology.operations import State
from ontology.scope import Scope, scope_of
from ontology.sessions import Note, Session, Stage
from tests.contract.test_episodes import Told
from tests.contract.world import SCOPE

OTHER, ELSEWHERE = scope_of("acme", "team"), scope_of("zeta")
START = parse_instant("2026-06-01")


@pytest.fixture
def told(store: MemoryStore) -> Told:
    return Told(store)


def session(number: int = 0, scope: Scope = SCOPE, stage: Stage = Stage.OPEN, after: int = 0) -> Session:
    opened = Instant(START + number * SECOND)
    return Session(
        id=session_id(opened, bytes([number] * 8)), scope=scope, principal="tester", source=Source("chat ✓"),
        me=SaidBy(text="mira", is_key=True), zone="Europe/Vienna", stage=stage, opened_at=opened,
        changed_at=Instant(opened + after * SECOND), notes=0, operations=(),
    )  # fmt: skip


def note(number: int, text: str = "I moved.\x00 'é' \U0001f44b", operation: OperationId | None = None) -> Note:
    return Note(number=number, speaker="Mira", text=text, at=Instant(START + number), operation=operation)


def keep(store: MemoryStore, kept: Session, *notes: Note) -> Session:
    with store.write(kept.scope) as tx:
        tx.put_session(kept)
        tx.put_notes(kept.id, notes)
    return kept


def left(store: MemoryStore, kept: Session) -> list[Note]:
    return list(store.sessions.notes(kept.scope, kept.id, limit=1000, after=0))


def test_a_session_is_read_back_as_it_was_kept_and_as_it_was_changed(store: MemoryStore) -> None:
    plain = keep(store, replace(session(1), me=None, zone=None))
    full = keep(store, session(2))
    assert store.sessions.session(SCOPE, plain.id) == plain
    assert store.sessions.session(SCOPE, full.id) == full
    named = SaidBy(text="Mira", is_key=False)
    operations = (OperationId("opr_abcdefgh_1_0"), OperationId("opr_abcdefgh_2_0"))
    keep(store, replace(session(3), me=named))
    assert store.sessions.session(SCOPE, session(3).id).me == named
    later = Instant(START + 9 * SECOND)
    changed = keep(store, replace(full, stage=Stage.ENDING, changed_at=later, notes=7, operations=operations))
    assert store.sessions.session(SCOPE, full.id) == changed
    with store.write(SCOPE) as tx:
        assert tx.session(full.id) == changed


def test_a_session_is_found_in_its_scope_alone(store: MemoryStore) -> None:
    kept = keep(store, session(), note(1))
    for scope in (OTHER, ELSEWHERE, scope_of("acme", "default", "other")):
        with pytest.raises(NotFound, match=kept.id):
            store.sessions.session(scope, kept.id)
        assert store.sessions.sessions(scope, None, limit=10, after=None) == []
        assert store.sessions.notes(scope, kept.id, limit=10, after=0) == []
        with store.write(scope) as tx:
            with pytest.raises(NotFound):
                tx.session(kept.id)
            assert (tx.unread_notes(kept.id), tx.has_notes(kept.id), tx.open_sessions()) == ([], False, 0)
            tx.hand_over(kept.id, OperationId("opr_abcdefgh_1_0"))
    assert left(store, kept) == [note(1)]
    with pytest.raises(NotFound):
        store.sessions.session(SCOPE, SessionId("ses_'; --"))


def test_sessions_are_listed_as_they_were_opened_by_stage_and_page(store: MemoryStore) -> None:
    stages = [Stage.OPEN, Stage.ENDED, Stage.OPEN, Stage.ENDING, Stage.OPEN]
    kept = [session(number, stage=stage) for number, stage in enumerate(stages)]
    for each in reversed(kept):
        keep(store, each)
    keep(store, session(9, OTHER))
    sessions = store.sessions
    assert sessions.sessions(SCOPE, None, limit=10, after=None) == kept
    assert sessions.sessions(SCOPE, None, limit=2, after=kept[1].id) == kept[2:4]
    assert sessions.sessions(SCOPE, Stage.OPEN, limit=2, after=None) == [kept[0], kept[2]]
    assert sessions.sessions(SCOPE, Stage.OPEN, limit=2, after=kept[2].id) == [kept[4]]
    with store.write(SCOPE) as tx:
        assert tx.open_sessions() == 3


def test_notes_are_read_back_in_order_page_by_page(store: MemoryStore) -> None:
    notes = [note(number, f"note {number}") for number in range(1, 14)]
    kept = keep(store, session(), *notes[:3])
    keep(store, session(1), note(1, "of another"))
    with store.write(SCOPE) as tx:
        tx.put_notes(kept.id, notes[3:])
        assert tx.unread_notes(kept.id) == notes
    assert store.sessions.notes(SCOPE, kept.id, limit=5, after=0) == notes[:5]
    assert store.sessions.notes(SCOPE, kept.id, limit=50, after=9) == notes[9:]
    keep(store, kept, note(14))
    assert left(store, kept) == [*notes, note(14)]


def test_nothing_of_a_transaction_that_fails_is_kept(store: MemoryStore) -> None:
    kept = keep(store, session(), note(1))

    def fail() -> None:
        with store.write(SCOPE) as tx:
            tx.put_session(replace(kept, stage=Stage.ENDING, notes=2))
            tx.put_notes(kept.id, [note(2)])
            tx.hand_over(kept.id, OperationId("opr_abcdefgh_1_0"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert store.sessions.session(SCOPE, kept.id) == kept
    assert left(store, kept) == [note(1)]


def test_those_are_idle_that_are_open_and_did_not_change_for_long(store: MemoryStore) -> None:
    third, first = keep(store, session(1, after=30)), keep(store, session(2, ELSEWHERE, after=10))
    second = keep(store, session(3, OTHER, after=20))
    keep(store, session(4, stage=Stage.ENDING))
    keep(store, session(5, stage=Stage.ENDED))
    at = third.changed_at
    assert store.sessions.idle(at, limit=10) == [first, second, third]
    assert store.sessions.idle(Instant(at - 1), limit=10) == [first, second]
    assert store.sessions.idle(at, limit=1) == [first]


# --- what happens to notes


def handed(told: Told, kept: Session, text: str = "what they say") -> OperationId:
    (id,) = told.say(text)
    with told.store.write(SCOPE) as tx:
        tx.hand_over(kept.id, id)
    return id


def test_notes_are_erased_when_what_reads_them_is_done_and_not_before(told: Told) -> None:
    kept = keep(told.store, session(), note(1), note(2))
    id = handed(told, kept)
    keep(told.store, kept, note(3))
    assert [(each.number, each.operation) for each in left(told.store, kept)] == [(1, id), (2, id), (3, None)]
    (lease,) = told.lease()
    assert told.store.queue.postpone(lease, "away", told.clock.now(), next_at=told.clock.now())
    assert len(left(told.store, kept)) == 3
    (lease,) = told.lease()
    assert told.complete(lease)
    assert left(told.store, kept) == [note(3)]
    assert told.store.sessions.session(SCOPE, kept.id) == kept, "it is open, and goes on"
    with told.store.write(SCOPE) as tx:
        assert tx.has_notes(kept.id)
        assert tx.unread_notes(kept.id) == [note(3)]


def test_who_comes_too_late_erases_nothing(told: Told) -> None:
    kept = keep(told.store, session(), note(1))
    handed(told, kept)
    (lost,) = told.lease()
    told.clock.advance(61 * SECOND)
    (lease,) = told.lease("two")
    assert not told.complete(lost)
    assert len(left(told.store, kept)) == 1
    assert told.complete(lease)
    assert left(told.store, kept) == []


def test_what_failed_for_good_keeps_its_notes_until_it_is_retried_and_done(told: Told) -> None:
    kept = keep(told.store, session(stage=Stage.ENDING), note(1))
    id = handed(told, kept)
    (lease,) = told.lease()
    assert told.store.queue.give_up(lease, "no sense in it", told.clock.now())
    assert [each.number for each in left(told.store, kept)] == [1]
    assert told.store.sessions.session(SCOPE, kept.id).stage is Stage.ENDING
    assert told.store.queue.retry(SCOPE, id, told.clock.now())
    (lease,) = told.lease()
    assert told.complete(lease)
    assert (left(told.store, kept), told.state(id)) == ([], State.DONE)
    assert told.store.sessions.session(SCOPE, kept.id).stage is Stage.ENDED


def test_a_session_that_is_ending_has_ended_with_the_last_of_its_notes(told: Told) -> None:
    kept = keep(told.store, session(), note(1))
    handed(told, kept, "one")
    keep(told.store, replace(kept, stage=Stage.ENDING), note(2))
    handed(told, kept, "two")
    other = keep(told.store, session(7, stage=Stage.ENDING), note(1, "of another"))
    first, second = told.lease()
    told.complete(second)
    assert told.store.sessions.session(SCOPE, kept.id).stage is Stage.ENDING
    told.clock.advance(SECOND)
    told.complete(first)
    ended = told.store.sessions.session(SCOPE, kept.id)
    assert (ended.stage, ended.changed_at) == (Stage.ENDED, told.clock.now())
    assert told.store.sessions.session(SCOPE, other.id) == other
    assert left(told.store, other) == [note(1, "of another")]


def test_what_another_session_or_tenant_handed_over_stays(told: Told) -> None:
    kept = keep(told.store, session(), note(1))
    id = handed(told, kept)
    same_name = keep(told.store, session(0, ELSEWHERE), note(1, operation=id))
    (lease,) = told.lease()
    told.complete(lease)
    assert left(told.store, kept) == []
    assert left(told.store, same_name) == [note(1, operation=id)]


# --- beside memory


def test_sessions_are_no_part_of_the_ledger_or_the_journal(told: Told) -> None:
    told.record(NewEpisode(text="before"))
    before = ledger_hash(told.store, SCOPE.tenant)
    keep(told.store, session(), note(1, "marker"))
    assert ledger_hash(told.store, SCOPE.tenant) == before
    assert transfer.export_events(told.store, SCOPE.tenant, lambda _: None).events == 1
    with told.store.read(SCOPE) as reader:
        assert reader.head.position == 1


def test_a_session_may_come_before_the_first_commit_of_a_tenant(store: MemoryStore) -> None:
    kept = keep(store, session(0, ELSEWHERE), note(1))
    assert left(store, kept) == [note(1)]
    assert store.tenants() == []
    assert store.sessions.idle(kept.changed_at, limit=10) == [kept]


def test_many_writers_of_one_session_lose_no_note(store: MemoryStore) -> None:
    kept = keep(store, session())

    def add() -> None:
        done = 0
        while done < 5:
            with suppress(Busy):  # a writer waits for a fifth of a second, which a busy machine takes
                with store.write(SCOPE) as tx:
                    now = tx.session(kept.id)
                    tx.put_notes(kept.id, [note(now.notes + 1)])
                    tx.put_session(replace(now, notes=now.notes + 1))
                done += 1

    threads = [threading.Thread(target=add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.number for each in left(store, kept)] == list(range(1, 11))
