"""What memory believes: slots, fact versions, their support, and the two instants of a question."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NewType, Protocol

from ontology.entries import End, Entry, Start
from ontology.ids import EntityId, FactId
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.scope import Scope
from ontology.values import Value, ValueKey, ValueType

Version = NewType("Version", int)
"""The version of a slot: the position of the last commit that touched it. A writer may expect one; 0 is *none yet*."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """The two instants at which a question is asked: when it holds in the world, and what was known."""

    valid_at: Instant
    known_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """The key under which claims compete."""

    scope: Scope
    subject: EntityId
    predicate: str
    language: str
    """The lower-cased language tag of its values, empty where they have none."""

    def __hash__(self) -> int:
        """Of what tells slots apart within a ledger, to which a subject belongs; slots are looked up often."""
        return hash((self.subject, self.predicate, self.language))


@dataclass(frozen=True, slots=True, kw_only=True)
class FactVersion:
    """One rectangle of belief: a value, held with one certainty, over valid time × recorded time."""

    id: FactId
    position: int
    ordinal: int
    slot: Slot
    value: Value
    value_key: ValueKey
    certain: bool
    valid_from: Instant
    valid_to: Instant
    recorded_from: Instant
    recorded_to: Instant
    """`OPEN_END` while it is believed; set once."""

    def visible_at(self, as_of: AsOf) -> bool:
        return (
            self.valid_from <= as_of.valid_at < self.valid_to
            and self.recorded_from <= as_of.known_at < self.recorded_to
        )

    def touches(self, other: "Stretch") -> bool:
        """Whether its valid time meets or touches a stretch of valid time."""
        return self.valid_from <= other.valid_to and other.valid_from <= self.valid_to


def ends(slot: Slot, value: Value) -> tuple[EntityId, ...]:
    """The entities that a value in a slot is about, or points at."""
    return (slot.subject, EntityId(value.text)) if value.type is ValueType.ENTITY else (slot.subject,)


class Stretch(Protocol):
    """Anything with a valid time."""

    @property
    def valid_from(self) -> Instant: ...

    @property
    def valid_to(self) -> Instant: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """How well a value of a slot is supported from `recorded_from` on, until the next row of the same value.

    Confidence is the noisy-or over distinct roots: 1 minus the product of what each leaves in doubt.
    """

    slot: Slot
    value_key: ValueKey
    recorded_from: Instant
    sources: int
    """Distinct roots that say so."""
    occurrences: int
    """Distinct episodes that say so; a claim without one counts for itself."""
    doubt: float
    """The product over roots of `1 - confidence`, each root's highest."""

    @property
    def confidence(self) -> float:
        return round(1.0 - self.doubt, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A version as an answer shows it: with how its ends are known and how it is supported, at a `known_at`."""

    version: FactVersion
    start: Start
    end: End
    support: Support
    expires_at: Instant
    """When the last of the claims that show in it expires; `OPEN_END` where one of them never does."""


def edges(version: FactVersion, first: Iterable[Entry], last: Iterable[Entry]) -> tuple[Start, End]:
    """How the ends of a version are known, by the claims that show at its first and at its last instant."""
    return known_ends(version, {entry.start for entry in first}, {entry.end for entry in last})


def known_ends(version: FactVersion, starts: Collection[int], ends: Collection[int]) -> tuple[Start, End]:
    """The same, by the kinds of their starts and of their ends.

    An end that another claim states or that a later start makes is known; it is unknown only where a claim that
    says so runs up to it and none states an end there.
    """
    if version.valid_from == OPEN_START:
        start = Start.OPEN if Start.OPEN in starts else Start.UNKNOWN
    else:
        start = Start.UNKNOWN if starts and Start.KNOWN not in starts else Start.KNOWN
    if version.valid_to == OPEN_END:
        end = End.INFINITY if End.INFINITY in ends else End.OPEN
    else:
        end = End.UNKNOWN if End.UNKNOWN in ends and End.KNOWN not in ends else End.KNOWN
    return start, end
