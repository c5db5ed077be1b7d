"""Indexing what was written and recorded, and switching models, on every store."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from consolidation.episodes import NewEpisode, NewTurn
from graph.embedders import Rows, unavailable
from graph.embedding import PatientEmbedder, TextAlone, ask
from graph.indexing import Indexed, Indexer
from graph.ports import MemoryStore
from graph.reembedding import Reembedded, Reembedding
from graph.searching import FactHit, Model, Models, ToIndex
from graph.unusable import AGAIN_SECONDS
from ontology.errors import Busy, Conflict, Incorrect, Unavailable
from ontology.instants import SECOND as A_SECOND
from ontology.schema_document import pack_from_document
from ontology.scope import scope_of
from tests.contract.search_world import MANY, Searched, found
from tests.contract.world import CORE, SCOPE, World, claim, erase
from tests.embedding import DIMENSIONS, HashingEmbedder

OTHER, ELSEWHERE = scope_of("acme", "team"), scope_of("zeta")
DONE = ToIndex(statements=0, episodes=0, texts=0)
FIRST, SECOND = Model(name="first", dimensions=DIMENSIONS), Model(name="second", dimensions=DIMENSIONS)


@pytest.fixture
def searched(world: World) -> Searched:
    return Searched(world)


class Indexes:
    """A store with an indexer that has this embedder; it waits for none that failed."""

    def __init__(
        self, searched: Searched, embedder: HashingEmbedder | None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.store: MemoryStore = searched.store
        self.patient = None if embedder is None else PatientEmbedder(embedder, lambda: float("inf"))
        self.indexer = Indexer(
            store=searched.store, clock=searched.world.clock, core=CORE, embedder=self.patient, monotonic=monotonic,
        )  # fmt: skip
        self.searched = searched

    def near(self, text: str) -> list[FactHit]:
        with self.store.read(SCOPE) as reader:
            asked = ask(self.patient, reader.models(), text, 60)
            if asked.vector is None or asked.model is None:
                return []
            as_of = self.searched.as_of()
            return reader.near_facts(
                asked.vector, asked.model, as_of, predicates=None, history=False, limit=MANY,
            )  # fmt: skip

    def why_alone(self) -> TextAlone | None:
        return ask(self.patient, self.models(), "tea", 60).text_alone

    def models(self) -> Models:
        with self.store.read(SCOPE) as reader:
            return reader.models()

    def reembed(self, told: Any = None) -> Reembedded | None:
        assert self.patient is not None
        work = Reembedding(store=self.store, indexer=self.indexer, embedder=self.patient, sleep=lambda _: None)
        return work.reembed(SCOPE.tenant, told=told or (lambda _: None))


def drinks(searched: Searched, count: int = 3) -> None:
    names = ("tea", "coffee", "water", *(f"drink number {n}" for n in range(count)))[:count]
    searched.world.write(*(claim(f"person-{n}", "likes", name) for n, name in enumerate(names)))


def test_what_was_written_is_found_by_words_and_by_vectors(searched: Searched) -> None:
    indexes = Indexes(searched, HashingEmbedder("first"))
    searched.world.write(claim("mira", "name", "Mira Novák"), claim("mira", "likes", "green tea"))
    said = (NewTurn(speaker="Mira", text="I bought a teapot."), NewTurn(speaker="agent", text="Noted."))
    searched.recorder.record(SCOPE, "tester", [NewEpisode(turns=said)])

    assert indexes.indexer.work() == 2 + 1 + 4
    assert indexes.indexer.standing(SCOPE).to_index == DONE
    assert searched.store.scopes_to_index("first", limit=9) == []
    assert found(searched.match("Novák"))[:1] == ["Mira Novák"]
    assert found(searched.match("tea")) == ["green tea"]
    assert found(indexes.near("green tea"))[0] == "green tea"
    assert indexes.models() == Models(serving=FIRST, target=None)
    [chunk] = searched.chunks("teapot")
    assert (chunk.text, chunk.chunk.turn) == ("Mira: I bought a teapot.", 0)
    assert {hit.chunk.turn for hit in searched.chunks("noted mira")} == {0, 1}
    assert indexes.indexer.work() == 0


def test_a_name_that_changes_changes_the_sentences_with_it(searched: Searched) -> None:
    indexes = Indexes(searched, HashingEmbedder("first"))
    searched.world.write(claim("ann", "knows", {"type": "entity", "key": "tom"}))
    indexes.indexer.work()
    assert searched.match("Thomas") == []
    searched.world.write(claim("tom", "name", "Thomas"))
    indexes.indexer.work()
    assert len(searched.match("Thomas")) == 2
    assert indexes.indexer.standing(SCOPE).to_index == DONE


def test_a_label_that_changes_changes_the_sentences_with_it(searched: Searched) -> None:
    indexes = Indexes(searched, HashingEmbedder("first"))
    searched.world.write(claim("ann", "likes", "tea"))
    indexes.indexer.work()
    for label, other in (("is fond of", "likes"), ("adores", "fond")):
        pack = pack_from_document({"pack": "labels", "predicates": {"likes": {"label": label}}})
        searched.world.writer.put_schema(SCOPE, "tester", pack)
        searched.world.clock.advance(A_SECOND)
        assert indexes.indexer.work() == 2, "a sentence, and its vector"
        assert found(searched.match(label)) == found(indexes.near(f"ann {label} tea")) == ["tea"]
        assert searched.match(other) == []
    assert indexes.indexer.standing(SCOPE).to_index == DONE


def test_a_question_finds_what_was_written_a_moment_ago(searched: Searched) -> None:
    indexes = Indexes(searched, None)
    drinks(searched)
    standing = indexes.indexer.catch_up(SCOPE, 60_000)
    assert (standing.to_index, standing.problem) == (DONE, None)
    assert found(searched.match("coffee")) == ["coffee"]
    assert indexes.why_alone() is TextAlone.NO_EMBEDDER


def test_every_scope_of_every_tenant_is_indexed(searched: Searched) -> None:
    indexes = Indexes(searched, HashingEmbedder("first"))
    for scope in (SCOPE, OTHER, ELSEWHERE):
        searched.world.write(claim("mira", "likes", "tea"), scope=scope)
    assert indexes.indexer.work() == 6 - 1, "two scopes of a tenant share a vector of the same text"
    assert [indexes.indexer.standing(scope).to_index for scope in (SCOPE, OTHER, ELSEWHERE)] == [DONE] * 3


def test_more_than_one_step_is_done_step_by_step(searched: Searched) -> None:
    embedder = HashingEmbedder("first")
    indexes = Indexes(searched, embedder)
    drinks(searched, 250)
    searched.record(*(f"episode number {n}" for n in range(20)))
    assert indexes.indexer.index(SCOPE) == 250 + 20 + 270
    assert max(len(texts) for texts in embedder.asked) <= 64


def test_two_that_index_at_once_do_no_harm(searched: Searched) -> None:
    drinks(searched, 40)
    both = [Indexes(searched, HashingEmbedder("first")) for _ in range(2)]
    failed: list[Exception] = []

    def work(indexes: Indexes) -> None:
        for _ in range(100):
            try:
                indexes.indexer.work()
            except Busy:
                continue
            except Exception as exc:
                failed.append(exc)
            return

    threads = [threading.Thread(target=work, args=(indexes,)) for indexes in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    both[0].indexer.work()
    assert both[0].indexer.standing(SCOPE).to_index == DONE
    assert len(searched.match("likes")) == 40
    assert len(both[0].near("likes tea")) == 40


def test_an_embedder_that_is_away_leaves_words_and_is_made_up_for(searched: Searched) -> None:
    embedder = HashingEmbedder("first")
    indexes = Indexes(searched, embedder)
    embedder.away = True
    drinks(searched)
    indexes.indexer.work()
    standing = indexes.indexer.standing(SCOPE)
    assert (standing.to_index.texts, standing.problem) == (3, "the embedder is away")
    assert found(searched.match("tea")) == ["tea"]
    embedder.away = False
    assert indexes.indexer.work() == 3
    assert indexes.indexer.standing(SCOPE).problem is None


class Numb(HashingEmbedder):
    """Gives zeros for texts with one of these words, until it is cured."""

    cured = False
    words: tuple[str, ...] = ("coffee",)

    def _row(self, text: str) -> Rows:
        row = super()._row(text)
        return row if self.cured or not any(word in text for word in self.words) else np.zeros_like(row)


def test_a_text_without_a_vector_is_told_by_its_id_holds_up_no_other_and_is_tried_again(
    searched: Searched, caplog: pytest.LogCaptureFixture
) -> None:
    numb, seconds = Numb("first"), [0.0]
    indexes = Indexes(searched, numb, monotonic=lambda: seconds[0])
    numb.words = ("drink number",)  # of more than are embedded at once
    drinks(searched, 80)

    indexes.indexer.work()

    standing = indexes.indexer.standing(SCOPE)
    assert standing.to_index.texts == 77
    assert len(indexes.near("tea")) == 3
    with searched.store.read(SCOPE) as reader:
        ids = [key.hex() for key, _ in reader.unembedded("first", limit=MANY)]
    assert standing.problem is not None
    assert "'first'" in standing.problem
    assert "77 texts" in standing.problem
    assert any(id in standing.problem for id in ids)
    assert standing.problem in caplog.text
    assert "number" not in caplog.text
    asked = len(numb.asked)
    assert indexes.indexer.work() == 0
    assert len(numb.asked) == asked, "they are left alone for a while"

    numb.cured, seconds[0] = True, AGAIN_SECONDS + 1
    assert indexes.indexer.work() == 77
    assert indexes.indexer.standing(SCOPE) == Indexed(to_index=DONE, problem=None, models=indexes.models())


def test_a_switch_that_leaves_a_text_without_a_vector_is_none_and_begun_again_it_makes_that_alone(
    searched: Searched,
) -> None:
    drinks(searched)
    old = Indexes(searched, HashingEmbedder("first"))
    old.indexer.work()
    numb = Numb("second")

    with pytest.raises(Unavailable, match=r"'second' gave vectors .* for 1 text: .*\(text [0-9a-f]{32}\)"):
        Indexes(searched, numb).reembed()
    assert old.models() == Models(serving=FIRST, target=SECOND)
    assert len(old.near("tea")) == 3

    numb.cured = True
    assert Indexes(searched, numb).reembed() == Reembedded(model=SECOND, before=FIRST, texts=1)


def test_what_is_erased_while_it_is_embedded_gets_no_vector(searched: Searched) -> None:
    class Erasing(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> Rows:
            rows = super().embed(texts)
            if any("secret" in text for text in texts):
                searched.world.write(erase("mira", "likes"))
            return rows

    indexes = Indexes(searched, Erasing("first"))
    searched.world.write(claim("mira", "likes", "a secret"), claim("mira", "lives_in", "Lisbon"))
    indexes.indexer.work()
    assert found(indexes.near("Lisbon, or what she likes")) == ["Lisbon"]
    assert indexes.indexer.standing(SCOPE).to_index == DONE


# --- another model


def test_the_old_vectors_are_served_until_every_text_has_a_new_one(searched: Searched) -> None:
    old, new = (Indexes(searched, HashingEmbedder(name)) for name in ("first", "second"))
    drinks(searched, 100)
    old.indexer.work()
    during: list[tuple[Models, int, TextAlone | None]] = []

    def told(texts: int) -> None:
        during.append((old.models(), len(old.near("tea")), new.why_alone()))

    assert new.reembed(told) == Reembedded(model=SECOND, before=FIRST, texts=100)
    assert during == [(Models(serving=FIRST, target=SECOND), 100, TextAlone.OTHER_MODEL)] * 2
    assert new.models() == Models(serving=SECOND, target=None)
    assert found(new.near("tea"))[0] == "tea"
    assert (old.near("tea"), old.why_alone()) == ([], TextAlone.OTHER_MODEL)
    assert "vigencia reembed" in (old.indexer.standing(SCOPE).problem or "")
    assert new.reembed() == Reembedded(model=SECOND, before=SECOND, texts=0)


def test_what_was_interrupted_goes_on_where_it_was(searched: Searched) -> None:
    drinks(searched, 150)
    Indexes(searched, HashingEmbedder("first")).indexer.work()

    class Killed(Exception):
        pass

    def kill(texts: int) -> None:
        raise Killed

    with pytest.raises(Killed):
        Indexes(searched, HashingEmbedder("second")).reembed(kill)
    again = HashingEmbedder("second")
    assert Indexes(searched, again).reembed() == Reembedded(model=SECOND, before=FIRST, texts=150 - 64)
    assert sum(len(texts) for texts in again.asked) == 150 - 64


def test_an_embedder_that_fails_now_and_then_is_asked_again_and_one_that_stays_away_is_told(
    searched: Searched,
) -> None:
    class Shaky(HashingEmbedder):
        failures = 0

        def embed(self, texts: Sequence[str]) -> Rows:
            rows = super().embed(texts)
            if self.failures > 0:
                self.failures -= 1
                raise unavailable("it shook", retry_after=0)
            return rows

    drinks(searched, 5)
    Indexes(searched, HashingEmbedder("first")).indexer.work()
    shaky = Shaky("second")
    shaky.failures = 100
    with pytest.raises(Unavailable, match="it shook"):
        Indexes(searched, shaky).reembed()
    shaky.failures = 3
    assert Indexes(searched, shaky).reembed() == Reembedded(model=SECOND, before=FIRST, texts=5)


def test_a_tenant_without_anything_has_nothing_to_switch_and_one_without_vectors_gets_its_first(
    searched: Searched,
) -> None:
    indexes = Indexes(searched, HashingEmbedder("first"))
    drinks(searched)
    work = Reembedding(
        store=searched.store, indexer=indexes.indexer, embedder=PatientEmbedder(HashingEmbedder("first"))
    )
    assert work.reembed(ELSEWHERE.tenant, told=lambda _: None) is None
    assert indexes.reembed() == Reembedded(model=FIRST, before=None, texts=3)
    assert indexes.models() == Models(serving=FIRST, target=None)


def test_to_go_back_while_another_model_is_made_drops_that(searched: Searched) -> None:
    drinks(searched, 100)
    first = Indexes(searched, HashingEmbedder("first"))
    first.indexer.work()
    stopping: list[int] = []

    def go_back(texts: int) -> None:
        if not stopping:
            stopping.append(texts)
            first.reembed()

    with pytest.raises(Conflict, match="another model"):
        Indexes(searched, HashingEmbedder("second")).reembed(go_back)
    assert first.models() == Models(serving=FIRST, target=None)
    assert len(first.near("tea")) == 100


def test_another_model_under_the_same_name_is_refused_and_old_vectors_stay(searched: Searched) -> None:
    drinks(searched)
    first = Indexes(searched, HashingEmbedder("first"))
    first.indexer.work()
    wrong = Indexes(searched, HashingEmbedder("first", dimensions=8))
    with pytest.raises(Incorrect):
        wrong.reembed()
    drinks(searched, 5)
    wrong.indexer.work()
    assert "8 dimensions" in (wrong.indexer.standing(SCOPE).problem or "")
    assert wrong.why_alone() is TextAlone.OTHER_MODEL
    assert found(first.near("tea"))[0] == "tea"
