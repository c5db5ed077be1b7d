"""What the shape of the graph tells: parts, middles, shortest ways, and the graph itself to take away."""

from collections.abc import Sequence

from starlette.responses import Response

from api.routes.call import Call
from api.routes.reading import Question, answered, ask, milliseconds, reading, sent, subject_of
from api.routes.routing import READ, Routes
from api.sensitive import note
from api.wire import rendering
from api.wire.analysis import (
    AnalysisQuery,
    CentralityQuery,
    CentralThings,
    Components,
    ComponentsQuery,
    GraphQuery,
    NodeLink,
    WayQuery,
    Ways,
)  # fmt: skip
from api.wire.graph_files import GRAPHML, graphml, node_link
from api.wire.rendering import Names, Wire
from graph.analysis import GraphSnapshot, Limits, Measure, Way, centrality, components, shortest, snapshot
from graph.naming import names_of
from ontology.errors import JSON
from ontology.grants import Grant
from ontology.ids import EntityId
from ontology.values import entity_value

routes = Routes("analysis", "What the shape of the graph tells, worked out on a snapshot of it.")


@routes.get("/v1/analysis/components", query=ComponentsQuery, answer=Components, problems=READ)
def list_components(call: Call, query: ComponentsQuery) -> Response:
    """The parts of the graph between which no visible fact leads, the largest first.

    Worked out on the facts whose value is an entity, up to `nodes_max` and `edges_max`; `truncated` says what was cut.
    """
    with reading(call, query) as reader:
        question = ask(call, reader, query)
        graph = _snapshot(question, query)
        _note(graph)
        parts = components(graph)
        shown = parts[: query.limit]
        names = _names(question, [id for part in shown for id in part])
        items: list[JSON] = [
            {"size": len(part), "entities": [rendering.entity(id, names) for id in part]} for part in shown
        ]
        return answered(question, {"items": items, "count": len(parts), **_measured(graph)})


@routes.get("/v1/analysis/centrality", query=CentralityQuery, answer=CentralThings, problems=READ)
def list_central(call: Call, query: CentralityQuery) -> Response:
    """Which things stand in the middle of the graph, by `degree`, `betweenness` or `pagerank`, the highest first.

    On a large graph betweenness is estimated from some of the things: `sampled` says from how many.
    """
    with reading(call, query) as reader:
        question = ask(call, reader, query)
        graph = _snapshot(question, query)
        _note(graph)
        found = centrality(graph, Measure(query.measure))
        shown = found.scores[: query.limit]
        names = _names(question, [id for id, _ in shown])
        items: list[JSON] = [{**rendering.entity(id, names), "score": score} for id, score in shown]
        body: Wire = {"items": items, "measure": query.measure, "sampled": found.sampled}
        return answered(question, {**body, **_measured(graph)})


@routes.get("/v1/analysis/paths", query=WayQuery, answer=Ways, problems=READ)
def read_shortest_path(call: Call, query: WayQuery) -> Response:
    """The shortest way from one thing to another over facts that hold at the asked instants, and while all of them do.

    In either direction of each fact. Nothing where none leads there; then `truncated` says whether one might be missed.
    """
    with reading(call, query) as reader:
        question = ask(call, reader, query)
        graph = _snapshot(question, query)
        source = subject_of(reader, query.source, "/source")
        target = subject_of(reader, query.target, "/target")
        way = None if source is None or target is None else shortest(graph, source.id, target.id)
        names = _names(question, list(way.nodes if way else ()))
        items: list[JSON] = [] if way is None else [_way(question, way, names)]
        return answered(question, {"items": items, **_measured(graph)})


@routes.get("/v1/analysis/graph", query=GraphQuery, answer=NodeLink, problems=READ, media=GRAPHML)
def export_graph(call: Call, query: GraphQuery) -> Response:
    """The visible graph to take away: node-link JSON, or GraphML with `format=graphml` or by `Accept`.

    Needs the grant `export` besides `read`.
    """
    call.scope(query.namespace, query.purpose, needs=Grant.EXPORT)
    with reading(call, query) as reader:
        question = ask(call, reader, query)
        graph = _snapshot(question, query)
        names = _names(question, graph.nodes)
        called = names_of(reader, graph.nodes, question.as_of)
        if _wants_graphml(call, query):
            response = sent(question, graphml(graph, names, called, question.as_of), GRAPHML)
        else:
            response = answered(question, {**node_link(graph, names, called), **_measured(graph)})
        response.headers["Vary"] = "Accept"
        return response


def _snapshot(question: Question, query: AnalysisQuery) -> GraphSnapshot:
    limits = Limits(nodes=query.nodes_max, edges=query.edges_max, milliseconds=query.milliseconds_max)
    return snapshot(question.reader, question.as_of, limits, milliseconds)


def _note(graph: GraphSnapshot) -> None:
    """Note for the audit: what is made of all facts together tells of each of them, though it shows none."""
    for edge in graph.edges:
        note(edge.slot.subject, edge.slot.predicate)


def _measured(graph: GraphSnapshot) -> Wire:
    """How large what was looked at is, and what was cut of it."""
    truncated: JSON = {"cut_by": list(graph.cut_by)} if graph.cut_by else None
    return {"entity_count": len(graph.nodes), "fact_count": len(graph.edges), "truncated": truncated}


def _way(question: Question, way: Way, names: Names) -> Wire:
    edges: list[JSON] = [rendering.version(edge, names, question.as_of.known_at) for edge in way.edges]
    nodes: list[JSON] = [rendering.value(entity_value(id), names) for id in way.nodes]
    return {
        "nodes": nodes,
        "facts": edges,
        "certain": all(edge.certain for edge in way.edges),
        "valid_from": rendering.instant(way.holds.start),
        "valid_to": rendering.instant(way.holds.end),
    }


def _names(question: Question, ids: Sequence[EntityId]) -> Names:
    return question.reader.entities_by_id(list(ids)) if ids else {}


def _wants_graphml(call: Call, query: GraphQuery) -> bool:
    if query.format is not None:
        return query.format == "graphml"
    accept = call.header(b"accept") or ""
    return GRAPHML in accept and "application/json" not in accept
