"""What a receipt says of each kind of write."""

import pytest

from consolidation.items import Assert, Erase, Replace, Retract, RetractFact, Said, Withdraw
from tests.writer.conftest import Desk, lives


def test_a_first_value_is_created_and_its_subject_named(desk: Desk) -> None:
    receipt = desk.write(lives("Oslo", "2020-01-01"))
    (item,) = receipt["items"]
    assert item["result"] == "created"
    assert len(item["opened"]) == 1
    assert item["closed"] == []
    assert [entity["key"] for entity in receipt["entities"]] == ["mira"]
    assert receipt["entities"][0]["id"] == item["subject"]["id"]


def test_the_second_write_about_a_subject_creates_no_entity(desk: Desk) -> None:
    desk.write(lives("Oslo", "2020-01-01"))
    assert desk.write(lives("Riga", "2021-01-01"))["entities"] == []


def test_a_later_start_supersedes_and_names_what_it_closed(desk: Desk) -> None:
    first = desk.one(lives("Oslo", "2020-01-01"))
    second = desk.one(lives("Riga", "2021-01-01"))
    assert second["result"] == "superseded"
    assert second["superseded"] == second["closed"] == first["opened"]
    assert len(second["opened"]) == 2  # Riga, and what is left of Oslo


def test_a_late_arrival_is_bounded_by_the_fact_that_follows(desk: Desk) -> None:
    later = desk.one(lives("Riga", "2021-01-01"))
    late = desk.one(lives("Oslo", "2020-01-01"))
    assert late["result"] == "bounded"
    assert late["bounded_by"] == later["opened"]
    assert late["closed"] == []


def test_a_repetition_reinforces_and_opens_nothing(desk: Desk) -> None:
    desk.write(lives("Oslo", "2020-01-01", source="a"))
    again = desk.one(lives("Oslo", "2020-01-01", source="b"))
    assert again["result"] == "reinforced"
    assert again["opened"] == again["closed"] == []
    assert again["claim"] is not None


def test_an_old_saying_that_others_cover_shows_nowhere_and_says_so(desk: Desk) -> None:
    desk.write(lives("Riga", "2020-01-01", "2021-01-01", observed_at="2022-01-01"))
    covered = desk.one(lives("Oslo", "2020-01-01", "2021-01-01", observed_at="2021-06-01"))
    assert covered["result"] == "bounded"
    assert [warning["code"] for warning in covered["warnings"]] == ["shows_nowhere"]
    assert desk.values("mira", "lives_in", "2020-06-01") == ["Riga"]


def test_the_same_episode_saying_the_same_adds_nothing(desk: Desk) -> None:
    first = desk.write(lives("Oslo", "2020-01-01", episode="e1"))
    again = desk.write(lives("Oslo", "2020-01-01", episode="e1"))
    assert again["items"][0]["result"] == "duplicate"
    assert again["items"][0]["claim"] == first["items"][0]["claim"]
    assert again["position"] == first["position"]


def test_another_episode_saying_the_same_is_one_more_claim(desk: Desk) -> None:
    desk.write(lives("Oslo", "2020-01-01", episode="e1"))
    assert desk.one(lives("Oslo", "2020-01-01", episode="e2"))["result"] == "reinforced"


def test_a_duplicate_inside_one_transaction_is_found_too(desk: Desk) -> None:
    receipt = desk.write(lives("Oslo", "2020-01-01", episode="e1"), lives("Oslo", "2020-01-01", episode="e1"))
    assert [item["result"] for item in receipt["items"]] == ["created", "duplicate"]


def test_a_withdrawn_claim_may_be_said_again_by_its_episode(desk: Desk) -> None:
    claim = desk.one(lives("Oslo", "2020-01-01", episode="e1"))["claim"]
    desk.write(Withdraw(claim=claim))
    assert desk.one(lives("Oslo", "2020-01-01", episode="e1"))["result"] == "created"


