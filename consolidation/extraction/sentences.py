"""Where the sentences of a text begin and end, in one pass over its characters.

Cut too often rather than too rarely: what is read across two sentences is wrong, what is cut is only not read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

WRAPPED_CHARS_MIN: Final = 60
"""A line at least this long that ends in no mark goes on in the next one."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STOP: Final = re.compile(r"[.!?…](?=[\"'”’)\]]?\s)|[;](?=\s)|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_MARKER: Final = re.compile(r"(?:[0-9]{1,6}[.)]|[-*•–—>#]+)\s{1,8}")
_TITLES: Final = _words("mr mrs ms dr st prof gen sen rep gov capt lt col mt ft vs no nos e.g i.e approx")
"""Before a name, so the sentence goes on whatever follows."""
_SUFFIXES: Final = _words("inc jr sr ltd co corp bros etc al esq dept univ")
"""After a name, so the sentence goes on where a small letter follows; at its end, the dot is part of the name."""
_STARTERS: Final = _words("i he she it we they you the this that my his her our their there")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """Characters `start` up to `end` of the text, without the mark at the end."""

    start: int
    end: int
    asks: bool
    """Whether it ends in a question mark."""


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of `text` in order, without blanks, list markers and final marks; none is empty."""
    start = 0
    for stop in _STOP.finditer(text):
        if stop.start() < start or _goes_on(text, start, stop.start()):
            continue
        yield from _trimmed(text, start, stop.end())
        start = stop.end()
    yield from _trimmed(text, start, len(text))


def _goes_on(text: str, start: int, at: int) -> bool:
    mark = text[at]
    following = _word_after(text, at + 1)
    if mark == ";":
        return False
    if mark in ".…":
        before = _word_before(text, at)
        if before.isdecimal() and not text[start : at - len(before)].strip():
            return True  # the number of a list
        if following.lower() in _STARTERS:
            return before.lower() in _TITLES
        initial = len(before) == 1 and before.isalpha()
        small = following[:1].islower()
        return initial or before.lower() in _TITLES or (small and before.lower() in _SUFFIXES)
    if mark in "!?":
        return following[:1].islower() and following.lower() not in _STARTERS
    line = text[max(start, text.rfind("\n", start, at) + 1) : at].rstrip()
    return len(line) >= WRAPPED_CHARS_MIN and line[-1] not in ".!?:;…" and following[:1].isalpha()


def _word_before(text: str, at: int) -> str:
    begin = at
    while begin > 0 and at - begin < 12 and (text[begin - 1].isalnum()):
        begin -= 1
    return text[begin:at]


def _word_after(text: str, at: int) -> str:
    """The word that begins after one mark and a few blanks."""
    match = re.compile(r"[\"'”’)\]]?\s{1,4}([^\W_]{1,12})|([^\W_]{1,12})").match(text, at)
    return "" if match is None else match[1] or match[2] or ""


def _trimmed(text: str, start: int, end: int) -> Iterator[Sentence]:
    while start < end and text[start].isspace():
        start += 1
    marker = _MARKER.match(text, start, end)
    start = start if marker is None else marker.end()
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    asks = False
    if end > start and text[end - 1] in "!?;…":
        while end > start and text[end - 1] in "!?;…":
            asks = asks or text[end - 1] == "?"
            end -= 1
    elif end > start and text[end - 1] == ".":
        end -= not _belongs(text, start, end)
    while end > start and text[end - 1].isspace():  # between the last word and the mark
        end -= 1
    if end > start:
        yield Sentence(start=start, end=end, asks=asks)


def _belongs(text: str, start: int, end: int) -> bool:
    """Whether the last dot is part of the last word: `Inc.`, `D.C.`, but not the second dot of `D.C..`."""
    before = _word_before(text, end - 1)
    dotted = len(before) == 1 and before.isalpha() and end - 3 >= start and text[end - 3] == "."
    return dotted or before.lower() in _SUFFIXES
