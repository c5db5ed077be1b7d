"""The answers to questions about intervals alone."""

from typing import Any

from ontology.entries import Stated, assertion
from ontology.instants import Instant, Semantics, format_instant, parse_bound
from ontology.intervals import Interval, intersect, relate
from ontology.values import Value, ValueType, value_key
from tests.oracles.cases import Query

_ANY = value_key(Value(type=ValueType.TEXT, text="", qualifier=""))


def answer(query: Query) -> Any:
    """What the rules of time say to an `allen`, an `intersect` or a `period` query."""
    match query["kind"]:
        case "allen":
            return relate(_interval(query["a"]), _interval(query["b"])).value
        case "intersect":
            shared = intersect(map(_interval, query["periods"]))
            return None if shared is None else _texts(shared.start, shared.end)
        case "period":
            return _period(query)
        case kind:
            raise ValueError(f"{kind!r} is no question about intervals")


def _period(query: Query) -> dict[str, Any]:
    """The possible and the certain part of a period, as an assertion of it has them."""
    semantics = Semantics(query["date_semantics"]) if query.get("date_semantics") else None
    stated = Stated(valid_from=query["start"], valid_to=query["end"], zone=query.get("tz"), semantics=semantics)
    told = assertion(stated, value=_ANY, functional=False, observed_at=Instant(0), position=1, ordinal=0)
    certain = _texts(told.start_hi, told.end_lo) if told.start_hi < told.end_lo else None
    return {"possible": _texts(told.start_lo, told.end_hi), "certain": certain}


def _interval(texts: list[str]) -> Interval:
    start, end = (parse_bound(text).earliest for text in texts)
    return Interval(start, end)


def _texts(start: Instant, end: Instant) -> list[str]:
    return [format_instant(start), format_instant(end)]
