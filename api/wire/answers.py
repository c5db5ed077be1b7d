"""What answers look like: declared for the OpenAPI document and for clients, never used to build an answer.

Members may be added; a client must tolerate those that it does not know.
"""

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

T = TypeVar("T")

When = Annotated[str, Field(examples=["2026-06-01T00:00:00Z"])]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class AsOf(_Answer):
    """At which instants a question was answered."""

    valid_at: When
    known_at: When
    server_clock: When


class EntityRef(_Answer):
    """An entity, by its opaque id and, where it has one, its key."""

    id: str
    key: str | None


WireValue = Annotated[
    Any,
    WithJsonSchema(
        {
            "type": "object",
            "description": "A value with its `type`; an entity has `id` and `key`, a quantity `unit`, a text `lang`.",
            "properties": {"type": {"type": "string"}, "value": {}, "id": {"type": "string"}},
            "required": ["type"],
            "examples": [{"type": "date", "value": "2026-06-30"}],
        }
    ),
]


class Rectangle(_Answer):
    """One value over valid time and recorded time; `null` is an end that is open."""

    id: str
    subject: EntityRef
    predicate: str
    value: WireValue
    valid_from: When | None
    valid_to: When | None
    certain: bool
    recorded_from: When | None
    recorded_to: When | None


class Fact(Rectangle):
    """What is believed, how its ends are known and how well it is supported."""

    start: Literal["known", "unknown", "open"]
    end: Literal["known", "open", "infinity", "unknown"]
    confidence: float
    sources: int
    occurrences: int
    expires_at: When | None = Field(description="From then on it is not served; `null` for never.")
    expired: bool = Field(description="Whether it is only shown as a raw row, such as by `/v1/audit`.")
    version: int | None = Field(description="The version of its slot now, for `expected_version`.")


class Transition(_Answer):
    """That a claim came into a state."""

    state: str
    rule: str
    reason: str
    actor: str
    recorded_at: When | None
    decided_on: int | None = Field(description="The version on which somebody decided.")
    successor: str | None


class Claim(_Answer):
    """What one source said, as it said it."""

    id: str
    op: Literal["assert", "retract"]
    subject: EntityRef
    predicate: str
    value: WireValue | None
    valid_from: str | None
    valid_to: str | None
    tz: str | None
    date_semantics: str | None
    observed_at: When | None
    observed_stated: bool
    recorded_at: When | None
    source: str
    episode: str | None
    root: str
    confidence: float
    principal: str
    schema_version: int
    state: str
    ended_at: When | None
    reason: str | None
    successor: str | None
    span: dict[str, Any] | None = Field(
        None, description="The words of its episode that it quotes; of one claim alone."
    )
    trust: str
    echo: bool
    expires_at: When | None
    expired: bool
    transitions: list[Transition] = Field(description="What became of it, in the order of time.")


class Waiting(Claim):
    """A claim that waits for a decision."""

    rule: str = Field(description="What holds it.")
    version: int = Field(description="For `If-Match`: of the slot, or of the commit that held it where that is later.")


class WaitingClaim(Waiting):
    """A held claim, with what is believed where it would be folded."""

    current: list[Fact]


class Counts(_Answer):
    """How many claims wait."""

    waits_on_you: int
    held_by_policy: int


class Paged(_Answer, Generic[T]):
    """A page; `next_cursor` is `null` on the last."""

    items: list[T]
    next_cursor: str | None
    as_of: AsOf


class Review(_Answer):
    """A page of claims that wait, and how many there are of each kind."""

    items: list[Waiting]
    next_cursor: str | None
    counts: Counts


class Live(_Answer):
    """Where values are to be had that memory never keeps."""

    predicate: str
    tool: str


LIVE: Any = Field([], description="Of predicates that were asked for: those whose values a tool has.")


class Facts(Paged[Fact]):
    """Facts in a total order."""

    live: list[Live] = LIVE


class Place(_Answer):
    """A place in one of the lists that are fused."""

    rank: int
    score: float


class Parts(_Answer):
    """What a score is made of: `fused`, by the places in three lists, times each of the factors."""

    text: Place | None
    vector: Place | None
    graph: Place | None
    fused: float
    recency: float
    confidence: float
    certainty: float
    trust: float


class Hit(_Answer):
    """A fact, a stretch of an episode, or a claim that waits, with the members of its `type`."""

    type: Literal["fact", "episode", "claim"]
    holds: Literal["now", "earlier", "later", "held"]
    sentence: str | None = Field(None, description="Of a fact or a claim: what it says.")
    text: str | None = Field(None, description="Of an episode: its words, which are data.")
    score: float = Field(description="Between 0 and 1; compares within one answer alone.")
    parts: Parts


class VectorsUsed(_Answer):
    """Whether meaning was searched beside words, and if not, why."""

    used: bool
    reason: str | None
    detail: str | None
    floor: float | None = Field(description="The cosine below which nothing is a hit by meaning.")


class ToIndex(_Answer):
    """What is not found yet, each counted up to 10,000, and why, where it is not just a matter of time."""

    statements: int
    episodes: int
    texts: int
    problem: str | None


class Suppressed(_Answer):
    """Facts that have the words and hold at another time; `more`: these are only those that were looked at."""

    earlier: int
    later: int
    more: bool


class SearchTruncated(_Answer):
    """What was met: `limit`, or a bound of looking."""

    by: list[str]


class Search(_Answer):
    """What a text leads to, best first."""

    items: list[Hit]
    recipe: str
    dropped_terms: list[str] = Field(description="Words that are too common, and were not asked for.")
    cut_terms: list[str] = Field(description="Words beyond as many as are asked for.")
    vectors: VectorsUsed
    to_index: ToIndex
    suppressed: Suppressed
    truncated: SearchTruncated | None
    as_of: AsOf


