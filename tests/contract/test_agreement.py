"""Whatever is told, every store answers every question as the naive one does, with the same bytes in its ledger."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from consolidation.items import ABSENT, Expire, Item, Promote, Reject
from consolidation.verify import refold
from graph.ports import MemoryStore, Transaction
from ontology.claims import HELD
from ontology.errors import VigenciaError
from ontology.instants import Instant
from ontology.intervals import Interval
from ontology.scope import Scope, scope_of
from tests.contract.conftest import STORES
from tests.contract.everything import answers, locked
from tests.contract.world import (
    FUNCTIONAL,
    SCOPE,
    World,
    claim,
    correct,
    erase,
    plain,
    retract,
    text_key,
    withdraw,
)
from tests.naive_store import NaiveStore
from tests.neo4j.stores import NAME, marked
from tests.sizes import scaled

SCOPES = (SCOPE, SCOPE, scope_of("acme", purpose="billing"), scope_of("acme", "team"))
SUBJECTS = ("anna", "ben")
PREDICATES = ("lives_in", "knows", "name", "type", "works_for")
VALUES = ("Oslo", "Riga", "Porto")
STARTS = (None, "2019", "2019-05", "2020-01-01", "2020-06-01", "2021-03-01", "-infinity", "unknown")
ENDS = (None, None, None, "2020-03-01", "2021", "2022-01-01", "infinity", "unknown")
HISTORIES = scaled(120, 8)
INSTANTS = {NAME: scaled(7, 3)}
"""How many instants of each time are asked about, where it is not 7: each question is a round trip there."""
WRITES = 12


def draw(rng: Random) -> Item:
    """One item, of any kind."""
    subject, predicate = rng.choice(SUBJECTS), rng.choice(PREDICATES)
    value: object = rng.choice(VALUES)
    if predicate == "knows":
        value = {"type": "entity", "key": rng.choice(SUBJECTS)}
    elif predicate == "name" and rng.random() < 0.5:
        value = {"type": "langtext", "value": value, "lang": rng.choice(["de", "pt"])}
    said = {"valid_from": rng.choice(STARTS), "valid_to": rng.choice(ENDS)}
    match rng.random():
        case p if p < 0.7:
            cited = {"episode": rng.choice([None, None, "e1", "e2"]), "source": rng.choice([None, "hr", "mail"])}
            if rng.random() < 0.2:
                cited["trust"] = rng.choice(["untrusted", "untrusted", "inferred"])
            if rng.random() < 0.3:
                cited["ttl"] = rng.choice(["PT2S", "PT6S", "P1D"])
            if rng.random() < 0.3:
                cited["observed_at"] = rng.choice(["2025-01-01", "2025-06-01"])
            return claim(subject, predicate, value, **said, **cited, confidence=rng.choice([None, 0.5, 0.9]))
        case p if p < 0.8:
            said = {name: text for name, text in said.items() if text not in ("unknown", "infinity", "-infinity")}
            trust = rng.choice([None, None, None, "untrusted"])
            return retract(subject, predicate, rng.choice([ABSENT, value]), **said, trust=trust)
        case p if p < 0.87:
            lasting = {"ttl": "PT3S"} if rng.random() < 0.3 else {}
            at = rng.choice(["2020-02-01", "2021-06-01"])
            return correct(subject, predicate, value, at, rng.choice(VALUES), **lasting)
        case p if p < 0.93:
            return withdraw(**rng.choice([{"episode": "e1"}, {"episode": "e2"}, {"source": "hr"}]))
        case _:
            whole = rng.random() < 0.3
            named = None if whole else predicate
            return erase(subject, named, ABSENT if whole or rng.random() < 0.5 else value)


def told(rng: Random, worlds: Sequence[World]) -> None:
    """Tell all worlds one history; what one refuses all must refuse alike."""
    changes = rng.choice([{}, {"knows": "functional"}, {"lives_in": "many"}])
    for number in range(WRITES):
        for name, cardinality in changes.items() if number == WRITES // 2 else ():
            for world in worlds:
                world.declare(name, cardinality=cardinality)
        items = [draw(rng) for _ in range(rng.choice([1, 1, 1, 3]))]
        scope = rng.choice(SCOPES)
        receipts = [_written(world, items, scope, "tester") for world in worlds]
        assert all(receipt == receipts[0] for receipt in receipts)
        waiting = _waiting(worlds[0], scope)
        if waiting and rng.random() < 0.5:
            chosen = rng.choice(waiting)
            decision: Item = Reject(claim=chosen) if rng.random() < 0.3 else Promote(claim=chosen)
            receipts = [_written(world, [decision], scope, "reviewer") for world in worlds]
            assert all(receipt == receipts[0] for receipt in receipts)

        overdue = _overdue(worlds[0], scope)
        if overdue and rng.random() < 0.4:
            receipts = [_written(world, [Expire(claim=each) for each in overdue], scope, "sweep") for world in worlds]
            assert all(receipt == receipts[0] for receipt in receipts)


def _overdue(world: World, scope: Scope) -> list[str]:
    with world.store.read(scope) as reader:
        return [told.claim.id for told in reader.overdue(world.clock.now(), limit=100, after=None)]


def _waiting(world: World, scope: Scope) -> list[str]:
    with world.store.read(scope) as reader:
        return [told.claim.id for told in reader.held(HELD, None, limit=100, after=None)]


def _written(world: World, items: Sequence[Item], scope: Scope, by: str) -> object:
    try:
        return world.write(*items, scope=scope, by=by)
    except VigenciaError as exc:
        return type(exc).__name__, str(exc)


def world_of(store: MemoryStore) -> World:
    world = World(store)
    world.declare(*FUNCTIONAL)
    return world


@pytest.mark.parametrize("name", marked(name for name in STORES if name != "naive"))
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_a_store_answers_everything_as_the_naive_one_does(name: str, seed: int, tmp_path: Path) -> None:
    ours, model = world_of(STORES[name](tmp_path)), world_of(NaiveStore())
    told(Random(seed), [ours, model])
    page, instants = 1 + seed % 3, INSTANTS.get(name, 7)
    assert ours.store.tenants() == model.store.tenants()
    assert ours.store.scopes(SCOPE.tenant) == model.store.scopes(SCOPE.tenant)
    assert list(ours.store.ledger(SCOPE.tenant)) == list(model.store.ledger(SCOPE.tenant))
    assert refold(model.store, SCOPE.tenant) == []
    for scope in dict.fromkeys(SCOPES):
        with ours.store.read(scope) as found, model.store.read(scope) as wanted:
            for got, expected in zip(
                answers(found, VALUES, page=page, instants=instants),
                answers(wanted, VALUES, page=page, instants=instants),
                strict=True,
            ):
                assert got == expected
        with ours.store.write(scope) as tx, model.store.write(scope) as naive_tx:
            values = [text_key(text) for text in VALUES]
            assert list(locked(tx, values)) == list(locked(naive_tx, values))
            _check_windows(tx)
    ours.store.close()


def _check_windows(tx: Transaction) -> None:
    """A narrow window holds what the whole one has over its span, and as many versions on each side as asked."""
    for head in tx.slots(None, limit=1000, after=None):
        whole = tx.window(head.slot, None, Interval(Instant(0), Instant(0)), None)
        for around in {v.valid_from for v in whole.versions} | {v.valid_to for v in whole.versions}:
            for margin in (1, 2):
                window = tx.window(head.slot, None, Interval(around, around), margin)
                wanted = [
                    v for v in whole.versions if v.valid_from < window.span.end and v.valid_to > window.span.start
                ]
                assert plain(window.versions) == plain(wanted)
                assert window.span.start <= around <= window.span.end
                shows = {
                    (e.entry.order, e.valid_from, e.valid_to)
                    for e in whole.extents
                    if e.valid_from < window.span.end and e.valid_to > window.span.start
                }
                assert {(e.entry.order, e.valid_from, e.valid_to) for e in window.extents} == shows
                for value in {v.value_key for v in whole.versions}:
                    of_value = tx.window(head.slot, value, Interval(around, around), margin)
                    span = of_value.span
                    mine = [v for v in whole.versions if v.value_key == value]
                    wanted = [v for v in mine if v.valid_from < span.end and v.valid_to > span.start]
                    assert plain(of_value.versions) == plain(wanted)
