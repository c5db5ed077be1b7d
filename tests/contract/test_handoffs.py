"""Handoffs and their adoptions, on every store: bookkeeping beside memory, which forgetting reaches."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from consolidation.forgetting.forgetter import Forgetter, Named
from graph import transfer
from graph.ledger import ledger_hash
from graph.ports import MemoryStore
from ontology.errors import NotFound, VersionChanged
from ontology.handoffs import Adoption, Handoff, Rejected
from ontology.ids import FactId, HandoffId, handoff_id
from ontology.instants import DAY, SECOND, Instant, parse_instant
from ontology.scope import Scope, scope_of
from tests.conftest import SeededRandomness
from tests.contract.world import ALL, SCOPE, World

OTHER, HEALTH, ELSEWHERE = scope_of("acme", "team"), scope_of("acme", "default", "health"), scope_of("zeta")
START = parse_instant("2026-06-01")


def handoff(number: int = 0, scope: Scope = SCOPE, **others: Any) -> Handoff:
    made = Instant(START + number * SECOND)
    return replace(
        Handoff(
            id=handoff_id(made, bytes([number] * 8)), scope=scope, sender="planner", receiver="booker ✓",
            task="Book 'é' \U0001f44b\t\x00", requirements=("one", "two"), constraints=(), format="a number",
            facts=(FactId("fct_abcdefgh_1_0"),), rejected=(Rejected(what="Fjord", why=None),), lost=0, made_at=made,
            expires_at=Instant(made + DAY),
        ),
        **others,
    )  # fmt: skip


def keep(store: MemoryStore, kept: Handoff) -> Handoff:
    with store.write(kept.scope) as tx:
        tx.put_handoff(kept)
    return kept


def adopt(store: MemoryStore, of: Handoff, principal: str, second: int) -> None:
    with store.write(of.scope) as tx:
        tx.put_adoption(of.id, Adoption(principal=principal, adopted_at=Instant(START + second * SECOND)))


def adopted(store: MemoryStore, of: Handoff, limit: int = 100) -> list[tuple[str, int]]:
    found = store.handoffs.adoptions(of.scope, of.id, limit=limit)
    return [(each.principal, (each.adopted_at - START) // SECOND) for each in found]


def test_a_handoff_is_read_back_as_it_was_kept(store: MemoryStore) -> None:
    full, bare = keep(store, handoff(1)), keep(store, handoff(2, receiver=None, task=None, format=None, facts=()))
    assert store.handoffs.handoff(SCOPE, full.id) == full
    assert store.handoffs.handoff(SCOPE, bare.id) == bare
    with store.write(SCOPE) as tx:
        assert tx.handoff(full.id) == full
        assert tx.handoffs_kept() == 2


def test_only_what_it_says_changes(store: MemoryStore) -> None:
    kept = keep(store, handoff())
    left = replace(kept, task=None, requirements=(), facts=(), rejected=(), lost=5)
    keep(store, replace(left, sender="thief", receiver="thief", made_at=Instant(0), expires_at=Instant(1)))
    assert store.handoffs.handoff(SCOPE, kept.id) == left


def test_a_handoff_is_found_in_its_scope_alone(store: MemoryStore) -> None:
    kept = keep(store, handoff())
    adopt(store, kept, "booker", 1)
    for scope in (OTHER, HEALTH, ELSEWHERE):
        with pytest.raises(NotFound, match=kept.id):
            store.handoffs.handoff(scope, kept.id)
        assert store.handoffs.adoptions(scope, kept.id, limit=10) == []
        with store.write(scope) as tx:
            with pytest.raises(NotFound):
                tx.handoff(kept.id)
            assert tx.handoffs_kept() == 0
            assert tx.adopted(kept.id, "booker") is None
            tx.put_adoption(kept.id, Adoption(principal="thief", adopted_at=START))
            assert tx.handoffs_of_namespace(limit=10, after=None) == ([kept] if scope == HEALTH else [])
    assert adopted(store, kept) == [("booker", 1)]


def test_the_first_adoption_of_each_principal_counts(store: MemoryStore) -> None:
    kept, other = keep(store, handoff()), keep(store, handoff(1))
    for principal, second in (("b", 5), ("a", 5), ("c", 3), ("b", 9)):
        adopt(store, kept, principal, second)
    assert adopted(store, kept) == [("c", 3), ("a", 5), ("b", 5)]
    assert adopted(store, kept, limit=2) == [("c", 3), ("a", 5)]
    assert adopted(store, other) == []
    with store.write(SCOPE) as tx:
        assert tx.adopted(kept.id, "b") == Adoption(principal="b", adopted_at=Instant(START + 5 * SECOND))
        assert tx.adopted(kept.id, "d") is None
        tx.put_adoption(HandoffId("hnd_none"), Adoption(principal="b", adopted_at=START))


def test_a_refused_transaction_leaves_no_trace(store: MemoryStore) -> None:
    kept = keep(store, handoff())
    with suppress(RuntimeError), store.write(SCOPE) as tx:
        tx.put_handoff(handoff(1))
        tx.put_adoption(kept.id, Adoption(principal="b", adopted_at=START))
        raise RuntimeError
    assert adopted(store, kept) == []
    with pytest.raises(NotFound):
        store.handoffs.handoff(SCOPE, handoff(1).id)


def test_those_of_a_namespace_are_listed_page_by_page_of_every_purpose(store: MemoryStore) -> None:
    kept = [keep(store, handoff(number, scope)) for scope in (SCOPE, HEALTH) for number in (1, 0, 2)]
    keep(store, handoff(3, OTHER))
    expected = sorted(kept, key=lambda each: (each.scope.purpose, each.id))
    for limit in (1, 2, 5, 6):
        found: list[Handoff] = []
        with store.write(SCOPE) as tx:
            while page := tx.handoffs_of_namespace(limit=limit, after=found[-1] if found else None):
                found += page
        assert found == expected


def test_what_is_over_is_dropped_with_its_adoptions_in_every_scope_of_the_tenant(store: MemoryStore) -> None:
    early, late, elsewhere = (keep(store, handoff(n, scope)) for n, scope in ((0, HEALTH), (9, SCOPE), (0, ELSEWHERE)))
    for each in (early, late, elsewhere):
        adopt(store, each, "booker", 1)
    with store.write(SCOPE) as tx:
        assert tx.drop_handoffs(Instant(early.expires_at - 1)) == 0
        assert tx.drop_handoffs(early.expires_at) == 1
        assert tx.drop_handoffs(early.expires_at) == 0
    with pytest.raises(NotFound):
        store.handoffs.handoff(HEALTH, early.id)
    assert (adopted(store, early), adopted(store, late), adopted(store, elsewhere)) == (
        [], [("booker", 1)], [("booker", 1)],
    )  # fmt: skip
    keep(store, early)
    assert adopted(store, early) == []


def test_it_is_no_part_of_the_ledger_nor_of_the_journal(world: World) -> None:
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01")
    before = ledger_hash(world.store, SCOPE.tenant)
    kept = keep(world.store, handoff())
    adopt(world.store, kept, "booker", 1)
    lines: list[bytes] = []
    transfer.export_events(world.store, SCOPE.tenant, lines.append)
    assert ledger_hash(world.store, SCOPE.tenant) == before
    assert kept.id.encode() not in b"".join(lines)


def test_forgetting_a_subject_takes_its_facts_and_each_line_that_mentions_it_whatever_the_purpose(world: World) -> None:
    world.tell("vera", "name", "Vera Moss", "2020-01-01")
    world.tell("vera", "lives_in", "Lisbon", "2020-01-01")
    world.tell("bo", "lives_in", "Cork", "2020-01-01")
    gone, stays = (_fact(world, key, "lives_in") for key in ("vera", "bo"))
    here = keep(
        world.store,
        handoff(
            task="Ask Vera  MOSS about it", requirements=("none for veracity", "greet vera"), constraints=("quietly",),
            format="as Vera Moss likes", facts=(gone, stays),
            rejected=(Rejected(what="a call", why="vera moss is deaf"), Rejected(what="a fax", why=None)),
        ),
    )  # fmt: skip
    health = keep(world.store, handoff(1, HEALTH, task="vera is ill", requirements=(), facts=(), rejected=()))
    other = keep(world.store, handoff(2, OTHER, task="another vera"))
    forgetter = Forgetter(store=world.store, clock=world.clock, randomness=SeededRandomness(5))
    preview = forgetter.preview(SCOPE, Named(subject="vera"))
    counts: Any = preview["counts"]
    assert counts["handoffs"] == 6
    done: Any = forgetter.forget(SCOPE, "tester", Named(subject="vera"), confirm=str(preview["manifest"]))

    assert done["verification"]["found"] == 0
    assert {"place": "handoffs", "found": 0} in done["verification"]["searched"]
    assert world.store.handoffs.handoff(SCOPE, here.id) == replace(
        here, task=None, requirements=("none for veracity",), format=None, facts=(stays,),
        rejected=(Rejected(what="a fax", why=None),), lost=5,
    )  # fmt: skip
    assert world.store.handoffs.handoff(HEALTH, health.id) == replace(health, task=None, lost=1)
    assert world.store.handoffs.handoff(OTHER, other.id) == other


def test_forgetting_a_slot_takes_its_facts_alone(world: World) -> None:
    world.tell("vera", "lives_in", "Lisbon", "2020-01-01")
    world.tell("vera", "works_for", "Fjord", "2020-01-01")
    gone, stays = (_fact(world, "vera", predicate) for predicate in ("lives_in", "works_for"))
    kept = keep(world.store, handoff(task="Ask vera", facts=(gone, stays)))
    forgetter = Forgetter(store=world.store, clock=world.clock, randomness=SeededRandomness(5))
    named = Named(subject="vera", predicate="lives_in")
    forgetter.forget(SCOPE, "tester", named, confirm=str(forgetter.preview(SCOPE, named)["manifest"]))
    assert world.store.handoffs.handoff(SCOPE, kept.id) == replace(kept, facts=(stays,), lost=1)


def test_what_was_confirmed_is_not_done_where_a_handoff_came_in_between(world: World) -> None:
    world.tell("vera", "lives_in", "Lisbon", "2020-01-01")
    forgetter = Forgetter(store=world.store, clock=world.clock, randomness=SeededRandomness(5))
    manifest = str(forgetter.preview(SCOPE, Named(subject="vera"))["manifest"])
    keep(world.store, handoff(task="Ask vera"))
    with pytest.raises(VersionChanged):
        forgetter.forget(SCOPE, "tester", Named(subject="vera"), confirm=manifest)


def _fact(world: World, key: str, predicate: str) -> FactId:
    with world.store.read(SCOPE) as reader:
        [found] = reader.audit(world.id(key), predicate, valid_at=None, touched=None, page=ALL)
    return found.version.id
