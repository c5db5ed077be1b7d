"""Every store behind the writer keeps every invariant of the time page, and answers as the model does."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from consolidation import slotwork
from tests.histories import PLAIN, as_case, history
from tests.model import Model
from tests.neo4j.stores import NAME, marked
from tests.property.engines import STORES, worlds_of
from tests.property.invariants import INVARIANTS, SLOT, Invariant, tell
from tests.property.worlds import MakeWorld
from tests.sizes import scaled

HISTORIES = {NAME: scaled(400, 10)}
"""How many histories each invariant is tried on, where it is not 400 or 25: this one takes longer over each."""


@pytest.fixture(params=marked(STORES), scope="module")
def name(request: pytest.FixtureRequest) -> str:
    store: str = request.param
    return store


@pytest.fixture(scope="module")
def make(name: str) -> Iterator[MakeWorld]:
    with worlds_of(name) as make_world:
        yield make_world


@pytest.mark.parametrize("invariant", INVARIANTS, ids=lambda check: check.__name__)
def test_a_store_keeps_an_invariant(name: str, make: MakeWorld, invariant: Invariant) -> None:
    for seed in range(HISTORIES.get(name, scaled(400, 25))):
        try:
            invariant(make, Random(seed))
        except Exception as exc:
            exc.add_note(f"seed {seed}")
            raise


def test_the_narrowest_windows_that_the_kernel_accepts_are_wide_enough(
    make: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that first reads nothing beyond the change, and then one version more, believes what the model does."""
    monkeypatch.setattr(slotwork, "MARGINS", (0, 1, None))
    for seed in range(scaled(150, 12)):
        rng = Random(seed)
        functional = rng.random() < 0.6
        said = history(rng, replace(PLAIN, length_max=25, episodes=False))
        model, world = Model(functional), make(functional)
        assert tell(world, said) == tell(model, said)
        assert world.audit(SLOT) == model.audit(SLOT), as_case(said, functional=functional)
