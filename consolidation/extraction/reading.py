"""What stands in the slots of a pattern, turned into a candidate, or refused as unclear.

Careful rather than complete: words that show that the sentence says something else (`I think`, `if`, `he`)
make it unread, with a note.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from consolidation.extraction.base import (
    ByName,
    Candidate,
    Code,
    EpisodeText,
    Extractor,
    Hold,
    Known,
    Mention,
    Note,
    Operation,
    Span,
    Verdict,
    compare,
)
from consolidation.extraction.dates import Lean, Resolved, Unresolved, resolve
from consolidation.items import ABSENT
from ontology.canonical import canonical_label
from ontology.entries import Stated
from ontology.errors import Incorrect, shown
from ontology.patterns import Meaning, Pattern, Slot
from ontology.schema import Cardinality, Predicate, Schema
from ontology.values import KEY_CHARS_MAX, ValueType

Filled: TypeAlias = Mapping[Slot, str]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PRONOUNS: Final = _words(
    "he she it we they you this that these those who someone somebody everyone everybody nobody one him her us them "
    "there here which what"
)
_OWNERS: Final = _words("my his her its our their your whose this that these those")
_HEDGES: Final = _words(
    "said says think thinks thought believe believes heard told hope hopes maybe perhaps probably possibly if whether "
    "unless not never might would could should want wants plan plans because although though while when which who "
    "whose that but yesterday today tomorrow ago"
)
_HEDGED_START: Final = _words("if maybe perhaps does did suppose imagine unless whether")
_ANOTHER: Final = re.compile(r"[.!?;]\s+(?:i|he|she|they|we|it|you|the|this|that|my|his|her)\b", re.IGNORECASE)
_GOES_ON: Final = re.compile(r"(?:,|\band\b|\bor\b)\s+(\w+)")
_NUMBER: Final = re.compile(r"([-+]?)(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?:\s*([^\s\d].*))?")
_QUOTES: Final = {'"': '"', "“": "”", "'": "'", "‘": "’", "«": "»"}
_VERDICTS: Final = {
    Meaning.ASSERT: (Operation.ASSERT, Verdict.NEW),
    Meaning.CHANGE: (Operation.ASSERT, Verdict.CHANGE),
    Meaning.RETRACT: (Operation.RETRACT, Verdict.CHANGE),
    Meaning.CORRECT: (Operation.REPLACE, Verdict.CORRECTION),
}


class Unread(Exception):
    """Why a sentence that fits a pattern gives no candidate."""

    def __init__(self, code: Code, detail: str) -> None:
        super().__init__(detail)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What the patterns of a schema have in common."""

    verbs: frozenset[str]
    """Words of the patterns: one of them after a comma or an `and` begins another statement."""


def candidate_of(
    *,
    text: EpisodeText,
    schema: Schema,
    span: Span,
    predicate: Predicate,
    pattern: Pattern,
    filled: Filled,
    known: Sequence[Known],
    extractor: Extractor,
    rule: str,
    notes: list[Note],
    wording: Wording,
) -> Candidate:
    """The candidate that the filled slots give. Raises `Unread`."""
    subject = _subject(text, span, filled, wording)
    given = filled.get(Slot.VALUE, pattern.value)
    value, value_zone = (ABSENT, None) if given is None else value_of(text, span, predicate, given, notes, wording)
    stated, holds = stated_of(text, span, pattern.means, filled, notes)
    stated = stated if stated.zone is not None else replace(stated, zone=value_zone)
    operation, proposed = _VERDICTS[pattern.means]
    compares_to, verdict = compare(known, subject, predicate.name, value, proposed)
    if verdict is Verdict.NEW and compares_to is not None and predicate.cardinality is Cardinality.FUNCTIONAL:
        # a later start supersedes; without one it is open which of the two holds
        verdict = Verdict.CHANGE if stated.valid_from is not None else Verdict.CONFLICT
    return Candidate(
        span=span, subject=subject, predicate=predicate.name, value=value, operation=operation, stated=stated,
        compares_to=compares_to, verdict=verdict, confidence=None, extractor=extractor, rule=rule,
        unmapped=predicate.name not in schema.predicates, holds=holds,
    )  # fmt: skip


def _subject(text: EpisodeText, span: Span, filled: Filled, wording: Wording) -> Mention:
    name = filled.get(Slot.SUBJECT)
    if name is None:
        return text.speaker(span.turn)
    name = _plain(name)
    if name.casefold() in ("i", "me", "myself"):
        return text.speaker(span.turn)
    words = name.split()
    if words and words[0].casefold() in _HEDGED_START:
        raise Unread(Code.UNCLEAR, f"{shown(name)} begins a condition or a guess, not a statement")
    return ByName(name=_name(name, "subject", wording))


def _name(name: str, role: str, wording: Wording) -> str:
    """`name` as that of one thing."""
    words = name.split()
    if not words or (len(words) == 1 and words[0].casefold() in _PRONOUNS):
        raise Unread(Code.UNRESOLVED_REFERENCE, f"who or what {shown(name)} is, the sentence does not tell")
    if len(words) > 1 and words[0].casefold() in _OWNERS and words[1][:1].islower():
        raise Unread(Code.UNRESOLVED_REFERENCE, f"whose {shown(name)} that is, needs more than the sentence")
    hedges = sorted(_HEDGES.intersection(words))
    if hedges:
        raise Unread(Code.UNCLEAR, f"the {role} {shown(name)} has the word {hedges[0]!r}, so it is more than a name")
    _one_statement(name, role, wording)
    return label_of(name, role)


