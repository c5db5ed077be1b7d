"""The index of a scope in plain lists: the store's `SearchReader` and `SearchTransaction`."""

from collections.abc import Collection, Mapping, Sequence

from graph.searching import Chunk, ChunkHit, FactHit, Model, Models, Statement, TextKey, ToIndex, Vector
from ontology.facts import AsOf
from ontology.ids import EpisodeId
from ontology.instants import Instant


class NaiveSearchReads:
    __slots__ = ()

    def to_index(self, model: str | None) -> ToIndex:
        raise NotImplementedError

    def models(self) -> Models:
        raise NotImplementedError

    def unwritten(self, *, limit: int) -> list[Statement]:
        raise NotImplementedError

    def uncut(self, *, limit: int) -> list[EpisodeId]:
        raise NotImplementedError

    def unembedded(self, model: str, *, limit: int) -> list[tuple[TextKey, str]]:
        raise NotImplementedError

    def term_counts(self, terms: Sequence[str], *, ceiling: int) -> tuple[int, Mapping[str, int]]:
        raise NotImplementedError

    def match_facts(
        self, terms: Sequence[str], as_of: AsOf, *, predicates: Collection[str] | None, history: bool, limit: int
    ) -> list[FactHit]:
        raise NotImplementedError

    def match_names(self, text: str, as_of: AsOf, *, limit: int) -> list[FactHit]:
        raise NotImplementedError

    def match_chunks(self, terms: Sequence[str], known_at: Instant, *, limit: int) -> list[ChunkHit]:
        raise NotImplementedError

    def near_facts(
        self, vector: Vector, model: str, as_of: AsOf, *,
        predicates: Collection[str] | None, history: bool, limit: int,
    ) -> list[FactHit]:  # fmt: skip
        raise NotImplementedError

    def near_chunks(self, vector: Vector, model: str, known_at: Instant, *, limit: int) -> list[ChunkHit]:
        raise NotImplementedError


class NaiveSearchTransaction:
    __slots__ = ()

    def write_sentences(self, sentences: Sequence[tuple[Statement, str]]) -> None:
        raise NotImplementedError

    def write_chunks(self, episode: EpisodeId, chunks: Sequence[tuple[Chunk, str]]) -> None:
        raise NotImplementedError

    def write_vectors(self, model: str, vectors: Sequence[tuple[TextKey, Vector]]) -> None:
        raise NotImplementedError

    def begin_model(self, model: Model) -> None:
        raise NotImplementedError

    def serve_model(self, name: str) -> None:
        raise NotImplementedError

    def unindex(self) -> None:
        raise NotImplementedError
