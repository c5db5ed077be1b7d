"""A snapshot of the graph as other programs read it: node-link JSON as networkx does, and GraphML."""

import re
from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Final

from api.sensitive import note
from api.wire import rendering
from api.wire.rendering import Names, Wire
from graph.analysis import GraphSnapshot, ends
from graph.naming import NAME
from ontology.errors import JSON
from ontology.facts import AsOf, FactVersion
from ontology.ids import EntityId
from ontology.instants import Instant, format_instant

if TYPE_CHECKING:
    pass

GRAPHML: Final = "application/graphml+xml"
_NO_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What an XML document cannot hold, escaped neither (XML 1.0, 2.2)."""
_INSTEAD: Final = "\ufffd"

Called = Mapping[EntityId, tuple[str, ...]]
"""The names of each entity, the one to call it by first."""


def node_link(of: GraphSnapshot, names: Names, called: Called) -> Wire:
    """`networkx.node_link_graph(document, edges="links")` reads it; a link's key is the id of its fact."""
    nodes: list[JSON] = [_node(id, names, called) for id in of.nodes]
    links: list[JSON] = []
    for edge in of.edges:
        source, target = ends(edge)
        links.append({"source": source, "target": target, "key": edge.id, **_link(edge)})
    return {"directed": True, "multigraph": True, "graph": {}, "nodes": nodes, "links": links}


def graphml(of: GraphSnapshot, names: Names, called: Called, as_of: AsOf) -> bytes:
    """A GraphML document of the same. A character that XML cannot hold is told as U+FFFD."""
    import networkx as nx  # heavy, and needed by few

    graph: nx.MultiDiGraph[EntityId] = nx.MultiDiGraph()
    graph.graph["valid_at"], graph.graph["known_at"] = format_instant(as_of.valid_at), format_instant(as_of.known_at)
    graph.graph["truncated"] = ",".join(of.cut_by)
    for id in of.nodes:
        graph.add_node(id, **_writable({**_node(id, names, called), "id": None}))
    for edge in of.edges:
        source, target = ends(edge)
        graph.add_edge(source, target, key=edge.id, **_writable(_link(edge)))
    file = BytesIO()
    nx.write_graphml_xml(graph, file)
    return file.getvalue()


def _node(id: EntityId, names: Names, called: Called) -> dict[str, JSON]:
    label = called.get(id, (id,))[0]
    entity = names.get(id)
    if label != id and (entity is None or label != entity.key):
        note(id, NAME)
    return {**rendering.entity(id, names), "label": label}


def _link(edge: FactVersion) -> dict[str, JSON]:
    note(edge.slot.subject, edge.slot.predicate)
    return {
        "predicate": edge.slot.predicate,
        "certain": edge.certain,
        "valid_from": rendering.instant(edge.valid_from),
        "valid_to": rendering.instant(edge.valid_to),
        "recorded_from": rendering.instant(Instant(edge.recorded_from)),
    }


def _writable(attributes: Mapping[str, JSON]) -> dict[str, object]:
    """Attributes that GraphML can hold: none that is null, no character that XML has no place for."""
    return {
        name: _NO_XML.sub(_INSTEAD, value) if isinstance(value, str) else value
        for name, value in attributes.items()
        if value is not None
    }
