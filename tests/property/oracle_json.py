"""The oracle files: how their operations make transactions, and what a model answers to their queries."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from ontology.instants import Instant, format_instant, parse_bound, parse_instant
from ontology.intervals import Interval, intersect, relate
from tests.model import Bound, Model, Op, Period, text_bound

JSONAnswer: TypeAlias = Any


def transactions(ops: Iterable[Op]) -> list[list[Op]]:
    """Neighbours with one `tx` are one transaction."""
    groups: list[list[Op]] = []
    for op in ops:
        if groups and op.get("tx") is not None and groups[-1][-1].get("tx") == op["tx"]:
            groups[-1].append(op)
        else:
            groups.append([op])
    return groups


def answer(model: Model, query: Mapping[str, Any]) -> JSONAnswer:
    """What the model says to one query of an oracle file."""
    key = (query.get("subject", ""), query.get("predicate", ""))
    known_at = parse_instant(query["known_at"]) if query.get("known_at") else None
    certain = query.get("certainty") == "certain"
    at = {name: parse_bound(query[name]).earliest for name in _INSTANTS if query.get(name)}
    match query["kind"]:
        case "state":
            state = model.state(key, at["valid_at"], known_at)
            return sorted(v for v, sure in state.items() if sure or not certain)
        case "state_all":
            states = [(s, model.state((s, p), at["valid_at"], known_at)) for s, p in model.slots() if p == key[1]]
            return sorted([s, v] for s, state in states for v, sure in state.items() if sure or not certain)
        case "history":
            return [_period(p) for p in model.history(key, known_at, certain=certain)]
        case "audit":
            return [
                {
                    "value": r.value,
                    "valid_from": _text(r.valid_from),
                    "valid_to": _text(r.valid_to),
                    "recorded_from": _text(r.recorded_from),
                    "recorded_to": _text(r.recorded_to),
                }
                for r in model.audit(key)
            ]
        case "belief":
            rows = model.belief(key, at["valid_at"])
            return [{"value": v, "recorded_from": _text(a), "recorded_to": _text(b)} for v, a, b in rows]
        case "diff":
            added, removed = model.diff(key, at["known_from"], at["known_to"])
            return {"added": [_period(p) for p in added], "removed": [_period(p) for p in removed]}
        case "changes":
            found = model.changes(key, at["valid_after"], at["valid_until"])
            return [{"at": _text(t), "ended": ended, "started": started} for t, ended, started in found]
        case "believed_during":
            closed = bool(query.get("closed"))
            return model.believed_during(key, at["known_from"], at["known_to"], closed=closed)
        case "path":
            found_paths = model.paths(key[0], query["steps"], known_at)
            return [
                {"nodes": nodes, "valid_from": _text(p.start), "valid_to": _text(p.end)}
                for nodes, p in found_paths
                if "valid_at" not in at or p.start <= at["valid_at"] < p.end
            ]
        case "recorded":
            return [_text(t) for t in model.times]
        case "evidence":
            return len(model.evidence(key, query["value"]))
        case _:
            return answer_interval(query)


def answer_interval(query: Mapping[str, Any]) -> JSONAnswer:
    """What the pure interval queries (`allen`, `intersect`, `period`) give."""
    match query["kind"]:
        case "allen":
            a, b = (Interval(*map(parse_instant, query[side])) for side in "ab")
            return str(relate(a, b))
        case "intersect":
            shared = intersect(Interval(*map(_read, pair)) for pair in query["periods"])
            return None if shared is None else [_text(shared.start), _text(shared.end)]
        case "period":
            zone, semantics = query.get("tz", "UTC"), query.get("date_semantics", "")
            start, end = text_bound(query["start"], zone, semantics), text_bound(query["end"], zone, semantics)
            if semantics == "whole":
                start, end = Bound(start.lo, start.lo), Bound(end.hi, end.hi)
            certain = [_text(start.hi), _text(end.lo)] if start.hi < end.lo else None
            return {"possible": [_text(start.lo), _text(end.hi)], "certain": certain}
        case other:
            raise ValueError(other)


_INSTANTS = ("valid_at", "known_from", "known_to", "valid_after", "valid_until")


def _read(text: str) -> Instant:
    return parse_bound(text).earliest


def _text(instant: int) -> str:
    return format_instant(Instant(instant))


def _period(period: Period) -> JSONAnswer:
    return {"value": period.value, "valid_from": _text(period.valid_from), "valid_to": _text(period.valid_to)}
