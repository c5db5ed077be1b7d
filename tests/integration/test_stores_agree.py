"""Three stores hear one stream of operations through the writer, and believe what the naive model does."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from random import Random
from typing import Final

import pytest

from tests.histories import EVERYTHING, ONE_VALUE, PLAIN, Mix, Op, as_case, history
from tests.integration.conftest import ENGINES
from tests.integration.store_world import StoreWorld
from tests.integration.test_histories import SLOTS, clock_of, erases_nothing, tame
from tests.model import Model, Refusal
from tests.oracles.embedded import Embedded
from tests.sizes import scaled

HISTORIES: Final = scaled(2_000)
MIXES: Final[tuple[Mix, ...]] = (EVERYTHING, EVERYTHING, PLAIN, replace(ONE_VALUE, corrections=0.2, stopped_clock=0.2))

pytestmark = pytest.mark.neo4j


@pytest.fixture(scope="module")
def engines() -> Iterator[Mapping[str, Embedded]]:
    """Every engine, the same ids, the same clock; each history is one tenant of each."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(closing(opened())) for name, opened in ENGINES.items()}


def heard(world: StoreWorld, ops: list[Op]) -> object:
    """What a world answers to one transaction: the receipt, or why it is refused."""
    before = len(world.receipts)
    try:
        recorded_at = world.transact(ops, clock_of(ops))
    except Refusal as exc:
        return str(exc)
    return recorded_at, world.receipts[before:]


def told(worlds: Mapping[str, StoreWorld], said: list[list[Op]]) -> tuple[Model, int]:
    """Tell all worlds a history, which must answer alike, and a model; gives it, and how many were refused."""
    first = next(iter(worlds.values()))
    model, refused = Model(first.functional), 0
    for ops in said:
        before = len(first.said)
        answers = {name: heard(world, ops) for name, world in worlds.items()}
        wanted = next(iter(answers.values()))
        assert answers == dict.fromkeys(worlds, wanted)
        if isinstance(wanted, str):
            refused += 1
            if not any(erases_nothing(first, op) for op in ops):
                with pytest.raises(Refusal):
                    model.transact(ops, clock_of(ops))
        elif len(first.said) > before:
            assert model.transact(first.said[-1], first.times[-1]) == first.times[-1]
    return model, refused


def test_all_stores_and_the_model_agree_on_random_histories(engines: Mapping[str, Embedded]) -> None:
    """Receipts, refusals, every rectangle of the audit, evidence, and every byte of the ledger."""
    transactions = refusals = rectangles = 0
    for seed in range(HISTORIES):
        rng = Random(seed)
        functional, mix = rng.random() < 0.6, rng.choice(MIXES)
        said = tame(history(rng, mix))
        worlds = {name: StoreWorld(engine, functional) for name, engine in engines.items()}
        try:
            model, refused = told(worlds, said)
            for key in SLOTS:
                audit = model.audit(key)
                assert {name: world.audit(key) for name, world in worlds.items()} == dict.fromkeys(worlds, audit)
                rectangles += len(audit)
                for value in mix.values:
                    count = model.evidence(key, value)
                    found = {name: world.evidence(key, value) for name, world in worlds.items()}
                    assert found == dict.fromkeys(worlds, count)
            assert len({world.ledger_hash for world in worlds.values()}) == 1
            assert len({world.belief_hash for world in worlds.values()}) == 1
        except BaseException as exc:
            exc.add_note(f"seed {seed}: {as_case(said, functional=functional)}")
            raise
        transactions, refusals = transactions + len(said), refusals + refused
    print(
        f"ok: {HISTORIES} histories, {transactions} transactions of which {refusals} refused, {rectangles} rectangles; "
        f"{', '.join(engines)} and the model agree"
    )
