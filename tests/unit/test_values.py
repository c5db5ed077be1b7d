import contextlib
import json
import math
import unicodedata
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ontology.errors import Incorrect, NaiveInstant, Refused, TooLarge, shown
from ontology.ids import EntityId
from ontology.values import (
    EntityMention,
    Value,
    ValueType,
    entity_mention,
    entity_value,
    parse_value,
    value_key,
    wire_value,
)

T = ValueType


def parse(wire: object, datatype: ValueType | None = None, unit: str | None = None, zone: str = "UTC") -> Value:
    value = parse_value(wire, pointer="/v", datatype=datatype, unit=unit, zone=zone)
    assert isinstance(value, Value)
    return value


def value(kind: ValueType, text: str, qualifier: str = "") -> Value:
    return Value(type=kind, text=text, qualifier=qualifier)


def refusal(wire: object, datatype: ValueType | None = None, unit: str | None = None) -> tuple[str, str]:
    """(pointer, code) of the one violation that reading `wire` gives."""
    with pytest.raises(Incorrect) as caught:
        parse_value(wire, pointer="/v", datatype=datatype, unit=unit)
    (violation,) = caught.value.violations
    assert len(violation.detail) < 400
    return violation.pointer, violation.code


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        ("concise", value(T.TEXT, "concise")),
        ("", value(T.TEXT, "")),
        ("a\tb\r\nc", value(T.TEXT, "a\tb\r\nc")),
        ("Zu\u0308rich", value(T.TEXT, "Zürich")),
        ("2026-06-30", value(T.TEXT, "2026-06-30")),
        (42, value(T.INTEGER, "42")),
        (-(2**63), value(T.INTEGER, "-9223372036854775808")),
        (2**63 - 1, value(T.INTEGER, "9223372036854775807")),
        (True, value(T.BOOLEAN, "true")),
        (False, value(T.BOOLEAN, "false")),
        (0.1, value(T.DECIMAL, "0.1")),
        (1e21, value(T.DECIMAL, "1" + "0" * 21)),
        (-0.0, value(T.DECIMAL, "0")),
    ],
)
def test_a_bare_value_is_of_its_own_kind(wire: object, expected: Value) -> None:
    assert parse(wire) == expected


@pytest.mark.parametrize(
    ("wire", "datatype", "expected"),
    [
        ("42", T.INTEGER, "42"),
        ("-007", T.INTEGER, "-7"),
        ("+5", T.INTEGER, "5"),
        ("0.250", T.DECIMAL, "0.25"),
        ("-0.00", T.DECIMAL, "0"),
        ("1e3", T.DECIMAL, "1000"),
        ("12.5E-3", T.DECIMAL, "0.0125"),
        (".5", T.DECIMAL, "0.5"),
        ("5.", T.DECIMAL, "5"),
        ("007.10", T.DECIMAL, "7.1"),
        ("0e999999", T.DECIMAL, "0"),
        (10**30, T.DECIMAL, "1" + "0" * 30),
        (3, T.DECIMAL, "3"),
        ("true", T.BOOLEAN, "true"),
        ("2018", T.DATE, "2018"),
        ("2018-05", T.DATE, "2018-05"),
        ("2018-05-21", T.DATE, "2018-05-21"),
        ("-0044-03-15", T.DATE, "-0044-03-15"),
        ("-0044", T.DATE, "-0044"),
        ("0000", T.DATE, "0000"),
        ("+2018-05", T.DATE, "2018-05"),
        ("+12026-05", T.DATE, "+012026-05"),
        ("2026-06-30T12:00:00+02:00", T.DATETIME, "2026-06-30T10:00:00Z"),
        ("2026-06-30T10:00:00.500Z", T.DATETIME, "2026-06-30T10:00:00.500000Z"),
        ("2026-06-30", T.DATETIME, "2026-06-30T00:00:00Z"),
        ("P1Y2M3DT4H5M6.5S", T.DURATION, "P1Y2M3DT4H5M6.5S"),
        ("P14M", T.DURATION, "P1Y2M"),
        ("P2W", T.DURATION, "P14D"),
        ("PT36H", T.DURATION, "P1DT12H"),
        ("PT90S", T.DURATION, "PT1M30S"),
        ("PT0,250000S", T.DURATION, "PT0.25S"),
        ("PT0.1234560S", T.DURATION, "PT0.123456S"),
        ("P30D", T.DURATION, "P30D"),
        ("-P0D", T.DURATION, "PT0S"),
        ("-P1M", T.DURATION, "-P1M"),
        ("paris", T.JSON, '"paris"'),
        ([1, "a", None], T.JSON, '[1,"a",null]'),
    ],
)
def test_a_declared_datatype_reads_strings(wire: object, datatype: ValueType, expected: str) -> None:
    assert parse(wire, datatype) == value(datatype, expected)


