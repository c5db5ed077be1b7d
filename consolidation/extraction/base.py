"""What an extractor is given, what it gives back, and the checks that all of them share.

An extractor only proposes: whether a candidate becomes a claim is decided by the schema, by policy and by the
fold. It reads no clock and no store. What it cannot read, date or fit it tells in a note.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Protocol, TypeAlias

from consolidation.items import Absent
from ontology.entries import Stated
from ontology.errors import shown
from ontology.ids import FactId
from ontology.instants import Instant, check_zone, parse_instant
from ontology.schema import Schema

# What is read


@dataclass(frozen=True, slots=True, kw_only=True)
class ByKey:
    """An entity by the key that it has, or will have."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ByName:
    """An entity as the text calls it; who that is, the writer resolves."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """Whoever says "I", where the episode does not tell who that is."""


Mention: TypeAlias = ByKey | ByName | Me


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """When something was said; `observed` makes one."""

    instant: Instant
    text: str
    """As given, with its offset."""
    zone: str | None
    """The IANA zone of who said it; `None` where only the offset in `text` is known."""


def observed(text: str, zone: str | None = None) -> Observed:
    """The time of an episode or a turn. Raises `NaiveInstant` without an offset, `Incorrect` for no time or zone."""
    zone = None if zone is None else check_zone(zone)
    return Observed(instant=parse_instant(text, zone or "UTC"), text=text, zone=zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one speaker said at once."""

    speaker: str
    text: str
    at: Observed | None
    """`None` for the time of the whole episode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeText:
    """The verbatim of an episode and what is known about it."""

    body: str | tuple[Turn, ...]
    me: ByKey | ByName | None
    """Who says "I" in a single text, and who the speaker of the same name is among turns; `None` if not told."""
    media_type: str
    source: str | None
    session: str | None
    observed_at: Observed | None
    """`None` if nobody told; then relative dates stay unresolved."""

    def passages(self) -> Iterable[tuple[int | None, str]]:
        """(turn or `None`, text) in the order of the verbatim."""
        if isinstance(self.body, str):
            return ((None, self.body),)
        return tuple((index, turn.text) for index, turn in enumerate(self.body))

    def verbatim(self, turn: int | None) -> str:
        """The text of a turn, or the single one; empty where there is no such turn."""
        if isinstance(self.body, str):
            return self.body if turn is None else ""
        return self.body[turn].text if turn is not None and 0 <= turn < len(self.body) else ""

    def at(self, turn: int | None) -> Observed | None:
        """When a passage was said."""
        said = None if isinstance(self.body, str) or turn is None else self.body[turn].at
        return said or self.observed_at

    def speaker(self, turn: int | None) -> Mention:
        """Who "I" is in a passage."""
        if isinstance(self.body, str) or turn is None:
            return self.me or Me()
        name = self.body[turn].speaker.strip()
        if self.me is not None and name == (self.me.key if isinstance(self.me, ByKey) else self.me.name):
            return self.me
        return ByName(name=name) if name else Me()


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A fact that memory holds about what the episode may speak of, for comparison only."""

    id: FactId
    subject: ByKey | ByName
    predicate: str
    value: str
    """As a person reads it: a name, a number with its unit, a date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one extraction may cost; what it cuts off stands in the notes."""

    characters_max: int
    candidates_max: int
    seconds_max: float


BUDGET: Final = Budget(characters_max=1_000_000, candidates_max=1_000, seconds_max=60.0)

# What is found


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Where a quote stands: characters `start` up to `end` of a turn, or of the single text."""

    turn: int | None
    start: int
    end: int
    quote: str


class Operation(StrEnum):
    """What the writer is asked to do."""

    ASSERT = "assert"
    RETRACT = "retract"
    REPLACE = "replace"


class Verdict(StrEnum):
    """How the extractor thinks that the candidate relates to what was known; a proposal, never a decision."""

    NEW = "new"
    SAME = "same"
    CHANGE = "change"
    CORRECTION = "correction"
    CONFLICT = "conflict"


class Trust(StrEnum):
    """The most that a candidate of this extractor can be worth before anybody confirms it."""

    OBSERVED = "observed"
    """Read by a declared rule."""
    INFERRED = "inferred"
    """Concluded by a model."""


class Hold(StrEnum):
    """Why a candidate must not be written without review."""

    QUOTE_MISSING = "quote_missing"
    """What it quotes does not occur in the verbatim."""
    SPEAKER_UNKNOWN = "speaker_unknown"
    """It speaks of "I", and nobody told who that is."""
    UNDATED = "undated"
    """It ends something or changes it from now on, and nobody told when now was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extractor:
    """Which program proposed a candidate."""

    name: str
    version: str
    trust: Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What an extractor proposes to write."""

    span: Span
    subject: Mention
    predicate: str
    value: object
    """A wire value, a `ByKey` or `ByName`, or `ABSENT` in a retraction of every value."""
    operation: Operation
    stated: Stated
    compares_to: FactId | None
    verdict: Verdict
    confidence: float | None
    """In `[0, 1]`; `None` where policy is to say."""
    extractor: Extractor
    rule: str | None
    """The pattern or mapping that read it."""
    unmapped: bool
    """The schema does not declare the predicate: to be staged, not written."""
    holds: tuple[Hold, ...]


class Code(StrEnum):
    """What a note is about."""

    NO_OBSERVED_AT = "no_observed_at"
    UNRESOLVED_DATE = "unresolved_date"
    ASSUMED_DATE = "assumed_date"
    COARSENED_DATE = "coarsened_date"
    UNRESOLVED_REFERENCE = "unresolved_reference"
    UNCLEAR = "unclear"
    AMBIGUOUS = "ambiguous"
    UNMAPPED = "unmapped"
    REFUSED_SHAPE = "refused_shape"
    QUOTE_MISSING = "quote_missing"
    MISSING_PATH = "missing_path"
    UNREADABLE = "unreadable"
    DROPPED = "dropped"
    FAILED = "failed"
    """The extractor gave nothing, and the same text would give nothing again."""
    UNAVAILABLE = "unavailable"
    """The extractor could not be reached in time; the same text may be read later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What was not read, or not as it stands, and why."""

    code: Code
    detail: str
    span: Span | None
    """`None` where it concerns the whole episode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """All that one extractor found in one episode, in the order of the spans."""

    candidates: tuple[Candidate, ...]
    notes: tuple[Note, ...]


