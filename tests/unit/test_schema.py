import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ontology.errors import Incorrect, NaiveInstant, Refused, TooLarge, UnknownPredicate, Violation
from ontology.packs import builtin_pack, load_core, read_pack
from ontology.schema import EMPTY, Cardinality, Kind, Predicate, Schema, check_predicate_name
from ontology.schema_document import pack_from_document, schema_document, schema_from_document
from ontology.schema_merge import Change, merge
from ontology.values import EntityMention, Value, ValueType

CORE = load_core()


def schema(yaml: str, base: Schema = CORE) -> Schema:
    return merge(base, read_pack(f"pack: test\n{yaml}")).schema


def predicate(settings: str) -> Predicate:
    return schema(f"predicates: {{p: {{{settings}}}}}").predicate("p")


def refused(yaml: str) -> list[tuple[str, str]]:
    """(pointer, code) of each violation that the pack gives, read and merged into the core."""
    with pytest.raises(Incorrect) as caught:
        schema(yaml)
    assert all(violation.detail for violation in caught.value.violations)
    return [(violation.pointer, violation.code) for violation in caught.value.violations]


# The packs that come along


def test_the_core_is_version_one_and_open() -> None:
    assert (CORE.version, CORE.strict) == (1, False)
    assert CORE.predicate("name").cardinality is Cardinality.FUNCTIONAL
    assert {CORE.predicate(name).cardinality for name in ("alias", "type")} == {Cardinality.MANY}
    assert CORE.is_a("Person", "Thing")


@pytest.mark.parametrize("name", ["core", "demo"])
def test_every_type_and_predicate_of_a_pack_says_what_it_means(name: str) -> None:
    pack = builtin_pack(name)

    assert pack.description
    said = [(each.label, each.description) for each in pack.types] + [(p.label, p.description) for p in pack.predicates]
    assert all(label and description.endswith(".") for label, description in said)


def test_the_demo_knows_the_words_of_the_passport_story() -> None:
    demo = merge(CORE, builtin_pack("demo"))

    assert (demo.schema.version, demo.changes) == (2, ())
    assert demo.schema.predicate("passport_deadline").datatype is ValueType.DATE
    assert demo.schema.predicate("prefers_answers").kind is Kind.PREFERENCE
    assert demo.schema.inverse_of("lives_in") == "residents"


# Asking a schema


def test_an_unknown_predicate_takes_everything_and_destroys_nothing() -> None:
    unknown = CORE.predicate("worships")

    assert (unknown.cardinality, unknown.kind, unknown.datatype) == (Cardinality.MANY, Kind.FACT, None)
    assert unknown.read(5, pointer="") == Value(type=ValueType.INTEGER, text="5", qualifier="")
    assert CORE.misfit(unknown, "domain", ["Place"], "Paris", "") is None


def test_a_strict_schema_refuses_an_unknown_predicate_and_names_near_ones() -> None:
    strict = schema("strict: true\npredicates: {works_at: , worked_at: , lives_in: }")

    with pytest.raises(UnknownPredicate, match="did you mean 'works_at' or 'worked_at'") as caught:
        strict.predicate("worksAt", "/items/0/predicate")

    assert caught.value.slug == "unknown-predicate"
    assert [v.pointer for v in caught.value.violations] == ["/items/0/predicate"]
    assert caught.value.members == {"near_matches": ["works_at", "worked_at"]}
    with pytest.raises(UnknownPredicate, match="add it to the ontology"):
        strict.predicate("μισθός")


def test_a_predicate_is_found_in_any_spelling_of_unicode() -> None:
    cafe = schema("strict: true\npredicates: {café: {cardinality: functional}}")

    assert cafe.predicate("cafe\u0301") is cafe.predicate("café")


@pytest.mark.parametrize("name", ["a", "works_at", "职业", "мэр города", "a" * 128, "has^x", "http://schema.org/name"])
def test_a_predicate_may_be_named_in_any_script(name: str) -> None:
    assert check_predicate_name(name) == name
    assert CORE.predicate(name).name == name


@pytest.mark.parametrize("name", ["", " ", "^works_at", "a" * 129, "a\nb", "a\x00", "\ud800", " a", "a ", "a\x85"])
def test_what_cannot_name_a_predicate_is_refused(name: str) -> None:
    for read in (check_predicate_name, CORE.predicate):
        with pytest.raises(Incorrect) as caught:
            read(name, "/p")
        assert caught.value.violations[0].pointer == "/p"


