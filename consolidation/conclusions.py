"""Is it a conclusion, or a transcript of how it was come to? What is handed over is read as a whole, every time. Pure.

A transcript is told by its turns, of which these are: an object, or JSON, that says who spoke (`role`, `speaker`,
`author`) and what (`content`, `text`, `message`, `parts`); and lines that begin with a speaker and a colon, where a
user and an assistant both speak, or where two or more speak twice or more. Lines end where any program may end them,
and JSON may stand anywhere in a text. What is longer than a conclusion needs is none either.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

import orjson

from ontology.errors import Refused, Violation

CHARS_MAX: Final = 1_000
"""Of one text."""
BYTES_MAX: Final = 16_000
"""Of all of them together, in UTF-8."""
REMEDY: Final = "say what was concluded; keep the words as an episode (POST /v1/episodes) and pin the facts"

_WHO: Final = frozenset({"role", "speaker", "author", "from"})
_SAID: Final = frozenset({"content", "text", "message", "parts"})
_TURN: Final = re.compile(
    r"^\s*(?:[-*>#|]+\s*)*(?:\[[^\]\n]{1,40}\]\s*|\d[\d:.,TZ/ +-]{3,30}\s)?\**(?P<who>[^\W\d_][\w .'-]{0,39}?)\**"
    r"\s*(?:\([^)\n]{0,40}\))?\s*\**[:：]\**\s*\S",
    re.MULTILINE,
)
_OBJECT: Final = re.compile(r"\{[^{}]*")
_KEYS: Final = re.compile(r"""["'](\w+)\\*["']\s*:""")
_USERS: Final = frozenset({"user", "human", "customer"})
_ASSISTANTS: Final = frozenset({"assistant", "ai", "bot", "model", "agent", "claude", "chatgpt", "gpt"})


def refuse_turn(given: object, at: str) -> None:
    """Raise `Refused` for what stands in JSON as turns do."""
    if _is_turn(given) or (isinstance(given, Sequence) and not isinstance(given, str) and any(map(_is_turn, given))):
        _refuse("transcript", "what says who spoke and what is a turn of a transcript, and no conclusion", at)


def refuse_transcript(texts: Sequence[str], at: str) -> None:
    """Raise `Refused` where the texts of a member, one below the other, are a transcript, or one of them is too long.

    `at` is the pointer of the member.
    """
    for text in texts:
        if len(text) > CHARS_MAX:
            _refuse("too_long", f"a text of {len(text)} characters is no conclusion, {CHARS_MAX} at most", at)
        if text.lstrip()[:1] in ("[", "{"):
            refuse_turn(_json(text), at)
        for each in _OBJECT.findall(text):
            refuse_turn(dict.fromkeys(_KEYS.findall(each)), at)
    lines = "\n".join(line for text in texts for line in text.splitlines())
    speakers = Counter(match["who"].casefold() for match in _TURN.finditer(lines))
    talk = not _USERS.isdisjoint(speakers) and not _ASSISTANTS.isdisjoint(speakers)
    if talk or sum(times >= 2 for times in speakers.values()) >= 2:
        _refuse("transcript", f"{sum(speakers.values())} lines begin with who speaks: that is a transcript", at)


def refuse_bulk(texts: Sequence[str]) -> None:
    """Raise `Refused` where all texts together are too much."""
    size = sum(len(text.encode()) for text in texts)
    if size > BYTES_MAX:
        _refuse("too_long", f"{size} bytes of text are no conclusions, {BYTES_MAX} at most", "")


def _is_turn(given: object) -> bool:
    if not isinstance(given, Mapping):
        return False
    if any(isinstance(value, list) and any(map(_is_turn, value)) for value in given.values()):
        return True  # such as `messages` with a list of them
    return not _WHO.isdisjoint(given) and not _SAID.isdisjoint(given)


def _json(text: str) -> object:
    try:
        return orjson.loads(text)
    except ValueError:
        return None


def _refuse(code: str, detail: str, at: str) -> NoReturn:
    raise Refused(detail, remedy=REMEDY, violations=(Violation(pointer=at, code=code, detail=detail),))
