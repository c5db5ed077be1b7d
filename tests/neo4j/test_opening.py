"""How a store comes into being: several processes at once, on a new database, or against a server that is wrong."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from neo4j import GraphDatabase, NotificationMinimumSeverity, Session

from graph.neo4j_store.diagnosis import is_supported
from graph.neo4j_store.migration import migrations, statements
from graph.neo4j_store.store import Neo4jStore
from ontology.errors import Incorrect, Unavailable, Unsupported
from tests.neo4j.stores import DATABASE, empty_store, server

pytestmark = pytest.mark.neo4j

OPEN = "import sys; from graph.neo4j_store.store import Neo4jStore; Neo4jStore(sys.argv[1]).close()"


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


def test_processes_that_open_a_new_database_at_once_agree(session: Session) -> None:
    empty_store().close()
    forget_schema(session)
    processes = [subprocess.Popen([sys.executable, "-c", OPEN, server().uri]) for _ in range(3)]
    assert [process.wait(timeout=240) for process in processes] == [0, 0, 0]
    made = sum(statement.startswith("CREATE") for text in migrations().values() for statement in statements(text))
    indexes = session.run("SHOW INDEXES YIELD type, state WHERE type <> 'LOOKUP' RETURN state").values()
    assert indexes == [["ONLINE"]] * made


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
    findings = store.check()
    store.close()
    assert findings["engine"].startswith("Neo4j ")
    assert (findings["version"], findings["indexes"]) == ("ok", "ok")


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
