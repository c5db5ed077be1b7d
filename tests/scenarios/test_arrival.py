"""The outcome depends on what was said and when, never on the order of arrival: P05, T11."""

import random
from collections.abc import Iterator, Sequence
from itertools import permutations

import pytest

from graph.ledger import belief_hash
from tests.oracles.cases import Item
from tests.oracles.embedded import Embedded, EmbeddedMemory
from tests.oracles.engines import naive, sqlite
from tests.scenarios.world import Row, World

POLICY = {"based_at": "functional", "serves": "many", "operator": "functional", "lives_in": "functional"}
AFTER_ALL = "2026-11-30"
SEED = 20261130

P01 = [
    (Row("Crane-12", "based_at", "Dock North", "2026-01-05"), "2026-01-05"),
    (Row("Crane-12", "based_at", "Dock South", "2026-05-01"), "2026-05-03"),
    (Row("Crane-12", "based_at", "Dock East", "2026-03-01"), "2026-07-01"),
]
EIGHT = [
    *P01,
    (Row("Crane-12", "serves", "grain", "2026-01-01", "2026-06-01"), "2026-01-02"),
    (Row("Crane-12", "serves", "steel", "2026-02-01"), "2026-02-02"),
    (Row("Crane-12", "serves", "grain", "2026-04-01"), "2026-06-15"),
    (Row("Crane-12", "operator", "Ada", "2026-01-01", "2026-12-31"), "2026-01-03"),
    (Row("Crane-12", "operator", "Ben", "2026-03-01", "2026-04-01"), "2026-03-02"),
]
IVO = [
    Row("Ivo", "lives_in", "Porto", "2024-01-01").item(source="s1", observed_at="2026-01-01"),
    Row("Ivo", "lives_in", "Riga", "2025-01-01").item(source="s2", observed_at="2026-01-02"),
    Row("Ivo", "lives_in", "Riga", "2025-01-01").item(source="s3", observed_at="2026-01-03"),
]


@pytest.fixture(params=[sqlite, naive])
def embedded(request: pytest.FixtureRequest) -> Iterator[Embedded]:
    engine: Embedded = request.param()
    yield engine
    engine.close()


def items(rows: Sequence[tuple[Row, str]]) -> list[Item]:
    return [row.item(observed_at=told) for row, told in rows]


def told(engine: Embedded, said: Sequence[Item], *, as_batch: bool) -> EmbeddedMemory:
    """A memory that heard all of `said` after they were all said, in this order."""
    memory = engine.fresh()
    world = World(memory, **POLICY)
    for batch in [said] if as_batch else [[item] for item in said]:
        world.do(batch, at=AFTER_ALL)
    return memory


def beliefs(engine: Embedded, orders: Sequence[Sequence[Item]]) -> set[str]:
    return {
        belief_hash(engine.store, told(engine, said, as_batch=as_batch).scope)
        for said in orders
        for as_batch in (True, False)
    }


def test_p05_every_order_of_arrival_gives_one_belief(embedded: Embedded) -> None:
    shuffled = [random.Random(SEED + n).sample(EIGHT, len(EIGHT)) for n in range(50)]
    assert len(beliefs(embedded, [*map(items, permutations(P01))])) == 1
    assert len(beliefs(embedded, [*map(items, shuffled)])) == 1


def test_p05_every_order_answers_every_question_alike(embedded: Embedded) -> None:
    answers = set()
    for number, rows in enumerate(permutations(P01)):
        memory = told(embedded, items(rows), as_batch=number % 2 == 0)
        questions = [
            {"kind": "history"},
            {"kind": "state", "valid_at": "2026-04-01"},
            {"kind": "changes", "valid_after": "2026-01-01", "valid_until": "2027-01-01"},
        ]
        asked = [q | {"subject": "Crane-12", "predicate": "based_at"} for q in questions]
        answers.add(repr([memory.ask(question) for question in asked]))
    assert len(answers) == 1


def test_p05_open_asserts_with_distinct_starts_commute_whenever_they_were_said(embedded: Embedded) -> None:
    orders = [[row.item() for row, _ in rows] for rows in permutations(P01)]
    assert len(beliefs(embedded, orders)) == 1


def test_p05_bounded_asserts_commute_in_the_order_in_which_they_were_said(embedded: Embedded) -> None:
    bounded = [
        (Row("Crane-12", "operator", "Ada", "2026-01-01", "2026-12-31"), "2026-01-03"),
        (Row("Crane-12", "operator", "Ben", "2026-03-01", "2026-06-01"), "2026-03-02"),
        (Row("Crane-12", "operator", "Cem", "2026-05-01", "2026-08-01"), "2026-05-02"),
        (Row("Crane-12", "operator", "Ada", "2026-04-01", "2026-07-01"), "2026-05-03"),
    ]
    assert len(beliefs(embedded, [*map(items, permutations(bounded))])) == 1


def test_t11_a_bulk_import_equals_one_by_one_in_any_order(embedded: Embedded) -> None:
    orders = list(permutations(IVO))
    assert len(beliefs(embedded, orders)) == 1
    for said in orders:
        memory = told(embedded, said, as_batch=True)
        slot = {"subject": "Ivo", "predicate": "lives_in"}
        assert memory.ask({"kind": "state", "valid_at": AFTER_ALL, **slot}) == ["Riga"]
        assert [(r["value"], r["valid_to"][:10]) for r in memory.ask({"kind": "history", **slot})] == [
            ("Porto", "2025-01-01"),
            ("Riga", "infinity"),
        ]
        assert len([r for r in memory.ask({"kind": "audit", **slot}) if r["value"] == "Riga"]) == 1
        assert memory.ask({"kind": "sources", "value": "Riga", **slot}) == ["s2", "s3"]
