"""What an episode comes down to, in its own sentences."""

from hypothesis import given
from hypothesis import strategies as st

from consolidation.extraction.base import Candidate, EpisodeText, Turn
from consolidation.summary import SENTENCE_CHARS_MAX, SENTENCES_MAX, SUMMARY_CHARS_MAX, summarise
from ontology.episodes import Cited, EpisodeRecord
from ontology.ids import EpisodeId
from ontology.schema import Schema
from ontology.scope import scope_of
from tests.extraction.world import DEMO, episode, read, schema

ID = EpisodeId("epi_abcdefgh_1_0")


def record(text: EpisodeText, found: tuple[Candidate, ...] = (), under: Schema = DEMO) -> EpisodeRecord:
    return summarise(ID, scope_of("acme"), text, found, under)


def words(text: EpisodeText, part: tuple[Cited, ...]) -> list[str]:
    return [text.verbatim(at.turn)[at.start : at.end] for at in part]


STORY = episode(
    (
        Turn(speaker="Mira", text="Hello. How are you today? Please fix the login page.", at=None),
        Turn(speaker="agent", text="I tried a restart. It failed. I moved to Paris in 2020, by the way.", at=None),
        Turn(speaker="Mira", text="We decided to keep Postgres. The login works now.", at=None),
    )
)


def test_the_sentences_that_claims_quote_come_first_then_the_earliest() -> None:
    text = "One is here. Two is here. Three is here. Four is here. Five is here. Mira lives in Paris."
    found = read(text, me=None)
    told = episode(text)
    assert words(told, record(told, found.candidates).sentences) == [
        "One is here", "Two is here", "Three is here", "Four is here", "Mira lives in Paris",
    ]  # fmt: skip
    assert words(told, record(told).sentences)[-1] == "Five is here"


def test_it_tells_what_was_attempted_what_was_decided_and_how_it_ended() -> None:
    made = record(STORY)
    assert words(STORY, made.attempted) == ["Please fix the login page", "I tried a restart"]
    assert words(STORY, made.decisions) == ["We decided to keep Postgres"]
    assert words(STORY, made.outcome) == ["The login works now"]
    assert made.made_by == "extractive 1"
    assert made.summary is None


def test_what_claims_quote_is_what_happened() -> None:
    text = "Mira lives in Paris. The weather is fine."
    told = episode(text)
    assert words(told, record(told, read(text, me=None).candidates).happened) == ["Mira lives in Paris"]
    assert record(told).happened == ()


def test_a_claim_of_the_kind_decision_decides_whatever_its_words_are() -> None:
    under = schema("predicates:\n  picks: {kind: decision, patterns: ['{subject} picks {value}']}\n")
    text = "Mira picks Oslo. Mira lives in Paris."
    told = episode(text)
    made = record(told, read(text, under, me=None).candidates, under)
    assert words(told, made.decisions) == ["Mira picks Oslo"]
    assert words(told, made.happened) == ["Mira lives in Paris"]


def test_a_question_decides_and_ends_nothing() -> None:
    told = episode("Have we decided? Did it work, is it done? Nobody knows.")
    made = record(told)
    assert (made.decisions, made.outcome) == ((), ())


def test_a_long_sentence_is_cut_after_a_word_and_a_long_text_to_a_few() -> None:
    told = episode("word " * 400 + ". " + "A sentence is here. " * 50)
    made = record(told)
    (first, *_) = words(told, made.sentences)
    assert len(first) <= SENTENCE_CHARS_MAX
    assert first.endswith("word")
    assert len(made.sentences) == SENTENCES_MAX


@given(texts=st.lists(st.text(max_size=2_000), min_size=1, max_size=4))
def test_every_place_holds_and_nothing_is_too_long(texts: list[str]) -> None:
    told = episode(tuple(Turn(speaker="Mira", text=text, at=None) for text in texts))
    made = record(told)
    for part in (made.sentences, made.attempted, made.happened, made.decisions, made.outcome):
        assert len(part) <= SENTENCES_MAX
        assert list(part) == sorted(part)
        for at in part:
            assert at.turn is not None
            assert 0 <= at.start < at.end <= len(texts[at.turn])
    assert sum(at.end - at.start for at in made.sentences) <= SUMMARY_CHARS_MAX
    assert made == record(told)
