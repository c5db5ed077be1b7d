"""What a caller may ask of memory in one transaction, as it came off the wire and before it is checked."""

from dataclasses import dataclass
from typing import TypeAlias

from consolidation.policy import Held
from ontology.facts import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """That a claim was read from an episode, whose source was looked at when it was recorded. On no wire."""

    doubt: Held | None
    """Why whoever read it would have it wait."""
    session: str | None
    """The session in which an agent said it, where what was served in it counts; `None` for a person's words."""


class Absent:
    """A value that was not given, which JSON's `null` would not say."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """Which words of the episode say so: characters `start` up to `end` of a turn, or of the single text."""

    turn: int | None
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Who said it, when, and for which period; texts as given, `None` for what was not."""

    valid_from: str | None = None
    valid_to: str | None = None
    zone: str | None = None
    date_semantics: str | None = None
    observed_at: str | None = None
    source: str | None = None
    episode: str | None = None
    root: str | None = None
    confidence: float | None = None
    quote: Quoted | None = None
    trust: str | None = None
    """How far it is to be trusted: no more than its principal may give."""
    ttl: str | None = None
    """How long it is served, as an ISO 8601 duration; of an assertion only."""
    recalled: str | None = None
    """The text that it was taken from, where that carries markers of recalled memory."""
    read: Read | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assert:
    """That a subject has a value, for a period."""

    subject: object
    predicate: str
    value: object
    said: Said = Said()
    expected_version: Version | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retract:
    """That a period, of one value or of all, is no longer believed."""

    subject: object
    predicate: str
    value: object = ABSENT
    said: Said = Said()
    expected_version: Version | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """That what a fact rests on was wrong, and what is right: a fact by its id, or by slot, `old` value and `at`.

    A value that is not given stays; so does each bound.
    """

    fact: str | None = None
    subject: object = ABSENT
    predicate: str | None = None
    old: object = ABSENT
    at: str | None = None
    value: object = ABSENT
    said: Said = Said()
    reason: str | None = None
    expected_version: Version | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetractFact:
    """That one fact version is cut out of what is believed, over its whole period."""

    fact: str
    said: Said = Said()
    expected_version: Version | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdraw:
    """That a claim, or all claims of an episode or a source, never counted; exactly one of the three is given."""

    claim: str | None = None
    episode: str | None = None
    source: str | None = None
    reason: str | None = None
    expected_version: Version | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Erase:
    """That nothing of a subject, of one predicate of it, or of one value may stay, at any time."""

    subject: object
    predicate: str | None = None
    value: object = ABSENT
    expected_version: Version | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Promote:
    """That a held claim is believed from now on, at its place in the order."""

    claim: str
    reason: str | None = None
    expected_version: Version | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """That a held claim is turned down, and its value from its source with it."""

    claim: str
    reason: str | None = None
    expected_version: Version | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expire:
    """That the time of a claim is over: what the sweep writes, and nobody else may ask."""

    claim: str


Item: TypeAlias = Assert | Retract | Replace | RetractFact | Withdraw | Erase | Promote | Reject | Expire
