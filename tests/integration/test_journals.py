"""What a journal gives back: the same ledger, a chain that holds, and what a fold of everything makes."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidation.verify import refold
from graph.ledger import ledger_hash
from graph.transfer import export_events, import_events, rebuild, verify_events
from ontology.scope import Tenant
from tests.histories import EVERYTHING, Op
from tests.integration.store_world import StoreWorld
from tests.integration.test_histories import SLOTS, examples, histories, tell
from tests.oracles.embedded import Embedded, EmbeddedMemory
from tests.oracles.engines import sqlite
from tests.oracles.memory import AFTER_ALL
from tests.scenarios.world import World


@pytest.fixture(scope="module")
def copies(engine: Embedded) -> Iterator[Embedded]:
    """An engine beside the other, for what its journals hold; tenants have the same names in both."""
    copies = sqlite()
    yield copies
    copies.close()


def copy(world: StoreWorld, copies: Embedded) -> EmbeddedMemory:
    """The memory of a world again, from its exported journal."""
    tenant, lines = world.memory.scope.tenant, list[bytes]()
    export_events(world.engine.store, tenant, lines.append)
    import_events(copies.store, tenant, lambda: lines, now=AFTER_ALL)
    return EmbeddedMemory(copies, world.memory.scope)


@examples
@given(said=histories(EVERYTHING), functional=st.booleans())
def test_an_imported_journal_holds_the_same_ledger(
    engine: Embedded, copies: Embedded, said: list[list[Op]], functional: bool
) -> None:
    world = StoreWorld(engine, functional)
    tell(world, said)
    memory, tenant = copy(world, copies), world.memory.scope.tenant
    assert ledger_hash(copies.store, tenant) == world.ledger_hash
    assert verify_events(copies.store, tenant) == []
    assert refold(copies.store, tenant) == []
    for key in SLOTS:
        slot = {"subject": key[0], "predicate": key[1]}
        assert memory.ask({"kind": "audit", **slot}) == world.memory.ask({"kind": "audit", **slot})
    assert memory.ask({"kind": "recorded"}) == world.memory.ask({"kind": "recorded"})


@examples
@given(said=histories(EVERYTHING), functional=st.booleans())
def test_a_rebuilt_ledger_is_the_same_and_both_verify(
    engine: Embedded, copies: Embedded, said: list[list[Op]], functional: bool
) -> None:
    world = StoreWorld(engine, functional)
    tell(world, said)
    tenant = world.memory.scope.tenant
    into = Tenant(f"{tenant}-rebuilt")
    rebuild(engine.store, copies.store, tenant, into=into)
    assert ledger_hash(copies.store, into) == world.ledger_hash
    assert verify_events(engine.store, tenant) == []
    assert refold(engine.store, tenant) == []


@examples
@given(said=histories(EVERYTHING))
def test_a_copy_goes_on_where_the_original_ended(engine: Embedded, copies: Embedded, said: list[list[Op]]) -> None:
    """After the import the next write does the same to both."""
    world = StoreWorld(engine, functional=True)
    tell(world, said)
    item = {"op": "assert", "subject": {"key": "s"}, "predicate": "p", "value": "new", "valid_from": "2020-02"}
    receipts = [memory.write([item], clock=AFTER_ALL) for memory in (copy(world, copies), world.memory)]
    assert receipts[0] == receipts[1]
    assert ledger_hash(copies.store, world.memory.scope.tenant) == world.ledger_hash


@pytest.mark.parametrize("target", ["value", "predicate", "subject"])
def test_what_was_erased_is_in_no_export_and_in_no_row(engine: Embedded, target: str) -> None:
    memory = engine.fresh()
    world = World(memory, has_code="functional", works_on="many")
    canary = "ZX-CANARY-91"
    world.tell("Vera", "has_code", canary, "2020-01-01", at="2020-01-02", source="s1")
    world.tell("Vera", "works_on", "Pilot", "2020-01-01", at="2020-01-03", source="s2")
    world.tell("Vera", "has_code", "AB-1", "2021-01-01", at="2021-01-02", source="s1")
    erase: dict[str, object] = {"op": "erase", "subject": {"key": "Vera"}}
    if target != "subject":
        erase["predicate"] = "has_code"
    if target == "value":
        erase["value"] = canary
    world.do([erase], at="2022-01-01")

    lines: list[bytes] = []
    export_events(engine.store, memory.scope.tenant, lines.append)
    assert not any(canary.encode() in line for line in lines)
    assert not any(canary in str(row) for row in engine.store.ledger(memory.scope.tenant))
    assert verify_events(engine.store, memory.scope.tenant) == []
    assert refold(engine.store, memory.scope.tenant) == []
    for known_at in (None, "2020-06-01", "2021-06-01"):
        assert canary not in str(world.history("Vera", "has_code", known_at))
    assert world.history("Vera", "has_code") == (["AB-1 [2021-01-01, open)"] if target == "value" else [])
    assert world.history("Vera", "works_on") == ([] if target == "subject" else ["Pilot [2020-01-01, open)"])
