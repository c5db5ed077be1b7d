"""How a predicate says in which words it is told: templates such as `{subject} lives in {value} [since {from}]`.

    {subject}   who or what it is said of            [ ]           words that may be left out
    {value}     the value                            (one|other)   one of these words
    {from} {to}   a date, in words or digits

Everything else is meant as it stands; case does not matter, and one blank stands for any. A template stands
for a whole sentence; one without `{subject}`, such as `I live in {value}`, is said of the speaker.
It is parsed once, when a pack is put, into its variants, each a plain sequence of words and slots, so that which
of two templates says more, and whether two say the same, can be seen without a text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import product
from typing import Final, TypeAlias

from ontology.errors import Violation, pointer, shown
from ontology.values import ValueType

PATTERN_CHARS_MAX: Final = 300
PATTERNS_MAX: Final = 50
"""Of one predicate."""
VARIANTS_MAX: Final = 32
"""Of one pattern: every part that may be left out doubles them."""


class Meaning(StrEnum):
    """What a sentence does to what was known before."""

    ASSERT = "assert"
    """It tells a value."""
    CHANGE = "change"
    """It tells a value that holds from now on, where no date is told: `is now`."""
    RETRACT = "retract"
    """It tells that a value, or any, holds no longer."""
    CORRECT = "correct"
    """It tells that what was said before was never right: `actually`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A template and what a sentence of its form means."""

    text: str
    means: Meaning
    value: str | None
    """The value that the words themselves tell, where no `{value}` stands open; `None` for the usual pattern."""

    def __str__(self) -> str:
        value = "" if self.value is None else f" = {self.value}"
        return self.text + value + ("" if self.means is Meaning.ASSERT else f" ({self.means})")


class Slot(StrEnum):
    """What stands open in a template."""

    SUBJECT = "subject"
    VALUE = "value"
    FROM = "from"
    TO = "to"


Part: TypeAlias = str | Slot
"""Words, in which every run of blanks is one, or a slot."""

_FREE: Final = frozenset({Slot.SUBJECT, Slot.VALUE})
"""Slots that take any words, so two of them need words between."""
_UNREADABLE: Final = frozenset({ValueType.JSON, ValueType.LANGTEXT, ValueType.DURATION, ValueType.BOOLEAN})
_PIECE: Final = re.compile(r"\{[^{}]*\}|[\[\]()|{}]|[^\[\]()|{}]+")
_WORD: Final = re.compile(r"\w{2,}|[^\W\d_]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A pattern without choices: its parts in their order, no two of one kind of words beside each other."""

    parts: tuple[Part, ...]

    @property
    def weight(self) -> tuple[int, int]:
        """How much it says: letters and digits of its words, then slots. The heavier of two is the more specific."""
        words = sum(c.isalnum() for part in self.parts if not isinstance(part, Slot) for c in part)
        return words, sum(isinstance(part, Slot) for part in self.parts)

    @property
    def shape(self) -> tuple[str, ...]:
        """Equal for two variants that read the same sentences."""
        return tuple(f"{{{part}}}" if isinstance(part, Slot) else part.casefold() for part in self.parts)


class BadPattern(ValueError):
    """What is wrong with a template and what to do about it."""


@lru_cache(maxsize=4096)
def variants(text: str) -> tuple[Variant, ...]:
    """All that the template stands for, without repeats, in the order of writing. Raises `BadPattern`."""
    if len(text) > PATTERN_CHARS_MAX:
        raise BadPattern(f"has {len(text)} characters, at most {PATTERN_CHARS_MAX} are taken; shorten it")
    choices = _choices(_PIECE.findall(text))
    count = 1
    for choice in choices:
        count *= len(choice)
        if count > VARIANTS_MAX:
            raise BadPattern(f"stands for more than {VARIANTS_MAX} sentences; write several patterns")
    found = dict.fromkeys(_joined(picked) for picked in product(*choices))
    return tuple(Variant(parts=parts) for parts in found)


def pattern_violations(predicates: Mapping[str, tuple[ValueType | None, Sequence[Pattern]]]) -> Iterator[Violation]:
    """What is wrong with the patterns of all predicates: templates that cannot be read, or that two of them share."""
    first: dict[tuple[str, ...], str] = {}
    for name, (datatype, patterns) in predicates.items():
        for index, pattern in enumerate(patterns):
            at = pointer("predicates", name, "patterns", index)
            problem = _problem(pattern, datatype)
            if problem is not None:
                detail = f"the pattern {shown(pattern.text)} of predicate {shown(name)} {problem}"
                yield Violation(pointer=at, code="bad_pattern", detail=detail)
                continue
            mine = f"{shown(pattern.text)} of predicate {shown(name)}"
            for variant in variants(pattern.text):
                other = first.setdefault(variant.shape, mine)
                if other != mine:
                    detail = (
                        f"the pattern {mine} reads the same sentences as {other}, so none of them could be "
                        "understood; remove one of the two or give it other words"
                    )
                    yield Violation(pointer=at, code="ambiguous_pattern", detail=detail)
                    break


