"""How the parts of a change set look as rows of JSON: the encoding inside a payload.

The body of a payload is one array: `[format, slots, values, sections, places]`. A row is an array with its fields
in a fixed order. Slots and values stand once in their tables, and rows name them by index; a destroyed entry of
a table is null. What equals the commit's own position, recorded time or principal is written as null, as is an
open end. `places` is null where the sections of all payloads, one after another, are in the original order, and
otherwise has, for each section where they are not, the place of each row.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final

import orjson

from graph.journal_sections import Section
from graph.journal_words import quote_row, read_quote, read_record_row, read_words, record_row, words_row
from graph.tombstones import read_tombstone, tombstone_row
from ontology.claims import Claim, Entity, Episode, Lifecycle, Transition, Trust
from ontology.entries import End, Entry, Start, Stated
from ontology.episodes import EpisodeRecord, Verbatim, WordsGone, has_words
from ontology.events import Erasure, Operation, Payload, Removal, Restated, Shown, SlotHead
from ontology.facts import FactVersion, Slot, Support, Version
from ontology.ids import EPISODE, EpisodeId, Owner, is_recorded, locate
from ontology.instants import OPEN_END, Instant, Semantics
from ontology.schema import Schema
from ontology.schema_document import schema_document, schema_from_document
from ontology.scope import Scope, Tenant
from ontology.tombstones import Lift, Tombstone
from ontology.values import Value, ValueKey, ValueType

FORMAT: Final = 2
OLDEST: Final = 1
"""The oldest format that is read: there a claim had no trust, an ending no actor and a slot no trust."""

Row = list[Any]
"""Decoded JSON: untyped data ends in this module."""

Written = tuple[object, ...]
"""A row or a body on its way to JSON; a tuple, for its speed."""


def dump(framed: object) -> bytes:
    """Compact JSON, one text for equal input."""
    return orjson.dumps(framed, option=orjson.OPT_SORT_KEYS)


def load(payload: Payload) -> Row:
    """The body of a payload; sections that were added to the format after it was written are empty.

    Raises `ValueError` for what is no body.
    """
    document: object = orjson.loads(payload.body)
    body: Row = document if isinstance(document, list) else []
    if len(body) != 5:
        raise ValueError("no body of a payload")
    body[3] += [[] for _ in range(len(Section) - len(body[3]))]
    if body[4] is not None:
        body[4] += [None] * (len(Section) - len(body[4]))
    return body


def seal(subject: Owner | None, salt: bytes, body: bytes) -> Payload:
    """The payload with its digest, which covers `salt` too."""
    return Payload(subject=subject, salt=salt, body=body, digest=hashlib.sha256(salt + body).digest())


class Encoder:
    """Rows of one payload, as its subject's part of a commit grows."""

    __slots__ = ("_by_key", "_position", "_principal", "_recorded_at", "_slots", "_values", "sections", "subject")

    def __init__(self, subject: Owner | None, position: int, recorded_at: Instant, principal: str) -> None:
        self.subject = subject
        self.sections: list[list[Written]] = [[] for _ in Section]
        self._position = position
        self._recorded_at = recorded_at
        self._principal = principal
        self._slots: dict[tuple[str, str, str, str, str], int] = {}
        self._values: dict[tuple[ValueKey, str | None, str | None, str | None], int] = {}
        self._by_key: dict[ValueKey, int] = {}

    def body(self, places: list[list[int] | None] | None) -> Written:
        slots = [list(slot) for slot in self._slots]
        values = [[key.hex(), kind, text, qualifier] for key, kind, text, qualifier in self._values]
        return (FORMAT, slots, values, self.sections, places)

    def operation(self, operation: Operation) -> Written:
        return (operation.op, operation.ordinal, operation.detail)

    def schema(self, schema: Schema) -> Written:
        return (schema_document(schema),)

    def erasure(self, erasure: Erasure) -> Written:
        scope, key = erasure.scope, erasure.value_key
        return (scope.tenant, scope.namespace, scope.purpose, erasure.predicate, None if key is None else key.hex())

    def entity(self, entity: Entity) -> Written:
        return (entity.namespace, entity.key)

    def episode(self, episode: Episode) -> Written:
        return (episode.id, episode.source, episode.observed_at, episode.root)

    def verbatim(self, verbatim: Verbatim | WordsGone) -> Written:
        return words_row(verbatim)

    def record(self, record: EpisodeRecord) -> Written:
        return record_row(record)

    def claim(self, claim: Claim) -> Written:
        entry, stated, source = claim.entry, claim.stated, claim.source
        return (
            claim.id,
            self._slot(claim.slot),
            None if entry.value is None else self._value(entry.value, claim.value),
            None if entry.position == self._position else entry.position,
            entry.ordinal,
            entry.observed_at,
            entry.asserts,
            entry.functional,
            entry.start,
            entry.start_lo,
            entry.start_hi,
            entry.end,
            None if entry.end_lo == OPEN_END else entry.end_lo,
            None if entry.end_hi == OPEN_END else entry.end_hi,
            stated.valid_from,
            stated.valid_to,
            stated.zone,
            stated.semantics,
            claim.observed_stated,
            source,
            claim.episode,
            None if claim.root == source else claim.root,
            claim.confidence,
            claim.schema_version,
            None if claim.principal == self._principal else claim.principal,
            None if claim.recorded_at == self._recorded_at else claim.recorded_at,
            claim.trust,
            claim.echo,
            *(() if claim.expires_at == OPEN_END else (claim.expires_at,)),
        )

    def transition(self, transition: Transition) -> Written:
        return (
            transition.claim,
            transition.state,
            transition.reason,
            None if transition.position == self._position else transition.position,
            None if transition.recorded_at == self._recorded_at else transition.recorded_at,
            transition.successor,
            transition.rule,
            None if transition.actor == self._principal else transition.actor,
            transition.decided_on,
        )

    def version(self, version: FactVersion) -> Written:
        return (
            version.id,
            None if version.position == self._position else version.position,
            version.ordinal,
            self._slot(version.slot),
            self._value(version.value_key, version.value),
            version.certain,
            version.valid_from,
            None if version.valid_to == OPEN_END else version.valid_to,
            None if version.recorded_from == self._recorded_at else version.recorded_from,
            None if version.recorded_to == OPEN_END else version.recorded_to,
        )

    def shown(self, shown: Shown) -> Written:
        return (
            shown.claim,
            self._slot(shown.slot),
            self._key(shown.value_key),
            shown.valid_from,
            None if shown.valid_to == OPEN_END else shown.valid_to,
        )

    def support(self, support: Support) -> Written:
        return (
            self._slot(support.slot),
            self._key(support.value_key),
            None if support.recorded_from == self._recorded_at else support.recorded_from,
            support.sources,
            support.occurrences,
            support.doubt,
        )

    def slot(self, head: SlotHead) -> Written:
        version = None if head.version == self._position else head.version
        return (self._slot(head.slot), version, head.last, head.functional, head.plain, head.trust, head.rejected)

    def removal(self, removal: Removal) -> Written:
        return (self._slot(removal.slot), removal.claims, removal.versions, removal.quotes)

    def tombstone(self, stone: Tombstone) -> Written:
        return (stone.scope.tenant, *tombstone_row(stone))

    def lift(self, lift: Lift) -> Written:
        return (lift.tombstone,)

    def _slot(self, slot: Slot) -> int:
        scope = slot.scope
        framed = (scope.tenant, scope.namespace, scope.purpose, slot.predicate, slot.language)
        return self._slots.setdefault(framed, len(self._slots))

    def _value(self, key: ValueKey, value: Value | None) -> int:
        if value is None:
            return self._key(key)
        index = self._values.setdefault((key, value.type, value.text, value.qualifier), len(self._values))
        self._by_key.setdefault(key, index)
        return index

    def _key(self, key: ValueKey) -> int:
        index = self._by_key.get(key)
        if index is None:
            index = self._by_key[key] = self._values.setdefault((key, None, None, None), len(self._values))
        return index


