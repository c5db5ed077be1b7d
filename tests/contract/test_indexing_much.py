"""Much at once, and long or odd texts, are indexed and found on every store; a writer beside gets its turn."""

import time
import unicodedata
from dataclasses import replace
from typing import Final, Literal

import pytest

from consolidation.episodes import NewEpisode
from graph.embedding import PatientEmbedder
from graph.indexing import Indexer
from graph.searching import ToIndex
from graph.terms import terms
from tests.contract.search_world import Searched, found
from tests.contract.world import CORE, SCOPE, World, claim
from tests.embedding import HashingEmbedder
from tests.sizes import scaled

DONE: Final = ToIndex(statements=0, episodes=0, texts=0)
ITEMS: Final = scaled(10_000, 500)
WORDS: Final = scaled(200_000, 5_000)
Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
ODD: Final = {
    "emoji": "tea 👩‍👩‍👧🏳️‍🌈 time",
    "right to left": "\u202eשלום\u2066مرحبا\u2069",
    "controls": "bell\u0085tea\u009ftime",
    "marks": "x" + "\u0323" * 90 + " tea",
    "syntax": '+tea -b && || ! ( ) { } [ ] ^ " ~ * ? : \\ / AND NOT *:*',
    "nothing but signs": "☕ ☕ ☕",
    "one long word": "x" * 5_000,
    "blanks": "\u2028 \u00a0\t\n tea",
    "beyond the basic plane": "\U0010ffff𝔘 tea",
}


@pytest.fixture
def searched(world: World) -> Searched:
    return Searched(world)


def indexed(searched: Searched, *, vectors: bool = True) -> float:
    """Index all of it; gives the longest that a step took, in seconds. Without words a text has no vector to be had."""
    indexer = Indexer(
        store=searched.store, clock=searched.world.clock, core=CORE, embedder=PatientEmbedder(HashingEmbedder())
    )
    longest, began = 0.0, time.monotonic()

    def stopped() -> bool:
        nonlocal longest, began
        longest, began = max(longest, time.monotonic() - began), time.monotonic()
        return False

    indexer.index(SCOPE, stopped=stopped)
    left = indexer.standing(SCOPE).to_index
    assert left == (DONE if vectors else replace(DONE, texts=left.texts))
    return max(longest, time.monotonic() - began)


def near(searched: Searched, text: str, limit: int) -> list[str]:
    vector = HashingEmbedder().embed_question(text)[0]
    with searched.store.read(SCOPE) as reader:
        hits = reader.near_facts(
            vector, "hashing", searched.as_of(), predicates=None, history=False, limit=limit
        )  # fmt: skip
    return found(hits)


def test_all_of_a_large_batch_is_found(searched: Searched) -> None:
    searched.world.write(*(claim(f"p{n}", "likes", f"thing number{n}", "2020-01-01") for n in range(ITEMS)))
    longest = indexed(searched)
    print(f"{ITEMS} items: the longest step took {longest:.2f} s")
    for number in (0, ITEMS // 2, ITEMS - 1):
        assert found(searched.match(f"number{number}")) == [f"thing number{number}"]
        assert near(searched, f"p{number} likes thing number{number}", 1) == [f"thing number{number}"]
    assert len(searched.match("likes", limit=ITEMS + 1)) == ITEMS


def test_a_sentence_of_a_megabyte_is_found_by_its_first_and_by_its_last_word(searched: Searched) -> None:
    words = " ".join(f"w{n}" for n in range(1_000_000))[: 1_000_000 - 10].rpartition(" ")[0]
    searched.world.tell("anna", "note", f"{words} lastword", "2020-01-01")
    searched.world.tell("bert", "note", "w0 is short", "2020-01-01")
    longest = indexed(searched)
    print(f"a sentence of a megabyte: the longest step took {longest:.2f} s")
    assert [len(value) > 900_000 for value in found(searched.match("w0"))] == [False, True]
    assert len(searched.match("lastword")) == 1
    assert len(near(searched, "anna note w0 w1 w2", 5)) == 2
    searched.world.tell("anna", "name", "Anna Lind", "2020-01-01")
    indexed(searched)
    assert len(searched.match("lastword")) == 1
    searched.world.write(*(claim("bert", "note", f"more {n}", "2020-01-01") for n in range(3)))
    indexed(searched)
    assert len(searched.match("lind")) == 2


def test_an_episode_of_very_many_words_is_found_by_each_of_them(searched: Searched) -> None:
    text = " ".join(map(word, range(WORDS)))  # an episode has a megabyte at most
    with_it, _ = searched.record(text, f"{word(1)} alone")
    longest = indexed(searched)
    print(f"an episode of {WORDS} words: the longest step took {longest:.2f} s")
    for number in (0, 1, WORDS // 2, WORDS - 1):
        hits = [hit for hit in searched.chunks(word(number)) if hit.chunk.episode == with_it]
        assert len(hits) == 1
        assert word(number) in terms(hits[0].text)
    assert len(searched.chunks(word(1))) == 2


def word(number: int) -> str:
    """A word of four letters and digits for each number."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    return "".join(digits[number // 36**place % 36] for place in (3, 2, 1, 0))


@pytest.mark.parametrize("name", ODD)
def test_an_odd_text_is_indexed_and_keeps_no_other_from_it(searched: Searched, name: str) -> None:
    text = ODD[name].strip()
    searched.world.tell("anna", "note", text, "2020-01-01")
    searched.world.tell("anna", "alias", text[:400], "2020-01-01")
    searched.world.tell("bert", "note", "plain tea", "2020-01-01")
    searched.record(text, "plain words")
    indexed(searched, vectors=False)
    for term in terms(text):
        assert text in found(searched.match(term)), term
    assert "plain tea" in found(searched.match("plain"))
    assert [hit.text for hit in searched.chunks("plain")] == ["plain words"]
    assert near(searched, "bert note plain tea", 1) == ["plain tea"]
    with searched.store.read(SCOPE) as reader:
        assert reader.match_names(text, searched.as_of(), limit=5) is not None


@pytest.mark.parametrize(("told", "asked"), [("NFC", "NFD"), ("NFD", "NFC"), ("NFKD", "NFC")])
def test_words_are_found_in_whichever_form_their_letters_are(searched: Searched, told: Form, asked: Form) -> None:
    name = "Zoë Nováková Åse ﬁve"
    searched.world.tell("anna", "name", unicodedata.normalize(told, name), "2020-01-01")
    searched.recorder.record(SCOPE, "tester", [NewEpisode(text=unicodedata.normalize(told, f"{name} came."))])
    indexed(searched)
    for word in unicodedata.normalize(asked, name).split():
        assert len(searched.match(word)) == len(searched.chunks(word)) == 1, word
    assert len(searched.names(unicodedata.normalize(asked, "Zoë Nováková"))) == 1
