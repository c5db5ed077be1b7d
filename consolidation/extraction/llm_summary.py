"""What an episode comes down to, as a language model puts it: a summary in words of its own, and quotes for the rest.

What it answers is data: each quote is looked up in the words of the episode, and one that does not occur there is left
out. Where the model gives no usable answer the sentences of the episode stand in for it.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from consolidation.extraction.base import BUDGET, Budget, Candidate, EpisodeText, Note, cut
from consolidation.extraction.llm import Evidence, Step, answer_of, called, model_name, sound
from consolidation.summary import SENTENCES_MAX, SUMMARY_CHARS_MAX, Extractive, Summarises
from ontology.episodes import Cited, EpisodeRecord
from ontology.ids import EpisodeId
from ontology.schema import Schema
from ontology.scope import Scope

if TYPE_CHECKING:
    from pydantic_ai.models import Model

VERSION: Final = "1"

log = logging.getLogger("vigencia.consolidation.extraction.llm_summary")

_Quotes = Annotated[list[Evidence], Field(max_length=SENTENCES_MAX)]


class Account(Step):
    """The answer of the model."""

    summary: Annotated[str, Field(min_length=1, max_length=2 * SUMMARY_CHARS_MAX)]
    attempted: _Quotes
    happened: _Quotes
    decisions: _Quotes
    outcome: _Quotes


class LlmSummary:
    """Asks one model. `model` is as for `LlmExtractor`; raises `Unsupported` without the extra `llm`."""

    def __init__(self, model: "Callable[[], Model] | str", budget: Budget = BUDGET) -> None:
        self._model = model
        self._made_by = f"llm {VERSION}/{model_name(model)}"
        self._budget = budget

    def summarise(
        self, episode: EpisodeId, scope: Scope, text: EpisodeText, found: Sequence[Candidate], schema: Schema
    ) -> EpisodeRecord:
        """The record of an episode; one request, and up to two more where the answer has the wrong shape."""
        plain = Extractive().summarise(episode, scope, text, found, schema)
        notes: list[Note] = []
        passages = list(cut(text, self._budget, notes))
        if not any(passage.strip() for _, passage in passages):
            return plain
        account = self._ask(_question(text, passages))
        if account is None:
            return plain
        return EpisodeRecord(
            episode=episode,
            scope=scope,
            made_by=self._made_by,
            summary=sound(account.summary)[:SUMMARY_CHARS_MAX],
            sentences=plain.sentences,
            attempted=_places(passages, account.attempted),
            happened=_places(passages, account.happened),
            decisions=_places(passages, account.decisions),
            outcome=_places(passages, account.outcome),
        )

    def _ask(self, question: str) -> Account | None:
        from pydantic_ai.exceptions import AgentRunError, ModelAPIError, RunTimedOut, UserError

        prompt = (resources.files(__package__) / "summary_prompt.md").read_text(encoding="utf-8")
        try:
            return asyncio.run(answer_of(self._model, Account, prompt, question, self._budget.seconds_max))
        except (RunTimedOut, ModelAPIError, AgentRunError, UserError) as exc:
            # the answer of a model may hold what it was shown, so no more of it is told than its kind
            log.warning("%s gave no usable summary (%s); sentences stand in for it", self._made_by, type(exc).__name__)
            return None


def _question(text: EpisodeText, passages: Iterable[tuple[int | None, str]]) -> str:
    listed = [
        {"turn": turn, "speaker": called(text.speaker(turn)), "text": sound(passage)} for turn, passage in passages
    ]
    return json.dumps({"passages": listed}, ensure_ascii=False)


def _places(passages: Sequence[tuple[int | None, str]], quotes: Iterable[Evidence]) -> tuple[Cited, ...]:
    """Where quotes stand, in the order of the words and without those that do not occur."""
    found: dict[Cited, None] = {}
    for each in quotes:
        for turn, passage in sorted(passages, key=lambda passage: passage[0] != each.turn):
            start = passage.find(each.quote)
            if start >= 0:
                found[Cited(turn, start, start + len(each.quote))] = None
                break
    return tuple(sorted(found, key=lambda at: (-1 if at.turn is None else at.turn, at.start, at.end)))


_conforms: type[Summarises] = LlmSummary
