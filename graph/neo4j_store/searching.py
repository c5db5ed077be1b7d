"""What a snapshot finds by words and by meaning: the store's `SearchReader`.

An index of the server gives candidates, each a statement or a chunk of the scope with a score; which facts stand for it
at the two instants is asked by an exact index afterwards, and more candidates are asked for until there are enough.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from graph import decoding
from graph.neo4j_store import keys
from graph.neo4j_store.codec import Row, key
from graph.neo4j_store.database import ServerFailed
from graph.neo4j_store.episodes import EpisodeReads
from graph.neo4j_store.facts import FactReads
from graph.neo4j_store.snapshot import Run
from graph.neo4j_store.vectors import Sides, sides, unfiltered
from graph.ports import Order
from graph.searching import (
    TEXTS_COUNTED_MAX,
    Chunk,
    ChunkHit,
    FactHit,
    Models,
    Statement,
    TextKey,
    Texts,
    ToIndex,
    Vector,
)  # fmt: skip
from graph.terms import trigrams, words
from ontology.episodes import RecordedEpisode, has_words
from ontology.errors import Incorrect
from ontology.facts import AsOf
from ontology.ids import EPISODE, EpisodeId, Place, episode_id
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.values import Value, ValueType

_COUNTED: Final = 10_000
_OVER: Final = 3
_LEAST: Final = 50
"""So many times what is asked for, and at least so much, is asked of an index at first: some of it is not visible."""
_OVER_UNDATED: Final = 9
"""The same where an index knows no times and what of it is not wanted is never read."""
_NEAR_MAX: Final = 4_096
"""More neighbours than that are not asked of an index: then all of the scope is compared."""
_FEW: Final = 5_000
"""So many vectors are compared in some 50 ms."""
_OF_TEXTS: Final = {
    Texts.SENTENCES: ("count_sentences", "statement_words"), Texts.CHUNKS: ("count_chunks", "chunk_words"),
}  # fmt: skip
"""What counts the texts of a kind, and the index of their words."""
_WORDS_MAX: Final = 500
"""Of one question: the server takes 1,024 at most."""

H = TypeVar("H")


class Neo4jSearchReads(FactReads, EpisodeReads):
    """The part of a reader that searches."""

    __slots__ = ()

    # ---- what is to be indexed

    def to_index(self, model: str | None) -> ToIndex:
        side = None if model is None else self._sides().side_of(model)
        asked = self._in_scope() | {"limit": _COUNTED}
        statements, episodes, texts = self._run(f"to_index_{side or 'a'}", asked)[0]
        if side is None:
            texts = 0 if model is None else self._run("count_texts", asked)[0][0]
        return ToIndex(statements=statements, episodes=episodes, texts=texts)

    def models(self) -> Models:
        return self._sides().told()

    def unwritten(self, *, limit: int) -> list[Statement]:
        known_at = self._head.recorded_at
        rows = self._run("unwritten", self._in_scope() | {"limit": limit, "known_at": known_at})
        return [
            Statement(
                slot=decoding.slot(self._ledger, self._scope, row[:4]),
                value=Value(type=ValueType(row[4]), text=row[5], qualifier=row[6]),
                value_key=key(row[7]),
            )
            for row in rows
        ]

    def uncut(self, *, limit: int) -> list[EpisodeId]:
        rows = self._run("uncut", self._in_scope() | {"limit": limit})
        return [episode_id(Place(self._ledger, *row)) for row in rows]

    def unembedded(self, model: str, *, limit: int) -> list[tuple[TextKey, str]]:
        side = self._sides().side_of(model)
        query = "all_texts" if side is None else f"unembedded_{side}"  # nobody has begun it: all are without
        rows = self._run(query, self._in_scope() | {"limit": limit})
        return [(TextKey(bytes.fromhex(row[0].rpartition("|")[2])), row[1]) for row in rows]

    # ---- by words

    def term_counts(self, texts: Texts, terms: Sequence[str], *, ceiling: int) -> tuple[int, Mapping[str, int]]:
        count, index = _OF_TEXTS[texts]
        total = sum(row[0] for row in self._run(count, self._in_scope() | {"limit": TEXTS_COUNTED_MAX}))
        asked = {self._query("written", "words", words(term)): term for term in terms if words(term)}
        parameters = {"scope": self._scope_key, "index": index, "queries": list(asked), "ceiling": ceiling}
        rows = self._run("term_counts", parameters) if asked else []
        return total, dict.fromkeys(terms, 0) | {asked[query]: count for query, count in rows}

    def match_facts(
        self, terms: Sequence[str], as_of: AsOf, *, predicates: Collection[str] | None, history: bool, limit: int
    ) -> list[FactHit]:
        said = [word for term in terms for word in words(term)]
        if not said or limit < 1 or (predicates is not None and not predicates):
            return []
        if predicates is None:
            query = self._query("written", "words", said)
        else:
            query = self._query("about", "words", said, self._abouts(predicates))
        return self._hits("rank_words", {"query": query}, as_of, history, limit)

    def match_names(self, text: str, as_of: AsOf, *, limit: int) -> list[FactHit]:
        grams = trigrams(text)
        if not grams or limit < 1:
            return []
        query = self._query("named", "grams", grams)
        size = max(limit * _OVER_UNDATED, _LEAST)
        asked = {"query": query, "skip": 0, "limit": size}
        _, found = self._served(self._run, "rank_names", asked, as_of, False, wanted=size * limit)
        shared = set(grams)
        hits = [FactHit(fact=each.fact, score=_share(each.fact.version.value.text, shared)) for each in found]
        return sorted(hits, key=_order)[:limit]

    def match_chunks(self, terms: Sequence[str], known_at: Instant, *, limit: int) -> list[ChunkHit]:
        said = [word for term in terms for word in words(term)]
        if not said or limit < 1:
            return []
        query = self._query("written", "words", said)
        return self._chunks("rank_chunks", {"query": query}, known_at, limit)

    # ---- by meaning

    def near_facts(
        self, vector: Vector, model: str, as_of: AsOf, *,
        predicates: Collection[str] | None, history: bool, limit: int,
    ) -> list[FactHit]:  # fmt: skip
        side = self._side_for(vector, model)
        if side is None or limit < 1 or (predicates is not None and not predicates):
            return []
        named = None if predicates is None else sorted(predicates)
        asked = self._in_scope() | {"vector": _direction(vector), "predicates": named} | self._window_of(as_of, history)
        query = f"near_facts_{side}" if named is None else f"near_facts_of_{side}"
        abouts = None if named is None else self._abouts(named)

        def exactly() -> list[FactHit]:
            parameters = {"vector": asked["vector"], "abouts": abouts}
            return self._hits(f"nearest_facts_{side}", parameters, as_of, history, limit)

        def nearest(size: int) -> tuple[int, list[FactHit]]:
            count, hits = self._served(self._neighbours, query, {**asked, "limit": size}, as_of, history, limit)
            return count, sorted(hits, key=_order)[:limit]

        return self._near(bool(vector.any()), "count_sentences", limit, nearest, exactly)

    def near_chunks(self, vector: Vector, model: str, known_at: Instant, *, limit: int) -> list[ChunkHit]:
        side = self._side_for(vector, model)
        if side is None or limit < 1:
            return []
        known_at = min(known_at, self._head.recorded_at)
        asked = self._in_scope() | {"vector": _direction(vector), "known_at": known_at}

        def exactly() -> list[ChunkHit]:
            return self._chunks(f"nearest_chunks_{side}", {"vector": asked["vector"]}, known_at, limit)

        def nearest(size: int) -> tuple[int, list[ChunkHit]]:
            rows = self._neighbours(f"near_chunks_{side}", {**asked, "limit": size})
            return len(rows), sorted(self._chunk_hits(rows), key=_chunk_order)[:limit]

        return self._near(bool(vector.any()), "count_chunks", limit, nearest, exactly)

    # ---- what these are made of

    def _in_scope(self) -> dict[str, object]:
        return {"scope": self._scope_key, "position": self._head.position}

    def _sides(self) -> Sides:
        return sides(self._run("models", {"tenant": self._scope.tenant}))

    def _side_for(self, vector: Vector, model: str) -> str | None:
        """Where the vectors of a model are, if there are any. Raises `Incorrect` for other dimensions."""
        found = self._sides()
        side = found.side_of(model)
        if side is None:
            return None
        expected = found.models[side].dimensions
        if vector.shape != (expected,):
            raise Incorrect(f"vectors of {model!r} have {expected} dimensions, this has {vector.size}; give one of it")
        return side

    def _abouts(self, predicates: Collection[str]) -> list[str]:
        return [keys.about_key(self._scope, predicate) for predicate in sorted(predicates)]

    def _query(self, within: str, field: str, parts: Sequence[str], hashes: Sequence[str] = ()) -> str:
        """What a full-text index is asked, of hashes, words and trigrams alone; where they are is worth nothing."""
        told = " ".join(dict.fromkeys(parts[:_WORDS_MAX]))
        return f"+{within}:({' '.join(hashes or [self._scope_key])})^0 +{field}:({told})"

    def _window_of(self, as_of: AsOf, history: bool) -> dict[str, object]:
        return {
            "since": OPEN_START if history else as_of.valid_at,
            "until": OPEN_END if history else as_of.valid_at,
            "known_at": min(as_of.known_at, self._head.recorded_at),
        }

    def _chunks(self, query: str, asked: Mapping[str, object], known_at: Instant, limit: int) -> list[ChunkHit]:
        known_at = min(known_at, self._head.recorded_at)
        found: list[ChunkHit] = []
        for skip, size in _pages(limit * _OVER):
            page = {"scope": self._scope_key, "known_at": known_at, "skip": skip, "limit": size}
            rows = self._run(query, {**asked, **page})
            found += self._chunk_hits(rows)
            if len(found) >= limit or len(rows) < size:
                break
        return sorted(found, key=_chunk_order)[:limit]

    def _hits(
        self, query: str, asked: Mapping[str, object], as_of: AsOf, history: bool, limit: int
    ) -> list[FactHit]:  # fmt: skip
        """The facts behind candidates, best first, as soon as there are enough."""
        found: list[FactHit] = []
        for skip, size in _pages(limit * _OVER_UNDATED):
            count, hits = self._served(self._run, query, {**asked, "skip": skip, "limit": size}, as_of, history, limit)
            found += hits
            if len(found) >= limit or count < size:
                break
        return sorted(found, key=_order)[:limit]

    def _served(
        self, run: Run, query: str, asked: Mapping[str, object], as_of: AsOf, history: bool, wanted: int
    ) -> tuple[int, list[FactHit]]:
        """How many candidates a query gives, and the facts of theirs that the exact reads would serve: so many of the
        best, more where scores are equal."""
        known_at = min(as_of.known_at, self._head.recorded_at)
        window = self._window_of(as_of, history) | {"served_at": self._serving.judged_at(as_of.known_at)}
        count, rows = run(f"{query}_served", {**asked, **window, "scope": self._scope_key, "wanted": wanted})[0]
        scores = {(row[0], row[1]): row[19] for row in rows}
        facts = self._facts(rows, known_at, Order.VALID)
        return count, [FactHit(fact=fact, score=scores[fact.version.position, fact.version.ordinal]) for fact in facts]

    def _near(
        self, has_direction: bool, count: str, limit: int,
        nearest: Callable[[int], tuple[int, list[H]]], exactly: Callable[[], list[H]],
    ) -> list[H]:  # fmt: skip
        """Hits among so many of the nearest that an index gives, of more of them while there are too few.

        Of few vectors, or behind very many neighbours, all of the scope is compared: exact, and soon done.
        """
        count_of = sum(row[0] for row in self._run(count, self._in_scope() | {"limit": _FEW + 1}))
        if count_of <= _FEW or not has_direction:
            return exactly()
        size = max(limit * _OVER, _LEAST)
        while size <= _NEAR_MAX:
            neighbours, hits = nearest(size)
            if len(hits) >= limit or neighbours < size:
                return hits
            size *= 8
        return exactly()

    def _neighbours(self, query: str, asked: Mapping[str, object]) -> list[Row]:
        """What an index of vectors gives. 2026.08 stumbles where a part of it matches a filter with nothing but what
        was deleted (`FixedBitSet` of Lucene, out of bounds); then it is asked without."""
        try:
            return self._run(query, asked)
        except ServerFailed:
            return self._run(unfiltered(query), asked)

    def _chunk_hits(self, rows: Sequence[Row]) -> list[ChunkHit]:
        """The hits among rows of (chunk, score, whether it is visible)."""
        seen = [(row[0], row[1]) for row in rows if row[2] and row[1] is not None]
        episodes = self._episodes_at({(chunk[0], chunk[1]) for chunk, _ in seen})
        hits = []
        for (position, ordinal, number, turn, start, end, text), score in seen:
            episode = episodes.get(episode_id(Place(self._ledger, position, ordinal)))
            if episode is not None and episode.verbatim is not None and has_words(episode.verbatim):
                chunk = Chunk(episode=episode.episode.id, number=number, turn=turn, start=start, end=end)
                hits.append(ChunkHit(chunk=chunk, text=text, score=score, episode=episode))
        return hits

    def _episodes_at(self, places: Collection[tuple[int, int]]) -> dict[EpisodeId, RecordedEpisode]:
        asked = []
        for place in sorted(places):
            id = episode_id(Place(self._ledger, *place))
            owner = decoding.owner_place(id, self._ledger)
            if owner is not None:
                asked.append([self._place_key(id, EPISODE), id, keys.place_key(self._scope.tenant, owner)])
        rows = self._run("episodes_of_passages", self._in_scope() | {"places": asked}) if asked else []
        found = (decoding.recorded_episode(self._scope, [*row[:6], *(row[6] or [None] * 4)]) for row in rows)
        return {recorded.episode.id: recorded for recorded in found}


def _pages(size: int) -> Iterator[tuple[int, int]]:
    """Where pages of candidates begin, and how long they are."""
    skip, size = 0, max(size, _LEAST)
    while True:
        yield skip, size
        skip, size = skip + size, size * 2


def _direction(vector: Vector) -> list[float] | None:
    """A vector as the server takes it; all zeros have no direction."""
    return vector.tolist() if vector.any() else None


def _share(name: str, grams: Collection[str]) -> float:
    """The share of a name's trigrams that are among some."""
    own = trigrams(name)
    return sum(gram in grams for gram in own) / max(len(own), 1)


def _order(hit: FactHit) -> tuple[float, int, str]:
    return -hit.score, -hit.fact.version.recorded_from, hit.fact.version.id


def _chunk_order(hit: ChunkHit) -> tuple[float, int, str, int]:
    return -hit.score, -hit.episode.recorded_at, hit.chunk.episode, hit.chunk.number
