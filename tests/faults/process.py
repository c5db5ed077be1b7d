"""A process of its own that writes to, reads from, or holds a store; the tests start it and may kill it.

    python -m tests.faults.process write  PATH NAME --count 200 --slots 1 [--skew MICROSECONDS]
    python -m tests.faults.process count  PATH NAME --count 200
    python -m tests.faults.process read   PATH NAME
    python -m tests.faults.process hold   PATH NAME

Each prints one line of JSON for each thing that it did, after the commit.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any, Final

from api.wiring import SystemClock, SystemRandomness
from consolidation.items import Assert, Said
from consolidation.write import Writer
from graph.ports import Page
from graph.sqlite_store.store import SqliteStore
from ontology.errors import VersionChanged
from ontology.facts import AsOf, Version
from ontology.instants import Instant
from ontology.packs import load_core
from ontology.scope import scope_of

TENANT: Final = "faults"
SCOPE: Final = scope_of(TENANT)
PARTS: Final = 3
"""How many claims one transaction has."""
BUSY_SECONDS: Final = 120.0


class SkewedClock:
    """The clock of this machine, off by some microseconds."""

    def __init__(self, skew: int) -> None:
        self._skew = skew
        self._clock = SystemClock()

    def now(self) -> Instant:
        return Instant(self._clock.now() + self._skew)


def open_store(path: str, busy_seconds: float = BUSY_SECONDS) -> SqliteStore:
    return SqliteStore(path, busy_seconds=busy_seconds)


def writer_of(store: SqliteStore, skew: int = 0) -> Writer:
    return Writer(store=store, clock=SkewedClock(skew), randomness=SystemRandomness(), core=load_core())


def told(name: str, number: int, slots: int) -> list[Assert]:
    """The claims of one transaction: one value on three subjects, from a start that nobody else has."""
    rng = random.Random(f"{name} {number}")
    slot = number % slots
    said = Said(valid_from=f"{rng.randint(1900, 2020)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}")
    return [
        Assert(subject=f"slot {slot}.{part}", predicate="p", value=f"{name} {number}", said=said)
        for part in range(PARTS)
    ]


def write(store: SqliteStore, given: argparse.Namespace) -> Iterator[Any]:
    writer = writer_of(store, given.skew)
    for number in count():
        receipt = writer.write(SCOPE, given.name, told(given.name, number, given.slots)).receipt
        yield {"number": number, "position": receipt["position"], "recorded_at": receipt["recorded_at"]}


def count_up(store: SqliteStore, given: argparse.Namespace) -> Iterator[Any]:
    """Add one to a counter that others count too, by the version that was read."""
    writer = writer_of(store)
    for number in count():
        while not _added_one(store, writer, given.name):
            pass
        yield {"number": number}


def _added_one(store: SqliteStore, writer: Writer, name: str) -> bool:
    version, value = counted(store)
    item = Assert(
        subject="counter", predicate="reads", value=value + 1, said=Said(valid_from="2020-01-01"),
        expected_version=Version(version),
    )  # fmt: skip
    try:
        writer.write(SCOPE, name, [item])
    except VersionChanged:
        return False
    return True


def counted(store: SqliteStore) -> tuple[int, int]:
    """(version of the slot, what the counter reads)."""
    with store.read(SCOPE) as reader:
        entity = reader.entities_by_key(["counter"]).get("counter")
        if entity is None:
            return 0, 0
        (head,) = reader.slots_of(entity.id, "reads")
        as_of = AsOf(valid_at=SystemClock().now(), known_at=reader.head.recorded_at)
        (fact,) = reader.state([(entity.id, "reads")], as_of, certain=True, page=Page(10))
    return head.version, int(fact.version.value.text)


def read(store: SqliteStore, given: argparse.Namespace) -> Iterator[Any]:
    """What all claims of a transaction say must show together, in every snapshot."""
    while True:
        with store.read(SCOPE) as reader:
            keys = [f"slot 0.{part}" for part in range(PARTS)]
            ids = [entity.id for _, entity in sorted(reader.entities_by_key(keys).items())]
            as_of = AsOf(valid_at=SystemClock().now(), known_at=reader.head.recorded_at)
            values = []
            for subject in ids:
                facts = reader.state([(subject, "p")], as_of, certain=True, page=Page(10))
                values.append([fact.version.value.text for fact in facts])
            yield {"position": reader.head.position, "values": values}


def hold(store: SqliteStore, given: argparse.Namespace) -> Iterator[Any]:
    """Hold the write lock until killed."""
    with store.write(SCOPE):
        yield {"holding": True}
        time.sleep(600)


DOES: Final[dict[str, Callable[[SqliteStore, argparse.Namespace], Iterator[Any]]]] = {
    "write": write,
    "count": count_up,
    "read": read,
    "hold": hold,
}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("does", choices=DOES)
    parser.add_argument("path")
    parser.add_argument("name")
    parser.add_argument("--count", type=int)
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--skew", type=int, default=0)
    given = parser.parse_args(arguments)
    store = open_store(given.path)
    for done in islice(DOES[given.does](store, given), given.count):
        print(json.dumps(done), flush=True)
    store.close()


if __name__ == "__main__":
    main(sys.argv[1:])
