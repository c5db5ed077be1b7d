"""Random histories through the writer: what the naive model believes, the store believes, cell by cell."""

from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ontology.instants import DAY, Instant, format_instant, parse_instant
from tests.histories import EVERYTHING, PREDICATE, Mix, Op, history
from tests.integration.store_world import StoreWorld
from tests.model import Model, Refusal
from tests.oracles.embedded import Embedded
from tests.readings import Key
from tests.sizes import scaled

SLOTS: list[Key] = [("s", PREDICATE), ("t", PREDICATE)]
examples = settings(max_examples=scaled(500, 40))
SAID = replace(EVERYTHING, wrong=0.0, stopped_clock=0.0, corrections=0.0)


def histories(mix: Mix) -> st.SearchStrategy[list[list[Op]]]:
    return st.randoms(use_true_random=False).map(lambda rng: tame(history(rng, mix)))


def tame(said: list[list[Op]]) -> list[list[Op]]:
    """Without ids of claims of one's own transaction, and with one time for each episode and each import.

    A claim that does not tell when it was said was said when its episode was, which the model does not know.
    """
    for ops in said:
        own = {op["id"] for op in ops}
        for op in ops:
            if op.get("claim") in own:
                op["claim"] = "unheard of"
            if op.get("import_recorded_at"):
                op["import_recorded_at"] = next(o["import_recorded_at"] for o in ops if "import_recorded_at" in o)
            if op.get("episode"):
                op["episode"] += f" {op.get('observed_at', 'unsaid')}"
    return said


def clock_of(ops: list[Op]) -> Instant:
    return parse_instant(ops[0]["recorded_at"])


def tell(world: StoreWorld, said: list[list[Op]]) -> Model:
    """Tell a world a history; gives a model that heard what the world took. Both must refuse the same."""
    model = Model(world.functional)
    for ops in said:
        heard = len(world.said)
        try:
            world.transact(ops, clock_of(ops))
        except Refusal:
            if not any(erases_nothing(world, op) for op in ops):
                with pytest.raises(Refusal):
                    model.transact(ops, clock_of(ops))
            continue
        if len(world.said) > heard:
            assert model.transact(world.said[-1], world.times[-1]) == world.times[-1]
    return model


def erases_nothing(world: StoreWorld, op: Op) -> bool:
    """Whether it erases a subject that nobody spoke of: the store does not find it, the model does not care."""
    return op["op"] == "erase" and op["subject"] not in {subject for subject, _ in world.slots()}


def assert_same(world: StoreWorld, model: Model) -> None:
    for key in SLOTS:
        assert world.audit(key) == model.audit(key)


@examples
@given(said=histories(EVERYTHING), functional=st.booleans())
def test_the_audit_of_a_store_is_that_of_the_model(engine: Embedded, said: list[list[Op]], functional: bool) -> None:
    world = StoreWorld(engine, functional)
    model = tell(world, said)
    assert_same(world, model)
    for key in SLOTS:
        for value in "xyz":
            assert world.evidence(key, value) == model.evidence(key, value)


@examples
@given(said=histories(replace(EVERYTHING, wrong=0.5)), functional=st.booleans())
def test_a_refused_transaction_leaves_no_trace(engine: Embedded, said: list[list[Op]], functional: bool) -> None:
    world = StoreWorld(engine, functional)
    for ops in said:
        before = world.position, world.ledger_hash
        try:
            world.transact(ops, clock_of(ops))
        except Refusal:
            assert (world.position, world.ledger_hash) == before


@examples
@given(said=histories(replace(SAID, batches=1.0)), functional=st.booleans())
def test_a_batch_is_the_same_operations_one_by_one(engine: Embedded, said: list[list[Op]], functional: bool) -> None:
    together, apart = StoreWorld(engine, functional), StoreWorld(engine, functional)
    for number, ops in enumerate(said):
        for op in ops:  # what nobody dates is dated by the commit, and a batch is one commit
            op["observed_at"] = f"2019-01-01T00:00:00.{number:06d}Z"
        try:
            together.transact(ops, clock_of(ops))
        except Refusal:
            continue
        for op in ops:
            apart.transact([op], clock_of(ops))
    assert together.belief_hash == apart.belief_hash


@examples
@given(said=histories(replace(SAID, batches=0.0)), functional=st.booleans(), data=st.data())
def test_any_order_of_arrival_gives_the_same_belief(
    engine: Embedded, said: list[list[Op]], functional: bool, data: st.DataObject
) -> None:
    """Where everything tells when it was said, at instants that differ, and all was said before any of it arrived."""
    ops = [op for group in said for op in group]
    for number, op in enumerate(ops):
        op["observed_at"] = f"2019-01-01T00:00:00.{number:06d}Z"
        op["episode"] = f"e{number}"
    orders = [ops, data.draw(st.permutations(ops))]
    worlds = [StoreWorld(engine, functional) for _ in orders]
    for world, order in zip(worlds, orders, strict=True):
        for op in order:
            with suppress(Refusal):
                world.transact([op], parse_instant("2030-01-01"))
    assert worlds[0].belief_hash == worlds[1].belief_hash


def long_history(rng: Random, length: int) -> list[list[Op]]:
    """Mostly in the order in which it was said, over forty years, with some of everything."""
    said: list[list[Op]] = []
    for number in range(length):
        year, month = 1980 + rng.randrange(40), rng.randint(1, 12)
        op: Op = {
            "op": "assert", "subject": "s", "predicate": PREDICATE, "value": rng.choice("vwxyz"), "id": f"c{number}",
            "recorded_at": format_instant(Instant(parse_instant("2021-01-01") + number * DAY)),
            "valid_from": f"{year}-{month:02d}-01",
        }  # fmt: skip
        shape = rng.random()
        if shape < 0.3:
            op["valid_to"] = f"{year + rng.randint(1, 3)}-{month:02d}-01"
        elif shape < 0.4:
            op["op"], op["valid_to"] = "retract", f"{year + 1}-{month:02d}-01"
        elif shape < 0.5:
            op["valid_from"] = str(year)
        elif shape < 0.55:
            op["observed_at"] = "2020-06-01"
        elif shape < 0.6:
            del op["valid_from"]
        said.append([op])
    return said
