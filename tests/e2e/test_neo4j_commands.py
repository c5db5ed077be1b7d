"""The command line on Neo4j: every command, a tenant that moves there and back, and what is wrong with credentials."""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from neo4j import GraphDatabase, NotificationMinimumSeverity, Transaction
from neo4j.exceptions import DriverError, Neo4jError

from graph.neo4j_store.database import Work
from tests import neo4j_server
from tests.e2e.command_line import CommandLine, Done
from tests.e2e.test_cli_serving import serving
from tests.neo4j.stores import server
from tests.neo4j_server import Local, version
from tests.sizes import scaled

pytestmark = pytest.mark.neo4j

PASSWORD: Final = "hush-hush-hush"
PREDICATES: Final = ("visited", "note", "monthly_rent", "lives_in")
CORRECTIONS: Final = (
    {"op": "withdraw", "source": "source-1", "reason": "never said so"},
    {"op": "retract", "subject": "person-2", "predicate": "note", "valid_from": "2025-03-01", "valid_to": "2025-04-01"},
    {"op": "erase", "subject": "person-3"},
)


@pytest.fixture
def here(tmp_path: Path) -> CommandLine:
    """On a SQLite file."""
    (tmp_path / "here").mkdir()
    return CommandLine(tmp_path / "here")


@pytest.fixture
def there(tmp_path: Path) -> CommandLine:
    """On an empty Neo4j."""
    (tmp_path / "there").mkdir()
    line = CommandLine(tmp_path / "there")
    line.keep_on_neo4j()
    return line


def done(line: CommandLine, *arguments: str | Path) -> Done:
    """A command that must succeed."""
    ended = line(*arguments)
    assert ended.code == 0, ended.err
    return ended


def load(line: CommandLine, batch: int) -> None:
    """Load `items.jsonl`; what a rule refuses is left out."""
    ended = line("load", "--batch", str(batch), "items.jsonl")
    assert ended.code in (0, 8), ended.err


def items(size: int, seed: int) -> str:
    """Random claims, late ones and corrections among them, as lines to load."""
    rng, lines = Random(seed), []
    for number in range(size):
        month, day = rng.randint(1, 12), rng.randint(1, 28)
        predicate = rng.choice(PREDICATES)
        value = {"lives_in": {"type": "entity", "key": f"city-{rng.randint(1, 5)}"}, "monthly_rent": f"{number} EUR"}
        item: dict[str, Any] = {
            "subject": f"person-{rng.randint(1, 20)}", "predicate": predicate,
            "value": value.get(predicate, f"value {number % 9}"), "source": f"source-{rng.randint(1, 4)}",
            "valid_from": f"2025-{month:02}-{day:02}" if rng.random() < 0.8 else f"2025-{month:02}",
            "observed_at": f"2026-{month:02}-{day:02}T12:00:00Z", "episode": f"episode-{number // 3}",
        }  # fmt: skip
        if rng.random() < 0.2:
            item["valid_to"] = f"2026-{month:02}-{day:02}"
        lines.append(json.dumps(item))
    return "\n".join(lines) + "\n"


def test_every_command_does_on_neo4j_what_it_does_on_a_file(here: CommandLine, there: CommandLine) -> None:
    for line in (here, there):
        done(line, "init", "--pack", "demo")
        (line.folder / "items.jsonl").write_text(items(60, seed=1))
        load(line, 20)
        done(line, "remember", "ada", "note", "from the command line")
        assert line("remember", "ada", "note", "x", "--valid-from", "yesterday").code == 2
    for arguments in (
        ("state", "person-1"), ("history", "person-1", "visited"), ("diff", "person-2", "--known-from", "2020-01-01"),
        ("why", "ada", "note"), ("ontology", "check", "demo"), ("state", "nobody"), ("state", "ada", "no_such"),
    ):  # fmt: skip
        ours, theirs = here(*arguments), there(*arguments)
        assert ours.code == theirs.code, arguments
        assert known(ours.out) == known(theirs.out), arguments
    assert done(there, "journal", "verify", "--refold").code == 0
    assert done(there, "doctor").code == 0


def known(text: str) -> str:
    """What is said of the world: ids and recorded times are of each store's own."""
    text = re.sub(r"\b(?:ent|clm|fct)_\w+", "ID", text)
    return re.sub(r"\b2026-1[12]-\d\dT[\d:.]+Z", "RECORDED", text)


