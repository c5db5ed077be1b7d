"""What the query string of a read may hold."""

from typing import Annotated, Final, Literal, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from api.limits import QUERY_BYTES_MAX
from api.wire.bodies import DateText
from api.wire.violations import validated
from ontology.canonical import incorrect
from ontology.errors import TooLarge, pointer, shown
from ontology.instants import OPEN_END

LIMIT_MAX: Final = 200
LIMIT: Final = 50


def _whole(given: object) -> object:
    """Digits as an integer; pydantic alone would take `5_0`, ` 5` and `5.0` too."""
    if isinstance(given, str):
        if not (given.isascii() and given.isdigit() and len(given) <= 19):
            raise PydanticCustomError("ours", "a whole number is needed")
        return int(given)
    return given


def _flag(given: object) -> object:
    if isinstance(given, str):
        if given not in ("true", "false"):
            raise PydanticCustomError("ours", "true or false is needed")
        return given == "true"
    return given


Whole = Annotated[int, BeforeValidator(_whole)]
Name = Annotated[str, Field(max_length=64)]
Words = Annotated[str, Field(max_length=500)]
Moment = Annotated[str, Field(max_length=64, examples=["2026-06-02T12:00:00Z"])]
Position = Annotated[int, BeforeValidator(_whole), Field(ge=0, lt=OPEN_END)]
Limit = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=LIMIT_MAX)]
Flag = Annotated[bool, BeforeValidator(_flag)]


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ScopeQuery(_Query):
    """Whose memory is asked, and from which commit on."""

    namespace: Name = Field("default", description="The compartment that is asked.")
    purpose: Name = Field("general", description="What it is asked for; claims of another purpose do not show.")
    min_position: Position | None = Field(
        None, description="The position of a receipt that the answer must have seen; it waits a little, then 503."
    )


class ReadQuery(ScopeQuery):
    """The two instants of a question."""

    valid_at: Moment | None = Field(
        None, description="When it holds in the world: a date-time with an offset, or a day. Default: now."
    )
    known_at: Moment | None = Field(
        None, description="What was known then; not in the future. Default: the newest commit."
    )
    tz: DateText | None = Field(None, description="The zone of bare days; UTC where it is left out.")


class FactsQuery(ReadQuery):
    """A page of facts."""

    certainty: Literal["certain", "any"] = Field("any", description="`certain` leaves out what is only possible.")
    limit: Limit = Field(LIMIT, description="How many items a page has.")
    cursor: str | None = Field(None, max_length=600, description="The `next_cursor` of the page before.")


class StateQuery(FactsQuery):
    """A subject, a predicate or both; with a value: who has it."""

    subject: Words | None = Field(None, description="A key, or an id `ent_…`.", examples=["mira"])
    predicate: Words | None = Field(
        None,
        description="One predicate, or the name of an inverse; all of the subject's if left out.",
        examples=["passport_deadline"],
    )
    value: Words | None = Field(None, description="The value that the facts must have, read as the predicate's type.")


class ServedQuery(StateQuery):
    """The same, for an agent in a session."""

    session: Words | None = Field(
        None, description="Where the answer is served to an agent: what it says again in this session is an echo."
    )


class HistoryQuery(StateQuery):
    """The periods of a subject and predicate, or of a value."""

    order: Literal["asc", "desc"] = Field("asc", description="`desc` begins with the one that starts last.")
    after: Moment | None = Field(None, description="Only what starts after this instant, itself excluded.")
    from_: Moment | None = Field(None, alias="from", description="Only what meets the stretch from this instant on.")
    to: Moment | None = Field(None, description="Where that stretch ends; itself not part of it.")
    periods: Flag = Field(
        False, description="Join what touches: one row for each unbroken stretch of a value; one page, up to `limit`."
    )


class SlotQuery(FactsQuery):
    """A subject, and one of its predicates or all."""

    subject: Words = Field(description="A key, or an id `ent_…`.", examples=["mira"])
    predicate: Words | None = Field(
        None, description="One predicate; all of them if left out.", examples=["passport_deadline"]
    )


class BeliefQuery(SlotQuery):
    """What was held about one instant; `valid_at` says which."""


class AuditQuery(SlotQuery):
    """The raw rectangles; with `valid_at` those that hold then."""


class BelievedQuery(SlotQuery):
    """A stretch of recorded time."""

    known_from: Moment = Field(description="Where it begins.", examples=["2026-06-01"])
    known_to: Moment = Field(description="Where it ends.", examples=["2026-06-04"])
    closed: Flag = Field(False, description="Whether `known_to` itself is a part of it.")


class BetweenQuery(SlotQuery):
    """Two recorded times."""

    known_from: Moment = Field(description="The earlier of the two.", examples=["2026-06-02"])
    known_to: Moment | None = Field(None, description="The later of the two; that of `known_at` if it is left out.")


