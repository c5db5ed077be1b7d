"""One decoded line of JSON as an item, without a model in between: a bulk load reads millions.

The members are those of the items of `POST /v1/claims`; a test holds the two together.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from api.limits import read_json
from consolidation.items import ABSENT, Assert, Erase, Item, Replace, Retract, RetractFact, Said, Withdraw
from ontology.canonical import incorrect
from ontology.errors import Incorrect, Refused, Violation, pointer, shown
from ontology.facts import Version

Wire = dict[str, Any]

_SAID: Final = {
    "valid_from": "valid_from",
    "valid_to": "valid_to",
    "tz": "zone",
    "date_semantics": "date_semantics",
    "observed_at": "observed_at",
    "source": "source",
    "episode": "episode",
    "root": "root",
    "trust": "trust",
    "recalled": "recalled",
    "ttl": "ttl",
}
_TEXTS: Final = frozenset({*_SAID, "predicate", "fact", "claim", "at", "reason"})
_OPTIONAL: Final = frozenset({*_SAID, "confidence", "expected_version", "op"})

MEMBERS: Final[Mapping[str, frozenset[str]]] = {
    "assert": _OPTIONAL | {"subject", "predicate", "value"},
    "retract": _OPTIONAL - {"ttl"} | {"subject", "predicate", "value", "fact"},
    "replace": _OPTIONAL | {"fact", "subject", "predicate", "old", "at", "value", "reason"},
    "withdraw": frozenset({"op", "expected_version", "claim", "episode", "source", "reason"}),
    "erase": frozenset({"op", "expected_version", "subject", "predicate", "value"}),
}
"""What an item of each kind may have."""

RECORDING: Final = frozenset({"recorded_at", "tx"})
"""What a line may have beside, where it is imported as recorded."""

_LONG_NUMBER: Final = re.compile(rb"\d{19}")


def decode(line: bytes) -> Wire:
    """The JSON object on a line, read as strictly as the body of a request. Raises `Incorrect` where there is none."""
    wire: object
    try:
        wire = orjson.loads(line)
    except ValueError:
        wire = read_json(line)
    # orjson makes a float of a long integer and keeps the last of two equal members; then the strict reader decides
    if not isinstance(wire, dict) or line.count(b'":') != _members(wire) or _LONG_NUMBER.search(line):
        wire = read_json(line)
    if not isinstance(wire, dict):
        raise incorrect("", "wrong_type", f"the line holds {shown(wire)}; give one object per line")
    return wire


def _members(wire: Wire) -> int:
    value = wire.get("value")
    return len(wire) + (len(value) if isinstance(value, dict) else 0)


def item(wire: Wire) -> Item:
    """The item that an object stands for; raises `Incorrect` for what no such item can have."""
    op = wire.get("op", "assert")
    members = MEMBERS.get(op) if isinstance(op, str) else None
    if members is None:
        raise incorrect("/op", "unknown_member", f"there is no operation {shown(op)}; give one of {', '.join(MEMBERS)}")
    if not wire.keys() <= members:
        raise _unknown(op, next(name for name in wire if name not in members), members)
    for name in _TEXTS & wire.keys():
        if wire[name] is None:
            continue
        if type(wire[name]) is not str:
            raise incorrect(pointer(name), "wrong_type", f"{name!r} is a string, got {shown(wire[name])}; quote it")
    return _MAKE[op](wire)


def _assert(wire: Wire) -> Item:
    try:
        return Assert(
            subject=wire["subject"],
            predicate=_needed(wire, "predicate"),
            value=wire["value"],
            said=_said(wire),
            expected_version=_version(wire),
        )
    except KeyError as exc:
        raise _missing("assert", exc.args[0]) from None


def _retract(wire: Wire) -> Item:
    if wire.get("fact") is not None:
        for name in ("subject", "predicate", "value", "valid_from", "valid_to"):
            if name in wire:
                detail = f"'fact' says all of it; leave {name!r} out, or leave 'fact' out"
                raise incorrect(pointer(name), "too_many", detail)
        return RetractFact(fact=wire["fact"], said=_said(wire), expected_version=_version(wire))
    if "subject" not in wire:
        raise _missing("retract", "subject")
    return Retract(
        subject=wire["subject"],
        predicate=_needed(wire, "predicate"),
        value=wire.get("value", ABSENT),
        said=_said(wire),
        expected_version=_version(wire),
    )


def _replace(wire: Wire) -> Item:
    return Replace(
        fact=wire.get("fact"),
        subject=wire.get("subject", ABSENT),
        predicate=wire.get("predicate"),
        old=wire.get("old", ABSENT),
        at=wire.get("at"),
        value=wire.get("value", ABSENT),
        said=_said(wire),
        reason=wire.get("reason"),
        expected_version=_version(wire),
    )


def _withdraw(wire: Wire) -> Item:
    return Withdraw(
        claim=wire.get("claim"),
        episode=wire.get("episode"),
        source=wire.get("source"),
        reason=wire.get("reason"),
        expected_version=_version(wire),
    )


def _erase(wire: Wire) -> Item:
    if "subject" not in wire:
        raise _missing("erase", "subject")
    return Erase(
        subject=wire["subject"],
        predicate=wire.get("predicate"),
        value=wire.get("value", ABSENT),
        expected_version=_version(wire),
    )


_MAKE: Final[Mapping[str, Callable[[Wire], Item]]] = {
    "assert": _assert,
    "retract": _retract,
    "replace": _replace,
    "withdraw": _withdraw,
    "erase": _erase,
}


def _said(wire: Wire) -> Said:
    given = {field: wire[name] for name, field in _SAID.items() if name in wire}
    confidence = wire.get("confidence")
    if confidence is not None:
        if isinstance(confidence, bool) or not isinstance(confidence, int | float):
            detail = f"'confidence' is a number from 0 to 1, got {shown(confidence)}; correct it"
            raise incorrect("/confidence", "wrong_type", detail)
        given["confidence"] = confidence if math.isfinite(confidence) else math.inf
    return Said(**given)


def _version(wire: Wire) -> Version | None:
    given = wire.get("expected_version")
    if given is None:
        return None
    if given == "none":
        return Version(0)
    if type(given) is not int or not 0 <= given < 2**63:
        detail = f"'expected_version' is the number from a receipt, or 'none', got {shown(given)}"
        raise incorrect("/expected_version", "wrong_type", detail)
    return Version(given)


def _needed(wire: Wire, name: str) -> str:
    text = wire.get(name)
    if text is None:
        raise _missing(wire.get("op", "assert"), name)
    return str(text)


def _missing(op: str, name: str) -> Incorrect:
    return incorrect(pointer(name), "missing_field", f"an item with op {op!r} needs {name!r}; add it")


def _unknown(op: str, name: str, members: frozenset[str]) -> Incorrect:
    if name == "recorded_at":
        detail = "the recorded time is the server's; leave 'recorded_at' out, or load with --as-recorded"
        violation = Violation(pointer="/recorded_at", code="recorded_at_not_settable", detail=detail)
        return Refused(detail, slug="recorded-at-not-settable", violations=(violation,))
    detail = f"an item with op {op!r} has no member {shown(name)}; it has {', '.join(sorted(members))}"
    return incorrect(pointer(name), "unknown_field", detail)
