"""How a store comes into being: several processes at once, on a new database, or against a server that is wrong."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from neo4j import GraphDatabase, NotificationMinimumSeverity, Session

from graph.neo4j_store import diagnosis
from graph.neo4j_store.diagnosis import is_supported
from graph.neo4j_store.migration import migrations, statements
from graph.neo4j_store.store import Neo4jStore
from graph.ports import Grade
from ontology.errors import Incorrect, NotFound, Unavailable, Unsupported
from ontology.instants import SECOND, Instant
from tests.neo4j.callers import SCOPE, Caller
from tests.neo4j.stores import DATABASE, empty_store, server

pytestmark = pytest.mark.neo4j

VECTOR_INDEXES = 4
"""Of facts and of chunks, on two sides; no migration makes them."""

OPEN = "import sys; from graph.neo4j_store.store import Neo4jStore; Neo4jStore(sys.argv[1]).close()"


def now() -> Instant:
    return Instant(time.time_ns() // 1000)


@pytest.fixture
def session() -> Iterator[Session]:
    with (
        GraphDatabase.driver(server().uri, notifications_min_severity=NotificationMinimumSeverity.OFF) as driver,
        driver.session(database=DATABASE) as session,
    ):
        yield session


def forget_schema(session: Session) -> None:
    """As if nobody had ever opened a store here."""
    for kind, command in (("CONSTRAINTS", "CONSTRAINT"), ("INDEXES", "INDEX")):
        rows = session.run(f"SHOW {kind} YIELD name, type WHERE type <> 'LOOKUP' RETURN name").values()
        for (name,) in rows:
            session.run(f"DROP {command} {name} IF EXISTS").consume()
    session.run("MATCH (n) DETACH DELETE n").consume()


def opening() -> "subprocess.Popen[bytes]":
    """A process that opens a store."""
    return subprocess.Popen([sys.executable, "-c", OPEN, server().uri])


def assert_migrated(session: Session) -> None:
    words = [statement.split()[0] for text in migrations().values() for statement in statements(text)]
    made = words.count("CREATE") - words.count("DROP")
    indexes = session.run("SHOW INDEXES YIELD type, state WHERE type <> 'LOOKUP' RETURN state").values()
    assert indexes == [["ONLINE"]] * (made + VECTOR_INDEXES)
    assert session.run("MATCH (m:Migrations) RETURN m.version").values() == [[max(migrations())]]


def test_processes_that_open_a_new_database_at_once_agree(session: Session) -> None:
    empty_store().close()
    forget_schema(session)
    processes = [opening() for _ in range(6)]
    assert [process.wait(timeout=240) for process in processes] == [0] * 6
    assert_migrated(session)


def test_a_process_that_is_killed_amid_its_migration_is_in_nobodys_way(session: Session) -> None:
    empty_store().close()
    forget_schema(session)
    killed = opening()
    while len(session.run("SHOW INDEXES YIELD type WHERE type <> 'LOOKUP' RETURN type").values()) < 4:
        assert killed.poll() is None
    processes = [opening() for _ in range(5)]
    killed.kill()
    assert killed.wait() != 0, "it had not ended"
    assert session.run("MATCH (m:Migrations) WHERE m.version IS NOT NULL RETURN m").values() == [], "nor migrated"
    assert [process.wait(timeout=240) for process in processes] == [0] * 5
    assert_migrated(session)


@pytest.mark.parametrize(
    "orphan", ["migrations_name FOR (n:Migrations) ON (n.name)", "answer_key FOR (n:Answer) ON (n.key)"]
)
def test_an_index_without_its_constraint_is_in_nobodys_way(session: Session, orphan: str) -> None:
    """The server leaves one where a process is killed between the two."""
    empty_store().close()
    forget_schema(session)
    session.run(f"CREATE INDEX {orphan}").consume()
    Neo4jStore(server().uri).close()
    assert_migrated(session)
    made = session.run("SHOW CONSTRAINTS YIELD name RETURN name").value()
    assert orphan.split(maxsplit=1)[0] in made


def test_a_database_of_a_newer_program_is_left_alone(session: Session) -> None:
    empty_store().close()
    session.run("MATCH (m:Migrations) SET m.version = 99").consume()
    try:
        with pytest.raises(Unsupported):
            Neo4jStore(server().uri)
    finally:
        session.run("MATCH (m:Migrations) SET m.version = $version", version=max(migrations())).consume()


def test_a_doctor_finds_a_good_server_in_order() -> None:
    store = empty_store()
    findings = store.check(now())
    store.close()
    assert [each for each in findings if each.grade is not Grade.OK] == []
    told = {each.check: each.finding for each in findings}
    assert told["engine"].startswith("Neo4j ")
    assert (told["indexes"], told["lock_timeout"]) == ("online", "5s")


def test_a_clock_that_is_apart_from_ours_is_told() -> None:
    store = empty_store()
    findings = {each.check: each for each in store.check(Instant(now() - 3600 * SECOND))}
    store.close()
    assert findings["server_clock"].grade is Grade.WARNING
    assert "3600" in findings["server_clock"].finding


def test_a_database_that_is_no_store_can_be_left_so(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    """And if it is made one, which may take minutes, the log says so before and after."""
    caplog.set_level("INFO", logger="vigencia.graph.neo4j_store.migration")
    empty_store().close()
    forget_schema(session)
    caplog.clear()
    with pytest.raises(NotFound):
        Neo4jStore(server().uri, make=False)
    assert session.run("SHOW CONSTRAINTS YIELD name RETURN name").values() == []
    assert caplog.messages == []
    empty_store().close()
    first, last = caplog.messages
    assert "the database 'neo4j' is there; making its constraints and indexes" in first
    assert "online after" in last
    Neo4jStore(server().uri, make=False).close()
    assert len(caplog.messages) == 2


def test_a_server_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "CALENDAR_SINCE", (9999, 1, 0))
    monkeypatch.setattr(diagnosis, "LTS_SINCE", (9999, 1, 0))
    with pytest.raises(Unsupported, match="too old"):
        Neo4jStore(server().uri)


def test_whoever_begins_sees_what_was_acknowledged_before() -> None:
    """So a command sees what the command before it wrote."""
    with closing(empty_store()) as one:
        caller = Caller(one)
        for number in range(3):
            told = caller.tell(f"v{number}")
            with closing(Neo4jStore(server().uri)) as other, other.read(SCOPE) as reader:
                assert reader.head.position == told.position


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(Incorrect):
        Neo4jStore("http://127.0.0.1:7687")


def test_a_closed_store_is_unavailable() -> None:
    store = empty_store()
    store.close()
    with pytest.raises(Unavailable):
        store.tenants()


@pytest.mark.parametrize(
    ("name", "supported"),
    [
        ("Neo4j 5.26.24 community", False),
        ("Neo4j 5.26.25 community", True),
        ("Neo4j 2025.11.0 community", False),
        ("Neo4j 2026.03.0 enterprise", True),
        ("Neo4j 2026.08.1 community", True),
        ("something", False),
    ],
)
def test_which_servers_read_rightly(name: str, supported: bool) -> None:
    assert is_supported(name) is supported