class Decoder:
    """What the rows of one payload say; `tenant` stands in for the one in which they were written."""

    def __init__(self, body: Row, subject: Owner | None, event: tuple[int, Instant, str], tenant: Tenant | None):
        form, slots, values, self.sections, self.places = body
        if not OLDEST <= form <= FORMAT:
            raise ValueError(f"a payload of format {form}")
        self._subject: Any = subject
        self._tenant = tenant
        self._position, self._recorded_at, self._principal = event
        self._slots: list[Any] = [slot and self._read_slot(slot) for slot in slots]
        self._keys: list[Any] = [value and ValueKey(bytes.fromhex(value[0])) for value in values]
        self._values: list[Any] = [value and self._read_value(value) for value in values]

    def operation(self, row: Row) -> Operation:
        op, ordinal, detail = row
        return Operation(op=op, subject=self._subject, ordinal=ordinal, detail=detail)

    def schema(self, row: Row) -> Schema:
        return schema_from_document(row[0])

    def erasure(self, row: Row) -> Erasure:
        tenant, namespace, purpose, predicate, key = row
        return Erasure(
            scope=self._read_scope(tenant, namespace, purpose),
            subject=self._subject,
            predicate=predicate,
            value_key=None if key is None else ValueKey(bytes.fromhex(key)),
        )

    def entity(self, row: Row) -> Entity:
        namespace, key = row
        return Entity(id=self._subject, namespace=namespace, key=key)

    def episode(self, row: Row) -> Episode:
        identifier, source, observed_at, root = row
        return Episode(id=identifier, source=source, observed_at=observed_at, root=root)

    def verbatim(self, row: Row) -> Verbatim | WordsGone:
        return read_words(row, self._subject, self._tenant)

    def record(self, row: Row) -> EpisodeRecord:
        return read_record_row(row, self._subject, self._tenant)

    def claim(self, row: Row) -> Claim:
        (
            identifier, slot, value, position, ordinal, observed_at, asserts, functional, start, start_lo, start_hi,
            end, end_lo, end_hi, valid_from, valid_to, zone, semantics, observed_stated, source, episode, root,
            confidence, schema_version, principal, recorded_at, *admitted,
        ) = row  # fmt: skip
        trust, echo, *expires = admitted or (Trust.OBSERVED, False)
        entry = Entry(
            position=self._position if position is None else position,
            ordinal=ordinal,
            observed_at=observed_at,
            asserts=asserts,
            value=None if value is None else self._keys[value],
            functional=functional,
            start=Start(start),
            start_lo=start_lo,
            start_hi=start_hi,
            end=End(end),
            end_lo=OPEN_END if end_lo is None else end_lo,
            end_hi=OPEN_END if end_hi is None else end_hi,
        )
        return Claim(
            id=identifier,
            slot=self._slots[slot],
            entry=entry,
            value=None if value is None else self._values[value],
            stated=Stated(
                valid_from=valid_from,
                valid_to=valid_to,
                zone=zone,
                semantics=None if semantics is None else Semantics(semantics),
            ),
            observed_stated=observed_stated,
            source=source,
            episode=episode,
            root=source if root is None else root,
            confidence=confidence,
            schema_version=schema_version,
            principal=self._principal if principal is None else principal,
            recorded_at=self._recorded_at if recorded_at is None else recorded_at,
            trust=Trust(trust),
            echo=echo,
            expires_at=expires[0] if expires else OPEN_END,
        )

    def transition(self, row: Row) -> Transition:
        claim, state, reason, position, recorded_at, successor, *decided = row
        rule, actor, decided_on = decided or ("withdraw" if successor is None else "replace", None, None)
        return Transition(
            claim=claim,
            state=Lifecycle(state),
            rule=rule,
            reason=reason,
            actor=self._principal if actor is None else actor,
            position=self._position if position is None else position,
            recorded_at=self._recorded_at if recorded_at is None else recorded_at,
            decided_on=decided_on,
            successor=successor,
        )

    def version(self, row: Row) -> FactVersion:
        identifier, position, ordinal, slot, value, certain, valid_from, valid_to, recorded_from, recorded_to = row
        return FactVersion(
            id=identifier,
            position=self._position if position is None else position,
            ordinal=ordinal,
            slot=self._slots[slot],
            value=self._values[value],
            value_key=self._keys[value],
            certain=certain,
            valid_from=valid_from,
            valid_to=OPEN_END if valid_to is None else valid_to,
            recorded_from=self._recorded_at if recorded_from is None else recorded_from,
            recorded_to=OPEN_END if recorded_to is None else recorded_to,
        )

    def shown(self, row: Row) -> Shown:
        claim, slot, value, valid_from, valid_to = row
        return Shown(
            claim=claim,
            slot=self._slots[slot],
            value_key=self._keys[value],
            valid_from=valid_from,
            valid_to=OPEN_END if valid_to is None else valid_to,
        )

    def support(self, row: Row) -> Support:
        slot, value, recorded_from, sources, occurrences, doubt = row
        return Support(
            slot=self._slots[slot],
            value_key=self._keys[value],
            recorded_from=self._recorded_at if recorded_from is None else recorded_from,
            sources=sources,
            occurrences=occurrences,
            doubt=doubt,
        )

    def slot(self, row: Row) -> SlotHead:
        slot, version, last, functional, plain, *judged = row
        trust, rejected = judged or (Trust.OBSERVED, False)
        return SlotHead(
            slot=self._slots[slot],
            version=Version(self._position if version is None else version),
            last=None if last is None else tuple(last),
            functional=functional,
            plain=plain,
            trust=Trust(trust),
            rejected=rejected,
        )

    def removal(self, row: Row) -> Removal:
        slot, claims, versions, quotes = row
        return Removal(
            slot=self._slots[slot], claims=tuple(claims), versions=tuple(versions), quotes=tuple(quotes)
        )  # fmt: skip

    def tombstone(self, row: Row) -> Tombstone:
        tenant, *rest = row
        made = self._principal, self._position, self._recorded_at
        return read_tombstone(rest, tenant if self._tenant is None else self._tenant, made, None)

    def lift(self, row: Row) -> Lift:
        (stone,) = row
        return Lift(
            tombstone=stone, actor=self._principal, position=self._position, recorded_at=self._recorded_at
        )  # fmt: skip

    def _read_slot(self, slot: Sequence[Any]) -> Slot:
        tenant, namespace, purpose, predicate, language = slot
        scope = self._read_scope(tenant, namespace, purpose)
        return Slot(scope=scope, subject=self._subject, predicate=predicate, language=language)

    def _read_scope(self, tenant: Any, namespace: Any, purpose: Any) -> Scope:
        return Scope(tenant=tenant if self._tenant is None else self._tenant, namespace=namespace, purpose=purpose)

    @staticmethod
    def _read_value(value: Sequence[Any]) -> Value | None:
        _, kind, text, qualifier = value
        return None if kind is None else Value(type=ValueType(kind), text=text, qualifier=qualifier)


