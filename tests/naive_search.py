"""The index of a scope in plain lists: every text is looked at, and every fact, each time."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from graph.naming import ALIAS, NAME
from graph.searching import (
    Chunk,
    ChunkHit,
    FactHit,
    Model,
    Models,
    Statement,
    TextKey,
    Texts,
    ToIndex,
    Vector,
    text_key,
)
from graph.terms import trigrams, words
from ontology.episodes import Kept, RecordedEpisode
from ontology.errors import Incorrect
from ontology.facts import AsOf, Fact, FactVersion, Slot
from ontology.ids import EPISODE, EntityId, EpisodeId, locate
from ontology.instants import Instant
from ontology.scope import Scope
from ontology.values import ValueKey, entity_value, value_key

COUNTED_MAX = 10_000
Key = tuple[Slot, ValueKey]
Of = TypeVar("Of")
"""What a text is of."""


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A statement and its text, if it has one; `wants` is whether it wants another."""

    statement: Statement
    text: str | None
    wants: bool


@dataclass(kw_only=True)
class Index:
    """What a tenant has beside its ledger. Rows are immutable; a dictionary is changed only in a copy of the whole."""

    sentences: dict[Key, Sentence] = field(default_factory=dict)
    words: dict[EpisodeId, Kept] = field(default_factory=dict)
    """The recorded episodes that have words."""
    chunks: dict[EpisodeId, list[tuple[Chunk, str]]] = field(default_factory=dict)
    """Of those that are cut."""
    vectors: dict[tuple[str, TextKey], Vector] = field(default_factory=dict)
    serving: Model | None = None
    target: Model | None = None

    def copy(self) -> "Index":
        return Index(
            sentences=self.sentences.copy(), words=self.words.copy(), chunks=self.chunks.copy(),
            vectors=self.vectors.copy(), serving=self.serving, target=self.target,
        )  # fmt: skip

    def texts(self, scope: Scope | None) -> dict[TextKey, str]:
        """Those of a scope, or of all."""
        found = [each.text for (slot, _), each in self.sentences.items() if scope in (None, slot.scope)]
        found += [
            text for id, chunks in self.chunks.items() for _, text in chunks if scope in (None, self.words[id].scope)
        ]
        return {text_key(text): text for text in found if text is not None}

    def sweep(self) -> None:
        texts = self.texts(None)
        self.vectors = {key: vector for key, vector in self.vectors.items() if key[1] in texts}

    # ---- beside a commit

    def settle(self, versions: Sequence[FactVersion]) -> None:
        """Whatever was opened has a statement, and what is gone has none."""
        known = self.sentences
        stated = {(v.slot, v.value_key): v.value for v in versions}
        self.sentences = {
            (slot, key): known.get((slot, key))
            or Sentence(statement=Statement(slot=slot, value=value, value_key=key), text=None, wants=True)
            for (slot, key), value in stated.items()
        }
        self.sweep()

    def lose(self, episodes: Iterable[str]) -> None:
        """Their words are gone."""
        gone = set(episodes)
        self.words = {id: kept for id, kept in self.words.items() if id not in gone}
        self.chunks = {id: chunks for id, chunks in self.chunks.items() if id not in gone}

    def renamed(self, versions: Iterable[FactVersion]) -> None:
        for version in versions:
            if version.slot.predicate in (NAME, ALIAS):
                self._rewrite(version.slot.subject, lambda each: replace(each, wants=True), version.slot.scope)

    def relabelled(self, predicates: Collection[str]) -> None:
        self.sentences = {
            (slot, key): replace(each, wants=True) if slot.predicate in predicates else each
            for (slot, key), each in self.sentences.items()
        }

    def unnamed(self, subject: EntityId, predicate: str | None) -> None:
        if predicate in (None, NAME, ALIAS):
            self._rewrite(subject, lambda each: replace(each, wants=True, text=None), None)

    def _rewrite(self, named: EntityId, change: Callable[[Sentence], Sentence], scope: Scope | None) -> None:
        pointing = value_key(entity_value(named))
        self.sentences = {
            (slot, key): change(each)
            if named == slot.subject or (key == pointing and scope in (None, slot.scope))
            else each
            for (slot, key), each in self.sentences.items()
        }


