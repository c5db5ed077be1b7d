"""What the schema knows of entity types and predicates.

The world is open: a predicate that the schema does not have takes any values, unless the schema is strict.
How a schema grows is the question of `schema_merge`, how it is written down that of `packs`.
"""

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Final, Literal

from ontology.canonical import canonical_label, incorrect
from ontology.errors import Refused, UnknownPredicate, Violation, shown
from ontology.mappings import JsonMapping
from ontology.patterns import Pattern
from ontology.values import EntityMention, Value, ValueType, parse_value

NAME_CHARS_MAX: Final = 128


class Cardinality(StrEnum):
    """How many values of a slot can be certain at one instant; steers only the fold, so it may change."""

    FUNCTIONAL = "functional"
    MANY = "many"
    EVENT = "event"
    """Many, none of which another supersedes."""


class Kind(StrEnum):
    """What sort of thing memory keeps under a predicate."""

    WORKING_NOTE = "working_note"
    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    SKILL = "skill"


class Evidence(StrEnum):
    """What independent evidence is counted by."""

    SOURCES = "sources"
    """Distinct roots."""
    OCCURRENCES = "occurrences"
    """Distinct episodes that are no echoes."""
    SESSIONS = "sessions"
    """Distinct sessions of those episodes; what names none counts once, however often it is said."""


class Volatility(StrEnum):
    """Whether values last long enough to be remembered."""

    STABLE = "stable"
    LIVE = "live"
    """Never stored: a tool has them whenever they are needed."""


