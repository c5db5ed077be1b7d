"""Which facts are wanted, and how long better ones are looked for."""

import pytest

from graph.wanted import LOOKED_AT_MAX, Wanted, enough, wanted
from ontology.facts import Slot, ends
from ontology.ids import EntityId
from ontology.packs import load_core
from ontology.schema import Kind
from ontology.schema_document import pack_from_document
from ontology.schema_merge import merge
from ontology.scope import scope_of
from ontology.values import Value, ValueType, entity_value

LIKING = pack_from_document({"pack": "mine", "predicates": {"likes": {"kind": "preference"}}})
SCHEMA = merge(load_core(), LIKING).schema
MIRA, LISBON = EntityId("ent_aaaaaaaa_1_1"), EntityId("ent_aaaaaaaa_1_2")
TEA = Value(type=ValueType.TEXT, text="tea", qualifier="")


def slot(predicate: str) -> Slot:
    return Slot(scope=scope_of("acme"), subject=MIRA, predicate=predicate, language="")


def kept(only: Wanted, *predicates: str) -> list[str]:
    return [name for name in predicates if only.keeps(slot(name), TEA)]


def test_without_a_filter_everything_is_wanted() -> None:
    only = wanted(SCHEMA, (), (), ())

    assert (only.predicates, kept(only, "likes", "name", "undeclared")) == (None, ["likes", "name", "undeclared"])


def test_a_kind_is_asked_for_by_its_predicates() -> None:
    only = wanted(SCHEMA, [Kind.PREFERENCE], (), ())

    assert "likes" in (only.predicates or ())
    assert kept(only, "likes", "name", "undeclared") == ["likes"]


def test_what_nobody_declared_is_a_fact() -> None:
    only = wanted(SCHEMA, [Kind.FACT], (), ())

    assert only.predicates is None
    assert kept(only, "likes", "name", "undeclared") == ["name", "undeclared"]


def test_a_predicate_of_another_kind_leaves_nothing() -> None:
    assert wanted(SCHEMA, [Kind.SKILL], ["likes"], ()).nothing
    assert not wanted(SCHEMA, [Kind.PREFERENCE], ["likes"], ()).nothing


def test_a_fact_leads_to_its_subject_and_to_the_entity_that_it_points_at() -> None:
    assert ends(slot("likes"), TEA) == (MIRA,)
    assert ends(slot("lives_in"), entity_value(LISBON)) == (MIRA, LISBON)
    only = wanted(SCHEMA, (), (), [LISBON])
    assert only.keeps(slot("lives_in"), entity_value(LISBON))
    assert not only.keeps(slot("likes"), TEA)


@pytest.mark.parametrize(
    ("there", "every", "found", "more"),
    [(10, 1, 3, False), (100, 10, 3, False), (20, 10, 2, False), (10**6, 10**6, 1, True)],
)
def test_more_is_looked_at_until_enough_is_kept(there: int, every: int, found: int, more: bool) -> None:
    asked: list[int] = []

    def give(limit: int) -> list[int]:
        asked.append(limit)
        return list(range(min(limit, there)))

    assert enough(give, lambda number: number % every == 0, 3) == ([every * n for n in range(found)], more)
    assert asked[-1] <= LOOKED_AT_MAX
