"""What a model says of an episode is data: its quotes are looked up, and without an answer sentences stand in."""

import json
import logging
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="the extra llm is not installed")

from consolidation.extraction.base import Turn
from consolidation.extraction.llm import RETRIES, openai_model
from consolidation.extraction.llm_summary import LlmSummary
from consolidation.summary import SUMMARY_CHARS_MAX
from ontology.episodes import Cited, EpisodeRecord
from ontology.ids import EpisodeId
from ontology.scope import scope_of
from tests.extraction.chat_server import Answer, ChatServer, called
from tests.extraction.world import DEMO, episode

TURNS = (
    Turn(speaker="Mira", text="Please fix the login.", at=None),
    Turn(speaker="agent", text="I restarted it. It works now.", at=None),
)


def account(**parts: Any) -> dict[str, Any]:
    return {
        "summary": "The login was fixed by a restart.",
        "attempted": [{"turn": 0, "quote": "fix the login"}],
        "happened": [{"turn": 1, "quote": "I restarted it"}],
        "decisions": [],
        "outcome": [{"turn": 1, "quote": "It works now"}],
    } | parts


def made(*answers: Answer, turns: tuple[Turn, ...] = TURNS) -> tuple[EpisodeRecord, ChatServer]:
    with ChatServer(list(answers)).running() as server:
        summary = LlmSummary(openai_model("small", base_url=server.url, api_key="none"))
        return summary.summarise(
            EpisodeId("epi_abcdefgh_1_0"), scope_of("acme"), episode(turns), (), DEMO
        ), server  # fmt: skip


def test_the_summary_is_in_words_of_its_own_and_the_rest_cites_the_episode() -> None:
    record, server = made(called(account()))
    assert (record.made_by, record.summary) == ("llm 1/small", "The login was fixed by a restart.")
    assert record.attempted == (Cited(0, 7, 20),)
    assert (record.happened, record.decisions, record.outcome) == ((Cited(1, 0, 14),), (), (Cited(1, 16, 28),))
    assert record.sentences
    shown = json.loads(server.requests[0]["messages"][-1]["content"])
    assert shown["passages"][0] == {"turn": 0, "speaker": "Mira", "text": "Please fix the login."}


def test_a_quote_that_does_not_occur_is_left_out_and_one_in_another_turn_is_found_there() -> None:
    wrong = [{"turn": 0, "quote": "It works now"}, {"turn": 1, "quote": "never said"}]
    record, _ = made(called(account(outcome=wrong, happened=[*wrong, *wrong])))
    assert (record.outcome, record.happened) == ((Cited(1, 16, 28),), (Cited(1, 16, 28),))


@pytest.mark.parametrize(
    "answer", [called("no JSON"), called({"summary": "x"}), (500, {"error": {"message": "busy"}}), (401, {})], ids=str
)
def test_without_a_usable_answer_sentences_stand_in(answer: Answer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        record, server = made(answer)
    assert (record.made_by, record.summary) == ("extractive 1", None)
    assert record.sentences
    assert len(server.requests) <= 1 + RETRIES
    assert "sentences stand in" in caplog.text
    assert "login" not in caplog.text, "logs hold no words of an episode"


def test_a_summary_that_is_long_is_cut_and_one_that_is_too_long_is_no_answer() -> None:
    assert made(called(account(summary="x" * 1_500)))[0].summary == "x" * SUMMARY_CHARS_MAX
    assert made(called(account(summary="x" * 5_000)))[0].made_by == "extractive 1"


def test_what_has_no_words_asks_no_model() -> None:
    record, server = made(called(account()), turns=(Turn(speaker="Mira", text="  ", at=None),))
    assert (record.made_by, server.requests) == ("extractive 1", [])
