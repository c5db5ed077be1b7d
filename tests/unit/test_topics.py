"""Which predicates do the words of a question speak of?"""

import pytest

from graph.topics import changed_by, inverses, spoken_of, stems, telling
from ontology.packs import builtin_pack, load_core
from ontology.schema import Schema
from ontology.schema_merge import merge


@pytest.fixture(scope="module")
def schema() -> Schema:
    return merge(load_core(), builtin_pack("demo")).schema


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("When is Mira's passport deadline?", "passport_deadline"),
        ("where did mira live", "lives_in"),
        ("Where is she living?", "lives_in"),
        ("Who works for Fjordwind?", "works_at"),
        ("Which answers does she prefer?", "prefers_answers"),
        ("What was decided?", "decided"),
        ("Where has she moved to?", "lives_in"),
        ("Which preferences does she have?", "prefers"),
        ("What was the last decision?", "decided"),
        ("Which skills has she?", "has_skill"),
    ],
)
def test_the_nearest_predicate_comes_first(schema: Schema, question: str, first: str) -> None:
    assert next(iter(spoken_of(question, schema, schema.predicates))) == first


def test_small_words_speak_of_nothing(schema: Schema) -> None:
    assert spoken_of("Is it in, at, of, to or by the and?", schema, schema.predicates) == {}
    assert telling("Where does Mira live, and why?") == "mira live"
    assert stems("to be or not to be") == stems("")


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("When is Mira's passport deadline?", "mira passport deadline"),
        ("MIRA’S passport", "mira passport"),
        ("the Jonases' boat, James' car", "jonases boat james car"),
        ("Where's Mira, who isn't here?", "mira here"),
        ("What’ll she do if they've gone, and can't come?", "if gone come"),
        ("O'Brien's dog", "o brien dog"),
        ("Miraʼs 🚀 passport‼", "mira passport"),
    ],
)
def test_a_possessive_and_a_contraction_say_nothing_of_their_own(question: str, rest: str) -> None:
    assert telling(question) == rest
    assert stems(question) == stems(rest)


def test_a_plural_speaks_of_what_is_called_in_the_singular(schema: Schema) -> None:
    names = ["passport_deadline", "hobby", "wife", "child", "address", "company"]
    for question, name in (
        ("Mira's passport deadlines", "passport_deadline"), ("her hobbies", "hobby"), ("his wives", "wife"),
        ("whose children", "child"), ("which addresses", "address"), ("all companies", "company"),
    ):  # fmt: skip
        assert spoken_of(question, schema, names) == {name: 1.0}, question


def test_a_word_is_the_same_with_any_of_its_endings() -> None:
    assert len({*map(stems, ("employ", "employs", "employed", "employer", "employers", "employing"))}) == 1
    assert stems("owner") == stems("owns") == stems("owned")
    assert stems("order") == stems("ordered") == stems("orders")
    assert stems("play") == stems("plays") == stems("players")


def test_a_predicate_that_nobody_declared_is_known_by_its_name(schema: Schema) -> None:
    assert spoken_of("the shoe size of Mira", schema, ["shoe_size", "hat_size"]) == {"shoe_size": 1.0, "hat_size": 0.5}


def test_more_of_its_words_put_a_predicate_before_another(schema: Schema) -> None:
    found = spoken_of("What answers does she prefer?", schema, ["prefers", "prefers_answers"])
    assert list(found.items()) == [("prefers_answers", 1.0), ("prefers", 1.0)]
    assert list(spoken_of("Which answers?", schema, ["prefers", "prefers_answers"])) == ["prefers_answers"]


def test_a_change_is_told_by_a_word_of_change_and_not_by_one_of_the_value(schema: Schema) -> None:
    assert changed_by("move", schema) == ["lives_in"]
    assert changed_by("moving", schema) == ["lives_in"]
    for word in ("deadline", "passport", "living", "lives", "summit", "the", ""):
        assert changed_by(word, schema) == [], word


def test_an_inverse_leads_to_its_predicate(schema: Schema) -> None:
    assert inverses(schema)["residents"] == "lives_in"
