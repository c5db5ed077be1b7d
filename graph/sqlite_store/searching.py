"""The index of a scope in SQLite: what a reader finds by words, by names and by meaning.

Passages are ranked first, by their postings or their vectors alone, and looked up in that order until enough of them
are visible: what is not visible crowds nothing out, however much of it there is.
"""

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from graph import decoding
from graph.searching import Chunk, ChunkHit, FactHit, Model, Models, Statement, TextKey, Texts, ToIndex, Vector
from graph.sqlite_store.connection import Connection, Row
from graph.sqlite_store.episodes import EpisodeReads
from graph.sqlite_store.passages import CHUNK, SENTENCE, SERVING, TARGET
from graph.sqlite_store.summing import Summed
from graph.sqlite_store.whole_facts import WholeFacts
from graph.terms import trigrams
from ontology.errors import Incorrect, shown
from ontology.facts import AsOf, Fact
from ontology.ids import EpisodeId, Place, episode_id
from ontology.instants import Instant
from ontology.scope import Scope
from ontology.values import Value, ValueKey, ValueType

COUNTED_MAX: Final = 10_000
_RANKED: Final = 8
"""How many passages are ranked at first for each hit that is wanted; many times more each time it is not enough."""
_RANKED_MORE: Final = 8
_LOOKED_UP: Final = 4
"""How many of these are looked up at once for each hit that is wanted."""
_SUMMED_IN_MEMORY: Final = 10_000
"""More postings than these are not grouped by a query."""
_EVER: Final = (-(2**63), 2**63 - 1)

Ranked = Sequence[tuple[int, float, bytes | None]]
"""(passage, score, key of the text that was scored, where it may have changed since), best first."""
Lines = Callable[[int], Ranked]
"""The first so many of all that are ranked."""


