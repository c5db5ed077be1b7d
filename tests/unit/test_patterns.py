import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ontology.errors import Incorrect
from ontology.packs import builtin_pack, load_core, read_pack
from ontology.patterns import PATTERN_CHARS_MAX, VARIANTS_MAX, BadPattern, Meaning, Pattern, Slot, variants
from ontology.schema import Schema
from ontology.schema_document import pack_from_document, schema_document, schema_from_document
from ontology.schema_merge import Change, merge

CORE = load_core()


def schema(yaml: str, base: Schema = CORE) -> Schema:
    return merge(base, read_pack(f"pack: test\n{yaml}")).schema


def refused(yaml: str) -> list[tuple[str, str]]:
    """(pointer, code) of each violation."""
    with pytest.raises(Incorrect) as caught:
        schema(yaml)
    assert all(violation.detail for violation in caught.value.violations)
    return [(violation.pointer, violation.code) for violation in caught.value.violations]


def pattern(text: str, settings: str = "") -> str:
    return f"predicates: {{p: {{patterns: [{{text: {json.dumps(text)}{settings}}}]}}}}"


def test_a_template_becomes_words_and_slots() -> None:
    found = variants("{subject}  (lives|has lived) in { value } [since {from}]")

    assert [each.parts for each in found] == [
        (Slot.SUBJECT, " lives in ", Slot.VALUE, " since ", Slot.FROM),
        (Slot.SUBJECT, " lives in ", Slot.VALUE),
        (Slot.SUBJECT, " has lived in ", Slot.VALUE, " since ", Slot.FROM),
        (Slot.SUBJECT, " has lived in ", Slot.VALUE),
    ]
    assert [each.weight for each in found] == [(12, 3), (7, 2), (15, 3), (10, 2)]


def test_words_that_meet_become_one_part_and_equal_variants_one() -> None:
    assert [each.parts for each in variants("[the] [big] cat is {value}")] == [
        ("the big cat is ", Slot.VALUE),
        ("the cat is ", Slot.VALUE),
        ("big cat is ", Slot.VALUE),
        ("cat is ", Slot.VALUE),
    ]
    assert len(variants("(a|a) cat is {value}")) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{subject} lives in {where}", "unknown slot"),
        ("{subject} lives in {}", "unknown slot"),
        ("{subject lives in {value}", "on its own"),
        ("subject} lives in {value}", "on its own"),
        ("{subject} [lives [long]] in {value}", "inside of"),
        ("{subject} lives in {value} [since {from}", "never closed"),
        ("{subject} lives in {value}]", "closes nothing"),
        ("{subject} (lives] in {value}", "closes nothing"),
        ("{subject} lives | resides in {value}", "outside of"),
        ("[a][b][c][d][e][f] {subject} is {value}", f"more than {VARIANTS_MAX} sentences"),
        ("a" * (PATTERN_CHARS_MAX + 1), "shorten it"),
    ],
)
def test_what_is_no_template_is_told_with_its_remedy(text: str, problem: str) -> None:
    with pytest.raises(BadPattern, match=problem):
        variants(text)
    assert refused(pattern(text)) == [("/predicates/p/patterns/0", "bad_pattern")]


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("{subject} lives there", ""),
        ("{subject} lives in [{value}]", ""),
        ("{subject} is {value}, {subject}", ""),
        ("{subject}{value} it is", ""),
        ("{subject} {value} it is", ""),
        ("{subject} [is] {value}", ""),
        ("{subject} = {value}", ""),
        ("", ""),
        ("{subject} is {value}", ", value: good"),
    ],
)
def test_a_template_that_could_not_be_understood_is_refused(text: str, settings: str) -> None:
    assert refused(pattern(text, settings)) == [("/predicates/p/patterns/0", "bad_pattern")]


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("{subject} lives in {value}", ""),
        ("I live in {value}", ""),
        ("{subject} no longer lives there", ", means: retract"),
        ("{subject} is retired [since {from}]", ", value: retired"),
        ("{subject}住在{value}", ""),
        ("{value} {from} {to} is that of {subject}", ""),
    ],
)
def test_a_template_that_can_be_understood_is_taken(text: str, settings: str) -> None:
    assert schema(pattern(text, settings)).predicates["p"].patterns[0].text == text


