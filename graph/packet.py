"""What an agent is told in answer to a question: dated lines with their sources, within a budget of tokens and time."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from graph.expansion import Milliseconds
from graph.fence import fenced, visible
from graph.naming import NAME, names_of
from graph.ports import Reader
from graph.recall import Found, Gathered, Why
from graph.searching import ChunkHit
from graph.sentences import best, day, sentence
from graph.tokens import Tokenizer
from ontology.claims import Claim, Told
from ontology.echoes import marker
from ontology.entries import End, Start
from ontology.facts import AsOf, Fact, FactVersion, Slot, ends
from ontology.ids import EntityId, FactId
from ontology.instants import OPEN_END, OPEN_START, format_instant
from ontology.schema import Cardinality, Kind, Schema

SENTENCE_CHARS_MAX: Final = 600
"""A longer one is cut in the text; the fact beside it has all of it."""
NAME_CHARS_MAX: Final = 80
UNCLEAR_MAX: Final = 3
"""Names that several have, of one question."""
SOURCES_MAX: Final = 3
"""Told of one line, those that said so first."""
_TRIES: Final = 20
"""So many lines that no longer fit are passed over for shorter ones."""
_TOGETHER: Final = 20
"""So many lines have their claims read at once: a packet has about as many, and each read costs a round trip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a packet may cost."""

    tokens: int
    lines: int
    deadline: float
    """Of the clock that is handed in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What is not told, but should be known of."""

    held: int
    """Claims of the scope that wait for a decision."""
    waiting: int
    """Episodes of the scope that are not read yet."""
    more_waiting: bool
    """Whether there are more than were counted."""
    remarks: tuple[str, ...]
    """How the question was read, in words of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One fact as it is told."""

    fact: Fact
    why: Why
    depth: int
    kind: Kind
    sentence: str
    """All of it, as it was said: for programs, no line of the text."""
    claims: tuple[Claim, ...]
    """The first of those that it rests on; none where there was no time to read them."""
    rivals: int
    """How many other values of its slot, which takes one, hold as well."""
    text: str
    """As it stands in the packet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Words of an episode as they are told: what was said, whether or not it holds."""

    hit: ChunkHit
    text: str
    """As it stands in the packet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    text: str
    tokens: int
    lines: tuple[Line, ...]
    quotes: tuple[Quote, ...]
    """Behind the lines."""
    conflicts: tuple[tuple[FactId, ...], ...]
    """Facts that rival for one slot, whether or not they are all told."""
    left_out: int
    """Facts and quotes that were gathered and are not told."""
    cut_by: tuple[str, ...]
    """The limits that were met, in the order in which they were."""


def pack(
    reader: Reader, schema: Schema, gathered: Gathered, as_of: AsOf, limits: Limits, beside: Beside,
    tokenizer: Tokenizer, clock: Milliseconds,
) -> Packet:  # fmt: skip
    """As many of the facts as fit, in their order; a line that does not is passed over for the next ones.

    All that the text has is counted, what is not memory too. Reads the claims of each line that is told.
    """
    packing = _Packing(reader, schema, gathered, as_of, limits, beside, tokenizer, clock)
    packing.fill()
    return packing.packet()


