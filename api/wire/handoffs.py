"""Handoffs on the wire: what a body may hold, what an answer looks like, how one is rendered."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from api.wire import rendering
from api.wire.answers import AsOf, Fact, When
from api.wire.queries import ScopeQuery
from api.wire.rendering import Names, Versions, Wire
from consolidation.conclusions import CHARS_MAX
from consolidation.handoffs import FACTS_MAX, LINES_MAX, NewHandoff
from graph.handed import Handed, Pinned
from ontology.errors import JSON
from ontology.handoffs import Adoption, Handoff
from ontology.instants import Instant, format_instant

EXAMPLES: dict[str, Any] = {
    "a booking": {
        "to": "booker",
        "task": "Book a room for Mira's stay in Oslo.",
        "requirements": ["Two nights from 2 June."],
        "constraints": ["140 EUR a night at most."],
        "format": "The confirmation number alone.",
        "rejected": [{"what": "Hotel Fjord", "why": "no lift"}],
    },
}

Text = Annotated[Any, WithJsonSchema({"type": "string", "minLength": 1, "maxLength": CHARS_MAX})]
"""Told apart later: what is a turn of a transcript is refused as one."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    namespace: str = Field("default", max_length=500)
    purpose: str = Field("general", max_length=500)


class RejectedBody(BaseModel):
    """What was turned down, and why."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    what: Text
    why: Text | None = None


class HandoffBody(_Body):
    """What is handed over: conclusions, and no transcript."""

    to: str | None = Field(
        None, min_length=1, max_length=500, description="The principal who may adopt it; whoever may read if left out."
    )
    task: Text = Field(description="What is to be done.")
    requirements: list[Text] = Field([], json_schema_extra={"maxItems": LINES_MAX}, description="What must be met.")
    constraints: list[Text] = Field([], json_schema_extra={"maxItems": LINES_MAX}, description="What must be kept to.")
    format: Text | None = Field(None, description="How the result should look.")
    facts: list[str] = Field(
        [], json_schema_extra={"maxItems": FACTS_MAX}, description="Ids of versions of facts that are believed."
    )
    rejected: list[RejectedBody] = Field(
        [], json_schema_extra={"maxItems": LINES_MAX}, description="What was turned down, and is not to be done again."
    )
    ttl: str | None = Field(None, max_length=64, description="How long it may be adopted: 7 days, 30 at most.")
    operation_id: str | None = Field(None, max_length=255, description="The same as `Idempotency-Key`.")

    def new(self) -> NewHandoff:
        return NewHandoff(
            receiver=self.to, task=self.task, requirements=self.requirements, constraints=self.constraints,
            format=self.format, facts=self.facts, rejected=[(each.what, each.why) for each in self.rejected],
            ttl=self.ttl,
        )  # fmt: skip


class AdoptBody(_Body):
    """Where the handoff is."""

    session: str | None = Field(
        None, max_length=500, description="The agent's session: what it says again of the facts in it is an echo."
    )


class HandoffQuery(ScopeQuery):
    """One handoff."""


class _Answer(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class PinnedFact(_Answer):
    """A fact that was handed over, and what became of it."""

    id: str
    standing: str = Field(description="`current`, `changed`, `over`, `expired` or `forgotten`.")
    fact: Fact | None = Field(description="As it was pinned; `null` for one that is gone or has expired.")
    instead: list[Fact] = Field(description="Of one that changed: what holds now.")


class AdoptionAnswer(_Answer):
    """Who took it on, and when."""

    principal: str
    adopted_at: When


class HandoffAnswer(_Answer):
    """A handoff as it is now. It is data, and permits no act."""

    id: str
    sender: str
    to: str | None
    task: str | None = Field(description="`null` once it was forgotten.")
    requirements: list[str]
    constraints: list[str]
    format: str | None
    facts: list[PinnedFact]
    rejected: list[dict[str, Any]] = Field(description="Exclusions: `what`, and `why` where that was said.")
    changed: list[str] = Field(description="Those of its facts that are not as they were pinned.")
    lost: int = Field(description="How many lines and facts were taken away by forgetting.")
    made_at: When
    expires_at: When
    adoptions: list[AdoptionAnswer]
    text: str = Field(description="All that a model needs to see, fenced as data.")
    as_of: AsOf


def handoff_document(
    handoff: Handoff, given: Handed, adoptions: Sequence[Adoption], names: Names, heads: Versions, known_at: Instant,
    served_at: Instant,
) -> Wire:  # fmt: skip
    """A handoff without the instants at which it is read."""

    def pinned(each: Pinned) -> Wire:
        fact = None if each.fact is None else rendering.fact(each.fact, names, heads, known_at, served_at)
        instead = rendering.facts(each.instead, names, heads, known_at, served_at)
        return {"id": each.id, "standing": each.standing.value, "fact": fact, "instead": instead}

    facts: list[JSON] = [pinned(each) for each in given.facts]
    rejected: list[JSON] = [{"what": each.what, "why": each.why} for each in handoff.rejected]
    took: list[JSON] = [
        {"principal": each.principal, "adopted_at": format_instant(each.adopted_at)} for each in adoptions
    ]
    return {
        "id": handoff.id,
        "sender": handoff.sender,
        "to": handoff.receiver,
        "task": handoff.task,
        "requirements": list(handoff.requirements),
        "constraints": list(handoff.constraints),
        "format": handoff.format,
        "facts": facts,
        "rejected": rejected,
        "changed": [each.id for each in given.facts if each.standing.value != "current"],
        "lost": handoff.lost,
        "made_at": format_instant(handoff.made_at),
        "expires_at": format_instant(handoff.expires_at),
        "adoptions": took,
        "text": given.text,
    }
