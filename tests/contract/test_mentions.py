"""Which entities and changes a question names, on every store: numbers and codes exactly, and nobody by guessing."""

import pytest

from graph.happenings import happened
from graph.indexing import Indexer
from graph.mentions import How, Mentions, mentions
from ontology.facts import AsOf
from ontology.instants import Instant, format_instant, parse_instant
from ontology.scope import scope_of
from tests.contract.world import CORE, SCOPE, World, claim


def named(world: World, question: str, valid_at: str = "2026-07-01") -> Mentions:
    with world.store.read(SCOPE) as reader:
        return mentions(reader, question, AsOf(valid_at=parse_instant(valid_at), known_at=world.now()))


def keys(found: Mentions) -> list[str | None]:
    return [each.entity.key for each in found.named]


def index(world: World) -> None:
    Indexer(store=world.store, clock=world.clock, core=CORE, embedder=None).write(SCOPE)


@pytest.fixture(params=["indexed", "not indexed yet"])
def bays(world: World, request: pytest.FixtureRequest) -> World:
    names = {
        "b1": "Bay 301", "b2": "Bay 302", "a1": "FY2024 audit", "a2": "FY2025 audit", "p1": "Ormand", "o1": "Oman",
        "d1": "Directive KD-2024-0031", "d2": "Directive KD-2024-0032", "m1": "Manual M-7 Rev A",
        "m2": "Manual M-7 Rev B",
    }  # fmt: skip
    world.write(*(claim(key, "name", name, "2026-06-01") for key, name in names.items()))
    if request.param == "indexed":
        index(world)
    return world


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What does Bay 301 hold?", ["b1"]),
        ("What does Bay 302 hold?", ["b2"]),
        ("What does Bay 303 hold?", []),
        ("Who owns the FY2025 audit?", ["a2"]),
        ("Does Ormand work in Oman?", ["p1", "o1"]),
        ("Does Oman rain?", ["o1"]),
        ("What does Directive KD-2024-0032 require?", ["d2"]),
        ("What does Directive KD-2024-0033 require?", []),
        ("What does Manual M-7 Rev A apply to?", ["m1"]),
        ("What do Bay 301 and Bay 302 hold?", ["b1", "b2"]),
    ],
)
def test_names_that_look_alike_stay_apart(bays: World, question: str, found: list[str]) -> None:
    mentioned = named(bays, question)

    assert keys(mentioned) == found
    assert mentioned.unclear == ()


def test_a_hyphen_more_or_less_is_the_same_name(world: World) -> None:
    world.write(claim("b1", "name", "Bay 301", "2026-06-01"), claim("b2", "name", "Bay 302", "2026-06-01"))
    index(world)

    for question in ("What does Bay-301 hold?", "what does bay-301 hold", "BAY 301", "Is Bay–301 free?"):
        assert keys(named(world, question)) == ["b1"], question


@pytest.mark.parametrize(
    "key",
    [
        "St. Pölten", "Acme, Inc.", "Yahoo!", "Dr. Who?", "(Bracket)", "\N{UNICORN FACE} Zoë", "O'Brien \"the\" Kid",
        "Robert'); DROP TABLE facts;--", "st. pölten", ".NET", "What? (a film)",
    ],
)  # fmt: skip
def test_a_key_with_marks_within_or_around_it_is_found_as_it_is_written(world: World, key: str) -> None:
    world.write(claim(key, "name", "Somebody", "2026-06-01"))

    for question in (f"Where does {key} live?", f"Who is {key}?", f"Is it '{key}'?", f"{key}, when?"):
        assert keys(named(world, question)) == [key], question


@pytest.mark.parametrize("name", ["St. Pölten", "Acme, Inc.", "Yahoo!", "(Bracket)", 'O\'Brien "the" Kid'])
def test_a_name_with_marks_is_found_before_it_is_indexed_and_after(world: World, name: str) -> None:
    world.write(claim("e1", "name", name, "2026-06-01"))

    assert keys(named(world, f"Where is {name}?")) == ["e1"]
    index(world)
    assert keys(named(world, f"Where is {name}?")) == ["e1"]


def test_a_name_without_its_case_or_spelt_nearly_so_is_found(world: World) -> None:
    world.write(
        claim("p1", "name", "Jonas Vikström", "2026-01-01"), claim("p1", "alias", "Professor Sturm", "2026-01-01")
    )
    index(world)

    for question, how in (
        ("where does jonas vikström live", How.EXACT), ("Call PROFESSOR STURM.", How.EXACT),
        ("Where does Jonas Vikstrom live?", How.ALIKE), ("Who is Profesor Sturm?", How.ALIKE),
        ("Where does Vikström live?", How.PART), ("Jonas’s deadline", How.PART),
    ):  # fmt: skip
        [found] = named(world, question).named
        assert (found.entity.key, found.how) == ("p1", how), question
    for question in ("a jonas of all trades", "Where is Jonathan?", "Does a sturm und drang help?", "Joan Viking"):
        assert keys(named(world, question)) == [], question


