"""A world that is indexed as a server does it, with the small words in which the tests of searching speak."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from consolidation.episodes import NewEpisode, Recorder
from graph.naming import names_of
from graph.searching import Chunk, ChunkHit, FactHit, Statement, TextKey, Vector, text_key
from graph.sentences import searched
from graph.terms import terms
from ontology.facts import AsOf
from ontology.ids import EntityId, EpisodeId
from ontology.instants import SECOND, Instant, parse_instant
from ontology.scope import Scope
from ontology.values import ValueType
from tests.conftest import SeededRandomness
from tests.contract.world import CORE, SCOPE, World

FAR: Final = parse_instant("2100-01-01")
MODEL: Final = "hashing"
DIMENSIONS: Final = 8
MANY: Final = 1000
CHUNK_CHARS: Final = 22


class Searched:
    """A world with what indexes it. `index` writes all that is to be written."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.store = world.store
        self.recorder = Recorder(store=world.store, clock=world.clock, randomness=SeededRandomness(3))

    def record(self, *texts: str, scope: Scope = SCOPE) -> list[EpisodeId]:
        receipt: Any = self.recorder.record(scope, "tester", [NewEpisode(text=text) for text in texts]).receipt
        self.world.clock.advance(SECOND)
        return [EpisodeId(item["episode"]) for item in receipt["items"]]

    def index(self, *, scope: Scope = SCOPE, at_once: int = 7) -> None:
        while self._write_some(scope, at_once):
            pass

    def embed(self, model: str = MODEL, *, scope: Scope = SCOPE, at_once: int = 7) -> None:
        """Make the vectors of a model that was begun."""
        while True:
            with self.store.read(scope) as reader:
                texts = reader.unembedded(model, limit=at_once)
            if not texts:
                return
            with self.store.write(scope) as tx:
                tx.write_vectors(model, [(key, embedded(text)) for key, text in texts])

    def as_of(self, valid_at: str | Instant = FAR, known_at: Instant | None = None, scope: Scope = SCOPE) -> AsOf:
        known = self.world.now(scope) if known_at is None else known_at
        return AsOf(valid_at=parse_instant(valid_at) if isinstance(valid_at, str) else valid_at, known_at=known)

    def match(
        self, text: str, as_of: AsOf | None = None, *, scope: Scope = SCOPE, predicates: Iterable[str] | None = None,
        history: bool = False, limit: int = MANY,
    ) -> list[FactHit]:  # fmt: skip
        named = None if predicates is None else frozenset(predicates)
        asked = as_of or self.as_of(scope=scope)
        with self.store.read(scope) as reader:
            return reader.match_facts(terms(text), asked, predicates=named, history=history, limit=limit)

    def names(self, text: str, as_of: AsOf | None = None, *, scope: Scope = SCOPE, limit: int = MANY) -> list[FactHit]:
        with self.store.read(scope) as reader:
            return reader.match_names(text, as_of or self.as_of(scope=scope), limit=limit)

    def near(
        self, text: str, as_of: AsOf | None = None, *, scope: Scope = SCOPE, predicates: Iterable[str] | None = None,
        history: bool = False, limit: int = MANY, model: str = MODEL,
    ) -> list[FactHit]:  # fmt: skip
        named = None if predicates is None else frozenset(predicates)
        asked, vector = as_of or self.as_of(scope=scope), embedded(text)
        with self.store.read(scope) as reader:
            return reader.near_facts(vector, model, asked, predicates=named, history=history, limit=limit)

    def chunks(
        self, text: str, known_at: Instant = FAR, *, scope: Scope = SCOPE, limit: int = MANY
    ) -> list[ChunkHit]:  # fmt: skip
        with self.store.read(scope) as reader:
            return reader.match_chunks(terms(text), known_at, limit=limit)

    def near_chunks(self, text: str, known_at: Instant = FAR, *, scope: Scope = SCOPE) -> list[ChunkHit]:
        with self.store.read(scope) as reader:
            return reader.near_chunks(embedded(text), MODEL, known_at, limit=MANY)

    def _write_some(self, scope: Scope, limit: int) -> bool:
        with self.store.read(scope) as reader:
            statements, episodes = reader.unwritten(limit=limit), reader.uncut(limit=limit)
            now = AsOf(valid_at=FAR, known_at=reader.head.recorded_at)
            names = names_of(reader, ends_of(statements), now)
            bodies = [(id, reader.recorded_episode(id).verbatim) for id in episodes]
        with self.store.write(scope) as tx:
            tx.write_sentences([(each, searched(each, names, CORE)) for each in statements])
            for id, verbatim in bodies:
                body = "" if verbatim is None or not isinstance(verbatim.body, str) else verbatim.body
                tx.write_chunks(id, cut(id, body))
        return bool(statements or episodes)


def ends_of(statements: Sequence[Statement]) -> list[EntityId]:
    pointed = [EntityId(each.value.text) for each in statements if each.value.type is ValueType.ENTITY]
    return [each.slot.subject for each in statements] + pointed


def cut(id: EpisodeId, text: str) -> list[tuple[Chunk, str]]:
    starts = range(0, len(text), CHUNK_CHARS)
    parts = [(start, text[start : start + CHUNK_CHARS]) for start in starts]
    return [
        (Chunk(episode=id, number=number, turn=None, start=start, end=start + len(part)), part)
        for number, (start, part) in enumerate(parts)
    ]


def embedded(text: str) -> Vector:
    """The same for the same words in any order; of no word, all zeros."""
    total = np.zeros(DIMENSIONS, dtype=np.float32)
    for word in terms(text):
        seed = int.from_bytes(text_key(word)[:8], "big")
        total += np.random.default_rng(seed).normal(size=DIMENSIONS).astype(np.float32)
    length = float(np.linalg.norm(total))
    return total / np.float32(length) if length else total


def found(hits: Sequence[FactHit]) -> list[str]:
    """The values of what was found, best first."""
    return [hit.fact.version.value.text for hit in hits]


def keyed(text: str) -> TextKey:
    return text_key(text)
