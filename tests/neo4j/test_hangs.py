"""What callers see of a server that hangs: an error in bounded time, and the right answer when it goes on."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from graph.neo4j_store.store import Neo4jStore
from ontology.errors import Busy, Unavailable
from tests.neo4j.callers import LIMITS, SCOPE, Caller, assert_serial, assert_sound, assert_there_once, settle, values
from tests.neo4j.stores import empty_store, killable
from tests.neo4j_server import Local

pytestmark = pytest.mark.neo4j

AT_MOST_SECONDS = 45.0
"""More than twice what it takes for the server's silence to be noticed: two keep-alives of 5 s."""


@pytest.fixture
def local() -> Iterator[Local]:
    with killable() as found:
        yield found


@pytest.fixture
def store(local: Local) -> Iterator[Neo4jStore]:
    with closing(empty_store(local.uri, limits=LIMITS)) as opened:
        yield opened


@contextmanager
def hanging(local: Local) -> Iterator[None]:
    local.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        local.signal(signal.SIGCONT)


def outcomes(actions: dict[str, Callable[[], object]]) -> dict[str, str]:
    """What each of them ended with, all at once: the name of its error, or `returned`, or `hung`."""
    found: dict[str, str] = dict.fromkeys(actions, "hung")

    def run(name: str) -> None:
        began = time.monotonic()
        try:
            actions[name]()
            found[name] = "returned"
        except (Busy, Unavailable) as exc:
            found[name] = type(exc).__name__
        print(f"{name}: {found[name]} after {time.monotonic() - began:.1f} s")

    threads = [threading.Thread(target=run, args=(name,), daemon=True) for name in actions]
    deadline = time.monotonic() + AT_MOST_SECONDS
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return found


def test_reads_and_writes_of_a_server_that_hangs_end_in_time(local: Local, store: Neo4jStore) -> None:
    first, second, opened = Caller(store), Caller(store), []
    first.tell("before")
    with hanging(local):
        found = outcomes(
            {
                "read": lambda: values(store),
                "write": lambda: first.tell("during", patience=0),
                "write behind another": lambda: second.tell("also during", patience=0),
                "open": lambda: opened.append(Neo4jStore(local.uri, limits=LIMITS)),
                "list": store.tenants,
            }
        )
    assert opened == []
    assert set(found.values()) <= {"Busy", "Unavailable"}, found
    first.tell("during")
    second.tell("also during")
    first.tell("after")
    assert sorted(values(store)) == ["after", "also during", "before", "during"]
    assert_there_once(store, SCOPE, first.acknowledged + second.acknowledged)


def test_writers_of_a_server_that_hangs_and_goes_on_lose_nothing(local: Local, store: Neo4jStore) -> None:
    """It stops amid their writes, commits included, for longer than they wait for it."""
    errors: list[BaseException] = []
    stop = threading.Event()

    def work(number: int, caller: Caller) -> None:
        try:
            while not stop.is_set():
                caller.tell(f"{number}-{len(caller.acknowledged)}")
        except BaseException as exc:
            errors.append(exc)

    with closing(Neo4jStore(local.uri, limits=LIMITS)) as other:
        callers = [Caller(store), Caller(other), Caller(other)]
        threads = [threading.Thread(target=work, args=(number, caller)) for number, caller in enumerate(callers)]
        for thread in threads:
            thread.start()
        time.sleep(1.0)
        with hanging(local):
            time.sleep(13.0)
        done = sum(len(caller.acknowledged) for caller in callers)
        deadline = time.monotonic() + AT_MOST_SECONDS
        while sum(len(caller.acknowledged) for caller in callers) < done + 10 and time.monotonic() < deadline:
            time.sleep(0.1)
        stop.set()
        for thread in threads:
            thread.join()
    settle()
    print(f"{[(len(caller.acknowledged), dict(caller.refused)) for caller in callers]}")
    acknowledged = [told for caller in callers for told in caller.acknowledged]
    assert errors == []
    assert len(acknowledged) >= done + 10
    assert any(caller.refused for caller in callers), "nobody noticed"
    assert_there_once(store, SCOPE, acknowledged)
    assert assert_serial(store, SCOPE) == len(acknowledged)
    assert_sound(store, SCOPE)