def test_a_part_that_several_names_have_is_unclear_however_many_there_are(world: World) -> None:
    crowd = [claim(f"p{number}", "name", f"Mira Nakamura{'x' * number}", "2026-01-01") for number in range(8)]
    world.write(claim("one", "name", "Mira Duarte", "2026-01-01"), *crowd)
    index(world)

    found = named(world, "Where does Mira live?")
    assert found.named == ()
    assert [each.words for each in found.unclear] == ["Mira"]
    assert keys(named(world, "Where does Duarte live?")) == ["one"]


def test_a_part_without_its_number_is_nobody(world: World) -> None:
    world.tell("b1", "name", "Bay 301", "2026-06-01")
    world.tell("m1", "name", "Manual M-7 Rev A", "2026-06-01")
    index(world)

    for question in ("What does Bay 302 hold?", "Is a Bay free?", "Where is Manual M-8?", "Manual M-7 Rev B", "301"):
        assert keys(named(world, question)) == [], question


def test_a_name_that_is_a_small_word_must_be_written_as_a_name(world: World) -> None:
    world.tell("p1", "name", "Will", "2026-01-01")
    world.tell("may", "name", "May", "2026-01-01")  # as somebody is called whom an episode is the first to mention
    index(world)

    assert keys(named(world, "where will she go, and may she")) == []
    assert keys(named(world, "Where does Will live?")) == ["p1"]
    assert keys(named(world, "Where does May live?")) == ["may"]


def test_a_name_of_another_time_or_scope_is_not_found(world: World) -> None:
    world.tell("p1", "name", "Jonas Vik", "2026-01-01", "2026-06-01")
    world.tell("p1", "name", "Jonas Berg", "2026-06-01")
    world.tell("p2", "name", "Vera Blum", "2026-01-01", scope=scope_of("acme", "elsewhere"))
    index(world)

    assert keys(named(world, "Where is Jonas Vik?", valid_at="2026-03-01")) == ["p1"]
    assert [each.how for each in named(world, "Where is jonas vik?", valid_at="2026-07-01").named] == []
    assert keys(named(world, "Where is Vera Blum?")) == []


def test_a_key_alone_is_found_with_or_without_case_blanks_and_possessive(world: World) -> None:
    for key in ("mira", "gate-0", "team_blue", "item z", "usr:42"):
        world.tell(key, "note", "x", "2026-01-01")

    for question, key in (
        ("Where does Mira live?", "mira"), ("When is mira's deadline?", "mira"), ("MIRA’S deadline", "mira"),
        ("How long is the queue at Gate-0, now?", "gate-0"), ("the queue at gate 0", "gate-0"),
        ("Who is in Team Blue?", "team_blue"), ('the price of "Item Z"', "item z"), ("What of usr:42?", "usr:42"),
    ):  # fmt: skip
        assert keys(named(world, question)) == [key], question
    assert keys(named(world, "Is admiral Miranda a gatekeeper?")) == []


def test_a_name_is_found_whatever_marks_stand_around_it(world: World) -> None:
    world.tell("p1", "name", "ليلى حداد", "2026-01-01")
    world.tell("p2", "name", "דנה", "2026-01-01")
    world.tell("p3", "name", "McDonald's", "2026-01-01")
    world.tell("p4", "name", "St John's Wood", "2026-01-01")
    world.tell("مريم", "note", "x", "2026-01-01")
    world.tell("@ops", "note", "x", "2026-01-01")
    world.tell("Levi's", "note", "x", "2026-01-01")

    for is_indexed in (False, True):
        for question, key in (
            ("أين تعيش ليلى حداد؟", "p1"), ("\u200fליד דנה\u200f?", "p2"), ("متى ولدت «\u2067مريم\u2069»؟", "مريم"),
            ("Where is McDonald's?", "p3"), ("Is there a McDonald’s’ menu?", "p3"), ("near St John's Wood‽", "p4"),
            ("What of 🚀ليلى حداد🚀？", "p1"), ("“@ops”, please!", "@ops"), ("who sells Levi’s", "Levi's"),
            ('what is **"Levi\'s"** worth', "Levi's"), ("the menu —McDonald's—", "p3"),
        ):  # fmt: skip
            assert keys(named(world, question)) == [key], (question, is_indexed)
        index(world)


def test_an_id_of_its_own_is_not_needed_and_one_of_another_scope_is_not_found(world: World) -> None:
    world.tell("mira", "note", "x", "2026-01-01", scope=SCOPE)

    assert keys(named(world, "mira")) == ["mira"]
    assert keys(named(world, "mira", valid_at="2025-01-01")) == []


