"""What an episode comes down to, in its own sentences: the few that say most, and which tell what came of it.

Pure, and the same each time. The sentences that claims quote come first, then the earliest; what was attempted, what
was decided and how it ended is told by the words that people use for it, in English, or by the kind of a predicate.
Nothing is written anew: each part is a place in the words of the episode. A model may do it in its stead
(extraction/llm_summary.py).
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from consolidation.extraction.base import Candidate, EpisodeText
from consolidation.extraction.sentences import sentences
from ontology.episodes import Cited, EpisodeRecord
from ontology.ids import EpisodeId
from ontology.schema import Kind, Schema
from ontology.scope import Scope

MADE_BY: Final = "extractive 1"
SENTENCES_MAX: Final = 5
"""In the summary, and in each part."""
SENTENCE_CHARS_MAX: Final = 300
SUMMARY_CHARS_MAX: Final = 1_000

_DECIDED: Final = re.compile(
    r"\b(?:decid(?:e|es|ed)|agreed|chose|opted|resolved to|settled on|going with|we will|we'll|let's)\b", re.IGNORECASE
)
_ATTEMPTED: Final = re.compile(
    r"\b(?:tr(?:y|ies|ied|ying)|attempt(?:s|ed|ing)?|want(?:s|ed)? to|need(?:s|ed)? to|plan(?:s|ned|ning)? to|"
    r"going to|started|asked|please|can you|could you)\b",
    re.IGNORECASE,
)
_ENDED: Final = re.compile(
    r"\b(?:done|finished|worked|works|fail(?:s|ed)|succeeded|fixed|solved|completed|passed|could not|couldn't|"
    r"cannot|can't|gave up|in the end|finally|as a result)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Said:
    """A sentence of the episode."""

    at: Cited
    text: str
    asks: bool
    quoted: bool
    """Whether a claim quotes some of it."""
    decides: bool
    """Whether such a claim is a decision."""


class Summarises(Protocol):
    """What makes the record of an episode in which these candidates were found."""

    def summarise(
        self, episode: EpisodeId, scope: Scope, text: EpisodeText, found: Sequence[Candidate], schema: Schema
    ) -> EpisodeRecord: ...


class Extractive:
    """Makes it without a model."""

    def summarise(
        self, episode: EpisodeId, scope: Scope, text: EpisodeText, found: Sequence[Candidate], schema: Schema
    ) -> EpisodeRecord:
        return summarise(episode, scope, text, found, schema)


def summarise(
    episode: EpisodeId, scope: Scope, text: EpisodeText, found: Sequence[Candidate], schema: Schema
) -> EpisodeRecord:
    """The record of an episode, of its own sentences."""
    said = list(_said(text, found, schema))
    decisions = [each for each in said if each.decides or (_DECIDED.search(each.text) and not each.asks)]
    ended = [each for each in said if _ENDED.search(each.text) and not each.asks and each not in decisions]
    tried = [each for each in said if _ATTEMPTED.search(each.text) and each not in (*decisions, *ended)]
    happened = [each for each in said if each.quoted and each not in (*decisions, *ended[-1:], *tried)]
    return EpisodeRecord(
        episode=episode,
        scope=scope,
        made_by=MADE_BY,
        summary=None,
        sentences=_chosen(said),
        attempted=_places(tried[:SENTENCES_MAX]),
        happened=_places(happened[:SENTENCES_MAX]),
        decisions=_places(decisions[:SENTENCES_MAX]),
        outcome=_places(ended[-1:]),
    )


def _said(text: EpisodeText, found: Sequence[Candidate], schema: Schema) -> Iterator[_Said]:
    for turn, passage in text.passages():
        spans = [each.span for each in found if each.span.turn == turn]
        decided = [each.span for each in found if each.span.turn == turn and _is_decision(each, schema)]
        for each in sentences(passage):
            at = Cited(turn, each.start, _end(passage, each.start, each.end))
            yield _Said(
                at,
                passage[each.start : each.end],
                each.asks,
                any(span.start < each.end and span.end > each.start for span in spans),
                any(span.start < each.end and span.end > each.start for span in decided),
            )


def _is_decision(candidate: Candidate, schema: Schema) -> bool:
    known = schema.predicates.get(candidate.predicate)
    return known is not None and known.kind is Kind.DECISION


def _end(passage: str, start: int, end: int) -> int:
    """The end of a sentence; a long one is cut after a word."""
    if end - start <= SENTENCE_CHARS_MAX:
        return end
    blank = passage.rfind(" ", start + SENTENCE_CHARS_MAX // 2, start + SENTENCE_CHARS_MAX)
    return blank if blank > 0 else start + SENTENCE_CHARS_MAX


def _chosen(said: Collection[_Said]) -> tuple[Cited, ...]:
    """As many as there is room for, the quoted ones first; in the order of the episode."""
    taken: list[_Said] = []
    room = SUMMARY_CHARS_MAX
    for each in sorted(said, key=lambda each: not each.quoted):
        length = each.at.end - each.at.start
        if len(taken) < SENTENCES_MAX and length <= room:
            taken.append(each)
            room -= length
    return tuple(each.at for each in said if each in taken)


def _places(said: Iterable[_Said]) -> tuple[Cited, ...]:
    return tuple(each.at for each in said)


_conforms: type[Summarises] = Extractive
