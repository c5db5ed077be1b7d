"""In which order hits come, what each part of a score is, and what no weight can do."""

import itertools
import random
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.ranking import BALANCED, RECENT, RECIPES, WORDS, Candidate, K, Policy, Ranked, Tier, rank
from ontology.claims import Trust
from ontology.instants import DAY, Instant

PLAIN = replace(BALANCED, recency=0.0, confidence=0.0, certainty=0.0, trust=0.0)


def candidate(id: str, **known: Any) -> Candidate:
    about: dict[str, Any] = {
        "pool": "fact", "tier": Tier.CURRENT, "group": id, "holds_from": Instant(0), "recorded_from": Instant(0),
        "text": None, "vector": None, "distance": None, "age": 0, "confidence": 1.0, "certain": True,
        "trust": Trust.VERIFIED,
    }  # fmt: skip
    return Candidate(id=id, **(about | known))


def ids(ranked: list[Ranked]) -> list[str]:
    return [each.candidate.id for each in ranked]


def test_the_first_of_every_list_has_a_score_of_one() -> None:
    (best, other) = rank([candidate("b", text=1.0, vector=0.1), candidate("a", text=9.0, vector=0.9)], PLAIN)

    assert (best.candidate.id, best.score) == ("a", 1.0)
    assert other.score == round((K + 1) / (K + 2), 6)


def test_what_is_in_two_lists_comes_before_the_first_of_one() -> None:
    found = rank(
        [candidate("words", text=9.0), candidate("meaning", vector=0.9), candidate("both", text=1.0, vector=0.1)], PLAIN
    )

    assert ids(found)[0] == "both"
    assert found[0].parts.text is not None
    assert (found[0].parts.text.rank, found[0].parts.text.score) == (2, 1.0)


def test_a_list_that_nobody_asked_for_takes_nothing_away() -> None:
    assert rank([candidate("a", text=2.0)], PLAIN)[0].score == 1.0


def test_equal_scores_share_a_place_and_the_latest_recorded_comes_first() -> None:
    found = rank(
        [candidate(id, text=2.0, recorded_from=Instant(at)) for id, at in (("a", 1), ("c", 5), ("b", 5))], PLAIN
    )

    assert ids(found) == ["b", "c", "a"]
    assert {each.parts.text.rank for each in found if each.parts.text} == {1}


def test_what_is_nearer_in_the_graph_comes_first_where_all_else_is_the_same() -> None:
    far, at, by = (candidate(id, text=1.0, distance=hops) for id, hops in (("far", None), ("at", 0), ("by", 1)))
    found = rank([far, by, at], PLAIN)

    assert ids(found) == ["at", "by", "far"]


@pytest.mark.parametrize(
    ("worse", "share"),
    [
        ({"age": 180 * DAY}, BALANCED.recency / 2), ({"confidence": 0.0}, BALANCED.confidence),
        ({"certain": False}, BALANCED.certainty), ({"trust": Trust.UNTRUSTED}, BALANCED.trust),
    ],
    ids=["age", "doubt", "possible", "untrusted"],
)  # fmt: skip
def test_each_factor_takes_away_its_share_and_no_more(worse: dict[str, Any], share: float) -> None:
    (good, bad) = rank([candidate("b", text=1.0), candidate("a", text=1.0, **worse)], BALANCED)

    assert (good.candidate.id, good.score, bad.score) == ("b", 1.0, round(1 - share, 6))


def test_the_recent_recipe_lets_the_new_pass_and_the_words_alone_do_not() -> None:
    found = [candidate("old", text=2.0, age=400 * DAY), candidate("new", text=1.0)]

    assert ids(rank(found, RECENT)) == ["new", "old"]
    assert ids(rank(found, WORDS)) == ["old", "new"]


def test_what_holds_no_more_or_is_held_never_comes_before_what_holds() -> None:
    found = rank(
        [
            candidate("held", tier=Tier.HELD, text=99.0, vector=1.0), candidate("past", tier=Tier.OTHER, text=99.0),
            candidate("now", text=0.1, confidence=0.0, certain=False, trust=Trust.UNTRUSTED, age=10**17),
        ],
        RECENT,
    )  # fmt: skip

    assert ids(found) == ["now", "past", "held"]


