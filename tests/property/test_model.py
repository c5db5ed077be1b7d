"""The naive model is right: it agrees with the reference model and with the worked examples of the oracle files."""

from random import Random
from typing import Any

import pytest

from ontology.instants import parse_instant
from tests.histories import EVERYTHING, ONE_VALUE, PLAIN, Op, as_case, history, transactions
from tests.model import Model, Refusal
from tests.property.oracle_json import answer, same
from tests.property.reference import OFF_GRID, oracle_cases, reference_model, runs, tell
from tests.sizes import scaled


def test_the_model_agrees_with_the_reference_model_on_random_histories() -> None:
    for seed in range(scaled(5_000)):
        try:
            check_model(Random(seed))
        except AssertionError as exc:
            exc.add_note(f"seed {seed}")
            raise


def check_model(rng: Random) -> None:
    functional = rng.random() < 0.6
    compare(functional, history(rng, rng.choice([EVERYTHING, PLAIN, ONE_VALUE])))


def compare(functional: bool, said: list[list[Op]]) -> None:
    """Every refusal, every snapshot of every slot, the claims that show now and those that stand."""
    case = as_case(said, functional=functional)
    model = Model(functional)
    refused = [told(model, ops) for ops in said]
    other = reference_model(functional, said, model.times)
    assert [told(other, ops) for ops in said] == refused, case
    assert other.times == model.times
    for key in model.slots():
        for number, snapshot in enumerate(model.snapshots):
            believed = snapshot[key].runs() if key in snapshot else set()
            assert believed == runs(other, number, key), (key, number, case)
        for value in "xyz":
            standing = sum(claim[0] == value for claim in other.claims.get(key, []))
            assert model.evidence(key, value) == standing, case
            assert showing(model, key, value) == reference_showing(other, key, value), case


def told(model: Any, ops: list[Op]) -> str | None:
    """The code with which a transaction is refused, `None` where it is not."""
    try:
        if isinstance(model, Model):
            model.transact(ops, parse_instant(ops[0]["recorded_at"]))
        else:
            tell(model, ops)
    except Refusal as refusal:
        return str(refusal)
    return None


def showing(model: Model, key: tuple[str, str], value: str) -> list[tuple[int, list[str]]]:
    """From where on which claims make a value show; a stretch like the one before is left out."""
    cells = [(t, [s.op["id"] for s in c[value].seen] if value in c else []) for t, c in model.timeline(key).between()]
    return _without_repetitions(cells)


def reference_showing(model: Any, key: tuple[str, str], value: str) -> list[tuple[int, list[str]]]:
    if key not in model.sup:
        return _without_repetitions([(model.grid[0], [])])
    cells = [(model.grid[i], [o["id"] for o in model.sup[key][i].get(value, [])]) for i in model.cells]
    return _without_repetitions([(cells[0][0], cells[1][1]), *cells[2:]])  # as `runs` reads the first microsecond


def _without_repetitions(cells: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    return [cell for n, cell in enumerate(cells) if n == 0 or cell[1] != cells[n - 1][1]]


@pytest.mark.parametrize("name", ["bitemporal.jsonl", "random.jsonl"])
def test_the_model_gives_the_answers_of_the_oracle_files(name: str) -> None:
    for case in oracle_cases(name):
        model = Model(case.get("functional", False))
        for ops in transactions(case["ops"]):
            expected = next((op["expect_error"] for op in ops if "expect_error" in op), None)
            assert told(model, ops) == expected, (case["id"], ops)
        for query in case["queries"]:
            got = answer(model, query)
            if case["id"] not in OFF_GRID:
                assert same(query, got), (case["id"], query, got)


def test_a_case_that_expects_another_answer_is_one_that_the_reference_answers_so_on_a_finer_grid() -> None:
    for case in oracle_cases("random.jsonl"):
        if case["id"] in OFF_GRID:
            compare(case["functional"], transactions(case["ops"]))
