"""Walks agree with a brute force over all rectangles, stop at their budgets and say so."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.expansion import Node, PathBudget, Paths, Step, paths
from graph.neighbourhood import Budget, Expansion, neighbourhood
from graph.periods import ALWAYS
from graph.ports import Reader
from graph.walking import Edge
from ontology.claims import Entity, Trust
from ontology.errors import NotFound
from ontology.events import SlotHead
from ontology.facts import AsOf, Fact, Version
from ontology.ids import EntityId, FactId
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.intervals import Interval
from ontology.values import Value, ValueType, entity_value
from tests.naive_store import NaiveReader
from tests.readings import Key
from tests.unit.test_history import GRID, INSTANTS, KNOWN, SCOPE, World

NODES = [EntityId(f"ent_abcdefgh_1_{n}") for n in range(4)]
A, B, C, D = NODES
NOW = AsOf(valid_at=Instant(15), known_at=Instant(500))
ROOMY = PathBudget(edges=10_000, paths=10_000, milliseconds=60_000)
AMPLE = Budget(hops=3, nodes=100, edges=1_000, fan_out=100, milliseconds=60_000)


class Graph(World):
    """A world in which the ids of entities as values point at them."""

    def value(self, name: str) -> Value:
        if name in NODES:
            return entity_value(EntityId(name))
        return Value(type=ValueType.TEXT, text=name, qualifier="")

    def reader(self) -> Reader:
        reader = super().reader()
        assert isinstance(reader, NaiveReader)
        tables = reader._tables
        tables.entities += [Entity(id=node, namespace=SCOPE.namespace, key=None) for node in NODES]
        tables.heads += [
            SlotHead(
                slot=slot, version=Version(1), last=None, functional=False, plain=True, trust=Trust.OBSERVED,
                rejected=False,
            )
            for slot in dict.fromkeys(version.slot for version in tables.versions)
        ]  # fmt: skip
        return reader


def still() -> float:
    return 0.0


def ticking() -> Callable[[], float]:
    """A clock that goes on by 1 ms whenever it is read."""
    ticks = count()
    return lambda: float(next(ticks))


cells = st.dictionaries(st.sampled_from([*NODES, "text"]), st.booleans(), max_size=2)
lines = st.lists(cells, min_size=5, max_size=5)
keys: st.SearchStrategy[Key] = st.tuples(st.sampled_from(NODES), st.sampled_from("pq"))
graphs = st.lists(st.dictionaries(keys, lines, max_size=6), min_size=1, max_size=2).map(Graph)
steps = st.builds(Step, st.sampled_from("pq"), st.booleans())


def said(*facts: tuple[EntityId, str, str]) -> Graph:
    """A graph in which some facts hold for ever."""
    world: dict[Key, list[dict[str, bool]]] = {}
    for subject, predicate, value in facts:
        for cell in world.setdefault((subject, predicate), [{} for _ in GRID[1:]]):
            cell[value] = True
    return Graph([world])


def names(nodes: Sequence[Node]) -> tuple[str, ...]:
    return tuple(node.text if isinstance(node, Value) else node for node in nodes)


def walked(graph: Graph, steps: Sequence[Step], budget: PathBudget = ROOMY, valid_at: Instant | None = None) -> Paths:
    return paths(graph.reader(), A, steps, NOW.known_at, valid_at, budget, still)


# --- paths


@given(graph=graphs, steps=st.lists(steps, max_size=3), known_at=st.sampled_from(KNOWN))
def test_a_path_holds_where_all_its_edges_do(graph: Graph, steps: list[Step], known_at: Instant) -> None:
    found = paths(graph.reader(), A, steps, known_at, None, ROOMY, still)

    wanted = graph.paths(A, ["^" * step.inverse + step.predicate for step in steps], known_at)
    got = [(names(row.nodes), row.valid_from, row.valid_to) for row in found.rows]
    assert sorted(got) == [(nodes, period.start, period.end) for nodes, period in wanted]
    assert found.cut_by == ()


@given(graph=graphs, steps=st.lists(steps, min_size=1, max_size=3), valid_at=st.sampled_from(INSTANTS))
def test_the_paths_at_an_instant_are_told_whole(graph: Graph, steps: list[Step], valid_at: Instant) -> None:
    every = walked(graph, steps).rows

    assert walked(graph, steps, valid_at=valid_at).rows == [r for r in every if r.valid_from <= valid_at < r.valid_to]


@given(graph=graphs, steps=st.lists(steps, min_size=1, max_size=3), edges=st.integers(0, 4), limit=st.integers(0, 2))
def test_a_cut_walk_gives_parts_of_the_whole_and_says_so(
    graph: Graph, steps: list[Step], edges: int, limit: int
) -> None:
    every = walked(graph, steps).rows
    found = walked(graph, steps, PathBudget(edges=edges, paths=limit, milliseconds=1))

    for row in found.rows:
        whole = [r for r in every if r.nodes == row.nodes]
        assert any(r.valid_from <= row.valid_from < row.valid_to <= r.valid_to for r in whole)
    assert len({row.nodes for row in found.rows}) <= limit
    assert found.cut_by or found.rows == every


def test_a_row_names_its_versions_and_whether_they_are_certain() -> None:
    line: list[dict[str, bool]] = [{B: True}, {B: False}, {}, {}, {}]
    ahead: list[dict[str, bool]] = [{C: True}, {C: True}, {C: True}, {}, {}]
    graph = Graph([{(A, "p"): line, (B, "q"): ahead}])
    ids = {v.id: (v.slot.predicate, v.certain) for v in graph.reader().__getattribute__("_tables").versions}

    (row,) = walked(graph, [Step("p", False), Step("q", False)]).rows

    assert (row.valid_from, row.valid_to, row.certain) == (OPEN_START, GRID[2], False)
    assert [ids[fact] for fact in row.facts] == [("p", True), ("p", False), ("q", True)]


def test_paths_come_by_nodes_entities_first() -> None:
    graph = said((A, "p", "text"), (A, "p", C), (A, "p", B))

    assert [names(row.nodes) for row in walked(graph, [Step("p", False)]).rows] == [(A, B), (A, C), (A, "text")]


def test_from_a_text_a_path_goes_on_backwards_only() -> None:
    graph = said((A, "p", "text"), (B, "p", "text"))

    assert [names(row.nodes) for row in walked(graph, [Step("p", False), Step("p", True)]).rows] == [(A, "text", B)]
    assert walked(graph, [Step("p", False), Step("p", False)]).rows == []


def test_a_walk_out_of_time_says_so() -> None:
    graph = said((A, "p", B), (A, "p", C), (A, "p", D))
    budget = PathBudget(edges=10, paths=10, milliseconds=2)

    found = paths(graph.reader(), A, [Step("p", False)], NOW.known_at, None, budget, ticking())

    assert [names(row.nodes) for row in found.rows] == [(A, B), (A, C)]
    assert found.cut_by == ("milliseconds",)


# --- neighbourhood


def around(graph: Graph, *seeds: EntityId, budget: Budget = AMPLE, as_of: AsOf = NOW) -> Expansion:
    return neighbourhood(graph.reader(), seeds, as_of, budget, still)


def budget(**limits: int) -> Budget:
    return Budget(**{"hops": 3, "nodes": 100, "edges": 1_000, "fan_out": 100, "milliseconds": 60_000} | limits)


def depths(found: Expansion) -> dict[EntityId, int]:
    return {reached.entity: reached.depth for reached in found.entities}


def told(found: Expansion) -> list[tuple[str, str, str]]:
    return [(f.version.slot.subject, f.version.slot.predicate, f.version.value.text) for f in found.facts]


@given(graph=graphs, valid_at=st.sampled_from(INSTANTS), known_at=st.sampled_from(KNOWN), hops=st.integers(0, 3))
def test_a_neighbourhood_is_what_a_breadth_first_search_finds(
    graph: Graph, valid_at: Instant, known_at: Instant, hops: int
) -> None:
    found = around(graph, A, budget=budget(hops=hops), as_of=AsOf(valid_at=valid_at, known_at=known_at))

    visible = [(s, p, value) for s, p in graph.slots() for value in graph.state((s, p), valid_at, known_at)]
    reached, facts = {A: 0}, set()
    for depth in range(1, hops + 1):
        before = set(reached)
        for subject, predicate, value in visible:
            if reached.get(EntityId(subject), 9) == depth - 1 or reached.get(EntityId(value), 9) == depth - 1:
                facts.add((subject, predicate, value))
                for end in (subject, value):
                    if end in NODES and end not in before:
                        reached.setdefault(EntityId(end), depth)
    assert depths(found) == reached
    assert set(told(found)) == facts
    assert len(found.facts) == len(facts)
    assert (found.cut_by, found.wide) == ((), ())
    assert [r.depth for r in found.entities] == sorted(r.depth for r in found.entities)


@given(graph=graphs, nodes=st.integers(1, 3), edges=st.integers(0, 3), fan_out=st.integers(0, 3))
def test_budgets_bound_a_neighbourhood_and_are_named(graph: Graph, nodes: int, edges: int, fan_out: int) -> None:
    every = around(graph, A)
    found = around(graph, A, budget=budget(nodes=nodes, edges=edges, fan_out=fan_out))

    assert len(found.entities) <= nodes
    assert len(found.facts) <= edges
    assert set(told(found)) <= set(told(every))
    assert set(depths(found)) <= set(depths(every))
    ends = {end for s, _, v in told(found) for end in (s, v) if end in NODES}
    assert ends <= set(depths(found))
    assert found.cut_by or (depths(found), told(found)) == (depths(every), told(every))
    assert set(found.cut_by) <= {"nodes", "edges", "fan_out"}
    assert bool(found.wide) == ("fan_out" in found.cut_by)


def test_newer_facts_come_first_within_a_depth() -> None:
    cells: list[dict[str, bool]] = [{B: True}] * 5
    older: dict[Key, list[dict[str, bool]]] = {(A, "p"): cells, (B, "p"): [{"far": True}] * 5}
    graph = Graph([older, older | {(A, "q"): [{"new": True}] * 5}])

    assert told(around(graph, A)) == [(A, "q", "new"), (A, "p", B), (B, "p", "far")]


def test_a_supernode_is_read_in_part_and_named() -> None:
    graph = said(*((A, "p", f"text {n}") for n in range(20)), (B, "q", A))

    found = around(graph, A, budget=budget(fan_out=5))

    assert len(found.facts) == 5
    assert (found.cut_by, found.wide) == (("fan_out",), (A,))


def test_a_fact_that_points_at_its_own_subject_counts_once() -> None:
    graph = said((A, "p", A), (B, "q", A))

    exact, short = around(graph, A, budget=budget(fan_out=2)), around(graph, A, budget=budget(fan_out=1, hops=1))

    assert (sorted(told(exact)), exact.wide) == ([(A, "p", A), (B, "q", A)], ())
    assert (told(short), short.wide) == ([(A, "p", A)], (A,))


def test_several_seeds_are_all_at_depth_0() -> None:
    found = around(said((A, "p", B), (C, "p", D)), C, A, C)

    assert depths(found) == {C: 0, A: 0, B: 1, D: 1}


def test_unknown_seeds_are_passed_over_unless_none_is_known() -> None:
    stranger = EntityId("ent_abcdefgh_9_9")
    graph = said((A, "p", B))

    assert depths(around(graph, stranger, A)) == {A: 0, B: 1}
    with pytest.raises(NotFound, match="ent_abcdefgh_9_9"):
        around(graph, stranger)


def test_a_neighbourhood_out_of_time_says_so() -> None:
    graph = said((A, "p", B), (B, "p", C), (C, "p", D))

    found = neighbourhood(graph.reader(), [A], NOW, budget(milliseconds=2), ticking())

    assert depths(found) == {A: 0, B: 1, C: 2}
    assert found.cut_by == ("milliseconds",)


def test_what_held_only_before_is_not_around_now() -> None:
    past: list[dict[str, bool]] = [{B: True}, {}, {}, {}, {}]
    graph = Graph([{(A, "p"): past}])

    assert told(around(graph, A)) == []
    assert told(around(graph, A, as_of=AsOf(valid_at=Instant(5), known_at=Instant(OPEN_END - 1)))) == [(A, "p", B)]


def test_of_a_wide_entity_those_that_began_to_hold_last_are_followed() -> None:
    began = {"first": 0, "second": 1, "third": 2}
    world: dict[Key, list[dict[str, bool]]] = {
        (A, "p"): [{name: True for name, start in began.items() if start <= cell} for cell in range(len(GRID) - 1)]
    }

    found = around(Graph([world]), A, budget=budget(fan_out=2), as_of=AsOf(valid_at=GRID[2], known_at=NOW.known_at))

    assert sorted(value for _, _, value in told(found)) == ["second", "third"]
    assert found.wide == (A,)


def test_each_entity_says_how_it_was_reached_and_over_which_time_the_way_holds() -> None:
    near: list[dict[str, bool]] = [{}, {B: True}, {B: True}, {B: True}, {}]
    far: list[dict[str, bool]] = [{}, {}, {C: True}, {C: True}, {C: True}]
    found = around(Graph([{(A, "p"): near, (C, "x"): [{}] * 5, (B, "q"): far}]), A, as_of=AsOf(
        valid_at=GRID[2], known_at=NOW.known_at
    ))  # fmt: skip

    ids = {f.version.slot.predicate: f.version.id for f in found.facts}
    assert [(r.entity, r.via, r.holds) for r in found.entities] == [
        (A, None, ALWAYS), (B, ids["p"], Interval(GRID[1], GRID[4])), (C, ids["q"], Interval(GRID[2], GRID[4])),
    ]  # fmt: skip


@given(graph=graphs, valid_at=st.sampled_from(INSTANTS))
def test_the_way_to_an_entity_holds_at_the_instant_asked_about(graph: Graph, valid_at: Instant) -> None:
    found = around(graph, A, as_of=AsOf(valid_at=valid_at, known_at=NOW.known_at))

    facts = {f.version.id: f.version for f in found.facts}
    assert all(valid_at in reached.holds for reached in found.entities)
    for reached in found.entities[1:]:
        assert reached.via is not None
        version = facts[reached.via]
        assert version.valid_from <= reached.holds.start < reached.holds.end <= version.valid_to
        assert reached.entity in (version.slot.subject, version.value.text)


def test_a_layer_is_read_at_once_and_whole_facts_of_the_answer_alone() -> None:
    graph = said(*((A, "p", node) for node in (B, C, D)), (B, "q", "text"), (C, "q", "text"))
    reader = graph.reader()
    asked: list[tuple[str, int]] = []
    around_, facts_ = reader.around, reader.facts

    def around_told(entities: Sequence[EntityId], as_of: AsOf, *, limit: int) -> Mapping[EntityId, Sequence[Edge]]:
        asked.append(("around", len(entities)))
        return around_(entities, as_of, limit=limit)

    def facts_told(ids: Sequence[FactId], known_at: Instant) -> Mapping[FactId, Fact]:
        asked.append(("facts", len(ids)))
        return facts_(ids, known_at)

    setattr(reader, "around", around_told)  # noqa: B010
    setattr(reader, "facts", facts_told)  # noqa: B010
    found = neighbourhood(reader, [A], NOW, budget(edges=4, hops=2), still)

    assert len(found.facts) == 4
    assert asked == [("around", 1), ("around", 3), ("facts", 4)]
