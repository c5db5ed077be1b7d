"""The sentence that stands for a value in a slot: what is searched, and what people and agents read. Pure."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ontology.facts import Slot, ends
from ontology.ids import EntityId
from ontology.instants import Instant, format_instant
from ontology.schema import Schema
from ontology.values import Value, ValueType

Names = Mapping[EntityId, Sequence[str]]
"""What entities are called, the best name first."""


class Said(Protocol):
    """A value in a slot: a fact version, or a statement of an index."""

    @property
    def slot(self) -> Slot: ...

    @property
    def value(self) -> Value: ...


def sentence(said: Said, names: Names, schema: Schema) -> str:
    """For people: the subject, the label of the predicate, the value, as in `Mira lives in Lisbon`."""
    return f"{best(said.slot.subject, names)} {label(said.slot.predicate, schema)} {told(said.value, names)}"


def searched(said: Said, names: Names, schema: Schema) -> str:
    """For an index: the same sentence, with all the other names of both ends behind it."""
    others = [name for end in ends(said.slot, said.value) for name in names.get(end, ())[1:]]
    return " ".join([sentence(said, names, schema), *dict.fromkeys(others)])


def label(predicate: str, schema: Schema) -> str:
    """What a predicate is called: its label, or its name with spaces."""
    declared = schema.predicates.get(predicate)
    return (declared.label if declared is not None else "") or predicate.replace("_", " ")


def relabelled(before: Schema | None, after: Schema) -> list[str]:
    """Predicates that sentences may call otherwise by now, by name; of a tenant that had no schema all of `after`."""
    if before is None:
        return sorted(after.predicates)
    names = sorted({*before.predicates, *after.predicates})
    return [name for name in names if label(name, before) != label(name, after)]


def told(value: Value, names: Names) -> str:
    """A value in words."""
    if value.type is ValueType.ENTITY:
        return best(EntityId(value.text), names)
    return f"{value.text} {value.qualifier}" if value.type is ValueType.QUANTITY else value.text


def day(at: Instant) -> str:
    """An instant for people: as a day, where it is the first of one."""
    return format_instant(at).removesuffix("T00:00:00Z")


def best(entity: EntityId, names: Names) -> str:
    """What an entity is called; its id where it has no name."""
    called = names.get(entity, ())
    return called[0] if called else entity
