"""That the benchmarks run and give every figure; how fast anything is, no test asks."""

import json
import math
import re
from pathlib import Path

import pytest

from benchmarks import worker_soak
from benchmarks.figures import table, write_json
from benchmarks.sizes import TINY
from benchmarks.suite import NEO4J, NEO4J_PARTS, SQLITE, SQLITE_PARTS, run

PROMISED = (
    "requests of /v1/state against an empty route",
    "single writes beside 400 facts, against bare",
    "episodes accepted in batches of 100",
    "state, 400 facts, against bare",
    "state, 800 facts, against bare",
    "state, from 400 to 800 facts",
    "as-of, 400 facts, against bare",
    "as-of, 800 facts, against bare",
    "as-of, from 400 to 800 facts",
    "hybrid search by 6 words, 400 facts, p95",
    "search by 6 words, 400 facts, against bare FTS5",
    "hybrid search by 200 words, 400 facts, p95",
    "search by 200 words, 400 facts, against bare FTS5",
    "hybrid search by a word in every fact, 400 facts, p95",
    "search by a word in every fact, 400 facts, against bare FTS5",
    "search by meaning, 400 facts, against bare numpy",
    "hybrid search by 6 words, one of 3 tenants of 80 facts, p95",
    "search of 80 facts beside 2 tenants, against alone",
    "expansion of 3 hops and 1,000 edges",
    "expansion of 3 hops and 1,000 edges, past an entity of degree 150, against without",
    "slot with 300 versions, current, against a normal one",
    "slot with 300 versions, at any valid time, against a normal one",
    "slot with 300 versions, as-of (both past), against a normal one",
    "slot with 300 versions, as-of (known early, valid late), against a normal one",
    "slot with 300 versions, as-of (known late, valid early), against a normal one",
    "single writes into a slot with 300 versions, against bare",
    "bulk load, 400 facts, against bare",
    "bulk load by the loader, 400 facts, against bare",
    "bulk load, 800 facts, against bare",
)
"""The figures with an aim, in the order of the run."""


def test_every_figure_is_produced(tmp_path: Path) -> None:
    figures = list(run(TINY, SQLITE))
    assert tuple(figure.name for figure in figures if figure.aim is not None) == PROMISED
    assert all(math.isfinite(figure.value) and figure.value > 0 for figure in figures)
    assert all((figure.aim is None) == (figure.holds is None) for figure in figures)
    assert any(figure.name == "bytes per fact, 800 facts" for figure in figures)
    for line, figure in zip(table(figures).splitlines()[1:], figures, strict=False):
        assert figure.name in line

    write_json(tmp_path / "figures.json", figures)
    written = json.loads((tmp_path / "figures.json").read_text())
    assert [set(figure) for figure in written] == [{"name", "value", "unit", "aim", "holds"}] * len(figures)
    assert len({figure["name"] for figure in written}) == len(figures)


def test_a_part_can_be_measured_alone() -> None:
    assert SQLITE_PARTS == (
        "serving", "writing", "episodes", "reading", "searching", "expanding", "long-slot", "loading",
    )  # fmt: skip
    figures = list(run(TINY, "writing"))
    assert {figure.name.partition(",")[0] for figure in figures} == {"single writes beside 400 facts"}


@pytest.mark.neo4j
def test_every_part_runs_on_a_graph_server() -> None:
    figures = list(run(TINY, NEO4J))
    assert all(math.isfinite(figure.value) and figure.value > 0 for figure in figures)
    assert len({figure.name for figure in figures}) == len(figures)
    names = "\n".join(figure.name for figure in figures if figure.aim is not None)
    assert [
        part
        for part in ("bulk load", "single writes", "expansion", "search", "slot with 80", "state", "as-of")
        if part not in names
    ] == []
    assert len(NEO4J_PARTS) == 6


def test_a_worker_reads_all_that_comes_for_a_while(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["worker_soak", "--lines", "2", "--every", "1"])
    worker_soak.main()
    *lines, last = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert re.fullmatch(r"[1-9]\d* episodes accepted, all read, 0 dead letters", last)
