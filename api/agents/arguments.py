"""What the tools take: the members of the routes under the names that those have."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from api.wire.bodies import AssertItem, DateText, RetractItem, Text, TrustWord, Wire
from api.wire.episodes import MeBody, TurnBody
from api.wire.forgetting import Word
from api.wire.handoffs import HandoffBody
from api.wire.handoffs import Text as Statement
from api.wire.queries import FactsQuery, HistoryQuery, Limit, Moment, Position, ReadQuery, ServedQuery, Words
from ontology.canonical import incorrect

SAID: Final = ("text", "turns", "me", "session", "source", "source_uri", "observed_at", "tz", "trust")
"""What of `remember` belongs to the words, and not to the items."""


class Arguments(BaseModel):
    """Whose memory is meant."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    namespace: Text = Field("default", description="The compartment of memory.")
    purpose: Text = Field("general", description="What it is used for; claims of another purpose do not show.")


class _Writing(Arguments):
    operation_id: Annotated[str, Field(max_length=200)] | None = Field(
        None, description="A name of yours for this act: sent again with it, it has one effect and the same receipt."
    )
    dry_run: bool = Field(False, description="Give the receipt that it would have, and write nothing.")


def _op(item: object) -> object:
    given = item.get("op", "assert") if isinstance(item, dict) else getattr(item, "op", None)
    return given if isinstance(given, str) else None


Remembered = Annotated[
    Annotated[AssertItem, Tag("assert")] | Annotated[RetractItem, Tag("retract")],
    Discriminator(_op, custom_error_type="ours", custom_error_message="'op' is one of assert, retract"),
]


class RememberArguments(_Writing):
    """Typed claims, what was said word for word, or both."""

    items: list[Remembered] | None = Field(
        None, description="Claims, done in order or not at all.", json_schema_extra={"minItems": 1}
    )
    text: str | None = Field(None, description="What was said, word for word: kept now, read for claims later.")
    turns: list[TurnBody] | None = Field(None, description="The same as a conversation.")
    me: MeBody | None = Field(None, description='Who says "I" in the text, or which speaker is who.')
    session: Text | None = Field(None, description="Of the text: what is said in one session is read in its order.")
    source: Text | None = Field(None, description="Of the text: who said it; by default the caller.")
    source_uri: Annotated[str, Field(max_length=2_000)] | None = Field(None, description="Where it can be read.")
    observed_at: DateText | None = Field(None, description="Of the text: when it was said; not later than now.")
    tz: DateText | None = Field(None, description="Of the text: the zone of the speaker.")
    trust: TrustWord | None = Field(None, description="Of the text: how far it is to be trusted.")

    @property
    def says(self) -> bool:
        """Whether there are words to keep. Raises `Incorrect` where there is nothing at all, or nothing for a flag."""
        given = self.model_fields_set
        said = self.text is not None or self.turns is not None
        if not said and self.items is None:
            raise incorrect("/items", "missing_field", "there is nothing to remember; give 'items', 'text' or 'turns'")
        if not said and (loose := next((name for name in SAID if name in given), None)):
            detail = f"{loose!r} is of a text, and there is none; give it in the items, or give 'text'"
            raise incorrect(f"/{loose}", "too_many", detail)
        if said and self.dry_run:
            raise incorrect("/dry_run", "too_many", "'dry_run' tells of items alone; leave 'text' and 'turns' out")
        return said


class StateArguments(ServedQuery):
    """What holds."""


class HistoryArguments(HistoryQuery):
    """What held when."""


class DiffArguments(FactsQuery):
    """Two recorded times, or a stretch of valid time."""

    subject: Words = Field(description="A key, or an id `ent_…`.", examples=["mira"])
    predicate: Words | None = Field(None, description="One predicate; all of them if left out.")
    known_from: Moment | None = Field(None, description="What belief changed: since this instant of memory,")
    known_to: Moment | None = Field(None, description="up to this one; the newest if left out.")
    valid_after: Moment | None = Field(None, description="Or what changed in the world: after this instant,")
    valid_until: Moment | None = Field(None, description="and up to this one; `valid_at` if left out.")

    @property
    def of_belief(self) -> bool:
        """Whether two beliefs are compared. Raises `Incorrect` where it is not told, or told twice."""
        if (self.known_from is None) == (self.valid_after is None):
            detail = "give 'known_from' for what memory learnt since, or 'valid_after' for what changed in the world"
            raise incorrect("/known_from", "missing_field" if self.known_from is None else "too_many", detail)
        if self.known_from is None and self.known_to is not None:
            raise incorrect("/known_to", "too_many", "'known_to' belongs to 'known_from'; give 'valid_until'")
        if self.known_from is not None and self.valid_until is not None:
            raise incorrect("/valid_until", "too_many", "'valid_until' belongs to 'valid_after'; give 'known_to'")
        return self.known_from is not None


