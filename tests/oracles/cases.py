"""What an oracle file says: cases of operations on one tenant, and the questions that must have given answers.

The format is that of the reference model (`reference_model.py` beside the shared files): names stand for subjects
and values, `recorded_at` of an operation is what the server's clock reads, neighbours with one `tx` are one
transaction.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from ontology.instants import DAY, Instant, parse_instant

Op: TypeAlias = Mapping[str, Any]
Query: TypeAlias = Mapping[str, Any]
Item: TypeAlias = dict[str, Any]
"""One item of `POST /v1/claims`."""

PURE: Final = frozenset({"allen", "intersect", "period"})
"""Questions about intervals alone, which no memory is asked."""

SAID: Final = ("valid_from", "valid_to", "tz", "date_semantics", "observed_at", "source", "episode", "ttl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case of a file."""

    id: str
    functional: bool | Mapping[str, bool]
    ops: Sequence[Op]
    queries: Sequence[Query]

    @property
    def transactions(self) -> list[list[Op]]:
        groups: list[list[Op]] = []
        for op in self.ops:
            if groups and op.get("tx") is not None and groups[-1][-1].get("tx") == op["tx"]:
                groups[-1].append(op)
            else:
                groups.append([op])
        return groups

    @property
    def predicates(self) -> dict[str, bool]:
        """Every predicate of the case, and whether it holds one value at a time."""
        names: set[str] = {item["predicate"] for item in (*self.ops, *self.queries) if item.get("predicate")}
        names |= {step.removeprefix("^") for query in self.queries for step in query.get("steps", ())}
        chosen = self.functional
        return {n: chosen if isinstance(chosen, bool) else chosen.get(n, False) for n in sorted(names)}

    @property
    def asked(self) -> list[Query]:
        """The questions, and once more for the certain alone where nothing leaves anything merely possible."""
        asked = list(self.queries)
        if all(map(is_exact, self.ops)):
            kinds = ("state", "state_all", "history")
            asked += [{**query, "certainty": "certain"} for query in self.queries if query["kind"] in kinds]
        return asked

    @property
    def before(self) -> Instant:
        """A day before the clock of every operation."""
        clocks = [parse_instant(op[f]) for op in self.ops for f in ("recorded_at", "import_recorded_at") if f in op]
        return Instant(min(clocks, default=Instant(0)) - DAY)

    def refers(self, value: str) -> bool:
        """Whether a value names an entity: one that is a subject too, and every one where paths are asked."""
        return any(q["kind"] == "path" for q in self.queries) or any(op.get("subject") == value for op in self.ops)

    def item(self, op: Op, claims: Mapping[str, str]) -> Item:
        """An operation as `POST /v1/claims` takes it; `claims` gives the ids of claims by the names in the case."""
        item: Item = {"op": op["op"]}
        item |= {field: op[field] for field in SAID if op.get(field) is not None}
        if op.get("subject") is not None:
            item["subject"] = {"key": op["subject"]}
        for field in ("predicate", "at"):
            if op.get(field) is not None:
                item[field] = op[field]
        for field in ("value", "old"):
            if op.get(field) is not None:
                item[field] = self.wire_value(op[field])
        if op.get("claim") is not None:
            item["claim"] = claims.get(op["claim"], "clm_aaaaaaaa_1_0")
        if op.get("client_recorded_at") is not None:
            item["recorded_at"] = op["client_recorded_at"]
        return item

    def wire_value(self, value: str) -> dict[str, str]:
        return {"type": "entity", "key": value} if self.refers(value) else {"type": "text", "value": value}


def read_cases(path: Path) -> list[Case]:
    """The cases of a file, in order. Raises `ValueError` for an id that stands twice."""
    documents = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    cases = [
        Case(id=d["id"], functional=d.get("functional", False), ops=d["ops"], queries=d["queries"]) for d in documents
    ]
    if len({case.id for case in cases}) != len(cases):
        raise ValueError(f"an id of {path} stands twice")
    return cases


def is_exact(op: Op) -> bool:
    """Whether no end of the operation leaves anything merely possible."""
    if op.get("date_semantics") == "whole":
        return True
    granules = r"[\d-]{4,10}" if op.get("date_semantics") == "sometime" else r"[\d-]{4,7}"
    start = op.get("valid_from") or ("unknown" if op["op"] == "assert" else "-infinity")
    ends = [end for end in (start, op.get("valid_to") or "infinity") if end not in ("infinity", "-infinity")]
    return not any(end == "unknown" or re.fullmatch(granules, end) for end in ends)