def test_a_bare_day_begins_in_its_zone_where_an_instant_is_needed() -> None:
    assert parse("2026-06-30", T.DATETIME, zone="Europe/Madrid").text == "2026-06-29T22:00:00Z"


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        ({"type": "text", "value": "a"}, value(T.TEXT, "a")),
        ({"type": "integer", "value": "9007199254740993"}, value(T.INTEGER, "9007199254740993")),
        ({"type": "quantity", "value": "0.250", "unit": " EUR "}, value(T.QUANTITY, "0.25", "EUR")),
        ({"type": "quantity", "value": 5, "unit": "A\u030a"}, value(T.QUANTITY, "5", "Å")),
        ({"type": "quantity", "value": "5 km/h"}, value(T.QUANTITY, "5", "km/h")),
        ({"type": "langtext", "value": "Wien", "lang": "de-AT"}, value(T.LANGTEXT, "Wien", "de-at")),
        (
            {"type": "json", "value": {"b": 1.0, "a": [1e20, True]}},
            value(T.JSON, '{"a":[100000000000000000000,true],"b":1}'),
        ),
        ({"type": "json", "value": {"type": "text"}}, value(T.JSON, '{"type":"text"}')),
        ({"type": "json", "value": "A\u030a"}, value(T.JSON, '"A\u030a"')),
        ({"type": "json", "value": None}, value(T.JSON, "null")),
        ({"type": "date", "value": "2026-06-30"}, value(T.DATE, "2026-06-30")),
        ({"type": "boolean", "value": True}, value(T.BOOLEAN, "true")),
    ],
)
def test_an_object_says_its_type(wire: object, expected: Value) -> None:
    assert parse(wire) == expected
    assert parse(wire, expected.type) == expected


@pytest.mark.parametrize(
    ("wire", "unit"), [("0.25 EUR", None), ("0.25\u00a0EUR", None), ("0.25", "EUR"), (0.25, "EUR"), ("0.25 EUR", "EUR")]
)
def test_a_quantity_may_be_a_string_or_take_the_unit_of_its_predicate(wire: object, unit: str | None) -> None:
    assert parse(wire, T.QUANTITY, unit) == value(T.QUANTITY, "0.25", "EUR")


@pytest.mark.parametrize(
    ("kind", "datatype"), [("integer", T.DECIMAL), ("integer", T.QUANTITY), ("decimal", T.QUANTITY)]
)
def test_a_narrower_number_is_taken_where_a_wider_one_is_declared(kind: str, datatype: ValueType) -> None:
    assert parse({"type": kind, "value": 7}, datatype, "m").type is datatype


@pytest.mark.parametrize(
    ("wire", "mention"),
    [
        ("ent_abcdefgh_12_0", EntityMention(id=EntityId("ent_abcdefgh_12_0"), key=None)),
        ("paris", EntityMention(id=None, key="paris")),
        ("Zu\u0308rich", EntityMention(id=None, key="Zürich")),
        ({"type": "entity", "id": "ent_abcdefgh_12_0"}, EntityMention(id=EntityId("ent_abcdefgh_12_0"), key=None)),
        ({"type": "entity", "key": "k" * 500}, EntityMention(id=None, key="k" * 500)),
    ],
)
def test_an_entity_is_mentioned_by_id_or_by_key(wire: object, mention: EntityMention) -> None:
    assert parse_value(wire, pointer="/v", datatype=T.ENTITY) == mention
    if isinstance(wire, dict):
        assert parse_value(wire, pointer="/v", datatype=None) == mention
    else:
        assert entity_mention(str(wire), pointer="/v") == mention


