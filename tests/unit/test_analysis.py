"""Parts, middles and shortest ways agree with a brute force; snapshots stop at their limits and say so."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.analysis import GraphSnapshot, Limits, Measure, Way, centrality, components, ends, shortest, snapshot
from graph.periods import ALWAYS
from ontology.facts import AsOf, FactVersion
from ontology.ids import EntityId
from ontology.instants import Instant
from ontology.intervals import Interval
from tests.unit.test_expansion import NODES, NOW, Graph, graphs, keys, lines, said, still, ticking
from tests.unit.test_history import INSTANTS, KNOWN

A, B, C, D = NODES
AMPLE = Limits(nodes=100, edges=1_000, milliseconds=60_000)


def taken(graph: Graph, limits: Limits = AMPLE, as_of: AsOf = NOW) -> GraphSnapshot:
    return snapshot(graph.reader(), as_of, limits, still)


def pairs(edges: Sequence[FactVersion]) -> list[tuple[str, str, str]]:
    return [(edge.slot.subject, edge.slot.predicate, edge.value.text) for edge in edges]


def visible(graph: Graph, as_of: AsOf) -> list[tuple[str, str, str]]:
    return sorted(
        (subject, predicate, value)
        for subject, predicate in graph.slots()
        for value in graph.state((subject, predicate), as_of.valid_at, as_of.known_at)
        if value in NODES
    )


# --- snapshots


@given(graph=graphs, valid_at=st.sampled_from(INSTANTS), known_at=st.sampled_from(KNOWN))
def test_a_snapshot_holds_the_facts_between_entities_that_are_visible(
    graph: Graph, valid_at: Instant, known_at: Instant
) -> None:
    as_of = AsOf(valid_at=valid_at, known_at=known_at)

    found = taken(graph, as_of=as_of)

    assert sorted(pairs(found.edges)) == visible(graph, as_of)
    assert all(edge.visible_at(as_of) for edge in found.edges)
    assert list(found.nodes) == sorted({end for edge in found.edges for end in ends(edge)})
    assert found.cut_by == ()


@given(graph=graphs, nodes=st.integers(1, 4), edges=st.integers(1, 4))
def test_a_cut_snapshot_is_a_part_of_the_whole_and_says_so(graph: Graph, nodes: int, edges: int) -> None:
    whole = taken(graph)
    found = taken(graph, Limits(nodes=nodes, edges=edges, milliseconds=1))

    assert len(found.nodes) <= nodes
    assert len(found.edges) <= edges
    assert set(pairs(found.edges)) <= set(pairs(whole.edges))
    assert set(found.nodes) == {end for edge in found.edges for end in ends(edge)}
    assert found.cut_by or found == whole


def test_a_snapshot_out_of_time_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph.analysis.ROWS_PER_PAGE", 1)
    graph = said((A, "p", B), (B, "p", C), (C, "p", D))

    found = snapshot(graph.reader(), NOW, Limits(nodes=9, edges=9, milliseconds=1), ticking())

    assert pairs(found.edges) == [(A, "p", B), (B, "p", C)]
    assert found.cut_by == ("milliseconds",)


# --- parts


@given(graph=graphs)
def test_parts_are_what_nothing_leads_out_of(graph: Graph) -> None:
    found = taken(graph)
    parts = components(found)

    assert sorted(node for part in parts for node in part) == sorted(found.nodes)
    of = {node: number for number, part in enumerate(parts) for node in part}
    assert all(of[subject] == of[target] for subject, target in map(ends, found.edges))
    assert all(ways(found, one, other) for part in parts for one, other in combinations(part, 2))
    assert [len(part) for part in parts] == sorted((len(part) for part in parts), reverse=True)


def test_parts_of_one_size_come_by_their_first_entity() -> None:
    assert components(taken(said((C, "p", D), (B, "p", A)))) == [(A, B), (C, D)]


# --- shortest ways


def ways(of: GraphSnapshot, source: EntityId, target: EntityId) -> list[tuple[EntityId, ...]]:
    """The shortest ways by brute force: all orders of all entities that lie between."""
    joined = {frozenset(ends(edge)) for edge in of.edges}
    others = [node for node in of.nodes if node not in (source, target)]
    if source == target:
        return [(source,)]
    for between in range(len(others) + 1):
        found = [
            (source, *middle, target)
            for middle in permutations(others, between)
            if all(frozenset(pair) in joined for pair in zip((source, *middle), (*middle, target), strict=True))
        ]
        if found:
            return found
    return []


worlds = st.lists(st.dictionaries(keys, lines, min_size=3, max_size=8), min_size=1, max_size=2).map(Graph)


@given(graph=worlds, source=st.sampled_from(NODES), target=st.sampled_from(NODES), at=st.sampled_from(INSTANTS))
def test_the_shortest_way_is_that_of_a_brute_force_and_holds_where_all_its_facts_do(
    graph: Graph, source: EntityId, target: EntityId, at: Instant
) -> None:
    of = taken(graph, as_of=AsOf(valid_at=at, known_at=NOW.known_at))
    way = shortest(of, source, target)

    if way is None:
        assert not {source, target} <= set(of.nodes) or ways(of, source, target) == []
        return
    assert way.nodes == min(ways(of, source, target))
    steps = zip(way.nodes, way.nodes[1:], way.edges, strict=False)
    assert all({near, far} == set(ends(edge)) for near, far, edge in steps)
    assert len(way.edges) == len(way.nodes) - 1
    assert at in way.holds
    every = [Interval(edge.valid_from, edge.valid_to) for edge in way.edges]
    assert way.holds == Interval(
        max((i.start for i in every), default=ALWAYS.start), min((i.end for i in every), default=ALWAYS.end)
    )


def test_of_two_facts_between_two_things_the_certain_one_that_holds_longer_is_taken() -> None:
    short: list[dict[str, bool]] = [{}, {B: True}, {}, {}, {}]
    long: list[dict[str, bool]] = [{}, {B: True}, {B: True}, {}, {}]
    possible: list[dict[str, bool]] = [{B: False}] * 5
    way = shortest(taken(Graph([{(A, "p"): short, (A, "q"): long, (A, "r"): possible}])), A, B)

    assert way is not None
    assert pairs(way.edges) == [(A, "q", B)]


def test_a_way_from_a_thing_to_itself_has_no_step() -> None:
    assert shortest(taken(said((A, "p", B))), A, A) == Way(nodes=(A,), edges=(), holds=ALWAYS)
    assert shortest(taken(said((A, "p", B))), C, C) is None


# --- who stands in the middle


def scores(of: GraphSnapshot, measure: Measure) -> dict[EntityId, float]:
    return dict(centrality(of, measure).scores)


def test_a_degree_counts_the_facts_that_join_a_thing_to_others() -> None:
    of = taken(said((A, "p", B), (A, "q", B), (C, "p", A), (C, "p", C)))

    assert centrality(of, Measure.DEGREE).scores == [(A, 1.5), (B, 1.0), (C, 0.5)]


@given(graph=graphs)
def test_betweenness_is_the_share_of_shortest_ways_that_lead_over_a_thing(graph: Graph) -> None:
    of = taken(graph)
    wanted = dict.fromkeys(of.nodes, Fraction(0))
    for one, other in combinations(of.nodes, 2):
        found = ways(of, one, other)
        for way in found:
            for node in way[1:-1]:
                wanted[node] += Fraction(1, len(found))
    most = Fraction((len(of.nodes) - 1) * (len(of.nodes) - 2), 2) or Fraction(1)

    assert scores(of, Measure.BETWEENNESS) == pytest.approx({n: float(s / most) for n, s in wanted.items()}, abs=1e-6)


@given(graph=graphs)
def test_the_shares_of_pagerank_are_one_and_stay_when_they_are_passed_on(graph: Graph) -> None:
    of = taken(graph)
    found = scores(of, Measure.PAGERANK)

    passed = dict.fromkeys(of.nodes, 0.15 / max(len(of.nodes), 1))
    for node, score in found.items():
        targets = [target for subject, target in map(ends, of.edges) if subject == node] or list(of.nodes)
        for target in targets:
            passed[target] += 0.85 * score / len(targets)
    assert sum(found.values()) == pytest.approx(1 if of.nodes else 0, abs=1e-6)
    assert found == pytest.approx(passed, abs=1e-6)


def test_betweenness_of_a_large_graph_is_estimated_the_same_way_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    of = taken(said(*((one, f"to_{other[-1]}", other) for one, other in product(NODES, NODES))))
    exact = centrality(of, Measure.BETWEENNESS)
    monkeypatch.setattr("graph.analysis._STEPS_MAX", 25)

    first, again = (centrality(of, Measure.BETWEENNESS) for _ in range(2))

    assert exact.sampled is None
    assert first.sampled == 2
    assert first == again


@pytest.mark.parametrize("measure", Measure)
def test_scores_come_highest_first_and_nothing_has_none(measure: Measure) -> None:
    of = taken(said((A, "p", B), (C, "p", B), (D, "p", B)))

    found = centrality(of, measure).scores
    assert found == sorted(found, key=lambda row: (-row[1], row[0]))
    assert found[0][0] == B
    assert centrality(taken(said((A, "p", "text"))), measure).scores == []
