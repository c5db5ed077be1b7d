"""What one committed transaction is: its change set, and the event that the journal keeps of it.

A journal is a chain. The skeleton of an event (position, time, kind, who, digests of its payloads) is for ever;
a payload holds what concerns one subject and can be destroyed alone, since its digest covers 32 random bytes
that go with it.
"""

from dataclasses import dataclass
from enum import StrEnum

from ontology.claims import Claim, Entity, Episode, Transition, Trust
from ontology.episodes import EpisodeRecord, Kept, Quote, Verbatim, WordsGone
from ontology.errors import JSON
from ontology.facts import FactVersion, Slot, Support, Version
from ontology.ids import ClaimId, EntityId, EpisodeId, FactId, Owner
from ontology.instants import Instant
from ontology.schema import Schema
from ontology.scope import Scope
from ontology.tombstones import Lift, Tombstone
from ontology.values import ValueKey


class Kind(StrEnum):
    """What kind of transaction an event records."""

    WRITE = "write"
    IMPORT = "import"
    """A write whose recorded time was given by a privileged importer."""
    SCHEMA = "schema"
    ERASE = "erase"
    """A write with at least one erasure in it."""
    FORGET = "forget"
    LIFT = "lift"
    """A tombstone refuses nothing any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """That a claim shows over a stretch of valid time, from `recorded_from` on, inside one fact version."""

    claim: ClaimId
    slot: Slot
    value_key: ValueKey
    valid_from: Instant
    valid_to: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotHead:
    """What a writer needs to know of a slot."""

    slot: Slot
    version: Version
    """0 while only held claims are in it."""
    last: tuple[Instant, int, int] | None
    """The greatest order (rule 1) among its standing operations; `None` where there are none."""
    functional: bool
    """Whether every operation in it was written while its predicate was functional."""
    plain: bool
    """Whether no claim in it ever had an unknown start, an explicit `infinity` or an unknown end."""
    trust: Trust
    """No claim that is folded in it is trusted more."""
    rejected: bool
    """Whether a claim of it was ever rejected: only then a new one may be one that does not come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """Remove all that one scope was told of a subject, of one predicate of it, or of one value, over both times.

    Rule 14. The entity stays, with its key, and so does what other scopes were told of it.
    """

    scope: Scope
    subject: EntityId
    predicate: str | None
    value_key: ValueKey | None

    def takes(self, slot: Slot, value: ValueKey | None) -> bool:
        """Whether what a slot holds about a value goes; for what is about no value or every value, `None`."""
        return self.reaches(slot) and self.value_key in (None, value)

    def reaches(self, slot: Slot) -> bool:
        """Whether it takes something of a slot, or all of it."""
        return (slot.scope, slot.subject) == (self.scope, self.subject) and self.predicate in (None, slot.predicate)

    def covers(self, other: "Erasure") -> bool:
        """Whether it takes all that another one takes."""
        return (
            (self.scope, self.subject) == (other.scope, other.subject)
            and self.predicate in (None, other.predicate)
            and self.value_key in (None, other.value_key)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What forgetting takes out of a slot that is not forgotten whole, over both times.

    With it go what the claims show, the support of values that no claim is left to say, and the slot without claims.
    """

    slot: Slot
    claims: tuple[ClaimId, ...]
    versions: tuple[FactId, ...]
    """Those that rested on nothing else."""
    quotes: tuple[ClaimId, ...]
    """Claims that stay, and quote nothing any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What a caller asked, as the journal keeps it; an assert and a retract are their claims."""

    op: str
    subject: EntityId
    ordinal: int
    detail: dict[str, JSON]
    """The rest of the request in wire form: targets, reason, expected version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSet:
    """All that one transaction does to one tenant's ledger. A store applies it whole, in the order of the fields."""

    position: int
    recorded_at: Instant
    kind: Kind
    principal: str
    operations: tuple[Operation, ...] = ()
    schema: Schema | None = None
    erasures: tuple[Erasure, ...] = ()
    entities: tuple[Entity, ...] = ()
    episodes: tuple[Episode, ...] = ()
    verbatims: tuple[Verbatim | WordsGone, ...] = ()
    claims: tuple[Claim, ...] = ()
    quotes: tuple[Quote, ...] = ()
    """Of claims above, of which each has one at most."""
    transitions: tuple[Transition, ...] = ()
    """Of claims of this commit, those that are held; of earlier ones, what became of them."""
    closed: tuple[FactVersion, ...] = ()
    """As they were before: `recorded_to` is still open in them."""
    opened: tuple[FactVersion, ...] = ()
    hidden: tuple[Shown, ...] = ()
    shown: tuple[Shown, ...] = ()
    support: tuple[Support, ...] = ()
    slots: tuple[SlotHead, ...] = ()
    records: tuple[EpisodeRecord, ...] = ()
    """Of episodes that earlier commits recorded. A store keeps no more of them than their payloads."""
    removals: tuple[Removal, ...] = ()
    """Applied with the erasures, before all that is new."""
    tombstones: tuple[Tombstone, ...] = ()
    """One at most; what its `destroyed` names goes whole, before all that is new."""
    lifts: tuple[Lift, ...] = ()
    secret: bytes | None = None
    """What marks are made with, from the first commit that forgets."""

    @property
    def erases(self) -> bool:
        """Whether it changes answers at an old `known_at`."""
        return bool(self.erasures or self.tombstones)


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """What an event holds about one subject, or one recorded episode."""

    subject: Owner | None
    """`None` for what concerns neither: schemas, that there are episodes."""
    salt: bytes
    body: bytes
    """The part of the change set, in the journal's encoding."""
    digest: bytes
    """SHA-256 of salt and body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restated:
    """That an erasure destroyed a payload of an earlier event and kept what is left of it under a new digest."""

    position: int
    payload: Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Destroyed:
    """What forgetting destroys of what earlier commits wrote, beyond what it restates. No journal keeps it: whoever
    imports one meets none of it."""

    payloads: tuple[tuple[int, Owner], ...] = ()
    """Those of which nothing is left, with their positions."""
    emptied: tuple[Kept, ...] = ()
    """Recorded episodes whose words go, as they are kept from now on."""
    cited: tuple[EpisodeId, ...] = ()
    """Episodes that go, recorded or only cited: no claim is left that cites them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The skeleton of a committed transaction: what stays verifiable after everything in it was erased."""

    position: int
    """Gap-free per tenant, from 1."""
    recorded_at: Instant
    kind: Kind
    principal: str
    digests: tuple[tuple[Owner | None, bytes], ...]
    """The digest of each payload, in the order of the subjects."""
    restated: tuple[tuple[int, Owner | None, bytes], ...]
    """For an erasure: (position, subject, new digest) of each payload that it destroyed and restated; 32 zero bytes
    where nothing is left of it."""
    previous: bytes
    digest: bytes
    """SHA-256 of the previous event's digest and of all that stands above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A change set with its event: what a store writes in one transaction."""

    changes: ChangeSet
    event: Event
    payloads: tuple[Payload, ...]
    restated: tuple[Restated, ...]
    destroyed: Destroyed = Destroyed()
