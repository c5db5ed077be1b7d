"""JSON of tools and events read along the paths that the schema declares.

Each claim of a mapping gives a candidate for every value that its path finds, quoted as it stands in the JSON.
A path that finds nothing is told once per mapping, with how often.
"""

import json
import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from consolidation.extraction.base import (
    Budget,
    ByKey,
    ByName,
    Candidate,
    Code,
    EpisodeText,
    Extraction,
    Extractor,
    Hold,
    Known,
    Note,
    Observed,
    Operation,
    Span,
    Ticks,
    Trust,
    Verdict,
    compare,
    conclude,
    cut,
)
from consolidation.extraction.dates import Lean, Resolved, resolve
from consolidation.extraction.json_places import Path, places
from consolidation.items import ABSENT
from ontology.canonical import canonical_label
from ontology.entries import Stated
from ontology.errors import Incorrect, shown
from ontology.instants import check_zone
from ontology.mappings import Does, JsonMapping, MappedClaim, Reads, is_path
from ontology.schema import Schema
from ontology.values import KEY_CHARS_MAX, ValueType

MAPPINGS: Final = Extractor(name="mappings", version="1", trust=Trust.OBSERVED)
JSON_TYPE: Final = "application/json"

_NUMERIC: Final = frozenset({ValueType.DECIMAL, ValueType.QUANTITY, ValueType.INTEGER})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A value and its path from the root; a constant has none."""

    value: object
    path: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A candidate before its place in the text is known."""

    subject: ByKey | ByName
    predicate: str
    value: _Found | None
    at: Path
    """What is quoted."""
    claim: MappedClaim
    item: object
    rule: str


