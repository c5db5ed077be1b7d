"""The shape of the graph over HTTP: at both instants, within limits, as files that other programs read."""

from typing import Any
from unicodedata import normalize
from xml.etree import ElementTree

import networkx as nx
import pytest

from api.wire import analysis
from api.wire.graph_files import GRAPHML
from graph.analysis import Measure
from tests.e2e.conftest import Api, answer, codes, fact, problem
from tests.e2e.test_http_reading import undeclared
from tests.e2e.test_http_watching import documents, heard

HOSTILE = [
    "<b>&amp;\"'", "]]><!--", "\ufffe\uffff", "line\r\nbreak\ttab", "\u202etxet",
    "👩‍👩‍👧", "a\u0301",
    "<?xml version='1.0'?>", "&lol;", "%", "x" * 400,
]  # fmt: skip
NS = {"g": "http://graphml.graphdrawing.org/xmlns"}


def link(subject: str, value: str, valid_from: str = "2020-01-01", predicate: str = "knows", **said: Any) -> Any:
    return fact(subject, predicate, {"type": "entity", "key": value}, valid_from=valid_from, **said)


@pytest.fixture
def net(api: Api) -> Api:
    """Anna knows Ben since 2020, Ben knows Carl from 2022 to 2024; Dora knows Emil. Anna has a name."""
    api.at("2027-01-01")
    api.write(
        link("anna", "ben"), link("ben", "carl", "2022-01-01", valid_to="2024-01-01"), link("dora", "emil"),
        fact("anna", "name", "Anna", valid_from="2000-01-01"), fact("anna", "note", "alone", valid_from="2000-01-01"),
    )  # fmt: skip
    return api


def keys(entities: list[dict[str, Any]]) -> list[str]:
    return [entity["key"] for entity in entities]


# ---- parts


def test_parts_are_those_of_the_asked_instants(net: Api) -> None:
    then, now = (net.read("/v1/analysis/components", valid_at=at) for at in ("2023-01-01", "2026-01-01"))

    assert [sorted(keys(part["entities"])) for part in then["items"]] == [["anna", "ben", "carl"], ["dora", "emil"]]
    assert [sorted(keys(part["entities"])) for part in now["items"]] == [["anna", "ben"], ["dora", "emil"]]
    assert (then["count"], then["entity_count"], then["fact_count"], then["truncated"]) == (2, 5, 3, None)
    assert then["as_of"]["valid_at"] == "2023-01-01T00:00:00Z"


def test_parts_are_those_of_what_was_known_then(net: Api) -> None:
    net.at("2027-02-01")
    net.write(link("carl", "dora", "2022-06-01"))

    now = net.read("/v1/analysis/components", valid_at="2023-01-01")
    before = net.read("/v1/analysis/components", valid_at="2023-01-01", known_at="2027-01-15")
    assert [part["size"] for part in now["items"]] == [5]
    assert [part["size"] for part in before["items"]] == [3, 2]


def test_a_cut_snapshot_says_by_what(net: Api) -> None:
    by_edges = net.read("/v1/analysis/components", valid_at="2023-01-01", edges_max=1)
    by_nodes = net.read("/v1/analysis/components", valid_at="2023-01-01", nodes_max=3)

    assert (by_edges["fact_count"], by_edges["truncated"]) == (1, {"cut_by": ["edges"]})
    assert (by_nodes["entity_count"], by_nodes["truncated"]) == (3, {"cut_by": ["nodes"]})


def test_a_limit_of_parts_counts_all_of_them(net: Api) -> None:
    found = net.read("/v1/analysis/components", valid_at="2023-01-01", limit=1)

    assert ([part["size"] for part in found["items"]], found["count"]) == ([3], 2)


def test_another_scope_has_parts_of_its_own(net: Api) -> None:
    net.write(link("anna", "zoe"), namespace="other")

    found = net.read("/v1/analysis/components", namespace="other")
    assert [sorted(keys(part["entities"])) for part in found["items"]] == [["anna", "zoe"]]
    assert net.read("/v1/analysis/components", purpose="health")["items"] == []


# ---- middles


@pytest.mark.parametrize("measure", ["degree", "betweenness", "pagerank"])
def test_who_stands_in_the_middle_comes_first(net: Api, measure: str) -> None:
    net.write(link("emil", "ben", "2021-01-01"), link("fay", "ben", "2021-01-01"))
    found = net.read("/v1/analysis/centrality", measure=measure, valid_at="2026-01-01", limit=2)

    assert found["items"][0]["key"] == "ben"
    assert len(found["items"]) == 2
    assert (found["measure"], found["sampled"], found["entity_count"]) == (measure, None, 5)
    scores = [item["score"] for item in found["items"]]
    assert scores == sorted(scores, reverse=True)


