"""A worker that reads for a long time: `python -m benchmarks.worker_soak` takes twenty minutes.

Episodes come in at a pace that a worker keeps up with, from two hundred people who keep moving, so that slots grow
and their number does not. Each minute is a line: how many were read, how old the oldest that waits is, and how much
memory of its own the process has. What should be flat is the last two columns.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Final

from api.wiring import make_worker
from benchmarks import world
from consolidation.episodes import NewEpisode
from ontology.instants import SECOND

PEOPLE: Final = 200
PER_SECOND: Final = 20


def main() -> None:
    """Print a line a minute, or as often as asked. Ends with an error where an episode is not read in the end."""
    told = argparse.ArgumentParser(prog="python -m benchmarks.worker_soak", description=__doc__)
    told.add_argument("--lines", type=int, default=20)
    told.add_argument("--every", type=float, default=60.0, metavar="SECONDS")
    told.add_argument("--per-second", type=int, default=PER_SECOND)
    asked = told.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        services = world.open_store(Path(folder) / "soak.db")
        worker = make_worker(services)
        worker.start()
        print("line   accepted/s   queued   oldest s    own MB", flush=True)
        number, began = 0, time.monotonic()
        for line in range(1, asked.lines + 1):
            while time.monotonic() - began < line * asked.every:
                due = int((time.monotonic() - began) * asked.per_second)
                if due > number:
                    episodes = [_episode(each) for each in range(number, due)]
                    services.recorder.record(world.SCOPE, world.PRINCIPAL, episodes)
                    number = due
                time.sleep(0.5)
            now = services.clock.now()
            left = services.store.queue.backlog(now)
            age = 0.0 if left.overdue_since is None else max(0, now - left.overdue_since) / SECOND
            rate = number / (time.monotonic() - began)
            print(f"{line:4}   {rate:10.1f}   {left.queued:6}   {age:8.2f}   {_own_mb():7.1f}", flush=True)
        deadline = time.monotonic() + 300
        while (left := services.store.queue.backlog(services.clock.now())).queued + left.running:
            if time.monotonic() > deadline:
                raise SystemExit(f"{left.queued} episodes are not read")
            time.sleep(0.2)
        worker.stop(60)
        services.close()
        print(f"{number} episodes accepted, all read, {left.failed} dead letters")
        if left.failed:
            raise SystemExit("some episodes failed")


def _episode(number: int) -> NewEpisode:
    return NewEpisode(
        text=f"Person{number % PEOPLE} lives in Town{number % 9973}.",
        source="soak",
        session=f"session {number % PEOPLE}",
        observed_at=None,
        zone="Europe/Vienna",
    )


def _own_mb() -> float:
    """Without the pages of the store's file, which the system maps and takes back as it likes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("RssAnon"))) / 1024


if __name__ == "__main__":
    main()
