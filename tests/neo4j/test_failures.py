"""What happens to writes when the wire is cut, the server dies, or another process is faster."""

import signal
import threading
import time
from collections.abc import Iterator
from random import Random

import pytest

from consolidation.items import Assert, Said
from consolidation.verify import refold
from consolidation.write import Writer
from graph.neo4j_store.database import Limits
from graph.neo4j_store.snapshot import SETTLED_MILLISECONDS
from graph.neo4j_store.store import Neo4jStore
from graph.ports import Page
from ontology.errors import Busy, Unavailable
from ontology.facts import AsOf
from ontology.instants import SECOND, parse_instant
from ontology.packs import load_core
from ontology.scope import Scope, scope_of
from tests.conftest import FrozenClock, SeededRandomness
from tests.neo4j.proxy import Cut, Proxy
from tests.neo4j.stores import empty_store, server
from tests.neo4j_server import Local
from tests.sizes import scaled

pytestmark = pytest.mark.neo4j

SCOPE = scope_of("acme")
LIMITS = Limits(connect_seconds=2.0, acquire_seconds=2.0)


@pytest.fixture
def store() -> Iterator[Neo4jStore]:
    opened = empty_store(limits=LIMITS)
    yield opened
    opened.close()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    opened = Proxy(server().uri)
    yield opened
    opened.close()


def writer_of(store: Neo4jStore, clock: FrozenClock | None = None, seed: int = 0) -> Writer:
    return Writer(store=store, clock=clock or FrozenClock(), randomness=SeededRandomness(seed), core=load_core())


def tell(writer: Writer, value: str, *, key: str, scope: Scope = SCOPE, subject: str = "anna") -> bool:
    """One write under an idempotency key, again until it succeeds; whether it took more than one attempt."""
    item = Assert(subject={"key": subject}, predicate="visited", value=value, said=Said(valid_from="2020-01-01"))
    for attempt in range(40):
        try:
            writer.write(scope, "tester", [item], key=key)
        except (Busy, Unavailable):
            time.sleep(0.1)
        else:
            return attempt > 0
    raise AssertionError(f"{key} was never written")


def settle() -> None:
    """Wait until what another store wrote last is old enough to be read without having seen it acknowledged."""
    time.sleep(SETTLED_MILLISECONDS / 1000 + 0.1)


def values(store: Neo4jStore, scope: Scope = SCOPE, subject: str = "anna") -> list[str]:
    with store.read(scope) as reader:
        entity = reader.entities_by_key([subject])[subject]
        return [told.claim.value.text for told in reader.claims(entity.id, None, limit=10_000, after=None)
                if told.claim.value is not None]  # fmt: skip


def test_a_wire_that_is_cut_loses_nothing_and_doubles_nothing(store: Neo4jStore, proxy: Proxy) -> None:
    through = Neo4jStore(proxy.uri, limits=LIMITS)
    writer, rng = writer_of(through), Random(7)
    rounds = scaled(500, 50)
    for number in range(rounds):
        cut = rng.choice(list(Cut))
        proxy.arm(cut, 0 if cut is Cut.AFTER_COMMIT else rng.randrange(6))
        tell(writer, f"v{number}", key=f"k{number}")
        proxy.disarm()
    through.close()
    settle()
    assert proxy.cuts > rounds / 2
    assert values(store) == [f"v{number}" for number in range(rounds)]
    assert refold(store, SCOPE.tenant) == []


def test_a_commit_whose_reply_was_lost_is_found(store: Neo4jStore, proxy: Proxy) -> None:
    through = Neo4jStore(proxy.uri, limits=LIMITS)
    writer = writer_of(through)
    tell(writer, "before", key="before")
    proxy.arm(Cut.AFTER_COMMIT)
    assert not tell(writer, "lost", key="lost")
    assert proxy.cuts == 1
    through.close()
    settle()
    assert values(store) == ["before", "lost"]


def test_a_server_that_does_not_exist_is_unavailable_at_once() -> None:
    began = time.monotonic()
    with pytest.raises(Unavailable) as raised:
        Neo4jStore("bolt://127.0.0.1:1", limits=LIMITS)
    assert raised.value.retry_after
    assert time.monotonic() - began < 10


