"""What moved, what was wrong, and what comes back: P01, P03, T1, T3, T7, D3."""

import pytest

from tests.oracles.memory import Memory, Refusal
from tests.scenarios.world import World

ALBA = {"type": "entity", "key": "Alba"}


def test_p01_a_late_report_about_the_middle_falls_into_place(memory: Memory) -> None:
    world = World(memory, based_at="functional")
    world.tell("Crane-12", "based_at", "Dock North", "2026-01-05", at="2026-01-05")
    world.tell("Crane-12", "based_at", "Dock South", "2026-05-01", at="2026-05-03")
    late = world.tell("Crane-12", "based_at", "Dock East", "2026-03-01", at="2026-07-01")

    assert world.state("Crane-12", "based_at", "2026-07-02") == ["Dock South"]
    assert world.state("Crane-12", "based_at", "2026-02-01") == ["Dock North"]
    assert world.state("Crane-12", "based_at", "2026-04-01") == ["Dock East"]
    assert world.state("Crane-12", "based_at", "2026-04-01", "2026-05-15") == ["Dock North"]
    assert world.history("Crane-12", "based_at") == [
        "Dock North [2026-01-05, 2026-03-01)",
        "Dock East [2026-03-01, 2026-05-01)",
        "Dock South [2026-05-01, open)",
    ]
    assert late["bounded_by"], "the receipt names what ends it"


def test_p03_a_correction_is_not_a_move(memory: Memory) -> None:
    world = World(memory, voltage="functional")
    world.tell("Pump-7", "voltage", "380 V", "2026-02-01", at="2026-02-01", source="note-a")
    right = {"op": "replace", "subject": {"key": "Pump-7"}, "predicate": "voltage", "old": "380 V", "at": "2026-02-01"}
    world.do([right | {"value": "400 V", "source": "plate-photo", "reason": "misread"}], at="2026-03-10")

    assert world.state("Pump-7", "voltage", "2026-02-15") == ["400 V"]
    assert world.state("Pump-7", "voltage", "2026-02-15", "2026-02-20") == ["380 V"]
    assert world.history("Pump-7", "voltage") == ["400 V [2026-02-01, open)"]
    wrong, _ = memory.ask({"kind": "claims", "subject": "Pump-7", "predicate": "voltage"})
    assert wrong == {"value": "380 V", "state": "withdrawn", "reason": "misread", "successor": "400 V"}


def test_the_same_slot_and_start_said_again_with_another_value_is_a_correction(memory: Memory) -> None:
    world = World(memory, voltage="functional")
    world.tell("Pump-7", "voltage", "380 V", "2026-02-01", at="2026-02-01")
    world.tell("Pump-7", "voltage", "400 V", "2026-02-01", at="2026-03-10")
    assert world.history("Pump-7", "voltage") == ["400 V [2026-02-01, open)"]


@pytest.mark.parametrize("source", ["s3", "s1"])
def test_t1_going_back_to_an_earlier_value_opens_a_new_period(memory: Memory, source: str) -> None:
    world = World(memory, lives_in="functional")
    world.tell("Mira", "lives_in", "Lisbon", "2020-01-01", at="2020-01-05", source="s1")
    world.tell("Mira", "lives_in", "Oslo", "2021-03-01", at="2021-03-02", source="s2")
    world.tell("Mira", "lives_in", "Lisbon", "2023-06-01", at="2023-06-04", source=source)

    assert world.state("Mira", "lives_in", "2024-01-01") == ["Lisbon"]
    assert world.state("Mira", "lives_in", "2022-05-01") == ["Oslo"]
    assert world.history("Mira", "lives_in") == [
        "Lisbon [2020-01-01, 2021-03-01)",
        "Oslo [2021-03-01, 2023-06-01)",
        "Lisbon [2023-06-01, open)",
    ]


