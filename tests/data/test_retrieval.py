"""That the evidence of questions is ranked and counted right; how well it is found, no test asks."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.retrieval.cases import read_file, read_folder
from benchmarks.retrieval.measures import mean, measured
from benchmarks.retrieval.rankers import bm25
from benchmarks.retrieval.run import OWN, main
from graph.embedding import PatientEmbedder
from tests.embedding import HashingEmbedder


def test_measures_count_evidence_by_its_places() -> None:
    found = measured(["a", "x", "a", "y", "b", "z", "c"], {"a", "b", "d"})

    assert (found["Hit@1"], found["Recall@1"]) == (1.0, 1 / 3)
    assert (found["Hit@5"], found["Recall@5"]) == (1.0, 2 / 3)  # the second "a" takes no place
    assert found["MRR"] == 1.0
    late = measured(["x", "y", "d"], {"a", "b", "d"})
    assert (late["Hit@1"], late["Recall@5"], late["MRR"]) == (0.0, 1 / 3, 1 / 3)
    assert set(measured([], {"a"}).values()) == {0.0}


def test_an_interval_holds_the_mean_and_is_the_same_in_each_run() -> None:
    once = mean([0.0, 1.0] * 20)

    assert once == mean([0.0, 1.0] * 20)
    assert once.low < once.value == 0.5 < once.high
    assert mean([1.0]) == mean([1.0, 1.0])


def test_the_small_set_has_each_of_the_shapes_and_enough_questions() -> None:
    cases = {case.name: case for case in read_folder(OWN)}

    assert {name.partition("-")[0] for name in cases} == {"beam", "locomo", "timeqa"}
    assert sum(len(case.asked) for case in cases.values()) >= 60
    assert sum(case.skipped for case in cases.values()) == 3
    assert len({asked.category for case in cases.values() for asked in case.asked}) >= 8


def test_another_shape_and_an_empty_folder_are_refused_with_what_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no \*\.json"):
        read_folder(tmp_path)
    (tmp_path / "other.json").write_text('[{"rows": []}]')
    with pytest.raises(ValueError, match="probing_questions"):
        read_file(tmp_path / "other.json")


def test_evidence_is_read_as_each_shape_writes_it(tmp_path: Path) -> None:
    turns = [{"speaker": "A", "dia_id": f"D1:{n}", "text": f"t{n}"} for n in (1, 2, 3)]
    asked = [{"question": "q", "evidence": ["D1:1; D1:3"], "category": 2}, {"question": "r", "evidence": ["D9:9"]}]
    (tmp_path / "a.json").write_text(json.dumps([{"conversation": {"session_1": turns}, "qa": asked}]))
    chat = [{"turns": [[{"id": 7, "role": "user", "content": "x"}]]}]
    probes = {"event_ordering": [{"question": "q", "source_chat_ids": {"first": [7]}}]}
    (tmp_path / "b.json").write_text(json.dumps({"chat": chat, "probing_questions": probes}))

    first, second = read_folder(tmp_path)

    assert [(each.category, each.evidence) for each in first.asked] == [("temporal", frozenset({"D1:1", "D1:3"}))]
    assert first.skipped == 1
    assert [(each.category, each.evidence) for each in second.asked] == [("event-ordering", frozenset({"7"}))]


def figures(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str, str], dict[str, Any]]:
    monkeypatch.setenv("VIGENCIA_CONFIG", str(folder / "none.toml"))
    main(["--json", str(folder / "figures.json")])
    return {
        (each["category"], each["ranker"], each["measure"]): each
        for each in json.loads((folder / "figures.json").read_text())
    }


def test_the_command_ranks_the_small_set_by_words_beside_bm25(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = figures(tmp_path, monkeypatch)

    assert {ranker for _, ranker, _ in found} == {"bm25", "text"}
    assert all(
        0 <= each["low"] <= each["value"] + 1e-4 and each["value"] <= each["high"] + 1e-4 <= 1.001
        for each in found.values()
    )
    assert found["all", "text", "MRR"]["questions"] == 63
    told = capsys.readouterr().out
    assert "words alone are searched" in told
    assert "bm25" in told
    (case,) = read_file(OWN / "locomo.json")
    (boat,) = [asked for asked in case.asked if asked.question == "Where is the boat moored now?"]
    assert boat.evidence <= {*bm25(case)(boat.question)}


def test_with_an_embedder_meaning_and_both_are_ranked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.wiring.embedder_of", lambda settings: PatientEmbedder(HashingEmbedder()))

    found = figures(tmp_path, monkeypatch)

    assert {ranker for _, ranker, _ in found} == {"bm25", "text", "vector", "hybrid"}
    assert all(math.isfinite(each["value"]) for each in found.values())
