"""The few stable facts about a subject that are worth having at hand each time: a question to memory, not a copy of it.

Which those are is one rule, and it stands here. A line is a certain fact that is served at the two instants of the
question, and is

1. a *profile note*, which somebody wrote for this place,
2. a preference, a decision or a skill, by the kind of its predicate, or
3. a fact under a predicate that the schema declares.

Left out are working notes, what nobody declared, and what is sensitive, which is asked for where it is needed; names
are told in the title. Within its kind the surest stands first, of equals the one that began last; and the kinds take
turns, so that many decisions leave room for a skill. Lines that go beyond the budget are cut, and counted.

To be at hand gives a line priority and no authority: each says how many sources it has and since when it holds, and
carries the marker of its fact, from which the evidence is one step away.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from graph.fence import fenced, visible
from graph.naming import ALIAS, NAME, names_of
from graph.ports import Order, Page, Reader
from graph.sentences import Names, day, sentence
from graph.tokens import CautiousTokenizer, Tokenizer
from ontology.echoes import marker
from ontology.facts import AsOf, Fact, ends
from ontology.ids import EntityId
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.intervals import Interval
from ontology.schema import Kind, Schema

PROFILE_NOTE: Final = "profile_note"
"""The predicate of what is written for a profile."""
TOKENS_MAX: Final = 600
FACTS_MAX: Final = 1_000
"""So many facts of a subject are looked at, those that began last."""
_MARKS_TOKENS: Final = 16
"""By which the same text may have fewer tokens with another digest in its marks: what goes beyond that need not be
counted as a whole."""
_NAME_CHARS_MAX: Final = 80
_SENTENCE_CHARS_MAX: Final = 300


class Part(StrEnum):
    """What a line is, in the order in which the kinds take turns."""

    NOTE = "note"
    PREFERENCE = "preference"
    DECISION = "decision"
    SKILL = "skill"
    FACT = "fact"


class Left(StrEnum):
    """Why a fact is no line."""

    WORKING_NOTE = "working_note"
    UNDECLARED = "undeclared"
    SENSITIVE = "sensitive"
    BUDGET = "budget"


_PARTS: Final = {
    Kind.PREFERENCE: Part.PREFERENCE, Kind.DECISION: Part.DECISION, Kind.SKILL: Part.SKILL, Kind.FACT: Part.FACT,
}  # fmt: skip
_TURNS: Final = {part: turn for turn, part in enumerate(Part)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a profile, and what it rests on."""

    fact: Fact
    part: Part
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What is at hand of a subject."""

    subject: EntityId
    names: Sequence[str]
    """The best first; its key or id where it has none."""
    lines: Sequence[Line]
    text: str
    """All that a model sees."""
    tokens: int
    left_out: Mapping[Left, int]
    looked_at_all: bool
    """Whether it has no more than `FACTS_MAX` facts."""


def profile_of(
    reader: Reader, subject: EntityId, as_of: AsOf, schema: Schema, *, tokens_max: int = TOKENS_MAX,
    tokenizer: Tokenizer | None = None,
) -> Profile:  # fmt: skip
    """The profile of a subject at two instants; without lines where nothing belongs into it.

    Reads: the facts, once, and the names of those whom they mention.
    """
    moment = Interval(as_of.valid_at, Instant(as_of.valid_at + 1))
    found = reader.history(
        subject, None, as_of.known_at, moment, certain=True, order=Order.VALID_DESCENDING, page=Page(FACTS_MAX + 1)
    )
    facts, left = [], Counter[Left]()
    for fact in found[:FACTS_MAX]:
        belongs = part_of(fact.version.slot.predicate, schema)
        if isinstance(belongs, Left):
            left[belongs] += 1
        elif fact.version.slot.predicate not in (NAME, ALIAS):
            facts.append((belongs, fact))
    ordered = _in_turn(facts)
    names = names_of(
        reader, [subject, *(end for _, fact in ordered for end in ends(fact.version.slot, fact.version.value))], as_of
    )
    counts = tokenizer or CautiousTokenizer()
    title = f"What is known of {_cut(visible(names[subject][0]), _NAME_CHARS_MAX)}, as of {day(as_of.valid_at)}."
    lines: list[Line] = []
    used = counts.count(fenced([title], (), ()))
    for part, fact in ordered:
        line = Line(fact=fact, part=part, text=_line(fact, part, names, schema))
        more = used + counts.count(line.text)
        if more <= tokens_max + _MARKS_TOKENS and (more := counts.count(_text(title, [*lines, line]))) <= tokens_max:
            lines.append(line)
            used = more
        else:
            left[Left.BUDGET] += 1
    text = _text(title, lines)
    return Profile(
        subject=subject, names=names[subject], lines=lines, text=text, tokens=counts.count(text), left_out=dict(left),
        looked_at_all=len(found) <= FACTS_MAX,
    )  # fmt: skip


def part_of(predicate: str, schema: Schema) -> Part | Left:
    """What a fact under a predicate is in a profile, or why it is not in it."""
    declared = schema.predicates.get(predicate)
    if declared is not None and declared.governance.sensitive:
        return Left.SENSITIVE
    if predicate == PROFILE_NOTE:
        return Part.NOTE
    if declared is None:
        return Left.UNDECLARED
    return _PARTS.get(declared.kind, Left.WORKING_NOTE)


def _in_turn(facts: Iterable[tuple[Part, Fact]]) -> list[tuple[Part, Fact]]:
    """The first of each kind, then the second of each, and so on."""
    seen = Counter[Part]()
    placed = []
    for part, fact in sorted(facts, key=lambda each: _rank(each[1])):
        placed.append((seen[part], _TURNS[part], part, fact))
        seen[part] += 1
    return [(part, fact) for _, _, part, fact in sorted(placed, key=lambda each: each[:2])]


def _rank(fact: Fact) -> tuple[float, int, int, int, int]:
    version = fact.version
    return -fact.support.confidence, -version.valid_from, -version.position, version.ordinal, version.recorded_from


def _text(title: str, lines: Sequence[Line]) -> str:
    return fenced([title], [line.text for line in lines] or ["(nothing is at hand)"], ())


def _line(fact: Fact, part: Part, names: Names, schema: Schema) -> str:
    version = fact.version
    said = f"note: {version.value.text}" if part is Part.NOTE else sentence(version, names, schema)
    sources = fact.support.sources
    about = [f"since {day(version.valid_from)}"] if version.valid_from > OPEN_START else []
    about += [f"until {day(version.valid_to)}"] if version.valid_to < OPEN_END else []
    about += [f"{sources} source{'' if sources == 1 else 's'}", f"confidence {fact.support.confidence:.2f}"]
    about += [f"kept until {day(fact.expires_at)}"] if fact.expires_at < OPEN_END else []
    return f"- {_cut(visible(said), _SENTENCE_CHARS_MAX)} ({', '.join(about)}) {marker(version.id)}"


def _cut(text: str, chars_max: int) -> str:
    return text if len(text) <= chars_max else f"{text[: chars_max - 1]}…"
