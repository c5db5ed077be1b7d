"""Every store serves what the naive model does, at any recorded time: what has expired never, nothing older instead."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from random import Random

import pytest

from ontology.instants import OPEN_END
from tests.histories import EVERYTHING, as_case
from tests.model import Model
from tests.neo4j.stores import NAME, marked
from tests.oracles.embedded import Embedded
from tests.property.engines import STORES
from tests.property.invariants import random_history, tell
from tests.property.stores import StoredWorld
from tests.sizes import scaled

HISTORIES = {NAME: scaled(100, 8)}
"""How many, where it is not 400 or 40."""
LASTING = replace(EVERYTHING, lasting=0.5, wrong=0, length_max=14)


@contextmanager
def worlds(name: str) -> Iterator[partial[StoredWorld]]:
    engine = Embedded(STORES[name]())
    try:
        yield partial(StoredWorld, engine)
    finally:
        engine.close()


@pytest.mark.parametrize("name", marked(STORES))
def test_a_store_serves_what_the_model_does(name: str) -> None:
    expired = 0
    with worlds(name) as make:
        for seed in range(HISTORIES.get(name, scaled(400, 40))):
            functional, said = random_history(Random(seed), LASTING)
            model, world = Model(functional), make(functional)
            assert tell(world, said) == tell(model, said)
            ends = {s.expires + d for s in model.sayings if s.expires < OPEN_END for d in (-1, 0)}
            for key in model.slots():
                for known_at in sorted({*model.times, *(t - 1 for t in model.times), *ends}):
                    served = model.served(key, known_at)
                    assert world.served(key, known_at) == served, (
                        f"seed {seed}, {known_at}: {as_case(said, functional=functional)}"
                    )
                    expired += served != sorted(model.timeline(key, known_at).runs())
    assert expired > 30, "the histories are about what expires"
