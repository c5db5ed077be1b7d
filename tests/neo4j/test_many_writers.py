"""Many writers at once, on several servers that share one database: their writes come one after the other."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from graph.neo4j_store.store import Neo4jStore
from ontology.scope import scope_of
from tests.neo4j.callers import LIMITS, Caller, assert_serial, assert_sound, assert_there_once, settle
from tests.neo4j.stores import empty_store, server
from tests.sizes import SOAK

pytestmark = pytest.mark.neo4j

WRITERS_OF_A_SERVER = 4
"""Writers of one server queue in their process; those of several meet at the lock of the database."""


@pytest.fixture
def store() -> Iterator[Neo4jStore]:
    with closing(empty_store(limits=LIMITS)) as opened:
        yield opened


@pytest.mark.parametrize(("writers", "each"), [(32, 50)] if SOAK else [(8, 12), (32, 3)])
@pytest.mark.parametrize("tenants", [1, 8])
def test_many_writers_come_one_after_the_other(store: Neo4jStore, tenants: int, writers: int, each: int) -> None:
    scopes = [scope_of(f"tenant-{number}") for number in range(tenants)]
    errors: list[BaseException] = []

    def work(number: int, caller: Caller) -> None:
        try:
            for count in range(each):
                caller.tell(f"{number}-{count}", scope=scopes[number % tenants])
        except BaseException as exc:
            errors.append(exc)

    with ExitStack() as stack:
        servers = [
            stack.enter_context(closing(Neo4jStore(server().uri, limits=LIMITS)))
            for _ in range(writers // WRITERS_OF_A_SERVER)
        ]
        callers = [Caller(servers[number % len(servers)]) for number in range(writers)]
        threads = [threading.Thread(target=work, args=(number, caller)) for number, caller in enumerate(callers)]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
    settle()
    acknowledged = [told for caller in callers for told in caller.acknowledged]
    refused = sum((caller.refused for caller in callers), Counter[str]())
    print(
        f"{writers} writers × {each} on {tenants} tenants, {len(servers)} servers: {len(acknowledged)} acknowledged "
        f"in {took:.1f} s, {len(errors)} errors, told to come again: {dict(refused)}"
    )
    assert errors == []
    assert len(acknowledged) == writers * each
    for scope in scopes:
        assert assert_serial(store, scope) == writers * each // tenants
        assert_there_once(store, scope, acknowledged)
        assert_sound(store, scope)
