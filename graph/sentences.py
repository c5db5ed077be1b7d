"""The sentence that stands for a value in a slot: what is searched, and what people and agents read. Pure."""

from collections.abc import Mapping, Sequence

from graph.searching import Statement
from ontology.ids import EntityId
from ontology.schema import Schema
from ontology.values import Value, ValueType

Names = Mapping[EntityId, Sequence[str]]
"""What entities are called, the best name first."""


def sentence(statement: Statement, names: Names, schema: Schema) -> str:
    """For people: the subject, the label of the predicate, the value, as in `Mira lives in Lisbon`."""
    return f"{_best(statement.slot.subject, names)} {label(statement.slot.predicate, schema)} {_told(statement, names)}"


def searched(statement: Statement, names: Names, schema: Schema) -> str:
    """For an index: the same sentence, with all the other names of both ends behind it."""
    ends = [statement.slot.subject]
    if statement.value.type is ValueType.ENTITY:
        ends.append(EntityId(statement.value.text))
    others = [name for end in ends for name in names.get(end, ())[1:]]
    return " ".join([sentence(statement, names, schema), *dict.fromkeys(others)])


def label(predicate: str, schema: Schema) -> str:
    """What a predicate is called: its label, or its name with spaces."""
    declared = schema.predicates.get(predicate)
    return (declared.label if declared is not None else "") or predicate.replace("_", " ")


def told(value: Value, names: Names) -> str:
    """A value in words."""
    if value.type is ValueType.ENTITY:
        return _best(EntityId(value.text), names)
    return f"{value.text} {value.qualifier}" if value.type is ValueType.QUANTITY else value.text


def _told(statement: Statement, names: Names) -> str:
    return told(statement.value, names)


def _best(entity: EntityId, names: Names) -> str:
    called = names.get(entity, ())
    return called[0] if called else entity
