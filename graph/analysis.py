"""What the shape of a graph tells: its parts, who stands in the middle, the shortest ways, and all of it to take away.

A snapshot is the visible facts of a scope whose value is an entity, at two instants; each joins two entities, in either
direction. What follows is worked out in memory, so a snapshot has limits and says where it was cut.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from graph.expansion import Milliseconds
from graph.paging import ROWS_PER_PAGE
from graph.periods import ALWAYS
from graph.ports import Reader
from ontology.facts import AsOf, FactVersion
from ontology.ids import ENTITY, EntityId, locate
from ontology.intervals import Interval

if TYPE_CHECKING:
    import networkx as nx

DAMPING: Final = 0.85
"""Page et al. 1999: the share of those who follow an edge; the others begin anew anywhere."""
_ROUNDS: Final = 100
_SETTLED: Final = 1e-9
_STEPS_MAX: Final = 1_000_000
"""Entities and edges that a betweenness goes over in all: of a larger graph it is estimated from some entities."""
_SEED: Final = 1
_DIGITS: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a snapshot."""

    nodes: int
    edges: int
    milliseconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSnapshot:
    nodes: tuple[EntityId, ...]
    """Those that an edge joins, by (position, ordinal) of id."""
    edges: tuple[FactVersion, ...]
    """By (subject, predicate, language, valid_from, recorded_from, ordinal)."""
    cut_by: tuple[str, ...]
    """The limits that were met: nodes, edges, milliseconds."""


class Measure(StrEnum):
    """How an entity is weighed."""

    DEGREE = "degree"
    """Facts that join it to another, as a share of what one fact with each other would be."""
    BETWEENNESS = "betweenness"
    """The share of the shortest ways between others that lead over it (Brandes 2001)."""
    PAGERANK = "pagerank"
    """How often one comes by who follows facts from subject to value at random (Page et al. 1999)."""


class Centrality(NamedTuple):
    scores: Sequence[tuple[EntityId, float]]
    """Highest first, then by id."""
    sampled: int | None
    """From how many entities the scores are estimated; `None` where they are exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A shortest path, and the valid time over which all of its edges hold."""

    nodes: tuple[EntityId, ...]
    edges: tuple[FactVersion, ...]
    """One between each two nodes; each leads from the one to the other or back."""
    holds: Interval


def snapshot(reader: Reader, as_of: AsOf, limits: Limits, clock: Milliseconds) -> GraphSnapshot:
    """The entities that facts visible at `as_of` join, with these facts, subject after subject by (position, ordinal).

    A fact that would bring an entity beyond `nodes` is left out. Reads: two for each 1,000 slots.
    """
    deadline = clock() + limits.milliseconds
    nodes: dict[EntityId, None] = {}
    edges: list[FactVersion] = []
    cut_by: dict[str, None] = {}
    for version in _entity_edges(reader, as_of, limits.edges, deadline, clock, cut_by):
        new = dict.fromkeys(end for end in ends(version) if end not in nodes)
        if len(nodes) + len(new) > limits.nodes:
            cut_by["nodes"] = None
            continue
        nodes |= new
        edges.append(version)
    return GraphSnapshot(nodes=tuple(sorted(nodes, key=_place)), edges=tuple(edges), cut_by=tuple(cut_by))


def _entity_edges(
    reader: Reader, as_of: AsOf, most: int, deadline: float, clock: Milliseconds, cut_by: dict[str, None]
) -> Iterator[FactVersion]:
    left, after = most, None
    while heads := reader.slots(None, limit=ROWS_PER_PAGE, after=after):
        found = reader.entity_edges([head.slot for head in heads], as_of, limit=left + 1)
        yield from found[:left]
        if len(found) > left:
            cut_by["edges"] = None
            return
        left, after = left - len(found), heads[-1].slot
        if len(heads) < ROWS_PER_PAGE:
            return
        if clock() > deadline:
            cut_by["milliseconds"] = None
            return


def ends(version: FactVersion) -> tuple[EntityId, EntityId]:
    """Subject and value of an edge."""
    return version.slot.subject, EntityId(version.value.text)


def components(of: GraphSnapshot) -> list[tuple[EntityId, ...]]:
    """The parts between which no fact leads, the largest first, then by their first entity, which each begins with."""
    import networkx as nx  # heavy, and needed by few

    parts = (tuple(sorted(part, key=_place)) for part in nx.connected_components(_undirected(of)))
    return sorted(parts, key=lambda part: (-len(part), _place(part[0])))


