"""Candidates that a language model concludes from a text, by way of pydantic-ai and whatever provider it knows.

The model walks a fixed way for each statement: evidence, subject, attribute, period, comparison, proposal. What
it answers is data of low trust: its quotes are looked up, its predicates, values and dates are read as those of
any other extractor, and nothing in its answer can raise what a candidate is worth. Needs the extra `llm`.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from consolidation.extraction.base import (
    Budget,
    ByName,
    Candidate,
    Code,
    EpisodeText,
    Extraction,
    Extractor,
    Known,
    Me,
    Mention,
    Note,
    Operation,
    Span,
    Trust,
    Verdict,
    conclude,
    cut,
)
from consolidation.extraction.reading import Unread, label_of, stated_of, value_of
from consolidation.items import ABSENT
from ontology.errors import JSON, Incorrect, Unsupported, shown
from ontology.ids import FactId
from ontology.patterns import Meaning, Slot
from ontology.schema import Predicate, Schema
from ontology.values import ValueType

if TYPE_CHECKING:
    from pydantic_ai import ModelSettings
    from pydantic_ai.models import Model

VERSION: Final = "1"
RETRIES: Final = 2
"""How often a model is asked again after an answer of the wrong shape."""
READINGS_MAX: Final = 200
KNOWN_MAX: Final = 200
"""Facts that are shown for comparison."""
_REASON_CHARS: Final = 300

A = TypeVar("A", bound=BaseModel)


class Step(BaseModel):
    """A part of an answer, of exactly this shape."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Evidence(Step):
    """Where the episode says it."""

    turn: int | None
    quote: Annotated[str, Field(min_length=1, max_length=2_000)]


class Subject(Step):
    """Who or what it is about; `name` is empty for the speaker."""

    kind: Literal["speaker", "named"]
    name: Annotated[str, Field(max_length=500)]


class Attribute(Step):
    """What is said of it; `value` is null only where nothing at all holds any longer."""

    predicate: Annotated[str, Field(min_length=1, max_length=128)]
    value: Annotated[str, Field(max_length=10_000)] | None


class Period(Step):
    """When it holds, in the words of the episode."""

    begins: Annotated[str, Field(max_length=200)] | None
    ends: Annotated[str, Field(max_length=200)] | None


class Comparison(Step):
    """How it relates to what is known."""

    fact: str | None
    relation: Literal["new", "same", "change", "correction", "conflict"]


class Proposal(Step):
    """What to do about it."""

    operation: Literal["assert", "retract", "replace"]
    confidence: Annotated[float, Field(ge=0, le=1)]


class Reading(Step):
    """One statement, in the order in which it is to be thought through."""

    evidence: Evidence
    subject: Subject
    attribute: Attribute
    period: Period
    comparison: Comparison
    proposal: Proposal


class Readings(Step):
    """All statements of the episode."""

    readings: Annotated[list[Reading], Field(max_length=READINGS_MAX)]


def openai_model(name: str, *, base_url: str, api_key: str) -> "Callable[[], Model]":
    """What makes a model behind any server that speaks the OpenAI chat protocol.

    Raises `Unsupported` without the extra `llm`.
    """
    try:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider
    except ImportError as exc:
        raise _missing_extra() from exc
    return lambda: OpenAIChatModel(name, provider=OpenAIProvider(base_url=base_url, api_key=api_key))