@pytest.mark.parametrize("datatype", ["json", "langtext", "duration", "boolean"])
def test_a_datatype_that_no_words_can_give_takes_no_patterns(datatype: str) -> None:
    yaml = f'predicates: {{p: {{datatype: {datatype}, patterns: ["{{subject}} is {{value}}"]}}}}'

    assert refused(yaml) == [("/predicates/p/patterns/0", "bad_pattern")]


@pytest.mark.parametrize(
    "other", ["{subject} is located in {value}", "{SUBJECT} is", "[So] {subject} Is  located in {value} [now]"]
)
def test_two_predicates_that_read_the_same_sentence_are_refused(other: str) -> None:
    if "SUBJECT" in other:
        assert refused(pattern(other)) == [("/predicates/p/patterns/0", "bad_pattern")]
        return
    yaml = f'predicates: {{p: {{patterns: ["{{subject}} is located in {{value}}"]}}, q: {{patterns: ["{other}"]}}}}'

    assert refused(yaml) == [("/predicates/q/patterns/0", "ambiguous_pattern")]


def test_a_pack_may_not_read_otherwise_what_the_schema_reads() -> None:
    before = schema(pattern("{subject} is located in {value}"))

    with pytest.raises(Incorrect, match=r"reads the same sentences as .* of predicate 'p'"):
        schema('predicates: {q: {patterns: ["{subject} is located in {value}"]}}', before)
    # the same pack again, and the same predicate with other patterns, are no rivals of themselves
    assert schema(pattern("{subject} is located in {value}"), before) is before
    assert schema(pattern("{subject} stands in {value}"), before).version == before.version + 1


def test_a_pattern_is_a_text_or_says_what_it_means() -> None:
    read = schema(
        "predicates: {p: {patterns: ['{subject} is {value}', {text: '{subject} is now {value}', means: change}]}}"
    )

    assert read.predicates["p"].patterns == (
        Pattern(text="{subject} is {value}", means=Meaning.ASSERT, value=None),
        Pattern(text="{subject} is now {value}", means=Meaning.CHANGE, value=None),
    )


@pytest.mark.parametrize(
    ("patterns", "violations"),
    [
        ("'{subject} is {value}'", [("/predicates/p/patterns", "wrong_type")]),
        ("[5]", [("/predicates/p/patterns/0", "bad_pattern")]),
        ("[{means: change}]", [("/predicates/p/patterns/0/text", "missing_field")]),
        ("[{text: '{subject} is {value}', means: maybe}]", [("/predicates/p/patterns/0/means", "unknown_value")]),
        ("[{text: '{subject} is {value}', colour: red}]", [("/predicates/p/patterns/0/colour", "unknown_field")]),
        ('["\\0 {subject} is {value}"]', [("/predicates/p/patterns/0/text", "control_character")]),
        ("[" + "a, " * 51 + "]", [("/predicates/p/patterns", "too_large")]),
    ],
)
def test_patterns_of_a_wrong_form_are_refused_with_pointers(patterns: str, violations: list[tuple[str, str]]) -> None:
    assert refused(f"predicates: {{p: {{patterns: {patterns}}}}}") == violations


def test_patterns_are_part_of_the_version_and_of_the_document() -> None:
    before = schema("predicates: {p: }")
    merged = merge(before, read_pack(f"pack: test\n{pattern('{subject} is {value}', ', means: correct')}"))

    assert merged.schema.version == before.version + 1
    assert merged.changes == (
        Change(predicate="p", field="patterns", before="", after="{subject} is {value} (correct)"),
    )
    document = schema_document(merged.schema)
    assert schema_from_document(json.loads(json.dumps(document))) == merged.schema


def test_a_document_from_before_there_were_patterns_is_read_and_written_as_it_was() -> None:
    plain = replace(CORE, predicates={name: replace(each, patterns=()) for name, each in CORE.predicates.items()})
    document = schema_document(plain)

    assert list(document) == ["version", "strict", "types", "predicates"]
    assert "patterns" not in json.dumps(document)
    assert schema_from_document(json.loads(json.dumps(document))) == plain


def test_the_packs_that_come_along_can_be_put_together() -> None:
    demo = merge(CORE, builtin_pack("demo")).schema

    assert sum(len(each.patterns) for each in demo.predicates.values()) > 40


