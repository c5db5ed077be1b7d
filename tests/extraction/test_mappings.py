"""JSON of tools and events along declared paths: what it gives, and what is told of what is missing."""

import json
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidation.extraction.base import (
    BUDGET,
    Budget,
    ByKey,
    ByName,
    Code,
    Extraction,
    Hold,
    Observed,
    Operation,
    Turn,
    Verdict,
    occurs,
)
from consolidation.extraction.json_places import Path, places
from consolidation.extraction.mappings import MappingsExtractor
from consolidation.items import ABSENT
from tests.extraction.world import BOGOTA, episode, schema

CRM = schema(
    """
predicates:
  score: {datatype: decimal, cardinality: functional}
  raw: {datatype: json}
mappings:
  crm:
    event: contact.updated
    each: $.data.contacts[*]
    claims:
      - {subject: {key: $.id}, predicate: works_at, value: {name: $.org.name}, valid_from: $.since, confidence: $.sure}
      - {subject: {key: $.id}, predicate: alias, value: "$.aliases[*]"}
      - {subject: {key: $.id}, predicate: score, value: $.score}
  left:
    event: contact.left
    claims:
      - op: retract
        subject: {name: $.name}
        predicate: works_at
        value: {key: $.org}
        valid_from: $.on
        zone: Asia/Tokyo
      - {op: retract, subject: {name: $.name}, predicate: member_of}
  tool:
    media_type: application/vnd.weather+json
    claims:
      - {subject: {key: station-1}, predicate: $.what, value: $.reading}
"""
)
CLOUD = "application/cloudevents+json"


def read(
    document: object, media_type: str = CLOUD, at: Observed | None = BOGOTA, budget: Budget = BUDGET
) -> Extraction:
    text = document if isinstance(document, str) else json.dumps(document)
    return MappingsExtractor(CRM).extract(episode(text, media_type=media_type, at=at), (), budget)


def updated(*contacts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "contact.updated", "data": {"contacts": contacts}}


def codes(extraction: Extraction) -> list[Code]:
    return [note.code for note in extraction.notes]


def test_each_item_of_an_array_gives_its_claims_with_the_json_as_quote() -> None:
    document = json.dumps(
        updated(
            {
                "id": "c1",
                "org": {"name": 'A "B" é'},
                "since": "2024-03",
                "sure": 0.5,
                "aliases": ["x", "y"],
                "score": 1,
            },
            {"id": 2, "org": {"name": "Zed"}, "since": "2024-03-05", "sure": "0.25", "aliases": ["z"], "score": 2},
        ),
        indent=2,
    )

    extraction = read(document)

    assert [(c.subject, c.predicate, c.value, c.span.quote) for c in extraction.candidates] == [
        (ByKey(key="c1"), "works_at", ByName(name='A "B" é'), '"A \\"B\\" \\u00e9"'),
        (ByKey(key="c1"), "alias", "x", '"x"'),
        (ByKey(key="c1"), "alias", "y", '"y"'),
        (ByKey(key="c1"), "score", 1, "1"),
        (ByKey(key="2"), "works_at", ByName(name="Zed"), '"Zed"'),
        (ByKey(key="2"), "alias", "z", '"z"'),
        (ByKey(key="2"), "score", 2, "2"),
    ]
    assert [(c.stated.valid_from, c.stated.zone, c.confidence, c.rule) for c in extraction.candidates][::4] == [
        ("2024-03", "America/Bogota", 0.5, "crm#0"),
        ("2024-03-05", "America/Bogota", 0.25, "crm#0"),
    ]
    assert all(document[c.span.start : c.span.end] == c.span.quote for c in extraction.candidates)
    assert all((c.verdict, c.holds) == (Verdict.NEW, ()) for c in extraction.candidates)
    assert extraction.notes == ()


