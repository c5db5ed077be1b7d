"""Every store behind the writer keeps every invariant of the time page, and answers as the model does."""

from collections.abc import Iterator
from random import Random

import pytest

from tests.property.engines import STORES, worlds_of
from tests.property.invariants import INVARIANTS, Invariant
from tests.property.worlds import MakeWorld
from tests.sizes import scaled


@pytest.fixture(params=STORES, scope="module")
def make(request: pytest.FixtureRequest) -> Iterator[MakeWorld]:
    with worlds_of(request.param) as make_world:
        yield make_world


@pytest.mark.parametrize("invariant", INVARIANTS, ids=lambda check: check.__name__)
def test_a_store_keeps_an_invariant(make: MakeWorld, invariant: Invariant) -> None:
    for seed in range(scaled(400, 25)):
        try:
            invariant(make, Random(seed))
        except Exception as exc:
            exc.add_note(f"seed {seed}")
            raise
