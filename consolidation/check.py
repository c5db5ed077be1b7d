"""Is each item right by itself? Texts become domain values here, before any lock, by the schema alone.

All violations of all items are collected, up to a limit, so that a caller can put everything right at once.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from consolidation.items import (
    Absent,
    Assert,
    Erase,
    Expire,
    Item,
    Promote,
    Quoted,
    Read,
    Reject,
    Replace,
    Retract,
    RetractFact,
    Said,
    Withdraw,
)
from consolidation.policy import refuse_live
from ontology.canonical import TEXT_BYTES_MAX, canonical_label, canonical_text, incorrect
from ontology.claims import Source, Trust
from ontology.durations import Micros, parse_duration
from ontology.echoes import recalled
from ontology.entries import Stated, assertion, retraction
from ontology.errors import Incorrect, Refused, TooLarge, Violation, shown
from ontology.facts import Version
from ontology.ids import CLAIM, FACT, ClaimId, EpisodeId, FactId, locate
from ontology.instants import OPEN_END, Instant, Semantics, check_zone, parse_bound, parse_instant
from ontology.retention import check_ttl
from ontology.schema import Cardinality, Predicate, Schema
from ontology.values import EntityMention, Value, ValueKey, entity_mention

VIOLATIONS_MAX: Final = 100
_ANY: Final = ValueKey(bytes(16))
NAME_CHARS_MAX: Final = 500

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """`Said`, checked."""

    stated: Stated
    observed_at: Instant | None
    source: Source | None
    episode: EpisodeId | None
    root: str | None
    confidence: float | None
    quote: Quoted | None
    trust: Trust | None
    ttl: Micros | None
    recalled: tuple[FactId, ...]
    """The fact versions whose markers stand in the text that it was taken from."""
    read: Read | None


NOTHING_TOLD: Final = Telling(
    stated=Stated(valid_from=None, valid_to=None, zone=None, semantics=None), observed_at=None, source=None,
    episode=None, root=None, confidence=None, quote=None, trust=None, ttl=None, recalled=(), read=None,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAssert:
    subject: EntityMention
    predicate: Predicate
    value: Value | EntityMention
    telling: Telling
    expected: Version | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRetract:
    subject: EntityMention
    predicate: Predicate
    value: Value | EntityMention | None
    telling: Telling
    expected: Version | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ByPlace:
    """A fact named by its slot, its value and an instant at which it holds."""

    subject: EntityMention
    predicate: Predicate
    old: Value | EntityMention
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedReplace:
    target: FactId | ByPlace
    value: object
    """In wire form: read once the predicate of the target is known; `ABSENT` where it stays."""
    telling: Telling
    reason: str
    expected: Version | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRetractFact:
    fact: FactId
    telling: Telling
    expected: Version | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedWithdraw:
    target: str
    by: str
    """`claim`, `episode` or `source`."""
    reason: str
    expected: Version | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedErase:
    subject: EntityMention
    predicate: Predicate | None
    value: Value | EntityMention | None
    expected: Version | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedReview:
    """The decision on a held claim."""

    claim: ClaimId
    promotes: bool
    reason: str
    expected: Version | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedExpire:
    claim: ClaimId


Checked: TypeAlias = (
    CheckedAssert
    | CheckedRetract
    | CheckedReplace
    | CheckedRetractFact
    | CheckedWithdraw
    | CheckedErase
    | CheckedReview
    | CheckedExpire
)


def check(items: Sequence[Item], schema: Schema, *, items_max: int) -> list[Checked]:
    """Every item, checked, in order.

    Raises `TooLarge` for more than `items_max`, `Incorrect` with a violation for each thing that is wrong; its slug
    is that of the first.
    """
    if len(items) > items_max:
        raise TooLarge(f"{len(items)} items in one transaction, {items_max} at most; split them")
    if not items:
        raise incorrect("/items", "empty", "a transaction without items; give at least one")
    failed: list[Incorrect] = []
    violations: list[Violation] = []
    checked: list[Checked] = []
    for index, item in enumerate(items):
        try:
            checked.append(_check(item, schema))
        except Incorrect as exc:
            failed.append(exc)
            violations += [v.under(f"/items/{index}") for v in exc.violations]
            if len(violations) >= VIOLATIONS_MAX:
                break
    if failed:
        raise again(failed[0], violations)
    return checked


def again(exc: Incorrect, violations: Iterable[Violation]) -> Incorrect:
    """The same refusal with other violations: pointers that begin further out, or more of them."""
    return type(exc)(exc.message, slug=exc.slug, remedy=exc.remedy, violations=violations, members=exc.members)


def _check(item: Item, schema: Schema) -> Checked:
    match item:
        case Assert():
            predicate = _predicate(schema, item.predicate)
            refuse_live(predicate)
            return CheckedAssert(
                subject=_mention(item.subject, "/subject"), predicate=predicate,
                value=predicate.read(item.value, pointer="/value", zone=item.said.zone or "UTC"),
                telling=_telling_of_assert(item.said, predicate), expected=item.expected_version,
            )  # fmt: skip
        case Retract():
            predicate = _predicate(schema, item.predicate)
            return CheckedRetract(
                subject=_mention(item.subject, "/subject"), predicate=predicate,
                value=_value(item.value, predicate), telling=_telling_of_retract(item.said),
                expected=item.expected_version,
            )  # fmt: skip
        case Replace():
            return CheckedReplace(
                target=_target(item, schema), value=item.value, telling=telling(item.said),
                reason=_text(item.reason, "/reason") or "replaced", expected=item.expected_version,
            )  # fmt: skip
        case RetractFact():
            locate(item.fact, FACT)
            return CheckedRetractFact(
                fact=FactId(item.fact), telling=telling(item.said), expected=item.expected_version
            )
        case Withdraw():
            return _withdraw(item)
        case Promote() | Reject():
            locate(item.claim, CLAIM)
            promotes = isinstance(item, Promote)
            reason = _text(item.reason, "/reason") or ("promoted" if promotes else "rejected")
            return CheckedReview(
                claim=ClaimId(item.claim), promotes=promotes, reason=reason, expected=item.expected_version
            )  # fmt: skip
        case Expire():
            locate(item.claim, CLAIM)
            return CheckedExpire(claim=ClaimId(item.claim))
        case Erase():
            named = None if item.predicate is None else _predicate(schema, item.predicate)
            if named is None and not isinstance(item.value, Absent):
                raise incorrect("/value", "missing_predicate", "erasing a value needs its predicate; give 'predicate'")
            return CheckedErase(
                subject=_mention(item.subject, "/subject"), predicate=named,
                value=None if named is None else _value(item.value, named), expected=item.expected_version,
            )  # fmt: skip


def telling(said: Said) -> Telling:
    """Who said it, when, and for which period; raises `Incorrect` for the first part that is wrong."""
    semantics = None
    if said.date_semantics is not None:
        if said.date_semantics not in ("sometime", "whole"):
            detail = f"no date semantics {shown(said.date_semantics)}; give 'sometime' or 'whole', or leave it out"
            raise incorrect("/date_semantics", "unknown_member", detail)
        semantics = Semantics(said.date_semantics)
    if said.zone is not None:
        read_at("/tz", check_zone, said.zone)
    for side, text in (("/valid_from", said.valid_from), ("/valid_to", said.valid_to)):
        if text is not None and text != "unknown":
            read_at(side, parse_bound, text, said.zone or "UTC", semantics or Semantics.DEFAULT)
    confidence = said.confidence
    if confidence is not None and not (math.isfinite(confidence) and 0 <= confidence <= 1):
        raise incorrect("/confidence", "out_of_range", f"confidence {confidence!r} is outside [0, 1]; correct it")
    source, episode = _text(said.source, "/source"), _text(said.episode, "/episode")
    return Telling(
        stated=Stated(valid_from=said.valid_from, valid_to=said.valid_to, zone=said.zone, semantics=semantics),
        observed_at=None if said.observed_at is None else read_at("/observed_at", parse_instant, said.observed_at),
        source=None if source is None else Source(source),
        episode=None if episode is None else EpisodeId(episode),
        root=_text(said.root, "/root"), confidence=confidence, quote=said.quote, trust=trust_of(said.trust),
        ttl=None if said.ttl is None else parse_duration(said.ttl, "/ttl"), recalled=_recalled(said.recalled),
        read=said.read,
    )  # fmt: skip


def _recalled(text: str | None) -> tuple[FactId, ...]:
    if text is None:
        return ()
    return tuple(recalled(canonical_text(text, "/recalled", TEXT_BYTES_MAX)))


def trust_of(word: str | None) -> Trust | None:
    """The trust that a word on the wire asks for. Raises `Incorrect`."""
    if word is None:
        return None
    for each in Trust:
        if each.word == word:
            return each
    words = ", ".join(each.word for each in Trust)
    raise incorrect("/trust", "unknown_member", f"no trust {shown(word)}; give one of {words}, or leave it out")


def _telling_of_assert(said: Said, predicate: Predicate) -> Telling:
    """`telling`, of a period that an assertion can have whenever it was said, and of a ttl that its kind allows."""
    told = telling(said)
    if told.ttl is not None:
        check_ttl(predicate, told.ttl, "/ttl")
    assertion(told.stated, value=_ANY, functional=False, observed_at=OPEN_END, position=0, ordinal=0)
    return told


def _telling_of_retract(said: Said) -> Telling:
    if said.ttl is not None:
        raise incorrect("/ttl", "unknown_field", "a retraction does not expire; leave 'ttl' out")
    told = telling(said)
    retraction(told.stated, value=None, functional=False, observed_at=OPEN_END, position=0, ordinal=0)
    return told


def functional(predicate: Predicate) -> bool:
    """Whether the fold keeps at most one certain value at an instant; events and unknown predicates keep all."""
    return predicate.cardinality is Cardinality.FUNCTIONAL


def _predicate(schema: Schema, name: str) -> Predicate:
    """The predicate of this name; one that is only an inverse is for reading, or a fact could be told in two ways."""
    if name not in schema.predicates and (direct := schema.inverse_of(name)) is not None:
        turned = shown(direct)
        detail = f"{shown(name)} reads {turned} from value to subject; say it with {turned}, the other way round"
        raise Refused(detail, violations=(Violation(pointer="/predicate", code="inverse_predicate", detail=detail),))
    try:
        return schema.predicate(name)
    except Incorrect as exc:
        raise exc.under("/predicate") from None


def _mention(subject: object, at: str) -> EntityMention:
    if isinstance(subject, str):
        return entity_mention(subject, pointer=at)
    if isinstance(subject, dict) and len(subject) == 1:
        for member, given in subject.items():
            if member in ("id", "key") and isinstance(given, str):
                is_id = given.startswith("ent_")
                if is_id == (member == "id"):
                    return entity_mention(given, pointer=f"{at}/{member}")
    detail = f"{shown(subject)} names no entity; give a key, an id 'ent_…', or an object with 'key' or 'id'"
    raise incorrect(at, "wrong_type", detail)


def _value(wire: object, predicate: Predicate) -> Value | EntityMention | None:
    return None if isinstance(wire, Absent) else predicate.read(wire, pointer="/value")


def _target(item: Replace, schema: Schema) -> FactId | ByPlace:
    by_place = (item.predicate, item.at) != (None, None) or not (
        isinstance(item.subject, Absent) and isinstance(item.old, Absent)
    )
    if item.fact is not None:
        if by_place:
            raise incorrect("/fact", "too_many", "give either 'fact' or 'subject', 'predicate', 'old' and 'at'")
        locate(item.fact, FACT)
        return FactId(item.fact)
    if item.predicate is None or item.at is None or isinstance(item.subject, Absent) or isinstance(item.old, Absent):
        raise incorrect("", "missing", "what to replace? give 'fact', or 'subject', 'predicate', 'old' and 'at'")
    predicate = _predicate(schema, item.predicate)
    return ByPlace(
        subject=_mention(item.subject, "/subject"), predicate=predicate,
        old=predicate.read(item.old, pointer="/old"), at=read_at("/at", parse_instant, item.at),
    )  # fmt: skip


def _withdraw(item: Withdraw) -> CheckedWithdraw:
    given = [
        (by, text)
        for by, text in (("claim", item.claim), ("episode", item.episode), ("source", item.source))
        if text is not None
    ]
    if len(given) != 1:
        raise incorrect("", "exactly_one", "what to withdraw? give exactly one of 'claim', 'episode' and 'source'")
    by, text = given[0]
    name = _text(text, f"/{by}") or ""
    if by == "claim":
        locate(name, CLAIM)
    reason = _text(item.reason, "/reason") or "withdrawn"
    return CheckedWithdraw(target=name, by=by, reason=reason, expected=item.expected_version)


def _text(text: str | None, at: str) -> str | None:
    return None if text is None else canonical_label(text, at, at[1:], NAME_CHARS_MAX)


def read_at(at: str, read: Callable[..., T], *args: object) -> T:
    """What `read` makes of `args`; what is wrong with them stands under the pointer `at`."""
    try:
        return read(*args)
    except Incorrect as exc:
        raise exc.under(at) from None
