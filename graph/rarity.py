"""Which words of a question are worth asking for.

A word that is in every other sentence costs an engine much and tells little: it is dropped while rarer ones remain, and
counts again when what the rarer ones found is put in order. Of a long question, and of one whose words are all common
in a large memory, the rarest words are asked for.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from graph.searching import SearchReader, Texts

COMMON_SHARE: Final = 0.05
"""Of the texts of a kind in a scope: what more of them have is common."""
COMMON_MIN: Final = 100
"""What no more texts have is never common: it costs nothing, and a small memory has few words."""
TOGETHER_MAX: Final = 30_000
"""The rarest words are asked for that are in so many texts together, and at least one."""
TERMS_MAX: Final = 24
"""The rarest so many are asked for."""
_FIRST_CEILING: Final = 200
_CEILING: Final = 5_000
"""What so many texts have is common, however large the scope is."""
_FURTHER: Final = 4
"""So many times further it is looked where that is not far enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words of a question, by what becomes of them among the texts of one kind."""

    asked: tuple[str, ...]
    """The rarest first: each is in some text."""
    dropped: tuple[str, ...]
    """Too common, in the order of the question."""
    cut: tuple[str, ...]
    """Beyond what is asked for of a long question, in its order."""
    weights: Mapping[str, float]
    """How much each word of the question tells: its inverse document frequency, as BM25 has it."""

    def weight_in(self, found: Collection[str], terms: Collection[str] | None = None) -> float:
        """What the words of the question, or these of them, tell that are in a text with the words `found`."""
        return sum(self.weights[term] for term in (self.weights if terms is None else terms) if term in found)


def words_of(reader: SearchReader, texts: Texts, terms: Sequence[str]) -> Words:
    """Judge the terms of a question by how many texts of a kind have them."""
    total, counted = reader.term_counts(texts, terms, ceiling=_FIRST_CEILING)
    counts = {term: counted.get(term, 0) for term in terms}
    limit = max(COMMON_MIN, int(total * COMMON_SHARE))
    present = [term for term in _rarest_first(terms, counts) if counts[term]]
    looked_at = present[:TERMS_MAX]
    doubtful = [term for term in looked_at if counts[term] >= _FIRST_CEILING]
    if limit >= _FIRST_CEILING and doubtful:
        _, exactly = reader.term_counts(texts, doubtful, ceiling=min(limit + 1, _CEILING))
        counts |= exactly
    common = {term for term in looked_at if counts[term] > limit or counts[term] >= _CEILING}
    if len(common) == len(looked_at):  # no rarer ones remain
        common -= _rarest(reader, texts, common, total, counts)
    asked = _together([term for term in _rarest_first(looked_at, counts) if term not in common], counts)
    return Words(
        asked=tuple(asked),
        dropped=tuple(term for term in terms if term in common),
        cut=tuple(term for term in terms if counts[term] and term not in common and term not in asked),
        weights={term: _telling(counts[term], total) for term in terms},
    )


def _rarest(
    reader: SearchReader, texts: Texts, common: Collection[str], total: int, counts: dict[str, int]
) -> set[str]:
    """Those to ask for of words that are all common; `counts` learns how common, as far as that was looked at.

    It is looked further only as long as all are more common than that: what is in nearly every text is not counted to
    its end.
    """
    ceiling = TOGETHER_MAX
    if total * len(common) <= TOGETHER_MAX:
        return set(common)
    while True:
        _, further = reader.term_counts(texts, sorted(common), ceiling=ceiling)
        counts |= further
        if ceiling >= total or any(counts[term] < ceiling for term in common):
            break
        ceiling *= _FURTHER
    return set(_together(_rarest_first(common, counts), counts))


def _together(terms: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    """The first of these that are in `TOGETHER_MAX` texts together, and at least one if there is one."""
    sums = accumulate(counts[term] for term in terms)
    return [term for at, (term, sum) in enumerate(zip(terms, sums, strict=True)) if not at or sum <= TOGETHER_MAX]


def _rarest_first(terms: Collection[str], counts: Mapping[str, int]) -> list[str]:
    """Of words that are as rare the longest first."""
    return sorted(terms, key=lambda term: (counts[term], -len(term), term))


def _telling(count: int, sentences: int) -> float:
    """Robertson, Zaragoza 2009, BM25: ln(1 + (N - n + ½) / (n + ½))."""
    return math.log(1 + (max(sentences, count) - count + 0.5) / (count + 0.5))