class SqliteSearchReads(WholeFacts, EpisodeReads):
    """The part of a reader that searches."""

    __slots__ = ("_ranked", "_read_at")

    def __init__(self, connection: Connection, scope: Scope) -> None:
        super().__init__(connection, scope)
        self._ranked: dict[tuple[str, int], tuple[object, Lines]] = {}
        """What was ranked last, by words and by meaning, of each kind of passages; see `_once`."""
        self._read_at: tuple[Instant | None, dict[tuple[int, int], Fact]] = (None, {})
        """The facts that were found, as known at an instant."""

    @property
    def _fixed(self) -> bool:
        """Whether nothing can be written in between."""
        return True

    # ---- what is to be indexed

    def to_index(self, model: str | None) -> ToIndex:
        texts = 0 if model is None else self._count(_COUNTS[self._stage(model)], self._tenant_pk)
        return ToIndex(statements=self._count("count_unwritten"), episodes=self._count("count_uncut"), texts=texts)

    def models(self) -> Models:
        found = {
            row[1]: Model(name=row[2], dimensions=row[3])
            for row in self._connection.all("models", (self._scope.tenant,))
        }
        return Models(serving=found.get(SERVING), target=found.get(TARGET))

    def unwritten(self, *, limit: int) -> list[Statement]:
        rows = self._connection.all("unwritten", (self._scope_pk, limit))
        return [
            Statement(
                slot=decoding.slot(self._ledger, self._scope, row[:4]),
                value=Value(type=ValueType(row[4]), text=row[5], qualifier=row[6]),
                value_key=ValueKey(row[7]),
            )
            for row in rows
        ]

    def uncut(self, *, limit: int) -> list[EpisodeId]:
        rows = self._connection.all("uncut", (self._scope_pk, limit))
        return [episode_id(Place(self._ledger, *row)) for row in rows]

    def unembedded(self, model: str, *, limit: int) -> list[tuple[TextKey, str]]:
        query, mine = _LISTS[self._stage(model)], (self._tenant_pk,)
        return [
            (TextKey(key), text)
            for key, text in self._connection.all(query, _bound(query, self._scope_pk, limit, mine))
        ]

    # ---- words

    def term_counts(self, texts: Texts, terms: Sequence[str], *, ceiling: int) -> tuple[int, Mapping[str, int]]:
        kind = SENTENCE if texts is Texts.SENTENCES else CHUNK
        counts = self._counts(kind, terms)
        return self._sizes(kind)[0], {term: min(ceiling, counts.get(term, 0)) for term in terms}

    def match_facts(
        self, terms: Sequence[str], as_of: AsOf, *, predicates: Collection[str] | None, history: bool, limit: int
    ) -> list[FactHit]:
        return self._facts(self._words(SENTENCE, terms), as_of, predicates, history, limit)

    def match_names(self, text: str, as_of: AsOf, *, limit: int) -> list[FactHit]:
        grams = json.dumps(trigrams(text), ensure_ascii=False)

        def ranked(count: int) -> Ranked:
            return _unkeyed(self._connection.all("rank_names", (grams, self._scope_pk, count)))

        return self._facts(ranked, as_of, None, history=False, limit=limit)

    def match_chunks(self, terms: Sequence[str], known_at: Instant, *, limit: int) -> list[ChunkHit]:
        return self._chunks(self._words(CHUNK, terms), known_at, limit)

    # ---- vectors

    def near_facts(
        self, vector: Vector, model: str, as_of: AsOf, *,
        predicates: Collection[str] | None, history: bool, limit: int,
    ) -> list[FactHit]:  # fmt: skip
        ranked = self._meaning(SENTENCE, vector, model, predicates, as_of.known_at)
        return self._facts(ranked, as_of, predicates, history, limit)

    def near_chunks(self, vector: Vector, model: str, known_at: Instant, *, limit: int) -> list[ChunkHit]:
        return self._chunks(self._meaning(CHUNK, vector, model, None, known_at), known_at, limit)

    # ---- ranking

    def _words(self, kind: int, terms: Sequence[str]) -> Lines:
        return self._once("words", kind, tuple(terms), lambda: self._by_words(kind, terms))

    def _meaning(
        self, kind: int, vector: Vector, model: str, predicates: Collection[str] | None, known_at: Instant
    ) -> Lines:
        asked = (vector.tobytes(), model, None if predicates is None else frozenset(predicates), known_at)
        return self._once("meaning", kind, asked, lambda: self._by_vector(kind, vector, model, predicates, known_at))

    def _once(self, by: str, kind: int, asked: object, rank: Callable[[], Lines]) -> Lines:
        """The same ranking again where the same is asked again: for more, or for what holds at another time.

        What a snapshot holds does not change; what a transaction has written does, so there nothing is kept.
        """
        known = self._ranked.get((by, kind))
        if known is not None and known[0] == asked:
            return known[1]
        lines = rank()
        if self._fixed:
            lines = _kept(lines)
            self._ranked[by, kind] = asked, lines
        return lines

    def _by_words(self, kind: int, terms: Sequence[str]) -> Lines:
        passages, words = self._sizes(kind)
        counts = self._counts(kind, terms)
        weights = {term: math.log(1 + (passages - count + 0.5) / (count + 0.5)) for term, count in counts.items()}
        of = self._scope_pk, kind, words / max(passages, 1) or 1.0

        if len(weights) == 1:
            ((term, weight),) = weights.items()
            return lambda count: _unkeyed(self._connection.all("rank_word", (term, *of, count, weight)))
        if sum(counts.values()) > _SUMMED_IN_MEMORY:
            parts = [(weight, self._connection.all("parts_of_word", (term, *of))) for term, weight in weights.items()]
            return Summed((weight, rows[0][0]) for weight, rows in parts).best
        asked = json.dumps(weights, ensure_ascii=False)
        return lambda count: _unkeyed(self._connection.all("rank_words", (asked, *of, count)))

    def _by_vector(
        self, kind: int, vector: Vector, model: str, predicates: Collection[str] | None, known_at: Instant
    ) -> Lines:
        row = next((row for row in self._connection.all("models", (self._scope.tenant,)) if row[2] == model), None)
        if row is None:
            return lambda count: []
        if vector.shape != (row[3],):
            detail = f"model {shown(model)} has {row[3]} dimensions, got a vector of shape {vector.shape}"
            raise Incorrect(detail, remedy="ask with a vector of the same model")
        block = self._connection.vectors.of(
            self._connection, self._scope.tenant, self._scope_pk, kind, (row[0], row[3])
        )
        return block.scored(vector, predicates, known_at).nearest

    def _sizes(self, kind: int) -> tuple[int, int]:
        """How many passages of a kind there are, and how many words they have together."""
        row = self._connection.one("indexed", (self._scope_pk, kind))
        return (0, 0) if row is None else (row[0], row[1])

    def _counts(self, kind: int, terms: Sequence[str]) -> dict[str, int]:
        """How many passages have each term that some have, in the order given."""
        asked = json.dumps(list(dict.fromkeys(terms)), ensure_ascii=False)
        return dict(self._connection.all("term_counts", (asked, self._scope_pk, kind)))

    # ---- what of it is visible

    def _facts(
        self, ranked: Lines, as_of: AsOf, predicates: Collection[str] | None, history: bool, limit: int
    ) -> list[FactHit]:
        span = _EVER if history else (as_of.valid_at, as_of.valid_at + 1)
        named = None if predicates is None else json.dumps(sorted(predicates), ensure_ascii=False)

        def rows(passages: str) -> list[Row]:
            asked = (passages, as_of.known_at, *span, named, self._judged(as_of.known_at), self._scope_pk)
            return self._connection.all("facts_of_passages", asked)

        found = _visible(ranked, rows, limit)
        best = sorted(found, key=lambda hit: (-hit[0], -hit[1][3], hit[1][4], hit[1][5]))[:limit]
        facts = self._known_facts({row[4:6] for _, row in best}, as_of.known_at)
        return [FactHit(fact=facts[row[4:6]], score=score) for score, row in best]

    def _known_facts(self, places: Collection[tuple[int, int]], known_at: Instant) -> Mapping[tuple[int, int], Fact]:
        """Facts of this snapshot, each read once for all the lists that it is in."""
        at, known = self._read_at
        if at != known_at or not self._fixed:
            known = {}
        known |= self._facts_at([place for place in places if place not in known], known_at)
        self._read_at = known_at, known
        return known

    def _chunks(self, ranked: Lines, known_at: Instant, limit: int) -> list[ChunkHit]:
        def rows(passages: str) -> list[Row]:
            return self._connection.all("chunks_of_passages", (passages, known_at, self._scope_pk))

        found = _visible(ranked, rows, limit)
        best = sorted(found, key=lambda hit: (-hit[0], -hit[1][2], -hit[1][3], hit[1][4]))[:limit]
        ids = {row[2:4]: episode_id(Place(self._ledger, *row[2:4])) for _, row in best}
        episodes = {place: self.recorded_episode(id) for place, id in ids.items()}
        return [
            ChunkHit(
                chunk=Chunk(episode=ids[row[2:4]], number=row[4], turn=row[5], start=row[6], end=row[7]),
                text=row[8], score=score, episode=episodes[row[2:4]],
            )
            for score, row in best
        ]  # fmt: skip

    # ---- what these are made of

    def _stage(self, model: str) -> str:
        rows = self._connection.all("models", (self._scope.tenant,))
        return next((row[1] for row in rows if row[2] == model), "")

    def _count(self, query: str, *more: object) -> int:
        row = self._connection.one(query, _bound(query, self._scope_pk, COUNTED_MAX, more))
        return 0 if row is None else int(row[0])


