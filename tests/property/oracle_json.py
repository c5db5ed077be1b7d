"""The JSON of the oracle files: what a world answers to one query."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from ontology.instants import OPEN_END, Instant, format_instant, parse_bound, parse_instant
from ontology.intervals import Interval, coalesce, intersect, relate
from tests.model import Bound, text_bound
from tests.readings import Key, Path, Period, Rectangle

JSONAnswer: TypeAlias = Any


class Answers(Protocol):
    """Whoever can be asked the questions of an oracle file."""

    times: list[int]

    def slots(self) -> list[Key]: ...
    def state(self, key: Key, valid_at: int, known_at: int | None = None) -> dict[str, bool]: ...
    def history(self, key: Key, known_at: int | None = None, *, certain: bool = False) -> list[Period]: ...
    def audit(self, key: Key) -> list[Rectangle]: ...
    def belief(self, key: Key, valid_at: int) -> list[tuple[int, str, int]]: ...
    def diff(self, key: Key, known_from: int, known_to: int) -> tuple[list[Period], list[Period]]: ...
    def changes(
        self, key: Key, after: int, until: int, known_at: int | None = None
    ) -> list[tuple[int, list[str], list[str]]]: ...
    def believed_during(self, key: Key, known_from: int, known_to: int, *, closed: bool = False) -> list[str]: ...
    def paths(self, start: str, steps: Sequence[str], known_at: int | None = None) -> list[Path]: ...
    def evidence(self, key: Key, value: str) -> int: ...


def answer(world: Answers, query: Mapping[str, Any]) -> JSONAnswer:
    """What a world says to one query; an `audit` must be compared by its cells (`same`)."""
    key = (query.get("subject", ""), query.get("predicate", ""))
    known_at = parse_instant(query["known_at"]) if query.get("known_at") else None
    certain = query.get("certainty") == "certain"
    at = {name: parse_bound(query[name]).earliest for name in _INSTANTS if query.get(name)}
    match query["kind"]:
        case "state":
            state = world.state(key, at["valid_at"], known_at)
            return sorted(value for value, sure in state.items() if sure or not certain)
        case "state_all":
            states = [(s, world.state((s, p), at["valid_at"], known_at)) for s, p in world.slots() if p == key[1]]
            return sorted([s, v] for s, state in states for v, sure in state.items() if sure or not certain)
        case "history":
            return [_period(p) for p in world.history(key, known_at, certain=certain)]
        case "audit":
            return [_rectangle(row) for row in world.audit(key)]
        case "belief":
            rows = world.belief(key, at["valid_at"])
            return [{"value": v, "recorded_from": _text(a), "recorded_to": _text(b)} for a, v, b in rows]
        case "diff":
            added, removed = world.diff(key, at["known_from"], at["known_to"])
            return {"added": [_period(p) for p in added], "removed": [_period(p) for p in removed]}
        case "changes":
            found = world.changes(key, at["valid_after"], at["valid_until"])
            return [{"at": _text(t), "ended": ended, "started": started} for t, ended, started in found]
        case "believed_during":
            closed = bool(query.get("closed"))
            return world.believed_during(key, at["known_from"], at["known_to"], closed=closed)
        case "path":
            return [
                {"nodes": list(nodes), "valid_from": _text(period.start), "valid_to": _text(period.end)}
                for nodes, period in world.paths(key[0], query["steps"], known_at)
                if "valid_at" not in at or at["valid_at"] in period
            ]
        case "recorded":
            return [_text(t) for t in world.times]
        case "evidence":
            return world.evidence(key, query["value"])
        case _:
            return answer_interval(query)


def answer_interval(query: Mapping[str, Any]) -> JSONAnswer:
    """What the queries that are about intervals alone (`allen`, `intersect`, `period`) give."""
    match query["kind"]:
        case "allen":
            first, second = (Interval(*map(parse_instant, query[side])) for side in "ab")
            return str(relate(first, second))
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


def same(query: Mapping[str, Any], got: JSONAnswer) -> bool:
    """Whether an answer is the expected one; of an `audit`, however its cells are cut into rectangles."""
    if query["kind"] != "audit":
        return bool(got == query["expect"])
    return _cells(got) == _cells(query["expect"])


_INSTANTS = ("valid_at", "known_from", "known_to", "valid_after", "valid_until")


def _cells(rows: JSONAnswer) -> set[tuple[str, int, tuple[Interval, ...]]]:
    """For each value and each recorded time at which an answer changes: the periods that were believed from then."""
    ends = sorted({_read(row[side]) for row in rows for side in ("recorded_from", "recorded_to")} - {OPEN_END})
    return {
        (value, known_at, tuple(coalesce(
            Interval(_read(r["valid_from"]), _read(r["valid_to"]))
            for r in rows
            if r["value"] == value and _read(r["recorded_from"]) <= known_at < _read(r["recorded_to"])
        )))
        for value in {row["value"] for row in rows}
        for known_at in ends
    }  # fmt: skip


def _rectangle(row: Rectangle) -> JSONAnswer:
    sides = ("valid_from", "valid_to", "recorded_from", "recorded_to")
    return {"value": row.value} | {side: _text(getattr(row, side)) for side in sides}


def _read(text: str) -> Instant:
    return parse_bound(text).earliest


def _text(instant: int) -> str:
    return format_instant(Instant(instant))


def _period(period: Period) -> JSONAnswer:
    return {"value": period.value, "valid_from": _text(period.valid_from), "valid_to": _text(period.valid_to)}
