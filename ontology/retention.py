"""How long what is said is served, and what happens at the end: by its kind, and by its predicate, which may narrow it.

| kind | without a `ttl` | at most | at the end |
|---|---|---|---|
| fact, preference, decision, skill | for ever | no limit | it expires |
| working_note | 7 days | 30 days | it is erased |
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ontology.durations import Micros, days, format_duration
from ontology.errors import Refused, Violation, shown
from ontology.instants import OPEN_END, Instant
from ontology.schema import Kind, Predicate, Retention


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What holds for the claims of a kind, or under a predicate."""

    ttl: Micros | None
    """Of a claim that states none; `None` for ever."""
    ttl_max: Micros | None
    """The most that one may state; `None` for no ceiling."""
    ends: Retention


_FOR_EVER: Final = Terms(ttl=None, ttl_max=None, ends=Retention.EXPIRE)
KINDS: Final[Mapping[Kind, Terms]] = {
    Kind.FACT: _FOR_EVER,
    Kind.PREFERENCE: _FOR_EVER,
    Kind.DECISION: _FOR_EVER,
    Kind.SKILL: _FOR_EVER,
    Kind.WORKING_NOTE: Terms(ttl=days(7), ttl_max=days(30), ends=Retention.ERASE),
}


def terms_of(predicate: Predicate) -> Terms:
    """What holds under a predicate: what it says itself, and for the rest its kind."""
    kind, rules = KINDS[predicate.kind], predicate.governance
    ceilings = [each for each in (_days(rules.ttl_days_max), kind.ttl_max) if each is not None]
    ceiling = min(ceilings, default=None)
    ttl = _days(rules.ttl_days) or kind.ttl or ceiling
    erases = Retention.ERASE in (rules.retention, kind.ends)
    return Terms(
        ttl=ttl if ttl is None or ceiling is None else min(ttl, ceiling),
        ttl_max=ceiling,
        ends=Retention.ERASE if erases else Retention.EXPIRE,
    )


def expires_at(predicate: Predicate, stated: Micros | None, recorded_at: Instant) -> Instant:
    """When a claim that is recorded then is no longer served; `OPEN_END` for never."""
    ttl = terms_of(predicate).ttl if stated is None else stated
    return OPEN_END if ttl is None else Instant(recorded_at + ttl)


def check_ttl(predicate: Predicate, stated: Micros, pointer: str) -> None:
    """Raise `Refused` for a time to live above the ceiling."""
    ceiling = terms_of(predicate).ttl_max
    if ceiling is not None and stated > ceiling:
        detail = (
            f"a ttl of {format_duration(stated)} is over the ceiling of {shown(predicate.name)}, a "
            f"{predicate.kind.value}: {format_duration(ceiling)}; give no more, or leave it out"
        )
        raise Refused(detail, violations=(Violation(pointer=pointer, code="ttl_too_long", detail=detail),))


def retention_violations(predicate: Predicate, at: str) -> Iterator[Violation]:
    """Where a predicate would widen what its kind allows, or contradicts itself."""
    kind, rules, name = KINDS[predicate.kind], predicate.governance, shown(predicate.name)
    for field, given in (("ttl_days", rules.ttl_days), ("ttl_days_max", rules.ttl_days_max)):
        asked = _days(given)
        if asked is not None and kind.ttl_max is not None and asked > kind.ttl_max:
            most = format_duration(kind.ttl_max)
            detail = f"predicate {name} has {field} {given}, a {predicate.kind.value} has at most {most}; lower it"
            yield Violation(pointer=f"{at}/{field}", code="ttl_too_long", detail=detail)
    if rules.ttl_days is not None and rules.ttl_days_max is not None and rules.ttl_days > rules.ttl_days_max:
        detail = f"predicate {name} has ttl_days {rules.ttl_days} above its ttl_days_max {rules.ttl_days_max}; lower it"
        yield Violation(pointer=f"{at}/ttl_days", code="inverted_range", detail=detail)


def _days(count: int | None) -> Micros | None:
    return None if count is None else days(count)
