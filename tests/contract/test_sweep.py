"""The sweep writes what has expired, erases what may not stay, prunes bookkeeping; killed and begun anew it goes on.

On all stores.
"""

from typing import Any, Final

import pytest

from consolidation import retention
from consolidation.episodes import NewEpisode, Recorder
from consolidation.items import Expire
from consolidation.retention import NOTHING, Keeping, Sweeper, Swept
from consolidation.sessions import NewNote, NewSession, Sessions, Tempo
from consolidation.verify import refold
from graph.journal_rows import read_verbatim
from graph.ledger import ledger_hash
from graph.transfer import rebuild, verify_events
from ontology.claims import Lifecycle
from ontology.durations import days
from ontology.errors import NotFound
from ontology.facts import AsOf
from ontology.ids import ClaimId, EpisodeId, SessionId
from ontology.instants import DAY, SECOND, Instant, parse_instant
from ontology.operations import State, operation_of
from ontology.schema_document import pack_from_document
from ontology.scope import scope_of
from ontology.sessions import Stage
from tests.conftest import SeededRandomness
from tests.contract.test_forgetting import ELSEWHERE, MARKER, Known, tell_everything
from tests.contract.world import ALL, SCOPE, World, claim, texts
from tests.naive_store import NaiveStore

BILLING: Final = scope_of("acme", purpose="billing")


def sweeper(world: World, *, verbatim_days: int | None = None) -> Sweeper:
    keeping = Keeping(verbatim_ttl=None if verbatim_days is None else days(verbatim_days), receipt_days=30)
    return Sweeper(
        store=world.store, writer=world.writer, clock=world.clock, randomness=SeededRandomness(), keeping=keeping
    )


def notes(world: World, **predicates: dict[str, Any]) -> None:
    """Predicates of working notes; what is said under them is erased at its end."""
    given = {name: {"kind": "working_note", **more} for name, more in predicates.items()}
    world.writer.put_schema(SCOPE, "tester", pack_from_document({"pack": "notes", "predicates": given}))
    world.clock.advance(SECOND)


def said(receipt: dict[str, Any]) -> list[str]:
    return [item["claim"] for item in receipt["items"]]


def checked(world: World) -> None:
    """The chain holds, the rule gives what is stored, and the journal makes the same ledger again."""
    assert verify_events(world.store, SCOPE.tenant) == []
    assert refold(world.store, SCOPE.tenant) == []
    copy = NaiveStore()
    rebuild(world.store, copy, SCOPE.tenant)
    assert ledger_hash(copy, SCOPE.tenant) == ledger_hash(world.store, SCOPE.tenant)


def test_a_sweep_writes_what_has_expired_once_and_says_how_much(world: World) -> None:
    first = world.write(claim("mira", "lives_in", "Lisbon", ttl="P1D"), claim("mira", "knows", "x", ttl="P9D"))
    world.write(claim("tom", "lives_in", "Oslo", ttl="P1D"), scope=BILLING)
    world.clock.advance(2 * DAY)
    position = first["position"] + 1

    assert sweeper(world).sweep(dry_run=True) == Swept(expired=2)
    with world.store.read(SCOPE) as reader:
        assert reader.head.position == position, "a dry run writes nothing"
    assert sweeper(world).sweep() == Swept(expired=2)
    assert sweeper(world).sweep() == NOTHING
    with world.store.read(SCOPE) as reader:
        told = [reader.claim(ClaimId(id)) for id in said(first)]
        assert [each.state for each in told] == [Lifecycle.EXPIRED, Lifecycle.ACCEPTED]
        assert (told[0].transitions[0].rule, told[0].transitions[0].actor) == ("retention", "sweep")
        assert "2026" in told[0].transitions[0].reason
    checked(world)


