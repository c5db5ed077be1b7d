"""Which paths lead from an entity along given predicates, and when they hold.

What lies around some entities, whatever the predicates, is the question of `neighbourhood`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from graph.paging import Asked, OfSubject, OfValue, read_history
from graph.periods import ALWAYS
from graph.ports import Reader
from ontology.facts import FactVersion
from ontology.ids import EntityId, FactId
from ontology.instants import Instant
from ontology.intervals import Interval
from ontology.values import Value, ValueType, entity_value, value_key

Milliseconds = Callable[[], float]
"""A clock that only ever goes forward; where it begins does not matter."""

Node = EntityId | Value
"""An entity, or a value that is none."""


class Step(NamedTuple):
    """One edge of a path: along a predicate from subject to value, or backwards."""

    predicate: str
    inverse: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PathBudget:
    edges: int
    """Facts to read."""
    paths: int
    """Sequences of nodes to give."""
    milliseconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRow:
    """That all edges of a path hold over one unbroken stretch of valid time."""

    nodes: tuple[Node, ...]
    valid_from: Instant
    valid_to: Instant
    certain: bool
    """Whether all of it rests on certain versions."""
    facts: tuple[FactId, ...]
    """The versions on which it rests, in the order of the steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    rows: list[PathRow]
    """By (nodes, valid_from); an entity comes before a value."""
    cut_by: tuple[str, ...]
    """The limits that were met: edges, paths, milliseconds. Every row given holds, but may be a part of the whole."""


def paths(
    reader: Reader, start: EntityId, steps: Sequence[Step], known_at: Instant, valid_at: Instant | None,
    budget: PathBudget, clock: Milliseconds,
) -> Paths:  # fmt: skip
    """Every path from `start` along `steps` that does not meet a node twice, and when it holds (rule 15).

    A path holds where all of its edges do, at one `known_at`; what holds nowhere is left while walking. Several
    versions of one edge make one row, joined where they touch. With `valid_at`, the rows that hold then, whole.
    From a value that is no entity a path only goes on backwards, to who else has it. Depth first, neighbours in the
    order of nodes.
    """
    walk = _PathWalk(reader, known_at, valid_at, budget, clock)
    walk.follow((start,), list(steps), [_Stretch(ALWAYS, ())])
    rows = sorted(walk.rows, key=lambda row: ([_node_order(node) for node in row.nodes], row.valid_from))
    return Paths(rows=rows, cut_by=tuple(walk.cut_by))


class _Stretch(NamedTuple):
    """A part of valid time over which the same versions hold a path."""

    interval: Interval
    versions: tuple[FactVersion, ...]


class _PathWalk:
    def __init__(
        self, reader: Reader, known_at: Instant, valid_at: Instant | None, budget: PathBudget, clock: Milliseconds
    ) -> None:
        self._reader = reader
        self._known_at = known_at
        self._valid_at = valid_at
        self._budget = budget
        self._clock = clock
        self._deadline = clock() + budget.milliseconds
        self._edges_left = budget.edges
        self._found = 0
        self._neighbours: dict[tuple[Node, Step], dict[Node, list[FactVersion]]] = {}
        self.rows: list[PathRow] = []
        self.cut_by: dict[str, None] = {}

    def follow(self, nodes: tuple[Node, ...], steps: Sequence[Step], stretches: Sequence[_Stretch]) -> None:
        """Give every path that goes on from `nodes` along `steps`."""
        if not steps:
            self._give(nodes, stretches)
            return
        for there, versions in self._around(nodes[-1], steps[0]).items():
            if self._spent():
                return
            shared = _shared(stretches, versions) if there not in nodes else []
            if shared and any(self._valid_at is None or self._valid_at in s.interval for s in shared):
                self.follow((*nodes, there), steps[1:], shared)

    def _give(self, nodes: tuple[Node, ...], stretches: Sequence[_Stretch]) -> None:
        rows = [row for row in _rows(nodes, stretches) if self._valid_at is None or _holds(row, self._valid_at)]
        if rows and self._found == self._budget.paths:
            self.cut_by["paths"] = None
        elif rows:
            self._found += 1
            self.rows += rows

    def _around(self, node: Node, step: Step) -> dict[Node, list[FactVersion]]:
        """The neighbours of a node in the order of nodes, each with the versions of the edge by valid time."""
        known = self._neighbours.get((node, step))
        if known is not None:
            return known
        asked: Asked
        if step.inverse:
            value = node if isinstance(node, Value) else entity_value(node)
            asked = OfValue(value_key(value), step.predicate)
        elif isinstance(node, Value):
            return {}
        else:
            asked = OfSubject(node, step.predicate)
        versions, cut = read_history(
            self._reader, asked, self._known_at, ALWAYS, certain=False, ceiling=self._edges_left
        )  # fmt: skip
        self._edges_left -= len(versions)
        if cut is not None:
            self.cut_by["edges"] = None
        grouped: dict[Node, list[FactVersion]] = {}
        for version in versions:
            there = version.slot.subject if step.inverse else _node(version.value)
            grouped.setdefault(there, []).append(version)
        known = self._neighbours[node, step] = dict(sorted(grouped.items(), key=lambda item: _node_order(item[0])))
        return known

    def _spent(self) -> bool:
        if self._clock() > self._deadline:
            self.cut_by["milliseconds"] = None
        return "paths" in self.cut_by or "milliseconds" in self.cut_by


def _shared(stretches: Sequence[_Stretch], versions: Sequence[FactVersion]) -> list[_Stretch]:
    """Where a path and one more edge hold; both lists come by valid time and overlap nowhere."""
    found: list[_Stretch] = []
    left = right = 0
    while left < len(stretches) and right < len(versions):
        path, version = stretches[left], versions[right]
        start = max(path.interval.start, version.valid_from)
        end = min(path.interval.end, version.valid_to)
        if start < end:
            found.append(_Stretch(Interval(start, end), (*path.versions, version)))
        if path.interval.end <= version.valid_to:
            left += 1
        else:
            right += 1
    return found


def _rows(nodes: tuple[Node, ...], stretches: Sequence[_Stretch]) -> list[PathRow]:
    """Stretches that touch, joined."""
    joined: list[list[_Stretch]] = []
    for stretch in stretches:
        if joined and joined[-1][-1].interval.end == stretch.interval.start:
            joined[-1].append(stretch)
        else:
            joined.append([stretch])
    return [
        PathRow(
            nodes=nodes,
            valid_from=parts[0].interval.start,
            valid_to=parts[-1].interval.end,
            certain=all(version.certain for part in parts for version in part.versions),
            facts=tuple(dict.fromkeys(v.id for step in zip(*(p.versions for p in parts), strict=True) for v in step)),
        )
        for parts in joined
    ]


def _holds(row: PathRow, instant: Instant) -> bool:
    return row.valid_from <= instant < row.valid_to


def _node(value: Value) -> Node:
    return EntityId(value.text) if value.type is ValueType.ENTITY else value


def _node_order(node: Node) -> tuple[int, str, str, str]:
    return (1, node.text, node.type.value, node.qualifier) if isinstance(node, Value) else (0, node, "", "")
