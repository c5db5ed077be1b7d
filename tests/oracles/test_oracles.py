"""The oracle files on every engine: as written, opened again, rebuilt, in another time zone, and over HTTP."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from graph.neo4j_store.store import Neo4jStore
from tests.neo4j.stores import NAME, server
from tests.oracles.cases import Case, Query, read_cases
from tests.oracles.engines import MEMORY, SQLITE, Unsuitable, engine, naive
from tests.oracles.runner import run

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SHARED = ROOT.parent / "shared" / "oracles"
EXPECTED = {
    "own.jsonl": "ok: 20 cases, 88 ops, 111 queries",
    "bitemporal.jsonl": "ok: 120 cases, 357 ops, 302 queries",
    "random.jsonl": "ok: 200 cases, 1074 ops, 2474 queries",
}
PURE = {"own.jsonl": 6, "bitemporal.jsonl": 20, "random.jsonl": 0}
"""Questions about intervals alone, which are not asked over HTTP."""
FINER = ["random-7-184 query 1 (history)"]
"""Answers that the rule computes between two instants of the reference's grid (`runner._agree`)."""


@pytest.fixture(params=EXPECTED)
def path(request: pytest.FixtureRequest) -> Path:
    """Each oracle file: our own always, those beside the repository where they are there."""
    name: str = request.param
    if name == "own.jsonl":
        return HERE / name
    if not (SHARED / name).is_file():
        pytest.skip(f"there is no {name} beside this repository")
    return SHARED / name


WAYS: dict[str, Callable[[Path], dict[str, object]]] = {
    "naive": lambda _: {"store": "naive"},
    "naive, rebuilt": lambda _: {"store": "naive", "rebuild": True},
    "memory": lambda _: {"store": SQLITE + MEMORY},
    "file": lambda folder: {"store": f"{SQLITE}{folder / 'o.db'}"},
    "file, opened again": lambda folder: {"store": f"{SQLITE}{folder / 'o.db'}", "reopen": True},
    "file, rebuilt": lambda folder: {"store": f"{SQLITE}{folder / 'o.db'}", "rebuild": True},
    NAME: lambda _: {"store": NAME},
    "neo4j, rebuilt": lambda _: {"store": NAME, "rebuild": True},
}


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=pytest.mark.neo4j) if way.startswith(NAME) else way for way in WAYS]
)
def test_every_answer_is_as_expected(path: Path, way: str, tmp_path: Path) -> None:
    with engine(**WAYS[way](tmp_path)) as opened:  # type: ignore[arg-type]
        outcome = run(opened, read_cases(path))
    assert str(outcome) == EXPECTED[path.name]
    assert outcome.finer == [name for name in FINER if path.name == "random.jsonl"]


def test_every_answer_over_http_is_as_expected(path: Path) -> None:
    with engine("http") as opened:
        outcome = run(opened, read_cases(path), pure=False)
    cases, ops, queries = EXPECTED[path.name].rsplit(",", 2)
    asked = int(queries.split()[0]) - PURE[path.name]
    assert str(outcome) == f"{cases},{ops}, {asked} queries"


def test_the_zone_of_the_process_changes_no_answer(path: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.oracles", "--store", f"{SQLITE}{tmp_path / 'zone.db'}", str(path)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "TZ": "Asia/Tokyo"}, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == EXPECTED[path.name], done.stderr
    assert done.returncode == 0


def test_two_runs_in_one_file_do_not_meet(tmp_path: Path) -> None:
    cases = read_cases(HERE / "own.jsonl")
    for _ in range(2):
        with engine(f"{SQLITE}{tmp_path / 'twice.db'}") as opened:
            assert str(run(opened, cases)) == EXPECTED["own.jsonl"]


@pytest.mark.neo4j
def test_a_server_that_is_named_keeps_what_it_has() -> None:
    cases = read_cases(HERE / "own.jsonl")
    with engine(NAME) as opened:
        assert str(run(opened, cases)) == EXPECTED["own.jsonl"]
    with engine(server().uri) as opened:
        assert str(run(opened, cases)) == EXPECTED["own.jsonl"]
    with closing(Neo4jStore(server().uri)) as store:
        assert len(store.tenants()) == 2 * len(cases)


def test_a_wrong_expectation_is_a_difference() -> None:
    """The runner can fail: each kind of answer, a refusal that does not come, and one that comes."""
    asked = {"subject": "s", "predicate": "p"}
    told = {"op": "assert", **asked, "value": "x", "valid_from": "2020", "recorded_at": "2021-01-01T00:00:00Z"}
    period = {"value": "x", "valid_from": "2020-01-01T00:00:00Z", "valid_to": "2030-01-01T00:00:00Z"}
    recorded = {"recorded_from": "2021-01-01T00:00:00Z", "recorded_to": "infinity"}
    wrong: list[Query] = [
        {"kind": "state", **asked, "valid_at": "2022-01-01", "expect": ["y"]},
        {"kind": "history", **asked, "expect": [period]},
        {"kind": "audit", **asked, "expect": [period | recorded]},
        {"kind": "evidence", **asked, "value": "x", "expect": 5},
        {"kind": "recorded", "expect": []},
        {"kind": "allen", "a": ["2020-01-01", "2021-01-01"], "b": ["2022-01-01", "2023-01-01"], "expect": "after"},
    ]
    unrefused = told | {"expect_error": "naive_timestamp"}
    refused = told | {"valid_from": "2020-01-01", "valid_to": "2020-01-01"}
    case = Case(id="wrong", functional=True, ops=[told, unrefused, refused], queries=wrong)
    differences = run(naive(), [case]).differences
    assert len(differences) == len(wrong) + 2


def test_what_cannot_be_opened_again_is_said() -> None:
    with pytest.raises(Unsuitable, match="name a file"), engine(SQLITE + MEMORY, reopen=True):
        pass
    with pytest.raises(Unsuitable, match="sqlite:///PATH"), engine("postgres://nowhere"):
        pass
    with pytest.raises(Unsuitable, match="neo4j://HOST:PORT"), engine("neo4j://localhost", reopen=True):
        pass
