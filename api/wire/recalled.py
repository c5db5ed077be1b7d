"""Questions in words on the wire: what a body may hold, and what the packet that answers it looks like."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.wire import rendering
from api.wire.answers import LIVE, AsOf, EntityRef, Fact, Live, When
from api.wire.bodies import DateText
from api.wire.found import vectors_wire
from api.wire.rendering import Names, Versions, Wire
from consolidation.questions import Dated
from graph.mentions import How, Mentions
from graph.packet import Line, Packet, Quote
from graph.recall import Why
from graph.search import Found
from ontology.claims import Claim
from ontology.echoes import marker
from ontology.errors import JSON
from ontology.instants import Instant
from ontology.schema import Kind

QUESTION_CHARS_MAX: Final = 8_000
TOKENS_MIN: Final = 200
TOKENS: Final = 1_000
TOKENS_MAX: Final = 16_000
MILLISECONDS_MAX: Final = 5_000
LINES_MAX: Final = 200
QUESTION: Final[dict[str, Any]] = {
    "what was believed on 2 June": {"question": "What did we believe on 2 June about mira's passport on 10 June?"},
    "a small packet": {"question": "Where does Mira live?", "tokens": 300, "kinds": ["fact"]},
}

KindWord = Literal["working_note", "fact", "preference", "decision", "skill"]

_HOW: Final[Mapping[How, str]] = {How.EXACT: "exact", How.ALIKE: "alike", How.PART: "part"}
_WHY: Final[Mapping[Why, str]] = {
    Why.ASKED: "asked", Why.STATE: "state", Why.FOUND: "found", Why.AROUND: "around",
}  # fmt: skip


class RecallBody(BaseModel):
    """A question in words, and what its answer may cost."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    question: str = Field(
        min_length=1, max_length=QUESTION_CHARS_MAX, description="In words, with dates if it has any."
    )
    namespace: Annotated[str, Field(max_length=500)] = "default"
    purpose: Annotated[str, Field(max_length=500)] = "general"
    session: Annotated[str, Field(max_length=500)] | None = Field(
        None, description="Where the answer is served to an agent: what it says again in this session is an echo."
    )
    valid_at: DateText | None = Field(
        None, description="When it holds in the world; else as the question says, or now."
    )
    known_at: DateText | None = Field(
        None, description="What was known then; else as the question says, or the newest commit."
    )
    zone: DateText | None = Field(None, description="In which the days of the question are meant; UTC if left out.")
    tokens: int = Field(TOKENS, ge=TOKENS_MIN, le=TOKENS_MAX, description="What the text may have at most.")
    milliseconds: int = Field(1_000, ge=1, le=MILLISECONDS_MAX, description="After which nothing more is looked for.")
    kinds: list[KindWord] | None = Field(
        None, description="Only what is kept under predicates of these kinds.", json_schema_extra={"maxItems": 5}
    )
    episodes: bool = Field(
        False,
        description="Whether words of episodes are quoted, too, behind the facts: they may tell what does not hold.",
    )
    limit: int = Field(50, ge=1, le=LINES_MAX, description="How many lines it may have at most.")
    min_position: int | None = Field(None, ge=0, lt=2**62)

    def wanted(self) -> frozenset[Kind]:
        return frozenset(Kind(word) for word in self.kinds or ())


