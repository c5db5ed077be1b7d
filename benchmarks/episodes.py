"""Episodes: how many are accepted in a second, each batch on the disk before it is told, and how many are read."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from api.wiring import make_worker
from benchmarks import world
from benchmarks.figures import Figure, at_least, plain
from benchmarks.sizes import Sizes
from benchmarks.timing import tell
from consolidation.episodes import NewEpisode

BATCH: Final = 100
SESSIONS: Final = 50
ACCEPTED_PER_SECOND: Final = 1_000


def measure(folder: Path, sizes: Sizes) -> Iterator[Figure]:
    """Record so many episodes of a sentence each in batches, then let one worker read them by the rules."""
    file = folder / "episodes.db"
    services = world.open_store(file)
    tell(f"recording {sizes.episodes:,} episodes")
    began = time.perf_counter()
    for first in range(0, sizes.episodes, BATCH):
        episodes = [_episode(number) for number in range(first, min(first + BATCH, sizes.episodes))]
        services.recorder.record(world.SCOPE, world.PRINCIPAL, episodes)
    per_second = sizes.episodes / (time.perf_counter() - began)
    yield at_least(f"episodes accepted in batches of {BATCH}", per_second, ACCEPTED_PER_SECOND, "episodes/s")
    worker = make_worker(services)
    tell("reading them")
    began = time.perf_counter()
    done = worker.work_off()
    yield plain("episodes read by one worker", done / (time.perf_counter() - began), "episodes/s")
    with services.store.read(world.SCOPE) as reader:
        if len(reader.entities_by_key([f"person{number}" for number in range(BATCH)])) < BATCH:
            raise RuntimeError("the rules found nothing in an episode")
    services.close()
    world.settle(file)
    yield plain("bytes per episode that was read", file.stat().st_size / sizes.episodes, "bytes")


def _episode(number: int) -> NewEpisode:
    return NewEpisode(
        text=f"Person{number} joined Club{number % 97}.",
        source="benchmark",
        session=f"session {number % SESSIONS}",
        observed_at="2026-06-01T09:00:00+02:00",
        zone="Europe/Vienna",
    )