def test_a_type_is_one_of_its_ancestors_and_of_itself() -> None:
    types = schema("types: {City: {parents: [Place]}, Capital: {parents: [City, Organization]}}")

    assert all(types.is_a("Capital", ancestor) for ancestor in ("Capital", "City", "Place", "Agent", "Thing"))
    assert not types.is_a("City", "Capital")
    assert not types.is_a("City", "Agent")
    assert types.is_a("Unheard", "Unheard")
    assert not types.is_a("Unheard", "Thing")


def test_an_inverse_is_found_from_both_names() -> None:
    inverses = schema(
        "predicates:\n"
        "  parent_of: {datatype: entity, inverse: child_of}\n"
        "  child_of: {datatype: entity, inverse: parent_of}\n"
        "  leads: {datatype: entity, inverse: led_by}\n"
        "  married_to: {datatype: entity, inverse: married_to}\n"
    )

    assert [
        inverses.inverse_of(name) for name in ("parent_of", "child_of", "leads", "led_by", "married_to", "name")
    ] == [
        "child_of",
        "parent_of",
        "led_by",
        "leads",
        "married_to",
        None,
    ]


def test_a_subject_or_value_of_the_wrong_type_is_told_with_a_remedy() -> None:
    types = schema("predicates: {works_at: {domain: [Person, Software], range: [Organization], datatype: entity}}")
    works_at = types.predicate("works_at")

    assert types.misfit(works_at, "domain", ["Person"], "Mira", "/s") is None
    assert types.misfit(works_at, "range", ["Place", "Organization"], "Vatican", "/v") is None
    assert types.misfit(works_at, "range", [], "Acme", "/v") is None
    assert types.misfit(works_at, "range", ["Place"], "Paris", "/v") == Violation(
        pointer="/v",
        code="wrong_range",
        detail="predicate 'works_at' needs Organization as value, got Place 'Paris'; "
        "add a type to it or use another predicate",
    )
    wrong = types.misfit(works_at, "domain", ["Project", "Place"], "Mars", "/s")
    assert wrong is not None
    assert "needs Person or Software as subject, got Place and Project 'Mars'" in wrong.detail


def test_a_strict_schema_wants_to_know_the_type() -> None:
    strict = replace(CORE, strict=True)

    wrong = strict.misfit(strict.predicate("located_in"), "range", [], "Paris", "/v")

    assert wrong is not None
    assert "got an untyped 'Paris'" in wrong.detail
    assert strict.misfit(strict.predicate("located_in"), "domain", [], "Paris", "/v") is None


# Reading values under a predicate


def test_a_predicate_reads_its_datatype_and_unit() -> None:
    rent = predicate("datatype: quantity, unit: EUR")

    assert rent.read("900", pointer="") == rent.read({"type": "quantity", "value": 900, "unit": "EUR"}, pointer="")
    assert predicate("datatype: entity").read("paris", pointer="") == EntityMention(id=None, key="paris")


def test_a_refusal_names_predicate_value_and_remedy() -> None:
    with pytest.raises(
        Refused, match=r"^predicate 'p': the datatype 'date' needs a string such as .*, got 5$"
    ) as caught:
        predicate("datatype: date").read(5, pointer="/items/0/value")

    assert [(v.pointer, v.code) for v in caught.value.violations] == [("/items/0/value", "wrong_type")]
    with pytest.raises(NaiveInstant):
        predicate("datatype: datetime").read("2026-06-30T10:00:00", pointer="")


@pytest.mark.parametrize("wire", ["-1.50", "0", -1.5, 99, "100.0"])
def test_a_range_holds_its_bounds(wire: object) -> None:
    predicate("datatype: decimal, minimum: -1.5, maximum: 1e2").read(wire, pointer="")


@pytest.mark.parametrize(
    ("wire", "bound"), [("-1.5000001", "at least -1.5"), (100.5, "at most 100"), (101, "at most 100")]
)
def test_a_value_outside_the_range_is_refused(wire: object, bound: str) -> None:
    with pytest.raises(Refused, match=f"predicate 'p' needs {bound}, got") as caught:
        predicate("datatype: decimal, minimum: -1.5, maximum: 1e2").read(wire, pointer="/v")

    assert [(v.pointer, v.code) for v in caught.value.violations] == [("/v", "out_of_range")]


def test_a_range_compares_numbers_longer_than_a_double() -> None:
    huge = predicate("datatype: integer, minimum: 9223372036854775806")

    huge.read(9223372036854775806, pointer="")
    with pytest.raises(Refused):
        huge.read(9223372036854775805, pointer="")


