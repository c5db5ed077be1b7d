"""What a ledger holds, as plain rows and as a hash: whether two stores, or a rebuild, hold the same.

`ledger_hash` sees every id and recorded time; `belief_hash` sees only what is believed now. Idempotency keys,
indexes and the name of the tenant are in neither.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, assert_never

import orjson

from graph import decoding
from graph.decoding import Row
from graph.journal_words import record_row
from graph.ports import MemoryStore
from graph.tombstones import tombstone_row
from ontology.claims import Claim, Entity, Episode, Transition
from ontology.episodes import EpisodeRecord, Kept, Quote
from ontology.facts import FactVersion, Slot, Support
from ontology.ids import CLAIM, ENTITY, EPISODE, EntityId, Ledger, Place, claim_id, locate
from ontology.instants import OPEN_END
from ontology.schema import Schema
from ontology.schema_document import schema_document, schema_from_document
from ontology.scope import Namespace, Purpose, Scope, Tenant
from ontology.tombstones import Tombstone
from ontology.values import ValueType

KINDS: Final = (
    "schema", "entity", "episode", "kept", "claim", "transition", "version", "support", "quote", "record", "tombstone",
)  # fmt: skip
"""In the order in which a store gives them."""

LedgerItem = (
    Schema | Entity | Episode | Kept | Claim | Transition | FactVersion | Support | Quote | EpisodeRecord | Tombstone
)

_SLOT: Final = {"claim": 1, "version": 1, "support": 0}
"""Where a row has its slot: (namespace, purpose, subject, predicate, language)."""


def ledger_row(kind: str, item: LedgerItem) -> tuple[object, ...]:
    """The plain values of an item: strings, 64-bit integers (booleans and enumerations too), floats, bytes, `None`.

    Raises `TypeError` for a kind that is not that of the item.
    """
    row = _row(item)
    if KINDS[row[0]] != kind:
        raise TypeError(f"a row of kind {kind!r} cannot be made of {type(item).__name__}")
    return row[1]


def read_ledger(
    tenant: Tenant, ledger: Ledger, stored: Mapping[str, Iterable[Row]]
) -> Iterator[tuple[str, tuple[object, ...]]]:
    """The rows of a ledger from the columns of each of `KINDS`, which are in the order of `ledger_order`.

    They are those of decoding.py; of what belongs to a slot the last two are namespace and purpose. Before those of a
    transition stand the position and the ordinal of its claim.
    """

    @cache
    def scope(namespace: str, purpose: str) -> Scope:
        return Scope(tenant=tenant, namespace=Namespace(namespace), purpose=Purpose(purpose))

    def slot(row: Row, start: int) -> Slot:
        return decoding.slot(ledger, scope(*row[-2:]), row[start : start + 4])

    read: dict[str, Callable[[Row], LedgerItem | None]] = {
        "schema": lambda row: schema_from_document(json.loads(row[0])),
        "entity": lambda row: decoding.entity(ledger, Namespace(row[0]), row[1:]),
        "episode": decoding.episode,
        "kept": lambda row: decoding.kept(ledger, tenant, row),
        "claim": lambda row: decoding.claim(ledger, scope(*row[-2:]), row[:34]),
        "transition": lambda row: decoding.transition(ledger, claim_id(Place(ledger, row[0], row[1])), row[2:]),
        "version": lambda row: decoding.version(ledger, slot(row, 11), row[:11]),
        "quote": lambda row: decoding.quote(ledger, row),
        "record": lambda row: decoding.record(ledger, tenant, row),
        "support": lambda row: decoding.support(slot(row, 5), row[0], row[1:5], row[1]),
        "tombstone": lambda row: decoding.tombstone(ledger, tenant, row),
    }
    for kind in KINDS:
        for row in stored[kind]:
            item = read[kind](row)
            if item is not None:  # a payload about an episode may have no record in it
                yield kind, ledger_row(kind, item)


def ledger_order(item: LedgerItem) -> tuple[Any, ...]:
    """What the rows of one kind are sorted by; texts in code point order."""
    match item:
        case Schema():
            return (item.version,)
        case Entity():
            return _place(item.id, ENTITY)
        case Episode():
            return (item.id,)
        case Kept():
            return _place(item.episode, EPISODE)
        case Claim():
            return item.entry.position, item.entry.ordinal
        case Quote():
            return _place(item.claim, CLAIM)
        case EpisodeRecord():
            return _place(item.episode, EPISODE)
        case Transition():
            return *_place(item.claim, CLAIM), item.position
        case FactVersion():
            return item.position, item.ordinal
        case Support(slot=slot):
            scope, subject = slot.scope, _place(slot.subject, ENTITY)
            rest = (scope.namespace, scope.purpose, *subject, slot.predicate, slot.language, item.value_key)
            return item.recorded_from, *rest
        case Tombstone():
            return (item.position,)
        case _:
            assert_never(item)


def ledger_hash(store: MemoryStore, tenant: Tenant, *, subject: EntityId | None = None) -> str:
    """SHA-256, in hex, over the rows of a tenant's ledger, or over those that concern one subject."""
    digest = hashlib.sha256()
    rows = store.ledger(tenant)
    for kind, row in rows if subject is None else _about(rows, subject):
        digest.update(_framed(kind, row))
    return digest.hexdigest()