class _Unmet(Exception):
    """Why a claim gives no candidate."""

    def __init__(self, code: Code, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class MappingsExtractor:
    """The mappings of one schema."""

    def __init__(self, schema: Schema, ticks: Ticks = time.monotonic) -> None:
        self._schema = schema
        self._ticks = ticks
        self._paths: dict[str, Any] = {}

    @property
    def who(self) -> Extractor:
        return MAPPINGS

    def extract(self, text: EpisodeText, known: Sequence[Known], budget: Budget) -> Extraction:
        """The candidates of all mappings that fit the media type and the kind of event."""
        candidates: list[Candidate] = []
        notes: list[Note] = []
        fitting = [each for each in self._schema.mappings.values() if _fits(each, text.media_type)]
        end = self._ticks() + budget.seconds_max
        if fitting:
            whole = sum(len(passage) for _, passage in text.passages()) <= budget.characters_max
            for turn, passage in cut(text, budget, notes) if whole else ():
                self._passage(text, turn, passage, fitting, known, budget, end, candidates, notes)
            if not whole:
                detail = f"the JSON has more than {budget.characters_max} characters and was not read; split it"
                notes.append(Note(code=Code.DROPPED, detail=detail, span=None))
        return conclude(text, self._schema, candidates, notes, budget)

    def _passage(
        self,
        text: EpisodeText,
        turn: int | None,
        passage: str,
        fitting: Sequence[JsonMapping],
        known: Sequence[Known],
        budget: Budget,
        end: float,
        candidates: list[Candidate],
        notes: list[Note],
    ) -> None:
        try:
            document = json.loads(passage, parse_constant=_refuse)
        except (ValueError, RecursionError) as exc:
            detail = f"the text is no JSON, {exc}; correct it, or give another media type"
            notes.append(Note(code=Code.UNREADABLE, detail=detail, span=None))
            return
        missing: Counter[tuple[Code, str]] = Counter()
        drafts: list[_Draft] = []
        for mapping in fitting:
            if not self._is_event(mapping, document):
                continue
            for draft in self._drafts(mapping, document, missing):
                if len(candidates) + len(drafts) > budget.candidates_max or self._ticks() > end:
                    spent = "seconds" if self._ticks() > end else "candidates"
                    detail = f"the budget of {spent} is spent; what mapping {shown(mapping.name)} finds next is dropped"
                    notes.append(Note(code=Code.DROPPED, detail=detail, span=None))
                    break
                drafts.append(draft)
        found = places(passage, {draft.at for draft in drafts})
        for draft in drafts:
            start, stop = found[draft.at]
            span = Span(turn=turn, start=start, end=stop, quote=passage[start:stop])
            try:
                candidates.append(self._candidate(text, span, draft, known, missing))
            except _Unmet as exc:
                notes.append(Note(code=exc.code, detail=f"mapping {draft.rule}: {exc}", span=span))
        for (code, what), count in missing.items():
            notes.append(Note(code=code, detail=f"{what}, {count} time{'s' * (count > 1)}", span=None))

    def _is_event(self, mapping: JsonMapping, document: object) -> bool:
        if mapping.event is None:
            return True
        return any(found.value == mapping.event for found in self._find(mapping.event_path, document, ()))

    def _drafts(self, mapping: JsonMapping, document: object, missing: Counter[tuple[Code, str]]) -> Iterator[_Draft]:
        items = list(self._find(mapping.each, document, ()))
        if not items:
            missing[Code.MISSING_PATH, f"mapping {mapping.name}: {mapping.each!r} finds nothing"] += 1
        for item in items:
            for index, claim in enumerate(mapping.claims):
                rule = f"{mapping.name}#{index}"

                def miss(path: str, rule: str = rule) -> None:
                    missing[Code.MISSING_PATH, f"mapping {rule}: {path!r} finds nothing"] += 1

                subject = self._one(claim.subject.text, item)
                predicate = self._one(claim.predicate, item)
                values: Sequence[_Found | None] = [None] if claim.value is None else self._many(claim.value.text, item)
                absent = [
                    text
                    for text, there in (
                        (claim.subject.text, subject),
                        (claim.predicate, predicate),
                        (claim.value.text if claim.value else "", values),
                    )
                    if not there
                ]
                for text in absent:
                    miss(text)
                if absent or subject is None or predicate is None:
                    continue
                try:
                    mention = _mention(claim.subject.reads, subject.value, "subject")
                except _Unmet as exc:
                    missing[exc.code, f"mapping {rule}: {exc}"] += 1
                    continue
                for value in values:
                    place = value.path if value is not None and value.path is not None else subject.path
                    yield _Draft(
                        subject=mention, predicate=str(predicate.value), value=value, claim=claim, item=item.value,
                        at=item.path or () if place is None else place, rule=rule,
                    )  # fmt: skip

    def _candidate(
        self, text: EpisodeText, span: Span, draft: _Draft, known: Sequence[Known], missing: Counter[tuple[Code, str]]
    ) -> Candidate:
        claim, at = draft.claim, text.at(span.turn)
        zone = self._told(claim.zone, draft, missing)
        if zone is not None:
            try:
                at = None if at is None else replace(at, zone=check_zone(zone))
            except Incorrect as exc:
                raise _Unmet(Code.REFUSED_SHAPE, exc.message) from None
        value = self._value(draft, span)
        begins = self._date(self._told(claim.valid_from, draft, missing), at)
        ends = self._date(self._told(claim.valid_to, draft, missing), at)
        valid_from = None if begins is None else begins.text
        holds: tuple[Hold, ...] = ()
        retracts = claim.does is Does.RETRACT
        if retracts and begins is None and ends is None:
            valid_from = None if at is None else at.text
            holds = (Hold.UNDATED,) if at is None else ()
        zones = (each.zone for each in (begins, ends) if each is not None and each.zone is not None)
        compares_to, verdict = compare(
            known, draft.subject, draft.predicate, value, Verdict.CHANGE if retracts else Verdict.NEW
        )
        return Candidate(
            span=span, subject=draft.subject, predicate=draft.predicate, value=value,
            operation=Operation.RETRACT if retracts else Operation.ASSERT,
            stated=Stated(
                valid_from=valid_from, valid_to=None if ends is None else ends.text,
                zone=next(zones, zone), semantics=None,
            ),
            compares_to=compares_to, verdict=verdict, confidence=self._confidence(draft, missing),
            extractor=MAPPINGS, rule=draft.rule, unmapped=draft.predicate not in self._schema.predicates, holds=holds,
        )  # fmt: skip

    def _value(self, draft: _Draft, span: Span) -> object:
        if draft.value is None or draft.claim.value is None:
            return ABSENT
        value, reads = draft.value.value, draft.claim.value.reads
        predicate = self._schema.predicates.get(draft.predicate)
        if reads is not Reads.VALUE or (predicate is not None and predicate.datatype is ValueType.ENTITY):
            return _mention(reads, value, "value")
        if isinstance(value, dict | list):
            value = {"type": "json", "value": value}
        if predicate is None:
            return value
        if predicate.datatype in _NUMERIC and isinstance(value, float) and draft.value.path is not None:
            # the digits as they stand, which a double might not keep
            value = span.quote
        try:
            predicate.read(value, pointer="/value")
        except Incorrect as exc:
            raise _Unmet(Code.REFUSED_SHAPE, exc.violations[0].detail) from None
        return value

    def _date(self, given: str | None, at: Observed | None) -> Resolved | None:
        if given is None:
            return None
        reading = resolve(given, at, Lean.NONE)
        if isinstance(reading, Resolved):
            return reading
        raise _Unmet(Code.UNRESOLVED_DATE, reading.detail)

    def _confidence(self, draft: _Draft, missing: Counter[tuple[Code, str]]) -> float | None:
        told = self._told(draft.claim.confidence, draft, missing)
        if told is None:
            return None
        try:
            confidence = float(told)
        except ValueError:
            confidence = math.nan
        if 0 <= confidence <= 1:
            return confidence
        raise _Unmet(Code.REFUSED_SHAPE, f"confidence {shown(told)} is outside [0, 1]")

    def _told(self, text: str | None, draft: _Draft, missing: Counter[tuple[Code, str]]) -> str | None:
        """The text that a constant or a path tells; what is absent is counted."""
        if text is None:
            return None
        found = self._one(text, _Found(value=draft.item, path=()))
        if found is None:
            missing[Code.MISSING_PATH, f"mapping {draft.rule}: {text!r} finds nothing"] += 1
            return None
        return found.value if isinstance(found.value, str) else json.dumps(found.value)

    def _one(self, text: str, item: _Found) -> _Found | None:
        return next(iter(self._many(text, item)), None)

    def _many(self, text: str, item: _Found) -> list[_Found]:
        """What a path finds that is not null, or the constant itself."""
        if not is_path(text):
            return [_Found(value=text, path=None)]
        return [found for found in self._find(text, item.value, item.path or ()) if found.value is not None]

    def _find(self, path: str, document: object, root: Path) -> Iterator[_Found]:
        if path not in self._paths:
            # a quarter of a second to import, which only a schema with mappings should cost
            from jsonpath import JSONPathEnvironment

            self._paths[path] = JSONPathEnvironment(strict=True).compile(path)
        if not isinstance(document, dict | list):
            if path == "$":
                yield _Found(value=document, path=root)
            return
        for match in self._paths[path].finditer(document):
            yield _Found(value=match.obj, path=(*root, *match.parts))


def _fits(mapping: JsonMapping, media_type: str) -> bool:
    plain = media_type.split(";", maxsplit=1)[0].strip().lower()
    if mapping.media_type is None:
        return plain == JSON_TYPE or plain.endswith("+json")
    return plain == mapping.media_type.lower()


def _mention(reads: Reads, value: object, role: str) -> ByKey | ByName:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _Unmet(Code.REFUSED_SHAPE, f"the {role} {shown(value)} is no name; map a text")
    try:
        text = canonical_label(str(value), "", role, KEY_CHARS_MAX)
    except Incorrect as exc:
        raise _Unmet(Code.REFUSED_SHAPE, exc.violations[0].detail) from None
    return ByKey(key=text) if reads is Reads.KEY else ByName(name=text)


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no number of JSON")