# Merging


def test_merging_what_is_there_already_changes_nothing() -> None:
    assert merge(CORE, builtin_pack("core")) == replace(merge(CORE, builtin_pack("core")), schema=CORE, changes=())
    assert merge(CORE, builtin_pack("core")).schema is CORE
    assert schema("strict: false") is CORE


def test_merging_is_additive_and_makes_the_next_version() -> None:
    more = schema("types: {City: {parents: [Place]}}\npredicates: {mayor: }")

    assert more.version == 2
    assert set(more.types) == {*CORE.types, "City"}
    assert set(more.predicates) == {*CORE.predicates, "mayor"}
    assert "City" not in CORE.types


def test_becoming_strict_is_a_change_of_the_schema() -> None:
    strict = schema("strict: true")

    assert (strict.strict, strict.version) == (True, 2)
    assert schema("description: silent about it", strict).strict


def test_a_redefinition_is_permitted_and_reported() -> None:
    before = schema("predicates: {p: {datatype: entity, range: [Place]}, q: }")

    merged = merge(
        before, read_pack("pack: test\npredicates: {p: {cardinality: functional, datatype: entity, range: []}, q: }")
    )

    assert merged.schema.version == 3
    assert merged.changes == (
        Change(predicate="p", field="range", before="Place", after=""),
        Change(predicate="p", field="cardinality", before="many", after="functional"),
    )
    undone = merge(merged.schema, read_pack("pack: test\npredicates: {p: , q: {unit: m, datatype: quantity}}"))
    assert Change(predicate="p", field="datatype", before="entity", after=None) in undone.changes
    assert Change(predicate="q", field="unit", before=None, after="m") in undone.changes


@pytest.mark.parametrize(
    ("yaml", "violations"),
    [
        ("predicates: {p: {domain: [Person, Persn]}}", [("/predicates/p/domain/1", "unknown_type")]),
        ("predicates: {a/b: {range: [X], datatype: entity}}", [("/predicates/a~1b/range/0", "unknown_type")]),
        ("types: {City: {parents: [Plce]}}", [("/types/City/parents/0", "unknown_type")]),
        ("types: {A: {parents: [A]}}", [("/types/A/parents", "circular_type")]),
        (
            "types: {A: {parents: [B]}, B: {parents: [C]}, C: {parents: [A, Thing]}}",
            [(f"/types/{name}/parents", "circular_type") for name in "ABC"],
        ),
        ("predicates: {p: {range: [Place], datatype: text}}", [("/predicates/p/datatype", "wrong_type")]),
        ("predicates: {p: {unit: m, datatype: decimal}}", [("/predicates/p/unit", "wrong_type")]),
        ("predicates: {p: {minimum: 1}}", [("/predicates/p/datatype", "wrong_type")]),
        ("predicates: {p: {maximum: 1, datatype: date}}", [("/predicates/p/datatype", "wrong_type")]),
        (
            "predicates: {p: {minimum: 10, maximum: 9.99, datatype: integer}}",
            [("/predicates/p/minimum", "inverted_range")],
        ),
        ("predicates: {p: {inverse: q}}", [("/predicates/p/inverse", "inverse_mismatch")]),
        (
            "predicates: {p: {inverse: q, datatype: entity}, q: {datatype: entity}}",
            [("/predicates/p/inverse", "inverse_mismatch")],
        ),
        (
            "predicates: {p: {inverse: q, datatype: entity}, q: {inverse: r, datatype: entity}}",
            [("/predicates/p/inverse", "inverse_mismatch")],
        ),
        (
            "predicates: {p: {inverse: r, datatype: entity}, q: {inverse: r, datatype: entity}}",
            [("/predicates/q/inverse", "inverse_mismatch")],
        ),
        (
            "predicates: {p: {inverse: q, datatype: entity, domain: [Person]}, q: {inverse: p, datatype: entity}}",
            [("/predicates/p/inverse", "inverse_mismatch"), ("/predicates/q/inverse", "inverse_mismatch")],
        ),
    ],
)
def test_a_pack_that_disagrees_with_itself_or_the_schema_is_refused(
    yaml: str, violations: list[tuple[str, str]]
) -> None:
    assert refused(yaml) == violations


def test_a_pack_is_told_everything_at_once_up_to_a_limit() -> None:
    assert len(refused("predicates:\n" + "".join(f"  p{i}: {{domain: [X{i}]}}\n" for i in range(101)))) == 100
    assert len(refused("predicates:\n" + "".join(f"  p{i}: {{colour: red}}\n" for i in range(101)))) == 100


