"""What sources said: claims and retractions, the only input of belief, and what becomes of them."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final, NewType

from ontology.entries import Entry, Stated
from ontology.facts import Slot, Version
from ontology.ids import ClaimId, EntityId, EpisodeId
from ontology.instants import OPEN_END, Instant
from ontology.scope import Namespace
from ontology.values import Value

Source = NewType("Source", str)
"""Who said it: a name that the caller gives; by default the principal."""


class Trust(IntEnum):
    """How far a claim is trusted, in ascending order: decided by policy from who says it, never by what it says."""

    UNTRUSTED = 0
    """From anywhere, a web page for example: it is held until somebody looks at it."""
    INFERRED = 1
    """Concluded from something else."""
    OBSERVED = 2
    """Seen or heard by whoever tells it."""
    CONFIRMED = 3
    """A person has said or approved it."""
    VERIFIED = 4
    """Checked: by a signature, or by the system that owns it."""

    @property
    def word(self) -> str:
        """As the wire writes it."""
        return self.name.lower()


class Lifecycle(StrEnum):
    """The state of a claim; belief is a fold of those that are accepted."""

    ACCEPTED = "accepted"
    QUARANTINED = "quarantined"
    """Held until a reviewer decides."""
    STAGED = "staged"
    """Held until there is more evidence, or a confirmation."""
    REJECTED = "rejected"
    """Held, and then turned down: the same value from the same source does not come back."""
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    """Its retention is over: it is not served, and still bounds what is older."""
    FORGOTTEN = "forgotten"


HELD: Final = frozenset({Lifecycle.QUARANTINED, Lifecycle.STAGED})
FOLDED: Final = frozenset({Lifecycle.ACCEPTED, Lifecycle.EXPIRED})
ENDED: Final = frozenset({Lifecycle.REJECTED, Lifecycle.WITHDRAWN, Lifecycle.FORGOTTEN})
REVIEW: Final = "review"
"""The rule of a transition that a reviewer decided."""
RETENTION: Final = "retention"
"""The rule of a transition that the sweep wrote."""


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
    trust: Trust
    echo: bool
    """Whether it only repeats what memory itself had served: then it is no occurrence of its own."""
    schema_version: int
    principal: str
    recorded_at: Instant
    expires_at: Instant
    """From then on it is not served, whatever became of it; `OPEN_END` for never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """That a claim came into a state with a commit. One that was accepted at once has none for that."""

    claim: ClaimId
    state: Lifecycle
    rule: str
    """What brought it there: the rule of admission that held it, `review`, or the operation that ended it."""
    reason: str
    actor: str
    """The principal of the commit."""
    position: int
    recorded_at: Instant
    decided_on: Version | None
    """The version of the slot that the decision was about, where it was somebody's."""
    successor: ClaimId | None
    """The claim that replaces it, where it was a correction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A claim with all that became of it, in the order of time."""

    claim: Claim
    transitions: tuple[Transition, ...]

    @property
    def state(self) -> Lifecycle:
        return self.transitions[-1].state if self.transitions else Lifecycle.ACCEPTED

    @property
    def folded_from(self) -> Instant:
        """The recorded time since which it is folded; `OPEN_END` where it never was."""
        first = self.transitions[0] if self.transitions else None
        if first is None or first.position != self.claim.entry.position:
            return self.claim.recorded_at
        return next((each.recorded_at for each in self.transitions if each.state in FOLDED), OPEN_END)

    @property
    def folded_until(self) -> Instant:
        """The recorded time since which it is no longer folded; `OPEN_END` while it is, or may yet be."""
        return next((each.recorded_at for each in self.transitions if each.state in ENDED), OPEN_END)

    @property
    def is_folded(self) -> bool:
        return self.state in FOLDED

    @property
    def held(self) -> Transition | None:
        """Why it waits, where it does."""
        return self.transitions[-1] if self.state in HELD else None

    @property
    def ending(self) -> Transition | None:
        """Why it counts no more, where it does not."""
        return self.transitions[-1] if self.state in ENDED else None

    @property
    def trust(self) -> Trust:
        """Its trust; what a reviewer accepted is confirmed."""
        reviewed = any(each.state is Lifecycle.ACCEPTED and each.rule == REVIEW for each in self.transitions)
        return max(self.claim.trust, Trust.CONFIRMED) if reviewed else self.claim.trust
