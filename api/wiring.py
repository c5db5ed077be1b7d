"""Which store, which clock and which chance: everything below is handed what it needs from here.

This is the only module that knows a store by its name.
"""

import logging
import os
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from api.announcing import Announcer
from api.backup_keys import KeyFile
from api.embedders import embedder_of
from api.extractors import InstalledExtractors, summariser
from api.settings import MEMORY, SQLITE, Settings
from api.streams import Streams
from consolidation.episodes import Recorder
from consolidation.forgetting.forgetter import Forgetter
from consolidation.handoffs import Handoffs
from consolidation.pipeline import Pipeline, Reads
from consolidation.records import Records
from consolidation.retention import Keeping, Sweeper
from consolidation.serving import Serving
from consolidation.sessions import Sessions, Tempo
from consolidation.vouching import NoSources, Sources
from consolidation.worker import Pace, Worker
from consolidation.write import Writer
from graph.embedding import PatientEmbedder
from graph.forgetting import Outside
from graph.indexing import Indexer
from graph.ports import Clock, Finding, Grade, MemoryStore, Randomness
from graph.sqlite_store.store import SqliteStore
from ontology.claims import Trust
from ontology.durations import parse_duration
from ontology.errors import Incorrect, NotFound, Unavailable, shown
from ontology.instants import Instant
from ontology.packs import load_core
from ontology.schema import Schema
from ontology.scope import scope_of

FREE_BYTES_MIN: Final = 100 * 1024**2
_MAKE_IT: Final = "make it with `vigencia init`, or name another with --store"
_RETRY_SECONDS: Final = 1.0

log = logging.getLogger("vigencia.api.wiring")


