"""The story of the passport, told through the writer, answers an auditor's questions in two engines; and every way in
which it could be wrong is noticed."""

import json
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, Final

import pyoxigraph as ox
import pyshacl
import pytest
import rdflib
from prov.model import ProvDocument

from graph.sqlite_store.store import SqliteStore
from ontology.ids import Ledger
from ontology.rdf_terms import VIG
from tests.rdf.story import NAMES, SCOPE, Graphs, Teller, as_written, graphs, passport, quads

HERE: Final = Path(__file__).parent
QUERIES: Final = ("as-of", "history", "which-episode", "truthy")
EXPECTED: Final = json.loads((HERE / "expected.json").read_text())
MUTANTS: Final = json.loads((HERE / "mutants.json").read_text())
SHAPES: Final = rdflib.Graph().parse(data=(resources.files("ontology") / "shapes.ttl").read_text(), format="turtle")
PREFIXES: Final = """
PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX vig: <urn:vigencia:ns#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
"""

pytestmark = pytest.mark.filterwarnings("ignore:Dataset.default_context:DeprecationWarning")


@pytest.fixture(scope="module", params=["change", "correction"])
def story(request: pytest.FixtureRequest) -> tuple[str, Teller, Graphs]:
    told = passport(SqliteStore(":memory:"), correction=request.param == "correction")
    return request.param, told, graphs(told.statements(), told.current("2026-06-04"))


def ids(told: Teller) -> dict[str, str]:
    """The IRIs of the story under the short names that the expected rows and the mutants have for them."""
    with told.store.read(SCOPE) as reader:
        mira = reader.entities_by_key(["mira"])["mira"].id
        (head,) = reader.slots_of(mira, "passport_deadline")
        ledger = Ledger(mira.split("_")[1])
    found: dict[str, str] = {"slot": NAMES.slot(head.slot), "mira": NAMES.source("mira")}
    found |= {"e1": NAMES.of("episode", f"epi_{ledger}_2_0"), "e2": NAMES.of("episode", f"epi_{ledger}_4_0")}
    versions = [f"fct_{ledger}_3_1", f"fct_{ledger}_5_0", f"fct_{ledger}_5_1"]
    found |= {f"v{number}": NAMES.of("fact", version) for number, version in enumerate(versions, 1)}
    return found | {name: NAMES.predicate(name) for name in ("passport_deadline", "prefers")}


def shortened(term: object, names: Mapping[str, str]) -> str | None:
    text = None if term is None else str(term).replace("+00:00", "Z")
    return names.get(text or "", text.replace(VIG, "vig:") if text else None)


@pytest.mark.parametrize("query", QUERIES)
def test_both_engines_answer_the_questions_with_the_expected_rows(
    story: tuple[str, Teller, Graphs], query: str
) -> None:
    name, told, both = story
    short = {iri: short for short, iri in ids(told).items()}
    asked = (HERE / "queries" / f"{query}.rq").read_text()

    answered: Any = both.store.query(asked)
    in_oxigraph = [[shortened(row[v] and row[v].value, short) for v in answered.variables] for row in answered]
    asked_again: Any = both.dataset.query(asked)
    in_rdflib = [[shortened(term, short) for term in row] for row in asked_again]

    order = lambda row: [str(term) for term in row]  # noqa: E731
    assert sorted(in_oxigraph, key=order) == sorted(EXPECTED[name][query], key=order)
    assert sorted(in_rdflib, key=order) == sorted(EXPECTED[name][query], key=order)


def test_what_one_library_wrote_another_reads_without_gain_or_loss(story: tuple[str, Teller, Graphs]) -> None:
    _, told, both = story
    said = told.statements()
    now = told.current("2026-06-04")

    assert len(set(said)) == len(said)
    assert sum(1 for _ in both.dataset.quads()) == len(both.store) == len(said) + len(now)
    assert "_:" not in re.sub(r'"(?:[^"\\]|\\.)*"', "", both.text)
    turtle = ox.serialize((quad.triple for quad in quads(said)), format=ox.RdfFormat.TURTLE) or b""
    with as_written():
        again = rdflib.Graph().parse(data=turtle, format="turtle")
    assert set(again) == set(both.ledger)


def test_the_story_conforms_to_the_shapes(story: tuple[str, Teller, Graphs]) -> None:
    conforms, _, report = pyshacl.validate(story[2].ledger, shacl_graph=SHAPES, inference="none")
    assert conforms, report


def test_a_library_of_provenance_loads_the_story(story: tuple[str, Teller, Graphs]) -> None:
    ledger = story[2].ledger
    turtle = ledger.serialize(format="turtle")
    with pytest.warns(UserWarning, match="not converted") as warned:
        document = ProvDocument.deserialize(content=turtle, format="rdf", rdf_format="turtle")

    left_out = {name.split("/")[2] for each in warned for name in re.findall(r"'(urn:[^']+)': \[", str(each.message))}
    assert left_out == {"predicate", "type"}  # the terms of the schema, which are nothing that PROV knows
    assert len(document.unified().records) > len(versions_of(ledger))
    made = {record.args[0].localpart for record in document.records if type(record).__name__ == "ProvGeneration"}
    assert versions_of(ledger)
    assert [version for version in versions_of(ledger) if not version.endswith(tuple(made))] == []


def versions_of(ledger: rdflib.Graph) -> list[str]:
    return [str(each) for each in ledger.subjects(rdflib.RDF.type, rdflib.URIRef(VIG + "FactVersion"))]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_shapes_refuse(mutant: str) -> None:
    """Of the correction, in which the second version takes the place of the first."""
    told = passport(SqliteStore(":memory:"), correction=True)
    names = ids(told)
    ledger = Ledger(names["v1"].split("_")[1])
    first, second = NAMES.activity(ledger, 3), NAMES.activity(ledger, 5)
    v1, e1 = NAMES.of("fact", names["v1"].rsplit("/", 1)[1]), NAMES.of("episode", names["e1"].rsplit("/", 1)[1])
    claim = NAMES.of("claim", f"clm_{ledger}_3_1")
    names |= {
        "claim": claim, "first": first, "second": second, "made_v1": NAMES.event("g", v1),
        "ended_v1": NAMES.event("i", v1), "use_e1": NAMES.event("u", first, e1),
        "use_v1": NAMES.event("u", second, v1), "basis_v1": NAMES.event("d", v1, claim),
        "new": NAMES.of("q", "new"), "other": NAMES.of("q", "other"), "third": NAMES.of("q", "third"),
    }  # fmt: skip
    graph = graphs(told.statements()).ledger
    before = len(graph), set(graph)

    graph.update(PREFIXES + Template(MUTANTS[mutant]).substitute({name: f"<{iri}>" for name, iri in names.items()}))

    assert (len(graph), set(graph)) != before
    assert not pyshacl.validate(graph, shacl_graph=SHAPES, inference="none")[0]


def test_parsing_keeps_what_a_store_would_rewrite(story: tuple[str, Teller, Graphs]) -> None:
    quads = list(ox.parse(story[2].text, format=ox.RdfFormat.N_QUADS))
    times = [quad.object.value for quad in quads if "dateTime" in str(getattr(quad.object, "datatype", ""))]
    assert times
    assert [time for time in times if not time.endswith("Z")] == []
