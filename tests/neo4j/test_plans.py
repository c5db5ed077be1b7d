"""How the server means to run each query: by index, and with no Eager among the rows of a write.

These are first plans, of a database that holds nothing.
"""

import re
import time
from collections.abc import Iterator
from typing import Any, Final

import pytest
from neo4j import GraphDatabase, NotificationMinimumSeverity, Session

from consolidation.items import Assert, Said
from consolidation.write import Writer
from graph.neo4j_store import database, keys
from graph.neo4j_store.vectors import can_filter
from ontology.ids import ENTITY, locate
from ontology.instants import DAY, parse_instant
from ontology.packs import load_core, read_pack
from ontology.scope import scope_of
from ontology.values import entity_value, value_key
from tests.conftest import FrozenClock, SeededRandomness
from tests.neo4j.stores import DATABASE, empty_store, server
from tests.neo4j_server import version

pytestmark = pytest.mark.neo4j

QUERIES: Final = database.queries_for(can_filter(version()))
"""As the server of the tests is asked them."""

SCANNING: Final = {
    "tenants": "there is one node per tenant, and all are asked for",
    "migration": "there is one such node, if there is any",
}
OPERATIONS: Final = (
    "server", "indexes", "vector_indexes", "await_indexes", "settings", "server_clock", "current_user",
)  # fmt: skip
"""These ask the server about itself, not the graph."""
PRODUCTS: Final = {
    "window": "each side is one row, an aggregate",
    "window_of_value": "each side is one row, an aggregate",
    "voice_of_root": "each side is one row, an aggregate",
    "backlog": "each side is one row, an aggregate",
    "to_index_a": "each side is one row, an aggregate",
    "to_index_b": "each side is one row, an aggregate",
    "apply": "each side is one node, by a unique key",
    "put_successor": "each side is one node, by a unique key",
}
EAGER: Final = {
    name: "what deletes what it reads has to read it all first"
    for name in QUERIES
    if name.startswith(("erase_", "forget_", "remove_"))
} | {
    "put_tenant": "it is one row, once per tenant",
    "put_sentences": "whether a text is new is asked of all of some hundreds before any is written",
    "share_vectors_a": "a vector goes from one text to another that is the same",
    "share_vectors_b": "a vector goes from one text to another that is the same",
}
HOT: Final = (
    "state_now", "state_as_of", "history_now", "history_now_backwards", "history_as_of", "history_as_of_backwards",
    "history_by_recorded", "holders", "holders_backwards", "holders_by_recorded", "of_predicate_now",
    "of_predicate_as_of", "audit", "window", "window_of_value", "slot_with_present", "around", "entity_edges",
)  # fmt: skip

COUNTED_SECONDS: Final = 30.0
"""Within which a server on a busy machine knows how many rows there are, and plans with that."""

Operator = dict[str, Any]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    empty_store().close()
    with (
        GraphDatabase.driver(server().uri, notifications_min_severity=NotificationMinimumSeverity.OFF) as driver,
        driver.session(database=DATABASE) as session,
    ):
        yield session


def plan(session: Session, name: str) -> Operator:
    parameters = dict.fromkeys(re.findall(r"\$(\w+)", QUERIES[name]))
    summary = session.run("EXPLAIN " + QUERIES[name], parameters).consume()
    assert summary.plan is not None
    return summary.plan


def operators(root: Operator) -> Iterator[Operator]:
    yield root
    for child in root.get("children", ()):
        yield from operators(child)


def names(root: Operator, *, deep: bool = True) -> list[str]:
    """The operators under `root`; if not `deep` those of the first children alone, down to an aggregation."""
    found = [root] if not deep else list(operators(root))
    while not deep and found[-1].get("children") and not found[-1]["operatorType"].startswith("EagerAggregation"):
        found.append(found[-1]["children"][0])
    return [operator["operatorType"].partition("@")[0] for operator in found]


@pytest.mark.parametrize("name", sorted(QUERIES.keys() - SCANNING.keys() - set(OPERATIONS)))
def test_no_query_scans_or_multiplies_rows(session: Session, name: str) -> None:
    """No scan of all nodes, of a label, of a type, of a whole index."""
    found = names(plan(session, name))
    assert [operator for operator in found if "Scan" in operator] == []
    assert ("CartesianProduct" in found) == (name in PRODUCTS)


@pytest.mark.parametrize("name", sorted(SCANNING))
def test_what_may_scan_looks_at_one_label(session: Session, name: str) -> None:
    assert [operator for operator in names(plan(session, name)) if "Scan" in operator] == ["NodeByLabelScan"]


@pytest.mark.parametrize("name", HOT)
def test_a_hot_read_seeks_facts_by_an_index(session: Session, name: str) -> None:
    found = names(plan(session, name))
    assert "DirectedRelationshipIndexSeek" in found
    assert "Eager" not in found


@pytest.mark.parametrize("name", ["state_now", "window", "window_of_value"])
def test_the_newest_of_a_long_slot_is_read_in_the_order_of_the_index(session: Session, name: str) -> None:
    assert "Limit" in names(plan(session, name))


@pytest.mark.parametrize("name", sorted(QUERIES.keys() - set(OPERATIONS) - EAGER.keys()))
def test_no_eager_stands_among_the_rows_of_a_write(session: Session, name: str) -> None:
    """Between the parts of a write there is one row; there an Eager costs nothing."""
    root = plan(session, name)
    spine = [root]
    while spine[-1].get("children"):
        spine.append(spine[-1]["children"][0])
    below = {id(each): names(each, deep=False) for each in spine}
    eager = [each for each in operators(root) if each["operatorType"].startswith("Eager@")]
    among = [each for each in eager if id(each) not in below or "Unwind" in below[id(each)]]
    assert [each["args"]["Details"] for each in among] == []


