"""Runs the cases of an oracle file on an engine and says where its answers differ."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from ontology.errors import NaiveInstant
from ontology.instants import OPEN_END, OPEN_START, Instant, Semantics, parse_bound, parse_instant
from tests.oracles import intervals
from tests.oracles.cases import PURE, Case, Op, Query
from tests.oracles.memory import Engine, Memory, Refusal, in_order

BOUNDS: Final = ("valid_from", "valid_to", "recorded_from", "recorded_to")

POINTS: Final = ("valid_from", "valid_to", "observed_at", "at", "valid_at", "valid_after", "valid_until")

Cell = tuple[str, Instant, Instant]
"""A value at the first instant of an elementary stretch of valid and of recorded time."""


@dataclass(kw_only=True)
class Outcome:
    """What a run found."""

    cases: int = 0
    ops: int = 0
    queries: int = 0
    differences: list[str] = field(default_factory=list)
    finer: list[str] = field(default_factory=list)
    """Answers that agree with the expected ones at every instant the reference looked at, and differ between them."""

    def __str__(self) -> str:
        counted = f"{self.cases} cases, {self.ops} ops, {self.queries} queries"
        return "\n".join(self.differences) or f"ok: {counted}"


def run(engine: Engine, cases: Sequence[Case], *, pure: bool = True) -> Outcome:
    """Write all cases, each into a tenant of its own, then ask; `pure=False` leaves questions about intervals out."""
    outcome = Outcome(cases=len(cases))
    memories = [engine.fresh() for _ in cases]
    for case, memory in zip(cases, memories, strict=True):
        outcome.ops += len(case.ops)
        outcome.differences += write(case, memory)
    engine.settle()
    for case, memory in zip(cases, memories, strict=True):
        outcome.queries += sum(pure or query["kind"] not in PURE for query in case.queries)
        differences, finer = ask(case, memory, pure=pure)
        outcome.differences += differences
        outcome.finer += finer
    return outcome


def write(case: Case, memory: Memory) -> list[str]:
    """Tell a memory all operations of a case; gives each transaction that was not refused as it should be."""
    differences: list[str] = []
    claims: dict[str, str] = {}
    memory.declare({n: "functional" if f else "many" for n, f in case.predicates.items()}, clock=case.before)
    for ops in case.transactions:
        wanted = next((op["expect_error"] for op in ops if "expect_error" in op), None)
        refused = _transact(case, memory, ops, claims)
        if refused != wanted:
            differences.append(f"{case.id}: op {ops} -> {refused}, expected {wanted}")
    return differences


def _transact(case: Case, memory: Memory, ops: Sequence[Op], claims: dict[str, str]) -> str | None:
    """The code with which a transaction is refused; `claims` learns the ids of the claims of the others."""
    imported = next((parse_instant(op["import_recorded_at"]) for op in ops if "import_recorded_at" in op), None)
    items = [case.item(op, claims) for op in ops]
    try:
        receipt = memory.write(items, clock=parse_instant(ops[0]["recorded_at"]), recorded_at=imported)
    except Refusal as exc:
        return str(exc)
    told = zip(ops, receipt["items"], strict=True)
    claims |= {op["id"]: item["claim"] for op, item in told if "id" in op and item["claim"] is not None}
    return None


def ask(case: Case, memory: Memory, *, pure: bool = True) -> tuple[list[str], list[str]]:
    """Ask a memory all questions of a case; gives each wrong answer, and the names of those that are finer."""
    differences, finer = [], []
    for number, query in enumerate(case.asked):
        name = f"{case.id} query {number} ({query['kind']})"
        if query["kind"] in PURE and not pure:
            continue
        found = intervals.answer(query) if query["kind"] in PURE else memory.ask(query)
        if query["kind"] == "audit":
            problem = audit_differs(found, query, memory.ask({"kind": "recorded"}))
        else:
            problem = "" if found == query["expect"] else f"   got      {found}\n   expected {query['expect']}"
        if problem and query["kind"] == "history" and _agree(case, found, query["expect"]):
            finer.append(name)
        elif problem:
            differences.append(f"{name}:\n{problem}")
    return differences, finer


def _agree(case: Case, found: Sequence[dict[str, str]], expected: Sequence[dict[str, str]]) -> bool:
    """Whether two histories say the same at every instant of the reference model's grid.

    The reference knows belief at the instants that a case mentions and draws each answer up to the next of them. A
    bound that it computes from others, as *one microsecond after it was seen*, may lie between two: then its
    answer is coarser than its own rule, and asking it about one instant more changes it.
    """
    if found != in_order(found):
        return False
    grid = _reference_grid(case)
    rows = ({(r["value"], t) for r in side for t in _within(r, grid)} for side in (found, expected))
    return next(rows) == next(rows)


def _within(row: dict[str, str], grid: Sequence[Instant]) -> list[Instant]:
    return [t for t in grid if _instant(row["valid_from"]) <= t < _instant(row["valid_to"])]


def _reference_grid(case: Case) -> list[Instant]:
    """The instants that the reference model looks at (`points` in it)."""
    audits = [row for query in case.queries if query["kind"] == "audit" for row in query["expect"]]
    grid = {OPEN_START, OPEN_END}
    for item in (*case.ops, *case.queries, *audits):
        for name in POINTS:
            if item.get(name) not in (None, "unknown", "infinity", "-infinity"):
                try:
                    granule = parse_bound(item[name], item.get("tz", "UTC"), Semantics.SOMETIME)
                except NaiveInstant:
                    continue
                grid |= {Instant(t + d) for t in (granule.earliest, granule.latest) for d in (-1, 0, 1)}
        if item.get("op") in ("assert", "replace"):
            grid.add(parse_instant(item["recorded_at"]))
    return sorted(grid)


def audit_differs(found: Sequence[dict[str, str]], query: Query, recorded: Sequence[str]) -> str:
    """How the rectangles of an audit differ from those expected, which may partition the same belief in another way."""
    expected = query["expect"]
    off = [row for row in expected if not {row["recorded_from"], row["recorded_to"]} <= {*recorded, "infinity"}]
    if off:
        return f"   expected rows off the recorded times {recorded}: {off}"
    grids = [_grid([*found, *expected], *side) for side in (BOUNDS[:2], BOUNDS[2:])]
    got, want = _cells(found, grids), _cells(expected, grids)
    if len(set(got)) < len(got):
        return f"   rows of one value overlap: {found}"
    if len(set(want)) < len(want):
        return f"   expected rows overlap: {expected}"
    missing, extra = sorted(set(want) - set(got)), sorted(set(got) - set(want))
    return f"   missing {missing}\n   extra   {extra}" if missing or extra else ""


def _grid(rows: Sequence[dict[str, Any]], start: str, end: str) -> list[Instant]:
    return sorted({_instant(row[side]) for row in rows for side in (start, end)})


def _cells(rows: Sequence[dict[str, Any]], grids: Sequence[Sequence[Instant]]) -> list[Cell]:
    valid, recorded = grids
    return [
        (row["value"], v, r)
        for row in rows
        for v, _ in pairwise(valid)
        if _instant(row["valid_from"]) <= v < _instant(row["valid_to"])
        for r, _ in pairwise(recorded)
        if _instant(row["recorded_from"]) <= r < _instant(row["recorded_to"])
    ]


def _instant(text: str) -> Instant:
    return parse_bound(text).earliest