def test_an_entity_value_is_read_back_as_its_mention() -> None:
    wire = wire_value(entity_value(EntityId("ent_abcdefgh_12_0")))

    assert parse_value(wire, pointer="", datatype=None) == EntityMention(id=EntityId("ent_abcdefgh_12_0"), key=None)


DEEP: object = None
for _ in range(65):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("wire", "datatype", "expected"),
    [
        ("a\x00b", None, ("/v", "control_character")),
        ("a\x1bb", None, ("/v", "control_character")),
        ("a\x0bb", None, ("/v", "control_character")),
        ("a\ud800b", None, ("/v", "lone_surrogate")),
        ("é\udfff", None, ("/v", "lone_surrogate")),
        ("é\x00", None, ("/v", "control_character")),
        ("a" * 1_000_001, None, ("/v", "too_large")),
        ("é" * 500_001, None, ("/v", "too_large")),
        ("\U0001d160" * 100_000, None, ("/v", "too_large")),
        (None, None, ("/v", "wrong_type")),
        ([], None, ("/v", "wrong_type")),
        (b"x", None, ("/v", "wrong_type")),
        (2**63, None, ("/v", "out_of_range")),
        (-(2**63) - 1, None, ("/v", "out_of_range")),
        (10**5000, None, ("/v", "out_of_range")),
        ("9" * 10_000, T.INTEGER, ("/v", "out_of_range")),
        ("4 2", T.INTEGER, ("/v", "unreadable_value")),
        ("٤٢", T.INTEGER, ("/v", "unreadable_value")),
        ("1_000", T.INTEGER, ("/v", "unreadable_value")),
        (5.0, T.INTEGER, ("/v", "wrong_type")),
        (True, T.INTEGER, ("/v", "wrong_type")),
        (math.nan, None, ("/v", "out_of_range")),
        (math.inf, T.DECIMAL, ("/v", "out_of_range")),
        (True, T.DECIMAL, ("/v", "wrong_type")),
        ("NaN", T.DECIMAL, ("/v", "unreadable_value")),
        ("1,5", T.DECIMAL, ("/v", "unreadable_value")),
        ("", T.DECIMAL, ("/v", "unreadable_value")),
        (".", T.DECIMAL, ("/v", "unreadable_value")),
        ("1e400", T.DECIMAL, ("/v", "out_of_range")),
        ("1e-400", T.DECIMAL, ("/v", "out_of_range")),
        ("1e999999", T.DECIMAL, ("/v", "out_of_range")),
        ("1e99999999999", T.DECIMAL, ("/v", "unreadable_value")),
        ("9" * 401, T.DECIMAL, ("/v", "out_of_range")),
        ("9" * 1_000_000, T.DECIMAL, ("/v", "unreadable_value")),
        (10**5000, T.DECIMAL, ("/v", "out_of_range")),
        ("yes", T.BOOLEAN, ("/v", "wrong_type")),
        (1, T.BOOLEAN, ("/v", "wrong_type")),
        (5, T.TEXT, ("/v", "wrong_type")),
        (5, T.DATE, ("/v", "wrong_type")),
        ("2026-02-30", T.DATE, ("/v", "unreadable_date")),
        ("2026-06-30T10:00:00Z", T.DATE, ("/v", "unreadable_date")),
        ("tomorrow", T.DATE, ("/v", "unreadable_date")),
        ("2026-06", T.DATETIME, ("/v", "inexact_instant")),
        ("infinity", T.DATETIME, ("/v", "inexact_instant")),
        ("2026-06-30T10:00:00", T.DATETIME, ("/v", "naive_timestamp")),
        ("P", T.DURATION, ("/v", "unreadable_value")),
        ("PT", T.DURATION, ("/v", "unreadable_value")),
        ("P1YT", T.DURATION, ("/v", "unreadable_value")),
        ("P1.5Y", T.DURATION, ("/v", "unreadable_value")),
        ("PT0.1234567S", T.DURATION, ("/v", "unreadable_value")),
        ("1 day", T.DURATION, ("/v", "unreadable_value")),
        ("P9999999999999Y", T.DURATION, ("/v", "out_of_range")),
        ("P99999999999999D", T.DURATION, ("/v", "out_of_range")),
        ("P" + "9" * 10_000 + "D", T.DURATION, ("/v", "unreadable_value")),
        ("0.25", T.QUANTITY, ("/v", "missing_unit")),
        (5, T.QUANTITY, ("/v", "missing_unit")),
        ("EUR", T.QUANTITY, ("/v", "missing_unit")),
        ("EUR 5", T.QUANTITY, ("/v", "unreadable_value")),
        ("5 " + "x" * 65, T.QUANTITY, ("/v", "too_large")),
        ("Wien", T.LANGTEXT, ("/v", "wrong_type")),
        (5, T.ENTITY, ("/v", "wrong_type")),
        ("", T.ENTITY, ("/v", "bad_name")),
        ("  ", T.ENTITY, ("/v", "bad_name")),
        ("ent_", T.ENTITY, ("/v", "unreadable_value")),
        ("ent_a b", T.ENTITY, ("/v", "unreadable_value")),
        ("k" * 501, T.ENTITY, ("/v", "too_large")),
        ("\u0344" * 300, T.ENTITY, ("/v", "bad_name")),
        ("a\tb", T.ENTITY, ("/v", "control_character")),
        ("a\x85b", T.ENTITY, ("/v", "control_character")),
        ({}, None, ("/v/type", "unknown_type")),
        ({"type": "colour", "value": 1}, None, ("/v/type", "unknown_type")),
        ({"type": 5, "value": 1}, None, ("/v/type", "unknown_type")),
        ({"type": ["text"], "value": 1}, None, ("/v/type", "unknown_type")),
        ({"type": "text"}, None, ("/v", "missing_field")),
        ({"type": "text", "value": "a", "lang": "de"}, None, ("/v/lang", "unknown_field")),
        ({"type": "text", "value": "a", "a/b": 1}, None, ("/v/a~1b", "unknown_field")),
        ({"type": "text", "value": 5}, None, ("/v/value", "wrong_type")),
        ({"type": "text", "value": None}, None, ("/v/value", "wrong_type")),
        ({"type": "text", "value": {"type": "text", "value": "a"}}, None, ("/v/value", "wrong_type")),
        ({"type": "text", "value": "5"}, T.INTEGER, ("/v", "wrong_type")),
        ({"type": "decimal", "value": "5"}, T.INTEGER, ("/v", "wrong_type")),
        ({"type": "quantity", "value": "5", "unit": "m"}, T.DECIMAL, ("/v", "wrong_type")),
        ({"type": "datetime", "value": "2026-06-30"}, T.DATE, ("/v", "wrong_type")),
        ({"type": "quantity", "value": 5}, None, ("/v/value", "missing_unit")),
        ({"type": "quantity", "value": 5, "unit": 5}, None, ("/v/unit", "wrong_type")),
        ({"type": "quantity", "value": "5", "unit": None}, T.QUANTITY, ("/v/value", "missing_unit")),
        ({"type": "quantity", "value": 5, "unit": ""}, None, ("/v/unit", "bad_name")),
        ({"type": "quantity", "value": "5 m", "unit": "m"}, None, ("/v/value", "unreadable_value")),
        ({"type": "langtext", "value": "Wien"}, None, ("/v/value", "wrong_type")),
        ({"type": "langtext", "value": "Wien", "lang": 5}, None, ("/v/lang", "wrong_type")),
        ({"type": "langtext", "value": "Wien", "lang": "d"}, None, ("/v/lang", "unreadable_value")),
        ({"type": "langtext", "value": "Wien", "lang": "de_AT"}, None, ("/v/lang", "unreadable_value")),
        ({"type": "langtext", "value": "Wien", "lang": "de" + "-abc" * 20}, None, ("/v/lang", "unreadable_value")),
        ({"type": "entity"}, None, ("/v", "wrong_type")),
        ({"type": "entity", "id": "ent_a", "key": "a"}, None, ("/v", "wrong_type")),
        ({"type": "entity", "id": "paris"}, None, ("/v/id", "unreadable_value")),
        ({"type": "entity", "key": 5}, None, ("/v", "wrong_type")),
        ({"type": "entity", "value": "paris"}, None, ("/v/value", "unknown_field")),
        ({"type": "json", "value": {"a": [1, math.nan]}}, None, ("/v/value/a/1", "out_of_range")),
        ({"type": "json", "value": {"a": 2**53}}, None, ("/v/value/a", "out_of_range")),
        ({"type": "json", "value": -(2**53)}, None, ("/v/value", "out_of_range")),
        ({"type": "json", "value": ["\x00"]}, None, ("/v/value/0", "control_character")),
        ({"type": "json", "value": {"\ud800": 1}}, None, ("/v/value", "lone_surrogate")),
        ({"type": "json", "value": {5: 1}}, None, ("/v/value", "wrong_type")),
        ({"type": "json", "value": {1, 2}}, None, ("/v/value", "wrong_type")),
        ({"type": "json", "value": DEEP}, None, ("/v/value", "too_large")),
        ({"type": "json", "value": ["a" * 500_000] * 2}, None, ("/v/value", "too_large")),
    ],
    ids=shown,
)
def test_what_is_no_value_is_refused_where_it_stands(
    wire: object, datatype: ValueType | None, expected: tuple[str, str]
) -> None:
    assert refusal(wire, datatype) == expected


