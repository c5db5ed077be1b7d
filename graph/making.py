"""How the values that a fact is made of are made fast: without their constructors.

One answer can hold thousands of them. The constructor of a frozen dataclass sets each field by its name, past the rule
that nobody may; to ask the slot of each field directly takes a third of that time, for the same value. A field that is
added to one of these classes and not here fails when this module is imported.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from ontology.entries import End, Start
from ontology.facts import Fact, FactVersion, Slot, Support
from ontology.ids import FactId
from ontology.instants import Instant
from ontology.values import Value, ValueKey, ValueType

_new = object.__new__


def _slots_of(made: type[Any]) -> tuple[Callable[[Any, object], None], ...]:
    """What sets each field of a class with slots, in their order."""
    return tuple(made.__dict__[field.name].__set__ for field in fields(made))


_value_type, _value_text, _value_qualifier = _slots_of(Value)
(
    _id, _position, _ordinal, _slot, _value, _value_key, _certain, _valid_from, _valid_to, _recorded_from, _recorded_to,
) = _slots_of(FactVersion)  # fmt: skip
_support_slot, _support_key, _since, _sources, _occurrences, _doubt = _slots_of(Support)
_version, _start, _end, _support, _expires_at = _slots_of(Fact)


def value(type: ValueType, text: str, qualifier: str) -> Value:
    made = _new(Value)
    _value_type(made, type)
    _value_text(made, text)
    _value_qualifier(made, qualifier)
    return made


def version(
    id: FactId, position: int, ordinal: int, slot: Slot, value: Value, value_key: ValueKey, certain: bool,
    valid_from: Instant, valid_to: Instant, recorded_from: Instant, recorded_to: Instant,
) -> FactVersion:  # fmt: skip
    made = _new(FactVersion)
    _id(made, id)
    _position(made, position)
    _ordinal(made, ordinal)
    _slot(made, slot)
    _value(made, value)
    _value_key(made, value_key)
    _certain(made, certain)
    _valid_from(made, valid_from)
    _valid_to(made, valid_to)
    _recorded_from(made, recorded_from)
    _recorded_to(made, recorded_to)
    return made


def support(
    slot: Slot, value_key: ValueKey, recorded_from: Instant, sources: int, occurrences: int, doubt: float
) -> Support:
    made = _new(Support)
    _support_slot(made, slot)
    _support_key(made, value_key)
    _since(made, recorded_from)
    _sources(made, sources)
    _occurrences(made, occurrences)
    _doubt(made, doubt)
    return made


def fact(version: FactVersion, start: Start, end: End, support: Support, expires_at: Instant) -> Fact:
    made = _new(Fact)
    _version(made, version)
    _start(made, start)
    _end(made, end)
    _support(made, support)
    _expires_at(made, expires_at)
    return made