def test_the_lock_is_taken_before_anything_is_read(session: Session) -> None:
    found = names(plan(session, "lock"))
    assert found.index("SetProperty") == len(found) - 2, found
    assert found[-1].startswith("NodeUniqueIndexSeek")


def test_a_commit_has_one_plan_whatever_it_holds() -> None:
    """The server plans anew for lists of another order of size: so the rows of a commit are one list of lists."""
    assert set(re.findall(r"UNWIND (\$?\w+)", QUERIES["apply"])) == {"$parts", "found"}


def test_what_is_read_of_a_long_slot_does_not_grow_with_it(session: Session) -> None:
    """The work that a query did is counted: a seek that takes in a whole slot reads each of its versions.

    The plans are those that the server makes when the slot is there, which it does within seconds.
    """
    store = empty_store()
    clock = FrozenClock(parse_instant("2026-01-01"))
    writer = Writer(store=store, clock=clock, randomness=SeededRandomness(), core=load_core())
    scope = scope_of("red")
    writer.put_schema(scope, "me", read_pack("pack: p\npredicates: {measures: {cardinality: functional}}"))
    known = []
    for first in (1100, 1250, 1400):
        clock.advance(1_000_000)
        known.append(clock.now())
        years = range(first, first + 150)
        said = [Said(valid_from=f"{year}-01-01") for year in years]
        writer.write(
            scope, "me", [Assert(subject="it", predicate="measures", value=s.valid_from, said=s) for s in said]
        )
    store.close()
    pair, slot = session.run("MATCH (s:Slot) RETURN s.pair, s.slot").values()[0]
    asked: dict[str, Any] = {
        "tenant": "red", "pairs": [pair], "subjects": [], "slot": slot, "certain": False, "limit": 10,
        "margin": 2, "all": False,
    }  # fmt: skip
    instants = (("1170-06-01", known[0], False), ("1320-06-01", known[1], False), ("1500-06-01", known[2], True))
    for at, known_at, now in instants:
        since = parse_instant(at)
        asked |= {"valid_at": since, "since": since, "until": since + DAY, "known_at": known_at}
        asked |= {"served_at": known_at}
        for name in ("state", "history", "history_backwards"):
            kind = name.replace("history", "history_now" if now else "history_as_of")
            kind = kind.replace("state", "state_now" if now else "state_as_of")
            after = [2**63 - 1 if "backwards" in name else -(2**63)] * 3
            hits = least_work(session, kind, asked | {"after": after})
            assert hits < 300, (kind, at, hits)
    hits = least_work(session, "window", asked)
    assert hits < 300, hits


@pytest.mark.parametrize("in_one_day", [False, True], ids=["over years", "since one day"])
@pytest.mark.parametrize("pointing", [False, True], ids=["about it", "pointing at it"])
def test_what_is_read_around_a_hub_does_not_grow_with_it(session: Session, pointing: bool, in_one_day: bool) -> None:
    """Of an entity with 600 facts ten are asked for: those that began last, along the index."""
    store = empty_store()
    clock = FrozenClock(parse_instant("2026-01-01"))
    writer = Writer(store=store, clock=clock, randomness=SeededRandomness(), core=load_core())
    scope = scope_of("red")
    for first in range(1100, 1700, 20):
        clock.advance(1_000_000)
        items = []
        for year in range(first, first + 20):
            subject, value = (f"f{year}", "hub") if pointing else ("hub", f"f{year}")
            said = Said(valid_from=f"{1100 if in_one_day else year}-01-01")
            items.append(Assert(subject=subject, predicate="knows", value={"type": "entity", "key": value}, said=said))
        writer.write(scope, "me", items)
    with store.read(scope) as reader:
        hub, known_at = reader.entities_by_key(["hub"])["hub"].id, reader.head.recorded_at
    store.close()
    place = locate(hub, ENTITY)
    held = keys.held_key(scope, value_key(entity_value(hub)))
    asked: dict[str, Any] = {
        "asked": [[0, keys.subject_key(scope, hub), held, place.position, place.ordinal]], "limit": 10,
        "valid_at": parse_instant("2026-01-01"), "known_at": known_at, "served_at": known_at,
    }  # fmt: skip
    hits = least_work(session, "around", asked)
    assert hits < 300, hits


def least_work(session: Session, name: str, parameters: dict[str, Any]) -> int:
    """The work of a query as soon as it is little, or after the time in which a server counts what it has anew."""
    deadline = time.monotonic() + COUNTED_SECONDS
    while True:
        hits = work(session, name, parameters)
        if hits < 300 or time.monotonic() > deadline:
            return hits
        time.sleep(0.5)


def work(session: Session, name: str, parameters: dict[str, Any]) -> int:
    """How many times a query went to the store; it finds something."""
    result = session.run("PROFILE CYPHER replan=force " + QUERIES[name], parameters)
    assert len(result.values()) == 1
    profile = result.consume().profile
    assert profile is not None
    return sum(each["args"].get("DbHits", 0) for each in operators(profile))


def test_every_exception_is_a_query() -> None:
    exceptions = (*SCANNING, *OPERATIONS, *PRODUCTS, *EAGER, *HOT)
    assert set(exceptions) <= set(QUERIES)
