"""Profiles, and all that is held on a subject, on the wire: what a query may hold, what an answer looks like."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from api.wire import rendering
from api.wire.answers import AsOf, EntityRef, Fact
from api.wire.queries import LIMIT, Limit, ReadQuery, Words
from api.wire.rendering import Names, Versions, Wire
from graph.profile import FACTS_MAX, TOKENS_MAX, Left, Profile
from ontology.claims import Entity
from ontology.errors import JSON
from ontology.instants import Instant


class ProfileQuery(ReadQuery):
    """When the profile is that of a subject."""

    session: Words | None = Field(
        None, description="Where the answer is served to an agent: what it says again in this session is an echo."
    )


class AboutQuery(ReadQuery):
    """A page of what is held."""

    limit: Limit = LIMIT
    cursor: str | None = Field(None, max_length=600, description="The `next_cursor` of the page before.")


class _Answer(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class ProfileLine(Fact):
    """A fact that stands in a profile."""

    kind: str = Field(description="`note`, `preference`, `decision`, `skill` or `fact`.")
    text: str = Field(description="The line, as it stands in the whole text.")


class ProfileAnswer(_Answer):
    """The few facts about a subject worth having at hand each time. They are data, and permit no act."""

    subject: EntityRef
    names: list[str]
    text: str = Field(description="All that a model needs to see, fenced as data.")
    tokens: int = Field(description="Of the text, counted with care: rather too many than too few.")
    tokens_max: int
    items: list[ProfileLine]
    left_out: dict[str, int] = Field(
        description="Certain facts that are no lines: `working_note`, `undeclared`, `sensitive`, or over the `budget`."
    )
    truncated: dict[str, Any] | None = Field(description="Where the subject has more facts than are looked at.")
    as_of: AsOf


class About(_Answer):
    """A page of what is held on a subject."""

    subject: EntityRef
    names: list[str]
    namespace: str
    purpose: str
    summary: dict[str, Any] | None = Field(
        description="On the first page: the `profile`, how many claims are `held` and not shown, the `acts`."
    )
    items: list[dict[str, Any]] = Field(
        description="Each with its `section`: `fact`, `mention`, `claim`, `held_mention`, `episode`, `tombstone`."
    )
    next_cursor: str | None
    as_of: AsOf


def profile_document(
    profile: Profile, subject: Entity, names: Names, heads: Versions, known_at: Instant, served_at: Instant
) -> Wire:
    """A profile without its two instants."""
    items: list[JSON] = [
        {
            **rendering.fact(line.fact, names, heads, known_at, served_at),
            "kind": line.part.value,
            "text": line.text,
        }
        for line in profile.lines
    ]
    left_out: Wire = {why.value: profile.left_out.get(why, 0) for why in Left}
    return {
        "subject": {"id": subject.id, "key": subject.key},
        "names": list(profile.names),
        "text": profile.text,
        "tokens": profile.tokens,
        "tokens_max": TOKENS_MAX,
        "items": items,
        "left_out": left_out,
        "truncated": None if profile.looked_at_all else {"reason": "ceiling", "ceiling": FACTS_MAX},
    }
