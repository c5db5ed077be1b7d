"""The engines on which every scenario runs."""

from collections.abc import Callable, Iterator

import pytest

from tests.neo4j import stores
from tests.neo4j.stores import NAME, empty_store, marked
from tests.oracles.embedded import Embedded
from tests.oracles.engines import naive, sqlite
from tests.oracles.memory import Engine, Memory


def on_neo4j() -> Engine:
    return Embedded(empty_store())


IN_PROCESS: dict[str, Callable[[], Engine]] = {"sqlite": sqlite, "naive": naive, NAME: on_neo4j}


@pytest.fixture(scope="session")
def server() -> Iterator[Engine]:
    """One server for all scenarios."""
    from tests.oracles.served import Server

    with Server.running() as server:
        yield server


@pytest.fixture
def graph_server() -> Iterator[Engine]:
    """One over a Neo4j for one scenario: the next one empties the database."""
    from tests.oracles.served import Server

    empty_store().close()
    with Server.running(tenants=5, store=stores.server().uri) as server:
        yield server


SERVED: dict[str, str] = {"http": "server", "http-neo4j": "graph_server"}


@pytest.fixture(params=[*marked([*IN_PROCESS, "http"]), pytest.param("http-neo4j", marks=pytest.mark.neo4j)])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine; tenants of the server are used up one after the other."""
    if request.param in SERVED:
        yield request.getfixturevalue(SERVED[request.param])
        return
    engine = IN_PROCESS[request.param]()
    yield engine
    engine.close()


@pytest.fixture
def memory(engine: Engine) -> Memory:
    """A tenant that has heard nothing."""
    return engine.fresh()
