"""What a question is about: a subject, a predicate of either direction, a value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import orjson

from api.routes.call import Call
from api.routes.reading import subject_of
from api.wire.rendering import Names
from graph.ports import Reader
from ontology.canonical import incorrect
from ontology.claims import Entity
from ontology.errors import shown
from ontology.ids import EntityId
from ontology.schema import Predicate
from ontology.values import EntityMention, Value, ValueKey, ValueType, entity_value, parse_value, value_key


@dataclass(frozen=True, slots=True, kw_only=True)
class BySubject:
    """What is said of a subject, under one predicate or all."""

    subject: Entity
    predicate: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ByValue:
    """Who has a value."""

    value: ValueKey
    predicate: str | None
    names: Names


@dataclass(frozen=True, slots=True, kw_only=True)
class ByPredicate:
    """Everyone of whom a predicate is said."""

    predicate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """The question names an entity that is not there, so nothing can be said."""


Asked: TypeAlias = BySubject | ByValue | ByPredicate | Nothing


def asked(call: Call, reader: Reader, subject: str | None, predicate: str | None, value: str | None) -> Asked:
    """What three parameters of a query ask for together.

    Raises `Incorrect` where they name nothing at all, or subject and value both.
    """
    if subject is not None and value is not None:
        raise incorrect("/value", "too_many", "give either 'subject', or 'value' for who has it")
    if subject is not None:
        return of_subject(call, reader, subject_of(reader, subject), predicate)
    if value is not None:
        return _of_value(call, reader, predicate, value)
    if predicate is None:
        raise incorrect("", "missing_field", "what to look for? give 'subject', 'predicate', or both")
    inverse = call.schemas.read_from_value(reader, predicate)
    return ByPredicate(predicate=inverse or call.schemas.predicate(reader, predicate).name)


def of_subject(call: Call, reader: Reader, subject: Entity | None, predicate: str | None) -> Asked:
    """The question about a subject; an inverse is asked of those who have it as their value."""
    if predicate is not None:
        inverse = call.schemas.read_from_value(reader, predicate)
        if inverse is not None:
            if subject is None:
                return Nothing()
            key = value_key(entity_value(subject.id))
            return ByValue(value=key, predicate=inverse, names={subject.id: subject})
        predicate = call.schemas.predicate(reader, predicate).name
    return Nothing() if subject is None else BySubject(subject=subject, predicate=predicate)


def predicate_of(call: Call, reader: Reader, name: str | None) -> str | None:
    """A predicate as it is written in the schema, for questions that go from subject to value.

    Raises as `Schema.predicate` does, and `Incorrect` for one that is only an inverse.
    """
    if name is None:
        return None
    direct = call.schemas.read_from_value(reader, name)
    if direct is not None:
        detail = f"{shown(name)} reads {shown(direct)} from value to subject; ask for {shown(direct)} of its subjects"
        raise incorrect("/predicate", "inverse_predicate", detail)
    return call.schemas.predicate(reader, name).name


def value_of(reader: Reader, predicate: Predicate | None, text: str) -> tuple[ValueKey, Names] | None:
    """The key of the value that a text names, `None` where it is an entity that is not there.

    The text is read as the predicate's type; where that is open, an object such as `{"type": "integer", "value": 4}`
    says another than text, and what begins with `ent_` is an entity.
    """
    wire = _wire(text)
    if predicate is None or predicate.datatype is None:
        given = parse_value(wire, pointer="/value", datatype=_own(wire))
    else:
        given = predicate.read(wire, pointer="/value")
    if isinstance(given, Value):
        return value_key(given), {}
    entity = _entity(reader, given)
    return None if entity is None else (value_key(entity_value(entity.id)), {entity.id: entity})


def _of_value(call: Call, reader: Reader, predicate: str | None, text: str) -> Asked:
    if predicate is None:
        found, name = value_of(reader, None, text), None
    else:
        inverse = call.schemas.read_from_value(reader, predicate)
        if inverse is not None:  # who has this inverse is the subject that the text names
            return of_subject(call, reader, subject_of(reader, text), inverse)
        known = call.schemas.predicate(reader, predicate)
        found, name = value_of(reader, known, text), known.name
    return Nothing() if found is None else ByValue(value=found[0], predicate=name, names=found[1])


def _entity(reader: Reader, mention: EntityMention) -> Entity | None:
    if mention.key is not None:
        return reader.entities_by_key([mention.key]).get(mention.key)
    id = mention.id or EntityId("")
    return reader.entities_by_id([id]).get(id)


def _wire(text: str) -> object:
    if text.startswith("{"):
        try:
            wire = orjson.loads(text)
        except ValueError:
            return text
        if isinstance(wire, Mapping) and wire.get("type") in set(ValueType):
            return wire
    return text


def _own(wire: object) -> ValueType | None:
    return ValueType.ENTITY if isinstance(wire, str) and wire.startswith("ent_") else None
