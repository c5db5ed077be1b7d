"""How domain values become the properties of nodes and relationships."""

from graph.neo4j_store import keys
from ontology.claims import Claim, Ending, Entity, Episode
from ontology.errors import Fault
from ontology.events import Event, Payload, Shown, SlotHead
from ontology.facts import FactVersion, Slot, Support
from ontology.ids import CLAIM, ENTITY, EntityId, Ledger, locate
from ontology.instants import OPEN_END, Instant
from ontology.scope import Tenant
from ontology.values import ValueType

Row = dict[str, object]
_TEXT_SHOWN = 200
"""So much of a value stands at its node, for people who look at the graph; all of it is in the fact."""


class Rows:
    """The rows of one commit; keys are made once per slot."""

    def __init__(self, tenant: Tenant, ledger: Ledger) -> None:
        self._tenant = tenant
        self._ledger = ledger
        self._slots: dict[Slot, tuple[Row, str]] = {}

    def entity(self, entity: Entity) -> Row:
        position, ordinal = self.located(entity.id, ENTITY)
        return self.end(entity.id) | {
            "tenant": self._tenant, "namespace": entity.namespace, "key": entity.key,
            "position": position, "ordinal": ordinal,
        }  # fmt: skip

    def end(self, entity: EntityId) -> Row:
        """What every entity has that a fact can begin or end at, also one whose name was erased."""
        return {"place": self.place(entity, ENTITY)}

    def episode(self, episode: Episode, position: int) -> Row:
        return {
            "tenant": self._tenant, "episode": episode.id, "source": episode.source,
            "observed_at": episode.observed_at, "root": episode.root, "made_at": position,
        }  # fmt: skip

    def slot(self, head: SlotHead, position: int) -> Row:
        properties, key = self._slot(head.slot)
        observed, last_position, last_ordinal = head.last or (None, None, None)
        made = {name: value for name, value in properties.items() if name not in ("namespace", "purpose", "tenant")}
        made |= {
            "slot": key,
            "subject": keys.subject_key(head.slot.scope, head.slot.subject),
            "pair": keys.pair_key(head.slot.scope, head.slot.subject, head.slot.predicate),
            "entity": self.place(head.slot.subject, ENTITY),
            "made_at": position,
        }
        now = {
            "version": head.version, "last_observed": observed, "last_position": last_position,
            "last_ordinal": last_ordinal, "functional": head.functional, "plain": head.plain,
        }  # fmt: skip
        return {"slot": key, "made": made, "head": now}

    def claim(self, claim: Claim) -> Row:
        entry, value, stated = claim.entry, claim.value, claim.stated
        properties, slot = self._slot(claim.slot)
        said = None if entry.value is None else keys.said_key(slot, entry.value)
        asserts = said is not None and entry.asserts
        return properties | {
            "place": keys.place_key(self._tenant, (entry.position, entry.ordinal)), "slot": slot,
            "voice": keys.voice_key(said, claim.root) if said is not None and asserts else None,
            "cited": keys.cited_key(said, claim.episode) if said is not None and asserts and claim.episode else None,
            "position": entry.position, "ordinal": entry.ordinal, "observed_at": entry.observed_at,
            "asserts": entry.asserts, "value_key": None if entry.value is None else entry.value.hex(),
            "functional": entry.functional, "start_kind": int(entry.start), "start_lo": entry.start_lo,
            "start_hi": entry.start_hi, "end_kind": int(entry.end), "end_lo": entry.end_lo, "end_hi": entry.end_hi,
            "value_type": None if value is None else value.type.value,
            "value_text": None if value is None else value.text,
            "value_qualifier": None if value is None else value.qualifier,
            "stated_from": stated.valid_from, "stated_to": stated.valid_to, "zone": stated.zone,
            "semantics": None if stated.semantics is None else stated.semantics.value,
            "observed_stated": claim.observed_stated, "source": claim.source, "episode": claim.episode,
            "root": claim.root, "confidence": float(claim.confidence), "schema_version": claim.schema_version,
            "principal": claim.principal, "recorded_at": claim.recorded_at, "ended_position": OPEN_END,
        }  # fmt: skip

    def ending(self, ending: Ending) -> Row:
        successor = None if ending.successor is None else self.located(ending.successor, CLAIM)
        position, ordinal = successor or (None, None)
        return {
            "place": self.place(ending.claim, CLAIM),
            "ending": {
                "ended_position": ending.position, "ended_at": ending.recorded_at, "ended_state": ending.state.value,
                "ended_reason": ending.reason, "successor_position": position, "successor_ordinal": ordinal,
            },
        }  # fmt: skip

    def version(self, version: FactVersion) -> Row:
        """A fact with its ends: `value` is a place where it is an entity, else the properties of a value node."""
        value = version.value
        properties, slot = self._slot(version.slot)
        said = keys.said_key(slot, version.value_key)
        row = properties | {
            "place": keys.place_key(self._tenant, (version.position, version.ordinal)), "slot": slot, "said": said,
            "held": keys.held_key(version.slot.scope, version.value_key),
            "position": version.position, "ordinal": version.ordinal, "value_type": value.type.value,
            "value_text": value.text, "value_qualifier": value.qualifier, "value_key": version.value_key.hex(),
            "certain": version.certain, "valid_from": version.valid_from, "valid_to": version.valid_to,
            "recorded_from": version.recorded_from, "recorded_to": version.recorded_to,
        }  # fmt: skip
        end: object
        if value.type is ValueType.ENTITY:
            end = self.place(value.text, ENTITY)
        else:
            end = {
                "said": said, "slot": slot, "value_key": version.value_key.hex(), "type": value.type.value,
                "text": value.text[:_TEXT_SHOWN],
            }  # fmt: skip
        return {"subject": self.place(version.slot.subject, ENTITY), "value": end, "row": row}

    def hidden(self, shown: Shown) -> list[object]:
        _, slot = self._slot(shown.slot)
        said = keys.said_key(slot, shown.value_key)
        return [self.place(shown.claim, CLAIM), said, shown.valid_from, shown.valid_to]

    def shown(self, shown: Shown, now: Instant) -> Row:
        _, slot = self._slot(shown.slot)
        return {
            "claim": self.place(shown.claim, CLAIM),
            "subject": self.place(shown.slot.subject, ENTITY),
            "row": {
                "slot": slot, "said": keys.said_key(slot, shown.value_key), "value_key": shown.value_key.hex(),
                "valid_from": shown.valid_from, "valid_to": shown.valid_to, "recorded_from": now,
                "recorded_to": OPEN_END,
            },
        }  # fmt: skip

    def support(self, support: Support) -> Row:
        properties, slot = self._slot(support.slot)
        return properties | {
            "slot": slot, "said": keys.said_key(slot, support.value_key), "value_key": support.value_key.hex(),
            "recorded_from": support.recorded_from, "sources": support.sources, "occurrences": support.occurrences,
            "doubt": float(support.doubt),
        }  # fmt: skip

    def payloads(self, event: Event, payloads: tuple[Payload, ...]) -> list[Row]:
        """One row for each payload that the event names; what is gone has only its digest."""
        kept = {payload.subject: payload for payload in payloads}
        rows: list[Row] = []
        for number, (subject, digest) in enumerate(event.digests):
            row: Row = {"tenant": self._tenant, "position": event.position, "number": number, "digest": digest}
            row |= self._subject(subject)
            payload = kept.pop(subject, None)
            if payload is not None:
                own = None if payload.digest == digest else payload.digest
                row |= {"restated": own, "salt": payload.salt, "body": payload.body}
            rows.append(row)
        if kept:
            raise Fault(f"the event at {event.position} has payloads that it does not name")
        return rows

    def place(self, id: str, prefix: str) -> str:
        return keys.place_key(self._tenant, self.located(id, prefix))

    def located(self, id: str, prefix: str) -> tuple[int, int]:
        place = locate(id, prefix)
        if place.ledger != self._ledger:
            raise Fault(f"{id!r} is not of the ledger {self._ledger!r}")
        return place.position, place.ordinal

    def _subject(self, subject: EntityId | None) -> Row:
        if subject is None:
            return {}
        position, ordinal = self.located(subject, ENTITY)
        return {
            "subject": self.place(subject, ENTITY), "subject_position": position, "subject_ordinal": ordinal,
        }  # fmt: skip

    def _slot(self, slot: Slot) -> tuple[Row, str]:
        """What everything in a slot has, and the slot's key."""
        known = self._slots.get(slot)
        if known is None:
            scope = slot.scope
            if scope.tenant != self._tenant:
                raise Fault(f"a commit of tenant {self._tenant!r} names tenant {scope.tenant!r}")
            position, ordinal = self.located(slot.subject, ENTITY)
            properties: Row = {
                "tenant": scope.tenant, "namespace": scope.namespace, "purpose": scope.purpose,
                "scope": keys.scope_key(scope), "subject_position": position, "subject_ordinal": ordinal,
                "predicate": slot.predicate, "language": slot.language,
            }  # fmt: skip
            known = self._slots[slot] = properties, keys.slot_key(slot)
        return known