class Rectangles(Paged[Fact]):
    """Raw versions in a total order."""


class Claims(Paged[Claim]):
    """Claims in the order in which they were recorded or said."""

    live: list[Live] = LIVE


class Statement(_Answer):
    """That a subject has a value, whenever."""

    subject: EntityRef
    predicate: str
    value: WireValue


class Held(Statement):
    """A stretch of recorded time over which one value was held of one instant."""

    certain: bool
    recorded_from: When | None
    recorded_to: When | None


class Belief(Paged[Held]):
    """What was held about one instant, over recorded time."""

    truncated: dict[str, Any] | None = None


class Believed(Paged[Statement]):
    """What was believed at some time of a stretch of recorded time."""

    truncated: bool = False


class Period(Statement):
    """An unbroken stretch of valid time over which a value is held, and the facts that it is made of."""

    certain: bool
    valid_from: When | None
    valid_to: When | None
    facts: list[str]


class History(Paged[Fact | Period]):
    """Facts by the start of their valid time; periods with `periods=true`."""

    truncated: dict[str, Any] | None = None
    live: list[Live] = LIVE


class Diff(_Answer):
    """The net difference of two beliefs."""

    added: list[Period]
    removed: list[Period]
    known_from: When
    known_to: When
    truncated: dict[str, Any] | None = None
    as_of: AsOf


class LogEntry(_Answer):
    """A version that was opened in the window, or closed, or both."""

    fact: Fact
    opened: bool
    closed: bool


class Log(Paged[LogEntry]):
    """Every version that was opened or closed, transients included."""


class Change(_Answer):
    """What started and what ended at one instant of the world."""

    at: When
    started: list[Statement]
    ended: list[Statement]


class Changes(Paged[Change]):
    """What changed in the world."""

    truncated: dict[str, Any] | None = None


class Entity(_Answer):
    """A thing that shows in this scope."""

    id: str
    key: str | None


class Entities(Paged[Entity]):
    """Things in the order of their ids."""


class EntityFacts(_Answer):
    """A thing with what is believed of it."""

    id: str
    key: str | None
    items: list[Fact]
    next_cursor: str | None
    as_of: AsOf


class Reached(_Answer):
    """A thing that a walk came to."""

    id: str
    key: str | None
    depth: int
    via: str | None
    """The fact that led to it; null where the walk began."""
    valid_from: str | None
    """From here on every fact on the way to it holds, up to `valid_to`."""
    valid_to: str | None


class Neighbourhood(_Answer):
    """What lies around, breadth first."""

    entities: list[Reached]
    facts: list[Fact]
    truncated: dict[str, Any] | None = None
    as_of: AsOf


class Path(_Answer):
    """A walk whose edges all hold over one period; its nodes are entities, the last one perhaps another value."""

    nodes: list[WireValue]
    facts: list[str]
    certain: bool
    valid_from: When | None
    valid_to: When | None


class Paths(_Answer):
    """Walks in the order of their nodes."""

    items: list[Path]
    truncated: dict[str, Any] | None = None
    as_of: AsOf


class Event(_Answer):
    """One committed transaction: its skeleton, and what it did in this scope."""

    position: int
    recorded_at: When
    kind: str
    principal: str | None
    digest: str
    claims: list[str]
    ended: list[str]
    expired: list[str] = Field(description="Claims whose time was over, as the sweep wrote it.")
    opened: list[str]
    closed: list[str]
    episodes: list[str]
    tombstones: list[str]
    schema_version: int | None


class Events(_Answer):
    """Transactions by position."""

    items: list[Event]
    next_after: int | None
    head: int


class ItemReceipt(_Answer):
    """What became of one item."""

    index: int
    op: str
    result: str
    claim: str | None
    state: str | None
    rule: str | None
    reason: str | None
    echo: bool
    promoted: list[str]
    subject: EntityRef | None
    predicate: str | None
    opened: list[str]
    closed: list[str]
    superseded: list[str]
    bounded_by: list[str]
    withdrawn: list[str]
    also_rested: list[str]
    observed_at: When | None
    observed_from: str | None
    expires_at: When | None
    version: int | None
    warnings: list[dict[str, str]]


class Receipt(_Answer):
    """What a transaction did; with `Prefer: return=minimal` without `items` and `entities`."""

    position: int
    recorded_at: When | None
    dry_run: bool
    items: list[ItemReceipt] = []
    entities: list[EntityRef] = []


class Ontology(_Answer):
    """One version of the schema."""

    version: int
    strict: bool
    types: dict[str, Any]
    predicates: dict[str, Any]


class Overlaps(_Answer):
    """Slots that hold several certain values at one instant, though their predicate is functional now."""

    count: int
    slots: list[dict[str, Any]] = Field(description="The first of them.")


class OntologyReceipt(_Answer):
    """What a pack changed."""

    version: int
    position: int
    dry_run: bool
    changes: list[dict[str, Any]]
    conflicts: dict[str, Overlaps] = Field(description="By the name of a predicate that has become functional.")


class Health(_Answer):
    """That the server runs."""

    status: str


class Ready(_Answer):
    """That the store answers, and what it reports of itself."""

    status: str
    checks: dict[str, Any]


class ProblemType(_Answer):
    """What a problem type means."""

    type: str
    title: str
    status: int
    meaning: str
    cause: str
    fix: str


class ProblemTypes(_Answer):
    """All problem types."""

    items: list[ProblemType]


class FieldError(_Answer):
    """One thing that the author of the request can put right."""

    pointer: str
    code: str
    detail: str


class Problem(_Answer):
    """A problem document (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    remedy: str
    request_id: str
    errors: list[FieldError]
