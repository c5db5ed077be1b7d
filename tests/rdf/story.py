"""Stories told through the real writer, and what is read from them as RDF by libraries that nobody here wrote."""

import logging
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pyoxigraph as ox
import rdflib

from consolidation.episodes import NewEpisode, Recorder
from consolidation.items import Assert, Item, Quoted, Replace, Said
from consolidation.write import Writer
from graph.export import Included, current, statements
from graph.ports import MemoryStore
from ontology.facts import AsOf
from ontology.instants import parse_instant
from ontology.packs import load_core
from ontology.rdf_terms import Iri, Literal, Statement, Term, names_of
from ontology.schema_document import pack_from_document
from ontology.scope import Scope, scope_of
from tests.conftest import FrozenClock, SeededRandomness

SCOPE: Final = scope_of("acme")
NAMES: Final = names_of(SCOPE.tenant)
CORE: Final = load_core()
ALL: Final = Included(words=True, held=True)
LANGUAGE_STRING: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
CURRENT: Final = NAMES.of("graph", "current")

FIRST_WORDS: Final = "I prefer concise answers. My passport deadline is 2026-07-15."
CHANGED: Final = "The passport deadline is now 2026-06-30."
CORRECTED: Final = "Correction: the passport deadline is 2026-06-30, not 2026-07-15."


class Teller:
    """A store behind the writer and the recorder, whose clock is set to what the story says."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.clock = FrozenClock()
        self.writer = Writer(store=store, clock=self.clock, randomness=SeededRandomness(), core=CORE)
        self.recorder = Recorder(store=store, clock=self.clock, randomness=SeededRandomness(1))

    def at(self, text: str) -> "Teller":
        self.clock.reading = parse_instant(text)
        return self

    def record(self, text: str, said_at: str, source: str = "mira") -> str:
        new = NewEpisode(text=text, observed_at=said_at, source=source)
        receipt: Any = self.recorder.record(SCOPE, "server", [new]).receipt
        return str(receipt["items"][0]["episode"])

    def write(self, *items: Item, scope: Scope = SCOPE, by: str = "consolidator") -> Any:
        return self.writer.write(scope, by, items).receipt

    def statements(self, included: Included = ALL, scope: Scope = SCOPE) -> list[Statement]:
        with self.store.read(scope) as reader:
            return list(statements(reader, names_of(scope.tenant), included, CORE))

    def current(self, at: str) -> list[Statement]:
        instant = parse_instant(at)
        with self.store.read(SCOPE) as reader:
            return list(current(reader, NAMES, AsOf(valid_at=instant, known_at=instant)))


def said(episode: str, words: str, quote: str, at: str, confidence: float, **more: Any) -> Said:
    """What was read from an episode, with the words that say so."""
    start = words.index(quote)
    quoted = Quoted(turn=None, start=start, end=start + len(quote), text=quote)
    return Said(episode=episode, quote=quoted, observed_at=at, source="mira", confidence=confidence, **more)


def passport(store: MemoryStore, *, correction: bool) -> Teller:
    """Mira says when her passport runs out, and later another day: since it changed, or since she was wrong."""
    told, mira = Teller(store), {"key": "mira"}
    told.at("2026-05-31").writer.put_schema(
        SCOPE, "server", pack_from_document(
            {"pack": "travel", "predicates": {"passport_deadline": {"datatype": "date", "cardinality": "functional"}}}
        ),
    )  # fmt: skip
    first, second = "2026-06-01T09:00:00Z", "2026-06-03T10:00:00Z"
    one = told.at("2026-06-01T09:00:01Z").record(FIRST_WORDS, first)
    told.at("2026-06-01T09:00:05Z").write(
        Assert(subject=mira, predicate="prefers", value="concise answers",
               said=said(one, FIRST_WORDS, "I prefer concise answers.", first, 0.9, valid_from=first)),
        Assert(subject=mira, predicate="passport_deadline", value="2026-07-15",
               said=said(one, FIRST_WORDS, "My passport deadline is 2026-07-15.", first, 0.95, valid_from=first)),
    )  # fmt: skip
    words = CORRECTED if correction else CHANGED
    two = told.at("2026-06-03T10:00:01Z").record(words, second)
    told.at("2026-06-03T10:00:05Z")
    if correction:
        quote = said(two, words, "the passport deadline is 2026-06-30", second, 0.97)
        told.write(Replace(subject=mira, predicate="passport_deadline", old="2026-07-15", at=first, value="2026-06-30",
                           said=quote, reason="wrong"))  # fmt: skip
    else:
        quote = said(two, words, words, second, 0.97, valid_from=second)
        told.write(Assert(subject=mira, predicate="passport_deadline", value="2026-06-30", said=quote))
    return told


@dataclass(frozen=True, slots=True)
class Graphs:
    """The same statements in both libraries, read back from what pyoxigraph wrote."""

    text: str
    dataset: rdflib.Dataset
    store: ox.Store

    @property
    def ledger(self) -> rdflib.Graph:
        """The default graph alone, as tools take it that know one graph."""
        graph = rdflib.Graph()
        for triple in self.dataset.default_graph:
            graph.add(triple)
        return graph


def graphs(ledger: Iterable[Statement], now: Iterable[Statement] = ()) -> Graphs:
    text = n_quads([*quads(ledger), *quads(now, CURRENT)])
    dataset, store = rdflib.Dataset(), ox.Store()
    with as_written():
        dataset.parse(data=text, format="nquads")
    store.load(text.encode(), format=ox.RdfFormat.N_QUADS)
    return Graphs(text, dataset, store)


@contextmanager
def as_written() -> Iterator[None]:
    """rdflib rewrites `0.90` as it parses, unless told not to; pyshacl turns that on again, for the whole process."""
    before, rdflib.NORMALIZE_LITERALS = rdflib.NORMALIZE_LITERALS, False
    logger = logging.getLogger("rdflib.term")  # which tells of each time out of Python's reach, with a traceback
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # rdflib calls what it has deprecated
            yield
    finally:
        rdflib.NORMALIZE_LITERALS = before
        logger.setLevel(level)


def n_quads(quads: Iterable[ox.Quad]) -> str:
    written = ox.serialize(list(quads), format=ox.RdfFormat.N_QUADS)
    assert written is not None
    return written.decode()


def quads(said: Iterable[Statement], graph: Iri | None = None) -> Iterator[ox.Quad]:
    where = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
    for subject, predicate, object in said:
        yield ox.Quad(ox.NamedNode(subject), ox.NamedNode(predicate), of_oxigraph(object), where)


def of_oxigraph(term: Term) -> ox.NamedNode | ox.Literal:
    if not isinstance(term, Literal):
        return ox.NamedNode(term)
    if term.datatype == LANGUAGE_STRING:
        return ox.Literal(term.text, language=term.language)
    return ox.Literal(term.text, datatype=ox.NamedNode(term.datatype))
