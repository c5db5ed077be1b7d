"""How much is measured: all of it in about a quarter of an hour, or quickly, or as little as shows that it runs."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSizes:
    """What is measured on a Neo4j server."""

    facts: tuple[int, ...]
    """Of the tenants that are read, each a multiple of the one before."""
    crowd: int
    """Facts of others beside which the smallest tenant is read again."""
    slot_versions: tuple[int, ...]
    """Of the slots that have many."""
    degree: int
    """How many facts point at the entity that is in the way of a walk."""
    written: int
    """Facts beside which single writes are made."""
    loaded: int
    """Facts of a bulk load."""
    searched: int
    """Facts of the tenant that is searched."""
    runs: int
    reads: int
    writes: int
    walks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    facts: tuple[int, ...]
    """Of the stores that are read and loaded, each a multiple of the one before; the first is that of writes too."""
    slot_versions: int
    """Of the slot that has many."""
    runs: int
    """How often each side is measured, in turn."""
    reads: int
    """Questions in one run."""
    requests: int
    """Requests in one run."""
    writes: int
    """Transactions in one run."""
    episodes: int
    searched: int
    """Facts of the tenant that is searched."""
    searched_small: int
    """Facts of each of many tenants that are searched."""
    searched_tenants: int
    searches: int
    """Questions in one run."""
    graph: GraphSizes


FULL: Final = Sizes(
    facts=(10_000, 100_000, 1_000_000), slot_versions=100_000, runs=21, reads=400, requests=500, writes=20,
    episodes=10_000, searched=100_000, searched_small=1_000, searched_tenants=100, searches=20,
    graph=GraphSizes(
        facts=(10_000, 100_000), crowd=1_000_000, slot_versions=(10_000, 100_000), degree=100_000, written=10_000,
        loaded=10_000, searched=20_000, runs=9, reads=200, writes=20, walks=20,
    ),
)  # fmt: skip
QUICK: Final = Sizes(
    facts=(2_000, 20_000), slot_versions=10_000, runs=7, reads=200, requests=300, writes=10,
    episodes=2_000, searched=20_000, searched_small=1_000, searched_tenants=10, searches=10,
    graph=GraphSizes(
        facts=(10_000,), crowd=0, slot_versions=(10_000,), degree=10_000, written=2_000,
        loaded=4_000, searched=10_000, runs=5, reads=100, writes=10, walks=2,
    ),
)  # fmt: skip
TINY: Final = Sizes(
    facts=(400, 800), slot_versions=300, runs=2, reads=10, requests=20, writes=3,
    episodes=120, searched=400, searched_small=80, searched_tenants=3, searches=3,
    graph=GraphSizes(
        facts=(400, 800), crowd=800, slot_versions=(40, 80), degree=150, written=80,
        loaded=80, searched=80, runs=1, reads=5, writes=2, walks=1,
    ),
)  # fmt: skip
