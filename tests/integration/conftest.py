"""The engines of the tests, and histories for them."""

from collections.abc import Callable, Iterator

import pytest

from tests.neo4j.stores import NAME, empty_store, marked
from tests.oracles.embedded import Embedded
from tests.oracles.engines import naive, sqlite


def on_neo4j() -> Embedded:
    return Embedded(empty_store())


ENGINES: dict[str, Callable[[], Embedded]] = {"sqlite": lambda: sqlite(":memory:"), "naive": naive, NAME: on_neo4j}


@pytest.fixture(params=marked(ENGINES), scope="module")
def engine(request: pytest.FixtureRequest) -> Iterator[Embedded]:
    """One engine for a module; each world of it is a tenant of its own."""
    engine = ENGINES[request.param]()
    yield engine
    engine.close()