def test_two_values_of_one_episode_for_one_start_are_flagged(desk: Desk) -> None:
    desk.write(lives("Oslo", "2020-01-01", episode="e1"))
    other = desk.one(lives("Riga", "2020-01-01", episode="e1"))
    assert [warning["code"] for warning in other["warnings"]] == ["episode_contradicts_itself"]


def test_a_missing_observed_at_is_told_never_silent(desk: Desk) -> None:
    item = desk.one(lives("Oslo", "2020-01-01"))
    assert item["observed_from"] == "recorded"
    assert desk.one(lives("Riga", "2021-01-01", observed_at="2025-01-01"))["observed_from"] == "stated"


def test_an_episode_that_is_known_says_when_it_was_observed(desk: Desk) -> None:
    desk.write(lives("Oslo", "2020-01-01", episode="e1", observed_at="2025-01-01"))
    item = desk.one(Assert(subject="mira", predicate="speaks", value="Basque", said=Said(episode="e1")))
    assert (item["observed_from"], item["observed_at"]) == ("episode", "2025-01-01T00:00:00Z")


def test_a_replacement_names_what_it_withdrew_and_opens_what_was_closed(desk: Desk) -> None:
    first = desk.one(lives("Oslo", "2020-01-01"))
    wrong = desk.one(lives("Riga", "2021-01-01"))
    item = desk.one(Replace(subject="mira", predicate="lives_in", old="Riga", at="2022-01-01", value="Bonn"))
    assert item["result"] == "replaced"
    assert item["withdrawn"] == [wrong["claim"]]
    assert first["claim"] not in item["withdrawn"]
    assert desk.values("mira", "lives_in") == ["Bonn"]


def test_a_replacement_by_id_keeps_what_is_not_stated(desk: Desk) -> None:
    fact = desk.one(lives("Oslo", "2020-01-01", "2021-01-01"))["opened"][0]
    desk.write(Replace(fact=fact, value="Bonn"))
    assert desk.values("mira", "lives_in", "2020-06-01") == ["Bonn"]
    assert desk.values("mira", "lives_in", "2021-06-01") == []


def test_a_replacement_that_shared_its_claim_names_the_other_versions(desk: Desk) -> None:
    long = desk.one(lives("Oslo", "2020-01-01", "infinity"))
    split = desk.one(lives("Riga", "2021-01-01", "2022-01-01"))
    (late_piece,) = [id for id in split["opened"] if id not in long["opened"]][-1:]
    item = desk.one(Replace(subject="mira", predicate="lives_in", old="Oslo", at="2020-06-01", value="Bonn"))
    assert item["withdrawn"] == [long["claim"]]
    assert set(item["closed"]) >= set(item["also_rested"])
    assert late_piece is not None
    assert desk.values("mira", "lives_in", "2025-01-01") == ["Bonn"]


def test_a_retraction_reports_the_hole_it_cut(desk: Desk) -> None:
    first = desk.one(lives("Oslo", "2020-01-01"))
    item = desk.one(
        Retract(subject="mira", predicate="lives_in", said=Said(valid_from="2021-01-01", valid_to="2022-01-01"))
    )
    assert (item["result"], item["closed"], len(item["opened"])) == ("retracted", first["opened"], 2)
    assert desk.values("mira", "lives_in", "2021-06-01") == []
    assert desk.values("mira", "lives_in", "2022-06-01") == ["Oslo"]


def test_an_empty_retraction_does_nothing(desk: Desk) -> None:
    before = desk.write(lives("Oslo", "2020-01-01"))
    after = desk.write(
        Retract(subject="mira", predicate="lives_in", said=Said(valid_from="2021-01-01", valid_to="2021-01-01"))
    )
    assert after["position"] == before["position"]
    assert after["items"][0]["claim"] is None