def test_a_server_that_is_killed_during_writes_keeps_what_it_acknowledged() -> None:
    local = server()
    if not isinstance(local, Local):
        pytest.skip("the server is not ours to kill")
    store = empty_store(limits=LIMITS)
    writer, rng = writer_of(store), Random(3)
    number = 0
    for _ in range(scaled(30, 2)):
        stop = threading.Event()

        def kill(after: float = rng.uniform(0.3, 1.5), stop: threading.Event = stop) -> None:
            time.sleep(after)
            local.signal(signal.SIGKILL)
            stop.set()

        killer = threading.Thread(target=kill)
        killer.start()
        pending = None
        while not stop.is_set():
            pending = number
            item = Assert(subject={"key": "anna"}, predicate="visited", value=f"v{number}",
                          said=Said(valid_from="2020-01-01"))  # fmt: skip
            try:
                writer.write(SCOPE, "tester", [item], key=f"k{number}")
            except (Busy, Unavailable):
                time.sleep(0.05)
            else:
                number += 1
                pending = None
        killer.join()
        local.start()
        if pending is not None:
            tell(writer, f"v{pending}", key=f"k{pending}")
            number = pending + 1
    assert values(store) == [f"v{each}" for each in range(number)]
    assert refold(store, SCOPE.tenant) == []
    store.close()


def test_many_writers_come_one_after_the_other(store: Neo4jStore) -> None:
    tenants = [scope_of(f"tenant-{number}") for number in range(8)]
    errors: list[BaseException] = []
    pace = scaled(50, 3)

    def work(worker: int) -> None:
        try:
            for number in range(pace):
                tell(writer, f"{worker}-{number}", key=f"one-{worker}-{number}")
                own = tenants[worker % 8]
                tell(writer, f"{worker}-{number}", key=f"own-{worker}-{number}", scope=own)
        except BaseException as exc:
            errors.append(exc)

    writer = writer_of(store)
    workers = [threading.Thread(target=work, args=(worker,)) for worker in range(32)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert errors == []
    assert sorted(values(store)) == sorted(f"{w}-{n}" for w in range(32) for n in range(pace))
    for scope in tenants:
        assert len(values(store, scope)) == 4 * pace
    with store.read(SCOPE) as reader:
        assert reader.head.position == 32 * pace


def test_a_snapshot_is_the_same_while_writers_run(store: Neo4jStore) -> None:
    clock = FrozenClock()
    writer, other = writer_of(store, clock), Neo4jStore(server().uri, limits=LIMITS)
    tell(writer, "first", key="first")
    stop = threading.Event()
    errors: list[str] = []

    def write(worker: int) -> None:
        number = 0
        while not stop.is_set():
            tell(writer, f"{worker}-{number % 5}", key=f"{worker}-{number}", subject=f"s{number % 7}")
            number += 1

    def read(source: Neo4jStore) -> None:
        seen: dict[int, list[str]] = {}
        while not stop.is_set():
            with source.read(SCOPE) as reader:
                head = reader.head
                found = reader.of_predicate(
                    "visited", AsOf(valid_at=parse_instant("2021-01-01"), known_at=head.recorded_at),
                    certain=False, page=Page(1000),
                )  # fmt: skip
            answer = sorted(f"{fact.version.id} {fact.support.occurrences}" for fact in found)
            if head.position and seen.setdefault(head.position, answer) != answer:
                errors.append(f"at {head.position}: {len(seen[head.position])} then {len(answer)}")
        for position, answer in list(seen.items())[:: max(1, len(seen) // 20)]:
            with source.read(SCOPE) as reader:
                event = reader.events(after=position - 1, limit=1)[0][0]
                found = reader.of_predicate(
                    "visited", AsOf(valid_at=parse_instant("2021-01-01"), known_at=event.recorded_at),
                    certain=False, page=Page(1000),
                )  # fmt: skip
            if sorted(f"{fact.version.id} {fact.support.occurrences}" for fact in found) != answer:
                errors.append(f"at {position} it was different while the writers ran")

    threads = [threading.Thread(target=write, args=(n,)) for n in range(3)]
    threads += [threading.Thread(target=read, args=(source,)) for source in (store, other, store)]
    for each in threads:
        each.start()
    time.sleep(scaled(600, 20))
    stop.set()
    for each in threads:
        each.join()
    other.close()
    assert errors == []


def test_recorded_time_goes_on_with_a_server_whose_clock_is_behind(store: Neo4jStore) -> None:
    ahead, behind = FrozenClock(), FrozenClock()
    ahead.advance(3600 * SECOND)
    other = Neo4jStore(server().uri, limits=LIMITS)
    one, two = writer_of(store, ahead), writer_of(other, behind, seed=1)
    for number in range(6):
        tell(one if number % 2 else two, f"v{number}", key=f"k{number}")
    with store.read(SCOPE) as reader:
        times = [event.recorded_at for event, _ in reader.events(after=0, limit=100)]
    assert times == sorted(set(times))
    deadline = time.monotonic() + 2
    while True:
        with other.read(SCOPE) as reader:
            if reader.head.position >= 6:
                break
        assert time.monotonic() < deadline
        time.sleep(0.05)
    other.close()
