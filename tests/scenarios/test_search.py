"""A plain question, a long one, names and codes that look alike, nobody else's limit: T12, S1, S2, P08, I1."""

import random
from typing import Any

import pytest

from tests.oracles.memory import Memory
from tests.scenarios.world import Row, World

MONTHS = [f"{year}-{month:02}" for year in range(2023, 2027) for month in range(1, 13)][:40]
PRICES = [f"{100 + number}.50" for number in range(40)]
CHAT = [
    "".join(random.Random(number).choices("abcdefghijklmnopqrstuvwy", k=random.Random(-number).randint(3, 9)))
    for number in range(199)
]


def said(answer: dict[str, Any]) -> list[str]:
    """The value of each fact that was found, best first."""
    return [str(item["value"].get("value", item["value"].get("key"))) for item in answer["items"]]


def subjects(answer: dict[str, Any]) -> list[str]:
    return [item["subject"]["key"] for item in answer["items"]]


@pytest.fixture
def priced(memory: Memory) -> World:
    """40 monthly prices of one item, each of which takes the place of the one before."""
    world = World(memory, price="functional")
    rows = [Row("Item Z", "price", price, f"{month}-01") for month, price in zip(MONTHS, PRICES, strict=True)]
    world.do([row.item() for row in rows], at="2026-05-01")
    return world


def test_t12_a_plain_question_gives_the_current_fact_and_tells_what_it_left_out(priced: World) -> None:
    answer = priced.search("price of Item Z", limit=5)

    assert said(answer) == [PRICES[-1]]
    assert [item["holds"] for item in answer["items"]] == ["now"]
    assert answer["suppressed"] == {"earlier": 39, "later": 0, "more": False}
    assert answer["truncated"] is None


def test_t12_the_history_is_given_in_order_each_with_its_interval(priced: World) -> None:
    answer = priced.search("price of Item Z", include=["history"], limit=200)

    assert said(answer) == PRICES[::-1]
    assert [item["holds"] for item in answer["items"]] == ["now"] + ["earlier"] * 39
    starts = [f"{month}-01T00:00:00Z" for month in MONTHS]
    ends = [item["valid_to"] for item in answer["items"]][::-1]
    assert [item["valid_from"] for item in answer["items"]] == starts[::-1]
    assert ends == [*starts[1:], None]
    assert answer["suppressed"] == {"earlier": 0, "later": 0, "more": False}


def test_t12_at_an_earlier_instant_another_price_is_the_current_one(priced: World) -> None:
    answer = priced.search("price of Item Z", valid_at="2023-03-15")

    assert said(answer) == [PRICES[2]]
    assert answer["suppressed"] == {"earlier": 2, "later": 37, "more": False}


def test_t12_before_it_was_told_nothing_is_found(priced: World) -> None:
    assert priced.search("price of Item Z", known_at="2026-04-30")["items"] == []


def test_s1_a_limit_is_nobody_elses(memory: Memory) -> None:
    world = World(memory, lives_in="functional", likes="many")
    rows = [
        Row("Ivo", "lives_in", "Porto by the sea", "2024-01-01"), Row("Ivo", "likes", "Porto wine", "2024-01-01"),
        Row("Ada", "likes", "the sea in Porto", "2024-01-01"),
    ]  # fmt: skip
    world.do([row.item() for row in rows], at="2026-01-01")
    before = world.search("Ivo Porto sea")

    assert len(world.search("Ivo Porto sea", limit=1)["items"]) == 1

    world.tell("Ivo", "lives_in", "Riga by the sea", "2025-01-01", at="2026-01-02")
    after = world.search("Ivo Porto sea")
    assert len(before["items"]) == len(after["items"]) == 3
    assert "Riga by the sea" in said(after)
    assert "Porto by the sea" not in said(after)
    assert after["suppressed"]["earlier"] == 1


def test_s2_one_rare_word_in_two_hundred_is_found(memory: Memory) -> None:
    world = World(memory, note="many")
    notes = [f"{CHAT[number]} {CHAT[(number * 7 + 3) % 199]} and so on" for number in range(199)]
    rows = [Row(f"talk {number}", "note", note, "2026-01-01") for number, note in enumerate(notes)]
    world.do([row.item() for row in rows], at="2026-01-01")
    world.tell("Ivo", "note", "drinks zubrowka", "2026-01-01", at="2026-01-02")

    answer = world.search(" ".join([*CHAT[:120], "zubrowka", *CHAT[120:]]), limit=50)

    assert "drinks zubrowka" in said(answer)
    assert answer["cut_terms"]  # and the answer says that not all of the words were asked for
    assert "zubrowka" not in answer["cut_terms"]