def test_who_shows_nowhere_at_the_asked_instants_is_not_named(world: World) -> None:
    world.tell("mira", "note", "x", "2026-01-01", "2026-02-01")

    assert keys(named(world, "What of mira?", valid_at="2026-01-15")) == ["mira"]
    assert keys(named(world, "What of mira?", valid_at="2026-03-01")) == []


def test_who_only_is_pointed_at_shows(world: World) -> None:
    world.tell("mira", "knows", {"type": "entity", "key": "jonas"}, "2026-01-01")

    assert keys(named(world, "What of Jonas?")) == ["jonas"]


def test_what_several_are_called_is_told_and_none_of_them_taken(world: World) -> None:
    world.tell("p1", "name", "Alex Kim", "2026-01-01")
    world.tell("p2", "alias", "Alex Kim", "2026-01-01")
    world.tell("jonas", "note", "x", "2026-01-01")

    found = named(world, "Does Alex Kim know Jonas?")

    assert keys(found) == ["jonas"]
    [unclear] = found.unclear
    assert unclear.words == "Alex Kim"
    assert set(unclear.entities) == {world.id("p1"), world.id("p2")}


def test_the_key_of_one_that_is_the_name_of_another_is_unclear(world: World) -> None:
    world.tell("Atlas", "note", "a project", "2026-01-01")
    world.tell("p2", "name", "Atlas", "2026-01-01")

    assert keys(named(world, "What of Atlas?")) == []
    assert [each.words for each in named(world, "What of Atlas?").unclear] == ["Atlas"]


def test_the_longer_name_is_meant_where_one_is_a_part_of_the_other(world: World) -> None:
    world.tell("york", "note", "x", "2026-01-01")
    world.tell("p2", "name", "New York", "2026-01-01")

    assert keys(named(world, "Who lives in New York?")) == ["p2"]
    assert keys(named(world, "Who lives in York?")) == ["york"]


def test_at_most_eight_are_taken_of_one_question(world: World) -> None:
    for number in range(10):
        world.tell(f"k{number}", "note", "x", "2026-01-01")

    found = named(world, " ".join(f"k{number}" for number in range(10)))

    assert len(found.named) == 8
    assert found.cut


# ---- changes that a question calls by a word


def happening(world: World, event: str, *subjects: str, known_at: Instant | None = None) -> str:
    core = world.writer.schema(SCOPE)
    with world.store.read(SCOPE) as reader:
        found = happened(
            reader, core, [world.id(key) for key in subjects], event,
            reader.head.recorded_at if known_at is None else known_at, parse_instant("2026-07-01"),
        )  # fmt: skip
    return found if isinstance(found, str) else format_instant(found)


@pytest.fixture
def moves(world: World) -> World:
    from ontology.schema_document import pack_from_document

    told = {"text": "{subject} has moved to {value} [{from}]", "means": "change"}
    lives = {"cardinality": "functional", "label": "lives in", "patterns": ["{subject} lives in {value}", told]}
    world.writer.put_schema(SCOPE, "tester", pack_from_document({"pack": "tests", "predicates": {"lives_in": lives}}))
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01")
    world.tell("mira", "lives_in", "Oslo", "2021-03-01")
    return world


def test_the_one_change_is_dated_exactly(moves: World) -> None:
    assert happening(moves, "move", "mira") == "2021-03-01T00:00:00Z"


def test_of_several_changes_only_the_last_can_be_meant(moves: World) -> None:
    before = moves.now()
    moves.tell("mira", "lives_in", "Rome", "2023-06-01")

    assert "2 changes can be the 'move'" in happening(moves, "move", "mira")
    assert happening(moves, "last move", "mira") == "2023-06-01T00:00:00Z"
    assert happening(moves, "move", "mira", known_at=before) == "2021-03-01T00:00:00Z"


def test_what_is_no_exact_change_is_not_dated(moves: World) -> None:
    moves.tell("jonas", "lives_in", "Lisbon", "2020-01-01")
    moves.tell("jonas", "lives_in", "Oslo", "2021")
    moves.tell("ilse", "lives_in", "Ghent", "2020-01-01")
    moves.tell("ilse", "lives_in", "Ghent", "2022-01-01")
    moves.tell("vera", "lives_in", "Ghent", "2020-01-01")
    moves.tell("vera", "lives_in", "Bonn", "2030-01-01")

    for key in ("jonas", "ilse", "vera"):
        assert "no change that is a 'move' is known" in happening(moves, "move", key), key
    assert "names nobody" in happening(moves, "move")
    assert "no predicate tells of a change with the word 'summit'" in happening(moves, "summit", "mira")
    assert "no predicate tells of a change with the word 'living'" in happening(moves, "living", "mira")
