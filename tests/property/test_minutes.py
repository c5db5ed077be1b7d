"""Random histories for as long as one likes: `VIGENCIA_PROPERTY_MINUTES=10 pytest tests/property/test_minutes.py`."""

import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from random import Random

import pytest

from tests.neo4j.stores import NAME
from tests.property.engines import STORES, worlds_of
from tests.property.invariants import INVARIANTS
from tests.property.test_model import check_model
from tests.property.windows import check_window
from tests.property.worlds import KernelWorld, MakeWorld
from tests.sizes import PROPERTY_MINUTES

Check = Callable[[Random], object]


pytestmark = pytest.mark.skipif(not PROPERTY_MINUTES, reason="runs only with VIGENCIA_PROPERTY_MINUTES")


def test_every_property_holds_of_random_histories_for_some_minutes() -> None:
    """The kernel, the model against the reference, every store in this process."""
    with ExitStack() as stack:
        worlds: dict[str, MakeWorld] = {"kernel": KernelWorld}
        worlds |= {name: stack.enter_context(worlds_of(name)) for name in STORES if name != NAME}
        run_for_minutes({"model": check_model, "window": check_window} | checks_of(worlds))


@pytest.mark.neo4j
def test_every_property_holds_on_neo4j_for_some_minutes() -> None:
    """By itself, since it gets through fewer of them."""
    with worlds_of(NAME) as make:
        run_for_minutes(checks_of({NAME: make}))


def checks_of(worlds: dict[str, MakeWorld]) -> dict[str, Check]:
    return {
        f"{check.__name__} of {name}": partial(check, make) for name, make in worlds.items() for check in INVARIANTS
    }


def run_for_minutes(checks: dict[str, Check]) -> None:
    """Each check in turn on a new seed; a failure names the one that shows it."""
    end = time.monotonic() + PROPERTY_MINUTES * 60
    rounds = 0
    while time.monotonic() < end:
        for name, check in checks.items():
            seed = secrets.randbits(64)
            try:
                check(Random(seed))
            except Exception as exc:
                exc.add_note(f"{name}, seed {seed}, after {rounds} rounds")
                raise
        rounds += 1
    print(f"{rounds} rounds of {len(checks)} checks")