class _Packing:
    def __init__(
        self, reader: Reader, schema: Schema, gathered: Gathered, as_of: AsOf, limits: Limits, beside: Beside,
        tokenizer: Tokenizer, clock: Milliseconds,
    ) -> None:  # fmt: skip
        self._reader = reader
        self._schema = schema
        self._gathered = gathered
        self._as_of = as_of
        self._limits = limits
        self._beside = beside
        self._tokenizer = tokenizer
        self._clock = clock
        self._conflicts = _conflicts(schema, [each.fact.version for each in gathered.found])
        self._rivals = {id: len(group) - 1 for group in self._conflicts for id in group}
        told = gathered.found[: limits.lines + _TRIES]
        unclear = [id for each in gathered.mentions.unclear for id in each.entities]
        self._names = names_of(reader, [*_entities(told), *unclear], as_of)
        self._found = [each for each in gathered.found if not self._is_said_by_all(each)]
        self._lines: list[Line] = []
        self._quotes: list[Quote] = []
        self._cut_by = dict.fromkeys(gathered.cut_by)

    def fill(self) -> None:
        passed_over = 0
        used = self._tokens()
        for told in self._told():
            if len(self._lines) + len(self._quotes) >= self._limits.lines:
                self._cut_by["lines"] = None
                return
            cost = self._tokenizer.count(f"{told.text}\n")
            if used + cost <= self._limits.tokens:
                used += cost
                self._keep(told)
                continue
            self._cut_by["tokens"] = None
            passed_over += 1
            if passed_over == _TRIES:
                return

    def packet(self) -> Packet:
        while (self._quotes or self._lines) and self._tokens() > self._limits.tokens:
            # a text may have more tokens than its parts, and what is said of the cut has some
            (self._quotes or self._lines).pop()
            self._cut_by["tokens"] = None
        text = self._text()
        if self._tokenizer.count(text) > self._limits.tokens:
            self._cut_by["tokens"] = None
            text = fenced((), (), ())
        return Packet(
            text=text, tokens=self._tokenizer.count(text), lines=tuple(self._lines), quotes=tuple(self._quotes),
            conflicts=self._conflicts, left_out=self._left_out(), cut_by=tuple(self._cut_by),
        )  # fmt: skip

    def _told(self) -> Iterator[Line | Quote]:
        """What there is to tell; of some lines at once the claims are read, when the first of them is wanted."""
        together = min(_TOGETHER, self._limits.lines)
        for first in range(0, len(self._found), together):
            some = self._found[first : first + together]
            evidence = self._evidence([each.fact.version for each in some])
            for each in some:
                yield self._line(each, evidence.get(each.fact.version.id, ()))
        yield from map(_quote, self._gathered.quotes)

    def _keep(self, told: Line | Quote) -> None:
        if isinstance(told, Line):
            self._lines.append(told)
        else:
            self._quotes.append(told)

    def _is_said_by_all(self, each: Found) -> bool:
        """Whether it only says the name by which each line calls its subject."""
        version = each.fact.version
        called = best(version.slot.subject, self._names)
        return each.why is not Why.ASKED and version.slot.predicate == NAME and version.value.text == called

    def _left_out(self) -> int:
        return len(self._found) + len(self._gathered.quotes) - len(self._lines) - len(self._quotes)

    def _tokens(self) -> int:
        return self._tokenizer.count(self._text())

    def _text(self) -> str:
        known_at = format_instant(self._as_of.known_at)
        asked = f"As of {day(self._as_of.valid_at)}, as known at {known_at}."
        told: list[Line | Quote] = [*self._lines, *self._quotes]
        lines = [*self._unclear(), *(each.text for each in told)] or ["(nothing is known)"]
        return fenced([" ".join((asked, *self._beside.remarks))], lines, self._notes())

    def _unclear(self) -> Iterator[str]:
        for each in self._gathered.mentions.unclear[:UNCLEAR_MAX]:
            called = "; ".join(f"{id} {best(id, self._names)[:NAME_CHARS_MAX]}" for id in each.entities)
            yield f"? {visible(each.words[:NAME_CHARS_MAX])} is the name of several: {visible(called)}"

    def _notes(self) -> list[str]:
        beside, notes = self._beside, []
        if self._conflicts:
            notes.append(f"{_counted(len(self._conflicts), 'conflict')} of values that cannot all hold.")
        if beside.held:
            notes.append(f"{_counted(beside.held, 'claim')} held back until somebody decides.")
        if beside.waiting:
            more = "more than " if beside.more_waiting else ""
            notes.append(f"{more}{_counted(beside.waiting, 'episode')} not read yet.")
        notes += [self._pointer(name) for name in self._gathered.live]
        if self._left_out():
            notes.append(f"{_counted(self._left_out(), 'line')} left out: {', '.join(self._cut_by) or 'lines'}.")
        return notes

    def _pointer(self, name: str) -> str:
        tool = self._schema.predicates[name].governance.tool or "its tool"
        return f"{visible(name)} is live: memory does not keep it, ask {visible(tool)}."

    def _line(self, each: Found, told: Sequence[Told]) -> Line:
        fact, version = each.fact, each.fact.version
        said = sentence(version, self._names, self._schema)
        kind = self._schema.kind_of(version.slot.predicate)
        claims = tuple(each.claim for each in told)
        rivals = self._rivals.get(version.id, 0)
        about = "; ".join(_about(fact, kind, claims, rivals))
        return Line(
            fact=fact, why=each.why, depth=each.depth, kind=kind, sentence=said, claims=claims, rivals=rivals,
            text=f"- {_cut(visible(said))} ({about}) {marker(version.id)}",
        )  # fmt: skip

    def _evidence(self, versions: Sequence[FactVersion]) -> Mapping[FactId, Sequence[Told]]:
        """The first claims that each rests on; none where the time is over: a line is told without them too."""
        if self._clock() > self._limits.deadline:
            self._cut_by["milliseconds"] = None
            return {}
        return self._reader.first_evidence(versions, self._as_of.known_at, limit=SOURCES_MAX)