def test_a_retraction_has_its_date_in_its_zone_or_holds_from_when_it_was_said() -> None:
    undated, dated = read({"type": "contact.left", "name": "Ana", "org": "acme", "on": "2024-03-05"}).candidates

    assert (dated.operation, dated.subject, dated.value) == (Operation.RETRACT, ByName(name="Ana"), ByKey(key="acme"))
    assert (dated.stated.valid_from, dated.stated.zone) == ("2024-03-05", "Asia/Tokyo")
    assert (undated.value, undated.stated.valid_from) == (ABSENT, BOGOTA.text)
    last = read({"type": "contact.left", "name": "Ana", "org": "acme", "on": "2024"}, at=None).candidates[0]
    assert (last.holds, last.stated.valid_from) == ((Hold.UNDATED,), None)


def test_what_is_missing_is_told_once_with_how_often() -> None:
    extraction = read(updated({"id": "c1"}, {"id": "c2", "org": None}, {"score": 3}))

    told = sorted(note.detail for note in extraction.notes)
    assert extraction.candidates == ()
    assert told == [
        "mapping crm#0: '$.id' finds nothing, 1 time",
        "mapping crm#0: '$.org.name' finds nothing, 3 times",
        "mapping crm#1: '$.aliases[*]' finds nothing, 3 times",
        "mapping crm#1: '$.id' finds nothing, 1 time",
        "mapping crm#2: '$.id' finds nothing, 1 time",
        "mapping crm#2: '$.score' finds nothing, 2 times",
    ]
    assert set(codes(extraction)) == {Code.MISSING_PATH}


def test_a_missing_date_leaves_the_claim_undated() -> None:
    extraction = read(updated({"id": "c1", "org": {"name": "A"}, "aliases": ["x"], "score": 1}))

    assert extraction.candidates[0].stated.valid_from is None
    assert codes(extraction) == [Code.MISSING_PATH] * 2


@pytest.mark.parametrize(
    ("contact", "code"),
    [
        ({"org": {"name": ["A"]}}, Code.REFUSED_SHAPE),
        ({"org": {"name": True}}, Code.REFUSED_SHAPE),
        ({"org": {"name": "a\x00"}}, Code.REFUSED_SHAPE),
        ({"org": {"name": "\ud800"}}, Code.REFUSED_SHAPE),
        ({"since": "03/04/2024"}, Code.UNRESOLVED_DATE),
        ({"since": 1_700_000_000}, Code.UNRESOLVED_DATE),
        ({"sure": 1.5}, Code.REFUSED_SHAPE),
        ({"sure": "high"}, Code.REFUSED_SHAPE),
        ({"score": "many"}, Code.REFUSED_SHAPE),
        ({"score": {"a": 1}}, Code.REFUSED_SHAPE),
    ],
)
def test_a_value_of_the_wrong_shape_costs_only_its_own_claim(contact: dict[str, Any], code: Code) -> None:
    right = {"id": "c1", "org": {"name": "A"}, "since": "2024", "sure": 1, "aliases": ["x"], "score": 1}

    extraction = read(updated(right | contact))

    assert len(extraction.candidates) == 2
    assert codes(extraction) == [code]


def test_digits_are_kept_as_they_stand() -> None:
    text = json.dumps(updated({"id": "c1", "score": 0})).replace(": 0", ": 1.10000000000000000001")

    assert [c.value for c in read(text).candidates] == ["1.10000000000000000001"]


def test_a_predicate_that_a_path_gives_may_be_undeclared() -> None:
    media_type = "application/vnd.weather+json; charset=utf-8"
    declared = read({"what": "raw", "reading": {"c": 4}}, media_type)
    undeclared = read({"what": "wind", "reading": {"c": 4}}, media_type)

    value = {"type": "json", "value": {"c": 4}}
    assert [(c.subject, c.value, c.unmapped) for c in declared.candidates] == [(ByKey(key="station-1"), value, False)]
    assert [(c.predicate, c.value, c.unmapped) for c in undeclared.candidates] == [("wind", value, True)]
    assert codes(undeclared) == [Code.UNMAPPED]