class LlmExtractor:
    """Asks one model about the predicates of one schema.

    `model` makes one of pydantic-ai, or is its name as `provider:model`. Raises `Unsupported` without the extra `llm`.
    """

    def __init__(self, schema: Schema, model: "Callable[[], Model] | str") -> None:
        self._schema = schema
        self._model = model
        self._who = Extractor(name="llm", version=f"{VERSION}/{model_name(model)}", trust=Trust.INFERRED)

    @property
    def who(self) -> Extractor:
        return self._who

    def extract(self, text: EpisodeText, known: Sequence[Known], budget: Budget) -> Extraction:
        """What the model proposes; one request, and up to two more where its answer has the wrong shape."""
        notes: list[Note] = []
        passages = list(cut(text, budget, notes))
        shown_facts = {f"k{index}": fact for index, fact in enumerate(known[:KNOWN_MAX], 1)}
        if len(known) > KNOWN_MAX:
            detail = f"{len(known)} known facts, {KNOWN_MAX} are shown to the model for comparison"
            notes.append(Note(code=Code.DROPPED, detail=detail, span=None))
        if not any(passage.strip() for _, passage in passages):
            return conclude(text, self._schema, (), notes, budget)
        answer = self._ask(self._question(text, passages, shown_facts), budget, notes)
        candidates = []
        for reading in answer:
            span = _span(passages, reading.evidence)
            try:
                candidates.append(self._candidate(text, span, reading, shown_facts, notes))
            except Unread as exc:
                notes.append(Note(code=exc.code, detail=str(exc), span=span))
        return conclude(text, self._schema, candidates, notes, budget)

    def _ask(self, question: str, budget: Budget, notes: list[Note]) -> list[Reading]:
        from pydantic_ai.exceptions import AgentRunError, ModelAPIError, RunTimedOut, UserError

        def note(code: Code, what: str, exc: Exception) -> None:
            reason = (str(exc).splitlines() or [type(exc).__name__])[0].removesuffix(", body:")[:_REASON_CHARS]
            notes.append(Note(code=code, detail=f"the model {self._who.version} {what}: {reason}", span=None))

        try:
            answer = answer_of(self._model, Readings, prompt(), question, budget.seconds_max)
            return asyncio.run(answer).readings
        except (RunTimedOut, ModelAPIError) as exc:
            # a request that the provider refuses for what it is would be refused again
            status = getattr(exc, "status_code", 500)
            lasting = 400 <= status < 500 and status not in (408, 409, 429)
            note(Code.FAILED if lasting else Code.UNAVAILABLE, "gave no answer", exc)
        except (AgentRunError, UserError) as exc:
            note(Code.FAILED, "gave no usable answer", exc)
        return []

    def _question(self, text: EpisodeText, passages: Iterable[tuple[int | None, str]], known: dict[str, Known]) -> str:
        document: dict[str, JSON] = {
            "predicates": [_declared(each) for each in self._schema.predicates.values()],
            "known": [
                {"id": id, "subject": called(fact.subject), "predicate": fact.predicate, "value": fact.value}
                for id, fact in known.items()
            ],
            "passages": [
                {
                    "turn": turn,
                    "speaker": called(text.speaker(turn)),
                    "at": said.text if (said := text.at(turn)) else None,
                    "text": sound(passage),
                }
                for turn, passage in passages
            ],
        }
        return json.dumps(document, ensure_ascii=False)

    def _candidate(
        self, text: EpisodeText, span: Span, reading: Reading, known: dict[str, Known], notes: list[Note]
    ) -> Candidate:
        attribute, comparison, proposal = reading.attribute, reading.comparison, reading.proposal
        subject = _subject(text, span, reading.subject)
        try:
            predicate = self._schema.predicates.get(attribute.predicate) or _undeclared(attribute.predicate)
        except Incorrect as exc:
            raise Unread(Code.REFUSED_SHAPE, exc.message) from None
        operation, verdict = Operation(proposal.operation), Verdict(comparison.relation)
        if attribute.value is None and operation is not Operation.RETRACT:
            raise Unread(
                Code.REFUSED_SHAPE, f"the model proposes to {operation} {shown(predicate.name)} without a value"
            )
        value, zone = (
            (ABSENT, None)
            if attribute.value is None
            else value_of(text, span, predicate, attribute.value, notes, wording=None)
        )
        phrases = {
            slot: phrase
            for slot, phrase in ((Slot.FROM, reading.period.begins), (Slot.TO, reading.period.ends))
            if phrase is not None and phrase.strip()
        }
        stated, holds = stated_of(text, span, _meaning(operation, verdict), phrases, notes)
        return Candidate(
            span=span, subject=subject, predicate=predicate.name, value=value, operation=operation,
            stated=stated if stated.zone is not None else replace(stated, zone=zone),
            compares_to=_compared(comparison.fact, known, span, notes), verdict=verdict,
            confidence=proposal.confidence, extractor=self._who, rule=None,
            unmapped=predicate.name not in self._schema.predicates, holds=holds,
        )  # fmt: skip


