"""Whether a text mentions what goes, however the text is written: words that cannot be found again are words that stay.

Keys and names are kept in one spelling (NFC), and texts to the letter: with other code points for the same letters,
as JSON with escapes, as HTML with entities, as part of an address. And not every script puts blanks between words.
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import unquote

from ontology.tombstones import normalised

_DEPTH: Final = 3
"""How often a text may be escaped again, as JSON in a string of JSON is."""

_RUNNING: Final = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts in which a name and what follows it are not parted: Thai, Lao, Tibetan, Burmese, Khmer, Chinese, Japanese,
and Korean for its particles."""

_ESCAPE: Final = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_SHORT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def mentioning(words: Iterable[str]) -> "Mentions":
    return Mentions([_plain(word) for word in words if word.strip()])


class Mentions:
    """Whether a text has one of some words in it, as words of their own, without regard to case and blanks."""

    def __init__(self, words: Sequence[str]) -> None:
        either = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
        running = f"[{_RUNNING}]"
        begins, ends = (f"(?:(?{at}!\\w)|(?<={running})|(?={running}))" for at in ("<", ""))
        self._found = re.compile(f"{begins}(?:{either}){ends}") if words else None

    def __call__(self, text: str) -> bool:
        found = self._found
        return found is not None and any(found.search(_plain(each)) for each in _readings(text))


def _plain(text: str) -> str:
    """What is the same where only the code points, the case or the blanks are others."""
    folded = normalised(unicodedata.normalize("NFKC", text))
    return unicodedata.normalize("NFKC", folded)


def _readings(text: str) -> Iterator[str]:
    """A text as it stands, and as it would be read by whoever undoes its escapes."""
    for _ in range(_DEPTH):
        yield text
        read = unquote(html.unescape(_unescaped(text)), errors="replace")
        if read == text:
            return
        text = read
    yield text


def _unescaped(text: str) -> str:
    """Without the escapes of JSON; those of a character beyond 16 bits are two."""
    if "\\" not in text:
        return text
    read = _ESCAPE.sub(lambda e: chr(int(e[1], 16)) if e[1] else _SHORT.get(e[2], e[2]), text)
    with suppress(UnicodeDecodeError):
        return read.encode("utf-16", "surrogatepass").decode("utf-16")
    return read
