"""What sources said: claims and retractions, the only input of belief, and how they end."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

from ontology.entries import Entry, Stated
from ontology.facts import Slot
from ontology.ids import ClaimId, EntityId, EpisodeId
from ontology.instants import Instant
from ontology.scope import Namespace
from ontology.values import Value

Source = NewType("Source", str)
"""Who said it: a name that the caller gives; by default the principal."""


class Lifecycle(StrEnum):
    """The state of a claim; only accepted claims are folded into belief."""

    ACCEPTED = "accepted"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A thing in the graph: an opaque id and, where its creator gave one, a key that is unique in its namespace."""

    id: EntityId
    namespace: Namespace
    key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One thing said or read, which claims cite as evidence; its verbatim lives elsewhere for now."""

    id: EpisodeId
    source: Source
    observed_at: Instant | None
    """When it was said; `None` where its first claim did not tell."""
    root: str
    """What it repeats, for counting independent evidence: its own source unless it is a projection of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one source said of a slot, as it was said; immutable.

    A retraction is kept as a claim whose `entry.asserts` is false: it takes part in the order and in the fold.
    """

    id: ClaimId
    slot: Slot
    entry: Entry
    value: Value | None
    """`None` only in a retraction of every value."""
    stated: Stated
    observed_stated: bool
    """Whether the caller said when; if not, `entry.observed_at` is the recorded time or the episode's."""
    source: Source
    episode: EpisodeId | None
    root: str
    confidence: float
    """In `[0, 1]`, as the source or its policy gave it."""
    schema_version: int
    principal: str
    recorded_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """That a claim is no longer folded, from a commit on."""

    claim: ClaimId
    state: Lifecycle
    reason: str
    position: int
    recorded_at: Instant
    successor: ClaimId | None
    """The claim that replaces it, where it was a correction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A claim with its end, if it has one."""

    claim: Claim
    ending: Ending | None