def _quote(hit: ChunkHit) -> Quote:
    said = hit.episode.episode
    when = f"said on {day(said.observed_at)}" if said.observed_at is not None else "said at an unknown time"
    about = f"{when} by {visible(said.source)}; kept since {day(hit.episode.recorded_at)}; whether it holds is not told"
    return Quote(hit=hit, text=f'> "{_cut(visible(hit.text))}" ({about}) [{visible(hit.chunk.episode)}]')


def _about(fact: Fact, kind: Kind, claims: Sequence[Claim], rivals: int) -> Iterator[str]:
    version = fact.version
    yield " ".join(part for part in (_from(fact), _until(fact)) if part)
    yield f"known since {day(version.recorded_from)}"
    yield "certain" if version.certain else "possible"
    if rivals:
        yield f"{_counted(rivals, 'other value')} may hold instead"
    yield f"confidence {fact.support.confidence:.2f}"
    if kind is not Kind.FACT:
        yield kind.value.replace("_", " ")
    sources = list(dict.fromkeys(visible(claim.source) for claim in claims))
    more = fact.support.sources - len(sources)
    others = f" and {more} more" if sources and more > 0 else ""
    if sources:
        yield f"said by {', '.join(sources)}{others}"


def _from(fact: Fact) -> str:
    if fact.version.valid_from <= OPEN_START:
        return "always" if fact.start is Start.OPEN else "from an unknown time"
    start = day(fact.version.valid_from)
    return f"from {start}" if fact.start is Start.KNOWN else f"from an unknown time up to {start}"


def _until(fact: Fact) -> str:
    if fact.version.valid_to >= OPEN_END:
        return "for ever" if fact.end is End.INFINITY else ""
    end = day(fact.version.valid_to)
    return f"until {end}" if fact.end is not End.UNKNOWN else f"until an unknown time after {end}"


def _cut(text: str) -> str:
    if len(text) <= SENTENCE_CHARS_MAX:
        return text
    return f"{text[:SENTENCE_CHARS_MAX]}… ({len(text) - SENTENCE_CHARS_MAX} characters more)"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _conflicts(schema: Schema, versions: Iterable[FactVersion]) -> tuple[tuple[FactId, ...], ...]:
    """Facts that hold side by side in a slot that takes one value, in the order in which they come."""
    slots: dict[Slot, dict[bytes, FactId]] = defaultdict(dict)
    for version in versions:
        known = schema.predicates.get(version.slot.predicate)
        if known is not None and known.cardinality is Cardinality.FUNCTIONAL:
            slots[version.slot].setdefault(version.value_key, version.id)
    return tuple(tuple(rivals.values()) for rivals in slots.values() if len(rivals) > 1)


def _entities(found: Iterable[Found]) -> Iterator[EntityId]:
    for each in found:
        yield from ends(each.fact.version.slot, each.fact.version.value)
