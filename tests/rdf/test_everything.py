"""A ledger with everything in it: nothing of it is lost as RDF, nothing is there that should not be."""

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Final

import pyoxigraph as ox
import pyshacl
import pytest
import rdflib

from consolidation.forgetting.forgetter import each_tombstone
from graph.export import Included
from graph.ledger import KINDS
from graph.sqlite_store.store import SqliteStore
from ontology import rdf_schema
from ontology.claims import Lifecycle, Trust
from ontology.lineage import Part, Reason, Supersession
from ontology.rdf_manifest import Manifest, manifest
from ontology.rdf_terms import VIG, Statement, number, octets, vig
from ontology.rdf_tombstones import erased
from ontology.tombstones import Tombstone
from tests.rdf.everything import HEALTH, MARKER, TEAM, Everything, everything
from tests.rdf.reading import Back, comparable
from tests.rdf.story import CORE, NAMES, SCOPE, Graphs, graphs, n_quads, quads
from tests.rdf.test_passport import SHAPES

PUBLIC: Final = Included(words=False, held=False)
VOCABULARY: Final = rdflib.Graph().parse(
    data=(resources.files("ontology") / "vocabulary.ttl").read_text(), format="ttl"
)
SCOPED: Final = {
    "claim": slice(1, 3), "version": slice(1, 3), "support": slice(0, 2), "kept": slice(1, 3), "entity": slice(1, 2),
    "record": slice(1, 3),
}  # fmt: skip
"""Where the rows of a kind name their scope, of which there are some of other scopes here."""


@pytest.fixture(scope="module")
def told() -> Iterator[Everything]:
    told = everything(SqliteStore(":memory:"))
    yield told
    told.store.close()


@pytest.fixture(scope="module")
def both(told: Everything) -> Graphs:
    return graphs(told.statements())


@pytest.mark.parametrize("kind", KINDS)
def test_every_column_of_every_row_can_be_read_back(told: Everything, both: Graphs, kind: str) -> None:
    rows = [row for each, row in told.store.ledger(SCOPE.tenant) if each == kind]
    if kind in SCOPED:
        rows = [row for row in rows if {*row[SCOPED[kind]]} <= {SCOPE.namespace, SCOPE.purpose}]
    if kind == "episode":
        rows = [row for row in rows if row[0] != "shared-1"]  # another scope was the first to cite it
    if kind == "transition":
        mine = {row[0] for row in Back(ox.parse(both.text, format=ox.RdfFormat.N_QUADS)).rows("claim")}
        rows = [row for row in rows if row[0] in mine]

    found = Back(ox.parse(both.text, format=ox.RdfFormat.N_QUADS)).rows(kind)

    assert rows
    assert sorted(map(str, found)) == sorted(map(str, comparable(kind, rows)))


def test_two_libraries_read_what_was_said_and_nothing_else(told: Everything, both: Graphs) -> None:
    said = told.statements()
    assert len(set(said)) == len(said) == len(both.store)
    assert sum(1 for _ in both.dataset.quads()) == len(said)
    assert set(ox.parse(both.text, format=ox.RdfFormat.N_QUADS)) == set(quads(said))


def test_everything_conforms_to_the_shapes() -> None:
    """In the years 1 to 9999, which are those that the validator knows."""
    told = everything(SqliteStore(":memory:"), remote=False)
    ledger = graphs(told.statements()).ledger
    conforms, _, report = pyshacl.validate(ledger, shacl_graph=SHAPES, inference="none")
    assert conforms, report


def test_of_what_was_forgotten_there_are_names_and_no_words(told: Everything, both: Graphs) -> None:
    gone = {
        iri
        for stone in _stones(told)
        for iri in erased(NAMES, stone)
        if iri.rsplit("/", 2)[1] in ("entity", "episode", "claim", "fact")
    }
    forgotten = {str(node) for node in both.ledger.subjects(rdflib.RDF.type, rdflib.URIRef(VIG + "Forgotten"))}

    assert MARKER not in both.text
    assert forgotten == gone
    assert {iri.rsplit("/", 2)[1] for iri in gone} == {"entity", "episode", "claim", "fact"}


def test_without_a_grant_there_are_no_words_no_hashes_of_them_and_nothing_that_waits(told: Everything) -> None:
    said = told.statements(PUBLIC)
    predicates = {each.predicate for each in said}
    states = {str(each.object) for each in said if each.predicate == VIG + "state"}
    text = n_quads(quads(said))

    assert set(said) <= set(told.statements())
    assert predicates.isdisjoint(f"{VIG}{name}" for name in ("contentHash", "sha256", "summary", "quotedBy"))
    assert "http://www.w3.org/ns/prov#value" not in predicates
    assert not any(city in text for city in ("Atlantis", "Utopia"))
    assert "Turin" in text  # a reviewer let it in
    assert f"{VIG}Rejected" not in states


