"""Does a text mention somebody? By their keys and names, as words of their own, without regard to case and blanks."""

import re
from collections.abc import Iterable

from ontology.tombstones import normalised


class Mentions:
    """Whether a text has one of some words in it."""

    def __init__(self, words: Iterable[str]) -> None:
        wanted = sorted({normalised(word) for word in words if word.strip()}, key=len, reverse=True)
        either = "|".join(map(re.escape, wanted))
        self._found = re.compile(rf"(?<!\w)(?:{either})(?!\w)") if wanted else None

    def __call__(self, text: str) -> bool:
        return self._found is not None and self._found.search(normalised(text)) is not None
