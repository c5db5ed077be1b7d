"""A retry has one effect, and tenants never meet: I4, P11, N1."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.oracles.engines import sqlite
from tests.oracles.memory import Engine, Memory, Refusal
from tests.scenarios.world import Row, World

THREE = [Row("Omar", predicate, value, "2026-01-01").item(episode="e1", source="s1") for predicate, value in
         (("adopted", "a cat"), ("feeds", "a cat"), ("named", "Milo"))]  # fmt: skip


def test_i4_and_p11_a_request_sent_again_has_one_effect_and_one_answer(memory: Memory) -> None:
    world = World(memory, adopted="many")
    first = world.do(THREE, at="2026-01-02", key="k1")
    assert world.do(THREE, at="2026-01-03", key="k1") == first
    assert len(world.recorded()) == 1
    for item in THREE:
        slot = {"subject": "Omar", "predicate": item["predicate"]}
        assert memory.ask({"kind": "evidence", "value": item["value"], **slot}) == 1


def test_p11_a_key_with_another_body_is_a_conflict_and_writes_nothing(memory: Memory) -> None:
    world = World(memory, adopted="many")
    world.do(THREE, at="2026-01-02", key="k1")
    changed = [THREE[0] | {"value": "a dog"}, *THREE[1:]]
    with pytest.raises(Refusal, match="idempotency_key_reused"):
        world.do(changed, at="2026-01-03", key="k1")
    assert world.state("Omar", "adopted", "2026-02-01") == ["a cat"]
    assert len(world.recorded()) == 1


def test_p11_a_new_key_with_the_same_evidence_adds_no_fact_and_no_support(memory: Memory) -> None:
    world = World(memory, adopted="many")
    world.do(THREE, at="2026-01-02", key="k1")
    again = world.do(THREE, at="2026-01-03", key="k2")
    assert [item["result"] for item in again["items"]] == ["duplicate"] * 3
    assert memory.ask({"kind": "support", "subject": "Omar", "predicate": "adopted", "value": "a cat"}) == [1, 1]


def test_p11_an_independent_source_supports_what_is_known(memory: Memory) -> None:
    world = World(memory, adopted="many")
    world.do(THREE, at="2026-01-02", key="k1")
    again = world.tell("Omar", "adopted", "a cat", "2026-01-01", at="2026-01-03", source="s2", episode="e2")
    assert again["result"] == "reinforced"
    assert memory.ask({"kind": "support", "subject": "Omar", "predicate": "adopted", "value": "a cat"}) == [2, 2]


def test_a_refused_request_leaves_its_key_free(memory: Memory) -> None:
    world = World(memory, adopted="many")
    with pytest.raises(Refusal, match="inverted_interval"):
        world.do([Row("Omar", "adopted", "a cat", "2026-02-01", "2026-01-01").item()], at="2026-03-01", key="k1")
    receipt = world.do([Row("Omar", "adopted", "a cat", "2026-01-01", "2026-02-01").item()], at="2026-03-01", key="k1")
    assert receipt["items"][0]["result"] == "created"


def test_n1_concurrent_tenants_see_exactly_their_own(engine: Engine) -> None:
    concurrent_tenants(engine)


def test_n1_concurrent_tenants_of_a_file_see_exactly_their_own(tmp_path: Path) -> None:
    engine = sqlite(str(tmp_path / "n1.db"))
    concurrent_tenants(engine)
    engine.close()


def concurrent_tenants(engine: Engine) -> None:
    worlds = {tenant: World(engine.fresh(), holds="many") for tenant in ("red", "blue")}
    start = threading.Barrier(len(worlds))

    def write(tenant: str) -> None:
        start.wait()
        for number in range(50):
            worlds[tenant].tell("box", "holds", f"{tenant} {number:02d}", "2026-01-01", at="2026-01-02")

    with ThreadPoolExecutor(len(worlds)) as pool:
        list(pool.map(write, worlds))
    for order in (("red", "blue"), ("blue", "red")):
        for tenant in order:
            expected = [f"{tenant} {number:02d}" for number in range(50)]
            assert worlds[tenant].state("box", "holds", "2026-02-01") == expected
    worlds["blue"].tell("box", "holds", "blue 50", "2026-01-01", at="2026-01-03")
    assert len(worlds["red"].state("box", "holds", "2026-02-01")) == 50


def test_the_same_names_in_two_tenants_are_two_things(engine: Engine) -> None:
    """Ids of one tenant mean nothing to another."""
    world, other = World(engine.fresh(), holds="many"), World(engine.fresh(), holds="many")
    mine = world.tell("box", "holds", "a key", at="2026-01-02")
    other.tell("box", "holds", "a coin", at="2026-01-02")
    with pytest.raises(Refusal, match="not_found"):
        other.do([{"op": "withdraw", "claim": mine["claim"]}], at="2026-01-03")
    assert world.state("box", "holds", "2026-02-01") == ["a key"]
    assert other.state("box", "holds", "2026-02-01") == ["a coin"]
