"""Settings, packs, checks and the journal, as a person sees them on the command line."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from graph import transfer
from graph.ports import Transaction
from graph.sqlite_store.store import SqliteStore
from ontology.errors import Unavailable
from ontology.scope import Scope
from tests.e2e.command_line import CommandLine, Done

PACK = """
pack: travel
types: {Port: {parents: [Place]}}
predicates:
  calls_at: {range: [Port], datatype: entity}
"""


@pytest.fixture
def vigencia(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def test_config_shows_what_counts_and_where_it_comes_from(vigencia: CommandLine) -> None:
    (vigencia.folder / "config.toml").write_text("port = 9000\n")
    rows = {row[0]: row[1:] for row in vigencia("config", "show", "--origin", "--tenant", "acme").rows}
    assert rows["port"] == ["9000", "config.toml", "VIGENCIA_PORT"]
    assert rows["tenant"] == ["acme", "flag", "VIGENCIA_TENANT"]
    assert rows["store"][1] == "environment"
    assert rows["host"] == ["127.0.0.1", "default", "VIGENCIA_HOST"]
    assert ["host", "127.0.0.1"] in vigencia("config", "show").rows
    document = vigencia("config", "show", "--json").document
    assert document["config_file"] == str(vigencia.folder / "config.toml")
    assert {"name": "port", "value": 9000, "origin": "config.toml", "variable": "VIGENCIA_PORT"} in document["settings"]


def test_init_makes_the_store_and_adds_packs_once(vigencia: CommandLine) -> None:
    (vigencia.folder / "travel.yaml").write_text(PACK)
    first = vigencia("init", "--pack", "travel.yaml", "--pack", "demo", "--json")
    assert first.code == 0
    assert (vigencia.folder / "vigencia.db").is_file()
    assert vigencia("init", "--pack", "travel.yaml", "--json").document == first.document
    assert vigencia("remember", "mary", "calls_at", "lisbon").code == 0
    assert vigencia("state", "mary", "--json").document["items"][0]["value"]["type"] == "entity"


def test_a_past_can_be_loaded_under_words_that_are_put_before_it(vigencia: CommandLine) -> None:
    assert vigencia("init", "--pack", "demo", "--recorded-at", "2001-01-01").code == 0
    lines = [
        f'{{"subject": "ada", "predicate": "lives_in", "value": "{place}", "valid_from": "{year}",'
        f' "recorded_at": "{year}-02-01"}}'
        for place, year in (("oslo", "2002"), ("riga", "2004"))
    ]
    assert vigencia("load", "--as-recorded", "-", stdin="\n".join(lines) + "\n").code == 0
    assert [row[2] for row in vigencia("state", "ada", "lives_in").rows] == ["riga"]
    assert vigencia("init", "--pack", "demo", "--recorded-at", "1999-01-01").code == 0  # nothing new: nothing recorded


def test_a_pack_is_checked_and_nothing_is_written(vigencia: CommandLine) -> None:
    (vigencia.folder / "travel.yaml").write_text(PACK)
    done = vigencia("ontology", "check", "travel.yaml")
    assert done.code == 0
    assert done.rows == [["type", "Port", "new", ""], ["predicate", "calls_at", "new", ""]]
    assert "fits" in done.err
    assert not (vigencia.folder / "vigencia.db").exists()
    vigencia("init", "--pack", "travel.yaml")
    again = vigencia("ontology", "check", "travel.yaml", "--json").document
    assert (again["types"], again["predicates"], again["changes"]) == ([], [], [])
    (vigencia.folder / "changed.yaml").write_text(PACK.replace("entity}", "entity, cardinality: functional}"))
    assert vigencia("ontology", "check", "changed.yaml").rows == [
        ["predicate", "calls_at", "cardinality", "many → functional"]
    ]


def test_a_pack_that_a_rule_refuses_is_exit_code_4(vigencia: CommandLine) -> None:
    (vigencia.folder / "bad.yaml").write_text(PACK.replace("[Place]", "[Plaice]"))
    done = vigencia("ontology", "check", "bad.yaml", "--json")
    assert done.code == 4
    assert done.document["errors"][0]["code"] == "unknown_type"
    (vigencia.folder / "worse.yaml").write_text("pack: [")
    assert vigencia("ontology", "check", "worse.yaml").code == 2


def test_doctor_is_content_with_a_good_store_and_with_none(vigencia: CommandLine) -> None:
    assert vigencia("doctor").code == 0
    assert not (vigencia.folder / "vigencia.db").exists()
    vigencia("demo")
    done = vigencia("doctor", "--json")
    assert done.code == 0
    checks = {check["check"]: check for check in done.document["checks"]}
    assert done.document["fine"] is True
    assert checks["journal_mode"]["finding"] == "wal"
    assert "2026-06-03T10:00:00Z" in checks["clock"]["finding"]


@pytest.mark.parametrize(
    ("variable", "value", "check"),
    [
        ("VIGENCIA_PORT", "many", "settings"),
        ("VIGENCIA_PROT", "9000", "environment"),
        ("VIGENCIA_HOST", "0.0.0.0", "keys"),
        ("VIGENCIA_KEYS_FILE", "nowhere.yaml", "keys"),
        ("VIGENCIA_STORE", "sqlite:////nowhere/at/all.db", "folder"),
    ],
)
def test_doctor_names_what_fails(vigencia: CommandLine, variable: str, value: str, check: str) -> None:
    vigencia.environment[variable] = value
    done = vigencia("doctor", "--json")
    assert done.code == 9
    assert check in [c["check"] for c in done.document["checks"] if not c["fine"]]


def test_doctor_finds_a_file_that_is_no_store(vigencia: CommandLine) -> None:
    (vigencia.folder / "vigencia.db").write_bytes(b"this is no database at all, whatever its name says" * 100)
    done = vigencia("doctor", "--json")
    assert done.code == 9
    assert [c["check"] for c in done.document["checks"] if not c["fine"]] == ["store"]


def test_a_journal_moves_a_tenant_to_another_store(vigencia: CommandLine) -> None:
    vigencia("demo")
    exported = vigencia("journal", "export", "memory.jsonl", "--json")
    assert exported.code == 0
    assert exported.document["position"] == 4
    assert not (vigencia.folder / "memory.jsonl.part").exists()
    assert vigencia("journal", "verify", "--file", "memory.jsonl").code == 0
    copy = ("--store", f"sqlite:///{vigencia.folder / 'copy.db'}", "--tenant", "copy")
    imported = vigencia("journal", "import", "memory.jsonl", *copy, "--json")
    assert imported.document == exported.document
    hashes = [
        vigencia("journal", "verify", "--refold", "--json", *flags).document["ledger_hash"] for flags in ((), copy)
    ]
    assert hashes[0] == hashes[1]
    assert vigencia("why", "mira", "passport_deadline", *copy).code == 0
    again = vigencia("journal", "import", "memory.jsonl", *copy)
    assert again.code == 5
    assert vigencia("journal", "import", "memory.jsonl", "--resume", *copy).code == 0


@pytest.fixture
def stopping(vigencia: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Callable[[int, BaseException], Done]:
    """Import four events one by one into a copy; after so many commits something comes up."""
    vigencia("demo")
    vigencia("journal", "export", "memory.jsonl")
    monkeypatch.setattr(transfer, "EVENTS_PER_WRITE", 1)
    write = SqliteStore.write

    def run(commits: int, what: BaseException) -> Done:
        done = 0

        @contextmanager
        def writing(store: SqliteStore, scope: Scope) -> Iterator[Transaction]:
            nonlocal done
            with write(store, scope) as tx:
                yield tx
            done += 1
            if done == commits:
                raise what

        with monkeypatch.context() as patch:
            patch.setattr(SqliteStore, "write", writing)
            return vigencia("journal", "import", "memory.jsonl", "--tenant", "copy")

    return run


def test_an_import_that_is_interrupted_tells_what_is_there_though_nobody_told_it(
    vigencia: CommandLine, stopping: Callable[[int, BaseException], Done]
) -> None:
    done = stopping(1, KeyboardInterrupt())
    assert done.code == 130
    assert "the events up to position 1 are there; go on with the same command and --resume" in done.err
    again = vigencia("journal", "import", "memory.jsonl", "--tenant", "copy")
    assert (again.code, "--resume" in again.err) == (5, True)
    assert "send a new request" not in again.err
    assert vigencia("journal", "import", "memory.jsonl", "--tenant", "copy", "--resume").code == 0


def test_an_import_whose_store_goes_away_tells_how_far_it_came(
    vigencia: CommandLine, stopping: Callable[[int, BaseException], Done]
) -> None:
    done = stopping(3, Unavailable("it is away", retry_after=5))
    assert done.code == 7
    assert "it is away; the events up to position 2 are there, and perhaps some after it" in done.err
    assert "go on with the same command and --resume" in done.err
    assert vigencia("journal", "import", "memory.jsonl", "--tenant", "copy", "--resume").code == 0
    assert vigencia("journal", "verify", "--tenant", "copy", "--json").document["position"] == 4


def test_a_journal_may_go_through_a_pipe(vigencia: CommandLine) -> None:
    vigencia("demo")
    exported = vigencia.run("journal", "export")
    assert exported.code == 0
    assert json.loads(exported.out.splitlines()[0])["format"] == "vigencia-journal"
    assert vigencia("journal", "import", "-", "--tenant", "copy", stdin=exported.out).code == 0
    later = vigencia("journal", "export", "--after", "3", "later.jsonl", "--json")
    assert later.document["events"] == 1
    assert vigencia("journal", "export", "--json").code == 2


def test_an_altered_journal_is_not_imported_and_does_not_verify(vigencia: CommandLine) -> None:
    vigencia("demo")
    vigencia("journal", "export", "memory.jsonl")
    path = vigencia.folder / "memory.jsonl"
    path.write_text(path.read_text().replace("2026-07-15", "2026-07-16"))
    assert vigencia("journal", "import", "memory.jsonl", "--tenant", "copy").code == 2
    assert vigencia("state", "mira", "--tenant", "copy").code == 3
    assert vigencia("journal", "verify", "--file", "memory.jsonl").code == 9
    assert vigencia("journal", "verify", "--file", "nowhere.jsonl").code == 3


def test_a_store_that_was_tampered_with_does_not_verify(vigencia: CommandLine) -> None:
    vigencia("demo")
    connection = sqlite3.connect(vigencia.folder / "vigencia.db")
    connection.execute("UPDATE versions SET valid_to = valid_to - 1 WHERE valid_to < 4611686018427387904")
    connection.commit()
    connection.close()
    assert vigencia("journal", "verify").code == 0
    done = vigencia("journal", "verify", "--refold", "--json")
    assert done.code == 9
    assert done.document["findings"]


def test_what_to_do_is_told_in_the_words_of_the_command_line(vigencia: CommandLine) -> None:
    vigencia("init")
    refused = vigencia("journal", "verify", "--file", "config.toml", "--refold", "--json")
    assert refused.code == 2
    assert "run the command again" in refused.err
    assert refused.document["remedy"] in refused.err
    assert "send the request" not in refused.err + refused.out
