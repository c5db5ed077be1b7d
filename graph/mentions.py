"""Which entities does a question name? By key, by name or alias, or by one that is spelt nearly so. Nobody is guessed.

Words are compared without case and punctuation. Numbers, codes and short words must be the same: `Bay 301` is not
`Bay 302`, but `Bay-301` is.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import Final, NamedTuple

from graph.naming import shows
from graph.ports import Reader
from graph.topics import SMALL_WORDS, unjoined
from ontology.claims import Entity
from ontology.facts import AsOf
from ontology.ids import EntityId

WORDS_MAX: Final = 200
"""So many words of a question are looked through."""
NAMED_MAX: Final = 8
"""So many entities are taken from one question, the longest names first."""
NAMESAKES_MAX: Final = 5
"""So many are told of those that share a name."""
_RUN_MAX: Final = 5
"""Words of a key, or of a name that is looked up as it is written."""
_MARKS_MAX: Final = 2
"""So many marks behind a key are taken for those of the question, one by one; else all of them."""
_MARKED_MAX: Final = 2_000
"""So many runs with their marks are looked up as keys."""
_LOOK_UPS_MAX: Final = 40
_SOUGHT_MAX: Final = 40
"""So many words of a question are looked for among names."""
_CANDIDATES_MAX: Final = 100
_PARTS_MAX: Final = 4
_PART_CHARS: Final = 3
_ALIKE: Final = 83.0
"""Of 100: one letter of six may be another, and `Ormand` is not `Oman`."""
_FUZZY_CHARS: Final = 5
"""A shorter word must be the same."""

_SPACED: Final = re.compile(r"\S+")
_WORD: Final = re.compile(r"[^\W_]+")
_INSIDE: Final = frozenset("_@#/&%+-\\")
"""Marks that may begin or end a key."""


_Names = defaultdict[tuple[str, ...], dict[EntityId, None]]


class How(IntEnum):
    """How well the words fit, best first."""

    EXACT = 0
    ALIKE = 1
    """Spelt nearly so."""
    PART = 2
    """A part of the name, such as the first of two."""


class Span(NamedTuple):
    """Words of the question, from `start` up to `end`."""

    start: int
    end: int

    def meets(self, other: "Span") -> bool:
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """An entity that a question names."""

    entity: Entity
    words: str
    """As they stand in the question."""
    how: How


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """Words that several entities are called by."""

    words: str
    entities: tuple[EntityId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    named: tuple[Named, ...]
    """Each entity once, in the order in which they are named."""
    unclear: tuple[Unclear, ...]
    cut: bool
    """Whether the question has more words, or names more, than are looked at."""


def mentions(reader: Reader, question: str, as_of: AsOf) -> Mentions:
    """The entities that show at `as_of` and that the question names, 8 at most.

    Where names overlap, what fits better counts before what is longer, and that before what comes first.
    """
    text = _Text(question)
    found: dict[tuple[How, Span], dict[EntityId, None]] = defaultdict(dict)
    known: dict[EntityId, Entity] = {}
    for span, entity in _by_key(reader, text):
        found[How.EXACT, span][entity.id] = None
        known[entity.id] = entity
    for (how, span), ids in _by_name(reader, text, as_of).items():
        found[how, span] |= ids
    missing = sorted({id for ids in found.values() for id in ids} - known.keys())
    known |= reader.entities_by_id(missing) if missing else {}
    return _chosen(reader, text, found, known, as_of)


class _Text:
    """A question, cut into words in two ways: by blanks, for keys, and into letters and digits, for names."""

    def __init__(self, question: str) -> None:
        self.question = unicodedata.normalize("NFC", question)
        self.words: list[str] = []
        """Case-folded."""
        self.named: list[bool] = []
        """Of each word, whether it is written as a name is: with a capital letter, or a digit."""
        self.pieces: list[tuple[str, Span]] = []
        """What stands between blanks, without the marks around it, and the words that it is made of."""
        self.written: list[str] = []
        """The same with their possessives, which belong to the name of `McDonald's`."""
        self._marked: list[tuple[int, int]] = []
        """Where each of them stands with the marks around it, and what has no word before it, such as an emoji."""
        self._loose: int | None = None
        self._places: list[tuple[int, int]] = []
        self.cut = False
        for piece in _SPACED.finditer(self.question):
            if len(self.words) >= WORDS_MAX:
                self.cut = True
                break
            self._add(piece)

    def _add(self, piece: re.Match[str]) -> None:
        written = _stripped(piece[0])
        joined = unjoined(written)
        offset = piece.start() + piece[0].find(written)
        start = len(self.words)
        for word in _WORD.finditer(joined):
            self.words.append(_folded(word[0]))
            self.named.append(_looks_like_name(word[0]))
            self._places.append((offset + word.start(), offset + word.end()))
        if len(self.words) == start:
            self._loose = piece.start() if self._loose is None else self._loose
        else:
            self._marked.append((piece.start() if self._loose is None else self._loose, piece.end()))
            self._loose = None
            self.pieces.append((_stripped(joined), Span(start, len(self.words))))
            self.written.append(written)

    def telling(self) -> str:
        """The words that may be names; of a long question those that are written as names."""
        kept = [place for place, word in enumerate(self.words) if word not in SMALL_WORDS or self.named[place]]
        if len(kept) > _SOUGHT_MAX:
            kept = [place for place in kept if self.named[place]]
            self.cut |= len(kept) > _SOUGHT_MAX
        return " ".join(self.words[place] for place in kept[:_SOUGHT_MAX])

    def is_small(self, span: Span) -> bool:
        """Whether it is small words that are not written as a name, such as `will`."""
        return SMALL_WORDS.issuperset(self.words[span.start : span.end]) and not self.named[span.start]

    def said(self, span: Span) -> str:
        return self.question[self._places[span.start][0] : self._places[span.end - 1][1]]

    def runs(self) -> Iterator[tuple[list[str], Span]]:
        """Runs of pieces, 5 at most, with the words that they are made of."""
        for first in range(len(self.pieces)):
            for last in range(first, min(first + _RUN_MAX, len(self.pieces))):
                pieces = self.pieces[first : last + 1]
                span = Span(pieces[0][1].start, pieces[-1][1].end)
                written = self.written[first : last + 1]
                plain = [piece.replace("’", "'") for piece in written]
                for said in dict.fromkeys(map(tuple, ([piece for piece, _ in pieces], written, plain))):
                    yield list(said), span

    def marked_runs(self) -> Iterator[tuple[str, Span]]:
        """Runs of pieces with the marks within and around them, which belong to the key `Acme, Inc.`.

        Outer ones may be those of the question, such as one quotation mark before a key and two marks behind it.
        """
        for first in range(len(self.pieces)):
            for last in range(first, min(first + _RUN_MAX, len(self.pieces))):
                span = Span(self.pieces[first][1].start, self.pieces[last][1].end)
                whole = self.question[self._marked[first][0] : self._marked[last][1]]
                head = whole.find(self.written[first])
                tail = len(whole) - whole.rfind(self.written[last]) - len(self.written[last])
                for before in sorted({0, min(1, head), head}):
                    for behind in sorted({*range(min(tail, _MARKS_MAX) + 1), tail}):
                        yield whole[before : len(whole) - behind], span


def _by_key(reader: Reader, text: _Text) -> Iterator[tuple[Span, Entity]]:
    spans: dict[str, list[Span]] = defaultdict(list)
    for pieces, span in text.runs():
        if not text.is_small(span):
            for key in dict.fromkeys(_keys(pieces)):
                spans[key].append(span)
    for said, span in islice(text.marked_runs(), _MARKED_MAX):
        if not text.is_small(span):
            for key in dict.fromkeys((said, said.casefold())):
                if span not in spans[key]:
                    spans[key].append(span)
    for key, entity in (reader.entities_by_key(list(spans)) if spans else {}).items():
        yield from ((span, entity) for span in spans[key])


def _keys(pieces: Sequence[str]) -> Iterator[str]:
    whole = " ".join(pieces)
    yield whole
    yield whole.casefold()
    if len(pieces) > 1:
        yield whole.replace(" ", "-").casefold()
        yield whole.replace(" ", "_").casefold()


def _by_name(reader: Reader, text: _Text, as_of: AsOf) -> dict[tuple[How, Span], dict[EntityId, None]]:
    found: dict[tuple[How, Span], dict[EntityId, None]] = defaultdict(dict)
    parts: dict[Span, None] = {}
    for name, ids in _called(reader, text, as_of).items():
        for span, how in _places(name, text):
            if how is How.PART:
                parts[span] = None
            else:
                found[how, span] |= ids
    for span in list(parts)[:_PARTS_MAX]:
        said = tuple(text.words[span.start : span.end])
        for name, ids in _names_like(reader, " ".join(said), as_of).items():  # all that it is a part of, or none
            if _is_part(said, name):
                found[How.PART, span] |= ids
    return found


def _called(reader: Reader, text: _Text, as_of: AsOf) -> _Names:
    """Names and aliases that may stand in the question, as their words, with those that are called so."""
    names = _names_like(reader, text.telling(), as_of)
    behind = reader.to_index(None).statements > 0  # what was named a moment ago may not be indexed yet
    for written in _written_as_names(text) if behind else ():
        listed = reader.list_entities(as_of, type=None, name=written, limit=NAMESAKES_MAX, after=None)
        if listed:
            names[_words(written)] |= dict.fromkeys(entity.id for entity in listed)
    return names


def _names_like(reader: Reader, text: str, as_of: AsOf) -> _Names:
    names: _Names = defaultdict(dict)
    for hit in reader.match_names(text, as_of, limit=_CANDIDATES_MAX):
        if words := _words(hit.fact.version.value.text):
            names[words][hit.fact.version.slot.subject] = None
    return names


def _written_as_names(text: _Text) -> list[str]:
    """Runs of pieces that begin as a name does, the longest first, then those that have marks."""
    runs = [pieces for pieces, _ in text.runs() if _begins_name(pieces[0])]
    runs.sort(key=len, reverse=True)
    plain = dict.fromkeys(" ".join(pieces) for pieces in runs)
    marked = [said for said, _ in islice(text.marked_runs(), _MARKED_MAX) if _begins_name(_stripped(said).split()[0])]
    marked.sort(key=len, reverse=True)
    others = [said for said in dict.fromkeys(marked) if said not in plain]
    return [*list(plain)[:_LOOK_UPS_MAX], *others[:_LOOK_UPS_MAX]]


def _begins_name(piece: str) -> bool:
    return _looks_like_name(piece) or _has_no_case(piece)


def _looks_like_name(piece: str) -> bool:
    return piece[:1].isupper() or any(character.isdigit() for character in piece)


def _has_no_case(piece: str) -> bool:
    """Whether it is of a script without capitals, in which a name looks as any word does."""
    return piece[:1].isalpha() and piece[:1].upper() == piece[:1].lower()


def _stripped(piece: str) -> str:
    """Without the marks, emoji and invisible characters around it."""
    kept = [at for at, character in enumerate(piece) if character in _INSIDE or _is_said(character)]
    return piece[kept[0] : kept[-1] + 1] if kept else ""


def _is_said(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN" and not "\ufe00" <= character <= "\ufe0f"


def _places(name: tuple[str, ...], text: _Text) -> Iterator[tuple[Span, How]]:
    """Where a name, one that is spelt nearly so, or a part of it stands in a question.

    What is not the very name must be written as one; so must a name that is a small word, such as `Will`.
    """
    for start in range(len(text.words)):
        said = tuple(text.words[start : start + len(name)])
        span = Span(start, start + len(said))
        if said == name:
            if not text.is_small(span):
                yield span, How.EXACT
        elif not text.named[start]:
            continue
        elif len(said) == len(name) and all(map(_alike, name, said)):
            yield span, How.ALIKE
        else:
            for length in range(len(said) - 1, 0, -1):
                if _is_part(said[:length], name):
                    yield Span(start, start + length), How.PART
                    break


def _is_part(said: tuple[str, ...], name: tuple[str, ...]) -> bool:
    """Whether words are a part of a name that tells who is meant: the rest of it has no number and no short word."""
    if len(said) >= len(name) or SMALL_WORDS.issuperset(said) or max(map(len, said)) < _PART_CHARS:
        return False
    for start in range(len(name) - len(said) + 1):
        rest = name[:start] + name[start + len(said) :]
        if name[start : start + len(said)] == said:
            return all(word.isalpha() and len(word) >= _PART_CHARS for word in rest)
    return False


def _alike(one: str, other: str) -> bool:
    if one == other:
        return True
    if min(len(one), len(other)) < _FUZZY_CHARS or not (one.isalpha() and other.isalpha()):
        return False
    from rapidfuzz.fuzz import ratio  # a command that asks nothing need not load it

    return ratio(one, other) >= _ALIKE


def _chosen(
    reader: Reader, text: _Text, found: Mapping[tuple[How, Span], Iterable[EntityId]],
    known: Mapping[EntityId, Entity], as_of: AsOf,
) -> Mentions:  # fmt: skip
    taken: list[Span] = []
    named: dict[EntityId, tuple[Span, Named]] = {}
    unclear: list[Unclear] = []
    cut = text.cut
    seen: dict[EntityId, bool] = {}
    for (how, span), ids in sorted(found.items(), key=_best_first):
        if any(span.meets(other) for other in taken):
            continue
        for id in ids:
            if id in known and id not in seen:
                seen[id] = shows(reader, id, as_of)
        visible = [id for id in ids if seen.get(id)]
        if not visible:
            continue
        taken.append(span)
        if len(visible) > 1:
            unclear.append(Unclear(words=text.said(span), entities=tuple(sorted(visible)[:NAMESAKES_MAX])))
        elif len(named) >= NAMED_MAX and visible[0] not in named:
            cut = True
        else:
            entity = known[visible[0]]
            named.setdefault(entity.id, (span, Named(entity=entity, words=text.said(span), how=how)))
    return Mentions(
        named=tuple(each for _, each in sorted(named.values(), key=_place)), unclear=tuple(unclear), cut=cut
    )


def _best_first(item: tuple[tuple[How, Span], object]) -> tuple[How, int, Span]:
    (how, span), _ = item
    return how, span.start - span.end, span


def _place(item: tuple[Span, Named]) -> Span:
    return item[0]


def _words(name: str) -> tuple[str, ...]:
    return tuple(_folded(word) for word in _WORD.findall(unjoined(unicodedata.normalize("NFC", name))))


def _folded(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()
