"""What one agent hands over to another: conclusions and pinned facts, never a transcript. No part of the ledger.

Facts are named by the ids of their versions and not copied: whoever reads a handoff reads memory, so what was forgotten
is gone from it, and what has changed is seen.
"""

from dataclasses import dataclass

from ontology.ids import FactId, HandoffId
from ontology.instants import Instant
from ontology.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """What was looked at and turned down, so that nobody does it again."""

    what: str
    why: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """A packet from one agent for another."""

    id: HandoffId
    scope: Scope
    sender: str
    receiver: str | None
    """The principal who may adopt it; `None` for whoever may read in the scope."""
    task: str | None
    """What is to be done; `None` once it was forgotten."""
    requirements: tuple[str, ...]
    constraints: tuple[str, ...]
    format: str | None
    """How the result should look."""
    facts: tuple[FactId, ...]
    rejected: tuple[Rejected, ...]
    lost: int
    """How many of these were taken away by forgetting."""
    made_at: Instant
    expires_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """That somebody took a handoff on."""

    principal: str
    adopted_at: Instant
