"""Which words a text has: what is indexed, and what a question is made of. Pure."""

import re
import unicodedata
from typing import Final

TERM_CHARS_MAX: Final = 64
"""A longer word is no term: nobody searches for it."""

_WORD: Final = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """The words of a text in their order: in compatibility form (NFKC), case-folded, of letters, digits and underscores
    alone, so that nothing in them can be read as the syntax of a search engine."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return [word for word in _WORD.findall(folded) if len(word) <= TERM_CHARS_MAX]


def terms(text: str) -> list[str]:
    """The words of a text, each once."""
    return list(dict.fromkeys(words(text)))


def trigrams(text: str) -> list[str]:
    """Every three letters that stand together in a word of a text, each once; `$` stands for the ends of a word."""
    framed = [f"$${word}$" for word in terms(text)]
    return list(dict.fromkeys(word[at : at + 3] for word in framed for at in range(len(word) - 2)))