_COUNTS: Final = {SERVING: "count_unserved", TARGET: "count_untargeted", "": "count_texts"}
_LISTS: Final = {SERVING: "unserved", TARGET: "untargeted", "": "all_texts"}
_OF_TENANT: Final = frozenset({"count_texts", "all_texts"})


def _bound(query: str, scope_pk: int, limit: int, tenant: Iterable[object]) -> tuple[object, ...]:
    return (scope_pk, limit, *tenant) if query in _OF_TENANT else (scope_pk, limit)


def _kept(lines: Lines) -> Lines:
    """The same lines, found once for all who ask for about as many or fewer: the first of more are the first of few."""
    found: Ranked = ()
    looked = 0

    def first(count: int) -> Ranked:
        nonlocal found, looked
        if count > looked:
            looked = 1 << (count - 1).bit_length()
            found = lines(looked)
        return found[:count]

    return first


def _unkeyed(rows: Iterable[Row]) -> Ranked:
    return [(pk, score, None) for pk, score in rows]


def _visible(ranked: Lines, rows: Callable[[str], list[Row]], limit: int) -> list[tuple[float, Row]]:
    """At least `limit` visible rows, with the score of each, if there are as many; the best are among them."""
    found: list[tuple[float, Row]] = []
    count, looked = max(limit, 16) * _RANKED, 0
    while limit > 0:
        lines = ranked(count)
        while looked < len(lines) and len(found) < limit:
            some = lines[looked : looked + max(limit, 16, looked) * _LOOKED_UP]
            scores = {pk: (score, text) for pk, score, text in some}
            for row in rows(json.dumps(list(scores))):
                score, text = scores[row[0]]
                if text is None or text == row[1]:
                    found.append((score, row))
            looked += len(some)
        if len(found) >= limit or len(lines) < count:
            break
        count *= _RANKED_MORE
    return found
