"""What a walk asks of a store: which facts lie around entities, and the facts themselves, on every store."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from graph.ports import Page
from graph.walking import Edge
from ontology.facts import AsOf, Fact
from ontology.ids import EntityId, FactId
from ontology.instants import DAY, Instant, parse_instant
from ontology.scope import scope_of
from ontology.values import ValueType
from tests.contract.world import ALL, SCOPE, World, claim, correct

NOW: Final = "2025-01-01"
KNOWS: Final = "knows"


def entity(key: str) -> dict[str, str]:
    return {"type": "entity", "key": key}


def at(world: World, valid_at: str = NOW, known_at: Instant | None = None) -> AsOf:
    return AsOf(valid_at=parse_instant(valid_at), known_at=world.now() if known_at is None else known_at)


def around(world: World, *keys: str, as_of: AsOf | None = None, limit: int = 100) -> list[list[tuple[str, str]]]:
    """Of each entity, (who, what) of the facts around it: keys of entities, and texts."""
    with world.store.read(SCOPE) as reader:
        ids = {key: each.id for key, each in reader.entities_by_key(list(keys)).items()}
        found = reader.around([ids[key] for key in keys], as_of or at(world), limit=limit)
        return [told(world, found.get(ids[key], [])) for key in keys]


def told(world: World, edges: Sequence[Edge]) -> list[tuple[str, str]]:
    with world.store.read(SCOPE) as reader:
        facts = reader.facts([edge.fact for edge in edges], world.now())
        ends = [edge.subject for edge in edges] + [edge.target for edge in edges if edge.target is not None]
        keys = {id: each.key or "" for id, each in reader.entities_by_id(ends).items()}
    found = []
    for edge in edges:
        version = facts[edge.fact].version
        assert (version.slot.subject, version.recorded_from) == (edge.subject, edge.recorded_from)
        assert edge.target == (version.value.text if version.value.type is ValueType.ENTITY else None)
        text = version.value.text if edge.target is None else keys[edge.target]
        found.append((keys[edge.subject], text))
    return found


def test_what_is_said_of_an_entity_comes_before_what_points_at_it(world: World) -> None:
    world.write(claim("anna", KNOWS, entity("bert"), "2020-01-01"), claim("carl", KNOWS, entity("anna"), "2024-01-01"))
    world.tell("anna", "lives_in", "Oslo", "2021-01-01")
    assert around(world, "anna") == [[("anna", "Oslo"), ("anna", "bert"), ("carl", "anna")]]


def test_each_of_many_entities_has_its_own_edges(world: World) -> None:
    world.write(claim("anna", KNOWS, entity("bert"), "2020-01-01"), claim("carl", KNOWS, entity("dora"), "2020-01-01"))
    assert around(world, "dora", "anna", "bert") == [[("carl", "dora")], [("anna", "bert")], [("anna", "bert")]]


def test_those_that_began_last_come_first_up_to_the_limit(world: World) -> None:
    world.write(*(claim("anna", KNOWS, f"n{year}", f"20{year}-01-01") for year in (12, 10, 14, 11, 13)))
    world.write(*(claim(f"f{year}", KNOWS, entity("anna"), f"20{year}-01-01") for year in (12, 10, 11)))
    own = [("anna", f"n{year}") for year in (14, 13, 12, 11, 10)]
    pointing = [(f"f{year}", "anna") for year in (12, 11, 10)]
    for limit in range(1, 10):
        assert around(world, "anna", limit=limit) == [[*own, *pointing][:limit]]


def test_equal_starts_come_the_later_recorded_first(world: World) -> None:
    world.write(claim("a", KNOWS, entity("hub"), "2020-01-01"), claim("b", KNOWS, entity("hub"), "2020-01-01"))
    world.write(claim("c", KNOWS, entity("hub"), "2020-01-01"))
    with world.store.read(SCOPE) as reader:
        key = reader.entities_by_key(["hub"])["hub"].id
        found = reader.around([key], at(world), limit=10)[key]
    places = [tuple(map(int, edge.fact.split("_")[2:])) for edge in found]
    assert len(places) == 3
    assert places == sorted(places, reverse=True)


def test_one_that_points_at_itself_comes_once(world: World) -> None:
    world.write(
        claim("anna", KNOWS, entity("anna"), "2020-01-01"), claim("bert", KNOWS, entity("anna"), "2019-01-01"),
        claim("carl", KNOWS, entity("anna"), "2018-01-01"),
    )  # fmt: skip
    assert around(world, "anna") == [[("anna", "anna"), ("bert", "anna"), ("carl", "anna")]]
    assert around(world, "anna", limit=2) == [[("anna", "anna"), ("bert", "anna")]]
    assert around(world, "anna", limit=1) == [[("anna", "anna")]]


def test_edges_are_those_of_both_instants(world: World) -> None:
    first = world.tell("anna", "works_for", entity("acme"), "2020-01-01")
    world.tell("anna", "works_for", entity("zeta"), "2022-01-01")
    assert around(world, "anna", "acme") == [[("anna", "zeta")], []]
    assert around(world, "anna", "acme", as_of=at(world, "2021-01-01")) == [[("anna", "acme")]] * 2
    assert around(world, "anna", "acme", as_of=at(world, NOW, first)) == [[("anna", "acme")]] * 2
    assert around(world, "anna", as_of=at(world, NOW, Instant(first - 1))) == [[]]
    world.write(correct("anna", "works_for", entity("zeta"), "2023-01-01", entity("yard")))
    assert around(world, "anna", "zeta", "yard") == [[("anna", "yard")], [], [("anna", "yard")]]


def test_possible_versions_are_edges_too(world: World) -> None:
    world.tell("anna", "works_for", entity("acme"), "2020")
    assert around(world, "acme", as_of=at(world, "2020-06-01")) == [[("anna", "acme")]]


def test_what_has_expired_is_no_edge(world: World) -> None:
    known = world.tell("anna", KNOWS, entity("bert"), "2020-01-01", ttl="P1D")
    expired = Instant(known + DAY)
    with world.store.read(SCOPE) as reader:
        anna, bert = (reader.entities_by_key(["anna", "bert"])[key].id for key in ("anna", "bert"))
        slots = [head.slot for head in reader.slots(None, limit=10, after=None)]
        as_of = at(world, NOW, known)
        for until, count in ((Instant(expired - 1), 1), (expired, 0)):
            reader.serve(known, until)
            found = reader.around([anna, bert], as_of, limit=10)
            assert [len(found.get(id, [])) for id in (anna, bert)] == [count, count]
            assert len(reader.entity_edges(slots, as_of, limit=10)) == count


def test_no_edge_leaves_its_scope(world: World) -> None:
    other = scope_of("acme", "elsewhere")
    world.tell("anna", KNOWS, entity("bert"), "2020-01-01", scope=other)
    world.tell("anna", KNOWS, entity("carl"), "2020-01-01")
    with world.store.read(other) as reader:
        fact = reader.around([world.id("anna", other)], at(world), limit=10)[world.id("anna", other)][0].fact
    with world.store.read(SCOPE) as reader:
        assert reader.around([world.id("anna", other)], at(world), limit=10) == {}
        assert reader.facts([fact], world.now()) == {}
        slots = [head.slot for head in reader.slots(None, limit=10, after=None)]
        moved = [replace(slot, scope=other) for slot in slots]
        assert reader.entity_edges(moved, at(world), limit=10) == []


def test_strangers_and_malformed_ids_have_no_edges(world: World) -> None:
    world.tell("anna", KNOWS, entity("bert"), "2020-01-01")
    with world.store.read(SCOPE) as reader:
        strangers = [EntityId("ent_abcdefgh_9_9"), EntityId("no id"), EntityId("")]
        assert reader.around(strangers, at(world), limit=10) == {}
        assert reader.around([], at(world), limit=10) == {}
        assert reader.facts([FactId("fct_abcdefgh_9_9"), FactId("no id")], world.now()) == {}
        assert reader.facts([], world.now()) == {}
        assert reader.entity_edges([], at(world), limit=10) == []


def test_facts_at_once_are_the_facts_one_by_one(world: World) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020")
    world.tell("anna", "lives_in", "Riga", source="letter")
    world.tell("anna", KNOWS, entity("bert"), "2020-01-01", "2021-01-01")
    known = world.tell("anna", KNOWS, entity("bert"), "2020-01-01", source="witness")
    world.tell("anna", KNOWS, entity("bert"), "2020-01-01", source="another")
    for known_at in (known, world.now()):
        with world.store.read(SCOPE) as reader:
            wanted: dict[FactId, Fact] = {}
            for valid_at in ("2019-12-01", "2020-06-01", NOW, "2026-06-01"):
                as_of = at(world, valid_at, known_at)
                state = reader.state([(world.id("anna"), None)], as_of, certain=False, page=ALL)
                wanted |= {fact.version.id: fact for fact in state}
            assert len(wanted) >= 3
            assert dict(reader.facts(list(wanted), known_at)) == wanted


def test_entity_edges_come_slot_after_slot(world: World) -> None:
    world.write(
        claim("anna", KNOWS, entity("bert"), "2021-01-01"), claim("anna", KNOWS, entity("carl"), "2020-01-01"),
        claim("anna", KNOWS, "a text", "2019-01-01"), claim("bert", KNOWS, entity("anna"), "2018-01-01"),
        claim("bert", "lives_in", "Oslo", "2018-01-01"),
    )  # fmt: skip
    with world.store.read(SCOPE) as reader:
        slots = [world.slot("bert", KNOWS), world.slot("bert", "lives_in"), world.slot("anna", KNOWS)]
        anna, bert, carl = (world.id(key) for key in ("anna", "bert", "carl"))
        for limit in range(5):
            found = reader.entity_edges(slots, at(world), limit=limit)
            ends = [(version.slot.subject, version.value.text) for version in found]
            assert ends == [(bert, anna), (anna, carl), (anna, bert)][:limit]
        state = reader.state([(bert, KNOWS)], at(world), certain=False, page=Page(1))
        assert reader.entity_edges(slots, at(world), limit=1) == [state[0].version]
