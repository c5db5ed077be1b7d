"""Which words of a question are asked for, by how many sentences have them."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from graph.rarity import COMMON_MIN, TERMS_MAX, TOGETHER_MAX, Words, words_of
from graph.searching import SearchReader, Texts


class Counted:
    """A scope in which so many of its texts have each word."""

    def __init__(self, sentences: int, **counts: int) -> None:
        self.sentences, self.counts = sentences, counts
        self.ceilings: list[tuple[int, int]] = []

    def term_counts(self, texts: Texts, terms: Sequence[str], *, ceiling: int) -> tuple[int, Mapping[str, int]]:
        assert texts is Texts.CHUNKS
        self.ceilings.append((len(terms), ceiling))
        return self.sentences, {term: min(self.counts[term], ceiling) for term in terms if self.counts.get(term)}

    def words(self, question: str) -> Words:
        return words_of(cast(SearchReader, self), Texts.CHUNKS, question.split())


def test_what_over_a_twentieth_of_the_sentences_have_is_dropped_while_rarer_words_remain() -> None:
    scope = Counted(10_000, the=9_000, price=500, of=501, zubrowka=1)

    words = scope.words("the price of zubrowka")

    assert words.asked == ("zubrowka", "price")
    assert words.dropped == ("the", "of")
    assert words.cut == ()


def test_common_words_are_asked_for_where_there_are_no_others() -> None:
    words = Counted(10_000, price=9_000, of=9_000).words("price of nothing")

    assert (words.asked, words.dropped) == (("price", "of"), ())


def test_of_words_that_are_all_common_in_a_large_memory_the_rarest_are_asked_for() -> None:
    scope = Counted(100_000, the=99_000, price=9_000, of=30_000, tea=21_000, cup=22_000)

    words = scope.words("the price of tea cup")

    assert words.asked == ("price", "tea")
    assert words.dropped == ("the", "of", "cup")
    assert words.weights["price"] > words.weights["tea"] > words.weights["cup"] > words.weights["of"]
    assert scope.ceilings[-1] == (5, TOGETHER_MAX)


@pytest.mark.parametrize(("together", "asked"), [(0, ("price", "tea")), (1, ("price",))])
def test_common_words_are_asked_for_up_to_so_many_sentences_together(together: int, asked: tuple[str, ...]) -> None:
    scope = Counted(100_000, price=8_000, tea=TOGETHER_MAX - 8_000 + together)

    assert scope.words("tea price").asked == asked


def test_one_word_is_asked_for_however_common_all_are() -> None:
    words = Counted(100_000, the=100_000, a=90_000).words("the a")

    assert (words.asked, words.dropped) == (("a",), ("the",))


@pytest.mark.parametrize(("count", "dropped"), [(COMMON_MIN, ()), (COMMON_MIN + 1, ("mira",))])
def test_in_a_small_memory_few_words_are_common(count: int, dropped: tuple[str, ...]) -> None:
    assert Counted(200, mira=count, tea=1).words("mira tea").dropped == dropped


def test_a_word_that_no_text_has_is_not_asked_for_and_not_told_as_cut() -> None:
    words = Counted(1_000, tea=1).words("tea zubrowka")

    assert (words.asked, words.dropped, words.cut) == (("tea",), (), ())


def test_words_that_are_not_common_are_asked_for_up_to_so_many_texts_together_too() -> None:
    chat = [f"word{number}" for number in range(20)]
    scope = Counted(100_000, **dict.fromkeys(chat, 4_000), zubrowka=1)

    words = scope.words(" ".join([*chat, "zubrowka"]))

    assert words.asked[0] == "zubrowka"
    assert len(words.asked) == 1 + TOGETHER_MAX // 4_000
    assert {*words.asked, *words.cut} == {*chat, "zubrowka"}


def test_a_rare_word_among_two_hundred_is_asked_for_and_the_others_are_told() -> None:
    chat = [f"word{number}" for number in range(200)]
    scope = Counted(10_000, **dict.fromkeys(chat, 400), zubrowka=1)

    words = scope.words(" ".join([*chat[:150], "zubrowka", *chat[150:]]))

    assert words.asked[0] == "zubrowka"
    assert len(words.asked) == TERMS_MAX
    assert {*words.asked, *words.cut} == {*chat, "zubrowka"}
    assert [(count, ceiling) for count, ceiling in scope.ceilings if ceiling > 200] == [(TERMS_MAX - 1, 501)]


def test_a_rarer_word_tells_more_and_what_is_in_every_sentence_tells_next_to_nothing() -> None:
    words = Counted(100, mira=100, tea=1, price=10).words("mira tea price zubrowka")
    weights: dict[str, Any] = dict(words.weights)

    assert weights["zubrowka"] > weights["tea"] > weights["price"] > weights["mira"] > 0
    assert words.weight_in(["tea", "mira", "other"]) == weights["tea"] + weights["mira"]
    assert words.weight_in(["tea", "mira"], ["mira"]) == weights["mira"]
