"""Stores on the Neo4j server of the tests: one server for a run, which begins when the first test needs it."""

import atexit
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final

import pytest
from neo4j import GraphDatabase

from graph.neo4j_store.store import Neo4jStore
from tests.neo4j_server import Local, NoServer, Server, find_or_start, version

DATABASE: Final = "neo4j"
NAME: Final = "neo4j"
"""What the store is called among the stores of a test."""
_DELETED_TOGETHER: Final = 2000
_DELETE: Final = "MATCH (n) WHERE NOT n:Migrations WITH n LIMIT $some DETACH DELETE n RETURN count(*)"
"""Run until nothing is left: however much there is, no transaction of it takes as long as one may."""


def marked(stores: Iterable[str]) -> list[object]:
    """The names of stores as parameters of a fixture; what needs a Neo4j server is marked so."""
    return [pytest.param(name, marks=pytest.mark.neo4j) if name == NAME else name for name in stores]


def server() -> Server:
    """The server, found or started once and stopped at the end of the process.

    Raises `NoServer`, at once when it was raised before: every test that needs one fails, and none waits again.
    """
    found = _found()
    if isinstance(found, NoServer):
        raise NoServer(*found.args)
    return found


@lru_cache(maxsize=1)
def _found() -> Server | NoServer:
    try:
        found = find_or_start()
    except NoServer as exc:
        return exc
    atexit.register(found.stop)
    return found


@contextmanager
def killable() -> Iterator[Local]:
    """A server that a test may kill, stop and start: that of the tests if it is ours, else one for the test."""
    found = server()
    if isinstance(found, Local):
        yield found
        return
    try:
        own = Local(version(), is_short_lived=True)
    except NoServer as exc:
        pytest.skip(f"the server of the tests is not ours to kill, and no other can be had: {exc}")
    try:
        yield own
    finally:
        own.stop()


def empty_store(uri: str | None = None, **options: Any) -> Neo4jStore:
    """A store with nothing in it: whatever the server had is deleted, its indexes apart."""
    uri = uri or server().uri
    store = Neo4jStore(uri, **options)
    with GraphDatabase.driver(uri) as driver, driver.session(database=DATABASE) as session:
        while session.run(_DELETE, some=_DELETED_TOGETHER).single(strict=True)[0] == _DELETED_TOGETHER:
            pass
    return store
