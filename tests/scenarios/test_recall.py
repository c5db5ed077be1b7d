"""Questions in words, each with the packet that an agent gets: T1, T12, P08, P14, P15, I1, S2."""

from typing import Any

import pytest

from tests.oracles.memory import Memory
from tests.scenarios.test_search import CHAT, MONTHS, PRICES
from tests.scenarios.world import Row, World


@pytest.fixture(autouse=True)
def _time_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, no packet that is made in this process is cut by the time."""
    monkeypatch.setattr("api.routes.recall.milliseconds", lambda: 0.0)


def told(packet: dict[str, Any], predicate: str) -> list[str]:
    """The values that the lines tell under a predicate, in their order."""
    facts = [line["fact"] for line in packet["lines"] if line["fact"]["predicate"] == predicate]
    return [str(fact["value"].get("value", fact["value"].get("key"))) for fact in facts]


def test_t1_each_time_has_its_own_answer(memory: Memory) -> None:
    world = World(memory, lives_in="functional")
    for place, since, at in (
        ("Lisbon", "2020-01-01", "2020-01-05"), ("Oslo", "2021-03-01", "2021-03-02"),
        ("Lisbon", "2023-06-01", "2023-06-04"),
    ):  # fmt: skip
        world.tell("Mira", "lives_in", place, since, at=at)

    for question, city in (
        ("Where does Mira live?", ["Lisbon"]), ("Where did Mira live on 1 May 2022?", ["Oslo"]),
        ("Where did Mira live in 2022?", ["Oslo"]), ("Where did Mira live before March 2021?", ["Lisbon"]),
        ("Where did Mira live before 2020?", []), ("Where did Mira live, as we knew on 1 May 2023?", ["Oslo"]),
    ):  # fmt: skip
        packet = world.recall(question)
        assert told(packet, "lives_in") == city, question
        assert ("Oslo" in packet["text"]) == (city == ["Oslo"]), question


def test_t12_a_plain_question_gets_the_current_fact_alone(memory: Memory) -> None:
    world = World(memory, price="functional")
    rows = [Row("Item Z", "price", price, f"{month}-01") for month, price in zip(MONTHS, PRICES, strict=True)]
    world.do([row.item() for row in rows], at="2026-05-01")

    packet = world.recall("What is the price of Item Z?")

    assert told(packet, "price") == [PRICES[-1]]
    assert not [price for price in PRICES[:-1] if price in packet["text"]]
    assert packet["truncated"] is None


def test_p08_names_that_look_alike_stay_apart(memory: Memory) -> None:
    world = World(memory, holds="many", owner="functional", works_in="functional")
    rows = [
        Row("Bay 301", "holds", "pallet A", "2026-06-01"), Row("Bay 302", "holds", "pallet B", "2026-06-01"),
        Row("FY2024 audit", "owner", "team-1", "2026-06-01"), Row("FY2025 audit", "owner", "team-2", "2026-06-01"),
        Row("Ormand", "works_in", "Oman office", "2026-06-01"), Row("Oman", "holds", "an office", "2026-06-01"),
    ]  # fmt: skip
    world.do([row.item() for row in rows], at="2026-06-01")

    for question, predicate, value in (
        ("What does Bay 301 hold?", "holds", ["pallet A"]), ("What does Bay 302 hold?", "holds", ["pallet B"]),
        ("Who is the owner of the FY2025 audit?", "owner", ["team-2"]),
        ("Where does Ormand work?", "works_in", ["Oman office"]), ("What does Oman hold?", "holds", ["an office"]),
    ):  # fmt: skip
        packet = world.recall(question)
        first = [line for line in packet["lines"] if line["why"] == "asked"]
        assert [line["fact"]["value"]["value"] for line in first] == value, question
        assert told(packet, predicate)[:1] == value, question
        assert len(packet["entities"]) == 1, question


def test_a_chain_of_two_facts_is_told_where_the_question_goes_on(memory: Memory) -> None:
    world = World(memory, works_at="functional", located_in="functional")
    rows = [Row(person, "works_at", {"type": "entity", "key": "fjordwind"}) for person in ("jonas", "mira", "ada")]
    rows += [Row("fjordwind", "located_in", {"type": "entity", "key": "oslo"})]
    rows += [Row("jonas", f"habit_{number}", "tea") for number in range(12)]
    world.do([row.item() for row in rows], at="2026-01-01")

    for question in (
        "Where does jonas work, and in which city is it?", "Where does jonas work, and where is it located?",
        "In which town does jonas work?",
    ):  # fmt: skip
        lines = [line["sentence"] for line in world.recall(question)["lines"]]
        assert lines[:2] == ["jonas works at fjordwind", "fjordwind located in oslo"], question
        assert not [said for said in lines if said.startswith(("mira", "ada"))], question

    assert told(world.recall("Where does jonas work?"), "located_in") == []


def test_of_much_that_holds_the_line_with_the_words_of_the_question_comes_first(memory: Memory) -> None:
    world = World(memory, door_code="functional", likes="many")
    rows = [Row(f"shed {number}", "door_code", f"K{number}-303B", "2026-01-01") for number in range(100, 140)]
    rows += [Row("Ivo", f"habit_{number}", f"word{number}", f"2026-02-{number:02d}") for number in range(1, 25)]
    rows += [Row("Ivo", "likes", food, "2025-01-01") for food in ("lutefisk with bacon", "plain rice", "old cheese")]
    world.do([row.item() for row in rows], at="2026-03-01")

    for question, first in (
        ("Which shed has the door code K117-303B?", "shed 117 door code K117-303B"),
        ("Would Ivo eat lutefisk?", "Ivo likes lutefisk with bacon"),
        ("What of word7 and Ivo?", "Ivo habit 7 word7"), ("Does Ivo like bacon?", "Ivo likes lutefisk with bacon"),
    ):  # fmt: skip
        indexed = world.search(first)
        assert indexed["items"], first
        assert world.recall(question)["lines"][0]["sentence"] == first, question


def test_i1_codes_that_differ_in_one_character_stay_apart(memory: Memory) -> None:
    world = World(memory, requires="functional", applies_to="functional")
    rows = [
        Row("Directive KD-2024-0031", "requires", "valve check"),
        Row("Directive KD-2024-0032", "requires", "hose check"),
        Row("Manual M-7 Rev A", "applies_to", "pump"), Row("Manual M-7 Rev B", "applies_to", "fan"),
    ]  # fmt: skip
    world.do([row.item() for row in rows], at="2026-01-01")

    packet = world.recall("What does Directive KD-2024-0032 require?")
    assert ("hose check" in packet["text"], "valve check" in packet["text"]) == (True, False)
    packet = world.recall("What does Manual M-7 Rev A apply to?")
    assert ("pump" in packet["text"], "fan" in packet["text"]) == (True, False)


def test_p14_what_two_sources_say_is_one_line_with_both(memory: Memory) -> None:
    world = World(memory, coating="functional")
    for source, at in (("inspector-1", "2026-04-01"), ("inspector-1", "2026-04-07"), ("lab-2", "2026-04-10")):
        world.tell("Tank-6", "coating", "type-b", "2026-04-01", at=at, source=source, episode=f"{source}-{at}")

    packet = world.recall("What is the coating of Tank-6?")

    assert told(packet, "coating") == ["type-b"]
    assert packet["text"].count("type-b") == 1
    assert packet["lines"][0]["fact"]["sources"] == 2
    assert "said by inspector-1, lab-2" in packet["text"]


def test_p15_what_an_untrusted_page_says_waits_and_is_only_counted(memory: Memory) -> None:
    world = World(memory, payout_account="functional")
    world.tell("Supplier-8", "payout_account", "acct-100", "2026-02-01", at="2026-02-01", source="ledger")
    page = {"source": "page", "trust": "untrusted"}
    world.tell("Supplier-8", "payout_account", "acct-666", "2026-06-01", at="2026-06-01", **page)

    packet = world.recall("What is the payout account of Supplier-8?")

    assert told(packet, "payout_account") == ["acct-100"]
    assert "acct-666" not in packet["text"]
    assert packet["counts"]["held"] == 1


def test_s2_one_rare_word_in_two_hundred_is_found(memory: Memory) -> None:
    world = World(memory, note="many")
    rows = [Row(f"talk {number}", "note", f"{CHAT[number]} {CHAT[number + 1]}", "2026-01-01") for number in range(100)]
    world.do([row.item() for row in rows], at="2026-01-01")
    world.tell("Ivo", "note", "drinks zubrowka", "2026-01-01", at="2026-01-02")

    packet = world.recall(" ".join([*CHAT[:120], "zubrowka", *CHAT[120:]]), tokens=16_000, limit=200)

    assert "drinks zubrowka" in told(packet, "note")
