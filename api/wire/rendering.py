"""How facts, claims and entities look on the wire."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from api.sensitive import note
from graph.ports import Reader
from ontology.claims import Claim, Entity, Told, Transition
from ontology.entries import End, Start
from ontology.errors import JSON
from ontology.facts import AsOf, Fact, FactVersion, Slot, Version
from ontology.ids import EntityId
from ontology.instants import OPEN_END, OPEN_START, Instant, format_instant
from ontology.values import Value, ValueType, wire_value

Wire: TypeAlias = dict[str, JSON]
Names: TypeAlias = Mapping[EntityId, Entity]
Versions: TypeAlias = Mapping[Slot, Version]

_START: Final[Mapping[Start, str]] = {Start.KNOWN: "known", Start.UNKNOWN: "unknown", Start.OPEN: "open"}
_END: Final[Mapping[End, str]] = {
    End.KNOWN: "known",
    End.OPEN: "open",
    End.INFINITY: "infinity",
    End.UNKNOWN: "unknown",
}


def instant(at: Instant) -> str | None:
    """An instant in ISO 8601; `None` for one that is open."""
    return None if at <= OPEN_START or at >= OPEN_END else format_instant(at)


def entity(id: EntityId, names: Names) -> Wire:
    """An entity as a reference: its id and, where it has one, its key."""
    known = names.get(id)
    return {"id": id, "key": known.key if known else None}


def value(given: Value, names: Names) -> JSON:
    """A value as the wire writes it; an entity also with its key."""
    if given.type is ValueType.ENTITY:
        id = EntityId(given.text)
        return {"type": "entity", "id": id, "key": names[id].key if id in names else None}
    return wire_value(given)


def fact(given: Fact, names: Names, versions: Versions, known_at: Instant, served_at: Instant) -> Wire:
    """A fact with how its ends are known and how it is supported, and whether it had expired by `served_at`."""
    row = version(given.version, names, known_at)
    row["start"] = _START[given.start]
    row["end"] = _END[given.end]
    row["confidence"] = given.support.confidence
    row["sources"] = given.support.sources
    row["occurrences"] = given.support.occurrences
    row["expires_at"] = instant(given.expires_at)
    row["expired"] = given.expires_at <= served_at
    row["version"] = versions.get(given.version.slot)
    return row


def version(given: FactVersion, names: Names, known_at: Instant) -> Wire:
    """A rectangle of belief, without what is known of its ends and its support.

    What closed it after `known_at` had not come yet, so that an answer stays the same for ever.
    """
    slot = given.slot
    note(slot.subject, slot.predicate)
    return {
        "id": given.id,
        "subject": entity(slot.subject, names),
        "predicate": slot.predicate,
        "value": value(given.value, names),
        "valid_from": instant(given.valid_from),
        "valid_to": instant(given.valid_to),
        "certain": given.certain,
        "recorded_from": instant(given.recorded_from),
        "recorded_to": instant(given.recorded_to) if given.recorded_to <= known_at else None,
    }


def facts(given: Sequence[Fact], names: Names, versions: Versions, known_at: Instant, served_at: Instant) -> list[JSON]:
    return [fact(each, names, versions, known_at, served_at) for each in given]


def claim(told: Told, names: Names, served_at: Instant) -> Wire:
    """What one source said, as it said it, whether it still counts, and whether it had expired by `served_at`."""
    said: Claim = told.claim
    note(said.slot.subject, said.slot.predicate)
    ending = told.ending
    last = told.held or ending
    return {
        "id": said.id,
        "op": "assert" if said.entry.asserts else "retract",
        "subject": entity(said.slot.subject, names),
        "predicate": said.slot.predicate,
        "value": None if said.value is None else value(said.value, names),
        "valid_from": said.stated.valid_from,
        "valid_to": said.stated.valid_to,
        "tz": said.stated.zone,
        "date_semantics": said.stated.semantics.value or None if said.stated.semantics else None,
        "observed_at": instant(said.entry.observed_at),
        "observed_stated": said.observed_stated,
        "recorded_at": instant(said.recorded_at),
        "source": said.source,
        "episode": said.episode,
        "root": said.root,
        "confidence": said.confidence,
        "principal": said.principal,
        "schema_version": said.schema_version,
        "state": told.state.value,
        "ended_at": None if ending is None else instant(ending.recorded_at),
        "reason": None if last is None else last.reason,
        "successor": None if ending is None else ending.successor,
        "trust": told.trust.word,
        "echo": said.echo,
        "expires_at": instant(said.expires_at),
        "expired": said.expires_at <= served_at,
        "transitions": [_transition(each) for each in told.transitions],
    }


def _transition(given: Transition) -> Wire:
    return {
        "state": given.state.value,
        "rule": given.rule,
        "reason": given.reason,
        "actor": given.actor,
        "recorded_at": instant(given.recorded_at),
        "decided_on": given.decided_on,
        "successor": given.successor,
    }


def as_of(at: AsOf, now: Instant) -> Wire:
    """The two instants at which a question was answered, and the server's clock."""
    return {
        "valid_at": format_instant(at.valid_at),
        "known_at": format_instant(at.known_at),
        "server_clock": format_instant(now),
    }


def names_in(reader: Reader, versions: Iterable[FactVersion], known: Names | None = None) -> Names:
    """The entities that versions are about or point at, looked up at once where they are not `known`."""
    found: dict[EntityId, Entity] = dict(known or {})
    wanted: set[EntityId] = set()
    for each in versions:
        wanted.add(each.slot.subject)
        if each.value.type is ValueType.ENTITY:
            wanted.add(EntityId(each.value.text))
    return _looked_up(reader, wanted, found)


def names_told(reader: Reader, told: Iterable[Told]) -> Names:
    """The entities that claims are about or point at."""
    wanted: set[EntityId] = set()
    for each in told:
        wanted.add(each.claim.slot.subject)
        if each.claim.value is not None and each.claim.value.type is ValueType.ENTITY:
            wanted.add(EntityId(each.claim.value.text))
    return _looked_up(reader, wanted, {})


def versions_of(reader: Reader, given: Iterable[FactVersion]) -> Versions:
    """The present version of each slot: what a writer may expect."""
    slots = list(dict.fromkeys(each.slot for each in given))
    return {slot: head.version for slot, head in reader.slot_heads(slots).items()} if slots else {}


def _looked_up(reader: Reader, wanted: set[EntityId], found: dict[EntityId, Entity]) -> Names:
    missing = wanted - found.keys()
    if missing:
        found.update(reader.entities_by_id(sorted(missing)))
    return found
