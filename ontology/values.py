"""What a value is, when two are the same, and how the wire writes one.

Two values are equal iff type, qualifier and canonical text are (`canonical.py` has the rules per type).
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NewType

from ontology.canonical import (
    TEXT_BYTES_MAX,
    canonical_date,
    canonical_datetime,
    canonical_decimal,
    canonical_duration,
    canonical_integer,
    canonical_json,
    canonical_label,
    canonical_tag,
    canonical_text,
    incorrect,
)
from ontology.errors import JSON, Refused, Violation, pointer, shown
from ontology.ids import EntityId

ValueKey = NewType("ValueKey", bytes)

KEY_CHARS_MAX: Final = 500
UNIT_CHARS_MAX: Final = 64

_ENTITY_ID: Final = re.compile(r"ent_[A-Za-z0-9_-]{1,60}")


class ValueType(StrEnum):
    """The datatypes that a value can have."""

    TEXT = "text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"
    DURATION = "duration"
    QUANTITY = "quantity"
    ENTITY = "entity"
    JSON = "json"
    LANGTEXT = "langtext"


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value in canonical form. Only `parse_value` and `entity_value` make one from what others wrote."""

    type: ValueType
    text: str
    qualifier: str
    """The unit of a quantity, the language tag of a langtext; empty for all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityMention:
    """An entity as the wire names it, to be looked up by the writer; exactly one of the two is set."""

    id: EntityId | None
    key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """What else decides how a value is read."""

    outer: str
    """Where the value stands; members such as `unit` are found under it."""
    members: Mapping[str, object]
    """The object that carries the value; empty for a bare one."""
    unit: str | None
    zone: str
    text_bytes_max: int


def value_key(value: Value) -> ValueKey:
    """16 bytes that are equal iff the values are: the head of a SHA-256 over type, qualifier and text, framed."""
    framed = f"{value.type}:{len(value.qualifier)}:{value.qualifier}:{value.text}"
    return ValueKey(hashlib.sha256(framed.encode()).digest()[:16])


def parse_value(
    wire: object,
    *,
    pointer: str,
    datatype: ValueType | None,
    unit: str | None = None,
    zone: str = "UTC",
    text_bytes_max: int = TEXT_BYTES_MAX,
) -> Value | EntityMention:
    """The value that `wire`, a piece of decoded JSON, stands for.

    A bare string, number or boolean is read as `datatype`, or as its own kind where that is `None`; an object
    says its own `type`, which must then fit `datatype`. `unit` is that of the predicate: the default, and the
    only one allowed. `zone` is that in which a bare day begins where an instant is needed.
    Raises `Incorrect`, or `Refused` where value and `datatype` or `unit` disagree, with one violation at `pointer`.
    """
    if type(wire) is str and (datatype is None or datatype is ValueType.TEXT):
        return Value(type=ValueType.TEXT, text=canonical_text(wire, pointer, text_bytes_max), qualifier="")
    if type(wire) is int and (datatype is None or datatype is ValueType.INTEGER):
        return Value(type=ValueType.INTEGER, text=canonical_integer(wire, pointer), qualifier="")
    setting = _Setting(outer=pointer, members={}, unit=unit, zone=zone, text_bytes_max=text_bytes_max)
    if isinstance(wire, dict):
        return _read_object(wire, datatype, setting)
    return _read(datatype or _own_type(wire, pointer), wire, pointer, setting)


def wire_value(value: Value) -> JSON:
    """`value` as the wire writes it: an object with its `type`, which `parse_value` reads back to an equal value."""
    match value.type:
        case ValueType.ENTITY:
            return {"type": "entity", "id": value.text}
        case ValueType.INTEGER:
            return {"type": "integer", "value": int(value.text)}
        case ValueType.BOOLEAN:
            return {"type": "boolean", "value": value.text == "true"}
        case ValueType.JSON:
            return {"type": "json", "value": json.loads(value.text, parse_int=_json_number)}
        case ValueType.QUANTITY:
            return {"type": "quantity", "value": value.text, "unit": value.qualifier}
        case ValueType.LANGTEXT:
            return {"type": "langtext", "value": value.text, "lang": value.qualifier}
        case _:
            return {"type": value.type.value, "value": value.text}


def entity_value(entity_id: EntityId) -> Value:
    """The value that points at the entity with this id."""
    return Value(type=ValueType.ENTITY, text=entity_id, qualifier="")


def entity_mention(text: str, *, pointer: str) -> EntityMention:
    """The entity that a bare string names: an id where it begins with `ent_`, a key otherwise."""
    return _by_id(text, pointer) if text.startswith("ent_") else _by_key(text, pointer)


def _by_id(text: str, at: str) -> EntityMention:
    if _ENTITY_ID.fullmatch(text) is None:
        raise incorrect(at, "unreadable_value", f"{shown(text)} is no entity id; only ids may begin with 'ent_'")
    return EntityMention(id=EntityId(text), key=None)


def _by_key(text: str, at: str) -> EntityMention:
    return EntityMention(id=None, key=canonical_label(text, at, "key", KEY_CHARS_MAX))


_OWN_TYPES: Final[Mapping[type, ValueType]] = {
    str: ValueType.TEXT,
    bool: ValueType.BOOLEAN,
    int: ValueType.INTEGER,
    float: ValueType.DECIMAL,
}

_MEMBERS: Final[Mapping[ValueType, tuple[str, ...]]] = {
    **dict.fromkeys(ValueType, ("value",)),
    ValueType.QUANTITY: ("value", "unit"),
    ValueType.LANGTEXT: ("value", "lang"),
    ValueType.ENTITY: ("id", "key"),
}

_WIDENED: Final[Mapping[ValueType, tuple[ValueType, ...]]] = {
    ValueType.DECIMAL: (ValueType.INTEGER,),
    ValueType.QUANTITY: (ValueType.INTEGER, ValueType.DECIMAL),
}
"""Which other types of number a declared datatype takes."""

_NEEDED: Final[Mapping[ValueType, str]] = {
    ValueType.TEXT: "a string",
    ValueType.INTEGER: "an integer such as 42",
    ValueType.DECIMAL: "a number, or a string such as '-12.50'",
    ValueType.BOOLEAN: "true or false",
    ValueType.DATE: "a string such as '2026-06-30', '2026-06' or '2026'",
    ValueType.DATETIME: "a string such as '2026-06-30T10:00:00Z'",
    ValueType.DURATION: "a string such as 'P1Y2M3DT4H5M6.5S'",
    ValueType.QUANTITY: "a number with a unit, such as '0.25 EUR'",
    ValueType.ENTITY: "the id or the key of an entity",
    ValueType.JSON: 'JSON, an object as {"type": "json", "value": …}',
    ValueType.LANGTEXT: 'an object such as {"type": "langtext", "value": "Wien", "lang": "de"}',
}


def _own_type(wire: object, at: str) -> ValueType:
    own = _OWN_TYPES.get(type(wire))
    if own is None:
        detail = f"{shown(wire)} is no value by itself; give a string, a number, a boolean or an object with a 'type'"
        raise incorrect(at, "wrong_type", detail)
    return own


def _read_object(wire: Mapping[str, object], datatype: ValueType | None, setting: _Setting) -> Value | EntityMention:
    at, given = setting.outer, wire.get("type")
    if not isinstance(given, str) or given not in _MEMBERS:
        known = ", ".join(ValueType)
        detail = f"the type {shown(given)} of a value is none of {known}; name one, or wrap an object as 'json'"
        raise incorrect(f"{at}/type", "unknown_type", detail)
    kind = ValueType(given)
    for member in wire:
        if member != "type" and member not in _MEMBERS[kind]:
            detail = f"a value of type {kind.value!r} has no member {shown(member)}; it has {', '.join(_MEMBERS[kind])}"
            raise incorrect(at + pointer(str(member)), "unknown_field", detail)
    if datatype is not None and kind is not datatype and kind not in _WIDENED.get(datatype, ()):
        raise _disagrees(wire, at, datatype)
    if kind is ValueType.ENTITY:
        return _read_entity(wire, at)
    if "value" not in wire:
        raise incorrect(at, "missing_field", f"a value of type {kind.value!r} needs the member 'value'; add it")
    inner = _Setting(
        outer=at, members=wire, unit=setting.unit, zone=setting.zone, text_bytes_max=setting.text_bytes_max
    )
    return _read(datatype or kind, wire["value"], f"{at}/value", inner)


def _read_entity(wire: Mapping[str, object], at: str) -> EntityMention:
    match wire:
        case {"id": str(text), **others} if "key" not in others:
            return _by_id(text, f"{at}/id")
        case {"key": str(text), **others} if "id" not in others:
            return _by_key(text, f"{at}/key")
    detail = f"an entity needs either 'id' or 'key', a string, got {shown(dict(wire))}; give exactly one of them"
    raise incorrect(at, "wrong_type", detail)


def _read(kind: ValueType, wire: object, at: str, setting: _Setting) -> Value | EntityMention:
    qualifier = ""
    match kind, wire:
        case ValueType.BOOLEAN, bool() | "true" | "false":
            text = str(wire).lower()
        case ValueType.JSON, _:
            text = canonical_json(wire, at, setting.text_bytes_max)
        case _, bool():
            raise _disagrees(wire, at, kind)
        case ValueType.TEXT, str():
            text = canonical_text(wire, at, setting.text_bytes_max)
        case ValueType.INTEGER, int() | str():
            text = canonical_integer(wire, at)
        case ValueType.DECIMAL, int() | float() | str():
            text = canonical_decimal(wire, at)
        case ValueType.DATE, str():
            text = canonical_date(wire, at)
        case ValueType.DATETIME, str():
            text = canonical_datetime(wire, at, setting.zone)
        case ValueType.DURATION, str():
            text = canonical_duration(wire, at)
        case ValueType.QUANTITY, int() | float() | str():
            text, qualifier = _quantity(wire, at, setting)
        case ValueType.LANGTEXT, str() if "lang" in setting.members:
            text, qualifier = canonical_text(wire, at, setting.text_bytes_max), _lang(setting)
        case ValueType.ENTITY, str():
            return entity_mention(wire, pointer=at)
        case _:
            raise _disagrees(wire, at, kind)
    return Value(type=kind, text=text, qualifier=qualifier)


def _quantity(wire: float | str, at: str, setting: _Setting) -> tuple[str, str]:
    """Number and unit, which is a member of the object, or follows the number in a string, or is the predicate's."""
    given: object = setting.unit
    unit_at = at
    if "unit" in setting.members:
        given, unit_at = setting.members["unit"], f"{setting.outer}/unit"
    elif isinstance(wire, str) and len(parts := wire.split(maxsplit=1)) == 2:
        wire, given = parts
    if given is None:
        raise incorrect(at, "missing_unit", f"the quantity {shown(wire)} needs a unit; add one, such as '0.25 EUR'")
    if not isinstance(given, str):
        raise incorrect(unit_at, "wrong_type", f"a unit is a string such as 'EUR', got {shown(given)}; give one")
    unit = canonical_label(given.strip(), unit_at, "unit", UNIT_CHARS_MAX)
    if setting.unit is not None and unit != setting.unit:
        detail = f"the unit must be {shown(setting.unit)}, got {shown(unit)}; convert the value"
        raise Refused(detail, violations=(Violation(pointer=unit_at, code="wrong_unit", detail=detail),))
    return canonical_decimal(wire, at), unit


def _lang(setting: _Setting) -> str:
    given, at = setting.members["lang"], f"{setting.outer}/lang"
    if not isinstance(given, str):
        raise incorrect(at, "wrong_type", f"a language tag is a string such as 'de', got {shown(given)}; give one")
    return canonical_tag(given, at)


def _disagrees(wire: object, at: str, datatype: ValueType) -> Refused:
    detail = f"the datatype {datatype.value!r} needs {_NEEDED[datatype]}, got {shown(wire)}"
    return Refused(detail, violations=(Violation(pointer=at, code="wrong_type", detail=detail),))


def _json_number(digits: str) -> float:
    """RFC 8785 writes doubles up to 10^21 as digits; those beyond the safe integers are doubles again."""
    number = int(digits)
    return number if abs(number) < 2**53 else float(digits)
