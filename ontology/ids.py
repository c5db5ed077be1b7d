"""How things are named: one `NewType` per identifier, made from the ledger, the commit and the place in it.

An id is opaque to clients and derives from no value. A ledger's tag is random, so the id of one tenant means
nothing to another; `locate` gives the place back to a store, which keeps integers.
"""

import re
from dataclasses import dataclass
from typing import Final, NewType

from ontology.errors import NotFound, shown

Ledger = NewType("Ledger", str)
"""The tag of one tenant's ledger: eight of a-z and 2-7, drawn when the tenant is first written to."""
EntityId = NewType("EntityId", str)
ClaimId = NewType("ClaimId", str)
FactId = NewType("FactId", str)
EpisodeId = NewType("EpisodeId", str)
"""An episode's id is its caller's: it names evidence that lives elsewhere."""

ENTITY: Final = "ent"
CLAIM: Final = "clm"
FACT: Final = "fct"

_ID: Final = re.compile(r"(ent|clm|fct)_([a-z2-7]{8})_(\d{1,18})_(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
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


def locate(identifier: str, prefix: str) -> Place:
    """The place that an id of the kind `prefix` names. Raises `NotFound` for what is no such id."""
    match = _ID.fullmatch(identifier)
    if match is None or match[1] != prefix:
        kind = {ENTITY: "entity", CLAIM: "claim", FACT: "fact"}[prefix]
        raise NotFound(f"no {kind} {shown(identifier)}; its id looks like '{prefix}_abcdefgh_12_0'")
    return Place(Ledger(match[2]), int(match[3]), int(match[4]))