# Reading packs


@pytest.mark.parametrize(
    ("yaml", "violations"),
    [
        ("colour: red", [("/colour", "unknown_field")]),
        (
            "predicates: {p: {colour: red}, q: {cardinality: one}}",
            [
                ("/predicates/p/colour", "unknown_field"),
                ("/predicates/q/cardinality", "unknown_value"),
            ],
        ),
        (
            "predicates: {p: {kind: 5, datatype: Text}}",
            [
                ("/predicates/p/datatype", "unknown_value"),
                ("/predicates/p/kind", "unknown_value"),
            ],
        ),
        ("predicates: {p: {domain: Person}}", [("/predicates/p/domain", "wrong_type")]),
        ("predicates: {p: {domain: [[Person]]}}", [("/predicates/p/domain/0", "wrong_type")]),
        ("predicates: {p: {minimum: low}}", [("/predicates/p/minimum", "unreadable_value")]),
        ("predicates: {p: {minimum: true}}", [("/predicates/p/minimum", "wrong_type")]),
        ("predicates: {p: {unit: ' '}}", [("/predicates/p/unit", "bad_name")]),
        ("predicates: {^p: }", [("/predicates/^p", "bad_name")]),
        ("predicates: {p: {inverse: ^q}}", [("/predicates/p/inverse", "bad_name")]),
        ("predicates: {p: {label: true}}", [("/predicates/p/label", "wrong_type")]),
        ('predicates: {p: {label: "\\0"}}', [("/predicates/p/label", "control_character")]),
        ("predicates: [p, q]", [("/predicates", "wrong_type")]),
        ("predicates: {p: q}", [("/predicates/p", "wrong_type")]),
        ("types: {'': }", [("/types/", "bad_name")]),
        ("types: {T: {parents: [" + "Thing, " * 101 + "]}}", [("/types/T/parents", "too_large")]),
        ("types: {é: , e\u0301: }", [("/types", "duplicate_name")]),
        ("strict: yes", [("/strict", "wrong_type")]),
        (f"description: {'a' * 4001}", [("/description", "too_large")]),
    ],
)
def test_a_pack_with_a_wrong_form_is_refused_with_pointers(yaml: str, violations: list[tuple[str, str]]) -> None:
    assert refused(yaml) == violations


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("pack: x\npack: y", "line 2, column 1: the key 'pack' stands twice"),
        ("pack: x\npredicates:\n  p:\n  q:\n  p:", "line 5, column 3: the key 'p' stands twice"),
        ("pack: x\ntypes: &t {T: }\npredicates: *t", "line 3, column 13: aliases"),
        ("pack: !!python/object/apply:os.getcwd []", "line 1, column 7: tags"),
        ("pack: !!str x", "line 1, column 7: tags"),
        ("pack: [x", "line 1"),
        ("pack: x\n\ttypes: {}", "line 2"),
        ("pack: x\n---\npack: y", "line 2, column 1"),
        ("? [a]\n: b", "line 1, column 3: a key must be"),
        ("{" * 2000, "nested deeper than 20"),
        ("- " * 2000, "nested deeper than 20"),
        ("pack: x\x00", "character"),
        ("pack: \ud800", "character"),
        ("", "an object is needed, got None"),
        ("- a", r"an object is needed, got \['a'\]"),
        ("{}", "'pack' is missing"),
        ("pack: A B", "at /pack: pack 'A B' is not a name"),
    ],
)
def test_what_is_no_pack_is_refused_with_its_line(yaml: str, message: str) -> None:
    with pytest.raises(Incorrect, match=message) as caught:
        read_pack(yaml)

    assert len(str(caught.value)) < 500
    assert caught.value.violations


def test_a_billion_laughs_are_not_even_smiled_at() -> None:
    laughs = "\n".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]" for i in range(1, 40))

    with pytest.raises(Incorrect, match="aliases"):
        read_pack(f"l0: &l0 ha\n{laughs}")


def test_a_pack_may_have_a_megabyte_and_no_more() -> None:
    head = "pack: x\n#"

    assert read_pack(head + "a" * (1_000_000 - len(head))).name == "x"
    with pytest.raises(TooLarge):
        read_pack(head + "a" * (1_000_001 - len(head)))
    with pytest.raises(TooLarge):
        read_pack(head + "é" * 500_000)


