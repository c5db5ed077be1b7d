"""Callers as they should be, and what must hold of what they were told.

A caller writes under an idempotency key, and the same again where it was told `Busy` or `Unavailable`. Whatever
happens to wires, servers and other writers in between, what was acknowledged is there once.
"""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from api.wiring import SystemClock, SystemRandomness
from consolidation.items import Assert, Item, Said
from consolidation.verify import refold
from consolidation.write import Writer
from graph.neo4j_store.database import Limits
from graph.neo4j_store.snapshot import SETTLED_MILLISECONDS
from graph.paging import each_slot, each_told
from graph.ports import Clock, MemoryStore
from graph.transfer import verify_events
from ontology.errors import Busy, Unavailable
from ontology.instants import Instant, parse_instant
from ontology.packs import load_core
from ontology.scope import Scope, scope_of

SCOPE: Final = scope_of("acme")
LIMITS: Final = Limits(connect_seconds=2.0, acquire_seconds=2.0)
PAUSE_SECONDS: Final = 0.1
PATIENCE_SECONDS: Final = 120.0


class SkewedClock:
    """The clock of this machine, off by some microseconds."""

    def __init__(self, skew: int = 0) -> None:
        self._skew = skew
        self._clock = SystemClock()

    def now(self) -> Instant:
        return Instant(self._clock.now() + self._skew)


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """What a caller was told of one write."""

    scope: Scope
    value: str
    position: int
    recorded_at: Instant


class Caller:
    """Writes values to one store; counts what it was told. Not for several threads at once."""

    def __init__(self, store: MemoryStore, clock: Clock | None = None) -> None:
        self.writer = Writer(store=store, clock=clock or SystemClock(), randomness=SystemRandomness(), core=load_core())
        self.acknowledged: list[Acknowledged] = []
        self.refused: Counter[str] = Counter()
        """How often it was told to come again, by the name of the error."""

    def tell(
        self, value: str, *, scope: Scope = SCOPE, subject: str = "anna", patience: float = PATIENCE_SECONDS
    ) -> Acknowledged:
        """Tell a value under a key of its own until it is acknowledged; raises what it is told after `patience`."""
        return self.write([visited(value, subject)], value, scope=scope, patience=patience)

    def try_to_tell(self, value: str, *, scope: Scope = SCOPE, subject: str = "anna") -> bool:
        """Tell a value once, and give up where that fails; whether it was acknowledged."""
        try:
            self.write([visited(value, subject)], value, scope=scope, patience=0)
        except (Busy, Unavailable):
            return False
        return True

    def write(
        self, items: Sequence[Item], key: str, *, scope: Scope = SCOPE, patience: float = PATIENCE_SECONDS
    ) -> Acknowledged:
        until = time.monotonic() + patience
        while True:
            try:
                receipt = self.writer.write(scope, "tester", items, key=key).receipt
            except (Busy, Unavailable) as exc:
                self.refused[type(exc).__name__] += 1
                if time.monotonic() >= until:
                    raise
                time.sleep(PAUSE_SECONDS)
            else:
                position, recorded_at = receipt["position"], receipt["recorded_at"]
                assert isinstance(position, int)
                assert isinstance(recorded_at, str)
                told = Acknowledged(scope=scope, value=key, position=position, recorded_at=parse_instant(recorded_at))
                self.acknowledged.append(told)
                return told


def visited(value: str, subject: str = "anna") -> Assert:
    return Assert(subject={"key": subject}, predicate="visited", value=value, said=Said(valid_from="2020-01-01"))


def settle() -> None:
    """Wait until what another store wrote last is old enough to be read without having seen it acknowledged."""
    time.sleep(SETTLED_MILLISECONDS / 1000 + 0.1)


def values(store: MemoryStore, scope: Scope = SCOPE) -> list[str]:
    """Every value that was told, in the order of recorded time in each slot."""
    with store.read(scope) as reader:
        told = [each.claim for head in each_slot(reader, None) for each in each_told(reader, head.slot)]
    return [claim.value.text for claim in told if claim.value is not None]


def assert_serial(store: MemoryStore, scope: Scope) -> int:
    """Positions have no gap and recorded time strictly increases; gives the number of commits."""
    with store.read(scope) as reader:
        events = [event for event, _ in reader.events(after=0, limit=100_000)]
    assert [event.position for event in events] == list(range(1, len(events) + 1)), "gap-free"
    assert all(a.recorded_at < b.recorded_at for a, b in pairwise(events)), "strictly increasing"
    return len(events)


def assert_there_once(
    store: MemoryStore, scope: Scope, acknowledged: Iterable[Acknowledged], abandoned: Iterable[str] = ()
) -> None:
    """Each acknowledged value is there once, at the commit that its receipt names; each that a caller gave up on is
    there once or not at all; nothing else is there."""
    mine = [told for told in acknowledged if told.scope == scope]
    stored = Counter(values(store, scope))
    assert [value for value, count in stored.items() if count > 1] == [], "doubled"
    assert {told.value for told in mine} - stored.keys() == set(), "lost"
    assert stored.keys() - {told.value for told in mine} - set(abandoned) == set(), "from nowhere"
    with store.read(scope) as reader:
        events = {event.position: event.recorded_at for event, _ in reader.events(after=0, limit=100_000)}
    assert [told for told in mine if events.get(told.position) != told.recorded_at] == [], "receipts name their commit"
    assert len({told.position for told in mine}) == len(mine), "a commit for each"


def assert_sound(store: MemoryStore, scope: Scope) -> None:
    """What `journal verify --refold` asks."""
    assert verify_events(store, scope.tenant) == []
    assert refold(store, scope.tenant) == []