def _problem(pattern: Pattern, datatype: ValueType | None) -> str | None:
    if datatype in _UNREADABLE:
        return f"stands under the datatype {datatype.value!r}, which no words can give; remove it"
    try:
        for variant in variants(pattern.text):
            _check(variant, pattern)
    except BadPattern as exc:
        return str(exc)
    return None


def _check(variant: Variant, pattern: Pattern) -> None:
    slots = [part for part in variant.parts if isinstance(part, Slot)]
    for slot in Slot:
        if slots.count(slot) > 1:
            raise BadPattern(f"has {{{slot}}} twice; keep one")
    if Slot.VALUE in slots and pattern.value is not None:
        raise BadPattern("has {value} and a 'value' of its own; keep one")
    if Slot.VALUE not in slots and pattern.value is None and pattern.means is not Meaning.RETRACT:
        raise BadPattern("needs {value} in all its forms, or a 'value' of its own; only a retraction can do without")
    if not any(_WORD.search(part) for part in variant.parts if not isinstance(part, Slot)):
        raise BadPattern("needs a word besides its slots, or it would read every sentence; add one")
    for left, right in zip(variant.parts, variant.parts[1:], strict=False):
        if left in _FREE and right in _FREE:
            raise BadPattern(f"has nothing between {{{left}}} and {{{right}}}; put a word between them")
    blank = [part for part in variant.parts[1:-1] if not isinstance(part, Slot) and not part.strip()]
    for index, part in enumerate(variant.parts[1:-1], 1):
        if part in blank and variant.parts[index - 1] in _FREE and variant.parts[index + 1] in _FREE:
            left, right = variant.parts[index - 1], variant.parts[index + 1]
            raise BadPattern(f"has nothing but a blank between {{{left}}} and {{{right}}}; put a word between them")


def _choices(pieces: Sequence[str]) -> list[list[list[Part]]]:
    """The template as a row of choices, each a list of alternatives, each of those a list of parts."""
    choices: list[list[list[Part]]] = []
    opened = ""
    for piece in pieces:
        match piece:
            case "[" | "(":
                if opened:
                    raise BadPattern(f"has a {piece!r} inside of a {opened!r}; write two patterns instead")
                opened = piece
                choices.append([[], []] if piece == "[" else [[]])
            case "]" | ")":
                if opened != {"]": "[", ")": "("}[piece]:
                    raise BadPattern(f"has a {piece!r} that closes nothing; remove it")
                opened = ""
            case "|":
                if opened != "(":
                    raise BadPattern("has a '|' outside of '( )'; put the words to choose from into parentheses")
                choices[-1].append([])
            case "{" | "}":
                raise BadPattern(f"has a {piece!r} on its own; write slots as {{value}}")
            case _ if piece.startswith("{"):
                _put(choices, opened, _slot(piece))
            case _:
                _put(choices, opened, piece)
    if opened:
        raise BadPattern(f"has a {opened!r} that is never closed; close it")
    return choices


def _put(choices: list[list[list[Part]]], opened: str, part: Part) -> None:
    """Append to what is open: the first alternative of `[ ]`, whose second is empty, or the last of `( )`."""
    if not opened:
        choices.append([[part]])
    elif opened == "[":
        choices[-1][0].append(part)
    else:
        choices[-1][-1].append(part)


def _slot(piece: str) -> Slot:
    name = piece[1:-1].strip()
    if name not in set(Slot):
        raise BadPattern(f"has the unknown slot {shown(piece)}; there are {', '.join(f'{{{each}}}' for each in Slot)}")
    return Slot(name)


def _joined(picked: Sequence[Sequence[Part]]) -> tuple[Part, ...]:
    """The parts of one variant: words that meet become one part, blanks one blank, none at the ends."""
    parts: list[Part] = []
    for part in (part for alternative in picked for part in alternative):
        if isinstance(part, Slot) or not parts or isinstance(parts[-1], Slot):
            parts.append(part)
        else:
            parts[-1] = parts[-1] + part
    squeezed = [part if isinstance(part, Slot) else re.sub(r"\s+", " ", part) for part in parts]
    if squeezed and not isinstance(squeezed[0], Slot):
        squeezed[0] = squeezed[0].lstrip()
    if squeezed and not isinstance(squeezed[-1], Slot):
        squeezed[-1] = squeezed[-1].rstrip()
    return tuple(part for part in squeezed if part)