def test_words_and_numbers_stay_what_they_look_like() -> None:
    plain = schema(
        "predicates:\n"
        "  no: {label: on}\n"
        "  true: {label: 2018-05-01, description: 0x1F}\n"
        "  1e3: {label: 'true', datatype: decimal, minimum: 0.10}\n"
    )

    assert plain.predicate("no").label == "on"
    assert (plain.predicate("true").label, plain.predicate("true").description) == ("2018-05-01", "0x1F")
    assert (plain.predicate("1e3").label, plain.predicate("1e3").minimum) == ("true", "0.1")


def test_days_and_counts_of_a_pack_are_numbers_in_yaml_too() -> None:
    text = "pack: p\npredicates: {role: {promote_after: 3, ttl_days: 90, review_days: 30}}"
    (role,) = read_pack(text).predicates
    rules = role.governance
    assert (rules.promote_after, rules.ttl_days, rules.review_days) == (3, 90, 30)
    for wrong in ("0", "-1", "1.5", "many", "1e3"):
        with pytest.raises(Incorrect, match="review_days"):
            read_pack(f"pack: p\npredicates: {{role: {{review_days: {wrong}}}}}")


def test_a_pack_may_be_json_with_numbers() -> None:
    document = {"pack": "x", "predicates": {"p": {"datatype": "decimal", "minimum": 0.5, "maximum": 7}}}

    (read,) = pack_from_document(document).predicates

    assert (read.minimum, read.maximum) == ("0.5", "7")


# Documents


def test_a_schema_document_is_json_in_a_fixed_order() -> None:
    one = schema("types: {B: , A: }\npredicates: {z: , a: {domain: [B]}}")
    other = schema("types: {A: , B: }\npredicates: {a: {domain: [B]}, z: }")

    assert json.dumps(schema_document(one)) == json.dumps(schema_document(other))
    assert list(schema_document(one)) == ["version", "strict", "types", "predicates"]


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        {"version": 1, "strict": False, "types": {}},
        {"version": "1", "strict": False, "types": {}, "predicates": {}},
        {"version": -1, "strict": False, "types": {}, "predicates": {}},
        {"version": 1, "strict": 0, "types": {}, "predicates": {}},
        {"version": 1, "strict": False, "types": {}, "predicates": {"p": {"domain": ["Gone"]}}},
        {"version": 1, "strict": False, "types": {}, "predicates": {}, "pack": "x"},
    ],
)
def test_what_is_no_schema_document_is_refused(document: object) -> None:
    with pytest.raises(Incorrect):
        schema_from_document(document)


names = st.text(min_size=1, max_size=5).filter(lambda name: bool(name.strip()))
bounds = st.none() | st.integers(-5, 5) | st.decimals(-5, 5, places=2).map(str)
bodies = st.fixed_dictionaries(
    {},
    optional={
        "domain": st.lists(st.sampled_from(["Thing", "Person", "City"])),
        "range": st.lists(st.sampled_from(["Thing", "Person", "City"])),
        "datatype": st.sampled_from([None, *map(str, ValueType)]),
        "unit": st.sampled_from([None, "EUR", " m "]),
        "minimum": bounds,
        "maximum": bounds,
        "cardinality": st.sampled_from([*map(str, Cardinality)]),
        "kind": st.sampled_from([*map(str, Kind)]),
        "inverse": st.none() | names,
        "label": st.text(max_size=5),
    },
)


@given(st.dictionaries(names, bodies, max_size=3), st.booleans())
def test_a_pack_is_refused_or_gives_a_schema_that_its_document_gives_back(
    predicates: dict[str, object], strict: bool
) -> None:
    document = {"pack": "x", "strict": strict, "types": {"City": {"parents": ["Place"]}}, "predicates": predicates}
    try:
        merged = merge(CORE, pack_from_document(document))
    except Incorrect as error:
        assert error.violations  # noqa: PT017 - either outcome is right, each with its own promise
        return

    again = schema_from_document(json.loads(json.dumps(schema_document(merged.schema))))

    assert again == merged.schema
    assert schema_document(again) == schema_document(merged.schema)
    assert merge(again, pack_from_document(document)).schema is again
    assert merge(EMPTY, builtin_pack("core")).schema == CORE


@given(st.text(max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    for yaml in (text, f"pack: x\npredicates:\n  p: {text}\n", f"pack: x\ntypes: {{{text}: }}"):
        try:
            read_pack(yaml)
        except Incorrect as error:
            assert error.violations  # noqa: PT017 - a text that happens to be a pack is fine
