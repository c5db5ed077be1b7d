"""`vigencia export rdf`: what a person gets who takes memory away, and that nothing of it is cut."""

import re
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from tests.e2e.command_line import CommandLine

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def loaded(text: str) -> ox.Store:
    store = ox.Store()
    store.load(text.encode(), format=ox.RdfFormat.N_QUADS)
    return store


def answers(store: ox.Store, query: str) -> list[list[str]]:
    found: Any = store.query(query)
    return sorted([row[name].value for name in found.variables] for row in found)


def test_a_scope_is_exported_with_its_provenance_and_counts_itself(tmp_path: Path) -> None:
    vigencia = CommandLine(tmp_path)
    vigencia("remember", "mira", "passport_deadline", "2026-07-15", "--valid-from", "2026-06-01")
    vigencia("remember", "ann", "note", "elsewhere", "--namespace", "team")
    done = vigencia("export", "rdf", "memory.nq", "--json")
    text = (tmp_path / "memory.nq").read_text()

    store = loaded(text)
    (counted,) = answers(store, "SELECT ?count { ?export <urn:vigencia:ns#statementCount> ?count }")
    (about,) = answers(store, "SELECT (COUNT(*) AS ?count) { ?export a <urn:vigencia:ns#Export> ; ?p ?o }")
    assert done.code == 0
    assert [str(done.document["statements"])] == counted
    assert len(text.splitlines()) == len(store) == int(counted[0]) + int(about[0])
    assert "statementCount" in text.splitlines()[-1]
    assert done.document["digest"].upper() in text
    assert "elsewhere" not in text
    assert "elsewhere" in vigencia("export", "rdf", "--namespace", "team").out


def test_two_exports_of_one_state_are_the_same_bytes(tmp_path: Path) -> None:
    vigencia = CommandLine(tmp_path)
    vigencia("remember", "mira", "likes", 'tea <"hot">\n')
    first = vigencia("export", "rdf", "--text", "--held").out
    assert first == vigencia("export", "rdf", "-", "--text", "--held").out
    assert len(first.splitlines()) == len(loaded(first))


def test_the_query_of_the_readme_answers_and_the_current_graph_is_plain(tmp_path: Path) -> None:
    vigencia = CommandLine(tmp_path)
    vigencia("remember", "mira", "likes", "tea", "--valid-from", "2020-01-01")
    store = loaded(vigencia("export", "rdf", "--current").out)
    (query,) = re.findall(r"```sparql\n(.*?)```", README, re.DOTALL)
    now = query.replace("2026-06-02T12:00:00Z", "9000-01-01T00:00:00Z")

    assert answers(store, query) == []  # nothing had been told yet
    assert answers(store, now) == [["mira", "urn:vigencia:t/default/predicate/likes", "tea"]]
    plain = answers(store, "SELECT ?p ?o { GRAPH <urn:vigencia:t/default/graph/current> { ?s ?p ?o } }")
    assert plain == [["urn:vigencia:t/default/predicate/likes", "tea"]]


def test_an_empty_scope_is_an_empty_file_and_a_summary_needs_a_file(tmp_path: Path) -> None:
    vigencia = CommandLine(tmp_path)
    assert vigencia("init").code == 0
    assert vigencia("export", "rdf", "--json").code != 0
    assert "name a file" in vigencia("export", "rdf", "--json").err
    assert vigencia("export", "rdf").code == 0
