"""How what was forgotten reads as RDF: a record of the forgetting, and a node without words for whatever is gone.

What is gone keeps its IRI, so that whoever exported it before can tell what to delete. What it was stands in the IRI.
"""

from collections.abc import Iterator
from typing import Final

import orjson

from ontology.ids import CLAIM, ENTITY, EPISODE, FACT, TOMBSTONE, Ledger, kind_of, locate
from ontology.instants import Instant
from ontology.rdf import ended, made, scoped, typed
from ontology.rdf_terms import Iri, Names, Statement, Statements, instant, json, prov, text, truth, vig
from ontology.tombstones import Lift, Tombstone

_KINDS: Final = {ENTITY: "entity", EPISODE: "episode", CLAIM: "claim", FACT: "fact"}


def tombstone(names: Names, of: Tombstone) -> Statements:
    """That something was forgotten, and a node for each thing of which nothing is left."""
    node, ledger = names.of("tombstone", of.id), locate(of.id, TOMBSTONE).ledger
    yield from typed(node, vig("Tombstone"), prov("Entity"))
    yield from made(names, node, ledger, of.position, of.recorded_at)
    yield from scoped(node, of.scope)
    yield Statement(node, vig("target"), text(of.target.value))
    yield Statement(node, vig("manifest"), text(of.manifest))
    yield Statement(node, prov("wasAttributedTo"), names.principal(of.actor))
    if of.subject is not None:
        yield Statement(node, vig("subject"), names.of("entity", of.subject))
    if of.predicate is not None:
        yield Statement(node, vig("predicate"), names.predicate(of.predicate))
    yield Statement(node, vig("blocks"), truth(of.blocks))
    yield Statement(node, vig("counts"), json(orjson.dumps(dict(of.counts), option=orjson.OPT_SORT_KEYS).decode()))
    for mark in of.marks:
        yield Statement(node, vig("mark"), text(f"{mark.kind.value}:{mark.digest.hex()}"))
    for owner in of.restated:
        yield Statement(node, vig("restated"), _node(names, owner))
    for gone in (*of.destroyed, *of.claims, *of.facts):
        yield Statement(node, vig("forgot"), _node(names, gone))
        yield from _forgotten(names, gone, ledger, of.position, of.recorded_at)


def lifted(names: Names, of: Lift) -> Statements:
    """That a tombstone refuses nothing any more. What it stands for stays forgotten."""
    node = names.of("tombstone", of.tombstone)
    yield Statement(node, vig("liftedBy"), names.activity(locate(of.tombstone, TOMBSTONE).ledger, of.position))
    yield Statement(node, vig("liftedAt"), instant(of.recorded_at))
    yield Statement(node, vig("liftedFor"), names.principal(of.actor))


def erased(names: Names, of: Tombstone) -> Iterator[Iri]:
    """What to delete from an older export: every statement whose subject is one of these."""
    for gone in (*of.destroyed, *of.claims, *of.facts):
        node = _node(names, gone)
        yield node
        yield names.event("g", node)
        yield names.event("i", node)
        if kind_of(gone) == CLAIM:
            yield names.of("quote", f"quote_{gone}")
        if kind_of(gone) == EPISODE:
            yield names.of("artifact", f"words_{gone}")
            yield names.of("record", f"record_{gone}")


def _forgotten(names: Names, id: str, ledger: Ledger, position: int, at: Instant) -> Statements:
    node = _node(names, id)
    yield from typed(node, vig("Forgotten"), prov("Entity"))
    if kind_of(id) in (CLAIM, FACT):
        yield Statement(node, prov("wasGeneratedBy"), names.activity(ledger, locate(id, kind_of(id) or "").position))
    yield from ended(names, node, ledger, position, at, "ErasureRequest")


def _node(names: Names, id: str) -> Iri:
    return names.of(_KINDS[kind_of(id) or ENTITY], id)