class SystemClock:
    """The clock of this machine."""

    def now(self) -> Instant:
        return Instant(time.time_ns() // 1000)


class SystemRandomness:
    """The randomness of the operating system."""

    def bytes(self, count: int) -> bytes:
        return secrets.token_bytes(count)


class Place(Protocol):
    """Where memory is kept. Whoever holds one need not know what keeps it."""

    @property
    def name(self) -> str:
        """For people and logs: without secrets."""
        ...

    @property
    def lasting(self) -> bool:
        """Whether what is kept there is there for the next process."""
        ...

    def open(self, *, must_exist: bool) -> MemoryStore:
        """The store; it is made if it is not there, or `must_exist`.

        Raises `NotFound` where it must and does not, `Unavailable` where it cannot be reached or made.
        """
        ...

    def surroundings(self) -> Iterator[Finding]:
        """What can be found before the store is opened."""
        ...


@dataclass(frozen=True, slots=True)
class SqlitePlace:
    """A file of this machine, or `:memory:`."""

    path: str
    lock_seconds: float

    @property
    def name(self) -> str:
        return SQLITE + self.path

    @property
    def lasting(self) -> bool:
        return self.path != MEMORY

    def open(self, *, must_exist: bool) -> MemoryStore:
        if self.lasting:
            folder = Path(self.path).parent
            if must_exist and not Path(self.path).is_file():
                raise NotFound(f"there is no store at {shown(self.path, 400)}", remedy=_MAKE_IT)
            if not folder.is_dir():
                name = shown(str(folder), 400)
                raise Unavailable(f"there is no folder {name} for the store; make it, or name another store")
        return SqliteStore(self.path, busy_seconds=self.lock_seconds)

    def surroundings(self) -> Iterator[Finding]:
        path = Path(self.path)
        folder = path.resolve().parent
        if not folder.is_dir():
            yield Finding(check="folder", finding=f"there is no folder {folder}; make it", grade=Grade.FAILED)
            return
        target = path if path.exists() else folder
        if os.access(target, os.W_OK):
            yield Finding(check="writable", finding=f"{target} can be written to by this user")
        else:
            finding = f"{target} cannot be written to by this user"
            yield Finding(check="writable", finding=finding, grade=Grade.FAILED)
        free = shutil.disk_usage(folder).free
        grade = Grade.OK if free >= FREE_BYTES_MIN else Grade.FAILED
        yield Finding(check="disk", finding=f"{free // 1024**2:,} MiB free", grade=grade)


@dataclass(frozen=True, slots=True)
class Neo4jPlace:
    """A database of a Neo4j server or cluster."""

    settings: Settings

    @property
    def name(self) -> str:
        return f"{self.settings.neo4j_address} (database {self.settings.neo4j_database})"

    @property
    def lasting(self) -> bool:
        return True

    def open(self, *, must_exist: bool) -> MemoryStore:
        from graph.neo4j_store.store import Neo4jStore  # its driver takes a while to load

        settings, password = self.settings, self.settings.neo4j_password
        try:
            return Neo4jStore(
                settings.neo4j_address,
                user=None if password is None else settings.neo4j_username,
                password=None if password is None else password.get_secret_value(),
                database=settings.neo4j_database,
                busy_seconds=settings.lock_seconds,
                make=not must_exist,
            )
        except NotFound as exc:
            raise NotFound(exc.message, remedy=_MAKE_IT) from exc

    def surroundings(self) -> Iterator[Finding]:
        return iter(())


class Drain:
    """How long a process that is told to end has for it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until: float | None = None

    def begin(self) -> None:
        """It was told so now, unless it was before."""
        if self._until is None:
            self._until = time.monotonic() + self._seconds

    def left(self) -> float:
        """What is left, a second at least: who has nothing to end needs no more."""
        self.begin()
        assert self._until is not None
        return max(1.0, self._until - time.monotonic())


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What an application works with: one per process and database."""

    store: MemoryStore
    writer: Writer
    clock: Clock
    randomness: Randomness
    settings: Settings
    recorder: Recorder
    forgetter: Forgetter
    serving: Serving
    sessions: Sessions
    handoffs: Handoffs
    reads: Reads
    """What reads episodes."""
    reading_fault: Callable[[], str | None]
    """Why they cannot read here, in words, if they cannot."""
    embedder: PatientEmbedder | None
    """What makes vectors, if anything does."""
    indexer: Indexer
    announcer: Announcer
    """Who is told what the writer and the recorder wrote."""
    streams: Streams
    drain: Drain
    worker: Worker | None
    """The one of this process, if it has one."""

    def wake_worker(self) -> None:
        """There is something to read."""
        if self.worker is not None:
            self.worker.wake()

    def close(self) -> None:
        self.store.close()
        if self.embedder is not None:
            self.embedder.close()


def key_file_of(settings: Settings, randomness: Randomness | None = None) -> KeyFile | None:
    """The key file of backups that the settings name, if they do. Raises `Incorrect` where they name half of it."""
    path, master = settings.backup_keys, settings.master_key_file
    if path is None and master is None:
        return None
    if path is None or master is None:
        missing = "VIGENCIA_BACKUP_KEYS" if path is None else "VIGENCIA_MASTER_KEY_FILE"
        raise Incorrect(f"backups need a key file and a master key, and {missing} is not set", remedy="set both")
    return KeyFile(path, master, randomness or SystemRandomness())


def _outside(settings: Settings, randomness: Randomness) -> list[Outside]:
    """What is told of all that is forgotten: the keys of backups, where there are some."""
    keys = key_file_of(settings, randomness)
    return [] if keys is None else [keys]


def place_of(settings: Settings) -> Place:
    """Where the settings say that memory is kept."""
    if settings.store.startswith(SQLITE):
        return SqlitePlace(settings.store.removeprefix(SQLITE), settings.lock_seconds)
    return Neo4jPlace(settings)


def open_services(
    settings: Settings,
    clock: Clock | None = None,
    randomness: Randomness | None = None,
    *,
    must_exist: bool = False,
    wait_seconds: float = 0.0,
    reads: Reads | None = None,
) -> Services:
    """Open the store that the settings name, and make it if it is not there.

    A store that is away may take `wait_seconds` to come up. Raises as `Place.open` does.
    """
    clock, randomness = clock or SystemClock(), randomness or SystemRandomness()
    store = _awaited(place_of(settings), wait_seconds, must_exist=must_exist)
    return services_over(store, settings, clock, randomness, reads)


def services_over(
    store: MemoryStore, settings: Settings, clock: Clock, randomness: Randomness, reads: Reads | None = None
) -> Services:
    """The services over a store that is open; `reads` in place of the extractors that the settings name.

    Raises `Incorrect` where the file of sources cannot be used.
    """
    streams = Streams(settings.streams_max)
    announcer = Announcer(streams)
    sources = _sources(settings)
    core = load_core()
    writer = Writer(
        store=store,
        clock=clock,
        randomness=randomness,
        core=core,
        items_max=settings.items_max,
        key_days=settings.idempotency_days,
        observer=announcer,
        sources=sources,
    )
    recorder = Recorder(
        store=store,
        clock=clock,
        randomness=randomness,
        bytes_max=settings.episode_bytes_max,
        key_days=settings.idempotency_days,
        observer=announcer,
        sources=sources,
    )
    sessions = Sessions(
        store=store,
        recorder=recorder,
        clock=clock,
        randomness=randomness,
        tempo=Tempo(turns=settings.session_turns, idle_seconds=settings.session_idle_seconds),
        bytes_max=settings.episode_bytes_max,
        key_days=settings.idempotency_days,
    )
    forgetter = Forgetter(
        store=store, clock=clock, randomness=randomness, outside=_outside(settings, randomness), observer=announcer,
    )  # fmt: skip
    embedder = embedder_of(settings)
    named = InstalledExtractors(tuple(settings.extractors.split(",")), settings.extractor_model)
    return Services(
        store=store,
        writer=writer,
        clock=clock,
        randomness=randomness,
        settings=settings,
        recorder=recorder,
        forgetter=forgetter,
        serving=Serving(store=store, clock=clock, randomness=randomness),
        sessions=sessions,
        handoffs=Handoffs(store=store, clock=clock, randomness=randomness, key_days=settings.idempotency_days),
        reads=reads or named,
        reading_fault=named.fault if reads is None else lambda: None,
        embedder=embedder,
        indexer=Indexer(store=store, clock=clock, core=core, embedder=embedder),
        announcer=announcer,
        streams=streams,
        drain=Drain(settings.drain_seconds),
        worker=None,
    )


def make_sweeper(opened: Services) -> Sweeper:
    """What sweeps the store of these services."""
    settings = opened.settings
    ttl = None if settings.verbatim_ttl is None else parse_duration(settings.verbatim_ttl, "")
    return Sweeper(
        store=opened.store, writer=opened.writer, clock=opened.clock, randomness=opened.randomness,
        keeping=Keeping(verbatim_ttl=ttl, receipt_days=settings.receipt_days),
    )  # fmt: skip


def _sources(settings: Settings) -> Sources:
    if settings.sources_file is None:
        return NoSources()
    from api.source_file import load_sources

    return load_sources(settings.sources_file)


def make_worker(opened: Services) -> Worker:
    """A worker over these services, not begun."""
    settings = opened.settings
    pipeline = Pipeline(
        store=opened.store, writer=opened.writer, clock=opened.clock, reads=opened.reads,
        model_trust=Trust[settings.model_trust.upper()],
        records=Records(store=opened.store, clock=opened.clock, randomness=opened.randomness),
        summarises=summariser(tuple(settings.extractors.split(",")), settings.extractor_model),
    )  # fmt: skip
    return Worker(
        store=opened.store,
        runs=pipeline,
        clock=opened.clock,
        name=f"{socket.gethostname()}-{os.getpid()}",
        pace=Pace(
            lease_seconds=settings.lease_seconds,
            attempts_max=settings.attempts_max,
            sweep_seconds=settings.sweep_seconds,
        ),
        sweeps=make_sweeper(opened),
        aside=opened.sessions.end_idle,
        indexes=opened.indexer,
    )


@contextmanager
def working(opened: Services) -> Iterator[Services]:
    """The services with a worker that reads episodes for the length of a block, where the settings want one.

    What a killed process forgot and did not tell the keys of backups is told first.
    """
    opened.forgetter.resume()
    if not opened.settings.worker:
        yield opened
        return
    worker = make_worker(opened)
    worker.start()
    try:
        yield replace(opened, worker=worker)
    finally:
        if not worker.stop(opened.drain.left()):
            log.warning("the episode at hand did not end in time; another worker takes it over")


def _awaited(place: Place, wait_seconds: float, *, must_exist: bool) -> MemoryStore:
    """The store, once it answers. What no time puts right is raised at once."""
    deadline = time.monotonic() + wait_seconds
    told = ""
    while True:
        try:
            return place.open(must_exist=must_exist)
        except Unavailable as exc:
            left = deadline - time.monotonic()
            if exc.retry_after is None or wait_seconds <= 0:
                raise
            if left <= 0:
                waited = f"the store {place.name} did not answer within {wait_seconds:g} s: {exc.message}"
                raise Unavailable(waited, remedy=exc.remedy, retry_after=exc.retry_after) from exc
            if exc.message != told:
                told = exc.message
                log.warning("waiting up to %.0f s for the store %s: %s", left, place.name, exc)
            time.sleep(min(_RETRY_SECONDS, left))


@contextmanager
def services(settings: Settings, *, must_exist: bool = False, wait_seconds: float = 0.0) -> Iterator[Services]:
    """The services for the length of a block. Raises as `open_services` does."""
    opened = open_services(settings, must_exist=must_exist, wait_seconds=wait_seconds)
    try:
        yield opened
    finally:
        opened.close()


def current_schema(settings: Settings) -> Schema:
    """The schema of the tenant of the settings; the core pack where there is no store yet."""
    try:
        with services(settings, must_exist=True) as opened:
            return opened.writer.schema(scope_of(settings.tenant))
    except NotFound:
        return load_core()