def test_nothing_refers_to_what_is_not_there(told: Everything) -> None:
    """Whatever is included. What a reader does not see nothing else names."""
    for included in (PUBLIC, Included(words=True, held=True), Included(words=True, held=False)):
        said = told.statements(included)
        there = {each.subject for each in said}
        referred = {each.object for each in said if isinstance(each.object, str)}
        ours = {iri for iri in referred if iri.startswith(NAMES.whole)}
        assert sorted(ours - there) == []


def test_other_scopes_do_not_show(told: Everything, both: Graphs) -> None:
    assert "of another purpose" not in both.text
    for scope in (HEALTH, TEAM):
        others = n_quads(quads(told.statements(scope=scope)))
        assert "of another" in others
        assert "Oslo" not in others
    (shared,) = {line for line in n_quads(quads(told.statements(scope=TEAM))).splitlines() if '"shared-1"' in line}
    assert shared in both.text


def test_the_vocabulary_has_every_term_and_no_other(both: Graphs) -> None:
    used = {term for triple in both.ledger for term in triple if str(term).startswith(VIG)}
    terms = {term for term in VOCABULARY.subjects() if str(term).startswith(VIG) and str(term) != VIG}
    source = "".join(path.read_text() for path in Path(str(resources.files("ontology"))).glob("rdf*.py"))
    words = {each.word for each in Trust} | {
        each.value for kind in (Lifecycle, Supersession, Reason, Part) for each in kind
    }
    known = {rdflib.URIRef(vig(word[0].upper() + word[1:])) for word in words}
    written = {term for term in terms if f'"{str(term).removeprefix(VIG)}"' in source}
    types = {VOCABULARY.value(term, rdflib.RDF.type) for term in terms}

    assert used - terms == set()
    assert known - terms == set()
    assert terms - known - written - types - used == set()
    for term in terms:
        for meaning in ("label", "comment", "isDefinedBy"):
            assert VOCABULARY.value(term, rdflib.RDFS[meaning]) is not None, (term, meaning)


@pytest.mark.parametrize(("side", "end"), [("domain", 0), ("range", 2)])
def test_what_has_a_property_is_of_its_domain_and_range(both: Graphs, side: str, end: int) -> None:
    ledger = both.ledger + VOCABULARY
    wrong = []
    for triple in both.ledger:
        wanted = VOCABULARY.value(triple[1], rdflib.RDFS[side])
        if wanted is None:
            continue
        term = triple[end]
        if isinstance(term, rdflib.Literal):
            fits = wanted == (term.datatype or rdflib.XSD.string)
        else:
            types = {above for each in ledger.objects(term, rdflib.RDF.type)
                     for above in ledger.transitive_objects(each, rdflib.RDFS.subClassOf)}  # fmt: skip
            fits = wanted in types
        if not fits:
            wrong.append((triple, wanted))
    assert wrong == []


def test_the_shapes_of_a_schema_check_what_holds_now(told: Everything) -> None:
    with told.store.read(SCOPE) as reader:
        schema = reader.schema() or CORE
    shapes = graphs(rdf_schema.shapes(NAMES, schema)).ledger
    now = told.current("2026-06-04")
    fits, another = graphs(now).ledger, graphs([*now, *_second_home(told, now)]).ledger

    assert len(shapes) > 0
    assert pyshacl.validate(fits, shacl_graph=shapes, inference="none")[0]
    assert not pyshacl.validate(another, shacl_graph=shapes, inference="none")[0]


def _second_home(told: Everything, now: list[Statement]) -> Iterator[Statement]:
    home = next(each for each in now if each.predicate == NAMES.predicate("lives_in"))
    other = next(each.object for each in now if each.object != home.object and not isinstance(each.object, str))
    yield Statement(home.subject, home.predicate, other)


def _stones(told: Everything) -> Iterator[Tombstone]:
    with told.store.read(SCOPE) as reader:
        yield from each_tombstone(reader)


def test_a_manifest_says_what_an_export_holds_and_has_the_terms_of_the_vocabulary(told: Everything) -> None:
    with told.store.read(SCOPE) as reader:
        head = reader.head
    of = Manifest(
        scope=SCOPE, position=head.position, recorded_at=head.recorded_at, digest=head.digest, words=True, held=False,
        statements=7, current=NAMES.of("graph", "current"),
    )  # fmt: skip
    said = {each.predicate: each.object for each in manifest(NAMES, of)}

    assert said[vig("digest")] == octets(head.digest)
    assert said[vig("statementCount")] == number(7)
    for predicate in said:
        if predicate.startswith(VIG):
            assert VOCABULARY.value(rdflib.URIRef(predicate), rdflib.RDFS.comment) is not None