def model_name(model: "Callable[[], Model] | str") -> str:
    """How a model is called. Raises `Unsupported` without the extra `llm`."""
    try:
        import pydantic_ai  # noqa: F401
    except ImportError as exc:
        raise _missing_extra() from exc
    return model if isinstance(model, str) else model().model_name


async def answer_of(
    model: "Callable[[], Model] | str", output: type[A], instructions: str, question: str, seconds: float
) -> A:
    """What a model says, over connections that end with it: each question has a loop of its own, in whichever thread
    it is asked, and what was opened in one loop is of no use in another."""
    from pydantic_ai import Agent

    agent: Agent[None, A] = Agent(
        model if isinstance(model, str) else model(),
        output_type=output, instructions=instructions, retries={"output": RETRIES}, defer_model_check=True,
    )  # fmt: skip
    async with agent:
        settings: ModelSettings = {"temperature": 0.0, "timeout": seconds, "max_retries": 0}
        return (await agent.run(question, model_settings=settings, timeout=seconds)).output


def prompt() -> str:
    """The instructions, the same for every episode."""
    return (resources.files(__package__) / "prompt.md").read_text(encoding="utf-8")


def _declared(each: Predicate) -> dict[str, JSON]:
    return {
        "name": each.name,
        "means": each.description or each.label,
        "value": "the name of a thing" if each.datatype is ValueType.ENTITY else each.datatype or "text",
        "unit": each.unit,
    }


def _undeclared(name: str) -> Predicate:
    """What any schema that is open would take it for; it is staged, not written."""
    from ontology.schema import EMPTY

    return EMPTY.predicate(name)


def called(mention: Mention) -> str | None:
    match mention:
        case ByName(name=name):
            return name
        case Me():
            return None
        case _:
            return mention.key


def sound(passage: str) -> str:
    """The text without half characters, which no request can carry."""
    return passage.encode("utf-8", "replace").decode("utf-8")


def _span(passages: Sequence[tuple[int | None, str]], evidence: Evidence) -> Span:
    """Where the quote stands: in the turn that is named, else in the first that has it; empty if in none."""
    for turn, passage in sorted(passages, key=lambda each: each[0] != evidence.turn):
        start = passage.find(evidence.quote)
        if start >= 0:
            return Span(turn=turn, start=start, end=start + len(evidence.quote), quote=evidence.quote)
    return Span(turn=passages[0][0], start=0, end=0, quote=evidence.quote)


def _subject(text: EpisodeText, span: Span, subject: Subject) -> Mention:
    if subject.kind == "speaker":
        return text.speaker(span.turn)
    return ByName(name=label_of(subject.name.strip(), "subject"))


def _meaning(operation: Operation, verdict: Verdict) -> Meaning:
    if operation is Operation.RETRACT:
        return Meaning.RETRACT
    if operation is Operation.REPLACE:
        return Meaning.CORRECT
    return Meaning.CHANGE if verdict is Verdict.CHANGE else Meaning.ASSERT


def _compared(id: str | None, known: dict[str, Known], span: Span, notes: list[Note]) -> FactId | None:
    if id is None:
        return None
    if id in known:
        return known[id].id
    detail = f"the model compares to a fact {shown(id)}, which it was not shown; the comparison is dropped"
    notes.append(Note(code=Code.REFUSED_SHAPE, detail=detail, span=span))
    return None


def _missing_extra() -> Unsupported:
    return Unsupported(
        "extraction by a model needs the extra 'llm', which is not installed",
        remedy="install vigencia[llm], or leave 'llm' out of the extractors",
    )
