"""How a tombstone looks as JSON: in the journal, in the tables of a store and in its ledger."""

from collections.abc import Mapping
from typing import Any

from ontology.ids import Ledger, Place, tombstone_id
from ontology.scope import Scope, Tenant
from ontology.tombstones import Lift, Mark, Marked, Target, Tombstone

Row = list[Any]


def tombstone_row(stone: Tombstone) -> tuple[object, ...]:
    """All but when it was made, by whom, and whether it was lifted: that stands around it."""
    return (
        stone.id, stone.scope.namespace, stone.scope.purpose, stone.target, stone.manifest, stone.subject,
        stone.predicate, stone.destroyed, stone.restated, stone.claims, stone.facts,
        [(mark.kind, mark.digest.hex()) for mark in stone.marks], dict(sorted(stone.counts.items())), stone.blocks,
    )  # fmt: skip


def read_tombstone(row: Row, tenant: Tenant, made: tuple[str, int, Any], lifted: Lift | None) -> Tombstone:
    """`made` says by whom, at which position and when."""
    (id, namespace, purpose, target, manifest, subject, predicate, destroyed, restated, claims, facts, marks, counts,
     blocks) = row  # fmt: skip
    actor, position, recorded_at = made
    counted: Mapping[str, int] = counts
    return Tombstone(
        id=id,
        scope=Scope(tenant=tenant, namespace=namespace, purpose=purpose),
        target=Target(target),
        manifest=manifest,
        subject=subject,
        predicate=predicate,
        destroyed=tuple(destroyed),
        restated=tuple(restated),
        claims=tuple(claims),
        facts=tuple(facts),
        marks=tuple(Mark(kind=Marked(kind), digest=bytes.fromhex(digest)) for kind, digest in marks),
        counts=counted,
        blocks=bool(blocks),
        actor=actor,
        position=position,
        recorded_at=recorded_at,
        lifted=lifted,
    )


def read_lift(ledger: Ledger, stone: int, row: Row | tuple[Any, ...]) -> Lift:
    """The lift of the tombstone at a position, from (actor, position, recorded_at)."""
    actor, position, recorded_at = row
    return Lift(
        tombstone=tombstone_id(Place(ledger, stone, 0)), actor=actor, position=position, recorded_at=recorded_at
    )