def test_another_measure_is_refused(net: Api) -> None:
    refused = problem(net.get("/v1/analysis/centrality", measure="charm"), 400, "invalid-request")
    assert codes(refused)[0][0] == "/measure"


# ---- shortest ways


def test_the_shortest_way_says_while_all_of_its_facts_hold(net: Api) -> None:
    found = net.read("/v1/analysis/paths", source="carl", target="anna", valid_at="2023-01-01")

    (way,) = found["items"]
    assert keys(way["nodes"]) == ["carl", "ben", "anna"]
    assert [each["subject"]["key"] for each in way["facts"]] == ["ben", "anna"]
    assert (way["valid_from"], way["valid_to"], way["certain"]) == (
        "2022-01-01T00:00:00Z", "2024-01-01T00:00:00Z", True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("source", "target", "valid_at"),
    [("anna", "carl", "2025-01-01"), ("anna", "dora", "2023-01-01"), ("anna", "nobody", "2023-01-01")],
)
def test_where_no_way_leads_there_is_none(net: Api, source: str, target: str, valid_at: str) -> None:
    found = net.read("/v1/analysis/paths", source=source, target=target, valid_at=valid_at)
    assert (found["items"], found["truncated"]) == ([], None)


def test_a_shorter_way_is_taken_as_soon_as_it_holds(net: Api) -> None:
    net.write(link("anna", "carl", "2023-06-01"))

    ways = [
        net.read("/v1/analysis/paths", source="anna", target="carl", valid_at=at)["items"][0]
        for at in ("2023-01-01", "2023-07-01")
    ]
    assert [len(way["facts"]) for way in ways] == [2, 1]


def test_what_was_forgotten_is_told_and_leads_nowhere(net: Api) -> None:
    preview = answer(net.post("/v1/subjects/ben/forget", {}))
    answer(net.post("/v1/subjects/ben/forget", {"confirm": preview["manifest"]}))

    problem(net.get("/v1/analysis/paths", source="anna", target="ben", valid_at="2023-01-01"), 410, "forgotten")
    assert net.read("/v1/analysis/paths", source="anna", target="carl", valid_at="2023-01-01")["items"] == []
    for path in ("components", "centrality", "graph"):
        assert "ben" not in net.get(f"/v1/analysis/{path}", valid_at="2023-01-01").text
    assert "ben" not in net.get("/v1/analysis/graph", valid_at="2023-01-01", format="graphml").text


# ---- to take away


def test_node_link_json_is_read_by_networkx(net: Api) -> None:
    document = net.read("/v1/analysis/graph", valid_at="2023-01-01")

    graph = nx.node_link_graph(document, edges="links")
    named = {data["key"]: (node, data["label"]) for node, data in graph.nodes(data=True)}
    assert {key: label for key, (_, label) in named.items()} == {
        "anna": "Anna", "ben": "ben", "carl": "carl", "dora": "dora", "emil": "emil",
    }  # fmt: skip
    edges = {(source, target): data for source, target, data in graph.edges(data=True)}
    assert len(edges) == 3
    assert edges[named["ben"][0], named["carl"][0]] == {
        "predicate": "knows", "certain": True, "valid_from": "2022-01-01T00:00:00Z",
        "valid_to": "2024-01-01T00:00:00Z", "recorded_from": "2027-01-01T00:00:00Z",
    }  # fmt: skip


def test_graphml_comes_by_format_or_by_accept(net: Api) -> None:
    by_format = net.get("/v1/analysis/graph", format="graphml", valid_at="2023-01-01")
    by_accept = net.client.get("/v1/analysis/graph?valid_at=2023-01-01", headers={"Accept": GRAPHML})
    both = net.client.get("/v1/analysis/graph?format=json", headers={"Accept": GRAPHML})

    assert by_format.content == by_accept.content
    assert by_accept.headers["content-type"].startswith(GRAPHML)
    assert by_accept.headers["vary"] == both.headers["vary"] == "Accept"
    assert both.headers["content-type"] == "application/json"
    graph = nx.parse_graphml(by_format.text, force_multigraph=True)
    labels = {data["label"] for _, data in graph.nodes(data=True)}
    assert (graph.number_of_edges(), labels) == (3, {"Anna", "ben", "carl", "dora", "emil"})
    assert graph.graph["valid_at"] == "2023-01-01T00:00:00Z"


