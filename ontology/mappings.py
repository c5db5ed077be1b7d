"""How JSON that a tool or an event gives becomes claims: declared paths, as RFC 9535 (JSONPath) writes them.

    mappings:
      crm_contact:
        media_type: application/json
        event: contact.updated                  # what stands at event_path, by default $.type
        each: $.data.contacts[*]                # one reading for each; by default $, the whole document
        claims:
          - {subject: {key: $.id}, predicate: works_at, value: {name: $.employer}, valid_from: $.since}

A text that begins with `$` is a path from what `each` gives, any other stands for itself. Paths name members,
items, slices and wildcards only: a filter or a descent (`..`) can take time that nobody declared.
"""

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ontology.errors import Violation, pointer, shown

PATH_CHARS_MAX: Final = 300
MAPPINGS_MAX: Final = 1_000
CLAIMS_MAX: Final = 100
"""Of one mapping."""
WHOLE: Final = "$"
EVENT_PATH: Final = "$.type"
"""Where CloudEvents keep the kind of an event."""

_SELECTORS: Final = frozenset({"NameSelector", "IndexSelector", "SliceSelector", "WildcardSelector"})


class Reads(StrEnum):
    """What a term of a mapping gives."""

    VALUE = "value"
    """The JSON as it is, or the name of an entity where the predicate needs one."""
    KEY = "key"
    NAME = "name"


class Does(StrEnum):
    """What a mapped claim does."""

    ASSERT = "assert"
    RETRACT = "retract"


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A path or a constant, and what is read there."""

    reads: Reads
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedClaim:
    """Where the parts of one claim stand; each text is a path or a constant, `None` what is not told."""

    does: Does
    subject: Term
    predicate: str
    value: Term | None
    """`None` only where a retraction means every value."""
    valid_from: str | None
    valid_to: str | None
    zone: str | None
    confidence: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonMapping:
    """Which JSON it reads, and the claims it finds there."""

    name: str
    media_type: str | None
    """`None` for any JSON; one of the two must be told."""
    event: str | None
    event_path: str
    each: str
    claims: tuple[MappedClaim, ...]


def is_path(text: str) -> bool:
    return text.startswith(WHOLE)


def mapping_violations(mappings: Mapping[str, JsonMapping], predicates: Collection[str]) -> Iterator[Violation]:
    """Paths that cannot be read or may take long, and predicates that are not declared."""
    for mapping in mappings.values():
        at = pointer("mappings", mapping.name)
        if mapping.media_type is None and mapping.event is None:
            detail = f"the mapping {shown(mapping.name)} reads nothing; give 'media_type' or 'event'"
            yield Violation(pointer=at, code="missing_field", detail=detail)
        if not mapping.claims:
            detail = f"the mapping {shown(mapping.name)} has no claims; add one"
            yield Violation(pointer=f"{at}/claims", code="missing_field", detail=detail)
        yield from _path_violations(mapping.event_path, f"{at}/event_path", singular=True)
        yield from _path_violations(mapping.each, f"{at}/each", singular=False)
        for index, claim in enumerate(mapping.claims):
            yield from _claim_violations(claim, f"{at}/claims/{index}", predicates)


def _claim_violations(claim: MappedClaim, at: str, predicates: Collection[str]) -> Iterator[Violation]:
    if claim.value is None and claim.does is not Does.RETRACT:
        detail = "a claim needs a value, as only a retraction can do without; add 'value'"
        yield Violation(pointer=at, code="missing_field", detail=detail)
    if not is_path(claim.predicate) and claim.predicate not in predicates:
        near = difflib.get_close_matches(claim.predicate, predicates, n=1)
        remedy = f"did you mean {near[0]!r}?" if near else "declare it under 'predicates'"
        detail = f"there is no predicate {shown(claim.predicate)}; {remedy}"
        yield Violation(pointer=f"{at}/predicate", code="unknown_predicate", detail=detail)
    yield from _text_violations(claim.subject.text, f"{at}/subject", singular=True)
    if claim.value is not None:
        yield from _text_violations(claim.value.text, f"{at}/value", singular=False)
    others = ("predicate", "valid_from", "valid_to", "zone", "confidence")
    for member, text in zip(others, (getattr(claim, member) for member in others), strict=True):
        if text is not None:
            yield from _text_violations(text, f"{at}/{member}", singular=True)


def _text_violations(text: str, at: str, *, singular: bool) -> Iterator[Violation]:
    if is_path(text):
        yield from _path_violations(text, at, singular=singular)


def _path_violations(path: str, at: str, *, singular: bool) -> Iterator[Violation]:
    problem = _path_problem(path, singular=singular)
    if problem is not None:
        detail = f"the path {shown(path)} {problem}"
        yield Violation(pointer=at, code="bad_path", detail=detail)


def _path_problem(path: str, *, singular: bool) -> str | None:
    # a quarter of a second to import, which only a pack with mappings should cost
    from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError
    from jsonpath.segments import JSONPathChildSegment

    if len(path) > PATH_CHARS_MAX:
        return f"has more than {PATH_CHARS_MAX} characters; shorten it"
    try:
        compiled = JSONPathEnvironment(strict=True).compile(path)
    except (JSONPathError, RecursionError) as exc:
        return f"cannot be read as RFC 9535 says: {str(exc).splitlines()[0]}; write one such as '$.data.name'"
    if not isinstance(compiled, JSONPath):
        return "is made of several; write one"
    for segment in compiled.segments:
        if not isinstance(segment, JSONPathChildSegment):
            return "descends with '..'; name the members on the way"
        if any(type(selector).__name__ not in _SELECTORS for selector in segment.selectors):
            return "has a filter; name members, items, slices or '*'"
    if singular and not compiled.singular_query():
        return "can give many, but one is needed; put the wildcard into 'each'"
    return None
