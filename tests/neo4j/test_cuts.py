"""What becomes of a write whose connection breaks: it took effect once, or not at all until it is tried again."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from random import Random

import pytest

from graph.neo4j_store.store import Neo4jStore
from ontology.errors import Unavailable
from tests.neo4j.callers import (
    LIMITS,
    SCOPE,
    Caller,
    assert_serial,
    assert_sound,
    assert_there_once,
    settle,
    values,
)
from tests.neo4j.proxy import Cut, Moment, Proxy
from tests.neo4j.stores import empty_store, server
from tests.sizes import scaled

pytestmark = pytest.mark.neo4j

SEED = 20261130


@pytest.fixture
def store() -> Iterator[Neo4jStore]:
    with closing(empty_store(limits=LIMITS)) as opened:
        yield opened


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with closing(Proxy(server().uri)) as opened:
        yield opened


def cuts_to_come(rng: Random) -> Iterator[Cut]:
    """One cut, and now and then another that meets the attempt to find out what became of the first."""
    moment = rng.choice(list(Moment))
    is_run = moment in (Moment.BEFORE_RUN, Moment.AFTER_RUN)
    yield Cut(moment, rng.randrange(8) if is_run else 0, rng.choice((0.0, 0.002, 0.05)))
    if rng.random() < 0.2:
        yield Cut(rng.choice((Moment.BEFORE_RUN, Moment.AFTER_RUN)), rng.randrange(2), 0.0)


def test_a_wire_that_is_cut_loses_nothing_and_doubles_nothing(store: Neo4jStore, proxy: Proxy) -> None:
    """Some callers give up; another server, whose wire is whole, writes to the same slot meanwhile."""
    wanted, rng, abandoned, stop = scaled(500, 50), Random(SEED), [], threading.Event()
    rival, errors = Caller(store), []

    def write_beside() -> None:
        try:
            while not stop.wait(0.1):
                rival.tell(f"beside-{len(rival.acknowledged)}")
        except BaseException as exc:
            errors.append(exc)

    beside = threading.Thread(target=write_beside)
    with closing(Neo4jStore(proxy.uri, limits=LIMITS)) as through:
        caller, number = Caller(through), 0
        beside.start()
        try:
            while proxy.cuts.total() < wanted:
                number += 1
                proxy.arm(*cuts_to_come(rng))
                if rng.random() < 0.15:
                    abandoned += [] if caller.try_to_tell(f"v{number}") else [f"v{number}"]
                else:
                    caller.tell(f"v{number}")
                proxy.disarm()
        finally:
            stop.set()
            beside.join()
    settle()
    acknowledged = caller.acknowledged + rival.acknowledged
    there = set(values(store))
    print(
        f"{proxy.cuts.total()} cuts {dict(proxy.cuts)} in {number} writes: {len(caller.acknowledged)} acknowledged, "
        f"told to come again {dict(caller.refused)}, {len(abandoned)} given up of which "
        f"{len(there.intersection(abandoned))} are there; {len(rival.acknowledged)} beside"
    )
    assert errors == []
    assert min(proxy.cuts[moment.value] for moment in Moment) > wanted / 10
    assert_there_once(store, SCOPE, acknowledged, abandoned)
    assert assert_serial(store, SCOPE) == len(there)
    assert_sound(store, SCOPE)


def test_a_commit_whose_reply_was_lost_is_found(store: Neo4jStore, proxy: Proxy) -> None:
    with closing(Neo4jStore(proxy.uri, limits=LIMITS)) as through:
        caller = Caller(through)
        caller.tell("before")
        proxy.arm(Cut(Moment.AFTER_COMMIT))
        assert caller.try_to_tell("lost")
        assert proxy.cuts.total() == 1
    settle()
    assert values(store) == ["before", "lost"]


def test_a_commit_that_did_not_arrive_is_not_acknowledged(store: Neo4jStore, proxy: Proxy) -> None:
    with closing(Neo4jStore(proxy.uri, limits=LIMITS)) as through:
        caller = Caller(through)
        caller.tell("before")
        proxy.arm(Cut(Moment.BEFORE_COMMIT))
        assert not caller.try_to_tell("lost")
        assert proxy.cuts.total() == 1
        caller.tell("after")
    settle()
    assert values(store) == ["before", "after"]


def test_a_write_that_was_cut_before_its_commit_left_nothing(store: Neo4jStore, proxy: Proxy) -> None:
    with closing(Neo4jStore(proxy.uri, limits=LIMITS)) as through:
        caller = Caller(through)
        caller.tell("before")
        for skip in range(2, 6):
            proxy.arm(Cut(Moment.AFTER_RUN, skip))
            assert not caller.try_to_tell(f"cut-{skip}")
        assert proxy.cuts.total() == 4
        caller.tell("after")
    settle()
    assert values(store) == ["before", "after"]


def test_a_server_that_does_not_exist_is_unavailable_at_once() -> None:
    began = time.monotonic()
    with pytest.raises(Unavailable) as raised:
        Neo4jStore("bolt://127.0.0.1:1", limits=LIMITS)
    assert raised.value.retry_after
    assert time.monotonic() - began < 10