def test_p08_names_that_look_alike_stay_apart(memory: Memory) -> None:
    world = World(memory, holds="functional", owner="functional", works_in="functional")
    rows = [
        Row("Bay 301", "holds", "pallet A", "2026-06-01"), Row("Bay 302", "holds", "pallet B", "2026-06-01"),
        Row("FY2024 audit", "owner", "team-1", "2026-06-01"), Row("FY2025 audit", "owner", "team-2", "2026-06-01"),
        Row("Ormand", "works_in", "Oman office", "2026-06-01"),
    ]  # fmt: skip
    world.do([row.item() for row in rows], at="2026-06-01")

    assert subjects(world.search("Bay 301"))[0] == "Bay 301"
    assert subjects(world.search("what is in Bay-301?"))[0] == "Bay 301"
    assert subjects(world.search("what is in bay-302?"))[0] == "Bay 302"
    assert said(world.search("who owns the FY2025 audit"))[0] == "team-2"
    assert said(world.search("who owns the FY2024 audit"))[0] == "team-1"
    assert subjects(world.search("Ormand")) == ["Ormand"]
    assert world.search("Ormand")["items"][0]["value"]["value"] == "Oman office"
    assert len({*subjects(world.search("Bay 301 302 FY2024 FY2025 audit Oman"))}) == 5


def test_i1_codes_that_differ_in_one_character_stay_apart(memory: Memory) -> None:
    world = World(memory, requires="functional", applies_to="functional")
    rows = [
        Row("Directive KD-2024-0031", "requires", "valve check"),
        Row("Directive KD-2024-0032", "requires", "hose check"),
        Row("Manual M-7 Rev A", "applies_to", "pump"), Row("Manual M-7 Rev B", "applies_to", "fan"),
    ]  # fmt: skip
    world.do([row.item() for row in rows], at="2026-01-01")

    assert said(world.search("what does KD-2024-0032 require?"))[0] == "hose check"
    assert said(world.search("what does KD-2024-0031 require?"))[0] == "valve check"
    assert said(world.search("what does Manual M-7 Rev A apply to?"))[0] == "pump"
    assert said(world.search("what does Manual M-7 Rev B apply to?"))[0] == "fan"
    assert len({*subjects(world.search("directive manual"))}) == 4
    assert said(world.search("requires", about=["Directive KD-2024-0031"])) == ["valve check"]


def test_a_kind_is_searched_alone_and_its_name_is_no_word(memory: Memory) -> None:
    world = World(
        memory, drinks="many", prefers={"cardinality": "many", "kind": "preference"},
        decided={"cardinality": "many", "kind": "decision"}, can={"cardinality": "many", "kind": "skill"},
        jotted={"cardinality": "many", "kind": "working_note"},
    )  # fmt: skip
    rows = [Row("Ivo", name, f"tea, by {name}") for name in ("prefers", "decided", "can", "jotted", "drinks")]
    world.do([row.item() for row in [*rows, Row("Ivo", "undeclared", "tea, by nobody")]], at="2026-01-01")

    def found(*kinds: str) -> set[str]:
        answer = world.search("tea", kinds=[*kinds], valid_at="2026-01-02", known_at="2026-01-02")
        told = {
            "note" if item["kind"] == "working_note" and "note" in kinds else item["kind"] for item in answer["items"]
        }
        assert not kinds or told == {*kinds}
        return {*said(answer)}

    assert found("preference") == {"tea, by prefers"}
    assert found("decision", "skill") == {"tea, by decided", "tea, by can"}
    assert found("note") == found("working_note") == {"tea, by jotted"}
    assert found("fact") == {"tea, by drinks", "tea, by nobody"}
    assert found() == {f"tea, by {name}" for name in ("prefers", "decided", "can", "jotted", "drinks", "nobody")}
    assert "tea, by jotted" not in said(world.search("tea", include=["history"]))  # it has expired long since