@pytest.mark.parametrize(
    ("document", "media_type"),
    [
        ({"type": "other"}, CLOUD),
        ({"kind": "contact.updated"}, CLOUD),
        ([1], CLOUD),
        (7, CLOUD),
        ("I live in Paris.", "text/plain"),
        (json.dumps(updated({"id": "c1", "score": 1})), "text/plain"),
    ],
)
def test_what_no_mapping_is_for_is_passed_over(document: object, media_type: str) -> None:
    extraction = read(document, media_type)

    assert (extraction.candidates, extraction.notes) == ((), ())


@pytest.mark.parametrize(
    "text", ["", "{", "[1,]", "NaN", '{"a": Infinity}', "[" * 100_000, "1" * 5_000, "\ud800", "{} {}"]
)
def test_what_is_no_json_is_told(text: str) -> None:
    extraction = read(text)

    assert (extraction.candidates, codes(extraction)) == ((), [Code.UNREADABLE])


def test_each_turn_is_a_document_of_its_own() -> None:
    turns = tuple(
        Turn(speaker="tool", text=json.dumps(updated({"id": name, "score": 1})), at=None) for name in ("a", "b")
    )

    found = MappingsExtractor(CRM).extract(episode(turns, media_type=CLOUD), (), BUDGET).candidates

    assert [(c.subject, c.span.turn) for c in found] == [(ByKey(key="a"), 0), (ByKey(key="b"), 1)]


def test_of_a_member_that_stands_twice_the_last_is_read_and_quoted() -> None:
    text = '{"type":"contact.updated","data":{"contacts":[{"id":"a","score":1,"score":22}]}}'

    (candidate,) = read(text).candidates
    assert (candidate.value, candidate.span.quote, candidate.span.start) == (22, "22", text.index("22"))


def test_budgets_cut_and_tell() -> None:
    document = updated(*({"id": f"c{n}", "score": n} for n in range(5)))
    few = read(document, budget=Budget(characters_max=10_000, candidates_max=3, seconds_max=60))
    long = read(document, budget=Budget(characters_max=10, candidates_max=3, seconds_max=60))
    seconds = count()
    extractor = MappingsExtractor(CRM, ticks=lambda: float(next(seconds)))
    slow = extractor.extract(
        episode(json.dumps(document), media_type=CLOUD),
        (),
        Budget(characters_max=10_000, candidates_max=9, seconds_max=2),
    )

    assert [len(each.candidates) for each in (few, long, slow)] == [3, 0, 2]
    assert all(Code.DROPPED in codes(each) for each in (few, long, slow))


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


def walk(value: object, path: Path = ()) -> dict[Path, object]:
    found: dict[Path, object] = {path: value}
    if isinstance(value, dict):
        for key, inner in value.items():
            found |= walk(inner, (*path, key))
    if isinstance(value, list):
        for index, inner in enumerate(value):
            found |= walk(inner, (*path, index))
    return found


@given(values, st.sampled_from([None, 0, 2]), st.booleans())
def test_every_value_is_found_where_it_stands(value: object, indent: int | None, ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii)
    wanted = walk(value)

    found = places(text, wanted)

    assert found.keys() == wanted.keys()
    for path, (start, end) in found.items():
        assert json.loads(text[start:end]) == wanted[path]


contacts = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("id", "org", "since", "sure", "aliases", "score"), values)
) | st.fixed_dictionaries({"id": st.text(max_size=3), "score": values, "aliases": values})


@given(st.lists(contacts | values, max_size=3), st.sampled_from([None, BOGOTA]))
def test_whatever_an_event_holds_nothing_breaks_and_every_candidate_quotes(items: list[Any], at: object) -> None:
    text = episode(json.dumps(updated(*items)), media_type=CLOUD, at=BOGOTA if at is not None else None)
    extractor = MappingsExtractor(CRM)

    extraction = extractor.extract(text, (), BUDGET)

    assert extraction == extractor.extract(text, (), BUDGET)
    assert all(occurs(text, candidate.span) for candidate in extraction.candidates)
    assert all(0 <= c.confidence <= 1 for c in extraction.candidates if c.confidence is not None)


@given(st.text(max_size=60))
def test_no_text_breaks_a_mapping(text: str) -> None:
    read(text)
