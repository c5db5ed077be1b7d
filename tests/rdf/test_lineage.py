"""What an auditor is told of why a belief went and another came: corrected, changed, retracted, withdrawn, resumed."""

from typing import Any

import pytest

from consolidation.items import Promote, RetractFact
from graph.sqlite_store.store import SqliteStore
from ontology.rdf_terms import VIG, prov, vig
from ontology.schema_document import pack_from_document
from tests.contract.world import claim, correct, retract, withdraw
from tests.rdf.everything import Everything
from tests.rdf.story import NAMES, SCOPE, passport


@pytest.fixture
def told() -> Everything:
    told = Everything(SqliteStore(":memory:"))
    pack = {"pack": "homes", "predicates": {"lives_in": {"cardinality": "functional"}}}
    told.writer.put_schema(SCOPE, "server", pack_from_document(pack))
    return told


def kinds(told: Any) -> list[tuple[str, str, str]]:
    """(value of the new version, value of the one that it revises, what it is to that), in the order of commits."""
    said = told.statements()
    values = {each.subject: each.object.text for each in said if each.predicate.endswith("ns#object")}
    found = []
    for each in said:
        if each.predicate == prov("qualifiedRevision"):
            about = {one.predicate: one.object for one in said if one.subject == each.object}
            old, kind = about[prov("entity")], str(about[vig("supersession")]).removeprefix(VIG)
            found.append((values[each.subject], values[old], kind))
    return found


def reasons(told: Any) -> list[tuple[str, str]]:
    """(value, why it ended) of the versions that ended."""
    said = told.statements()
    values = {each.subject: each.object.text for each in said if each.predicate.endswith("ns#object")}
    ends = {each.object: each.subject for each in said if each.predicate == prov("qualifiedInvalidation")}
    return [
        (values[ends[each.subject]], str(each.object).removeprefix(VIG))
        for each in said
        if each.predicate == vig("reason") and ends[each.subject] in values
    ]


def test_another_value_from_an_instant_on_is_a_change_and_closes_the_period_of_the_old_one() -> None:
    told = passport(SqliteStore(":memory:"), correction=False)
    assert sorted(kinds(told)) == [
        ("2026-06-30", "2026-07-15", "Change"), ("2026-07-15", "2026-07-15", "ClosedInterval"),
    ]  # fmt: skip
    assert reasons(told) == [("2026-07-15", "Superseded")]


def test_a_value_that_replaces_a_wrong_one_is_a_correction() -> None:
    told = passport(SqliteStore(":memory:"), correction=True)
    assert kinds(told) == [("2026-06-30", "2026-07-15", "Correction")]
    assert reasons(told) == [("2026-07-15", "Superseded")]


def test_a_correction_where_values_stand_beside_each_other_is_one_too(told: Everything) -> None:
    told.tell(claim("mira", "likes", "tea", "2020-01-01"), claim("mira", "likes", "milk", "2020-01-01"))
    told.tell(correct("mira", "likes", "tea", "2021-01-01", "coffee"))
    assert kinds(told) == [("coffee", "tea", "Correction")]


def test_values_that_stand_beside_each_other_revise_nothing(told: Everything) -> None:
    told.tell(claim("mira", "likes", "tea", "2020-01-01"))
    told.tell(claim("mira", "likes", "milk", "2021-01-01"))
    assert (kinds(told), reasons(told)) == ([], [])


def test_what_had_been_hidden_resumes_when_what_hid_it_is_withdrawn(told: Everything) -> None:
    told.tell(claim("mira", "lives_in", "Bonn", "2020-01-01"))
    (moved,) = told.tell(claim("mira", "lives_in", "Oslo", "2022-01-01"))
    told.tell(withdraw(claim=moved["claim"]))
    assert ("Bonn", "Oslo", "Resumed") in kinds(told)
    assert ("Bonn", "Bonn", "Restated") in kinds(told)
    assert ("Oslo", "Withdrawn") in reasons(told)


def test_what_a_retraction_leaves_is_the_same_value_over_a_part_of_the_period(told: Everything) -> None:
    told.tell(claim("mira", "likes", "tea", "2020-01-01"))
    told.tell(retract("mira", "likes", "tea", valid_from="2021-01-01", valid_to="2022-01-01"))
    assert kinds(told) == [("tea", "tea", "ClosedInterval")] * 2
    assert reasons(told) == [("tea", "Retracted")]


def test_a_fact_that_is_retracted_whole_ends_and_nothing_follows(told: Everything) -> None:
    (receipt,) = told.tell(claim("mira", "likes", "tea", "2020-01-01"))
    told.tell(RetractFact(fact=receipt["opened"][0]))
    assert kinds(told) == []
    assert reasons(told) == [("tea", "Retracted")]


def test_a_claim_that_a_reviewer_lets_in_changes_a_value_with_that_commit(told: Everything) -> None:
    told.tell(claim("mira", "lives_in", "Bonn", "2020-01-01"))
    (waits,) = told.tell(claim("mira", "lives_in", "Oslo", "2022-01-01", trust="untrusted"))
    assert kinds(told) == []
    told.tell(Promote(claim=waits["claim"]), by="reviewer")
    assert ("Oslo", "Bonn", "Change") in kinds(told)


def test_more_evidence_is_another_support_and_no_other_version(told: Everything) -> None:
    told.tell(claim("mira", "lives_in", "Bonn", "2020-01-01", confidence=0.5, source="a"))
    before = {each for each in told.statements() if "/fact/" in each.subject}
    told.tell(claim("mira", "lives_in", "Bonn", "2020-01-01", confidence=0.5, source="b"))
    said = told.statements()

    assert {each for each in said if "/fact/" in each.subject} == before
    supports = [each.subject for each in said if each.object == vig("Support")]
    confidences = [each.object for each in said if each.predicate == vig("confidence") and each.subject in supports]
    assert [getattr(each, "text", "") for each in confidences] == ["0.5", "0.75"]


def test_the_end_of_a_period_rests_on_the_claim_that_begins_there(told: Everything) -> None:
    told.tell(claim("mira", "lives_in", "Bonn", "2020-01-01"))
    (moved,) = told.tell(claim("mira", "lives_in", "Oslo", "2022-01-01"))
    said = told.statements()
    derivations = [each.subject for each in said if each.object == vig("ValidUntil")]
    bases = [each.object for each in said if each.subject in derivations and each.predicate == prov("entity")]
    assert bases == [NAMES.of("claim", moved["claim"])]


def test_what_was_exported_and_what_came_since_are_the_whole(told: Everything) -> None:
    """A commit only adds: no statement of an earlier export is missing in a later one, but for what ended it."""
    told.tell(claim("mira", "lives_in", "Bonn", "2020-01-01"))
    before = set(told.statements())
    told.tell(claim("mira", "lives_in", "Oslo", "2022-01-01"), claim("ann", "lives_in", "Rome"))
    assert before <= set(told.statements())