class WhyArguments(ReadQuery):
    """A fact, or what is believed of a subject."""

    fact: Words | None = Field(None, description="The id of a fact, `fct_…`; or give a subject.")
    subject: Words | None = Field(None, description="A key, or an id `ent_…`.", examples=["mira"])
    predicate: Words | None = Field(None, description="With a subject: one predicate; all of them if left out.")
    limit: Annotated[Limit, Field(le=50)] = Field(10, description="How many facts are explained.")


class CorrectArguments(_Writing):
    """What was wrong, and what is right instead."""

    fact: Text | None = Field(None, description="The id of the wrong fact, `fct_…`.")
    claim: Text | None = Field(None, description="For `withdraw`: the id of the claim that never counted, `clm_…`.")
    if_version: Position = Field(description="The `version` of the fact as you read it; another one by now is refused.")
    action: Literal["replace", "retract", "withdraw"] = Field(
        "replace",
        description="`replace` the fact by what is right, `retract` it without, or `withdraw` one claim behind it.",
    )
    value: Wire = Field(None, description="The right value; absent: the value was right, and the dates were not.")
    valid_from: DateText | None = Field(None, description="The right start; what is not given stays.")
    valid_to: DateText | None = Field(None, description="The right end; what is not given stays.")
    tz: DateText | None = Field(None, description="The zone of bare dates; UTC where it is left out.")
    date_semantics: DateText | None = Field(None, description="What a date names: `sometime` in it or the `whole`.")
    observed_at: DateText | None = Field(None, description="When the source said it; not later than now.")
    source: Text | None = Field(None, description="Who said it; by default the caller.")
    episode: Text | None = Field(None, description="The occasion on which it was said.")
    confidence: float | None = Field(None, ge=0, le=1)
    reason: Text | None = Field(None, description="Why, in a few words.")


class ForgetArguments(Arguments):
    """What is to be forgotten: exactly one of subject, episode and source."""

    subject: Word | None = Field(None, description="A key, or an id `ent_…`.")
    predicate: Word | None = Field(None, description="Only what is said of the subject under this predicate.")
    episode: Word | None = Field(None, description="The id of an episode, `epi_…`.")
    source: Word | None = Field(None, description="All that one source said.")
    block: bool = Field(True, description="Whether the key of a subject is refused when it comes back.")
    confirm: Word | None = Field(
        None, description="The `manifest` of the preview, once whoever may decide has agreed; without it nothing goes."
    )


class ListHeldArguments(Arguments):
    """Which of the claims that wait."""

    state: Literal["quarantined", "staged"] | None = Field(None, description="Only those in this state.")
    rule: Annotated[str, Field(max_length=64)] | None = Field(None, description="Only those that this rule holds.")
    limit: int = Field(50, ge=1, le=200, description="How many items a page has.")
    cursor: Annotated[str, Field(max_length=600)] | None = Field(None, description="The `next_cursor` of a page.")


class DecideArguments(_Writing):
    """A decision on a claim that waits."""

    claim: Text = Field(description="The id of the claim, `clm_…`.")
    decision: Literal["promote", "reject"]
    if_version: Position = Field(description="Its `version` as `list_held` gave it.")
    reason: Text | None = Field(None, description="Why, in a few words.")


class HandoffArguments(HandoffBody):
    """A packet to make, to read or to adopt."""

    action: Literal["make", "read", "adopt"] = Field(
        "make", description="`make` a packet, `read` one as it is now, or `adopt` it: take it on."
    )
    id: Words | None = Field(None, description="To read or to adopt: the id of the packet, `hnd_…`.")
    task: Statement = Field(None, description="To make: what is to be done.")
    session: Words | None = Field(
        None, description="To adopt: your session; what you say again of the facts in it is an echo."
    )


def members(given: BaseModel, *names: str, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """What was given, under the names of the wire; of `names` only, or all but `without`."""
    told = given.model_dump(by_alias=True, exclude_unset=True)
    return {name: value for name, value in told.items() if (not names or name in names) and name not in without}