class NaiveSearchReads:
    """The part of a reader that searches."""

    _scope: Scope

    def _index(self) -> Index:
        raise NotImplementedError

    def _hits(self, slot: Slot, value: ValueKey, as_of: AsOf, *, history: bool) -> list[Fact]:
        """The facts of a statement that are served."""
        raise NotImplementedError

    def recorded_episode(self, id: EpisodeId) -> RecordedEpisode:
        raise NotImplementedError

    def to_index(self, model: str | None) -> ToIndex:
        texts = 0 if model is None else len(self.unembedded(model, limit=COUNTED_MAX))
        return ToIndex(
            statements=len(self.unwritten(limit=COUNTED_MAX)), episodes=len(self.uncut(limit=COUNTED_MAX)), texts=texts
        )

    def models(self) -> Models:
        return Models(serving=self._index().serving, target=self._index().target)

    def unwritten(self, *, limit: int) -> list[Statement]:
        return [each.statement for each in self._sentences() if each.wants][:limit]

    def uncut(self, *, limit: int) -> list[EpisodeId]:
        index = self._index()
        mine = [id for id, kept in index.words.items() if kept.scope == self._scope and id not in index.chunks]
        return sorted(mine, key=lambda id: (locate(id, EPISODE).position, locate(id, EPISODE).ordinal))[:limit]

    def unembedded(self, model: str, *, limit: int) -> list[tuple[TextKey, str]]:
        index = self._index()
        texts = sorted(index.texts(self._scope).items())
        return [(key, text) for key, text in texts if (model, key) not in index.vectors][:limit]

    def term_counts(self, texts: Texts, terms: Sequence[str], *, ceiling: int) -> tuple[int, Mapping[str, int]]:
        if texts is Texts.SENTENCES:
            found = [set(words(each.text)) for each in self._sentences() if each.text is not None]
        else:
            found = [set(words(text)) for _, text in self._chunks()]
        return len(found), {term: min(ceiling, sum(term in text for text in found)) for term in terms}

    def match_facts(
        self, terms: Sequence[str], as_of: AsOf, *, predicates: Collection[str] | None, history: bool, limit: int
    ) -> list[FactHit]:
        texts = {key: each.text or "" for key, each in self._written().items()}
        return self._best(_bm25(terms, texts), as_of, predicates, history, limit)

    def match_names(self, text: str, as_of: AsOf, *, limit: int) -> list[FactHit]:
        asked = set(trigrams(text))
        scores = {}
        for key, each in self._written().items():
            grams = trigrams(each.statement.value.text) if each.statement.slot.predicate in (NAME, ALIAS) else []
            shared = asked.intersection(grams)
            if shared:
                scores[key] = len(shared) / len(grams)
        return self._best(scores, as_of, None, False, limit)

    def match_chunks(self, terms: Sequence[str], known_at: Instant, *, limit: int) -> list[ChunkHit]:
        texts = {(chunk.episode, chunk.number): text for chunk, text in self._chunks()}
        return self._found(_bm25(terms, texts), known_at, limit)

    def near_facts(
        self, vector: Vector, model: str, as_of: AsOf, *,
        predicates: Collection[str] | None, history: bool, limit: int,
    ) -> list[FactHit]:  # fmt: skip
        texts = {key: each.text or "" for key, each in self._written().items()}
        return self._best(self._near(vector, model, texts), as_of, predicates, history, limit)

    def near_chunks(self, vector: Vector, model: str, known_at: Instant, *, limit: int) -> list[ChunkHit]:
        texts = {(chunk.episode, chunk.number): text for chunk, text in self._chunks()}
        return self._found(self._near(vector, model, texts), known_at, limit)

    # ---- what these are made of

    def _sentences(self) -> list[Sentence]:
        return [each for (slot, _), each in self._index().sentences.items() if slot.scope == self._scope]

    def _written(self) -> dict[Key, Sentence]:
        written = [each for each in self._sentences() if each.text is not None]
        return {(each.statement.slot, each.statement.value_key): each for each in written}

    def _chunks(self) -> list[tuple[Chunk, str]]:
        index = self._index()
        mine = [chunks for id, chunks in index.chunks.items() if index.words[id].scope == self._scope]
        return [each for chunks in mine for each in chunks]

    def _near(self, vector: Vector, model: str, texts: Mapping[Of, str]) -> dict[Of, float]:
        index = self._index()
        known = next((each for each in (index.serving, index.target) if each and each.name == model), None)
        if known is None:
            return {}
        check(known, vector)
        keys = {key: (model, text_key(text)) for key, text in texts.items()}
        return {key: float(index.vectors[of] @ vector) for key, of in keys.items() if of in index.vectors}

    def _best(
        self,
        scores: Mapping[Key, float],
        as_of: AsOf,
        predicates: Collection[str] | None,
        history: bool,
        limit: int,
    ) -> list[FactHit]:
        hits = [
            FactHit(fact=fact, score=scores[key])
            for key in self._written()
            if key in scores and (predicates is None or key[0].predicate in predicates)
            for fact in self._hits(*key, as_of, history=history)
        ]

        def order(hit: FactHit) -> tuple[float, int, int, int]:
            version = hit.fact.version
            return -hit.score, -version.recorded_from, version.position, version.ordinal

        return sorted(hits, key=order)[:limit]

    def _found(self, scores: Mapping[tuple[EpisodeId, int], float], known_at: Instant, limit: int) -> list[ChunkHit]:
        hits = [
            ChunkHit(
                chunk=chunk, text=text, score=scores[chunk.episode, chunk.number],
                episode=self.recorded_episode(chunk.episode),
            )
            for chunk, text in self._chunks()
            if (chunk.episode, chunk.number) in scores
        ]  # fmt: skip

        def order(hit: ChunkHit) -> tuple[float, int, int, int]:
            place = locate(hit.chunk.episode, EPISODE)
            return -hit.score, -place.position, -place.ordinal, hit.chunk.number

        return sorted((hit for hit in hits if hit.episode.recorded_at <= known_at), key=order)[:limit]


