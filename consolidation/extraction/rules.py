"""Sentences read by the patterns that the schema declares: the most specific one, or none.

Patterns run on RE2, which takes time in proportion to the text whatever the text is. One sentence has one
reading: that of the pattern which says most in words of its own. Where that one is unclear, no lesser one is
tried, and where two say as much and differ, none is taken; a note tells.
"""

import re
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import re2

from consolidation.extraction.base import (
    Budget,
    Candidate,
    Code,
    EpisodeText,
    Extraction,
    Extractor,
    Known,
    Note,
    Span,
    Ticks,
    Trust,
    conclude,
    cut,
)
from consolidation.extraction.dates import PHRASE, PHRASE_ALONE
from consolidation.extraction.reading import Unread, Wording, candidate_of
from consolidation.extraction.sentences import sentences
from ontology.errors import shown
from ontology.patterns import Part, Pattern, Slot, Variant, variants
from ontology.schema import Predicate, Schema
from ontology.values import ValueType

RULES: Final = Extractor(name="rules", version="1", trust=Trust.OBSERVED)
SENTENCE_CHARS_MAX: Final = 2_000

_BLANK: Final = r"[\s\p{Z}]+"
_ANY: Final = r"(.+?)"
_NUMBER: Final = r"([-+]?[0-9][0-9.,]*)"
_QUANTITY: Final = rf"([-+]?[0-9][0-9.,]*(?:(?:{_BLANK})?[^\s0-9]+)?)"
_WORD: Final = re.compile(r"\w+")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class _Rule:
    """One variant of a pattern, compiled when a sentence first has its words: dates make long programs."""

    def __init__(self, predicate: Predicate, pattern: Pattern, variant: Variant, name: str) -> None:
        self.predicate = predicate
        self.pattern = pattern
        self.variant = variant
        self.name = name
        self._slots = tuple(part for part in variant.parts if isinstance(part, Slot))

    def match(self, sentence: str) -> dict[Slot, str] | None:
        """What stands in the slots, where the rule reads the whole sentence.

        Asked first is the program that minds the case of words, so that `The Man Who Lives In Trees lives in Paris`
        is read right.
        """
        found = next((match for each in self._programs if (match := each.match(sentence))), None)
        return None if found is None else {slot: found.group(at) for at, slot in enumerate(self._slots, 1)}

    @cached_property
    def _programs(self) -> tuple[Any, Any]:
        """RE2 programs with one group for each slot, in their order."""
        before: Part = ""
        pieces = []
        for part in self.variant.parts:
            if isinstance(part, Slot):
                pieces.append(_slot(part, before, self.predicate))
            else:
                pieces.append(_words(part, first=before == ""))
            before = part
        regex = rf"\A{''.join(pieces)}\z"
        return re2.compile(f"(?s){regex}"), re2.compile(f"(?is){regex}")


