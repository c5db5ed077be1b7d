"""How texts and vectors come to the statements and chunks of a scope: the store's `SearchTransaction`.

What commits do to them is in `applying.py` and `forgetting.py`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from graph.naming import NAMING
from graph.neo4j_store import keys
from graph.neo4j_store.codec import Row
from graph.neo4j_store.searching import Neo4jSearchReads
from graph.neo4j_store.vectors import Sides, unfiltered
from graph.searching import Chunk, Model, Statement, TextKey, Vector, text_key
from graph.terms import trigrams, words
from ontology.errors import Incorrect
from ontology.ids import EPISODE, EpisodeId

_ROWS_AT_ONCE: Final = 1_000

T = TypeVar("T")


class Neo4jSearchTransaction(Neo4jSearchReads):
    """The part of a transaction that indexes."""

    __slots__ = ()

    def write_sentences(self, sentences: Sequence[tuple[Statement, str]]) -> None:
        rows = [self._sentence(statement, text) for statement, text in sentences if self._is_here(statement.slot)]
        newest = list({row[0]: row for row in rows}.values())
        found = [row for some in _parts(newest) for row in self._run("put_sentences", {"rows": some})]
        self._run("count_written", {"scope": self._scope_key, "more": sum(is_new for _, _, is_new in found)})
        self._share([text for text, same, _ in found if not same], have_facts=True)

    def write_chunks(self, episode: EpisodeId, chunks: Sequence[tuple[Chunk, str]]) -> None:
        place = self._place_key(episode, EPISODE)
        if place is None:
            return
        rows = [
            [chunk.number, chunk.turn, chunk.start, chunk.end, self._text_of(text), text, " ".join(words(text))]
            for chunk, text in chunks
        ]
        asked = {"place": place, "scope": self._scope_key}
        if self._run("words_to_cut", asked):
            self._run("remove_chunks", {"places": [place]})
            self._run("put_chunks", asked | {"rows": rows})
            self._share([str(row[4]) for row in rows], have_facts=False)

    def write_vectors(self, model: str, vectors: Sequence[tuple[TextKey, Vector]]) -> None:
        found = self._sides()
        side = found.side_of(model)
        if side is None:
            raise Incorrect(f"no model {model!r} is in use here; begin it first")
        dimensions = found.models[side].dimensions
        rows: list[list[object]] = []
        empty: list[str] = []
        for text, vector in vectors:
            if vector.shape != (dimensions,):
                raise Incorrect(f"vectors of {model!r} have {dimensions} dimensions, one has {vector.size}")
            of = keys.text_of_key(self._scope.tenant, text)
            if vector.any():
                rows.append([of, vector.tolist()])
            else:
                empty.append(of)
        for some in _parts(rows):
            self._run(f"put_vectors_{side}", {"rows": some})
            self._run(f"spread_vectors_{side}", {"texts": [row[0] for row in some]})
        if empty:
            self._run(f"put_no_vectors_{side}", {"texts": empty})

    def begin_model(self, model: Model) -> None:
        found = self._sides()
        side = found.side_of(model.name)
        if side is not None and found.models[side].dimensions != model.dimensions:
            detail = f"the model {model.name!r} has {found.models[side].dimensions} dimensions, not {model.dimensions}"
            raise Incorrect(detail, remedy="give a model of other dimensions another name")
        if side == found.other:
            return
        if side is None and found.serving not in found.models:
            self._put(Sides(serving=found.serving, models={found.serving: model}))
            return
        self._drop(found, found.other)
        kept = {found.serving: found.models[found.serving]}
        self._put(Sides(serving=found.serving, models=kept if side is not None else kept | {found.other: model}))

    def serve_model(self, name: str) -> None:
        found = self._sides()
        side = found.side_of(name)
        if side is None:
            raise Incorrect(f"no model {name!r} is in use here; begin it first")
        if side == found.other:
            self._drop(found, found.serving)
            self._put(Sides(serving=side, models={side: found.models[side]}))

    def unindex(self) -> None:
        for query in ("remove_vectors_of_scope", "remove_texts_of_scope", "remove_chunks_of_scope"):
            self._run(query, {"scope": self._scope_key})

    # ---- what these are made of

    def _neighbours(self, query: str, asked: Mapping[str, object]) -> list[Row]:
        """Without filters: a query at which the server stumbles would end the transaction."""
        return self._run(unfiltered(query), asked)

    def _sentence(self, statement: Statement, text: str) -> list[object]:
        slot = statement.slot
        said = keys.said_key(keys.slot_key(slot), statement.value_key)
        grams = " ".join(trigrams(statement.value.text)) if slot.predicate in NAMING else None
        about = keys.about_key(self._scope, slot.predicate)
        return [said, self._text_of(text), text, " ".join(words(text)), about, grams]

    def _text_of(self, text: str) -> str:
        return keys.text_of_key(self._scope.tenant, text_key(text))

    def _share(self, texts: Sequence[str], *, have_facts: bool) -> None:
        """Give new texts the vectors that others of the tenant have which are the same."""
        wanted = list(dict.fromkeys(texts))
        for side in self._sides().models if wanted else ():
            for some in _parts(wanted):
                self._run(f"share_vectors_{side}", {"texts": some})
                if have_facts:
                    self._run(f"spread_vectors_{side}", {"texts": some})

    def _drop(self, found: Sides, side: str) -> None:
        """Take away the vectors of a side."""
        if side in found.models:
            for query in ("remove_vectors_of_facts", "remove_vectors_of_statements", "remove_vectors_of_chunks"):
                self._run(f"{query}_{side}", {"tenant": self._scope.tenant})

    def _put(self, found: Sides) -> None:
        self._run("put_models", {"tenant": self._scope.tenant} | found.row())


def _parts(rows: Sequence[T]) -> Iterable[Sequence[T]]:
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        yield rows[start : start + _ROWS_AT_ONCE]
