"""The documented way to be rid of what Neo4j leaves in its files: the journal, into a new database."""

import signal
from collections.abc import Iterator
from contextlib import closing

import pytest

from consolidation.episodes import NewEpisode, Recorder
from consolidation.forgetting.forgetter import Forgetter, Named
from graph import transfer
from graph.neo4j_store.store import Neo4jStore
from ontology.instants import SECOND, Instant
from tests.conftest import SeededRandomness
from tests.contract.world import SCOPE, World
from tests.neo4j.stores import empty_store
from tests.neo4j_server import Local, version

pytestmark = pytest.mark.neo4j

MARKER = "zqxmarker"
STAYS = "zqxstays"
SECONDS_MAX = 120


@pytest.fixture
def fresh() -> Iterator[Local]:
    """A server that has had nothing."""
    own = Local(version(), is_short_lived=True)
    yield own
    own.stop()


def bytes_of(server: Local) -> bytes:
    """All that is in the files of a server that ended in good order, transaction logs included."""
    server.signal(signal.SIGTERM)
    server._process.wait(SECONDS_MAX)
    return b"".join(file.read_bytes() for file in (server.home / "data").rglob("*") if file.is_file())


def test_the_files_of_a_database_made_of_the_journal_have_no_byte_of_it(fresh: Local) -> None:
    with closing(empty_store()) as store, closing(Neo4jStore(fresh.uri)) as copy:
        world = World(store)
        Recorder(store=store, clock=world.clock, randomness=SeededRandomness(2)).record(
            SCOPE, "tester", [NewEpisode(text=f"{MARKER} Lind moved to Oslo.")]
        )
        world.clock.advance(SECOND)
        world.tell(f"{MARKER}-key", "name", f"{MARKER} Lind")
        world.tell(f"{MARKER}-key", "note", f"{MARKER} street")
        world.tell("bo", "note", STAYS)
        forgetter = Forgetter(store=store, clock=world.clock, randomness=SeededRandomness(3))
        named = Named(subject=f"{MARKER}-key")
        receipt = forgetter.forget(
            SCOPE, "person", named, confirm=str(forgetter.preview(SCOPE, named)["manifest"])
        )  # fmt: skip
        files = receipt["files"]
        assert isinstance(files, dict)
        assert files["scrubbed"] is False
        lines: list[bytes] = []
        transfer.export_events(store, SCOPE.tenant, lines.append)

        transfer.import_events(copy, SCOPE.tenant, lambda: lines, now=Instant(world.clock.now() + SECOND))

        assert [*copy.ledger(SCOPE.tenant)] == [*store.ledger(SCOPE.tenant)]
    content = bytes_of(fresh)
    assert STAYS.encode() in content
    assert MARKER.encode() not in content