def test_a_store_that_was_not_made_is_not_found_and_not_made(there: CommandLine) -> None:
    forget_store(server().uri)
    for arguments in (("state", "ada"), ("why", "ada", "note"), ("journal", "export"), ("journal", "verify")):
        missing = there(*arguments)
        assert missing.code == 3, arguments
        assert "vigencia init" in missing.err
        assert "'neo4j'" in missing.err
    assert done(there, "ontology", "check", "demo").rows
    found = done(there, "doctor", "--json").document
    assert "vigencia init" in found["checks"][-1]["finding"]
    with GraphDatabase.driver(server().uri) as driver:
        assert driver.execute_query("SHOW CONSTRAINTS", database_="neo4j").records == []
    made = done(there, "init", "--json").document
    assert made["store"] == f"{server().uri} (database neo4j)"
    assert done(there, "journal", "verify").code == 0


def forget_store(uri: str) -> None:
    """Leave the database as a new one is."""
    with (
        GraphDatabase.driver(uri, notifications_min_severity=NotificationMinimumSeverity.OFF) as driver,
        driver.session(database="neo4j") as session,
    ):
        for kind, command in (("CONSTRAINTS", "CONSTRAINT"), ("INDEXES", "INDEX")):
            for (name,) in session.run(f"SHOW {kind} YIELD name, type WHERE type <> 'LOOKUP' RETURN name").values():
                session.run(f"DROP {command} {name} IF EXISTS").consume()
        session.run("MATCH (n) DETACH DELETE n").consume()


def test_doctor_says_what_it_found_of_the_server(there: CommandLine) -> None:
    done(there, "demo")
    document = done(there, "doctor", "--json").document
    found = {check["check"]: check for check in document["checks"]}
    assert document["fine"] is True
    assert found["engine"]["finding"].startswith("Neo4j ")
    assert found["indexes"]["finding"] == "online"
    assert "2026-06-03T10:00:00Z" in found["clock"]["finding"]
    assert {"credentials", "migration", "server_clock", "lock_timeout", "keep_alive", "disk"} <= set(found)


def test_a_tenant_moves_to_neo4j_and_back_and_stays_what_it_is(here: CommandLine, there: CommandLine) -> None:
    done(here, "demo")
    size = scaled(3000, 300)
    (here.folder / "items.jsonl").write_text(items(size, seed=7))
    load(here, 25)
    (here.folder / "more.jsonl").write_text("".join(json.dumps(item) + "\n" for item in CORRECTIONS))
    done(here, "load", "more.jsonl")
    back = ("--store", f"sqlite:///{here.folder / 'back.db'}")
    done(here, "journal", "export", here.folder / "one.jsonl")
    done(there, "journal", "import", here.folder / "one.jsonl")
    done(there, "journal", "export", here.folder / "two.jsonl")
    done(here, "journal", "import", here.folder / "two.jsonl", *back)
    verified = [
        done(line, "journal", "verify", "--refold", "--json", *flags).document
        for line, flags in ((here, ()), (there, ()), (here, back))
    ]
    assert verified[0] == verified[1] == verified[2]
    assert verified[0]["position"] > size / 25
    assert (here.folder / "one.jsonl").read_bytes() == (here.folder / "two.jsonl").read_bytes()
    assert done(here, "history", "person-2").rows == done(there, "history", "person-2").rows != []