class _Answer(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class SourceAnswer(_Answer):
    """Who said so, where."""

    claim: str
    source: str
    episode: str | None


class LineAnswer(_Answer):
    """One fact of a packet."""

    fact: Fact
    sentence: str
    kind: KindWord
    why: Literal["asked", "state", "found", "around"] = Field(
        description="`asked`: of what is named, under what is asked for; `state`: of what is named; `found`: by a "
        "search; `around`: some steps away."
    )
    depth: int
    rivals: int = Field(description="How many other values of its slot, which takes one, hold as well.")
    sources: list[SourceAnswer] = Field(description="Of the first claims that it rests on.")
    marker: str = Field(description="What its line in the text ends with.")


class QuoteAnswer(_Answer):
    """Words of an episode: what was said, whether or not it holds."""

    episode: str
    turn: int | None
    start: int
    end: int
    text: str
    source: str
    observed_at: When | None
    recorded_at: When | None


class SearchAnswer(_Answer):
    """What the search that was needed tells of itself; `null` where exact state answered the question."""

    vectors: dict[str, Any] = Field(description="Whether meaning was searched, above which cosine, and why not.")
    dropped_terms: list[str]
    cut_terms: list[str]
    truncated: list[str]


class NamedAnswer(_Answer):
    """An entity that the question names."""

    words: str
    id: str
    key: str | None
    match: Literal["exact", "alike", "part"]


class UnclearAnswer(_Answer):
    """Words of the question that several are called by; none of them is taken."""

    words: str
    entities: list[EntityRef]


class DateAnswer(_Answer):
    """Words of the question that name a time, and how they were understood."""

    words: str
    clock: Literal["valid_at", "known_at"]
    at: When | None = Field(description="`null` where they are not understood.")
    from_: When | None = Field(None, alias="from", description="Where what they name begins, if it is no instant.")
    to: When | None = Field(None, description="Where it ends.")
    used: bool = Field(description="Whether the question was asked at it; what the body states comes first.")
    note: str | None


class RecallCounts(_Answer):
    """What is not told, but is there."""

    held: int = Field(description="Claims that wait for a decision.")
    waiting: int = Field(description="Episodes that are not read yet, counted up to 200.")
    conflicts: int
    left_out: int


class BudgetAnswer(_Answer):
    """What the text might cost, and does."""

    tokens: int
    tokens_used: int
    tokenizer: str
    milliseconds: int


class Recalled(_Answer):
    """A packet: what memory says to a question. It gives no permission to act."""

    text: str = Field(description="For the model: what others said stands fenced in it, as data.")
    lines: list[LineAnswer]
    quotes: list[QuoteAnswer]
    search: SearchAnswer | None
    entities: list[NamedAnswer]
    unclear: list[UnclearAnswer]
    dates: list[DateAnswer]
    counts: RecallCounts
    conflicts: list[list[str]] = Field(description="Facts that rival for one slot.")
    truncated: dict[str, Any] | None
    budget: BudgetAnswer
    live: list[Live] = LIVE
    as_of: AsOf


def line(told: Line, names: Names, versions: Versions, known_at: Instant, served_at: Instant) -> Wire:
    return {
        "fact": rendering.fact(told.fact, names, versions, known_at, served_at),
        "sentence": told.sentence,
        "kind": told.kind.value,
        "why": _WHY[told.why],
        "depth": told.depth,
        "rivals": told.rivals,
        "sources": [_source(claim) for claim in told.claims],
        "marker": marker(told.fact.version.id),
    }


def quote(told: Quote) -> Wire:
    recorded, chunk = told.hit.episode, told.hit.chunk
    observed_at = recorded.episode.observed_at
    return {
        "episode": chunk.episode,
        "turn": chunk.turn,
        "start": chunk.start,
        "end": chunk.end,
        "text": told.hit.text,
        "source": recorded.episode.source,
        "observed_at": None if observed_at is None else rendering.instant(observed_at),
        "recorded_at": rendering.instant(recorded.recorded_at),
    }


def searched(found: Found | None) -> JSON:
    if found is None:
        return None
    return {
        "vectors": vectors_wire(found),
        "dropped_terms": list(found.dropped),
        "cut_terms": list(found.cut),
        "truncated": list(found.truncated),
    }


def named(found: Mentions) -> list[JSON]:
    return [
        {"words": each.words, "id": each.entity.id, "key": each.entity.key, "match": _HOW[each.how]}
        for each in found.named
    ]


def unclear(found: Mentions, names: Names) -> list[JSON]:
    return [
        {"words": each.words, "entities": [rendering.entity(id, names) for id in each.entities]}
        for each in found.unclear
    ]


def dates(found: Sequence[Dated], stated: Mapping[str, str | None]) -> list[JSON]:
    """How the dates of a question were understood; what is `stated` in the body came before them."""
    return [
        {
            "words": each.words,
            "clock": each.axis.value,
            "at": None if each.instant is None else rendering.instant(each.instant),
            "from": None if each.stretch is None else rendering.instant(each.stretch.earliest),
            "to": None if each.stretch is None else rendering.instant(each.stretch.latest),
            "used": each.instant is not None and stated[each.axis.value] is None,
            "note": each.note or None,
        }
        for each in found
    ]


def truncated(packet: Packet) -> JSON:
    return {"cut_by": list(packet.cut_by), "left_out": packet.left_out} if packet.cut_by else None


def _source(claim: Claim) -> Wire:
    return {"claim": claim.id, "source": claim.source, "episode": claim.episode}