class NaiveSearchTransaction:
    """The part of a transaction that indexes."""

    _scope: Scope

    def _index(self) -> Index:
        raise NotImplementedError

    def write_sentences(self, sentences: Sequence[tuple[Statement, str]]) -> None:
        index = self._index()
        for statement, text in sentences:
            key = (statement.slot, statement.value_key)
            if key in index.sentences and statement.slot.scope == self._scope:
                index.sentences[key] = Sentence(statement=index.sentences[key].statement, text=text, wants=False)
        index.sweep()

    def write_chunks(self, episode: EpisodeId, chunks: Sequence[tuple[Chunk, str]]) -> None:
        index = self._index()
        if episode in index.words and index.words[episode].scope == self._scope:
            index.chunks[episode] = list(chunks)
            index.sweep()

    def write_vectors(self, model: str, vectors: Sequence[tuple[TextKey, Vector]]) -> None:
        index = self._index()
        known = self._model(model)
        for key, vector in vectors:
            check(known, vector)
            index.vectors[model, key] = vector
        index.sweep()

    def begin_model(self, model: Model) -> None:
        index = self._index()
        for known in (index.serving, index.target):
            if known is not None and known.name == model.name and known != model:
                raise Incorrect(f"model {model.name!r} has {known.dimensions} dimensions, not {model.dimensions}")
        if index.target not in (None, model):
            index.vectors = {key: vector for key, vector in index.vectors.items() if key[0] != index.target.name}
            index.target = None
        if index.serving is None:
            index.serving = model
        elif index.serving != model:
            index.target = model

    def serve_model(self, name: str) -> None:
        index = self._index()
        known = self._model(name)
        if known != index.serving:
            index.vectors = {key: vector for key, vector in index.vectors.items() if key[0] == name}
            index.serving, index.target = known, None

    def unindex(self) -> None:
        index = self._index()
        index.sentences = {
            key: replace(each, text=None, wants=True) if key[0].scope == self._scope else each
            for key, each in index.sentences.items()
        }
        index.chunks = {id: of for id, of in index.chunks.items() if index.words[id].scope != self._scope}
        index.sweep()

    def _model(self, name: str) -> Model:
        for known in (self._index().serving, self._index().target):
            if known is not None and known.name == name:
                return known
        raise Incorrect(f"no model {name!r} was begun")


def wants_index(index: Index, scope: Scope, model: str | None) -> bool:
    """Whether a scope has something that is not indexed yet."""
    cut = all(id in index.chunks for id, kept in index.words.items() if kept.scope == scope)
    wanting = any(each.wants for (slot, _), each in index.sentences.items() if slot.scope == scope)
    return (
        wanting or not cut or (model is not None and any((model, k) not in index.vectors for k in index.texts(scope)))
    )


def check(model: Model, vector: Vector) -> None:
    if vector.shape != (model.dimensions,):
        raise Incorrect(f"model {model.name!r} has {model.dimensions} dimensions, got {vector.shape}")


def _bm25(terms: Collection[str], texts: Mapping[Of, str]) -> dict[Of, float]:
    """Robertson and Zaragoza 2009, with k1 = 1.2 and b = 0.75, of the texts that have one of the terms."""
    counted = {key: Counter(words(text)) for key, text in texts.items()}
    mean = sum(counts.total() for counts in counted.values()) / max(1, len(counted))
    scores: dict[Of, float] = {}
    for term in set(terms):
        having = {key: counts for key, counts in counted.items() if term in counts}
        weight = math.log(1 + (len(counted) - len(having) + 0.5) / (len(having) + 0.5))
        for key, counts in having.items():
            part = counts[term] * 2.2 / (counts[term] + 1.2 * (0.25 + 0.75 * counts.total() / mean))
            scores[key] = scores.get(key, 0.0) + weight * part
    return scores
