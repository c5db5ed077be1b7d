"""How a database is reached and a named query is run; no exception of the driver goes further than this module."""

import logging
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, LiteralString, Self, TypeVar

from neo4j import (
    READ_ACCESS,
    WRITE_ACCESS,
    Driver,
    GraphDatabase,
    NotificationMinimumSeverity,
    Query,
    Session,
    Transaction,
)
from neo4j.exceptions import (
    AuthError,
    ClientError,
    DatabaseError,
    DriverError,
    IncompleteCommit,
    Neo4jError,
    TransientError,
)

from graph.neo4j_store.codec import Row
from graph.statements import named_queries
from ontology.errors import Busy, Fault, Incorrect, Unavailable, VigenciaError, Violation, shown

Parameters = Mapping[str, object]
T = TypeVar("T")

RETRY_AFTER_SECONDS: Final = 5
"""What a caller is told to wait when the server is away: a restart takes longer than a lock."""
_CREDENTIALS: Final = "check the user and the password (NEO4J_USERNAME, NEO4J_PASSWORD)"
_UNNAMED: Final = "NEO4J_PASSWORD is not set; set it, and NEO4J_USERNAME if the user is not neo4j"
_NO_TLS: Final = "give the address without +s if the server has no TLS, with +ssc if it has a certificate of its own"
_ADDRESS: Final = re.compile(r"(neo4j|bolt)(\+s|\+ssc)?://", re.IGNORECASE)
_WORDS_MAX: Final = 300
_ATTEMPTS: Final = 4
_FIRST_PAUSE: Final = 0.05
_ERRORS: Final = (DriverError, Neo4jError, OSError, UnicodeEncodeError, OverflowError)


# what its lines tell we tell in our own words; without a handler they would go to stderr, raw
logging.getLogger("neo4j").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Whom we talk to, and as whom, for messages."""

    address: str
    """Without a user and a password."""
    user: str | None
    database: str


NOBODY: Final = Peer(address="", user=None, database="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many connections there may be, and how long anything may take, in seconds."""

    connections: int = 100
    connect_seconds: float = 5.0
    acquire_seconds: float = 5.0
    send_seconds: float = 10.0
    read_seconds: float = 30.0
    write_seconds: float = 120.0
    idle_seconds: float = 30.0
    """A connection that was idle for so long is tried before it is used."""


class CommitLost(Exception):
    """The connection broke after COMMIT was sent: nobody knows yet whether it took effect."""


class LockHeld(Busy):
    """Another transaction has what this one waited for, or waits for what this one has."""


class ServerFailed(Unavailable):
    """The server stumbled over a query, by a fault of its own."""


