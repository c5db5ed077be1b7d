"""How much is measured: all of it in about a quarter of an hour, or quickly, or as little as shows that it runs."""

from dataclasses import dataclass
from typing import Final


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


FULL: Final = Sizes(
    facts=(10_000, 100_000, 1_000_000), slot_versions=100_000, runs=21, reads=400, requests=500, writes=20
)
QUICK: Final = Sizes(facts=(2_000, 20_000), slot_versions=10_000, runs=7, reads=200, requests=300, writes=10)
TINY: Final = Sizes(facts=(400, 800), slot_versions=300, runs=2, reads=10, requests=20, writes=3)