def test_json_may_be_as_deep_as_the_limit() -> None:
    assert isinstance(DEEP, list)
    assert parse(DEEP[0], T.JSON).text == "[" * 64 + "null" + "]" * 64


def test_text_may_be_as_long_as_the_limit() -> None:
    assert len(parse("a" * 1_000_000).text) == 1_000_000
    assert len(parse("é" * 500_000).text) == 500_000
    assert parse_value("abc", pointer="", datatype=None, text_bytes_max=3) == value(T.TEXT, "abc")
    with pytest.raises(TooLarge, match="3 bytes"):
        parse_value("abcd", pointer="", datatype=None, text_bytes_max=3)


def test_a_value_that_disagrees_with_its_predicate_breaks_a_rule_of_the_ontology() -> None:
    for wire, datatype, unit in (("x", T.LANGTEXT, None), (5, T.TEXT, None), ("5 USD", T.QUANTITY, "EUR")):
        with pytest.raises(Refused) as caught:
            parse_value(wire, pointer="/v", datatype=datatype, unit=unit)
        assert caught.value.slug == "ontology-violation"
    assert refusal("5 USD", T.QUANTITY, "EUR") == ("/v", "wrong_unit")
    assert refusal({"type": "quantity", "value": 5, "unit": "USD"}, T.QUANTITY, "EUR") == ("/v/unit", "wrong_unit")