def test_a_sweep_changes_no_answer(world: World) -> None:
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01")
    world.tell("mira", "lives_in", "Oslo", "2022-01-01", ttl="P1D")
    before = world.now()
    world.clock.advance(2 * DAY)
    questions = [("2021-01-01", before), ("2023-01-01", before), ("2023-01-01", Instant(before + DAY))]
    answers = [world.state("mira", "lives_in", at, known_at) for at, known_at in questions]
    assert answers == [["Lisbon"], ["Oslo"], []]
    sweeper(world).sweep()
    assert [world.state("mira", "lives_in", at, known_at) for at, known_at in questions] == answers
    assert world.state("mira", "lives_in", "2021-01-01") == ["Lisbon"]
    assert world.state("mira", "lives_in", "2023-01-01") == []


def test_what_may_not_stay_is_gone_from_everywhere_and_nothing_older_rises(world: World) -> None:
    notes(world, scratch={"cardinality": "functional"}, todo={})
    world.write(claim("mira", "scratch", "an older note", "2020-01-01", ttl="P20D"))
    world.write(claim("mira", "scratch", "MARKER", "2022-01-01"), claim("mira", "todo", "MARKER"))
    world.clock.advance(8 * DAY)

    assert sweeper(world).sweep(dry_run=True) == Swept(erased=2)
    assert sweeper(world).sweep() == Swept(erased=2)
    assert "MARKER" not in repr(list(world.store.ledger(SCOPE.tenant)))
    with world.store.read(SCOPE) as reader:
        assert b"MARKER" not in b"".join(p.body for _, ps in reader.events(after=0, limit=99) for p in ps)
    assert world.state("mira", "scratch", "2023-01-01") == []
    assert world.state("mira", "scratch", "2021-01-01") == ["an older note"]
    assert sweeper(world).sweep() == NOTHING
    checked(world)


def test_a_value_is_erased_with_the_last_claim_that_says_it(world: World) -> None:
    notes(world, scratch={})
    ids = said(world.write(claim("mira", "scratch", "x"), claim("mira", "scratch", "x", ttl="P9D", source="other")))
    world.clock.advance(8 * DAY)
    assert sweeper(world).sweep() == Swept(expired=1)
    with world.store.read(SCOPE) as reader:
        assert [reader.claim(ClaimId(id)).state for id in ids] == [Lifecycle.EXPIRED, Lifecycle.ACCEPTED]
    assert world.state("mira", "scratch", "2026-06-01") == ["x"]
    world.clock.advance(2 * DAY)
    assert sweeper(world).sweep() == Swept(erased=1)
    with world.store.read(SCOPE) as reader:
        assert reader.claims(world.id("mira"), "scratch", limit=9, after=None) == []
    checked(world)


def test_a_sweep_goes_in_small_transactions_and_ends_when_it_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "CLAIMS_AT_ONCE", 3)
    world.write(*(claim(f"person-{number}", "lives_in", "Oslo", ttl="P1D") for number in range(7)))
    world.clock.advance(2 * DAY)
    asked = iter([False, True])
    assert sweeper(world).sweep(stopped=lambda: next(asked)) == Swept(expired=6), "as after a kill"
    with world.store.read(SCOPE) as reader:
        events = reader.events(after=reader.head.position - 2, limit=9)
        assert [event.principal for event, _ in events] == ["sweep", "sweep"]
    assert sweeper(world).sweep() == Swept(expired=1)
    checked(world)


def test_what_waits_for_a_reviewer_is_left_to_them(world: World) -> None:
    (id,) = said(world.write(claim("mira", "lives_in", "Oslo", ttl="P1D", trust="untrusted")))
    world.clock.advance(2 * DAY)
    assert sweeper(world).sweep() == NOTHING
    with world.store.read(SCOPE) as reader:
        assert reader.claim(ClaimId(id)).state is Lifecycle.QUARANTINED


def test_keys_that_are_over_go(world: World) -> None:
    world.write(claim("mira", "lives_in", "Oslo"), key="k1")
    world.clock.advance(6 * DAY)
    assert sweeper(world).sweep() == NOTHING
    world.clock.advance(2 * DAY)
    assert sweeper(world).sweep() == Swept(keys=1)
    with world.store.read(SCOPE) as reader:
        assert reader.answered("tester", "k1") is None


