"""What all extractors share: the checks at the end, budgets, and the choice of extractors."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from consolidation.extraction.base import (
    BUDGET,
    Budget,
    ByName,
    Candidate,
    Code,
    EpisodeText,
    Extraction,
    Extractor,
    Extracts,
    Hold,
    Known,
    Me,
    Operation,
    Span,
    Trust,
    Turn,
    Verdict,
    conclude,
    observed,
    occurs,
)
from consolidation.extraction.mappings import MappingsExtractor
from consolidation.extraction.registry import NAMES, extract, extractors
from consolidation.extraction.rules import RulesExtractor
from ontology.entries import Stated
from ontology.errors import Incorrect, NaiveInstant
from tests.extraction.world import BOGOTA, DEMO, MIRA, episode

TEXT = "Mira lives in Paris."
RIGHT = Span(turn=None, start=0, end=19, quote="Mira lives in Paris")
OTHER = Extractor(name="other", version="1", trust=Trust.INFERRED)


def candidate(span: Span = RIGHT, predicate: str = "lives_in") -> Candidate:
    return Candidate(
        span=span,
        subject=ByName(name="Mira"),
        predicate=predicate,
        value=ByName(name="Paris"),
        operation=Operation.ASSERT,
        stated=Stated(valid_from=None, valid_to=None, zone=None, semantics=None),
        compares_to=None,
        verdict=Verdict.NEW,
        confidence=None,
        extractor=OTHER,
        rule=None,
        unmapped=False,
        holds=(),
    )


class Scripted:
    """Proposes what it is told to."""

    def __init__(self, *candidates: Candidate) -> None:
        self._candidates = candidates

    @property
    def who(self) -> Extractor:
        return OTHER

    def extract(self, text: EpisodeText, known: Sequence[Known], budget: Budget) -> Extraction:
        return conclude(text, DEMO, self._candidates, (), budget)


_extracts: tuple[type[Extracts], ...] = (Scripted, RulesExtractor, MappingsExtractor)


@pytest.mark.parametrize(
    "span",
    [
        replace(RIGHT, quote="Mira lives in paris"),
        replace(RIGHT, start=1),
        replace(RIGHT, end=18),
        replace(RIGHT, start=0, end=0, quote=""),
        replace(RIGHT, start=-20, end=-1),
        replace(RIGHT, end=10_000),
        replace(RIGHT, turn=0),
        replace(RIGHT, turn=7),
    ],
)
def test_a_quote_must_stand_where_its_span_says(span: Span) -> None:
    extraction = conclude(episode(TEXT), DEMO, (candidate(span),), (), BUDGET)

    assert [each.holds for each in extraction.candidates] == [(Hold.QUOTE_MISSING,)]
    assert [note.code for note in extraction.notes] == [Code.QUOTE_MISSING]


def test_a_quote_of_a_turn_is_looked_up_there() -> None:
    turns = (Turn(speaker="a", text="No.", at=None), Turn(speaker="b", text=TEXT, at=None))

    assert occurs(episode(turns), replace(RIGHT, turn=1))
    for turn in (None, 0, 2, -1):
        assert not occurs(episode(turns), replace(RIGHT, turn=turn))


def test_an_undeclared_predicate_is_marked_by_whoever_it_is_proposed() -> None:
    extraction = conclude(episode(TEXT), DEMO, (candidate(predicate="dwells"), candidate()), (), BUDGET)

    assert [(each.predicate, each.unmapped) for each in extraction.candidates] == [
        ("dwells", True),
        ("lives_in", False),
    ]
    assert [note.code for note in extraction.notes] == [Code.UNMAPPED]


def test_candidates_come_in_the_order_of_their_spans_and_no_more_than_the_budget() -> None:
    spans = [Span(turn=None, start=start, end=start + 1, quote=TEXT[start]) for start in (7, 3, 5)]

    extraction = conclude(
        episode(TEXT), DEMO, [candidate(span) for span in spans], (), replace(BUDGET, candidates_max=2)
    )

    assert [each.span.start for each in extraction.candidates] == [3, 5]
    assert [note.code for note in extraction.notes] == [Code.DROPPED]


def test_a_missing_time_is_told_unless_every_turn_has_its_own() -> None:
    timed, untimed = Turn(speaker="a", text=TEXT, at=BOGOTA), Turn(speaker="a", text=TEXT, at=None)

    def told(text: EpisodeText) -> bool:
        return Code.NO_OBSERVED_AT in {note.code for note in conclude(text, DEMO, (), (), BUDGET).notes}

    assert [told(episode(body, at=None)) for body in (TEXT, (timed, untimed), (timed,))] == [True, True, False]
    assert not told(episode((untimed,)))


def test_a_time_needs_an_offset_and_a_zone_that_exists() -> None:
    with pytest.raises(NaiveInstant):
        observed("2024-11-18T23:40:00")
    for text, zone in (("2024", None), ("2024-11-18T23:40:00Z", "Mars/Base"), ("yesterday", None)):
        with pytest.raises(Incorrect):
            observed(text, zone)
    assert observed("2024-11-18", "America/Bogota").instant == observed("2024-11-18T05:00:00Z").instant


def test_who_says_i() -> None:
    turns = (Turn(speaker="mira", text=TEXT, at=None), Turn(speaker="Ben ", text=TEXT, at=None))

    assert [episode(turns).speaker(turn) for turn in (0, 1)] == [MIRA, ByName(name="Ben")]
    assert (episode(TEXT).speaker(None), episode(TEXT, me=None).speaker(None)) == (MIRA, Me())


def test_what_two_extractors_propose_is_kept_once() -> None:
    text = episode("I live in Oslo. Mira lives in Paris. Mira lives in Paris.")
    second = Scripted(candidate(replace(RIGHT, start=16, end=35)), candidate(replace(RIGHT, start=0, end=0, quote="")))

    extraction = extract(text, (*extractors(DEMO, ["rules", "mappings"]), second), (), BUDGET)

    assert [(each.extractor.name, each.span.start) for each in extraction.candidates] == [
        ("rules", 0),
        ("rules", 16),
        ("rules", 37),
    ]
    assert [note.code for note in extraction.notes] == [Code.QUOTE_MISSING, Code.DROPPED, Code.DROPPED]


def test_extractors_are_made_by_name_in_a_fixed_order() -> None:
    assert NAMES == ("mappings", "rules", "llm")
    assert [each.who.name for each in extractors(DEMO, ["rules", "mappings"])] == ["mappings", "rules"]
    with pytest.raises(Incorrect, match="there is no extractor 'regex'; use mappings, rules, llm"):
        extractors(DEMO, ["regex"])
    with pytest.raises(Incorrect, match="needs a model"):
        extractors(DEMO, ["llm"])


def test_a_model_comes_with_its_extractor() -> None:
    pytest.importorskip("pydantic_ai", reason="the extra llm is not installed")
    from consolidation.extraction.llm import openai_model

    model = openai_model("small", base_url="http://127.0.0.1:9/v1", api_key="none")
    assert [each.who.name for each in extractors(DEMO, ["llm", "rules"], model)] == ["rules", "llm"]