def test_a_naive_date_time_keeps_its_problem_type() -> None:
    with pytest.raises(NaiveInstant) as caught:
        parse("2026-06-30T10:00:00", T.DATETIME)

    assert (caught.value.slug, caught.value.violations[0].pointer) == ("naive-instant", "/v")


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(Incorrect, match="Mars/Olympus"):
        parse("2026-06-30", T.DATETIME, zone="Mars/Olympus")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (value(T.TEXT, "1"), value(T.INTEGER, "1")),
        (value(T.QUANTITY, "1", "m"), value(T.QUANTITY, "1", "km")),
        (value(T.QUANTITY, "1", "a:b"), value(T.QUANTITY, "b:1", "a")),
        (value(T.QUANTITY, ":1", "a"), value(T.QUANTITY, "1", "a:")),
        (value(T.QUANTITY, "11:b", ""), value(T.QUANTITY, "b", "1")),
        (value(T.LANGTEXT, "a", "de"), value(T.LANGTEXT, "a", "en")),
    ],
)
def test_different_values_have_different_keys(first: Value, second: Value) -> None:
    assert value_key(first) != value_key(second)


def test_the_key_of_a_value_is_the_same_for_ever() -> None:
    assert value_key(value(T.QUANTITY, "0.25", "EUR")).hex() == "e186e826c2f5ae1e6b032bcb64994199"