def label_of(name: str, role: str) -> str:
    try:
        return canonical_label(name, "", role, KEY_CHARS_MAX)
    except Incorrect as exc:
        raise Unread(Code.REFUSED_SHAPE, exc.violations[0].detail) from None


def _one_statement(words: str, role: str, wording: Wording) -> None:
    another = _ANOTHER.search(words)
    if another is not None:
        raise Unread(Code.UNCLEAR, f"the {role} {shown(words)} runs into another sentence at {another[0]!r}")
    for follows in _GOES_ON.finditer(words):
        if follows[1] in wording.verbs or follows[1] in _PRONOUNS or follows[1] == "I":
            raise Unread(Code.UNCLEAR, f"the {role} {shown(words)} goes on with another statement, {follows[0]!r}")


def value_of(
    text: EpisodeText, span: Span, predicate: Predicate, given: str, notes: list[Note], wording: Wording | None
) -> tuple[object, str | None]:
    """(value, zone in which it is meant) of the words `given`; raises `Unread`.

    Without `wording` they are known to be of one value.
    """
    words, zone = _plain(given), None
    match predicate.datatype:
        case ValueType.ENTITY:
            return ByName(name=label_of(words, "value") if wording is None else _name(words, "value", wording)), None
        case ValueType.DATE | ValueType.DATETIME:
            reading = resolve(words, text.at(span.turn), Lean.NONE)
            if isinstance(reading, Unresolved):
                raise Unread(Code.UNRESOLVED_DATE, f"the value of {shown(predicate.name)}: {reading.detail}")
            _tell(reading, span, notes)
            words, zone = reading.text, reading.zone
        case ValueType.INTEGER | ValueType.DECIMAL | ValueType.QUANTITY:
            words = _number(words)
        case _ if wording is not None:
            _one_statement(words, "value", wording)
    try:
        predicate.read(words, pointer="/value", zone=zone or "UTC")
    except Incorrect as exc:
        raise Unread(Code.REFUSED_SHAPE, exc.violations[0].detail) from None
    return words, zone


def stated_of(
    text: EpisodeText, span: Span, means: Meaning, filled: Filled, notes: list[Note]
) -> tuple[Stated, tuple[Hold, ...]]:
    """The period, in the words of the writer; what ends or changes something does so when it was said, at the latest.

    A date that was told and cannot be read is not replaced by another.
    """
    at = text.at(span.turn)
    begins, ends = (_date(text, span, filled.get(slot), notes) for slot in (Slot.FROM, Slot.TO))
    valid_from = begins.text if isinstance(begins, Resolved) else None
    valid_to = ends.text if isinstance(ends, Resolved) else None
    holds: tuple[Hold, ...] = ()
    now = means in (Meaning.CHANGE, Meaning.RETRACT) and Slot.FROM not in filled
    if now and at is not None and not (means is Meaning.RETRACT and Slot.TO in filled):
        valid_from = at.text if len(at.text) > 10 else _exact(text, span)
    unread = isinstance(begins, Unresolved) or isinstance(ends, Unresolved)
    if means in (Meaning.CHANGE, Meaning.RETRACT) and (unread or (now and at is None)):
        holds = (Hold.UNDATED,)
    elif isinstance(ends, Unresolved):
        valid_to = "unknown"
    zones = (each.zone for each in (begins, ends) if isinstance(each, Resolved) and each.zone is not None)
    return Stated(valid_from=valid_from, valid_to=valid_to, zone=next(zones, None), semantics=None), holds


def _date(text: EpisodeText, span: Span, phrase: str | None, notes: list[Note]) -> Resolved | Unresolved | None:
    if phrase is None:
        return None
    reading = resolve(phrase, text.at(span.turn), Lean.PAST)
    if isinstance(reading, Unresolved):
        notes.append(Note(code=Code.UNRESOLVED_DATE, detail=reading.detail, span=span))
    else:
        _tell(reading, span, notes)
    return reading


def _exact(text: EpisodeText, span: Span) -> str | None:
    reading = resolve("now", text.at(span.turn), Lean.NONE)
    return reading.text if isinstance(reading, Resolved) else None


def _tell(reading: Resolved, span: Span, notes: list[Note]) -> None:
    if reading.code is not None:
        notes.append(Note(code=reading.code, detail=reading.detail, span=span))


def _number(words: str) -> str:
    """A number as the wire writes it: no commas between thousands, a blank before the unit."""
    match = _NUMBER.fullmatch(words)
    if match is None:
        raise Unread(Code.REFUSED_SHAPE, f"{shown(words)} is no number that can be read; write one such as '1200.50'")
    number = match[1] + match[2].replace(",", "") + (match[3] or "")
    return number if match[4] is None else f"{number} {match[4]}"


def _plain(words: str) -> str:
    words = words.strip()
    if len(words) > 2 and _QUOTES.get(words[0]) == words[-1]:
        words = words[1:-1].strip()
    return words.strip(" ,") if words.strip(" ,") else words
