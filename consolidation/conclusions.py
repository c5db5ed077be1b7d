"""Is it a conclusion, or a transcript of how it was come to? What is handed over is read as a whole, every time. Pure.

A transcript is told by its turns, of which these are: an object, or JSON, that says who spoke (`role`, `speaker`,
`author`) and what (`content`, `text`, `message`, `parts`); and lines that begin with a speaker and a colon, where a
user and an assistant both speak, or where two or more speak twice or more; the same where names stand otherwise:
`<mira>` before a line, a name and a time above it. A user and an assistant that take three turns are a talk in one line
too, or with their roles as headings; and so is what stands in the template of a model (`<|im_start|>`, `[INST]`). Lines
end where any program may end them, and JSON may stand anywhere in a text. What is longer than a conclusion needs is
none either.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
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
_CHANNEL: Final = re.compile(
    r"^(?:\[?\d[\d:. -]{2,20}\]?\s+)?<[@+~]?(?P<who>[^\W\d_][\w.-]{0,39})>\s+(?!.*</)\S", re.MULTILINE
)
"""Who speaks on a channel."""
_BOARD: Final = re.compile(
    r"^(?P<who>[^\W\d_][\w.'-]{0,30}(?: [\w.'-]{1,30})?)[ ,([]{1,3}\d{1,2}:\d{2}(?::\d{2})?(?: ?[AaPp][Mm])?[)\]]?$"
)
"""Who speaks below this line."""
_TEMPLATE: Final = re.compile(
    r"<\|(?:im_start|im_end|start_header_id|end_header_id|user|assistant|system)\|>|\[/?INST\]|<(?:start|end)_of_turn>"
)
_MARKS: Final = " \t#>*_<[(|-)]:"
_OBJECT: Final = re.compile(r"\{[^{}]*")
_KEYS: Final = re.compile(r"""["'](\w+)\\*["']\s*:""")
_USERS: Final = frozenset(
    {"user", "human", "customer", "benutzer", "nutzer", "usuario", "usuário", "utilisateur", "utente"}
    | {"пользователь", "用户", "ユーザー"}
)
_ASSISTANTS: Final = frozenset(
    {"assistant", "ai", "bot", "model", "agent", "claude", "chatgpt", "gpt", "assistent", "asistente", "assistente"}
    | {"ассистент", "助手", "アシスタント"}
)
_ROLE: Final = re.compile(rf"\b({'|'.join(sorted(_USERS | _ASSISTANTS))})\**[:：]", re.IGNORECASE)
_TURNS: Final = 3
"""Of a user and an assistant by turns are a talk, where they are not told by their lines."""


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
    if talk or _come_back(speakers):
        _refuse("transcript", f"{sum(speakers.values())} lines begin with who speaks: that is a transcript", at)
    if _in_disguise(lines):
        _refuse("transcript", "speakers take turns in it: that is a transcript", at)


def refuse_bulk(texts: Sequence[str]) -> None:
    """Raise `Refused` where all texts together are too much."""
    size = sum(len(text.encode()) for text in texts)
    if size > BYTES_MAX:
        _refuse("too_long", f"{size} bytes of text are no conclusions, {BYTES_MAX} at most", "")


def _come_back(speakers: Counter[str]) -> bool:
    return sum(times >= 2 for times in speakers.values()) >= 2


def _in_disguise(text: str) -> bool:
    """Whether speakers that no colon marks at the beginning of a line take turns."""
    templates = list(_TEMPLATE.finditer(text))
    if len(templates) >= 2 and (templates[0].start() == 0 or text[templates[0].start() - 1] == "\n"):
        return True
    if _come_back(Counter(match["who"].casefold() for match in _CHANNEL.finditer(text))):
        return True
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    boards = [match["who"].casefold() if (match := _BOARD.match(line)) else None for line in lines]
    roles = [role if (role := line.strip(_MARKS).casefold()) in _USERS | _ASSISTANTS else None for line in lines]
    return (
        _come_back(Counter(_above(boards)))
        or _by_turns(_above(roles))
        or _by_turns([match[1].casefold() for match in _ROLE.finditer(text)])
    )


def _above(heads: Sequence[str | None]) -> list[str]:
    """The heads with something below them that is none."""
    return [head for head, below in pairwise(heads) if head is not None and below is None]


def _by_turns(roles: Sequence[str]) -> bool:
    """Whether users and assistants take turns, each after the other."""
    sides = [role in _USERS for role in roles]
    return bool(sides) and 1 + sum(one != next for one, next in pairwise(sides)) >= _TURNS


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