def read_verbatim(payload: Payload, tenant: Tenant) -> Verbatim | WordsGone | None:
    """The words in the payload of a recorded episode, or what is left of them, if anything."""
    rows = load(payload)[3][Section.VERBATIMS]
    words = read_words(rows[0], EpisodeId(payload.subject or ""), tenant) if rows else None
    return words if words is None or isinstance(words, WordsGone) or has_words(words) else None


def lost_words(restated: Restated) -> bool:
    """Whether it is what is left of the payload in which an episode had its words."""
    payload = restated.payload
    subject = payload.subject
    if subject is None or not is_recorded(subject) or locate(subject, EPISODE).position != restated.position:
        return False
    return not isinstance(read_verbatim(payload, Tenant("")), Verbatim)


def read_record(payload: Payload, tenant: Tenant) -> EpisodeRecord | None:
    """The record in a payload of a recorded episode; `None` where there is none in it, or none any more."""
    rows = load(payload)[3][Section.RECORDS]
    return read_record_row(rows[0], EpisodeId(payload.subject or ""), tenant) if rows else None


ENCODE: Final[dict[Section, Callable[[Encoder, Any], Written]]] = {
    Section.OPERATIONS: Encoder.operation,
    Section.SCHEMAS: Encoder.schema,
    Section.ERASURES: Encoder.erasure,
    Section.ENTITIES: Encoder.entity,
    Section.EPISODES: Encoder.episode,
    Section.CLAIMS: Encoder.claim,
    Section.TRANSITIONS: Encoder.transition,
    Section.CLOSED: Encoder.version,
    Section.OPENED: Encoder.version,
    Section.HIDDEN: Encoder.shown,
    Section.SHOWN: Encoder.shown,
    Section.SUPPORT: Encoder.support,
    Section.SLOTS: Encoder.slot,
    Section.VERBATIMS: Encoder.verbatim,
    Section.QUOTES: lambda _, quote: quote_row(quote),
    Section.RECORDS: Encoder.record,
    Section.REMOVALS: Encoder.removal,
    Section.TOMBSTONES: Encoder.tombstone,
    Section.LIFTS: Encoder.lift,
    Section.SECRETS: lambda _, secret: (secret.hex(),),
}

DECODE: Final[dict[Section, Callable[[Decoder, Row], Any]]] = {
    Section.OPERATIONS: Decoder.operation,
    Section.SCHEMAS: Decoder.schema,
    Section.ERASURES: Decoder.erasure,
    Section.ENTITIES: Decoder.entity,
    Section.EPISODES: Decoder.episode,
    Section.CLAIMS: Decoder.claim,
    Section.TRANSITIONS: Decoder.transition,
    Section.CLOSED: Decoder.version,
    Section.OPENED: Decoder.version,
    Section.HIDDEN: Decoder.shown,
    Section.SHOWN: Decoder.shown,
    Section.SUPPORT: Decoder.support,
    Section.SLOTS: Decoder.slot,
    Section.VERBATIMS: Decoder.verbatim,
    Section.QUOTES: lambda _, row: read_quote(row),
    Section.RECORDS: Decoder.record,
    Section.REMOVALS: Decoder.removal,
    Section.TOMBSTONES: Decoder.tombstone,
    Section.LIFTS: Decoder.lift,
    Section.SECRETS: lambda _, row: bytes.fromhex(row[0]),
}
