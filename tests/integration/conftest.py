"""The engines of the tests, and histories for them."""

from collections.abc import Callable, Iterator

import pytest

from tests.oracles.embedded import Embedded
from tests.oracles.engines import naive, sqlite

ENGINES: dict[str, Callable[[], Embedded]] = {"sqlite": lambda: sqlite(":memory:"), "naive": naive}


@pytest.fixture(params=ENGINES, scope="module")
def engine(request: pytest.FixtureRequest) -> Iterator[Embedded]:
    """One engine for a module; each world of it is a tenant of its own."""
    engine = ENGINES[request.param]()
    yield engine
    engine.close()
