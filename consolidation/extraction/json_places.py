"""Where the values of a JSON text stand in it, which the decoder does not tell."""

import json
import re
from collections.abc import Collection
from typing import Final, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Members and indexes from the root to a value."""

_PIECE: Final = re.compile(
    r'\s*(?:(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")|(?P<mark>[{}\[\],:])|(?P<scalar>[^\s{}\[\],:"]+))', re.DOTALL
)


def places(text: str, wanted: Collection[Path]) -> dict[Path, tuple[int, int]]:
    """(start, end) of each wanted value of `text`, which the decoder has read without an error.

    Of a member that stands twice, the last one, as the decoder takes it.
    """
    found: dict[Path, tuple[int, int]] = {}
    path: list[str | int] = []
    opened: list[tuple[bool, int]] = []
    """(is it an object, where it begins) for each container around."""
    awaits_key = False
    for piece in _PIECE.finditer(text):
        mark, start, end = piece["mark"], piece.start(piece.lastgroup or 0), piece.end()
        if mark in ("{", "["):
            opened.append((mark == "{", start))
            path.append("" if mark == "{" else 0)
            awaits_key = mark == "{"
        elif mark in ("}", "]"):
            path.pop()
            _, start = opened.pop()
            _keep(found, wanted, path, start, end)
            awaits_key = False
        elif mark == ",":
            index = path[-1]
            path[-1] = index + 1 if isinstance(index, int) else ""
            awaits_key = opened[-1][0]
        elif mark == ":":
            awaits_key = False
        elif awaits_key:
            path[-1] = json.loads(text[start:end])
        else:
            _keep(found, wanted, path, start, end)
    return found


def _keep(
    found: dict[Path, tuple[int, int]], wanted: Collection[Path], path: list[str | int], start: int, end: int
) -> None:
    here = tuple(path)
    if here in wanted:
        found[here] = (start, end)