class Extracts(Protocol):
    """An extractor: made for one schema, asked once per episode."""

    @property
    def who(self) -> Extractor: ...

    def extract(self, text: EpisodeText, known: Sequence[Known], budget: Budget) -> Extraction:
        """What it finds. Whatever the text is, and whatever fails, is told in notes: nothing is raised."""
        ...


# What all extractors share


def conclude(
    text: EpisodeText, schema: Schema, candidates: Sequence[Candidate], notes: Sequence[Note], budget: Budget
) -> Extraction:
    """The extraction, checked: quotes that occur, predicates that are declared, no more than the budget allows.

    Every extractor ends here, so none can skip a check.
    """
    told = list(notes)
    checked = [_checked(text, schema, candidate, told) for candidate in sorted(candidates, key=place_of)]
    if len(checked) > budget.candidates_max:
        detail = f"{len(checked)} candidates, {budget.candidates_max} are taken; the last ones were dropped"
        told.append(Note(code=Code.DROPPED, detail=detail, span=checked[budget.candidates_max].span))
    if text.observed_at is None and any(text.at(turn) is None for turn, _ in text.passages()):
        detail = "nobody told when it was said; give observed_at, or relative dates stay unresolved"
        told.insert(0, Note(code=Code.NO_OBSERVED_AT, detail=detail, span=None))
    return Extraction(candidates=tuple(checked[: budget.candidates_max]), notes=tuple(told))


def _checked(text: EpisodeText, schema: Schema, candidate: Candidate, notes: list[Note]) -> Candidate:
    holds = dict.fromkeys(candidate.holds)
    if not occurs(text, candidate.span):
        holds[Hold.QUOTE_MISSING] = None
        detail = f"the quote {shown(candidate.span.quote)} does not occur in the verbatim; the candidate is held back"
        notes.append(Note(code=Code.QUOTE_MISSING, detail=detail, span=candidate.span))
    if isinstance(candidate.subject, Me):
        holds[Hold.SPEAKER_UNKNOWN] = None
        detail = "nobody told who says 'I'; give 'me', or a speaker"
        notes.append(Note(code=Code.UNRESOLVED_REFERENCE, detail=detail, span=candidate.span))
    unmapped = candidate.predicate not in schema.predicates
    if unmapped:
        detail = f"the schema declares no predicate {shown(candidate.predicate)}; declare it, or leave it staged"
        notes.append(Note(code=Code.UNMAPPED, detail=detail, span=candidate.span))
    return replace(candidate, holds=tuple(holds), unmapped=unmapped)


def occurs(text: EpisodeText, span: Span) -> bool:
    """Whether the quote is not empty and stands where the span says."""
    if not 0 <= span.start < span.end:
        return False
    return text.verbatim(span.turn)[span.start : span.end] == span.quote


def cut(text: EpisodeText, budget: Budget, notes: list[Note]) -> Iterable[tuple[int | None, str]]:
    """The passages up to the characters of the budget; what is beyond is dropped with a note."""
    left = budget.characters_max
    for turn, passage in text.passages():
        if len(passage) > left:
            span = Span(turn=turn, start=left, end=min(len(passage), left + 40), quote=passage[left : left + 40])
            detail = f"only the first {budget.characters_max} characters are read; what comes after was dropped"
            notes.append(Note(code=Code.DROPPED, detail=detail, span=span))
            if left:
                yield turn, passage[:left]
            return
        left -= len(passage)
        yield turn, passage


def compare(
    known: Sequence[Known], subject: Mention, predicate: str, value: object, proposed: Verdict
) -> tuple[FactId | None, Verdict]:
    """The fact that a candidate compares to, and the verdict: `same` where it is told again.

    Compared to is the fact of the same value, else the only one of subject and predicate; where there are
    several, none is picked.
    """
    rivals = [fact for fact in known if fact.predicate == predicate and _names(fact.subject) == _names(subject)]
    same = [fact for fact in rivals if _folded(fact.value) == _folded(_shown(value))]
    if same:
        return same[0].id, Verdict.SAME if proposed is Verdict.NEW else proposed
    return (rivals[0].id if len(rivals) == 1 else None), proposed


def _names(mention: Mention) -> tuple[str, str]:
    match mention:
        case ByKey(key=key):
            return "key", key
        case ByName(name=name):
            return "name", _folded(name)
        case Me():
            return "me", ""


def _shown(value: object) -> str:
    match value:
        case ByKey(key=text) | ByName(name=text):
            return text
        case Absent():
            return ""
        case Mapping():
            return str(value.get("value", ""))
        case _:
            return str(value)


def _folded(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()


def place_of(candidate: Candidate) -> tuple[int, int, int, str]:
    """The order of candidates in an extraction."""
    span = candidate.span
    return -1 if span.turn is None else span.turn, span.start, span.end, candidate.predicate


Ticks: TypeAlias = Callable[[], float]
"""Seconds that only grow, to keep a budget: `time.monotonic`, handed in so that nothing here reads a clock."""
