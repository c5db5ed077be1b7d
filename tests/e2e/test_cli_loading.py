"""What a person sees who loads files: counts, a report of what is refused, and a way on after Ctrl-C or a kill."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command_line import CommandLine, Running
from tests.sizes import SOAK


@pytest.fixture
def vigencia(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def said(number: int, **others: Any) -> str:
    row = {"subject": f"s{number % 50}", "predicate": "note", "value": f"note {number}", "valid_from": "2026-01-01"}
    return json.dumps({**row, **others}) + "\n"


def written(folder: Path, name: str, lines: Iterator[str]) -> Path:
    path = folder / name
    with path.open("w") as file:
        file.writelines(lines)
    return path


def test_a_load_counts_what_became_of_the_lines(vigencia: CommandLine, tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", (said(n) for n in range(100)))
    done = vigencia("load", path)
    assert done.code == 0
    assert done.rows == [["created", "100"], ["refused", "0"]]
    assert vigencia("load", "--json", path).document == {
        "results": {}, "refused": 0, "replayed": 100, "transactions": 1, "position": 1, "report": None, "resume": None,
    }  # fmt: skip


def test_refused_lines_are_reported_and_can_be_loaded_by_themselves(vigencia: CommandLine, tmp_path: Path) -> None:
    lines = [said(1), said(2, valid_from="2026-02-30"), "nonsense\n", said(3, observed_at="2999-01-01T00:00:00Z")]
    done = vigencia("load", written(tmp_path, "a.jsonl", iter(lines)), "--json")
    assert done.code == 8
    assert done.document["refused"] == 3
    assert "a.jsonl.refused.jsonl" in done.err
    report = [json.loads(line) for line in (tmp_path / done.document["report"]).read_text().splitlines()]
    assert [(row["line"], row["type"]) for row in report] == [
        (2, "/problems/invalid-request"),
        (3, "/problems/invalid-request"),
        (4, "/problems/invalid-request"),
    ]
    assert json.loads(report[0]["text"])["value"] == "note 2"
    mended = "".join(row["text"].replace("02-30", "02-28") + "\n" for row in report[:1])
    assert vigencia("load", "-", stdin=mended).code == 0
    second = vigencia("load", tmp_path / "a.jsonl", "--json")
    assert second.document["report"] == "a.jsonl.refused-2.jsonl"
    named = vigencia("load", tmp_path / "a.jsonl", "--report", tmp_path / "mine.jsonl")
    assert named.code == 8
    assert len((tmp_path / "mine.jsonl").read_text().splitlines()) == 3


def test_standard_input_and_files_may_be_mixed(vigencia: CommandLine, tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", iter([said(1)]))
    assert vigencia("load", path, "-", stdin=said(2)).rows[0] == ["created", "2"]
    assert vigencia("load", "-", stdin="").rows == [["refused", "0"]]


def test_a_dry_run_writes_nothing(vigencia: CommandLine, tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", iter([said(1), said(2, op="invent")]))
    done = vigencia("load", "--dry-run", path)
    assert done.code == 8
    assert done.rows == [["created", "1"], ["refused", "1"]]
    assert vigencia("state", "s1").code == 3


def test_as_recorded_lines_are_known_since_then(vigencia: CommandLine, tmp_path: Path) -> None:
    lines = [
        said(1, predicate="name", value="Ada", recorded_at="2026-01-01T10:00:00Z"),
        said(1, predicate="name", value="Ada L.", recorded_at="2026-02-01T10:00:00Z"),
    ]
    path = written(tmp_path, "a.jsonl", iter(lines))
    assert vigencia("load", path).code == 8
    assert vigencia("load", "--as-recorded", path, "--tenant", "t").code == 0
    ask = ("state", "s1", "name", "--tenant", "t", "--valid-at", "2026-01-15")
    assert vigencia(*ask).rows[0][2] == "Ada L."
    assert vigencia(*ask, "--known-at", "2026-01-15").rows[0][2] == "Ada"
    assert vigencia(*ask, "--known-at", "2026-01-01T09:00:00Z").code == 3


def test_csv_by_its_columns_and_by_a_mapping(vigencia: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("subject,predicate,value\nada,note,hello\n")
    (tmp_path / "b.tsv").write_text("who\twhere\nada\toslo\n")
    (tmp_path / "b.yaml").write_text("item: {subject: '{who}', predicate: lives_in, value: '{where}', type: entity}\n")
    assert vigencia("load", tmp_path / "a.csv").code == 0
    assert vigencia("load", "--map", tmp_path / "b.yaml", tmp_path / "b.tsv").code == 0
    assert {row[2] for row in vigencia("state", "ada").rows} == {"hello", "oslo"}
    assert vigencia("load", tmp_path / "b.tsv").code == 2
    assert vigencia("load", "--map", tmp_path / "nowhere.yaml", tmp_path / "b.tsv").code == 3


def started(vigencia: CommandLine, path: Path, *flags: str) -> Running:
    """A load that has written at least one batch and is under way."""
    running = vigencia.start("load", path, "--batch", "20", "--progress", "json", "--json", *flags)

    def loading(line: str) -> bool:
        told = json.loads(line)
        return bool(told["phase"].startswith("loading") and told["done"])

    running.told(loading)
    return running


LINES = 40_000


def test_ctrl_c_finishes_the_batch_and_the_token_goes_on(vigencia: CommandLine, tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", (said(n) for n in range(LINES)))
    running = started(vigencia, path)
    running.interrupt()
    done = running.end()
    assert done.code == 130
    token = done.document["resume"]
    assert f"--resume {token}" in done.err
    loaded = done.document["results"]["created"]
    assert 0 < loaded < LINES
    assert loaded % 20 == 0
    assert token.endswith(f"-{loaded}")
    path.write_text("".join(said(n) for n in range(loaded + 100)))
    changed = vigencia("load", path, "--resume", token)
    assert changed.code == 2
    assert "changed" in changed.err
    rest = vigencia("load", path, "--resume", str(loaded), "--json").document
    assert rest["results"] == {"created": 100}
    verified = vigencia("journal", "verify", "--json")
    assert verified.document["fine"] is True


def test_a_killed_load_that_is_started_again_has_one_effect(vigencia: CommandLine, tmp_path: Path) -> None:
    lines = LINES if SOAK else 6_000
    path = written(tmp_path, "a.jsonl", (said(n) for n in range(lines)))
    started(vigencia, path).stop()
    done = vigencia("load", path, "--batch", "20", "--json").document
    assert done["results"]["created"] + done["replayed"] == lines
    assert done["replayed"] >= 20
    assert done["position"] == lines // 20
    assert vigencia("journal", "verify", "--refold", "--json").document["fine"] is True


def test_progress_is_a_line_of_json_for_machines_and_nothing_when_quiet(vigencia: CommandLine, tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", iter([said(1)]))
    told = [json.loads(line) for line in vigencia("load", path, "--progress", "json").err.splitlines()]
    assert [(row["phase"].split()[0], row["done"]) for row in told] == [("checking", 1), ("loading", 1)]
    assert vigencia("load", path, "--quiet").err == ""
    assert vigencia("load", path, "--progress", "loud").code == 2
