"""Time, chance and Hypothesis for every test: a clock that stands, a seed, and examples that are the same each time."""

import random
from dataclasses import dataclass
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from graph.ports import Clock, Randomness
from ontology.instants import DAY, Instant, days_from_civil
from tests.sizes import SOAK

_START: Final = Instant(days_from_civil(2026, 6, 1) * DAY)
_CHECKS: Final = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.differing_executors)

settings.register_profile("ci", derandomize=True, max_examples=150, deadline=None, suppress_health_check=_CHECKS)
settings.register_profile("soak", max_examples=1500, deadline=None, print_blob=True, suppress_health_check=_CHECKS)
settings.load_profile("soak" if SOAK else "ci")


@dataclass(slots=True)
class FrozenClock:
    """A clock that reads what it is set to."""

    reading: Instant = _START

    def now(self) -> Instant:
        return self.reading

    def advance(self, microseconds: int) -> Instant:
        self.reading = Instant(self.reading + microseconds)
        return self.reading


class SeededRandomness:
    """The same bytes in the same order for the same seed."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self._random = random.Random(seed)

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)


_clock: type[Clock] = FrozenClock
_randomness: type[Randomness] = SeededRandomness


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on Neo4j come last, each module's together: what needs no server fails before one starts."""
    items.sort(key=lambda item: item.get_closest_marker("neo4j") is not None)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def randomness() -> SeededRandomness:
    return SeededRandomness()
