"""Does the kernel that is imported here do what it should? `python -m tests.mutants.kill` says so in a second or two.

Ends with 0 if it does, and with `KILLED` and the reason where it does not. `test_mutants` runs it on patched copies.
"""

import sys
import traceback
from collections.abc import Sequence
from random import Random
from typing import Final, Protocol

import ontology
from ontology.instants import Instant, parse_instant
from ontology.line import Beyond, Line
from tests.histories import EVERYTHING, ONE_VALUE, PLAIN, Op, as_case, history, transactions
from tests.model import Model, Refusal
from tests.property.oracle_json import answer, same
from tests.property.reference import OFF_GRID, ORACLES, oracle_cases
from tests.property.windows import check_window
from tests.property.worlds import KernelWorld

KILLED: Final = 3
HISTORIES: Final = 900
WINDOWS: Final = 400


def main() -> int:
    print(ontology.__file__)
    try:
        check_window_edges()
        for seed in range(HISTORIES):
            check_history(seed)
        for seed in range(WINDOWS):
            check_window(Random(seed))
        check_oracles()
    except AssertionError as exc:
        print(f"killed: {exc}"[:2_000])
        return KILLED
    except Exception:
        traceback.print_exc(limit=-3)
        print("killed: it broke down")
        return KILLED
    return 0


def check_history(seed: int) -> None:
    """A random history gives the belief, the evidence and the refusals of the model."""
    rng = Random(seed)
    functional = rng.random() < 0.6
    said = history(rng, (PLAIN, EVERYTHING, ONE_VALUE)[seed % 3])
    model, world = Model(functional), KernelWorld(functional)
    where = f"history {seed}: {as_case(said, functional=functional)}"
    for ops in said:
        assert told(world, ops) == told(model, ops), where
    for key in model.slots():
        assert world.audit(key) == model.audit(key), where
        for row in model.visible(key):
            assert world.shown(key, row) == model.shown(key, row), where
            at = row.valid_to - 1
            assert world.resting(key, row.value, at) == model.resting(key, row.value, at), where
        folded = sorted(row[1:3] + row[4:] for row in world.folded(key))
        assert folded == sorted(row[1:3] + row[4:] for row in model.visible(key)), where
        for value in "xyz":
            assert world.evidence(key, value) == model.evidence(key, value), where


def check_window_edges() -> None:
    """Whoever asks a window for more than it has is told so."""
    window = Line(Instant(0), Instant(10))
    for more in (window.cells(Instant(5), Instant(11)), window.cells_before(Instant(5))):
        try:
            list(more)
        except Beyond:
            continue
        raise AssertionError("a window gave more than it has")


def check_oracles() -> None:
    """The worked examples, where they are there."""
    for name in ("bitemporal.jsonl", "random.jsonl"):
        for case in oracle_cases(name) if (ORACLES / name).exists() else ():
            world = KernelWorld(case.get("functional", False))
            for ops in transactions(case["ops"]):
                expected = next((op["expect_error"] for op in ops if "expect_error" in op), None)
                assert told(world, ops) == expected, f"oracle {case['id']}: {ops}"
            for query in case["queries"] if case["id"] not in OFF_GRID else ():
                assert same(query, answer(world, query)), f"oracle {case['id']}: {query}"


class Told(Protocol):
    """Whoever can be told something."""

    def transact(self, ops: Sequence[Op], clock: int) -> int: ...


def told(world: Told, ops: Sequence[Op]) -> str | None:
    """The code with which a transaction is refused, `None` where it is not."""
    try:
        world.transact(ops, parse_instant(ops[0]["recorded_at"]))
    except Refusal as refusal:
        return str(refusal)
    return None


if __name__ == "__main__":
    sys.exit(main())
