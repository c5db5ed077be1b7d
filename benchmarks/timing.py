"""Medians of runs that alternate between sides, so that what disturbs the machine disturbs all of them."""

import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from statistics import median

Run = Callable[[], float]
"""Does one run and gives its seconds per operation."""


def interleaved(sides: Mapping[str, Run], runs: int) -> dict[str, float]:
    """The median of the runs of each side; the order changes with every round, the first warms up."""
    chance = random.Random(1)
    names = list(sides)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number in range(runs + 1):
        chance.shuffle(names)
        for name in names:
            taken = sides[name]()
            if number:
                seconds[name].append(taken)
    return {name: median(taken) for name, taken in seconds.items()}


def each(operations: Iterator[Callable[[], object]], count: int) -> Run:
    """A run over the next `count` operations of an endless supply, which are made before the clock starts.

    It gives the median of their times, so that a moment in which others have the processor does not count.
    """

    def run() -> float:
        ready = [next(operations) for _ in range(count)]
        taken = []
        for operation in ready:
            started = time.perf_counter()
            operation()
            taken.append(time.perf_counter() - started)
        return median(taken)

    return run


def tell(text: str) -> None:
    """Say on stderr how it goes."""
    print(f"[{time.perf_counter() - _STARTED:6.1f} s] {text}", file=sys.stderr, flush=True)


_STARTED = time.perf_counter()
