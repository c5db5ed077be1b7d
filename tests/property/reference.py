"""The shared oracles beside the repository: the reference model, and the files of cases."""

import importlib.util
import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from ontology.instants import OPEN_START, parse_instant
from tests.histories import Op
from tests.model import Refusal
from tests.readings import Key

ORACLES: Final = Path(__file__).resolve().parents[3] / "shared" / "oracles"

ReferenceModel: TypeAlias = Any
"""A `Model` of the reference; its module has no types."""

OFF_GRID: Final = frozenset({"random-7-184"})
"""Cases whose expected answers are those of too coarse a grid: the reference model itself gives others once the
microsecond after each recorded time is among its points."""


@cache
def oracle_cases(name: str) -> list[Any]:
    """The cases of an oracle file; skips the test where the shared files are not there."""
    path = ORACLES / name
    if not path.exists():
        _skip(f"there are no shared oracles at {path}")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


@cache
def reference() -> Any:
    """The module of the reference model; skips the test where it is not there."""
    path = ORACLES / "reference_model.py"
    spec = importlib.util.spec_from_file_location("reference_model", path)
    if not path.exists() or spec is None or spec.loader is None:
        _skip(f"there is no reference model at {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _skip(reason: str) -> NoReturn:
    import pytest  # here, so that those who skip nothing start fast

    pytest.skip(reason)


def reference_model(functional: bool, said: Iterable[Sequence[Op]], times: Iterable[int]) -> ReferenceModel:
    """An empty reference model whose grid has every instant that a history can make an edge of belief."""
    listed = [op for transaction in said for op in transaction]
    zones = {"UTC"} | {op["tz"] for op in listed if "tz" in op}  # a replacement takes that of what it replaces
    ops = [{**op, "tz": zone} for op in listed for zone in zones]
    grid: set[int] = reference().points({"ops": ops, "queries": []})
    grid |= {t + d for t in times for d in (-1, 0, 1)}
    return reference().Model(functional, grid | {OPEN_START + 1})


def tell(model: ReferenceModel, ops: Sequence[Op]) -> None:
    """One transaction; what the reference refuses is a `Refusal`."""
    try:
        model.transact(ops, parse_instant(ops[0]["recorded_at"]))
    except reference().Refused as exc:
        raise Refusal(str(exc)) from None


def runs(model: ReferenceModel, number: int, key: Key) -> set[tuple[int, int, str, bool]]:
    """(from, to, value, certain) of what the reference believed of a slot after so many transactions.

    The first microsecond of the axis is read as the one after it. An open start with an unknown end makes it certain
    in the reference, up to whatever is the first point of its grid; no text can name that period.
    """
    _, second, *rest = model.timeline(model.snaps[number], *key)
    line = [second, second, *rest]
    return {
        (start, end, value, mark == "C")
        for value in {v for cell in line for v in cell}
        for mark in "CP"
        for start, end in model.runs(_held(line, value, mark))
    }


def _held(line: Sequence[dict[str, str]], value: str, mark: str) -> Any:
    return lambda i: line[i].get(value) == mark
