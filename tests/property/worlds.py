"""Where operations can be said and every question asked; the bare kernel is such a world, each store another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ontology.changes import difference
from ontology.entries import Entry, Stated, assertion, inherit, retraction
from ontology.errors import VigenciaError
from ontology.fold import apart, fold, resting_on, standing
from ontology.instants import OPEN_END, OPEN_START, Instant, Semantics, parse_instant
from ontology.line import Extent, Line, Run
from ontology.values import ValueKey
from tests.histories import Op
from tests.model import Refusal
from tests.property.oracle_json import Answers, JSONAnswer, answer
from tests.readings import Key, Readings, Rectangle

Functional = bool | Mapping[str, bool]


class World(Answers, Protocol):
    """What a property test writes to and reads from."""

    def transact(self, ops: Sequence[Op], clock: int) -> int:
        """All of `ops` or, with a `Refusal`, none; gives the recorded time."""
        ...

    def ask(self, query: Mapping[str, Any]) -> JSONAnswer:
        """The answer to a query of an oracle file, by the read path of the world."""
        ...

    def shown(self, key: Key, row: Rectangle) -> list[str] | None:
        """The ids of the claims that show in a version, as known now or when it was last believed, in the order of
        rule 1; `None` where that is not kept."""
        ...

    def folded(self, key: Key) -> list[Rectangle]:
        """What a fold of everything that stands in the slot believes, by values where they do not compete; the
        recorded times mean nothing."""
        ...

    def visible(self, key: Key, known_at: int | None = None) -> list[Rectangle]: ...
    def log(self, key: Key, known_from: int, known_to: int) -> list[tuple[int, bool, Rectangle]]: ...


MakeWorld = Callable[[Functional], World]


@dataclass(frozen=True, eq=False)
class Spoken:
    """An entry of the kernel with the operation that it comes from."""

    entry: Entry
    key: Key
    op: Op


class KernelWorld(Readings):
    """The kernel alone: it folds a slot anew after each transaction and keeps what `difference` says.

    What it knows of a slot beside its standing entries is only the rows that a store would have.
    """

    def __init__(self, functional: Functional = False) -> None:
        self.functional = functional
        self.times: list[int] = []
        self.spoken: list[Spoken] = []
        self.versions: dict[Key, list[Rectangle]] = {}
        self.extents: dict[Key, list[Extent]] = {}
        """Where claims show now."""

    def transact(self, ops: Sequence[Op], clock: int) -> int:
        now = recorded(ops, clock, self.times[-1] if self.times else OPEN_START)
        spoken = self.spoken
        for ordinal, op in enumerate(ops):
            spoken = self._after(spoken, op, now, ordinal)
        self.spoken = spoken
        self.times.append(now)
        for op in ops:
            if op["op"] == "erase":
                self._wipe(op)
        for key in self.versions.keys() | {s.key for s in spoken}:
            self._record(key, now)
        return now

    def _after(self, spoken: list[Spoken], op: Op, now: int, ordinal: int) -> list[Spoken]:
        observed = _instant(op.get("observed_at"), now)
        if observed > now:
            raise Refusal("observed_at_in_future")
        match op["op"]:
            case "withdraw":
                rest = [s for s in spoken if not _withdrawn(s, op)]
                if len(rest) == len(spoken):
                    raise Refusal("not_found")
                return rest
            case "erase":
                return [s for s in spoken if not (_erases(op, s.key) and _hits(op, s.op.get("value")))]
            case "replace":
                key = _key(op)
                gone = resting_on(self._fold(spoken, key), value_key(op["old"]), Instant(parse_instant(op["at"])))
                if not gone:
                    raise Refusal("not_found")
                rested = [s for e in gone for s in spoken if s.entry is e]
                rest = [s for s in spoken if s not in rested]
                return [*rest, self._say(replacement(op, rested), observed, ordinal)]
            case _:
                return [*spoken, self._say(op, observed, ordinal)]

    def _say(self, op: Op, observed: Instant, ordinal: int) -> Spoken:
        return Spoken(entry_of(op, self.is_functional(op), observed, len(self.times), ordinal), _key(op), op)

    def is_functional(self, op: Op) -> bool:
        predicate = op["predicate"] or ""
        return self.functional if isinstance(self.functional, bool) else self.functional.get(predicate, False)

    @staticmethod
    def _fold(spoken: Sequence[Spoken], key: Key) -> Line:
        return fold(s.entry for s in spoken if s.key == key)

    def _wipe(self, op: Op) -> None:
        for key in [k for k in self.versions if _erases(op, k)]:
            self.versions[key] = [row for row in self.versions[key] if not _hits(op, row.value)]
            self.extents[key] = [e for e in self.extents[key] if not _hits(op, _text(e.entry.value))]

    def _record(self, key: Key, now: int) -> None:
        rows = self.versions.setdefault(key, [])
        open_rows = {_run(row): row for row in rows if row.recorded_to == OPEN_END}
        before = Line.of((OPEN_START, OPEN_END), open_rows, self.extents.setdefault(key, []))
        change = difference(before, self._fold(self.spoken, key))
        for run in change.closed:
            rows.remove(open_rows[run])
            rows.append(open_rows[run]._replace(recorded_to=now))
        rows += [Rectangle(now, r.valid_from, r.valid_to, OPEN_END, _text(r.value), r.certain) for r in change.opened]
        hidden = set(change.hidden)
        self.extents[key] = [e for e in self.extents[key] if e not in hidden] + change.shown

    def slots(self) -> list[Key]:
        return sorted(self.versions)

    def audit(self, key: Key) -> list[Rectangle]:
        return sorted(self.versions.get(key, []))

    def ask(self, query: Mapping[str, Any]) -> JSONAnswer:
        return answer(self, query)

    def shown(self, key: Key, row: Rectangle) -> list[str] | None:
        if row.recorded_to != OPEN_END:
            return None
        names = {s.entry: s.op["id"] for s in self.spoken}
        inside = {e.entry for e in self.extents[key] if e.entry.value == value_key(row.value) and _meets(e, row)}
        return [names[entry] for entry in sorted(inside, key=lambda e: e.order)]

    def resting(self, key: Key, value: str, at: int) -> list[str]:
        """The ids of the claims that a replacement of the value at an instant would withdraw now."""
        names = {s.entry: s.op["id"] for s in self.spoken}
        return [names[e] for e in resting_on(self._fold(self.spoken, key), value_key(value), Instant(at))]

    def folded(self, key: Key) -> list[Rectangle]:
        parts = apart(sorted((s.entry for s in self.spoken if s.key == key), key=lambda e: e.order))
        return [row for part in parts for row in now_believed(fold(part), _text)]

    def evidence(self, key: Key, value: str) -> int:
        stand = standing([s.entry for s in self.spoken if s.key == key])
        return sum(entry.value == value_key(value) for entry in stand)


_conforms: type[World] = KernelWorld


def value_key(value: str) -> ValueKey:
    return ValueKey(value.encode())


def recorded(ops: Sequence[Op], clock: int, last: int) -> int:
    """The recorded time of a transaction (rule 13)."""
    stated = [parse_instant(op["import_recorded_at"]) for op in ops if "import_recorded_at" in op]
    if any(t <= last for t in stated):
        raise Refusal("recorded_at_in_past")
    if any(t > clock for t in stated):
        raise Refusal("recorded_at_in_future")
    if any("client_recorded_at" in op for op in ops):
        raise Refusal("recorded_at_not_settable")
    return stated[0] if stated else max(clock, last + 1)


def entry_of(op: Op, functional: bool, observed: int, position: int, ordinal: int = 0) -> Entry:
    """The entry of an assert or a retract; what the kernel refuses is a `Refusal`."""
    value = op.get("value")
    try:
        if op["op"] == "retract":
            return retraction(
                stated_of(op), value=None if value is None else value_key(value), functional=functional,
                observed_at=Instant(observed), position=position, ordinal=ordinal,
            )  # fmt: skip
        return assertion(
            stated_of(op), value=value_key(value or ""), functional=functional,
            observed_at=Instant(observed), position=position, ordinal=ordinal,
        )  # fmt: skip
    except VigenciaError as exc:
        raise Refusal(exc.violations[0].code) from exc


def stated_of(op: Op) -> Stated:
    return Stated(
        valid_from=op.get("valid_from"),
        valid_to=op.get("valid_to"),
        zone=op.get("tz"),
        semantics=Semantics(op["date_semantics"]) if op.get("date_semantics") else None,
    )


def replacement(op: Op, rested: Sequence[Spoken]) -> Op:
    """The assertion that takes the place of `rested`, its unstated bounds from the earliest that states them."""
    said = [stated_of(s.op) for s in rested]
    begun = next((s for s in said if s.valid_from not in (None, "unknown")), said[0])
    ended = next((s for s in said if s.valid_to is not None), begun)
    stated = inherit(stated_of(op), start_from=begun, end_from=ended)
    told: Op = {"op": "assert", "subject": op["subject"], "predicate": op["predicate"], "value": op["value"]}
    told |= {"valid_from": stated.valid_from, "valid_to": stated.valid_to}
    for name in ("id", "episode", "source"):
        if name in op:
            told[name] = op[name]
    if stated.zone is not None:
        told["tz"] = stated.zone
    if stated.semantics is not None:
        told["date_semantics"] = stated.semantics.value
    return told


def _instant(text: str | None, default: int) -> Instant:
    if not text:
        return Instant(default)
    try:
        return parse_instant(text)
    except VigenciaError as exc:
        raise Refusal(exc.violations[0].code) from exc


def _key(op: Op) -> Key:
    return op["subject"], op["predicate"] or ""


def _run(row: Rectangle) -> Run:
    return Run(Instant(row.valid_from), Instant(row.valid_to), value_key(row.value), row.certain)


def _text(value: ValueKey | None) -> str:
    return (value or b"").decode()


def now_believed(line: Line, name: Callable[[ValueKey], str]) -> list[Rectangle]:
    """The runs of a line as versions without recorded times."""
    return [Rectangle(0, run.valid_from, run.valid_to, OPEN_END, name(run.value), run.certain) for run in line.runs()]


def _meets(extent: Extent, row: Rectangle) -> bool:
    return extent.valid_from < row.valid_to and row.valid_from < extent.valid_to


def _withdrawn(spoken: Spoken, op: Op) -> bool:
    said = spoken.op
    given = (op.get("claim"), op.get("episode"), op.get("source"))
    has = (said.get("id"), said.get("episode"), said.get("source"))
    return spoken.entry.asserts and any(g is not None and g == h for g, h in zip(given, has, strict=True))


def _erases(op: Op, key: Key) -> bool:
    return key[0] == op["subject"] and op.get("predicate") in (None, key[1])


def _hits(op: Op, value: str | None) -> bool:
    return op.get("value") in (None, value)
