"""What is left of writes when the database is killed amid them: all that was acknowledged, once."""

import signal
import threading
import time
from collections import Counter
from contextlib import closing
from random import Random

import pytest

from graph.neo4j_store.store import Neo4jStore
from ontology.scope import Scope, scope_of
from tests.neo4j.callers import LIMITS, Caller, assert_serial, assert_sound, assert_there_once, settle, values
from tests.neo4j.stores import empty_store, killable
from tests.sizes import scaled

pytestmark = pytest.mark.neo4j

SEED = 20261130
ROUNDS = scaled(6, 1)
KILLS_OF_A_ROUND = scaled(5, 2)


class Work:
    """Callers on two servers that write to two tenants, until told to stop; some give up what fails."""

    def __init__(self, stores: list[Neo4jStore], scopes: list[Scope]) -> None:
        self._scopes = scopes
        self.callers = [Caller(stores[number % len(stores)]) for number in range(4)]
        self.abandoned: list[str] = []
        self.errors: list[BaseException] = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(4)]
        for thread in self._threads:
            thread.start()

    def acknowledged(self) -> int:
        return sum(len(caller.acknowledged) for caller in self.callers)

    def await_more(self, count: int) -> None:
        wanted = self.acknowledged() + count
        while self.acknowledged() < wanted and not self.errors:
            time.sleep(0.01)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self, number: int) -> None:
        caller, rng, count = self.callers[number], Random(SEED + number), 0
        try:
            while not self._stop.is_set():
                value, subject, scope = f"{number}-{count}", f"s{count % 10}", self._scopes[number // 2]
                count += 1
                if rng.random() < 0.2:
                    if not caller.try_to_tell(value, scope=scope, subject=subject):
                        self.abandoned.append(value)
                        time.sleep(0.2)
                else:
                    caller.tell(value, scope=scope, subject=subject)
        except BaseException as exc:
            self.errors.append(exc)


def test_a_database_that_is_killed_during_writes_keeps_what_it_acknowledged() -> None:
    rng = Random(SEED)
    with (
        killable() as local,
        closing(empty_store(local.uri, limits=LIMITS)) as store,
        closing(Neo4jStore(local.uri, limits=LIMITS)) as other,
    ):
        for number in range(ROUNDS):
            scopes = [scope_of(f"acme-{number}"), scope_of(f"zebra-{number}")]
            work = Work([store, other], scopes)
            try:
                for _ in range(KILLS_OF_A_ROUND):
                    work.await_more(10)
                    time.sleep(rng.uniform(0, 0.5))
                    local.signal(signal.SIGKILL)
                    local.start()
                work.await_more(10)
            finally:
                work.stop()
            settle()
            assert_kept(store, work, scopes)


def assert_kept(store: Neo4jStore, work: Work, scopes: list[Scope]) -> None:
    acknowledged = [told for caller in work.callers for told in caller.acknowledged]
    refused = sum((caller.refused for caller in work.callers), Counter[str]())
    there = {value for scope in scopes for value in values(store, scope)}
    print(
        f"{KILLS_OF_A_ROUND} kills: {len(acknowledged)} acknowledged, told to come again {dict(refused)}, "
        f"{len(work.abandoned)} given up of which {len(there.intersection(work.abandoned))} are there",
        end=", ",
    )
    assert work.errors == []
    assert refused, "nothing was under way when the database was killed"
    for scope in scopes:
        assert_there_once(store, scope, acknowledged, work.abandoned)
        assert_serial(store, scope)
        assert_sound(store, scope)
    print("refold clean", flush=True)