def belief_hash(store: MemoryStore, scope: Scope) -> str:
    """A hash, in hex, of what is believed now in a scope, whatever the ids, the recorded times and the order are.

    Entities stand under their key; one without a key under its id, which then does tell two ledgers apart.
    The sum of the SHA-256 of each row, with the number of rows (Bellare and Micciancio 1997, AdHash): it needs
    no sorting, and is no proof against someone who may choose the rows.
    """
    keys: dict[object, str] = {}
    total = count = 0
    for kind, row in store.ledger(scope.tenant):
        if kind == "entity":
            identifier, namespace, key = row
            if namespace == scope.namespace and isinstance(key, str):
                keys[identifier] = key
        elif kind == "version":
            believed = _believed(row, scope, keys)
            if believed is not None:
                count += 1
                total += int.from_bytes(hashlib.sha256(_framed("belief", believed)).digest(), "big")
    return hashlib.sha256(f"{count}:{total % 2**256:064x}".encode()).hexdigest()


def _believed(row: tuple[object, ...], scope: Scope, keys: dict[object, str]) -> tuple[object, ...] | None:
    """What a row of a version says, where it is believed now in the scope."""
    (
        _, namespace, purpose, subject, predicate, language, _, _, _, kind, text, qualifier,
        certain, valid_from, valid_to, _, recorded_to,
    ) = row  # fmt: skip
    if recorded_to != OPEN_END or (namespace, purpose) != (scope.namespace, scope.purpose):
        return None
    value = _named(text, keys) if kind == ValueType.ENTITY else (text,)
    return (*_named(subject, keys), predicate, language, kind, *value, qualifier, certain, valid_from, valid_to)


def _named(identifier: object, keys: dict[object, str]) -> tuple[object, ...]:
    """An entity by its key, or by its id; the mark keeps a key apart that looks like an id."""
    return ("key", keys[identifier]) if identifier in keys else ("id", identifier)


def _about(
    rows: Iterator[tuple[str, tuple[object, ...]]], subject: EntityId
) -> Iterator[tuple[str, tuple[object, ...]]]:
    claims: set[object] = set()
    for kind, row in rows:
        match kind:
            case "entity":
                mine = row[0] == subject
            case "transition" | "quote":
                mine = row[0] in claims
            case "claim" | "version" | "support":
                mine = row[_SLOT[kind] + 2] == subject
            case _:
                mine = False
        if mine:
            if kind == "claim":
                claims.add(row[0])
            yield kind, row


def _framed(kind: str, row: tuple[object, ...]) -> bytes:
    """One row as a line of JSON, bytes as hex in an array of their own, so that no two rows look alike."""
    return orjson.dumps((kind, row), default=_hex) + b"\n"


def _hex(value: object) -> list[str]:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} is no plain value")
    return [value.hex()]


def _place(identifier: str, prefix: str) -> tuple[int, int]:
    place = locate(identifier, prefix)
    return place.position, place.ordinal


def _row(item: LedgerItem) -> tuple[int, tuple[object, ...]]:
    """(index of the kind, values)."""
    match item:
        case Schema():
            document = orjson.dumps(schema_document(item), option=orjson.OPT_SORT_KEYS).decode()
            return 0, (item.version, document)
        case Entity():
            return 1, (item.id, item.namespace, item.key)
        case Episode():
            return 2, (item.id, item.source, item.observed_at, item.root)
        case Kept(scope=scope):
            return 3, (item.episode, scope.namespace, scope.purpose, item.content)
        case Claim():
            return 4, _claim_row(item)
        case Transition():
            why = item.state.value, item.rule, item.reason, item.actor
            return 5, (item.claim, *why, item.position, item.recorded_at, item.decided_on, item.successor)
        case FactVersion():
            return 6, _version_row(item)
        case Support(slot=slot):
            counts = item.sources, item.occurrences, float(item.doubt)
            return 7, (*_slot_values(slot), bytes(item.value_key), item.recorded_from, *counts)
        case Quote():
            return 8, (item.claim, item.turn, item.start, item.end, item.text)
        case EpisodeRecord(scope=scope):
            cited = orjson.dumps(record_row(item)[3:]).decode()
            return 9, (item.episode, scope.namespace, scope.purpose, item.made_by, item.summary, cited)
        case Tombstone(lifted=lifted):
            lift = (None, None, None) if lifted is None else (lifted.actor, lifted.position, lifted.recorded_at)
            document = orjson.dumps(tombstone_row(item)).decode()
            return 10, (document, item.actor, item.position, item.recorded_at, *lift)
        case _:
            assert_never(item)


def _claim_row(claim: Claim) -> tuple[object, ...]:
    entry, stated, value = claim.entry, claim.stated, claim.value
    return (
        claim.id, *_slot_values(claim.slot),
        entry.position, entry.ordinal, entry.observed_at, int(entry.asserts), int(entry.functional),
        None if entry.value is None else bytes(entry.value),
        *((None, None, None) if value is None else (value.type.value, value.text, value.qualifier)),
        int(entry.start), entry.start_lo, entry.start_hi, int(entry.end), entry.end_lo, entry.end_hi,
        stated.valid_from, stated.valid_to, stated.zone, None if stated.semantics is None else stated.semantics.value,
        int(claim.observed_stated), claim.source, claim.episode, claim.root, float(claim.confidence),
        claim.schema_version, claim.principal, claim.recorded_at, int(claim.trust), int(claim.echo), claim.expires_at,
    )  # fmt: skip


def _version_row(version: FactVersion) -> tuple[object, ...]:
    value = version.value
    return (
        version.id, *_slot_values(version.slot), version.position, version.ordinal,
        bytes(version.value_key), value.type.value, value.text, value.qualifier, int(version.certain),
        version.valid_from, version.valid_to, version.recorded_from, version.recorded_to,
    )  # fmt: skip


def _slot_values(slot: Slot) -> tuple[str, str, str, str, str]:
    return slot.scope.namespace, slot.scope.purpose, slot.subject, slot.predicate, slot.language