# Properties

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="".join(map(chr, range(32)))), max_size=20)
labels = texts.filter(lambda text: bool(text.strip()) and not any(unicodedata.category(c) == "Cc" for c in text))
decimals = st.decimals(allow_nan=False, allow_infinity=False).filter(lambda d: abs(d.adjusted()) < 150)
dates = st.builds(
    lambda sign, year, rest: f"{sign}{year:04d}{rest}",
    st.sampled_from(["", "-", "+"]),
    st.integers(1, 9999),
    st.sampled_from(["", "-02", "-12", "-02-28", "-12-31"]),
)
datetimes = st.datetimes(timezones=st.timezones()).map(lambda t: t.astimezone(tz=None).isoformat())
durations = st.builds(
    "{}P{}Y{}M{}W{}DT{}H{}M{}.{:06d}S".format,
    st.sampled_from(["", "-", "+"]),
    *[st.integers(0, 1000)] * 7,
    st.integers(0, 999_999),
)
json_numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
jsons = st.recursive(
    st.none() | st.booleans() | json_numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def typed(
    kind: ValueType, given: st.SearchStrategy[object], **more: st.SearchStrategy[str]
) -> st.SearchStrategy[object]:
    return st.fixed_dictionaries({"type": st.just(kind.value), "value": given, **more})


wires = st.one_of(
    texts,
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    typed(T.TEXT, texts),
    typed(T.INTEGER, st.integers(-(2**63), 2**63 - 1).map(str)),
    typed(T.DECIMAL, decimals.map(str)),
    typed(T.DATE, dates),
    typed(T.DATETIME, datetimes),
    typed(T.DURATION, durations),
    typed(T.QUANTITY, decimals.map(str), unit=labels),
    typed(T.LANGTEXT, texts, lang=st.sampled_from(["de", "de-AT", "EN", "zh-Hant-TW", "x-mine"])),
    typed(T.JSON, jsons),
)


@given(wires)
def test_the_wire_form_of_a_value_reads_back_as_the_same_value(wire: object) -> None:
    once = parse(wire)
    written = json.loads(json.dumps(wire_value(once)))

    assert parse(written) == once
    assert parse(written, once.type) == once
    assert wire_value(parse(written)) == wire_value(once)


@given(wires)
def test_a_canonical_text_is_a_fixed_point(wire: object) -> None:
    once = parse(wire)
    assume(once.type not in (T.LANGTEXT, T.JSON))

    assert parse(once.text, once.type, once.qualifier or None) == once


@given(wires, wires)
def test_keys_are_equal_iff_values_are(first: object, second: object) -> None:
    one, other = parse(first), parse(second)

    assert (value_key(one) == value_key(other)) == (one == other)
    assert value_key(one) == value_key(parse(wire_value(one)))
    assert len(value_key(one)) == 16
    assert value_key(one) != value_key(replace(one, qualifier=one.qualifier + "x"))


@given(texts)
def test_spellings_of_one_text_are_one_value(text: str) -> None:
    assert parse(unicodedata.normalize("NFD", text)) == parse(unicodedata.normalize("NFC", text))


@given(decimals, decimals)
def test_decimals_are_equal_iff_their_numbers_are(first: Decimal, second: Decimal) -> None:
    one, other = parse(str(first), T.DECIMAL), parse(str(second), T.DECIMAL)

    assert (one == other) == (first == second)
    assert Decimal(one.text) == first
    assert parse(f"{first:f}", T.DECIMAL) == one
    assert parse(f"{first:E}", T.DECIMAL) == one


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_keeps_its_number(number: float) -> None:
    assert float(parse(number).text) == number


@given(
    st.lists(st.sampled_from(["type", "value", "unit", "lang", "id", "key", "x"])), jsons, st.sampled_from([None, *T])
)
def test_no_json_breaks_the_reader(names: list[str], inner: object, datatype: ValueType | None) -> None:
    for wire in (inner, dict.fromkeys(names, inner), {"type": "quantity", **dict.fromkeys(names, inner)}):
        with contextlib.suppress(Incorrect):
            parse_value(wire, pointer="", datatype=datatype)