class ChangesQuery(StateQuery):
    """A stretch of valid time."""

    valid_after: Moment = Field(description="Changes after this instant,", examples=["2026-06-01"])
    valid_until: Moment | None = Field(None, description="and up to this one; `valid_at` if it is left out.")


class ClaimsQuery(SlotQuery):
    """What was said of a subject."""

    value: Words | None = Field(None, description="Only claims of this value.")
    standing: Flag = Field(False, description="Leave out what was withdrawn.")


class EntitiesQuery(ReadQuery):
    """Things that show in this scope."""

    type: Words | None = Field(None, description="Only those of this type.", examples=["Person"])
    name: Words | None = Field(None, description="Only those with this name or alias.")
    limit: Limit = LIMIT
    cursor: str | None = Field(None, max_length=600)


class WalkQuery(ReadQuery):
    """How far a walk may go."""

    hops: Annotated[int, BeforeValidator(_whole), Field(ge=1, le=5)] = Field(1, description="Edges from the start.")
    nodes_max: Annotated[int, BeforeValidator(_whole), Field(ge=1, le=2_000)] = Field(
        200, description="Things to give."
    )
    edges_max: Annotated[int, BeforeValidator(_whole), Field(ge=1, le=5_000)] = Field(500, description="Facts to give.")
    fan_out: Annotated[int, BeforeValidator(_whole), Field(ge=1, le=500)] = Field(
        50, description="Facts to follow from one thing, those that began to hold last."
    )
    milliseconds_max: Annotated[int, BeforeValidator(_whole), Field(ge=1, le=10_000)] = Field(
        2_000, description="After so long no further layer is read."
    )


class NeighbourhoodQuery(WalkQuery):
    """Where a walk begins."""

    subject: Words = Field(description="A key, or an id `ent_…`.", examples=["mira"])


class PathsQuery(ReadQuery):
    """A walk along given predicates."""

    subject: Words = Field(description="A key, or an id `ent_…`.", examples=["mira"])
    steps: Annotated[str, Field(min_length=1, max_length=1_000)] = Field(
        description="Predicates, separated by commas; `^` before one walks it from value to subject.",
        examples=["works_at,^works_at"],
    )
    limit: Limit = Field(LIMIT, description="Paths to give.")


class FactQuery(ScopeQuery):
    """One fact."""


class ListQuery(ReadQuery):
    """A page of what belongs to one fact."""

    limit: Limit = LIMIT
    cursor: str | None = Field(None, max_length=600)


class ReviewQuery(ScopeQuery):
    """Which of the claims that wait."""

    state: Literal["quarantined", "staged"] | None = Field(None, description="Only those in this state.")
    rule: Name | None = Field(None, description="Only those that this rule holds.")
    limit: Limit = LIMIT
    cursor: str | None = Field(None, max_length=600)


class EventsQuery(ScopeQuery):
    """The log from a position on."""

    after: Position | None = Field(
        None,
        description=(
            "The position of the last event that is known already; without it a page begins with the first event, and "
            "a stream with the next."
        ),
    )
    kinds: Words | None = Field(
        None, description="Only events of these kinds, with commas between; all if left out.", examples=["write,erase"]
    )
    limit: Limit = Field(LIMIT, description="How many events are looked at for a page; a stream has no pages.")


class OntologyQuery(ScopeQuery):
    """Which tenant's schema: that of the caller."""


class PutOntologyQuery(_Query):
    """How a pack is added."""

    dry_run: Flag = Field(False, description="Say what would change, and change nothing.")


class NoQuery(_Query):
    """Nothing."""


Q = TypeVar("Q", bound=BaseModel)


def read_query(model: type[Q], query_string: bytes) -> Q:
    """The query as a model of this kind.

    Raises `Incorrect` with a violation per parameter that is unknown, stands twice or cannot be read.
    """
    return validated(model, decode_query(query_string) if query_string else {}, "the query")


def decode_query(query_string: bytes) -> dict[str, str]:
    """The parameters of a query string; raises `Incorrect` for what is not UTF-8 and for one that stands twice."""
    if len(query_string) > QUERY_BYTES_MAX:
        raise TooLarge(f"the query has more than {QUERY_BYTES_MAX} bytes; use the POST form")
    try:
        pairs = _pairs(query_string.decode("ascii"))
    except ValueError:  # a UnicodeDecodeError is one
        raise incorrect("", "unreadable_query", "the query is not percent-encoded UTF-8; encode it") from None
    given = dict(pairs)
    if len(given) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise incorrect(pointer(twice), "duplicate_member", f"the parameter {shown(twice)} stands twice; keep one")
    return given


def _pairs(query: str) -> list[tuple[str, str]]:
    if "%" not in query and "+" not in query:  # most are, and need no decoding
        cut = [part.partition("=") for part in query.split("&") if part]
        return [(name, value) for name, _, value in cut]
    return parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=100)
