"""Finding by words and by meaning: what a store keeps for it beside the ledger.

It is an index and no memory: it is in no journal, no backup and no hash, and can be made anew. `apply` notes what is to
be indexed, in the transaction that opens a version or records an episode, and takes away what it erases, forgets or
destroys, in the transaction that does; sentences, chunks and vectors are written later, by whoever indexes. Until then
nothing is found by them, and `to_index` says so.

A *statement* is a value in a slot, whatever its versions: one sentence and one vector stand for all of them. A hit is
given only as the fact versions that the exact reads would serve at the two instants of the question.
Scores compare within one answer alone, and may differ between engines, as the order of hits may; which facts may be
found may not.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NewType, Protocol

import numpy as np
from numpy.typing import NDArray

from ontology.episodes import RecordedEpisode
from ontology.facts import AsOf, Fact, Slot
from ontology.ids import EpisodeId
from ontology.instants import Instant
from ontology.scope import Scope
from ontology.values import Value, ValueKey

Vector = NDArray[np.float32]
"""Of one dimension and length 1, or all zeros."""

TextKey = NewType("TextKey", bytes)
"""The SHA-256 of a text, cut to 16 bytes: texts of a tenant that are the same share one vector."""


def text_key(text: str) -> TextKey:
    return TextKey(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16])


TEXTS_COUNTED_MAX: Final = 100_000
"""How far the texts of a scope are counted, at least."""


class Texts(StrEnum):
    """The kinds of texts that are found by words."""

    SENTENCES = "sentences"
    """Of facts."""
    CHUNKS = "chunks"
    """Of the words of episodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What made a vector. Vectors of different models do not compare."""

    name: str
    dimensions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models of a tenant."""

    serving: Model | None
    """Whose vectors are searched; `None` before the first."""
    target: Model | None
    """Whose vectors are being made, to be served once every text has one; `None` while none is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What one sentence is about."""

    slot: Slot
    value: Value
    value_key: ValueKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A stretch of the words of a recorded episode: characters `start` up to `end` of a turn."""

    episode: EpisodeId
    number: int
    """From 0, in the order of the words."""
    turn: int | None
    """`None` in a single text."""
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FactHit:
    fact: Fact
    score: float
    """Higher is nearer: BM25 of words, the cosine of vectors, the share of trigrams of names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkHit:
    chunk: Chunk
    text: str
    score: float
    episode: RecordedEpisode


@dataclass(frozen=True, slots=True, kw_only=True)
class ToIndex:
    """What of a scope is not indexed yet; each number is counted up to 10,000."""

    statements: int
    """Without a sentence, or with one in which a name, or the label of its predicate, has changed since."""
    episodes: int
    """Whose words are not cut into chunks yet."""
    texts: int
    """Without a vector of the model that was asked about."""


class SearchReader(Protocol):
    """The index of one scope, in the snapshot of a reader."""

    def to_index(self, model: str | None) -> ToIndex: ...

    def models(self) -> Models:
        """Of the tenant."""
        ...

    def unwritten(self, *, limit: int) -> list[Statement]:
        """Statements of the scope that want a sentence."""
        ...

    def uncut(self, *, limit: int) -> list[EpisodeId]:
        """Recorded episodes of the scope that want to be cut into chunks and still have their words."""
        ...

    def unembedded(self, model: str, *, limit: int) -> list[tuple[TextKey, str]]:
        """Texts of the scope, each once, that have no vector of this model."""
        ...

    def term_counts(self, texts: Texts, terms: Sequence[str], *, ceiling: int) -> tuple[int, Mapping[str, int]]:
        """How many texts of a kind the scope has, counted up to `TEXTS_COUNTED_MAX`, and how many of them have each
        term, counted up to `ceiling`."""
        ...

    def match_facts(
        self, terms: Sequence[str], as_of: AsOf, *, predicates: Collection[str] | None, history: bool, limit: int
    ) -> list[FactHit]:
        """Facts whose sentence has one of the terms, best first (BM25), then by (recorded_from latest first, id).
        Which of those that are as good as the last one are left out is the store's to choose.

        Those visible at `as_of`; with `history` all that is believed at its `known_at`, whenever it holds. With
        `predicates`, of these alone. A term is one word as `graph.terms` makes it, and never read as syntax.
        """
        ...

    def match_names(self, text: str, as_of: AsOf, *, limit: int) -> list[FactHit]:
        """Facts visible at `as_of` under `name` or `alias` whose value looks like `text` or like a part of it,
        misspelt too, likest first: for the caller to judge."""
        ...

    def match_chunks(self, terms: Sequence[str], known_at: Instant, *, limit: int) -> list[ChunkHit]:
        """Chunks with one of the terms of episodes that were recorded by `known_at` and whose words are there still,
        best first."""
        ...

    def near_facts(
        self, vector: Vector, model: str, as_of: AsOf, *,
        predicates: Collection[str] | None, history: bool, limit: int,
    ) -> list[FactHit]:  # fmt: skip
        """The same as `match_facts` by the cosine between vectors of this model, nearest first."""
        ...

    def near_chunks(self, vector: Vector, model: str, known_at: Instant, *, limit: int) -> list[ChunkHit]: ...


class SearchTransaction(Protocol):
    """Writing the index of one scope, under the tenant's lock, beside a commit or without one."""

    def write_sentences(self, sentences: Sequence[tuple[Statement, str]]) -> None:
        """The text of each statement, instead of the one before. One that is gone since is left out."""
        ...

    def write_chunks(self, episode: EpisodeId, chunks: Sequence[tuple[Chunk, str]]) -> None:
        """All the chunks of an episode. Nothing where its words are gone since."""
        ...

    def write_vectors(self, model: str, vectors: Sequence[tuple[TextKey, Vector]]) -> None:
        """Vectors of texts of the tenant. Those of a text that is gone since are left out."""
        ...

    def begin_model(self, model: Model) -> None:
        """Make it the target; of a tenant without a serving model, the serving one. Another target, with the vectors
        made for it, is dropped. Raises `Incorrect` where a model of this name has other dimensions."""
        ...

    def serve_model(self, name: str) -> None:
        """The target becomes the serving model, and the vectors of the one before go."""
        ...

    def unindex(self) -> None:
        """Forget all that is written of the scope, so that it is indexed anew; vectors of texts that come again the
        same are lost too."""
        ...


class SearchStore(Protocol):
    def scopes_to_index(self, model: str | None, *, limit: int) -> list[Scope]:
        """Scopes, of any tenant, with something that is not indexed yet, by (tenant, namespace, purpose)."""
        ...
