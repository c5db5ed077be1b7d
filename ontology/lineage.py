"""How one version follows another in a commit: which one it revises, what it rests on, and why an old one ended.

A store keeps rectangles and claims. What an auditor asks, whether a value was corrected or had changed, is told by
what the claims of the commit did that closed one version and opened another.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ontology.claims import ENDED, Claim, Told, Transition
from ontology.events import Shown
from ontology.facts import FactVersion
from ontology.ids import ClaimId, FactId
from ontology.instants import OPEN_END, OPEN_START


class Supersession(StrEnum):
    """What a version is to one that it revises."""

    CORRECTION = "Correction"
    """Another value, by a claim that replaces one on which the old version rests: that one was never right."""
    CHANGE = "Change"
    """Another value, from an instant on: the old one had been right until then."""
    CLOSED_INTERVAL = "ClosedInterval"
    """The same value with the same certainty, over a part of the period."""
    RESTATED = "Restated"
    """The same value with another certainty, or beyond the period."""
    RESUMED = "Resumed"
    """Another value that nothing new says: what had hidden it is gone."""


class Reason(StrEnum):
    """Why a version is believed no more."""

    SUPERSEDED = "Superseded"
    RETRACTED = "Retracted"
    WITHDRAWN = "Withdrawn"
    """A claim on which it rests counts no more, and none replaces it."""


class Part(StrEnum):
    """What of a version a claim supports."""

    VALUE = "Value"
    VALID_FROM = "ValidFrom"
    VALID_UNTIL = "ValidUntil"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotCommit:
    """What one commit did to one slot."""

    closed: Sequence[FactVersion]
    fresh: Sequence[Claim]
    """Claims and retractions that count since then, new ones and those that had waited."""
    hidden: Sequence[Shown]
    """Where claims showed that show there no more."""
    transitions: Sequence[Transition]
    """Of claims that showed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """What a version rests on and which ones it revises."""

    rests_on: tuple[tuple[ClaimId, Part], ...]
    """The claims that say its value, then those of the commit that cut its period."""
    revises: tuple[tuple[FactId, Supersession], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Why a version ended, and what did it."""

    reason: Reason
    because: tuple[ClaimId, ...]
    """Claims that count since then, in their order."""
    decided: tuple[Transition, ...]
    """What became of claims on which it rested."""


def lineage(new: FactVersion, evidence: Sequence[Told], commit: SlotCommit) -> Lineage:
    """How a version that a commit opened came about; `evidence` are the claims that show in it since."""
    says = {each.claim.id for each in evidence}
    cuts = [(each.id, part) for each in commit.fresh if each.id not in says for part in _cuts(each, new)]
    revises = [
        (old.id, kind) for old in commit.closed if (kind := _supersession(old, new, evidence, commit)) is not None
    ]
    return Lineage(
        rests_on=(*((each.claim.id, Part.VALUE) for each in evidence), *cuts),
        revises=tuple(revises),
    )


def ended(old: FactVersion, commit: SlotCommit) -> Ended:
    """Why a commit closed a version."""
    gone = _gone_from(old, commit)
    fresh = [each for each in commit.fresh if _concerns(each, old)]
    if any(not each.entry.asserts for each in fresh):
        reason = Reason.RETRACTED
    elif any(step.successor is None for step in gone):
        reason = Reason.WITHDRAWN
    else:
        reason = Reason.SUPERSEDED
    return Ended(reason=reason, because=tuple(each.id for each in fresh), decided=tuple(gone))


def _supersession(
    old: FactVersion, new: FactVersion, evidence: Sequence[Told], commit: SlotCommit
) -> Supersession | None:
    """What one version is to another that was closed as it was opened; `None` where they have nothing in common."""
    if not (old.valid_from < new.valid_to and new.valid_from < old.valid_to):
        return None
    if old.value_key == new.value_key:
        inside = old.valid_from <= new.valid_from and new.valid_to <= old.valid_to
        return Supersession.CLOSED_INTERVAL if inside and old.certain == new.certain else Supersession.RESTATED
    gone, says = _gone_from(old, commit), {each.claim.id for each in evidence}
    if any(step.successor in says for step in gone):
        return Supersession.CORRECTION
    if not any(each.claim.entry.functional for each in evidence):
        return None  # values that stand beside each other
    fresh = {each.id for each in commit.fresh}
    if says & fresh:
        return Supersession.CHANGE
    return Supersession.RESUMED if gone else None


def _gone_from(old: FactVersion, commit: SlotCommit) -> list[Transition]:
    """What ended claims that showed in a version."""
    showed = {
        each.claim
        for each in commit.hidden
        if each.value_key == old.value_key and each.valid_from < old.valid_to and old.valid_from < each.valid_to
    }
    return [step for step in commit.transitions if step.claim in showed and step.state in ENDED]


def _concerns(claim: Claim, old: FactVersion) -> bool:
    """Whether a claim can have taken something from a version, or put another in its place."""
    entry = claim.entry
    if entry.start_lo >= old.valid_to or (entry.end_hi <= old.valid_from and entry.dated):
        return False
    return entry.value in (None, old.value_key) or (entry.asserts and entry.functional)


_NEVER: Final = frozenset({OPEN_START, OPEN_END})


def _cuts(claim: Claim, new: FactVersion) -> Iterable[Part]:
    """Which end of a version another claim makes: it ends where that begins, or begins where that ends."""
    entry = claim.entry
    if entry.asserts and not entry.functional:
        return
    if new.valid_to in {entry.start_lo, entry.start_hi} - _NEVER:
        yield Part.VALID_UNTIL
    if new.valid_from in {entry.end_lo, entry.end_hi} - _NEVER:
        yield Part.VALID_FROM
