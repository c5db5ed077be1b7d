"""What is believed, by brute force: a naive model that is to be checked by reading it.

It is written from the rules of the time page and shares nothing with `ontology.fold`: valid time is cut into
cells at every instant that an operation of the slot mentions, each cell holds its values, and after every
transaction the slots that it touched are folded again from all that stands. Nothing here is fast.

Operations are dicts in the form of the oracle files (`Op`), values and ids are their strings; all that is
computed is a plain integer of microseconds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, cast

from ontology.durations import parse_duration
from ontology.errors import Incorrect
from ontology.instants import OPEN_END, OPEN_START, Instant, Semantics, parse_bound, parse_instant
from ontology.intervals import Interval
from tests.histories import Op
from tests.readings import Key, Readings, Rectangle


class Refusal(Exception):
    """The transaction leaves no trace; the argument is the code of the rule that refused it."""


class Ending(Enum):
    """How an end was stated."""

    KNOWN = "a date"
    OPEN = "absent"
    INFINITY = "infinity"
    UNKNOWN = "unknown"


class Bound(NamedTuple):
    """The earliest and the latest instant that a text may mean."""

    lo: int
    hi: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Saying:
    """An assert or a retract as said, its texts read once."""

    op: Op
    key: Key
    order: tuple[int, int, int]
    """(observed, transaction, place in it): rule 1."""
    functional: bool
    dated: bool
    start: Bound
    ending: Ending
    end: Bound
    expires: int
    """From this recorded time on it is served no more."""

    @property
    def asserts(self) -> bool:
        return self.op["op"] == "assert"

    @property
    def value(self) -> str | None:
        return self.op.get("value")

    @property
    def observed(self) -> int:
        return self.order[0]

    @property
    def points(self) -> set[int]:
        """Where the answer of a slot can change because of this saying."""
        return {*self.start, self.begun, *self.end, self.observed}

    @property
    def begun(self) -> int:
        """Up to where the start alone makes it certain: one microsecond, but not of an open start, which is nowhere."""
        return self.start.hi if self.start.hi == OPEN_START else self.start.hi + 1


@dataclass
class Held:
    """How a value is held in one cell, and which claims make it show there."""

    certain: bool
    seen: list[Saying]


Cell = dict[str, Held]


class Timeline:
    """The belief of one slot that a list of sayings makes: cells of valid time, each from its instant of the grid."""

    def __init__(self, sayings: Iterable[Saying]) -> None:
        self.sayings = sorted(sayings, key=lambda s: s.order)
        inner = {point for saying in self.sayings for point in saying.points}
        self.grid = sorted({OPEN_START, OPEN_END} | inner)
        self.cells: list[Cell] = [{} for _ in self.grid[:-1]]
        self.standing: list[Saying] = []
        self._runs: set[tuple[int, int, str, bool]] | None = None
        for saying in self.sayings:
            if saying.asserts:
                self._put(saying)
                self._end_older(saying)
            else:
                self._cut_hole(saying)

    # ---- reading

    def at(self, instant: int) -> Cell:
        return next(cell for t, cell in reversed(list(self.between())) if t <= instant)

    def between(self, start: int = OPEN_START, end: int = OPEN_END) -> Iterator[tuple[int, Cell]]:
        """The cells that begin in `[start, end)`."""
        return ((t, cell) for t, cell in zip(self.grid, self.cells, strict=False) if start <= t < end)

    def stretches(self, value: str, certainties: Sequence[bool] = (True, False)) -> list[Interval]:
        """The unbroken periods over which the value is held with one of these certainties."""
        found: list[Interval] = []
        for (t, cell), after in zip(self.between(), self.grid[1:], strict=True):
            if value in cell and cell[value].certain in certainties:
                if found and found[-1].end == t:
                    found[-1] = Interval(found[-1].start, Instant(after))
                else:
                    found.append(Interval(Instant(t), Instant(after)))
        return found

    def stretch_around(self, value: str, instant: int) -> Interval | None:
        return next((s for s in self.stretches(value) if s.start <= instant < s.end), None)

    def values(self) -> set[str]:
        return {value for cell in self.cells for value in cell}

    def runs(self) -> set[tuple[int, int, str, bool]]:
        """(from, to, value, certain) of every maximal run of one value and one certainty."""
        if self._runs is None:
            self._runs = {
                (run.start, run.end, value, certain)
                for value in self.values()
                for certain in (True, False)
                for run in self.stretches(value, (certain,))
            }
        return self._runs

    def showing(self, value: str, within: Interval) -> list[Saying]:
        """The claims that make the value show somewhere in an interval, in their order."""
        seen = {
            id(s): s for _, c in self.between(within.start, within.end) for s in (c[value].seen if value in c else ())
        }
        return sorted(seen.values(), key=lambda s: s.order)

    def wipe(self, value: str | None) -> None:
        """Remove a value, or all of them, as if it had never been told."""
        for cell in self.cells:
            for known in list(cell):
                if value in (None, known):
                    del cell[known]
        self.standing = [s for s in self.standing if value not in (None, s.value)]
        self._runs = None

    # ---- an assertion

    def _put(self, new: Saying) -> None:
        """Write an assertion over the extent that it speaks of (rules 2, 3, 4, 7, 8, 9)."""
        value = _value(new)
        self.standing.append(new)
        start, sure_from = new.start
        sure_to, end = new.end
        if not new.dated:
            start = self._last_certain_rival_ends(new)
        reinforces = False
        if new.ending is Ending.OPEN:
            sure_to, end = self._next_known_start(new)
            believed = self.at(sure_from).get(value)
            if believed is not None and believed.certain:
                around = self.stretch_around(value, sure_from)
                assert around is not None
                sure_to, end = min(sure_to, around.end), min(end, around.end)
                reinforces = not new.dated or value in self.at(start)
        elif new.ending is Ending.UNKNOWN:
            sure_to = new.begun
            end = next((t for t, cell in self.between(sure_to, new.observed) if _rivals(cell, new)), new.observed)
        elif new.ending is Ending.KNOWN and not new.dated and _rivals(self.at(sure_from), new):
            sure_to = end = sure_from
        for t, cell in self.between(start, end):
            if not reinforces:
                self._write(cell, new, sure=sure_from <= t < sure_to)
            if value in cell:
                cell[value].seen.append(new)

    @staticmethod
    def _write(cell: Cell, new: Saying, *, sure: bool) -> None:
        value = _value(new)
        held = cell.setdefault(value, Held(certain=False, seen=[]))
        if new.functional:
            for rival in [v for v in cell if v != value]:
                if sure:
                    del cell[rival]
                elif not held.certain:
                    cell[rival].certain = False
        held.certain = held.certain or sure

    def _last_certain_rival_ends(self, new: Saying) -> int:
        """The earliest instant of an unknown start: it never unseats what is known before it."""
        start: int = OPEN_START
        for t, cell in self.between(OPEN_START, new.start.hi):
            if _rivals(cell, new):
                start = self.grid[self.grid.index(t) + 1]
        return start

    def _next_known_start(self, new: Saying) -> tuple[int, int]:
        """Up to where an open period is certain, and possible: where a standing claim of a later start shows."""
        value, mine = _value(new), new.start.hi
        certainly_over, possibly_over = [int(OPEN_END)], [int(OPEN_END)]
        for t, cell in self.between():
            for other, held in cell.items():
                same = other == value
                for claim in held.seen if new.functional or same else ():
                    later, surely_later = claim.start.hi > mine, claim.start.lo > mine
                    if held.certain and later and (same or surely_later) and t >= claim.start.hi:
                        certainly_over.append(t)
                    if surely_later and (held.certain or not same) and t >= claim.start.lo:
                        possibly_over.append(t)
        return min(certainly_over + possibly_over), min(certainly_over)

    # ---- a stated end, a retraction

    def _end_older(self, new: Saying) -> None:
        """A stated end also ends the open claims of the value that begin before it (rule 2)."""
        value = _value(new)
        if new.ending is Ending.KNOWN:
            sure_to, end = new.end
        elif new.ending is Ending.UNKNOWN:
            end = new.observed
            over = self.stretch_around(value, end - 1)
            if over is None:
                return
            witnesses = [
                max(s.begun, s.observed)
                for _, cell in self.between(over.start, end)
                for s in cell[value].seen
                if s is not new and s.ending is Ending.OPEN
            ]
            sure_to = min(end, max([over.start, *witnesses, *([new.begun] if new.dated else [])]))
        else:
            return
        for t, cell in self.between(max(sure_to, new.start.lo) if new.dated else sure_to):
            if value not in cell or any(_stays(s, new, t, end) for s in cell[value].seen if s is not new):
                return
            if t < end:
                cell[value].certain = False
            else:
                del cell[value]

    def _cut_hole(self, hole: Saying) -> None:
        """Cut a period out of what is believed; claims that begin inside it stop standing (rule 6)."""
        for t, cell in self.between(hole.start.lo, hole.end.hi):
            for value in [v for v in cell if hole.value in (None, v)]:
                if hole.start.hi <= t < hole.end.lo:
                    del cell[value]
                else:
                    cell[value].certain = False
        self.standing = [
            s
            for s in self.standing
            if hole.value not in (None, s.value) or not hole.start.hi <= s.start.hi < hole.end.lo
        ]


def _stays(other: Saying, new: Saying, t: int, end: int) -> bool:
    """Whether another claim of the value holds it up at `t`, though the new one says that it ended at `end`."""
    if other.start.hi >= end and t >= other.start.lo:
        return True  # it begins later: a statement of its own
    match other.ending:
        case Ending.OPEN:
            return False
        case Ending.KNOWN:  # of one period stated twice, the later said decides the end
            return new.ending is Ending.UNKNOWN or other.start != new.start
        case _:
            return True


def _rivals(cell: Cell, new: Saying) -> bool:
    """Whether another value certainly holds here, in a slot that holds one."""
    return new.functional and any(held.certain for value, held in cell.items() if value != new.value)


def _value(saying: Saying) -> str:
    assert saying.value is not None
    return saying.value


# ---- reading texts


def text_bound(text: str, zone: str = "UTC", semantics: str = "") -> Bound:
    """The instants that a text may mean; what cannot be read is a `Refusal`."""
    try:
        granule = parse_bound(text, zone, Semantics(semantics))
    except Incorrect as exc:
        raise Refusal(exc.violations[0].code) from exc
    return Bound(granule.earliest, granule.latest)


def saying(op: Op, *, order: tuple[int, int, int], functional: bool, recorded: int = 0) -> Saying:
    """Read an assert or a retract; refused is what it says wrongly by itself (rule 12)."""
    zone, semantics = op.get("tz", "UTC"), op.get("date_semantics", "")
    retracts = op["op"] == "retract"
    valid_from = op.get("valid_from") or ("-infinity" if retracts else "unknown")
    valid_to = op.get("valid_to") or ("infinity" if retracts else None)

    ending, end = Ending.KNOWN, Bound(OPEN_END, OPEN_END)
    last_possible_start = order[0]
    if valid_to is None:
        ending = Ending.OPEN
    elif valid_to == "infinity" and not retracts:
        ending = Ending.INFINITY
    elif valid_to == "unknown":
        ending, end = Ending.UNKNOWN, Bound(OPEN_END, order[0])
    else:
        end = text_bound(valid_to, zone, semantics)
        last_possible_start = min(last_possible_start, end.lo - 1)
        if semantics == "whole":
            end = Bound(end.hi, end.hi)

    dated = valid_from != "unknown"
    start = text_bound(valid_from, zone, semantics) if dated else Bound(last_possible_start, last_possible_start)
    if semantics == "whole":
        start = Bound(start.lo, start.lo)
    if retracts and end.hi < start.lo:
        raise Refusal("inverted_interval")
    if not retracts and dated and end.hi <= start.lo:
        raise Refusal("empty_interval" if end.hi == start.lo else "inverted_interval")
    return Saying(
        op=op, key=_key(op), order=order, functional=functional,
        dated=dated, start=start, ending=ending, end=end,
        expires=recorded + parse_duration(op["ttl"], "") if "ttl" in op else OPEN_END,
    )  # fmt: skip


# ---- all slots over all transactions


class Model(Readings):
    """Everything said to one tenant, and what it believed after each transaction."""

    def __init__(self, functional: bool | Mapping[str, bool] = False) -> None:
        self.functional = functional
        """Whether predicates hold one value at a time; counts for what is said from now on."""
        self.times: list[int] = []
        """The recorded time of each transaction."""
        self.snapshots: list[dict[Key, Timeline]] = [{}]
        """What was believed before the first transaction, and after each."""
        self.sayings: list[Saying] = []
        """All that stands, in the order of rule 1."""

    # ---- writing

    def transact(self, ops: Sequence[Op], clock: int) -> int:
        """All of `ops` or, with a `Refusal`, none; gives the recorded time."""
        now = self._recorded(ops, clock)
        sayings = self.sayings
        for ordinal, op in enumerate(ops):
            sayings = self._after(sayings, op, now, ordinal)
        snapshot = {key: self._timeline(sayings, key) for key in {s.key for s in sayings}}
        for op in ops:
            if op["op"] == "erase":  # the one operation that changes what was believed
                for (subject, predicate), timeline in self._all_timelines():
                    if subject == op["subject"] and op.get("predicate") in (None, predicate):
                        timeline.wipe(op.get("value"))
        self.sayings = sayings
        self.times.append(now)
        self.snapshots.append(snapshot)
        return now

    def _recorded(self, ops: Sequence[Op], clock: int) -> int:
        last = self.times[-1] if self.times else OPEN_START
        stated = [parse_instant(op["import_recorded_at"]) for op in ops if "import_recorded_at" in op]
        if any(t <= last for t in stated):
            raise Refusal("recorded_at_in_past")
        if any(t > clock for t in stated):
            raise Refusal("recorded_at_in_future")
        if any("client_recorded_at" in op for op in ops):
            raise Refusal("recorded_at_not_settable")
        return stated[0] if stated else max(clock, last + 1)

    def _after(self, sayings: list[Saying], op: Op, now: int, ordinal: int) -> list[Saying]:
        """What stands after one operation more."""
        text = op.get("observed_at")
        order = (text_bound(text).lo if text else now, len(self.times), ordinal)
        if order[0] > now:
            raise Refusal("observed_at_in_future")
        match op["op"]:
            case "assert" | "retract":
                return self._with(sayings, op, order, now)
            case "withdraw":
                rest = [s for s in sayings if not _withdrawn(s, op)]
                if len(rest) == len(sayings):
                    raise Refusal("not_found")
                return rest
            case "replace":
                rested = self._rested_on(sayings, _key(op), op["old"], text_bound(op["at"]).lo)
                if not rested:
                    raise Refusal("not_found")
                return self._with([s for s in sayings if s not in rested], _replacement(op, rested), order, now)
            case "erase":
                return [s for s in sayings if not _erased(s, op)]
            case other:
                raise ValueError(other)

    def _with(self, sayings: list[Saying], op: Op, order: tuple[int, int, int], now: int) -> list[Saying]:
        new = saying(op, order=order, functional=self.is_functional(op["predicate"] or ""), recorded=now)
        return sorted([*sayings, new], key=lambda s: s.order)

    @staticmethod
    def _rested_on(sayings: list[Saying], key: Key, value: str, at: int) -> list[Saying]:
        """The claims that show in the period of a value around an instant (rule 5)."""
        timeline = Timeline(s for s in sayings if s.key == key)
        period = timeline.stretch_around(value, at)
        return [] if period is None else timeline.showing(value, period)

    def _timeline(self, sayings: list[Saying], key: Key) -> Timeline:
        mine = [s for s in sayings if s.key == key]
        before = self.snapshots[-1].get(key)
        return before if before is not None and before.sayings == mine else Timeline(mine)

    def _all_timelines(self) -> Iterator[tuple[Key, Timeline]]:
        return (item for snapshot in self.snapshots for item in snapshot.items())

    # ---- reading

    def is_functional(self, predicate: str) -> bool:
        return self.functional if isinstance(self.functional, bool) else self.functional.get(predicate, False)

    def slots(self) -> list[Key]:
        return sorted({key for key, _ in self._all_timelines()})

    def snapshot(self, known_at: int | None = None) -> dict[Key, Timeline]:
        return self.snapshots[-1 if known_at is None else sum(t <= known_at for t in self.times)]

    def timeline(self, key: Key, known_at: int | None = None) -> Timeline:
        return self.snapshot(known_at).get(key) or Timeline([])

    def audit(self, key: Key) -> list[Rectangle]:
        """Every version there ever was: the runs of each snapshot, for as long as they stayed the same."""
        rows: list[Rectangle] = []
        running: dict[tuple[int, int, str, bool], int] = {}
        for recorded, snapshot in zip([*self.times, OPEN_END], [*self.snapshots[1:], {}], strict=True):
            now = snapshot[key].runs() if key in snapshot else set()
            for run in [r for r in running if r not in now]:
                valid_from, valid_to, value, certain = run
                rows.append(Rectangle(running.pop(run), valid_from, valid_to, recorded, value, certain))
            for run in now:
                running.setdefault(run, recorded)
        return sorted(rows)

    def served(self, key: Key, known_at: int) -> list[tuple[int, int, str, bool]]:
        """What is served of a slot: of the runs that were believed then, those in which some claim has not expired.

        An expired claim still bounds its predecessors: what is believed does not know of any end.
        """
        timeline = self.timeline(key, known_at)
        return sorted(
            (valid_from, valid_to, value, certain)
            for valid_from, valid_to, value, certain in timeline.runs()
            if any(
                said.expires > known_at
                for said in timeline.showing(value, Interval(Instant(valid_from), Instant(valid_to)))
            )
        )

    def shown(self, key: Key, row: Rectangle) -> list[str]:
        """The ids of the claims that show in a version, as known now or when it was last believed."""
        timeline = self.timeline(key, row.recorded_to - 1)
        return [said.op["id"] for said in timeline.showing(row.value, row.valid)]

    def resting(self, key: Key, value: str, at: int) -> list[str]:
        """The ids of the claims that a replacement of the value at an instant would withdraw now."""
        return [said.op["id"] for said in self._rested_on(self.sayings, key, value, at)]

    def evidence(self, key: Key, value: str) -> int:
        """How many claims of a value stand, those that show nowhere included."""
        return sum(s.value == value for s in self.timeline(key).standing)


def _key(op: Op) -> Key:
    return op["subject"], op["predicate"] or ""


def _withdrawn(said: Saying, op: Op) -> bool:
    told = said.op
    given = [
        (op.get("claim"), told.get("id")),
        (op.get("episode"), told.get("episode")),
        (op.get("source"), told.get("source")),
    ]
    return said.asserts and any(wanted is not None and wanted == has for wanted, has in given)


def _erased(said: Saying, op: Op) -> bool:
    subject, predicate = said.key
    return (
        subject == op["subject"] and op.get("predicate") in (None, predicate) and op.get("value") in (None, said.value)
    )


def _replacement(op: Op, rested: list[Saying]) -> Op:
    """What is not stated comes from the earliest claim that states it (rule 5)."""
    begun = next((s.op for s in rested if s.dated), rested[0].op)
    ended = next((s.op for s in rested if s.op.get("valid_to")), begun)
    inherited: dict[str, object] = {k: v for k, v in begun.items() if k in ("valid_from", "tz", "date_semantics")}
    inherited |= {k: v for k, v in ended.items() if k == "valid_to"}
    own = {k: v for k, v in op.items() if k not in ("old", "at") and v is not None}
    return cast(Op, {**inherited, **own, "op": "assert"})