class RulesExtractor:
    """The patterns of one schema; safe to use from many threads."""

    def __init__(self, schema: Schema, ticks: Ticks = time.monotonic) -> None:
        self._schema = schema
        self._ticks = ticks
        self._by_word: dict[str, list[_Rule]] = {}
        self._always: list[_Rule] = []
        """Rules without a word that must stand alone in a sentence, as in scripts without blanks."""
        for predicate in schema.predicates.values():
            for index, pattern in enumerate(predicate.patterns):
                for variant in variants(pattern.text):
                    rule = _Rule(predicate, pattern, variant, f"{predicate.name}#{index}")
                    word = _keyword(variant)
                    (self._always if word is None else self._by_word.setdefault(word, [])).append(rule)
        self._wording = Wording(
            verbs=frozenset(
                word
                for predicate in schema.predicates.values()
                for pattern in predicate.patterns
                for word in _WORD.findall(pattern.text.lower())
                if len(word) > 3
            )
        )

    @property
    def who(self) -> Extractor:
        return RULES

    def extract(self, text: EpisodeText, known: Sequence[Known], budget: Budget) -> Extraction:
        """The readings of all sentences."""
        candidates: list[Candidate] = []
        notes: list[Note] = []
        end = self._ticks() + budget.seconds_max
        for turn, passage in cut(text, budget, notes):
            # RE2 takes UTF-8, which has no half characters; of one length, so that spans stay true
            clean = _SURROGATE.sub("\ufffd", passage)
            for sentence in sentences(clean):
                span = _span(turn, passage, sentence.start, sentence.end)
                if self._ticks() > end or len(candidates) > budget.candidates_max:
                    limit = "seconds" if len(candidates) <= budget.candidates_max else "candidates"
                    detail = f"the budget of {limit} is spent; nothing from here on was read"
                    notes.append(Note(code=Code.DROPPED, detail=detail, span=span))
                    return conclude(text, self._schema, candidates, notes, budget)
                found = self._best(clean[sentence.start : sentence.end])
                if sentence.end - sentence.start > SENTENCE_CHARS_MAX:
                    detail = f"a sentence of more than {SENTENCE_CHARS_MAX} characters is not read"
                    notes.append(Note(code=Code.DROPPED, detail=detail, span=span))
                elif found and sentence.asks:
                    notes.append(Note(code=Code.UNCLEAR, detail="a question tells nothing", span=span))
                elif found:
                    reading = self._read(text, span, found, known, notes)
                    candidates += [] if reading is None else [reading]
        return conclude(text, self._schema, candidates, notes, budget)

    def _best(self, sentence: str) -> list[tuple[_Rule, dict[Slot, str]]]:
        """The rules that read the whole sentence and say most, with what stands in their slots."""
        if len(sentence) > SENTENCE_CHARS_MAX:
            return []
        words = set(_WORD.findall(sentence.lower()))
        rules = [rule for word in words if word in self._by_word for rule in self._by_word[word]]
        found: list[tuple[_Rule, dict[Slot, str]]] = []
        for rule in sorted([*rules, *self._always], key=lambda r: (r.variant.weight, r.name), reverse=True):
            if found and rule.variant.weight < found[0][0].variant.weight:
                break
            filled = rule.match(sentence)
            if filled is not None:
                found.append((rule, filled))
        return found

    def _read(
        self,
        text: EpisodeText,
        span: Span,
        found: list[tuple[_Rule, dict[Slot, str]]],
        known: Sequence[Known],
        notes: list[Note],
    ) -> Candidate | None:
        rule, filled = found[0]
        others = [other for other, slots in found[1:] if not _alike(rule, filled, other, slots)]
        if others:
            names = ", ".join(shown(each.pattern.text) for each in (rule, *others))
            detail = f"{names} say as much of it and differ; make one of the patterns longer"
            notes.append(Note(code=Code.AMBIGUOUS, detail=detail, span=span))
            return None
        told: list[Note] = []
        try:
            candidate = candidate_of(
                text=text, schema=self._schema, span=span, predicate=rule.predicate, pattern=rule.pattern,
                filled=filled, known=known, extractor=RULES, rule=rule.name, notes=told, wording=self._wording,
            )  # fmt: skip
        except Unread as exc:
            notes.append(Note(code=exc.code, detail=str(exc), span=span))
            return None
        notes += told
        return candidate


def _alike(rule: _Rule, filled: dict[Slot, str], other: _Rule, slots: dict[Slot, str]) -> bool:
    """Whether two readings say the same, such as those of two patterns of one predicate."""
    same = (rule.predicate.name, rule.pattern.means, rule.pattern.value) == (
        other.predicate.name,
        other.pattern.means,
        other.pattern.value,
    )
    return same and sorted(filled.values()) == sorted(slots.values())


def _words(part: str, *, first: bool) -> str:
    """The words as they stand; the first letter of a sentence may always be a capital."""
    head = ""
    if first and part[:1].isalpha():
        head, part = f"(?i:{re2.escape(part[0])})", part[1:]
    return head + _BLANK.join("['’]".join(map(re2.escape, piece.split("'"))) for piece in part.split(" "))


def _slot(slot: Slot, before: Part, predicate: Predicate) -> str:
    told_by_words = before == "" or (not isinstance(before, Slot) and before.strip() != "")
    phrase = (PHRASE if told_by_words else PHRASE_ALONE).replace(" ", _BLANK)
    match slot:
        case Slot.FROM | Slot.TO:
            return f"((?i:{phrase}))"
        case Slot.VALUE if predicate.datatype in (ValueType.DATE, ValueType.DATETIME):
            return f"((?i:{phrase}))"
        case Slot.VALUE if predicate.datatype in (ValueType.INTEGER, ValueType.DECIMAL):
            return _NUMBER
        case Slot.VALUE if predicate.datatype is ValueType.QUANTITY:
            return _QUANTITY
        case _:
            return _ANY


def _keyword(variant: Variant) -> str | None:
    """The longest word that must stand alone in every sentence it reads; `None` where there is none."""
    found: list[str] = []
    last = len(variant.parts) - 1
    for index, part in enumerate(variant.parts):
        if isinstance(part, Slot):
            continue
        found += [word[0].lower() for word in _alone(part, first=index == 0, last=index == last)]
    return max(found, key=len, default=None)


def _alone(part: str, *, first: bool, last: bool) -> Iterator[re.Match[str]]:
    for word in _WORD.finditer(part):
        if (word.start() > 0 or first) and (word.end() < len(part) or last):
            yield word


def _span(turn: int | None, passage: str, start: int, end: int) -> Span:
    return Span(turn=turn, start=start, end=end, quote=passage[start:end])