def test_a_graph_that_has_not_changed_is_not_sent_again_in_either_form(net: Api) -> None:
    tags = set()
    for form in ("json", "graphml"):
        first = net.get("/v1/analysis/graph", format=form)
        tags.add(first.headers["etag"])
        again = net.client.get(
            f"/v1/analysis/graph?format={form}", headers={"If-None-Match": first.headers["etag"]}
        )  # fmt: skip
        assert (again.status_code, again.content) == (304, b"")
    accepted = net.client.get("/v1/analysis/graph?format=json", headers={"Accept": GRAPHML})
    assert accepted.headers["etag"] in tags
    assert len(tags) == 2


def test_hostile_names_make_a_well_formed_document(api: Api) -> None:
    api.at("2027-01-01")
    api.write(
        *(link(f"n{number}", "hub") for number in range(len(HOSTILE))),
        *(fact(f"n{number}", "name", name, valid_from="2020-01-01") for number, name in enumerate(HOSTILE)),
        link("<k&>\"'", "hub"),
    )

    response = api.get("/v1/analysis/graph", format="graphml")
    root = ElementTree.fromstring(response.content)
    graph = nx.parse_graphml(response.text, force_multigraph=True)

    assert len(root.findall(".//g:node", NS)) == len(HOSTILE) + 2
    labels = {data["label"] for _, data in graph.nodes(data=True)}
    assert {"<b>&amp;\"'", "]]><!--", "&lol;", "\u202etxet", "<k&>\"'"} <= labels
    document = api.read("/v1/analysis/graph", format="json")
    assert {*(normalize("NFC", name) for name in HOSTILE), "hub", "<k&>\"'"} == {
        node["label"] for node in document["nodes"]
    }


def test_the_cut_of_a_graph_is_told_in_both_forms(net: Api) -> None:
    document = net.read("/v1/analysis/graph", valid_at="2023-01-01", edges_max=2)
    text = net.get("/v1/analysis/graph", valid_at="2023-01-01", edges_max=2, format="graphml").text

    assert (len(document["links"]), document["truncated"]) == (2, {"cut_by": ["edges"]})
    assert nx.parse_graphml(text).graph["truncated"] == "edges"


# ---- manners

ASKED = [
    ("/v1/analysis/components", analysis.Components),
    ("/v1/analysis/centrality", analysis.CentralThings),
    ("/v1/analysis/paths?source=anna&target=ben", analysis.Ways),
    ("/v1/analysis/graph", analysis.NodeLink),
]


@pytest.mark.parametrize(("url", "model"), ASKED, ids=[url for url, _ in ASKED])
def test_an_answer_has_the_members_that_are_declared_and_no_other(net: Api, url: str, model: Any) -> None:
    first, again = net.client.get(url), net.client.get(url)

    assert undeclared(model.model_validate(answer(first))) == []
    assert first.headers["etag"] == again.headers["etag"]


@pytest.mark.parametrize("limit", ["nodes_max", "edges_max", "milliseconds_max"])
def test_a_limit_beyond_its_ceiling_is_refused(net: Api, limit: str) -> None:
    for wrong in (0, 10**6):
        refused = problem(net.get("/v1/analysis/components", **{limit: wrong}), 400, "invalid-request")
        assert codes(refused)[0][0] == f"/{limit}"


def test_who_is_shown_to_know_whom_is_audited_where_that_is_sensitive(net: Api) -> None:
    pack = {"pack": "mine", "predicates": {"knows": {"sensitive": True}, "name": {"sensitive": True}}}
    answer(net.client.put("/v1/ontology", json=pack))
    for url, predicates in (
        ("/v1/analysis/paths?source=anna&target=ben", ["knows"]),
        ("/v1/analysis/graph", ["knows", "name"]),
        ("/v1/analysis/graph?format=graphml", ["knows", "name"]),
        ("/v1/analysis/components", ["knows"]),
        *((f"/v1/analysis/centrality?measure={measure}", ["knows"]) for measure in Measure),
    ):
        with heard("vigencia.audit") as said:
            assert net.client.get(url).status_code == 200
        assert sorted(line["predicate"] for line in documents(said)) == predicates, url
        assert "Anna" not in said.getvalue()