def centrality(of: GraphSnapshot, measure: Measure) -> Centrality:
    """How much each entity stands in the middle, by one measure; equal snapshots give equal scores."""
    sampled = None
    match measure:
        case Measure.DEGREE:
            scores = _degree(of)
        case Measure.PAGERANK:
            scores = _pagerank(of)
        case Measure.BETWEENNESS:
            scores, sampled = _betweenness(of)
    rounded = [(node, round(scores[node], _DIGITS)) for node in of.nodes]
    return Centrality(sorted(rounded, key=lambda row: (-row[1], _place(row[0]))), sampled)


def shortest(of: GraphSnapshot, source: EntityId, target: EntityId) -> Way | None:
    """The way from one entity to another over the fewest edges, `None` where none leads there.

    Of several the one whose entities come first by (position, ordinal), one after the other; of several edges between
    two of them the certain one that holds longest after that, then the first by id. All edges of a snapshot hold at
    its instant, so the way does.
    """
    import networkx as nx

    graph = _undirected(of)
    if source not in graph or target not in graph:
        return None
    distance: Mapping[EntityId, int] = nx.single_source_shortest_path_length(graph, target)
    if source not in distance:
        return None
    nodes = [source]
    while nodes[-1] != target:
        nearer = (each for each in graph[nodes[-1]] if distance[each] < distance[nodes[-1]])
        nodes.append(min(nearer, key=_place))
    between = _between(of)
    edges = tuple(min(between[frozenset(pair)], key=_preferred) for pair in pairwise(nodes))
    start = max((edge.valid_from for edge in edges), default=None)
    end = min((edge.valid_to for edge in edges), default=None)
    holds = ALWAYS if start is None or end is None else Interval(start, end)
    return Way(nodes=tuple(nodes), edges=edges, holds=holds)


def _between(of: GraphSnapshot) -> Mapping[frozenset[EntityId], list[FactVersion]]:
    found: defaultdict[frozenset[EntityId], list[FactVersion]] = defaultdict(list)
    for edge in of.edges:
        found[frozenset(ends(edge))].append(edge)
    return found


def _preferred(edge: FactVersion) -> tuple[bool, int, int, int]:
    return not edge.certain, edge.valid_from - edge.valid_to, edge.position, edge.ordinal


def _undirected(of: GraphSnapshot) -> "nx.Graph[EntityId]":
    """Who is joined to whom, however often and in whichever direction; nobody to itself."""
    import networkx as nx

    graph: nx.Graph[EntityId] = nx.Graph()
    graph.add_nodes_from(of.nodes)
    graph.add_edges_from((subject, target) for subject, target in map(ends, of.edges) if subject != target)
    return graph


def _degree(of: GraphSnapshot) -> Mapping[EntityId, float]:
    counts = Counter(end for edge in of.edges for end in set(ends(edge)) if len(set(ends(edge))) == 2)
    others = max(len(of.nodes) - 1, 1)
    return {node: counts[node] / others for node in of.nodes}


def _betweenness(of: GraphSnapshot) -> tuple[Mapping[EntityId, float], int | None]:
    import networkx as nx

    graph = _undirected(of)
    affordable = max(_STEPS_MAX // (len(graph) + graph.size() + 1), 1)
    sampled = None if affordable >= len(graph) else int(affordable)
    return nx.betweenness_centrality(graph, k=sampled, seed=_SEED), sampled


def _pagerank(of: GraphSnapshot) -> Mapping[EntityId, float]:
    """By repeated multiplication; an edge counts as often as it is stated, a node without any leads everywhere."""
    leads: defaultdict[EntityId, Counter[EntityId]] = defaultdict(Counter)
    for edge in of.edges:
        subject, target = ends(edge)
        leads[subject][target] += 1
    count = len(of.nodes)
    scores = dict.fromkeys(of.nodes, 1 / count) if count else {}
    for _ in range(_ROUNDS):
        lost = sum(score for node, score in scores.items() if node not in leads)
        after = dict.fromkeys(of.nodes, (1 - DAMPING + DAMPING * lost) / count) if count else {}
        for node, targets in leads.items():
            share = DAMPING * scores[node] / targets.total()
            for target, times in targets.items():
                after[target] += share * times
        settled = sum(abs(after[node] - scores[node]) for node in of.nodes) < _SETTLED * count
        scores = after
        if settled:
            break
    return scores


def _place(id: EntityId) -> tuple[int, int]:
    place = locate(id, ENTITY)
    return place.position, place.ordinal