class Work:
    """An explicit transaction: a session of its own from `begin` to the end of the block."""

    def __init__(
        self, session: Session, transaction: Transaction, peer: Peer, queries: Mapping[str, LiteralString]
    ) -> None:
        self._session = session
        self._peer = peer
        self._queries = queries
        self._transaction = transaction

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Leave nothing of a transaction that was not committed; never raises, for an error may be on its way.

        Not only what a driver raises: after Ctrl-C amid a reply its buffer is of no use, and it stumbles over that.
        What is not rolled back ends with the connection.
        """
        with suppress(Exception):
            if not self._transaction.closed():
                self._transaction.rollback()
        with suppress(Exception):
            self._session.close()

    def run(self, query: str, parameters: Parameters) -> list[Row]:
        """Every record that a named query gives, as a list of its columns."""
        with translating(self._peer):
            return self._transaction.run(self._queries[query], dict(parameters)).values()

    def commit(self) -> None:
        """Raises `CommitLost` where the reply did not come."""
        with translating(self._peer):
            try:
                self._transaction.commit()
            except IncompleteCommit as exc:
                raise CommitLost from exc


class Database:
    """One database of one server or cluster. Safe to use from many threads."""

    def __init__(self, uri: str, *, user: str | None, password: str | None, database: str, limits: Limits) -> None:
        """Opens no connection yet. Raises `Incorrect` for a URI that names no Neo4j."""
        self._name = database
        self._limits = limits
        self._queries: Mapping[str, LiteralString] = QUERIES
        scheme, _, host = uri.partition("://")
        self._peer = Peer(address=f"{scheme}://{host.rpartition('@')[2]}", user=user, database=database)
        if not _ADDRESS.match(uri):
            raise _bad_address(uri, "its scheme is none of a Neo4j")
        try:
            self._driver: Driver = GraphDatabase.driver(
                uri,
                auth=None if user is None else (user, password or ""),
                max_connection_pool_size=limits.connections,
                connection_timeout=limits.connect_seconds,
                connection_acquisition_timeout=limits.acquire_seconds,
                connection_write_timeout=limits.send_seconds,
                max_transaction_retry_time=limits.acquire_seconds,
                initial_retry_delay=_FIRST_PAUSE,
                liveness_check_timeout=limits.idle_seconds,
                notifications_min_severity=NotificationMinimumSeverity.OFF,
                telemetry_disabled=True,
                user_agent="vigencia/0.1",
            )
        except (ValueError, *_ERRORS) as exc:
            raise _bad_address(uri, str(exc)) from exc
        # a reader of a cluster must not meet a member that lags behind the one that it asked before
        self._bookmarks = GraphDatabase.bookmark_manager() if uri.startswith("neo4j") else None

    @property
    def name(self) -> str:
        """Of the database on its server."""
        return self._name

    def speak(self, queries: Mapping[str, LiteralString]) -> None:
        """Ask in these words from now on."""
        self._queries = queries

    def run(self, query: str, parameters: Parameters) -> list[Row]:
        """Every record of a named query that only reads, in a transaction of its own; tried again where that may help.

        Raises `Unavailable`, `Busy`.
        """
        asked = Query(self._queries[query], timeout=self._limits.read_seconds)

        def once() -> list[Row]:
            with self._session(READ_ACCESS) as session:
                return session.run(asked, dict(parameters)).values()

        return self._again(once)

    def each(self, query: str, parameters: Parameters) -> Iterator[Row]:
        """The records one by one, for what may be too much at once."""
        with translating(self._peer), self._session(READ_ACCESS) as session:
            for record in session.run(QUERIES[query], dict(parameters)):
                yield list(record.values())

    def change(self, statement: LiteralString, parameters: Parameters) -> list[Row]:
        """Run a statement that may be run twice without harm, in a transaction of its own."""

        def once() -> list[Row]:
            with self._session(WRITE_ACCESS) as session:
                return session.run(statement, dict(parameters)).values()

        return self._again(once)

    def begin(self, seconds: float | None = None) -> Work:
        """A transaction, which may take `seconds`, by default as long as a write.

        That the server cannot be reached may come out with its first query alone. Raises `Unavailable`, `Busy`.
        """
        with translating(self._peer):
            session = self._session(WRITE_ACCESS)
            # the driver does so in its `execute_query`: BEGIN travels with the first query, not by itself
            together: AbstractContextManager[None] = getattr(session, "_pipelined_begin", nullcontext())
            try:
                with together:
                    transaction = session.begin_transaction(timeout=seconds or self._limits.write_seconds)
                    return Work(session, transaction, self._peer, self._queries)
            except BaseException:
                session.close()
                raise

    def close(self) -> None:
        with translating(self._peer):
            self._driver.close()

    def _session(self, mode: str) -> Session:
        return self._driver.session(
            database=self._name, default_access_mode=mode, bookmark_manager=self._bookmarks, fetch_size=1000
        )

    def _again(self, action: Callable[[], T]) -> T:
        """Do `action`, again a few times where the driver says that it may succeed then, and soon: what took as long
        as a connection may take was asked of a server that hangs."""
        pause = _FIRST_PAUSE
        began = time.monotonic()
        for attempt in range(_ATTEMPTS):
            with translating(self._peer):
                try:
                    return action()
                except (DriverError, Neo4jError) as exc:
                    slow = time.monotonic() - began > self._limits.connect_seconds / 2
                    if attempt == _ATTEMPTS - 1 or slow or not exc.is_retryable():
                        raise
            time.sleep(pause)
            pause *= 2
        raise AssertionError("the last attempt ends the loop")


@contextmanager
def translating(peer: Peer = NOBODY) -> Iterator[None]:
    """Let exceptions of the driver leave the block as what they mean to a caller; of text alone without a peer."""
    try:
        yield
    except _ERRORS as exc:
        raise translated(exc, peer) from exc


def translated(exc: Exception, peer: Peer) -> VigenciaError:
    """What an exception of the driver means to a caller."""
    code, server = getattr(exc, "code", None) or "", f"the server at {peer.address}"
    match exc:
        case UnicodeEncodeError():
            detail = f"text with a lone surrogate cannot be kept: {shown(exc.object)}"
            return Incorrect(detail, violations=(Violation(pointer="", code="lone_surrogate", detail=detail),))
        case OverflowError():
            detail = "a number is beyond 64 bits; give a smaller one"
            return Incorrect(detail, violations=(Violation(pointer="", code="out_of_range", detail=detail),))
        case Neo4jError() if "AuthenticationRateLimit" in code:
            return _away(f"{server} lets nobody in for a while, after too many wrong passwords", _CREDENTIALS)
        case Neo4jError() if peer.user is None and (isinstance(exc, AuthError) or "Unauthorized" in code):
            return Unavailable(f"{server} lets nobody in without a password", remedy=_UNNAMED)
        case AuthError():
            refused = f"{server} does not let the user {peer.user!r} in: {_words(exc)}"
            return Unavailable(refused, remedy=_CREDENTIALS)
        case ClientError() if ".Security." in code:
            remedy = "give our user what it needs: a password that need not be changed, rights to read, write and index"
            return Unavailable(f"{server} does not permit it: {_words(exc)}", remedy=remedy)
        case Neo4jError() if "TransactionTimedOut" in code:
            return Busy("the server took longer than it may; nothing was written")
        case Neo4jError() if "Lock" in code or "Deadlock" in code:
            return LockHeld("another writer held the store too long; nothing was written")
        case TransientError() if "Unavailable" not in code:
            return Busy(f"the server could not do it in time: {_words(exc)}")
        case ClientError() if "DatabaseNotFound" in code:
            missing = f"{server} has no database {peer.database!r}"
            return Unavailable(missing, remedy="name one that exists with NEO4J_DATABASE, or create it there")
        case ClientError():
            return Fault(f"the store refused a query: {_words(exc)}")
        case DatabaseError():
            failed = f"{server} failed: {_words(exc)}"
            return ServerFailed(failed, remedy="look into its log, then try again", retry_after=RETRY_AFTER_SECONDS)
        case _ if "+s" in peer.address and any(isinstance(each, ssl.SSLError) for each in _causes(exc)):
            return _away(f"no TLS connection with {server}: {_words(exc)}", _NO_TLS)
        case _:
            return _away(f"the store cannot be reached: {server}: {_words(exc)}", "check the server, then try again")


def _causes(exc: BaseException) -> Iterator[BaseException]:
    """An exception and what it came from, however the driver wrapped it."""
    yield exc
    if isinstance(exc, BaseExceptionGroup):
        for each in exc.exceptions:
            yield from _causes(each)
    if exc.__cause__ is not None:
        yield from _causes(exc.__cause__)


def _words(exc: Exception) -> str:
    """What went wrong, on one line: what the system says if it was a matter of the wire, else what the server says."""
    said = next((each.strerror for each in _causes(exc) if isinstance(each, OSError) and each.strerror), None)
    text = " ".join((said or (isinstance(exc, Neo4jError) and exc.message) or str(exc)).split())
    return text if len(text) <= _WORDS_MAX else f"{text[: _WORDS_MAX - 1]}…"


def _bad_address(uri: str, why: str) -> Incorrect:
    detail = f"{shown(uri)} is no address of a Neo4j: {why}"
    violation = Violation(pointer="", code="bad_uri", detail=detail)
    return Incorrect(detail, remedy="give neo4j://HOST:7687 or bolt://HOST:7687", violations=(violation,))


def _away(message: str, remedy: str) -> Unavailable:
    return Unavailable(message, remedy=remedy, retry_after=RETRY_AFTER_SECONDS)


_PACKAGE: Final = "graph.neo4j_store"
_SIDE: Final = re.compile(r"_a\b")


def _of_both_sides(queries: Mapping[str, LiteralString]) -> Mapping[str, LiteralString]:
    """With each query about side `a` of the vectors, the one about side `b`."""
    found: dict[str, Any] = dict(queries)
    found |= {f"{name[:-2]}_b": _SIDE.sub("_b", text) for name, text in queries.items() if name.endswith("_a")}
    return found


_CANDIDATES: Final = ("rank_words", "rank_names", "near_facts_", "unfiltered_near_facts_", "nearest_facts_")
_SERVED: Final = "facts_of_candidates"
_DIALECT: Final = "CYPHER 25\n"


def _with_served(queries: Mapping[str, LiteralString]) -> Mapping[str, LiteralString]:
    """With each query that gives candidates, the one that gives the facts behind them in the same round trip."""
    found: dict[str, Any] = {name: text for name, text in queries.items() if name != _SERVED}
    for name, text in queries.items():
        if name.startswith(_CANDIDATES):
            dialect = _DIALECT if _DIALECT in text else ""
            found[f"{name}_served"] = dialect + queries[_SERVED].replace("CANDIDATES", text.replace(_DIALECT, ""))
    return found


QUERIES: Final = {
    **named_queries(_PACKAGE, "queries.cypher", "//"),
    **named_queries(_PACKAGE, "episodes.cypher", "//"),
    **named_queries(_PACKAGE, "forgetting.cypher", "//"),
    **named_queries(_PACKAGE, "sessions.cypher", "//"),
    **named_queries(_PACKAGE, "handoffs.cypher", "//"),
    **_with_served(_of_both_sides(named_queries(_PACKAGE, "searching.cypher", "//"))),
    **named_queries(_PACKAGE, "walking.cypher", "//"),
}
_UNFILTERED: Final = "unfiltered_"


def queries_for(filters: bool) -> Mapping[str, LiteralString]:
    """The queries as a server is asked them that filters within an index of vectors, or one that does not."""
    if filters:
        return QUERIES
    plain = {name.removeprefix(_UNFILTERED): text for name, text in QUERIES.items() if name.startswith(_UNFILTERED)}
    plain |= {name.replace("_facts_", "_facts_of_"): text for name, text in plain.items()}
    return {**QUERIES, **plain}