def test_t3_a_corrected_start_leaves_one_employment_and_no_false_past(memory: Memory) -> None:
    world = World(memory, works_at="functional")
    world.tell("Jonas", "works_at", "Beta Ltd", "2021-01-01", at="2026-01-10", source="s1")
    right = {"op": "replace", "subject": {"key": "Jonas"}, "predicate": "works_at", "old": "Beta Ltd"}
    world.do([right | {"at": "2021-06-01", "valid_from": "2022-01-01", "source": "s2"}], at="2026-04-01")

    assert world.state("Jonas", "works_at", "2021-06-01") == []
    assert world.state("Jonas", "works_at", "2021-06-01", "2026-02-01") == ["Beta Ltd"]
    assert world.history("Jonas", "works_at") == ["Beta Ltd [2022-01-01, open)"]


def test_t7_a_dated_fact_ends_an_undated_one(memory: Memory) -> None:
    world = World(memory, lives_in="functional")
    world.tell("Ilse", "lives_in", "Ghent", "unknown", at="2024-01-01", source="s1")
    world.tell("Ilse", "lives_in", "Turin", "2024-08-15", at="2024-09-01", source="s2")

    assert world.state("Ilse", "lives_in", "2025-01-01") == ["Turin"]
    assert world.state("Ilse", "lives_in", "2024-02-01", certain=True) == ["Ghent"]
    assert world.state("Ilse", "lives_in", "2023-02-01", certain=True) == []
    assert world.state("Ilse", "lives_in", "2023-02-01") == ["Ghent"], "possibly, since nobody says when it began"


def test_an_undated_fact_does_not_reach_back_before_it_was_said(memory: Memory) -> None:
    world = World(memory, lives_in="functional")
    world.tell("Ilse", "lives_in", "Turin", "2024-08-15", "2030-01-01", at="2024-09-01")
    world.tell("Ilse", "lives_in", "Ghent", at="2025-01-01")
    assert world.state("Ilse", "lives_in", "2024-12-31", certain=True) == ["Turin"]
    assert world.state("Ilse", "lives_in", "2025-06-01", certain=True) == ["Ghent"], "since the day it was said"


@pytest.mark.parametrize("by", ["source", "episode", "claim"])
def test_d3_removing_the_source_of_a_change_reopens_what_it_closed(memory: Memory, by: str) -> None:
    world = World(memory, lives_in="functional")
    world.tell("Bo", "lives_in", "Cork", "2020-01-01", at="2020-01-02", source="s1", episode="e1")
    forged = world.tell("Bo", "lives_in", "Bonn", "2024-01-01", at="2024-01-02", source="s2", episode="e2")
    target = {"source": "s2", "episode": "e2", "claim": forged["claim"]}[by]
    receipt = world.do([{"op": "withdraw", by: target, "reason": "forged"}], at="2024-02-01")

    assert receipt["items"][0]["withdrawn"] == [forged["claim"]]
    assert world.history("Bo", "lives_in") == ["Cork [2020-01-01, open)"]
    assert world.state("Bo", "lives_in", "2024-01-15", "2024-01-15") == ["Bonn"], "that is what was believed then"
    with pytest.raises(Refusal, match="not_found"):
        world.do([{"op": "withdraw", by: target}], at="2024-02-02")


def test_withdrawing_one_of_two_sources_changes_nothing_but_the_support(memory: Memory) -> None:
    world = World(memory, works_on="many")
    for source in ("s1", "s2"):
        world.tell("Vera", "works_on", "Pilot", "2024-01-01", at="2024-01-02", source=source)
    world.do([{"op": "withdraw", "source": "s1"}], at="2024-02-01")
    assert world.history("Vera", "works_on") == ["Pilot [2024-01-01, open)"]
    assert memory.ask({"kind": "evidence", "subject": "Vera", "predicate": "works_on", "value": "Pilot"}) == 1


def test_a_move_of_an_entity_is_a_change_of_an_edge(memory: Memory) -> None:
    world = World(memory, employer="functional")
    world.tell("Ana", "employer", ALBA, "2020-01-01", at="2020-01-02")
    world.tell("Ana", "employer", {"type": "entity", "key": "Boreas"}, "2022-01-01", at="2022-01-02")
    assert world.history("Ana", "employer") == ["Alba [2020-01-01, 2022-01-01)", "Boreas [2022-01-01, open)"]
    path = {"kind": "path", "subject": "Alba", "steps": ["^employer"], "valid_at": "2021-01-01"}
    (found,) = memory.ask(path)
    assert found["nodes"] == ["Alba", "Ana"]
