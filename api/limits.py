"""How much a request may hold, and which JSON is taken: strict, with no value lost or guessed on the way.

The usual readers take `NaN`, keep the last of two equal members, or make a float of a long integer; here each of
these is a violation.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Final, NoReturn

from ontology.canonical import incorrect
from ontology.errors import TooLarge, Unsupported, Violation, pointer, shown

DEPTH_MAX: Final = 80
"""Of a whole body: the 64 levels of a JSON value and what stands around it."""
DIGITS_MAX: Final = 1_000
"""Longer numbers are refused before they are read; shorter ones get the violation of the place where they stand."""
QUERY_BYTES_MAX: Final = 16_384

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def check_content_type(content_type: bytes | None) -> None:
    """Raise `Unsupported` for a body that does not say that it is JSON in UTF-8."""
    media, _, rest = (content_type or b"").decode("latin-1").lower().partition(";")
    media = media.strip()
    is_json = media == "application/json" or (media.startswith("application/") and media.endswith("+json"))
    charset = re.search(r"charset\s*=\s*\"?([^\s;\"]+)", rest)
    if not is_json:
        given = f"got {shown(media)}" if media else "got none"
        raise Unsupported(f"the body needs the Content-Type application/json, {given}", remedy="send JSON and say so")
    if charset and charset[1] not in ("utf-8", "utf8", "us-ascii"):
        raise Unsupported(f"JSON is read as UTF-8, got the charset {shown(charset[1])}", remedy="send UTF-8")


def read_json(body: bytes) -> object:
    """The document in a body.

    Raises `Incorrect` for what is not JSON (RFC 8259), for `NaN` and infinities, numbers beyond a double, members
    that stand twice, lone surrogates; `TooLarge` for what is nested deeper than 80 levels.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise incorrect("", "unreadable_json", f"the body is not UTF-8 at byte {exc.start}; send UTF-8") from None
    try:
        document: object = _DECODER.decode(text)
    except json.JSONDecodeError as exc:
        detail = f"the body is not JSON at line {exc.lineno}, column {exc.colno}: {exc.msg}"
        raise incorrect("", "unreadable_json", detail) from None
    except RecursionError:
        raise _too_deep() from None
    if body.count(b"{") + body.count(b"[") > DEPTH_MAX:
        _check_depth(document)
    if b"\\u" in body:
        _check_surrogates(document)
    return document


def _check_depth(document: object) -> None:
    level, depth = [document], 0
    while level:
        depth += 1
        if depth > DEPTH_MAX + 1:
            raise _too_deep()
        level = [inner for outer in level for inner in _inside(outer)]


def _inside(outer: object) -> "list[object]":
    if isinstance(outer, dict):
        return [*outer.values()]
    return outer if isinstance(outer, list) else []


def _check_surrogates(document: object) -> None:
    for at, text in _texts(document):
        if found := _SURROGATE.search(text):
            detail = f"the lone surrogate {found[0]!r} is not allowed in {shown(text)}; remove it"
            raise incorrect(at.encode("utf-8", "backslashreplace").decode(), "lone_surrogate", detail)


def _texts(document: object) -> Iterator[tuple[str, str]]:
    """Every string and member name, with a pointer to it."""
    waiting: list[tuple[str, object]] = [("", document)]
    while waiting:
        at, found = waiting.pop()
        if isinstance(found, str):
            yield at, found
        elif isinstance(found, dict):
            for name, inner in found.items():
                yield at, name
                waiting.append((at + pointer(name), inner))
        elif isinstance(found, list):
            waiting += [(at + pointer(index), inner) for index, inner in enumerate(found)]


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise incorrect("", "duplicate_member", f"the member {shown(twice)} stands twice in one object; keep one")
    return found


def _integer(digits: str) -> int:
    if len(digits) > DIGITS_MAX:
        raise incorrect("", "out_of_range", f"an integer of {len(digits)} digits; integers are signed 64-bit")
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise incorrect("", "out_of_range", f"the number {shown(digits)} is beyond a double; give it as a string")
    if Decimal(digits) != Decimal(repr(number)):
        detail = f"the number {shown(digits)} is finer than a double; give it as a string to keep its digits"
        raise incorrect("", "too_precise", detail)
    return number


def _constant(name: str) -> NoReturn:
    raise incorrect("", "unreadable_json", f"{name} is not JSON; leave the member out where there is no number")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=_integer, parse_float=_float, parse_constant=_constant
)


def too_large(bytes_max: int) -> TooLarge:
    """The error for a body of more than `bytes_max`."""
    return TooLarge(f"the body has more than {bytes_max} bytes; split it")


def _too_deep() -> TooLarge:
    detail = f"the body is nested deeper than {DEPTH_MAX} levels; flatten it"
    return TooLarge(detail, violations=(Violation(pointer="", code="too_large", detail=detail),))
