"""How an export is written: as N-Quads, a line for each statement, by a library that checks each name as it goes.

Reading goes on while it writes, in one snapshot, so no more is in memory than a commit. The manifest comes last.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol

import pyoxigraph as ox

from graph.export import Included, current, statements
from graph.ports import Reader
from ontology.facts import AsOf
from ontology.instants import Instant
from ontology.rdf_manifest import Manifest, manifest
from ontology.rdf_terms import RDF, Iri, Literal, Names, Statement, Term
from ontology.schema import Schema

STATEMENTS_PER_REPORT: Final = 10_000
_LANGUAGE_STRING: Final = RDF + "langString"
_DEFAULT: Final = ox.DefaultGraph()


class Stream(Protocol):
    """Where bytes go."""

    def write(self, data: bytes, /) -> object: ...


class Progress(Protocol):
    def __call__(self, statements: int, /) -> object: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written: up to which commit, and how many statements beside those of the manifest."""

    position: int
    digest: bytes
    statements: int


def export_n_quads(
    reader: Reader, stream: Stream, *, names: Names, included: Included, core: Schema, now: Instant | None,
    progress: Progress = lambda _: None,
) -> Exported:  # fmt: skip
    """Write what a scope holds, and with `now` also the graph of what holds then as the newest commit knows it."""
    head, count = reader.head, 0
    graph = None if now is None or head.ledger is None else names.of("graph", "current")

    def counted() -> Iterator[ox.Quad]:
        nonlocal count
        for said in statements(reader, names, included, core):
            count += 1
            if count % STATEMENTS_PER_REPORT == 0:
                progress(count)
            yield _quad(said, _DEFAULT)
        if now is not None and graph is not None:
            reader.serve(head.recorded_at, now)
            as_of = AsOf(valid_at=now, known_at=head.recorded_at)
            yield from (_quad(said, ox.NamedNode(graph)) for said in current(reader, names, as_of))
        if head.ledger is not None:
            yield from _about(names, reader, included, graph, count)

    ox.serialize(counted(), stream, format=ox.RdfFormat.N_QUADS)  # type: ignore[arg-type]  # any writer will do
    progress(count)
    return Exported(position=head.position, digest=head.digest, statements=count)


def _about(names: Names, reader: Reader, included: Included, graph: Iri | None, count: int) -> Iterable[ox.Quad]:
    head = reader.head
    of = Manifest(
        scope=reader.scope, position=head.position, recorded_at=head.recorded_at, digest=head.digest,
        words=included.words, held=included.held, statements=count, current=graph,
    )  # fmt: skip
    return (_quad(said, _DEFAULT) for said in manifest(names, of))


def _quad(said: Statement, graph: ox.NamedNode | ox.DefaultGraph) -> ox.Quad:
    return ox.Quad(ox.NamedNode(said.subject), _named(said.predicate), _term(said.object), graph)


@lru_cache(maxsize=4096)
def _named(iri: Iri) -> ox.NamedNode:
    """Predicates and datatypes are few."""
    return ox.NamedNode(iri)


def _term(term: Term) -> ox.NamedNode | ox.Literal:
    if not isinstance(term, Literal):
        return ox.NamedNode(term)
    if term.datatype == _LANGUAGE_STRING:
        return ox.Literal(term.text, language=term.language)
    return ox.Literal(term.text, datatype=_named(term.datatype))
