"""Which store, which clock and which chance: everything below is handed what it needs from here.

This is the only module that knows a store by its name.
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from api.settings import MEMORY, Settings
from consolidation.write import Writer
from graph.ports import Clock, MemoryStore, Randomness
from graph.sqlite_store.store import SqliteStore
from ontology.errors import NotFound, Unavailable, shown
from ontology.instants import Instant
from ontology.packs import load_core
from ontology.schema import Schema
from ontology.scope import scope_of


class SystemClock:
    """The clock of this machine."""

    def now(self) -> Instant:
        return Instant(time.time_ns() // 1000)


class SystemRandomness:
    """The randomness of the operating system."""

    def bytes(self, count: int) -> bytes:
        return secrets.token_bytes(count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What an application works with: one per process and database."""

    store: MemoryStore
    writer: Writer
    clock: Clock
    randomness: Randomness
    settings: Settings

    def close(self) -> None:
        self.store.close()


def open_services(settings: Settings, clock: Clock | None = None, randomness: Randomness | None = None) -> Services:
    """Open the store that the settings name, and make it if it is not there.

    Raises `Unavailable` where that cannot be done.
    """
    clock, randomness = clock or SystemClock(), randomness or SystemRandomness()
    folder = Path(settings.sqlite_path).parent
    if settings.sqlite_path != MEMORY and not folder.is_dir():
        raise Unavailable(f"there is no folder {shown(str(folder), 400)} for the store; make it, or name another store")
    store = SqliteStore(settings.sqlite_path, busy_seconds=settings.lock_seconds)
    writer = Writer(
        store=store,
        clock=clock,
        randomness=randomness,
        core=load_core(),
        items_max=settings.items_max,
        key_days=settings.idempotency_days,
    )
    return Services(store=store, writer=writer, clock=clock, randomness=randomness, settings=settings)


@contextmanager
def services(settings: Settings, *, must_exist: bool = False) -> Iterator[Services]:
    """The services for the length of a block.

    Raises `NotFound` where the store `must_exist` and does not.
    """
    path = settings.sqlite_path
    if must_exist and path != MEMORY and not Path(path).is_file():
        raise NotFound(
            f"there is no store at {shown(path, 400)}",
            remedy="make it with `vigencia init`, or name another with --store",
        )
    opened = open_services(settings)
    try:
        yield opened
    finally:
        opened.close()


def current_schema(settings: Settings) -> Schema:
    """The schema of the tenant of the settings; the core pack where there is no store yet."""
    if settings.sqlite_path == MEMORY or not Path(settings.sqlite_path).is_file():
        return load_core()
    with services(settings) as opened:
        return opened.writer.schema(scope_of(settings.tenant))
