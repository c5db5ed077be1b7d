"""What a writer reads of a slot with its head answers as the queries of the slot do."""

from collections.abc import Iterator

import pytest

from consolidation.items import Assert, Item, Retract, Said
from consolidation.write import Writer
from graph.neo4j_store.present import MOST
from graph.neo4j_store.store import Neo4jStore
from graph.ports import Transaction
from ontology.facts import Slot
from ontology.instants import Instant, parse_instant
from ontology.intervals import Interval
from ontology.packs import load_core, read_pack
from ontology.scope import scope_of
from ontology.values import ValueKey
from tests.conftest import FrozenClock, SeededRandomness
from tests.contract.everything import ALWAYS
from tests.contract.world import plain
from tests.neo4j.stores import empty_store

pytestmark = pytest.mark.neo4j

SCOPE = scope_of("red")
YEARS = tuple(parse_instant(f"{year}-01-01") for year in range(1998, 2012))


@pytest.fixture
def store() -> Iterator[Neo4jStore]:
    """A few values of a functional predicate, some that meet of another, and a slot with more than is read ahead."""
    store = empty_store()
    clock = FrozenClock(parse_instant("2026-01-01"))
    writer = Writer(store=store, clock=clock, randomness=SeededRandomness(), core=load_core())
    writer.put_schema(SCOPE, "me", read_pack("pack: p\npredicates: {lives_in: {cardinality: functional}}"))
    items: list[Item] = [_said("lives_in", f"place {number % 3}", 2000 + number) for number in range(7)]
    items += [_said("speaks", f"tongue {number % 3}", 2000 + number, 2004 + number) for number in range(5)]
    items += [
        _said("speaks", "tongue 0", 2001),
        Retract(subject="mira", predicate="lives_in", said=Said(valid_from="2004", valid_to="2005")),
    ]
    items += [_said("visits", f"place {number}", 1990 + number, 1991 + number) for number in range(MOST + 1)]
    for item in items:
        clock.advance(1_000_000)
        writer.write(SCOPE, "me", [item])
    yield store
    store.close()


def _said(predicate: str, value: str, first: int, after: int | None = None) -> Assert:
    said = Said(valid_from=f"{first}-01-01", valid_to=None if after is None else f"{after}-01-01")
    return Assert(subject="mira", predicate=predicate, value=value, said=said)


def test_windows_and_support_are_those_of_the_queries(store: Neo4jStore) -> None:
    with store.write(SCOPE) as tx:
        slots = [head.slot for head in tx.slots(None, limit=10, after=None)]
        asked = [list(_answers(tx, slot)) for slot in slots]
    with store.write(SCOPE) as tx:
        heads = tx.slot_heads(slots)
        assert [heads[slot] for slot in slots] == tx.slots(None, limit=10, after=None)
        assert [list(_answers(tx, slot)) for slot in slots] == asked
    assert sum(map(len, asked)) > 500


def _answers(tx: Transaction, slot: Slot) -> Iterator[object]:
    whole = tx.window(slot, None, ALWAYS, None)
    values = sorted({version.value_key for version in whole.versions})
    yield plain(tx.support_now(slot, [*values, ValueKey(values[0][::-1])]))
    for value in (None, *values):
        for margin in (None, 1, 2, 8):
            for around in (ALWAYS, *(Interval(at, Instant(at + width)) for at in YEARS for width in (0, 10**14))):
                window = tx.window(slot, value, around, margin)
                shows = sorted((e.entry.order, e.valid_from, e.valid_to) for e in window.extents)
                yield value, margin, around, plain(window.span), plain(window.versions), shows
