"""What an indexer does where the store or the embedder fails it: the store here only fails, or forgets, on purpose."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import pytest

from graph.embedding import PatientEmbedder
from graph.indexing import LITTLE, Indexer
from graph.ports import MemoryStore
from graph.searching import Model, Models, TextKey, ToIndex
from ontology.errors import Busy
from ontology.packs import load_core
from ontology.scope import Scope, scope_of
from tests.conftest import FrozenClock
from tests.embedding import HashingEmbedder

SCOPE = scope_of("acme")


class FailingStore:
    """Texts that want vectors, and nothing else; a reader and a transaction in one."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.statements = 0
        self.vectors: dict[str, list[TextKey]] = {}
        self.serving: Model | None = None
        self.is_busy = False
        self.forgets = False
        """Whether what is written leaves no trace."""
        self.in_write = False

    @contextmanager
    def read(self, scope: Scope) -> Iterator["FailingStore"]:
        yield self

    @contextmanager
    def write(self, scope: Scope) -> Iterator["FailingStore"]:
        if self.is_busy:
            raise Busy("another writer held the store")
        self.in_write = True
        yield self
        self.in_write = False

    def scopes_to_index(self, model: str | None, *, limit: int) -> list[Scope]:
        return [] if model is None else [SCOPE]

    def models(self) -> Models:
        return Models(serving=self.serving, target=None)

    def to_index(self, model: str | None) -> ToIndex:
        texts = 0 if model is None else len(self.unembedded(model, limit=10_000))
        return ToIndex(statements=self.statements, episodes=0, texts=texts)

    def unwritten(self, *, limit: int) -> list[Any]:
        return []

    def uncut(self, *, limit: int) -> list[Any]:
        return []

    def unembedded(self, model: str, *, limit: int) -> list[tuple[TextKey, str]]:
        left = [(TextKey(text.encode()), text) for text in self.texts]
        return [each for each in left if each[0] not in self.vectors.get(model, ())][:limit]

    def begin_model(self, model: Model) -> None:
        self.serving = model

    def write_vectors(self, model: str, vectors: Sequence[tuple[TextKey, Any]]) -> None:
        if not self.forgets:
            self.vectors.setdefault(model, []).extend(key for key, _ in vectors)


def indexer(store: FailingStore, embedder: HashingEmbedder | None) -> Indexer:
    patient = None if embedder is None else PatientEmbedder(embedder, lambda: 0.0)
    return Indexer(store=cast(MemoryStore, store), clock=FrozenClock(), core=load_core(), embedder=patient)


def test_the_first_vectors_make_the_model_the_serving_one_and_nothing_is_left() -> None:
    store = FailingStore(*(f"text {n}" for n in range(150)))
    assert indexer(store, HashingEmbedder()).work() == 150
    assert store.serving == HashingEmbedder().model()
    assert len(store.vectors["hashing"]) == 150


def test_no_text_is_embedded_under_the_lock() -> None:
    store = FailingStore("a text")

    class Watching(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            assert not store.in_write
            return super().embed(texts)

    assert indexer(store, Watching()).index(SCOPE) == 1


def test_an_embedder_that_is_away_leaves_the_texts_and_is_told() -> None:
    store, embedder = FailingStore("a text"), HashingEmbedder()
    embedder.away = True
    ours = indexer(store, embedder)
    assert (ours.work(), ours.work()) == (0, 0)
    assert len(embedder.asked) <= 1
    standing = ours.catch_up(SCOPE, 1_000)
    assert (standing.to_index.texts, standing.problem) == (1, "the embedder is away")


def test_a_store_that_is_busy_fails_the_work_and_no_question() -> None:
    store = FailingStore("a text")
    store.is_busy = True
    ours = indexer(store, HashingEmbedder())
    with pytest.raises(Busy):
        ours.work()
    standing = ours.catch_up(SCOPE, 60_000)
    assert (standing.to_index.texts, standing.problem) == (1, "another writer held the store")


def test_what_comes_to_nothing_ends() -> None:
    store = FailingStore("a text")
    store.forgets = True
    assert indexer(store, HashingEmbedder()).work() == 0


def test_a_question_does_not_wait_where_much_is_behind() -> None:
    store = FailingStore("a text")
    store.statements = LITTLE + 1
    ours = indexer(store, HashingEmbedder())
    assert ours.catch_up(SCOPE, 60_000).to_index == ToIndex(statements=LITTLE + 1, episodes=0, texts=1)
    store.statements = 0
    assert ours.catch_up(SCOPE, 60_000).to_index.texts == 0


def test_vectors_of_another_model_are_left_alone_and_it_is_told() -> None:
    store = FailingStore("a text")
    for serving, told in (
        (Model(name="other", dimensions=64), "vigencia reembed"),
        (Model(name="hashing", dimensions=3), "64 dimensions"),
    ):
        store.serving = serving
        ours = indexer(store, HashingEmbedder())
        assert ours.index(SCOPE) == 0
        standing = ours.standing(SCOPE)
        assert standing.problem is not None
        assert told in standing.problem
    assert store.vectors == {}
    assert "no embedder is set" in (indexer(store, None).standing(SCOPE).problem or "")


def test_who_is_told_to_stop_stops_between_two_steps() -> None:
    store = FailingStore(*(f"text {n}" for n in range(150)))
    asked = iter([False, False, False, False, True])
    done = indexer(store, HashingEmbedder()).index(SCOPE, stopped=lambda: next(asked, True))
    assert 0 < done < 150
