"""Two servers on one database, one an hour behind in its clock: one order, one recorded time, and `min_position`."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from neo4j import GraphDatabase

from graph.neo4j_store.database import Database, Work
from graph.neo4j_store.store import Neo4jStore
from ontology.errors import Busy, Unavailable
from ontology.instants import SECOND, Instant
from tests.neo4j.callers import (
    LIMITS,
    SCOPE,
    Acknowledged,
    Caller,
    SkewedClock,
    assert_serial,
    assert_sound,
    assert_there_once,
    settle,
)
from tests.neo4j.process import answer, read_at_least
from tests.neo4j.proxy import Cut, Moment, Proxy
from tests.neo4j.stores import DATABASE, empty_store, server
from tests.sizes import scaled

pytestmark = pytest.mark.neo4j

ROOT = Path(__file__).parents[2]
BEHIND = -3600 * SECOND
Ask = Callable[[dict[str, Any]], Any]
"""What `process.answer` does, wherever that is."""


@pytest.fixture
def store() -> Iterator[Neo4jStore]:
    with closing(empty_store(limits=LIMITS)) as opened:
        yield opened


@contextmanager
def here(skew: int) -> Iterator[Ask]:
    with closing(Neo4jStore(server().uri, limits=LIMITS)) as opened:
        caller = Caller(opened, SkewedClock(skew))
        yield lambda asked: json.loads(json.dumps(answer(asked, opened, caller)))


@contextmanager
def elsewhere(skew: int) -> Iterator[Ask]:
    command = [sys.executable, "-m", "tests.neo4j.process", server().uri, "--skew", str(skew)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:

        def ask(asked: dict[str, Any]) -> Any:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            assert line, process.stderr.read()
            return json.loads(line)

        try:
            yield ask
        finally:
            process.kill()
            process.communicate()


@pytest.fixture(params=[here, elsewhere], ids=["one process", "two processes"])
def servers(request: pytest.FixtureRequest, store: Neo4jStore) -> Iterator[tuple[Ask, Ask]]:
    """The second is behind."""
    with ExitStack() as stack:
        yield stack.enter_context(request.param(0)), stack.enter_context(request.param(BEHIND))


def acknowledged(rows: list[dict[str, Any]]) -> list[Acknowledged]:
    return [
        Acknowledged(scope=SCOPE, value=row["value"], position=row["position"], recorded_at=Instant(row["recorded_at"]))
        for row in rows
    ]


def test_what_one_acknowledged_the_other_sees_at_its_position(store: Neo4jStore, servers: tuple[Ask, Ask]) -> None:
    told: list[Acknowledged] = []
    for number in range(scaled(40, 6)):
        writer, reader = servers if number % 2 else servers[::-1]
        told += acknowledged(writer({"tell": [f"v{number}"]}))
        seen = reader({"read": told[-1].position})
        assert seen["position"] >= told[-1].position, "it did not come in time"
        assert seen["values"] == [each.value for each in told]
        own = writer({"read": told[-1].position})
        assert own["values"] == seen["values"]
    settle()
    assert_there_once(store, SCOPE, told)
    assert assert_serial(store, SCOPE) == len(told)


def test_recorded_time_goes_on_whichever_of_them_writes(store: Neo4jStore, servers: tuple[Ask, Ask]) -> None:
    each = scaled(200)
    with ThreadPoolExecutor(2) as pool:
        work = [
            pool.submit(ask, {"tell": [f"{number}-{count}" for count in range(each)]})
            for number, ask in enumerate(servers)
        ]
        told = [row for done in work for row in acknowledged(done.result())]
    newest = max(row.position for row in told)
    for ask in servers:
        seen = ask({"read": newest})
        assert seen["position"] == newest
        assert sorted(seen["values"]) == sorted(row.value for row in told)
    assert_there_once(store, SCOPE, told)
    assert assert_serial(store, SCOPE) == 2 * each
    assert_sound(store, SCOPE)


def test_a_reader_whose_wire_broke_sees_the_newest_commit_as_soon_as_it_can(store: Neo4jStore) -> None:
    """It makes sure of a commit of another server by its lock; that this failed once must not keep it for long."""
    with closing(Proxy(server().uri)) as proxy, closing(Neo4jStore(proxy.uri, limits=LIMITS)) as behind:
        told = Caller(store).tell("first")
        settle()
        proxy.arm(Cut(Moment.BEFORE_RUN, skip=1))
        with pytest.raises(Unavailable):
            behind.read(SCOPE)
        assert proxy.cuts.total() == 1
        assert read_at_least(behind, told.position)["position"] == told.position


def test_a_reader_that_waited_in_vain_for_a_long_write_sees_the_commit_after_it(store: Neo4jStore) -> None:
    caller = Caller(store)
    with closing(Neo4jStore(server().uri, limits=LIMITS)) as behind:
        caller.tell("first")
        settle()
        with store.write(SCOPE), behind.read(SCOPE) as reader:
            assert reader.head.position == 0
        told = caller.tell("second")
        assert read_at_least(behind, told.position)["position"] == told.position


def test_who_queued_behind_one_that_waited_in_vain_is_told_at_once(
    store: Neo4jStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait for the others of this server and that for another server do not add up."""
    Caller(store).tell("seen")
    begun = 0
    begin = Database.begin

    def counting(database: Database, seconds: float | None = None) -> Work:
        nonlocal begun
        begun += 1
        return begin(database, seconds)

    def write(after: float) -> str:
        time.sleep(after)
        with pytest.raises(Busy) as caught, store.write(SCOPE):
            pass
        assert caught.value.retry_after == 2
        return caught.value.message

    monkeypatch.setattr(Database, "begin", counting)
    with GraphDatabase.driver(server().uri) as driver, driver.session(database=DATABASE) as session:
        other = session.begin_transaction()
        other.run("MATCH (c:Clock {tenant: 'acme'}) SET c.locked_by = 'another'").consume()
        with ThreadPoolExecutor(2) as pool:
            told = list(pool.map(write, (0.0, 1.0)))
        other.rollback()
    assert begun == 1
    for message in told:
        assert "of another server" in message
        assert "held the tenant 'acme' for" in message
    Caller(store).tell("free again")