def test_the_past_of_a_slot_stands_together_the_latest_first() -> None:
    past = [
        candidate(f"{slot}{year}", tier=Tier.OTHER, group=slot, holds_from=Instant(year), text=score)
        for slot, year, score in (("a", 1, 5.0), ("b", 2, 4.0), ("a", 3, 1.0), ("b", 1, 3.0), ("a", 2, 2.0))
    ]

    for order in itertools.permutations(past):
        assert ids(rank(order, PLAIN)) == ["a3", "a2", "a1", "b2", "b1"]


def test_ranks_are_those_among_the_same_pool_and_tier() -> None:
    alone = rank([candidate("now", text=1.0)], BALANCED)
    others = [candidate("past", tier=Tier.OTHER, text=9.0), candidate("said", pool="episode", text=9.0)]
    beside = rank([candidate("now", text=1.0), *others], BALANCED)

    assert next(each for each in beside if each.candidate.id == "now") == alone[0]


def test_the_recipes_are_found_by_their_names_and_cannot_be_changed() -> None:
    assert {name: policy.name for name, policy in RECIPES.items()} == {name: name for name in RECIPES}
    assert set(RECIPES) == {"balanced", "words", "meaning", "recent"}
    with pytest.raises(FrozenInstanceError):
        BALANCED.text = 0.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        RECIPES["mine"] = BALANCED  # type: ignore[index]


candidates = st.lists(
    st.builds(
        candidate, st.text("abc", min_size=1, max_size=3), pool=st.sampled_from(["fact", "episode"]),
        tier=st.sampled_from(Tier), group=st.sampled_from("xyz"), holds_from=st.integers(0, 3),
        recorded_from=st.integers(0, 3), text=st.none() | st.integers(0, 3).map(float),
        vector=st.none() | st.floats(-1, 1), distance=st.none() | st.integers(0, 3), age=st.integers(0, 10**16),
        confidence=st.floats(0, 1), certain=st.booleans(), trust=st.sampled_from(Trust),
    ),
    unique_by=lambda each: each.id,
)  # fmt: skip
share = st.floats(0, 0.99)
policies = st.builds(
    Policy, name=st.just("any"), text=st.floats(0, 5), vector=st.floats(0, 5), graph=st.floats(0, 5), floor=share,
    recency=share, half_life_days=st.integers(1, 1000), confidence=share, certainty=share, trust=share,
)  # fmt: skip


@given(candidates, policies, st.randoms(use_true_random=False))
def test_the_order_is_total_whatever_order_they_came_in(
    found: list[Candidate], policy: Policy, chance: random.Random
) -> None:
    ranked = rank(found, policy)

    assert rank(chance.sample(found, len(found)), policy) == ranked
    assert sorted(ids(ranked)) == sorted(each.id for each in found)
    assert [each.candidate.tier for each in ranked] == sorted(each.tier for each in found)


@given(candidates, policies)
def test_a_score_is_the_product_of_its_parts_and_each_is_bounded(found: list[Candidate], policy: Policy) -> None:
    for each in rank(found, policy):
        parts = each.parts
        factors = {name: getattr(parts, name) for name in ("recency", "confidence", "certainty", "trust")}
        assert each.score == round(
            parts.fused * factors["recency"] * factors["confidence"] * factors["certainty"] * factors["trust"], 6
        )
        assert 0 <= each.score <= 1 + 1e-9
        for name, factor in factors.items():
            assert 1 - getattr(policy, name) - 1e-9 <= factor <= 1


@given(candidates, policies)
def test_what_holds_has_the_scores_that_it_would_have_alone(found: list[Candidate], policy: Policy) -> None:
    current = [each for each in found if each.tier is Tier.CURRENT]

    assert rank(found, policy)[: len(current)] == rank(current, policy)


def test_every_weight_of_a_policy_is_told_here() -> None:
    assert [field.name for field in fields(Policy)] == [
        "name", "text", "vector", "graph", "floor", "recency", "half_life_days", "confidence", "certainty", "trust"
    ]  # fmt: skip


def test_who_comes_behind_equals_has_the_place_that_is_left() -> None:
    found = rank([candidate(id, text=score) for id, score in zip("abcd", (3.0, 2.0, 2.0, 1.0), strict=True)], PLAIN)

    assert [each.parts.text.rank for each in found if each.parts.text] == [1, 2, 2, 4]
