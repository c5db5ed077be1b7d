"""A writer on each engine, with a clock that stands."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from consolidation.items import Assert, Item, Said
from consolidation.write import Writer
from graph.ports import MemoryStore, Page
from graph.sqlite_store.store import SqliteStore
from ontology.errors import JSON
from ontology.facts import AsOf
from ontology.instants import DAY, Instant, parse_instant
from ontology.packs import load_core, read_pack
from ontology.scope import Scope, scope_of
from tests.conftest import FrozenClock, SeededRandomness
from tests.naive_store import NaiveStore
from tests.neo4j.stores import NAME, empty_store, marked

PACK = """
pack: test
predicates:
  lives_in: {cardinality: functional}
  age: {cardinality: functional, datatype: integer, minimum: "0", maximum: "150"}
  speaks: {cardinality: many}
  employs: {domain: [Organization], range: [Person], datatype: entity}
"""


@dataclass
class Desk:
    """One tenant at which somebody writes, a day later each time."""

    store: MemoryStore
    writer: Writer
    clock: FrozenClock
    scope: Scope

    def write(self, *items: Item, principal: str = "agent", **options: Any) -> dict[str, Any]:
        self.clock.advance(DAY)
        receipt: dict[str, JSON] = self.writer.write(self.scope, principal, items, **options).receipt
        return receipt

    def one(self, item: Item, **options: Any) -> dict[str, Any]:
        """The receipt of the only item."""
        receipt: dict[str, Any] = self.write(item, **options)["items"][0]
        return receipt

    def values(self, subject: str, predicate: str, valid_at: str = "2030-01-01") -> list[str]:
        """The values believed now at an instant, sorted."""
        with self.store.read(self.scope) as reader:
            entity = reader.entities_by_key([subject])[subject]
            as_of = AsOf(valid_at=parse_instant(valid_at), known_at=reader.head.recorded_at)
            facts = reader.state([(entity.id, predicate)], as_of, certain=False, page=Page(200))
            return sorted(fact.version.value.text for fact in facts)

    def audited(self, subject: str, predicate: str) -> list[tuple[str, int, int, bool]]:
        """Every rectangle as (value, valid_from, valid_to, still believed)."""
        with self.store.read(self.scope) as reader:
            entity = reader.entities_by_key([subject])[subject]
            facts = reader.audit(entity.id, predicate, valid_at=None, touched=None, page=Page(1000))
            return [
                (f.version.value.text, f.version.valid_from, f.version.valid_to, f.version.recorded_to == 2**62)
                for f in facts
            ]


def lives(value: str, valid_from: str | None = None, valid_to: str | None = None, **said: Any) -> Assert:
    """That Mira lives somewhere."""
    return Assert(
        subject="mira", predicate="lives_in", value=value, said=Said(valid_from=valid_from, valid_to=valid_to, **said)
    )


STORES: dict[str, Callable[[], MemoryStore]] = {
    "sqlite": lambda: SqliteStore(":memory:"),
    "naive": NaiveStore,
    NAME: empty_store,
}


@pytest.fixture(params=marked(STORES))
def desk(request: pytest.FixtureRequest) -> Iterator[Desk]:
    store = STORES[request.param]()
    clock = FrozenClock(Instant(parse_instant("2026-01-01")))
    writer = Writer(store=store, clock=clock, randomness=SeededRandomness(), core=load_core(), items_max=50)
    scope = scope_of("red")
    writer.put_schema(scope, "person", read_pack(PACK))
    yield Desk(store, writer, clock, scope)
    store.close()
