"""How a pack extends a schema, and when types and predicates agree with each other."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from itertools import chain, islice
from typing import Final

from ontology.errors import Refused, Violation, pointer, shown
from ontology.mappings import JsonMapping, mapping_violations
from ontology.patterns import pattern_violations
from ontology.retention import retention_violations
from ontology.schema import EntityType, Governance, Predicate, Schema, Volatility
from ontology.values import ValueType

VIOLATIONS_MAX: Final = 100

_NUMERIC: Final = frozenset({ValueType.INTEGER, ValueType.DECIMAL, ValueType.QUANTITY})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """Types, predicates and mappings that extend a schema together."""

    name: str
    description: str
    strict: bool | None
    """What the schema is to be from now on; `None` leaves it."""
    types: tuple[EntityType, ...]
    predicates: tuple[Predicate, ...]
    mappings: tuple[JsonMapping, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A field of a known predicate that a pack defines anew; what was folded under the old one stays as it is."""

    predicate: str
    field: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A schema after a pack, and what the pack changed of it; additions are no changes."""

    schema: Schema
    changes: tuple[Change, ...]


def merge(schema: Schema, pack: Pack) -> Merged:
    """`schema` extended by `pack`: its next version, or the very same one if nothing is new.

    What the pack defines replaces the definition of the same name as a whole; nothing is removed.
    Raises `Refused` with up to 100 violations of the result, each with its pointer into the pack.
    """
    merged = replace(
        schema,
        strict=schema.strict if pack.strict is None else pack.strict,
        types={**schema.types, **{each.name: each for each in pack.types}},
        predicates={**schema.predicates, **{each.name: each for each in pack.predicates}},
        mappings={**schema.mappings, **{each.name: each for each in pack.mappings}},
    )
    if merged == schema:
        return Merged(schema=schema, changes=())
    check_schema(merged, f"the pack {shown(pack.name)}")
    changes = (
        change
        for each in pack.predicates
        if (old := schema.predicates.get(each.name))
        for change in _changes(old, each)
    )
    return Merged(schema=replace(merged, version=schema.version + 1), changes=tuple(changes))


def check_schema(schema: Schema, what: str) -> None:
    """Raise `Refused`, with up to 100 violations, unless all that `schema` refers to exists and agrees."""
    found = chain(
        _type_violations(schema),
        _predicate_violations(schema),
        pattern_violations({each.name: (each.datatype, each.patterns) for each in schema.predicates.values()}),
        mapping_violations(schema.mappings, schema.predicates),
    )
    violations = list(islice(found, VIOLATIONS_MAX))
    if violations:
        raise Refused(f"{what} cannot be used: {violations[0].detail}", violations=violations)


def _changes(old: Predicate, new: Predicate) -> Iterator[Change]:
    for name, before, after in (*_settings(old, new), *_settings(old.governance, new.governance)):
        if before != after:
            yield Change(predicate=old.name, field=name, before=_written(before), after=_written(after))


def _settings(old: Predicate | Governance, new: Predicate | Governance) -> Iterator[tuple[str, object, object]]:
    for field in fields(old):
        if field.name != "governance":
            yield field.name, getattr(old, field.name), getattr(new, field.name)


def _written(setting: object) -> str | None:
    if isinstance(setting, tuple):
        return ", ".join(map(str, setting))
    if isinstance(setting, bool):
        return "true" if setting else "false"
    return None if setting is None else str(setting)


def _type_violations(schema: Schema) -> Iterator[Violation]:
    for each in schema.types.values():
        at = pointer("types", each.name, "parents")
        yield from _dangling(schema, each.parents, at)
        if each.name in schema.ancestors(each.name):
            detail = f"the type {shown(each.name)} is above itself; break the circle of its parents"
            yield Violation(pointer=at, code="circular_type", detail=detail)


def _predicate_violations(schema: Schema) -> Iterator[Violation]:
    inverses: dict[str, str] = {}
    for each in schema.predicates.values():
        at = pointer("predicates", each.name)
        yield from _dangling(schema, each.domain, f"{at}/domain")
        yield from _dangling(schema, each.range, f"{at}/range")
        yield from _datatype_violations(each, at)
        yield from _governance_violations(each, at)
        yield from retention_violations(each, at)
        if each.inverse is not None:
            yield from _inverse_violations(schema, each, each.inverse, at)
            first = inverses.setdefault(each.inverse, each.name)
            if first != each.name:
                detail = f"{shown(each.inverse)} is the inverse of {shown(first)} already; name another inverse"
                yield Violation(pointer=f"{at}/inverse", code="inverse_mismatch", detail=detail)


def _dangling(schema: Schema, names: tuple[str, ...], at: str) -> Iterator[Violation]:
    for index, name in enumerate(names):
        if name not in schema.types:
            near = difflib.get_close_matches(name, schema.types, n=1)
            remedy = f"did you mean {near[0]!r}?" if near else "declare it under 'types'"
            detail = f"there is no entity type {shown(name)}; {remedy}"
            yield Violation(pointer=f"{at}/{index}", code="unknown_type", detail=detail)


def _datatype_violations(each: Predicate, at: str) -> Iterator[Violation]:
    name = shown(each.name)
    if each.range and each.datatype is not ValueType.ENTITY:
        detail = (
            f"predicate {name} has a range, so its datatype must be 'entity', got {shown(each.datatype)}; change one"
        )
        yield Violation(pointer=f"{at}/datatype", code="wrong_type", detail=detail)
    if each.unit is not None and each.datatype is not ValueType.QUANTITY:
        detail = (
            f"predicate {name} has a unit, so its datatype must be 'quantity', got {shown(each.datatype)}; change one"
        )
        yield Violation(pointer=f"{at}/unit", code="wrong_type", detail=detail)
    if each.minimum is None and each.maximum is None:
        return
    if each.datatype not in _NUMERIC:
        detail = (
            f"predicate {name} has bounds, so it needs a datatype of numbers, got {shown(each.datatype)}; change one"
        )
        yield Violation(pointer=f"{at}/datatype", code="wrong_type", detail=detail)
    if each.minimum is not None and each.maximum is not None and Decimal(each.minimum) > Decimal(each.maximum):
        detail = f"predicate {name} has the minimum {each.minimum} above the maximum {each.maximum}; exchange them"
        yield Violation(pointer=f"{at}/minimum", code="inverted_range", detail=detail)


def _governance_violations(each: Predicate, at: str) -> Iterator[Violation]:
    rules, name = each.governance, shown(each.name)
    live = rules.volatility is Volatility.LIVE
    if live and rules.tool is None:
        detail = f"predicate {name} is live, so it needs a tool that has its values; add 'tool'"
        yield Violation(pointer=f"{at}/tool", code="missing_field", detail=detail)
    if rules.tool is not None and not live:
        detail = f"predicate {name} has a tool, so its volatility must be 'live'; change one"
        yield Violation(pointer=f"{at}/volatility", code="wrong_value", detail=detail)


def _inverse_violations(schema: Schema, each: Predicate, inverse: str, at: str) -> Iterator[Violation]:
    def mismatch(problem: str) -> Violation:
        return Violation(pointer=f"{at}/inverse", code="inverse_mismatch", detail=problem)

    name = shown(each.name)
    if each.datatype is not ValueType.ENTITY:
        yield mismatch(f"predicate {name} has an inverse, so its datatype must be 'entity'; change one")
    other = schema.predicates.get(inverse)
    if other is None:
        return
    if other.inverse != each.name:
        yield mismatch(
            f"{shown(inverse)} does not name {name} as its inverse, but {shown(other.inverse)}; make them agree"
        )
    if set(other.domain) != set(each.range) or set(other.range) != set(each.domain):
        yield mismatch(f"domain and range of {shown(inverse)} must be those of {name} exchanged; make them agree")