class Retention(StrEnum):
    """What happens at the end of a time to live."""

    EXPIRE = "expire"
    """No longer served; the history stays."""
    ERASE = "erase"
    """Erased, with its history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Governance:
    """What it takes to be believed under a predicate, and how long that lasts."""

    guarded: bool
    """Whether a claim of lower trust never unseats a certain value of higher trust."""
    sensitive: bool
    """Whether a person must confirm what is said."""
    promote_after: int | None
    """So much independent evidence is needed before any of it is believed; `None` for no more than one claim."""
    promote_by: Evidence
    volatility: Volatility
    tool: str | None
    """Where live values are to be had."""
    ttl_days: int | None
    """How long a claim is served that does not say; `None` leaves it to its kind."""
    ttl_days_max: int | None
    """How long one may be served at most; `None` leaves it to its kind."""
    retention: Retention
    """Of a kind whose claims are erased at their end all are, whatever stands here."""
    review_days: int | None
    """After so long a claim should be looked at again."""


UNGOVERNED: Final = Governance(
    guarded=False, sensitive=False, promote_after=None, promote_by=Evidence.SOURCES, volatility=Volatility.STABLE,
    tool=None, ttl_days=None, ttl_days_max=None, retention=Retention.EXPIRE, review_days=None,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityType:
    """A class of entities, below its `parents`."""

    name: str
    parents: tuple[str, ...]
    label: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """What may be said with a predicate."""

    name: str
    domain: tuple[str, ...]
    """Entity types of which the subject needs one; empty for any."""
    range: tuple[str, ...]
    """The same of a value that is an entity."""
    datatype: ValueType | None
    """`None` takes values of every type."""
    unit: str | None
    minimum: str | None
    """A canonical decimal, included in what is allowed; so is `maximum`."""
    maximum: str | None
    cardinality: Cardinality
    kind: Kind
    governance: Governance
    inverse: str | None
    """The name under which it is read from value to subject; need not be declared."""
    label: str
    description: str
    patterns: tuple[Pattern, ...]
    """The sentences in which it is told."""

    def read(self, wire: object, *, pointer: str, zone: str = "UTC") -> Value | EntityMention:
        """The value that `wire` stands for here; raises like `parse_value`, and `Refused` where it is out of range."""
        try:
            value = parse_value(wire, pointer=pointer, datatype=self.datatype, unit=self.unit, zone=zone)
        except Refused as exc:
            named = [replace(v, detail=f"predicate {shown(self.name)}: {v.detail}") for v in exc.violations]
            raise Refused(named[0].detail, slug=exc.slug, violations=named) from None
        if (self.minimum is not None or self.maximum is not None) and isinstance(value, Value):
            self._check_range(value, pointer)
        return value

    def _check_range(self, value: Value, at: str) -> None:
        number = Decimal(value.text)
        for bound, limit, broken in (
            ("at least", self.minimum, self.minimum is not None and number < Decimal(self.minimum)),
            ("at most", self.maximum, self.maximum is not None and number > Decimal(self.maximum)),
        ):
            if broken:
                detail = (
                    f"predicate {shown(self.name)} needs {bound} {limit}, got {shown(value.text)}; correct the value"
                )
                raise Refused(detail, violations=(Violation(pointer=at, code="out_of_range", detail=detail),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """One version of what is known of types and predicates; every claim says under which version it was made."""

    version: int
    strict: bool
    types: Mapping[str, EntityType]
    predicates: Mapping[str, Predicate]
    mappings: Mapping[str, JsonMapping]

    def predicate(self, name: str, pointer: str = "") -> Predicate:
        """The predicate of this name; an unknown one is multi-valued and takes everything.

        Raises `UnknownPredicate` where the schema is strict, `Incorrect` for what cannot be a name.
        """
        known = self.predicates.get(name)
        if known is not None:
            return known
        open_predicate = _open_predicate(name, pointer)
        known = self.predicates.get(open_predicate.name)
        if known is None and self.strict:
            raise self._unknown(open_predicate.name, pointer)
        return known or open_predicate

    def kind_of(self, predicate: str) -> Kind:
        """What sort of thing is kept under a predicate; a fact where it is not declared."""
        known = self.predicates.get(predicate)
        return Kind.FACT if known is None else known.kind

    def is_a(self, type_name: str, ancestor: str) -> bool:
        """Whether every entity of the type is one of `ancestor`; a type is one of itself."""
        return type_name == ancestor or ancestor in self.ancestors(type_name)

    def ancestors(self, type_name: str) -> frozenset[str]:
        """The types above this one, of which it is not one itself unless the parents form a circle."""
        found: set[str] = set()
        waiting = [type_name]
        while waiting:
            known = self.types.get(waiting.pop())
            new = set(known.parents) - found if known else set()
            found |= new
            waiting += new
        return frozenset(found)

    def inverse_of(self, name: str) -> str | None:
        """The predicate that says the same from value to subject, whichever of the two names the other."""
        known = self.predicates.get(name)
        if known is not None and known.inverse is not None:
            return known.inverse
        return next((other.name for other in self.predicates.values() if other.inverse == name), None)

    def misfit(
        self,
        predicate: Predicate,
        side: Literal["domain", "range"],
        types: Collection[str],
        shown_as: str,
        pointer: str,
    ) -> Violation | None:
        """What is wrong with an entity of `types`, called `shown_as`, as subject or value; `None` if nothing.

        An entity of which no type is known fits everywhere, unless the schema is strict.
        """
        wanted = predicate.domain if side == "domain" else predicate.range
        if not wanted or not (types or self.strict):
            return None
        if any(self.is_a(given, ancestor) for given in types for ancestor in wanted):
            return None
        role = "subject" if side == "domain" else "value"
        got = f"{' and '.join(sorted(types)) or 'an untyped'} {shown(shown_as)}"
        detail = (
            f"predicate {shown(predicate.name)} needs {' or '.join(wanted)} as {role}, got {got}; "
            "add a type to it or use another predicate"
        )
        return Violation(pointer=pointer, code=f"wrong_{side}", detail=detail)

    def _unknown(self, name: str, pointer: str) -> UnknownPredicate:
        near = difflib.get_close_matches(name, self.predicates, n=3)
        remedy = f"did you mean {' or '.join(map(repr, near))}?" if near else "add it to the ontology"
        detail = f"the strict schema has no predicate {shown(name)}; {remedy}"
        violation = Violation(pointer=pointer, code="unknown_predicate", detail=detail)
        return UnknownPredicate(detail, violations=(violation,), members={"near_matches": near})


EMPTY: Final = Schema(version=0, strict=False, types={}, predicates={}, mappings={})


def check_predicate_name(name: str, pointer: str = "") -> str:
    """`name` in NFC: 1 to 128 characters of any script, no control character, no blank at its ends, no leading `^`."""
    name = canonical_label(name, pointer, "predicate", NAME_CHARS_MAX)
    if name.startswith("^") or name != name.strip():
        detail = (
            f"{shown(name)} is no predicate; remove blanks at its ends and a leading '^', which marks inverse steps"
        )
        raise incorrect(pointer, "bad_name", detail)
    return name


@lru_cache(maxsize=4096)
def _open_predicate(name: str, at: str) -> Predicate:
    return Predicate(
        name=check_predicate_name(name, at),
        domain=(),
        range=(),
        datatype=None,
        unit=None,
        minimum=None,
        maximum=None,
        cardinality=Cardinality.MANY,
        kind=Kind.FACT,
        governance=UNGOVERNED,
        inverse=None,
        label="",
        description="",
        patterns=(),
    )
