"""What the writer made by windows is what folding everything again makes."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from consolidation.verify import refold
from ontology.instants import parse_instant
from tests.histories import EVERYTHING, Op
from tests.integration.store_world import StoreWorld
from tests.integration.test_histories import histories
from tests.model import Refusal
from tests.oracles.embedded import Embedded


@given(said=histories(EVERYTHING), functional=st.booleans())
def test_nothing_is_found_in_an_honest_ledger(engine: Embedded, said: list[list[Op]], functional: bool) -> None:
    world = StoreWorld(engine, functional)
    for ops in said:
        with suppress(Refusal):
            world.transact(ops, parse_instant(ops[0]["recorded_at"]))
    assert refold(engine.store, world.memory.scope.tenant) == []