def recorded(world: World, *words: str, scope: Any = SCOPE) -> list[EpisodeId]:
    recorder = Recorder(store=world.store, clock=world.clock, randomness=SeededRandomness())
    episodes = [NewEpisode(text=each, session="s", observed_at="2025-01-01T00:00:00Z") for each in words]
    items: Any = recorder.record(scope, "tester", episodes).receipt["items"]
    world.clock.advance(SECOND)
    return [item["episode"] for item in items]


def test_the_words_of_episodes_go_in_time_and_what_claims_quote_stays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "EPISODES_AT_ONCE", 2)
    old = recorded(world, "MARKER one", "MARKER two", "MARKER three")
    other = recorded(world, "MARKER four", scope=BILLING)
    world.clock.advance(5 * DAY)
    (young,) = recorded(world, "young")
    world.clock.advance(6 * DAY)

    assert sweeper(world).sweep() == NOTHING, "words are kept unless somebody says for how long"
    assert sweeper(world, verbatim_days=10).sweep(dry_run=True) == Swept(verbatims=4)
    assert sweeper(world, verbatim_days=10).sweep() == Swept(verbatims=4)
    assert sweeper(world, verbatim_days=10).sweep() == NOTHING
    with world.store.read(SCOPE) as reader:
        for id in old:
            found = reader.recorded_episode(id)
            assert found.verbatim is None
            assert found.destroyed is not None
            assert found.destroyed.reason == "its words are kept for P10D"
            assert found.recorded_at + 10 * DAY < found.destroyed.at < world.clock.now() + SECOND
        assert reader.recorded_episode(young).verbatim is not None
        assert b"MARKER" not in b"".join(p.body for _, ps in reader.events(after=0, limit=99) for p in ps)
    with world.store.read(BILLING) as reader:
        assert reader.recorded_episode(other[0]).verbatim is None
    assert recorded(world, "MARKER one") == old[:1], "what was said before is still known"
    checked(world)
    copy = NaiveStore()
    rebuild(world.store, copy, SCOPE.tenant)
    with copy.read(SCOPE) as reader:
        assert reader.recorded_episode(old[0]).destroyed is not None
    with copy.write(SCOPE) as tx:
        assert tx.words_recorded(world.clock.now(), limit=9, after=(0, 0)) == [young]


def test_what_came_of_an_episode_goes_with_its_words_which_it_quotes(world: World) -> None:
    read, failed = recorded(world, "MARKER one")[0], recorded(world, "MARKER two", scope=BILLING)[0]
    now, queue = world.clock.now(), world.store.queue
    for lease in queue.lease("w", now, until=Instant(now + SECOND), limit=2):
        if lease.operation.scope == SCOPE:
            assert queue.complete(lease, b'{"notes": ["MARKER"]}', now)
    world.clock.advance(11 * DAY)
    assert sweeper(world, verbatim_days=10).sweep() == Swept(verbatims=2)
    operation = queue.operation(SCOPE, operation_of(read))
    assert (operation.state, operation.receipts) == (State.DONE, None)
    assert queue.operation(BILLING, operation_of(failed)).receipts is None
    world.clock.advance(31 * DAY)
    assert sweeper(world, verbatim_days=10).sweep() == NOTHING, "what went is not pruned again"