@given(st.text(max_size=40) | st.text(alphabet="{}[]()| subjectvalueisfrom'", max_size=60))
def test_no_text_breaks_a_template(text: str) -> None:
    try:
        found = variants(text)
    except BadPattern as exc:
        assert str(exc)  # noqa: PT017 - either outcome is right
        return
    assert 0 < len(found) <= VARIANTS_MAX
    for each in found:
        for left, right in zip(each.parts, each.parts[1:], strict=False):
            assert isinstance(left, Slot) or isinstance(right, Slot)


# Mappings


def mapping(body: str) -> str:
    return f"mappings: {{m: {{event: x, {body}}}}}"


CLAIM = "subject: {key: $.id}, predicate: alias, value: $.name"


def test_a_mapping_is_part_of_the_version_and_of_the_document() -> None:
    mapped = schema(
        "mappings: {m: {media_type: application/json, each: '$.a[*]', claims: [{op: retract, subject: {name: $.id}, "
        "predicate: $.p, value: {key: $.v}, valid_from: $.f, valid_to: $.t, zone: UTC, confidence: 0.5}]}}"
    )

    assert mapped.version == 2
    document = schema_document(mapped)
    assert list(document) == ["version", "strict", "types", "predicates", "mappings"]
    assert schema_from_document(json.loads(json.dumps(document))) == mapped
    assert merge(mapped, pack_from_document({"pack": "same"})).schema is mapped


@pytest.mark.parametrize(
    ("yaml", "violations"),
    [
        ("mappings: {m: {claims: [{" + CLAIM + "}]}}", [("/mappings/m", "missing_field")]),
        (mapping("claims: []"), [("/mappings/m/claims", "missing_field")]),
        (mapping("colour: red, claims: []"), [("/mappings/m/colour", "unknown_field")]),
        (mapping(f"each: $..a, claims: [{{{CLAIM}}}]"), [("/mappings/m/each", "bad_path")]),
        (mapping(f"each: '$.a[?@.b]', claims: [{{{CLAIM}}}]"), [("/mappings/m/each", "bad_path")]),
        (mapping(f"each: '$.a | $.b', claims: [{{{CLAIM}}}]"), [("/mappings/m/each", "bad_path")]),
        (mapping(f"each: a.b, claims: [{{{CLAIM}}}]"), [("/mappings/m/each", "bad_path")]),
        (mapping(f"each: '{'$' + '.a' * 200}', claims: [{{{CLAIM}}}]"), [("/mappings/m/each", "bad_path")]),
        (mapping(f"event_path: '$.*', claims: [{{{CLAIM}}}]"), [("/mappings/m/event_path", "bad_path")]),
        (
            mapping("claims: [{subject: {key: '$.a[*]'}, predicate: alias, value: $.n}]"),
            [("/mappings/m/claims/0/subject", "bad_path")],
        ),
        (
            mapping("claims: [{subject: $.a, predicate: alias, value: $.n}]"),
            [("/mappings/m/claims/0/subject", "wrong_type")],
        ),
        (
            mapping("claims: [{subject: {key: $.a}, predicate: alais, value: $.n}]"),
            [("/mappings/m/claims/0/predicate", "unknown_predicate")],
        ),
        (
            mapping("claims: [{subject: {key: $.a}, predicate: alias}]"),
            [("/mappings/m/claims/0", "missing_field")],
        ),
        (
            mapping("claims: [{subject: {key: $.a}, predicate: alias, value: $.n, valid_from: '$.x[*]'}]"),
            [("/mappings/m/claims/0/valid_from", "bad_path")],
        ),
        (
            mapping("claims: [{subject: {key: $.a}, predicate: alias, value: $.n, confidence: 1.5}]"),
            [("/mappings/m/claims/0/confidence", "out_of_range")],
        ),
        (
            mapping("claims: [{subject: {key: $.a}, predicate: alias, value: {k: $.n}}]"),
            [("/mappings/m/claims/0/value", "wrong_type")],
        ),
    ],
)
def test_a_mapping_that_cannot_be_followed_is_refused(yaml: str, violations: list[tuple[str, str]]) -> None:
    assert refused(yaml) == violations
