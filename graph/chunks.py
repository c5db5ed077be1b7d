"""Where the words of an episode are cut, so that each stretch is found by itself. Pure."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from graph.searching import Chunk
from ontology.episodes import Verbatim
from ontology.ids import EpisodeId

CHARS: Final = 1_000
"""The most of one chunk: about what small models read of a text, and what a person takes in at a glance."""
_CHARS_MIN: Final = CHARS // 2
"""A chunk ends at the best place after so many, or at any place before `CHARS`."""
_MARKS_MAX: Final = 32
"""Of one character, however many a text stacks on it."""
_PLACES: Final = (
    re.compile(r"\n[ \t\r]*\n\s*"),
    re.compile(r"\n\s*"),
    re.compile(r"(?:[.!?…][\"'”’)\]]*\s+)|(?:[。！？]+)"),
    re.compile(r"\s+"),
)
"""Where to cut, the best first: between paragraphs, lines, sentences, words."""
_JOINER: Final = "\u200d"
_SKINS: Final = range(0x1F3FB, 0x1F400)
_FLAGS: Final = range(0x1F1E6, 0x1F200)


def chunks(id: EpisodeId, verbatim: Verbatim) -> list[tuple[Chunk, str]]:
    """The chunks of an episode with the text of each, in order: turns as they were said, long ones in stretches.

    The text of a turn has its speaker in front, by whom it is found too. What is blank has none.
    """
    found: list[tuple[Chunk, str]] = []
    for turn, speaker, words in _said(verbatim):
        for start, end in stretches(words):
            text = f"{speaker}: {words[start:end]}" if speaker else words[start:end]
            found.append((Chunk(episode=id, number=len(found), turn=turn, start=start, end=end), text))
    return found


def stretches(text: str) -> Iterator[tuple[int, int]]:
    """The text from place to place, at most `CHARS` at once, without blanks at both ends; none is empty."""
    start = 0
    while start < len(text):
        end = len(text) if len(text) - start <= CHARS else _end(text, start)
        first, last = start, end
        while first < last and text[first].isspace():
            first += 1
        while last > first and text[last - 1].isspace():
            last -= 1
        if last > first:
            yield first, last
        start = end


def _said(verbatim: Verbatim) -> Iterator[tuple[int | None, str, str]]:
    if isinstance(verbatim.body, str):
        yield None, "", verbatim.body
        return
    for number, turn in enumerate(verbatim.body):
        yield number, turn.speaker, turn.text


def _end(text: str, start: int) -> int:
    """The best place to cut after `start`."""
    for place in _PLACES:
        last = None
        for found in place.finditer(text, start + _CHARS_MIN, start + CHARS):
            last = found.end()
        if last is not None:
            return last
    end = start + CHARS
    for back in range(_MARKS_MAX):  # never between a letter and its marks, nor inside an emoji of several
        if not _joined(text, end - back):
            return end - back
    return end


def _joined(text: str, at: int) -> bool:
    """Whether the characters before and after a place are seen as one."""
    before, after = text[at - 1], text[at]
    return (
        unicodedata.category(after) in ("Mn", "Me", "Mc")
        or _JOINER in (before, after)
        or ord(after) in _SKINS
        or (ord(after) in _FLAGS and _flags_before(text, at) % 2 == 1)
    )


def _flags_before(text: str, at: int) -> int:
    """How many letters of flags, of which two make one, end at a place; those of `CHARS` at the most are counted."""
    first = at
    while first > max(0, at - CHARS) and ord(text[first - 1]) in _FLAGS:
        first -= 1
    return at - first