def test_notes_that_could_not_be_read_go_with_the_words_of_their_episode(world: World) -> None:
    randomness = SeededRandomness()
    recorder = Recorder(store=world.store, clock=world.clock, randomness=randomness)
    sessions = Sessions(
        store=world.store, recorder=recorder, clock=world.clock, randomness=randomness, tempo=Tempo(turns=50)
    )
    id = SessionId(str(sessions.open(SCOPE, "tester", NewSession()).receipt["id"]))
    sessions.note(SCOPE, "tester", id, [NewNote(text="MARKER")])
    sessions.end(SCOPE, "tester", id)
    now, queue = world.clock.now(), world.store.queue
    (lease,) = queue.lease("w", now, until=Instant(now + SECOND), limit=1)
    assert queue.give_up(lease, "it breaks", now)
    world.clock.advance(11 * DAY)
    assert len(sessions.notes(SCOPE, id, limit=9, after=0)) == 1
    assert sweeper(world, verbatim_days=10).sweep() == Swept(verbatims=1)
    assert sessions.notes(SCOPE, id, limit=9, after=0) == []
    assert sessions.session(SCOPE, id).stage is Stage.ENDED


def test_what_came_of_an_episode_is_kept_for_a_while(world: World) -> None:
    (episode,) = recorded(world, "words")
    now, queue = world.clock.now(), world.store.queue
    (lease,) = queue.lease("w", now, until=Instant(now + SECOND), limit=1)
    assert queue.complete(lease, b"{}", now)
    world.clock.advance(29 * DAY)
    assert sweeper(world).sweep() == NOTHING
    world.clock.advance(2 * DAY)
    assert sweeper(world).sweep() == Swept(receipts=1)
    assert sweeper(world).sweep() == NOTHING
    operation = queue.operation(SCOPE, operation_of(episode))
    assert (operation.state, operation.receipts) == (State.DONE, None)


def test_two_sweeps_at_once_do_it_once(world: World) -> None:
    """The second decides anew under the lock, whatever it had read before."""
    ids = said(world.write(claim("mira", "lives_in", "Oslo", ttl="P1D")))
    world.clock.advance(2 * DAY)
    with world.store.read(SCOPE) as reader:
        overdue = reader.overdue(world.clock.now(), limit=9, after=None)
    assert [each.claim.id for each in overdue] == ids
    sweeper(world).sweep()
    late = world.write(*(Expire(claim=each.claim.id) for each in overdue), by="sweep")
    assert late["items"][0]["result"] == "ignored"


def test_an_instant_before_the_end_is_served_whether_swept_or_not(world: World) -> None:
    world.tell("mira", "lives_in", "Oslo", "2020-01-01", ttl="P1D")
    over = Instant(world.now() + DAY)
    world.clock.advance(2 * DAY)
    for _ in range(2):
        with world.store.read(SCOPE) as reader:
            asked: Any = {"certain": False, "page": ALL}
            at = [AsOf(valid_at=parse_instant("2023-01-01"), known_at=t) for t in (Instant(over - 1), over)]
            found = [texts(reader.state([(world.id("mira"), None)], each, **asked)) for each in at]
            assert found == [["Oslo"], []]
        sweeper(world).sweep()


def test_unused_verbatims_stay_readable_from_their_payload(world: World) -> None:
    (episode,) = recorded(world, "words that stay")
    sweeper(world, verbatim_days=10).sweep()
    with world.store.write(SCOPE) as tx:
        ((_, payload),) = tx.payloads_about(episode)
        left = read_verbatim(payload, SCOPE.tenant)
    assert getattr(left, "body", None) == "words that stay"


@pytest.mark.parametrize("first", ["subject", "episode"])
def test_what_a_sweep_went_over_can_still_be_forgotten(world: World, first: str) -> None:
    known = Known(world)
    episode = tell_everything(known)
    world.clock.advance(91 * DAY)
    swept = sweeper(world, verbatim_days=90).sweep()
    assert swept.verbatims == 1
    assert swept.erased > 0, "the notes, which have a time to live by their kind"
    if first == "subject":
        known.away(f"{MARKER}-key")
        known.away(f"{MARKER}-key", scope=ELSEWHERE)
        assert MARKER not in known.rows() + known.journal()
    known.away(episode=episode)
    with world.store.read(SCOPE) as reader, pytest.raises(NotFound):
        reader.recorded_episode(episode)
    assert verify_events(world.store, SCOPE.tenant) == []
    assert sweeper(world, verbatim_days=90).sweep() == NOTHING
