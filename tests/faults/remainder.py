"""What killed workers left, done."""

import time

from consolidation.worker import Worker
from graph.sqlite_store.store import SqliteStore
from tests.conftest import FrozenClock


def work_off(worker: Worker, store: SqliteStore, *, seconds: float) -> None:
    """Do what is left; what a killed worker had begun waits until its lease has run out."""
    deadline = time.monotonic() + seconds
    while True:
        worker.work_off()
        backlog = store.queue.backlog(FrozenClock().now())
        if backlog.queued == backlog.running == 0:
            return
        assert time.monotonic() < deadline, backlog
        time.sleep(0.2)
