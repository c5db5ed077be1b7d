"""Whatever a name holds, a graph to take away is a document that a parser reads."""

from xml.etree import ElementTree

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from api.wire.graph_files import graphml, node_link
from ontology.claims import Entity
from tests.unit.test_analysis import taken
from tests.unit.test_expansion import NODES, NOW, said
from tests.unit.test_history import SCOPE

A, B, *_ = NODES
GRAPH = taken(said((A, "p", B), (A, "q", B), (B, "p", B)))
anything = st.text(st.characters(exclude_categories=["Cs"]))


@given(label=anything, key=anything)
def test_a_graphml_document_is_well_formed_whatever_a_name_holds(label: str, key: str) -> None:
    names = {A: Entity(id=A, namespace=SCOPE.namespace, key=key)}

    document = graphml(GRAPH, names, {A: (label,)}, NOW)

    ElementTree.fromstring(document)
    read = nx.parse_graphml(document.decode(), force_multigraph=True)
    assert sorted(read.nodes) == [A, B]
    assert read.number_of_edges() == 3


def test_a_character_that_xml_cannot_hold_is_replaced_and_others_are_kept() -> None:
    label = "a\x00\x0b\x1f\ufffe<&>\"'\u202e👩"

    document = graphml(GRAPH, {}, {A: (label,)}, NOW)

    read = nx.parse_graphml(document.decode(), force_multigraph=True)
    assert read.nodes[A]["label"] == "a\ufffd\ufffd\ufffd\ufffd<&>\"'\u202e👩"
    assert node_link(GRAPH, {}, {A: (label,)})["nodes"] == [
        {"id": A, "key": None, "label": label}, {"id": B, "key": None, "label": B},
    ]  # fmt: skip


def test_equal_graphs_make_equal_documents() -> None:
    assert graphml(GRAPH, {}, {}, NOW) == graphml(taken(said((B, "p", B), (A, "q", B), (A, "p", B))), {}, {}, NOW)