def test_an_import_that_is_interrupted_says_what_is_there_and_goes_on(
    here: CommandLine, there: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    done(here, "init", "--pack", "demo")
    (here.folder / "items.jsonl").write_text(items(500, seed=3))
    load(here, 1)
    done(here, "journal", "export", here.folder / "one.jsonl")
    for at, there_is in ((1, "nothing new was written"), (2, "the events up to position 200 are there")):
        with monkeypatch.context() as patch:
            interrupt_commit(patch, at)
            interrupted = there("journal", "import", *resume(at), here.folder / "one.jsonl")
        assert interrupted.code == 130
        assert f"{there_is}; go on with the same command and --resume" in interrupted.err
    assert there("journal", "import", here.folder / "one.jsonl").code == 5
    done(there, "journal", "import", "--resume", here.folder / "one.jsonl")
    hashes = [done(line, "journal", "verify", "--json").document["ledger_hash"] for line in (here, there)]
    assert hashes[0] == hashes[1]


def resume(at: int) -> tuple[str, ...]:
    return () if at == 1 else ("--resume",)


def interrupt_commit(patch: pytest.MonkeyPatch, at: int) -> None:
    """Press Ctrl-C when so many commits of an import are about to be done.

    It may come while the driver reads, whose buffer is of no use then: going back raises what no driver means to.
    """
    commit, commits = Work.commit, count(1)

    def interrupted(self: Work) -> None:
        if next(commits) == at:
            raise KeyboardInterrupt
        commit(self)

    def broken(self: Transaction) -> None:
        raise BufferError("Existing exports of data: object cannot be re-sized")

    patch.setattr(Work, "commit", interrupted)
    patch.setattr(Transaction, "rollback", broken)


class Guarded(Local):
    """A server that wants a user and a password."""

    def start(self) -> None:
        conf = self.home / "conf" / "neo4j.conf"
        conf.write_text(conf.read_text().replace("auth_enabled=false", "auth_enabled=true"))
        java, classpath = self._command[0], self._command[self._command.index("-cp") + 1]
        subprocess.run(
            [java, "-cp", classpath, "org.neo4j.cli.AdminTool", "dbms", "set-initial-password", PASSWORD],
            env={"NEO4J_HOME": str(self.home), "NEO4J_CONF": str(conf.parent)}, check=True, capture_output=True,
        )  # fmt: skip
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(neo4j_server, "await_answer", await_let_in)
            super().start()


def await_let_in(uri: str, process: object = None) -> None:
    for _ in range(600):
        try:
            with (
                GraphDatabase.driver(uri, auth=("neo4j", PASSWORD)) as driver,
                driver.session(database="neo4j") as session,
            ):
                session.run("RETURN 1").consume()
                return
        except (DriverError, Neo4jError, OSError):
            time.sleep(0.2)
    raise AssertionError("the server lets nobody in")


@pytest.fixture(scope="module")
def guarded() -> Iterator[Local]:
    local = Guarded(version(), heap="512m")
    yield local
    local.stop()


def test_credentials_are_needed_and_told_nowhere(guarded: Local, tmp_path: Path) -> None:
    line = CommandLine(tmp_path)
    line.environment |= {"VIGENCIA_STORE": "neo4j", "NEO4J_URI": guarded.uri, "VIGENCIA_STORE_WAIT_SECONDS": "60"}
    for password in (None, "wrong-wrong-wrong"):
        if password is not None:
            line.environment["NEO4J_PASSWORD"] = password
        for arguments in (("init",), ("serve", "--port", "0")):
            refused = line.run(*arguments)
            assert refused.code == 7
            assert "NEO4J_PASSWORD" in refused.err
            assert "waiting" not in refused.err
            assert "wrong-wrong" not in refused.err
        found = line("doctor", "--json")
        assert found.code == 9
        [failed] = [check for check in found.document["checks"] if not check["fine"]]
        assert "NEO4J_PASSWORD" in failed["finding"]
    line.environment["NEO4J_PASSWORD"] = PASSWORD
    locked_out = line("init")  # three wrong passwords in a row, so the server lets nobody in for 5 s
    assert (locked_out.code, "for a while" in locked_out.err) == (7, True), locked_out.err
    with serving(line) as server:
        assert server.get("/readyz")["status"] == "ready"
        assert "for a while" in server.running.said()
        assert "credentials" not in server.get("/readyz")["checks"]
    said = [done(line, "init"), done(line, "doctor"), done(line, "config", "show", "--origin")]
    assert "the server knows us as 'neo4j'" in said[1].out
    assert all(PASSWORD not in each.out + each.err for each in said)
    line.environment["NEO4J_DATABASE"] = "nowhere"
    missing = line("init")
    assert (missing.code, "nowhere" in missing.err) == (7, True)


def test_a_password_that_must_be_changed_is_told_as_what_it_is(guarded: Local, tmp_path: Path) -> None:
    line = CommandLine(tmp_path)
    line.environment |= {"VIGENCIA_STORE": guarded.uri, "NEO4J_PASSWORD": PASSWORD, "NEO4J_USERNAME": "ada"}
    with GraphDatabase.driver(guarded.uri, auth=("neo4j", PASSWORD)) as driver:
        driver.execute_query(f"CREATE USER ada SET PASSWORD '{PASSWORD}' CHANGE REQUIRED", database_="system")
    refused = line("init")
    assert (refused.code, "must be changed" in refused.err or "expired" in refused.err) == (7, True), refused.err
    assert "need not be changed" in refused.err
