"""How things are named: one `NewType` per identifier, made from the ledger, the commit and the place in it.

An id is opaque to clients and derives from no value. A ledger's tag is random, so the id of one tenant means
nothing to another; `locate` gives the place back to a store, which keeps integers.
"""

import re
from typing import Final, NamedTuple, NewType, TypeAlias

from ontology.errors import NotFound, shown

Ledger = NewType("Ledger", str)
"""The tag of one tenant's ledger: eight of a-z and 2-7, drawn when the tenant is first written to."""
EntityId = NewType("EntityId", str)
ClaimId = NewType("ClaimId", str)
FactId = NewType("FactId", str)
EpisodeId = NewType("EpisodeId", str)
"""Of a recorded episode; else the id is its caller's, and names evidence that lives elsewhere."""
OperationId = NewType("OperationId", str)
"""Of the reading of a recorded episode: the id of the episode with another prefix."""
SessionId = NewType("SessionId", str)
"""Of a session: made from when it was opened, so that ids are in that order, and from chance."""
HandoffId = NewType("HandoffId", str)
"""Of a handoff: made like that of a session."""
TombstoneId = NewType("TombstoneId", str)
Owner: TypeAlias = EntityId | EpisodeId
"""Whom a payload of the journal is about: a subject, or a recorded episode."""

ENTITY: Final = "ent"
CLAIM: Final = "clm"
FACT: Final = "fct"
EPISODE: Final = "epi"
OPERATION: Final = "opr"
SESSION: Final = "ses"
HANDOFF: Final = "hnd"
TOMBSTONE: Final = "frg"

_KINDS: Final = {
    ENTITY: "entity", CLAIM: "claim", FACT: "fact", EPISODE: "episode", OPERATION: "operation", TOMBSTONE: "tombstone",
}  # fmt: skip
_ID: Final = re.compile(r"(ent|clm|fct|epi|opr|frg)_([a-z2-7]{8})_(\d{1,18})_(\d{1,9})", re.ASCII)


class Place(NamedTuple):
    """Where a thing was made: the ledger, the position of the commit and the ordinal in it."""

    ledger: Ledger
    position: int
    ordinal: int


def entity_id(place: Place) -> EntityId:
    return EntityId(f"{ENTITY}_{place.ledger}_{place.position}_{place.ordinal}")


def claim_id(place: Place) -> ClaimId:
    return ClaimId(f"{CLAIM}_{place.ledger}_{place.position}_{place.ordinal}")


def fact_id(place: Place) -> FactId:
    return FactId(f"{FACT}_{place.ledger}_{place.position}_{place.ordinal}")


def episode_id(place: Place) -> EpisodeId:
    return EpisodeId(f"{EPISODE}_{place.ledger}_{place.position}_{place.ordinal}")


def operation_id(place: Place) -> OperationId:
    return OperationId(f"{OPERATION}_{place.ledger}_{place.position}_{place.ordinal}")


def session_id(opened_at: int, chance: bytes) -> SessionId:
    """The id of a session that was opened at an instant; `chance` has 8 bytes."""
    return SessionId(f"{SESSION}_{opened_at & 2**64 - 1:016x}{chance.hex()}")


def handoff_id(made_at: int, chance: bytes) -> HandoffId:
    """The id of a handoff that was made at an instant; `chance` has 8 bytes."""
    return HandoffId(f"{HANDOFF}_{made_at & 2**64 - 1:016x}{chance.hex()}")


def tombstone_id(place: Place) -> TombstoneId:
    return TombstoneId(f"{TOMBSTONE}_{place.ledger}_{place.position}_{place.ordinal}")


def is_recorded(id: str) -> bool:
    """Whether an id is that of a recorded episode, and none that a caller made up."""
    match = _ID.fullmatch(id)
    return match is not None and match[1] == EPISODE


def locate(identifier: str, prefix: str) -> Place:
    """The place that an id of the kind `prefix` names. Raises `NotFound` for what is no such id."""
    match = _ID.fullmatch(identifier)
    kind, ledger, position, ordinal = ("", "", "", "") if match is None else match.groups()
    if kind != prefix:
        raise NotFound(f"no {_KINDS[prefix]} {shown(identifier)}; its id looks like '{prefix}_abcdefgh_12_0'")
    return Place(Ledger(ledger), int(position), int(ordinal))


def kind_of(id: str) -> str | None:
    """How an id of ours begins, such as `ent`; `None` for any other text."""
    match = _ID.fullmatch(id)
    return None if match is None else match[1]
