"""Which time to live holds under a predicate, and which packs contradict their kind."""

from typing import Any

import pytest

from ontology.durations import days
from ontology.errors import Refused
from ontology.instants import OPEN_END, Instant
from ontology.retention import KINDS, Terms, expires_at, terms_of
from ontology.schema import EMPTY, Kind, Predicate, Retention
from ontology.schema_document import pack_from_document, schema_document, schema_from_document
from ontology.schema_merge import merge

EXPIRE, ERASE = Retention.EXPIRE, Retention.ERASE


def predicate(**given: Any) -> Predicate:
    pack = pack_from_document({"pack": "p", "predicates": {"p": given}})
    return merge(EMPTY, pack).schema.predicates["p"]


def terms(ttl: int | None, ttl_max: int | None, ends: Retention) -> Terms:
    return Terms(ttl=None if ttl is None else days(ttl), ttl_max=None if ttl_max is None else days(ttl_max), ends=ends)


def test_every_kind_has_its_terms() -> None:
    assert set(KINDS) == set(Kind)
    assert all(each.ttl_max is None or (each.ttl or 0) <= each.ttl_max for each in KINDS.values())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, terms(None, None, EXPIRE)),
        ({"ttl_days": 9}, terms(9, None, EXPIRE)),
        ({"ttl_days_max": 9}, terms(9, 9, EXPIRE)),
        ({"ttl_days": 3, "ttl_days_max": 9, "retention": "erase"}, terms(3, 9, ERASE)),
        ({"kind": "working_note"}, terms(7, 30, ERASE)),
        ({"kind": "working_note", "ttl_days_max": 5}, terms(5, 5, ERASE)),
        ({"kind": "working_note", "ttl_days": 20, "retention": "expire"}, terms(20, 30, ERASE)),
    ],
)
def test_a_predicate_narrows_its_kind(given: dict[str, Any], expected: Terms) -> None:
    assert terms_of(predicate(**given)) == expected


@pytest.mark.parametrize("field", ["ttl_days", "ttl_days_max"])
def test_a_predicate_cannot_widen_its_kind(field: str) -> None:
    with pytest.raises(Refused, match="P30D"):
        predicate(kind="working_note", **{field: 31})


def test_a_schema_that_says_nothing_new_is_written_as_before() -> None:
    pack = pack_from_document({"pack": "p", "predicates": {"p": {}, "q": {"ttl_days_max": 4}}})
    schema = merge(EMPTY, pack).schema
    document: Any = schema_document(schema)
    assert "ttl_days_max" not in document["predicates"]["p"]
    assert schema_from_document(document) == schema


def test_the_end_is_counted_from_the_recorded_time() -> None:
    at = Instant(5)
    assert expires_at(predicate(), None, at) == OPEN_END
    assert expires_at(predicate(), days(2), at) == at + days(2)
    assert expires_at(predicate(ttl_days=1), None, at) == at + days(1)
