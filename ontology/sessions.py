"""A session of an agent: its working notes, which live with it and die with it. No part of the ledger.

Notes are never facts, and no read of memory shows them. What is worth remembering of them becomes an episode, which is
read like any other; they go once that succeeded.
"""

from dataclasses import dataclass
from enum import StrEnum

from ontology.claims import Source
from ontology.episodes import SaidBy
from ontology.ids import OperationId, SessionId
from ontology.instants import Instant
from ontology.scope import Scope


class Stage(StrEnum):
    """Where a session stands. Clients must tolerate more members."""

    OPEN = "open"
    ENDING = "ending"
    """It takes no more notes; those that it has are being read."""
    ENDED = "ended"
    """What it had is read, and its notes are gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What is known of a session beside its notes."""

    id: SessionId
    scope: Scope
    principal: str
    """Who opened it, and in whose name what is read of it is written."""
    source: Source
    """Who says what stands in the notes."""
    me: SaidBy | None
    zone: str | None
    """The IANA zone of who speaks, for days such as yesterday."""
    stage: Stage
    opened_at: Instant
    changed_at: Instant
    """When it last got a note, or came into its stage."""
    notes: int
    """How many it ever got."""
    operations: tuple[OperationId, ...]
    """Those that read its notes, in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What was said, or noted, at one moment of a session."""

    number: int
    """From 1, without gaps."""
    speaker: str
    text: str
    at: Instant
    operation: OperationId | None
    """What reads it, once it was handed over."""