def test_retracting_a_fact_cuts_its_whole_period_and_no_other_value(desk: Desk) -> None:
    desk.write(Assert(subject="mira", predicate="speaks", value="Welsh", said=Said(valid_from="2020-01-01")))
    fact = desk.one(Assert(subject="mira", predicate="speaks", value="Basque", said=Said(valid_from="2020-01-01")))
    desk.write(RetractFact(fact=fact["opened"][0]))
    assert desk.values("mira", "speaks") == ["Welsh"]


def test_a_source_is_withdrawn_with_all_its_claims(desk: Desk) -> None:
    desk.write(lives("Oslo", "2020-01-01", source="a"), lives("Riga", "2021-01-01", source="b"))
    desk.write(Assert(subject="jo", predicate="speaks", value="Welsh", said=Said(valid_from="2020-01-01", source="b")))
    item = desk.one(Withdraw(source="b", reason="forged"))
    assert len(item["withdrawn"]) == 2
    assert desk.values("mira", "lives_in") == ["Oslo"]
    assert desk.values("jo", "speaks") == []


def test_an_episode_that_was_only_told_in_this_transaction_can_be_withdrawn_in_it(desk: Desk) -> None:
    desk.write(Assert(subject="mira", predicate="speaks", value="Welsh"))
    receipt = desk.write(lives("Oslo", "2020-01-01", episode="e1"), Withdraw(episode="e1"))
    assert [(item["result"], item["claim"]) for item in receipt["items"]] == [("withdrawn", None)] * 2
    assert desk.values("mira", "lives_in") == []


def test_erasing_a_value_leaves_no_rectangle_of_it(desk: Desk) -> None:
    desk.write(lives("Oslo", "2020-01-01"))
    desk.write(lives("Riga", "2021-01-01"))
    item = desk.one(Erase(subject="mira", predicate="lives_in", value="Riga"))
    assert item["result"] == "erased"
    assert {row[0] for row in desk.audited("mira", "lives_in")} == {"Oslo"}
    assert desk.values("mira", "lives_in") == ["Oslo"]


def test_an_erased_value_may_be_asserted_later_in_the_same_transaction(desk: Desk) -> None:
    desk.write(lives("Oslo", "2020-01-01"))
    desk.write(Erase(subject="mira", predicate="lives_in", value="Oslo"), lives("Oslo", "2022-01-01"))
    assert desk.values("mira", "lives_in", "2020-06-01") == []
    assert desk.values("mira", "lives_in") == ["Oslo"]


def test_items_of_one_transaction_see_each_other(desk: Desk) -> None:
    receipt = desk.write(
        lives("Oslo", "2020-01-01"),
        Replace(subject="mira", predicate="lives_in", old="Oslo", at="2020-06-01", value="Riga"),
    )
    assert receipt["items"][1]["result"] == "replaced"
    assert {row[0] for row in desk.audited("mira", "lives_in")} == {"Riga"}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_batch_in_any_order_makes_the_same_belief(desk: Desk, order: tuple[int, ...]) -> None:
    rows = [lives("Oslo", "2020-01-01"), lives("Riga", "2021-01-01"), lives("Bonn", "2022-01-01")]
    desk.write(*(rows[index] for index in order))
    assert [desk.values("mira", "lives_in", f"{year}-06-01") for year in (2020, 2021, 2022)] == [
        ["Oslo"], ["Riga"], ["Bonn"]
    ]  # fmt: skip


def test_a_retraction_in_all_languages_names_what_it_closed_in_each(desk: Desk) -> None:
    titles = [{"type": "langtext", "value": text, "lang": lang} for lang, text in (("de", "Wien"), ("fr", "Vienne"))]
    said = Said(valid_from="2020-01-01")
    told = desk.write(*(Assert(subject="vienna", predicate="title", value=title, said=said) for title in titles))
    hole = Said(valid_from="2022-01-01", valid_to="2023-01-01")
    cut = desk.one(Retract(subject="vienna", predicate="title", said=hole))
    assert sorted(cut["closed"]) == sorted(id for item in told["items"] for id in item["opened"])
    assert len(cut["opened"]) == 4
