"""What holds, for how long and of whom: T5, T8, T12, T13, I1, W4, and their like."""

import pytest

from tests.oracles.memory import Memory
from tests.scenarios.world import Row, World


@pytest.mark.parametrize("others", [0, 100])
def test_t5_a_known_future_end_does_not_retire_a_fact_today(memory: Memory, others: int) -> None:
    world = World(memory, licensed_for="many")
    if others:
        rows = [Row(f"person {n}", "licensed_for", "driving", "2020-01-01", "2023-01-01") for n in range(others)]
        world.do([row.item() for row in rows], at="2024-01-01")
    world.tell("Nadia", "licensed_for", "crane operation", "2024-01-01", "2030-01-01", at="2024-01-10", source="s1")

    assert world.state("Nadia", "licensed_for", "2026-11-30") == ["crane operation"]
    assert world.state("Nadia", "licensed_for", "2030-01-02") == []
    assert world.state("Nadia", "licensed_for", "2029-12-31T23:59:59.999999Z") == ["crane operation"]
    assert world.state("Nadia", "licensed_for", "2030-01-01") == []
    (row,) = memory.ask({"kind": "audit", "subject": "Nadia", "predicate": "licensed_for"})
    assert row["recorded_to"] == "infinity", "it is part of what is believed"


def test_t8_a_mention_retires_no_unrelated_fact(memory: Memory) -> None:
    world = World(memory, job_title="functional", administers="many", imposed="event")
    world.tell("Petra", "job_title", "compliance lead at Corvo", "2023-01-01", at="2026-03-01", source="s1")
    world.tell("Petra", "administers", "build server", "2026-03-08", at="2026-03-08", source="s2")
    world.tell("Petra", "imposed", "yearly audit", "2026-03-09", at="2026-03-09", source="s3")

    now = "2026-03-10"
    assert world.state("Petra", "job_title", now) == ["compliance lead at Corvo"]
    assert world.state("Petra", "administers", now) == ["build server"]
    assert world.state("Petra", "imposed", now) == ["yearly audit"]


def test_an_event_is_never_superseded_and_an_unknown_predicate_destroys_nothing(memory: Memory) -> None:
    world = World(memory, imposed="event")
    for predicate in ("imposed", "never declared"):
        world.tell("Petra", predicate, "yearly audit", "2026-03-09", at="2026-03-09")
        world.tell("Petra", predicate, "monthly audit", "2026-04-09", at="2026-04-09")
        assert world.state("Petra", predicate, "2026-05-01") == ["monthly audit", "yearly audit"]


def test_t12_a_plain_question_returns_the_current_price_alone_and_the_history_has_all(memory: Memory) -> None:
    world = World(memory, price="functional")
    months = [f"{year}-{month:02d}-01" for year in range(2023, 2027) for month in range(1, 13)][:40]
    for number, month in enumerate(months):
        world.tell("Item Z", "price", f"{100 + number}.00", month, at=month)

    assert world.state("Item Z", "price", "2026-11-30") == ["139.00"]
    history = world.history("Item Z", "price")
    assert len(history) == 40
    assert history[0] == "100.00 [2023-01-01, 2023-02-01)"
    assert history[-1] == "139.00 [2026-04-01, open)"
    for number, month in enumerate(months):
        assert world.state("Item Z", "price", month) == [f"{100 + number}.00"]


def test_t13_a_backfill_keeps_the_time_of_the_event(memory: Memory) -> None:
    world = World(memory, member_of="many")
    world.tell("Lena", "member_of", "choir", "2019-04-03", at="2026-05-15", observed_at="2019-04-03", source="s1")
    assert world.history("Lena", "member_of") == ["choir [2019-04-03, open)"]
    assert world.state("Lena", "member_of", "2020-01-01") == ["choir"]
    assert world.state("Lena", "member_of", "2020-01-01", "2026-05-14") == [], "memory did not know it yet"


def test_a_backfill_without_a_date_is_certain_from_when_it_was_said(memory: Memory) -> None:
    world = World(memory, member_of="many")
    receipt = world.tell("Lena", "member_of", "choir", at="2026-05-15", observed_at="2019-04-03")
    silent = world.tell("Otto", "member_of", "choir", at="2026-05-16")
    assert world.history("Lena", "member_of", certain=True) == ["choir [2019-04-03, open)"]
    assert world.history("Otto", "member_of", certain=True) == ["choir [2026-05-16, open)"]
    assert (receipt["observed_from"], silent["observed_from"]) == ("stated", "recorded"), "the receipt says so"


def test_i1_codes_that_differ_in_one_character_stay_apart(memory: Memory) -> None:
    world = World(memory, requires="many", applies_to="many")
    told = [
        world.tell("Directive KD-2024-0031", "requires", "valve check", at="2026-01-01", source="s1"),
        world.tell("Directive KD-2024-0032", "requires", "hose check", at="2026-01-02", source="s2"),
        world.tell("Manual M-7 Rev A", "applies_to", "pump", at="2026-01-03", source="s3"),
        world.tell("Manual M-7 Rev B", "applies_to", "fan", at="2026-01-04", source="s4"),
    ]
    assert len({item["subject"]["id"] for item in told}) == 4
    assert world.state("Directive KD-2024-0032", "requires", "2026-02-01") == ["hose check"]
    assert world.state("Manual M-7 Rev A", "applies_to", "2026-02-01") == ["pump"]


def test_a_key_in_another_form_of_unicode_is_the_same_entity_and_in_another_case_is_not(memory: Memory) -> None:
    world = World(memory, speaks="many")
    composed = world.tell("Zoë", "speaks", "Dutch", at="2026-01-01")["subject"]["id"]
    decomposed = world.tell("Zoe\u0308", "speaks", "Frisian", at="2026-01-02")["subject"]["id"]
    lower = world.tell("zoë", "speaks", "Danish", at="2026-01-03")["subject"]["id"]
    assert composed == decomposed != lower
    assert world.state("Zoë", "speaks", "2026-02-01") == ["Dutch", "Frisian"]


def test_w4_literal_values_need_no_invented_entity(memory: Memory) -> None:
    world = World(memory, unit_price="functional")
    quarter = {"type": "quantity", "value": "0.25", "unit": "EUR"}
    first = world.do([Row("Bolt M8", "unit_price", quarter, "2026-01-01").item()], at="2026-01-01")
    dearer = {"type": "quantity", "value": "0.310", "unit": "EUR"}
    second = world.do([Row("Bolt M8", "unit_price", dearer, "2026-06-01").item()], at="2026-06-01")

    assert world.state("Bolt M8", "unit_price", "2026-03-01") == ["0.25 EUR"]
    assert world.state("Bolt M8", "unit_price", "2026-07-01") == ["0.31 EUR"]
    assert [len(receipt["entities"]) for receipt in (first, second)] == [1, 0]


def test_equal_values_reinforce_however_they_are_written(memory: Memory) -> None:
    world = World(memory, weight="functional")
    world.tell("Bolt M8", "weight", {"type": "decimal", "value": "12.50"}, "2026-01-01", at="2026-01-01")
    again = world.tell("Bolt M8", "weight", {"type": "decimal", "value": "1.25e1"}, "2026-02-01", at="2026-02-01")
    other = world.tell("Bolt M8", "weight", "12.5", "2026-03-01", at="2026-03-01")
    assert (again["result"], other["result"]) == ("reinforced", "superseded"), "a text is no decimal"
