"""Half-open intervals against brute force over a small axis."""

from itertools import combinations, pairwise, product

import pytest

from ontology.instants import Instant
from ontology.intervals import Interval, Relation, coalesce, intersect, relate, subtract

AXIS = range(7)
ALL = [Interval(Instant(a), Instant(b)) for a, b in combinations(AXIS, 2)]
EMPTY = [Interval(Instant(t), Instant(t)) for t in AXIS]


def held(intervals: list[Interval]) -> set[int]:
    return {t for t in AXIS for interval in intervals if interval.start <= t < interval.end}


def i(start: int, end: int) -> Interval:
    return Interval(Instant(start), Instant(end))


@pytest.mark.parametrize(
    ("first", "second", "relation"),
    [
        (i(0, 1), i(2, 3), Relation.BEFORE),
        (i(0, 1), i(1, 2), Relation.MEETS),
        (i(0, 2), i(1, 3), Relation.OVERLAPS),
        (i(0, 1), i(0, 2), Relation.STARTS),
        (i(1, 2), i(0, 3), Relation.DURING),
        (i(1, 2), i(0, 2), Relation.FINISHES),
        (i(0, 1), i(0, 1), Relation.EQUALS),
    ],
)
def test_the_relations_of_allen_and_their_converses(first: Interval, second: Interval, relation: Relation) -> None:
    converse = {
        Relation.BEFORE: Relation.AFTER,
        Relation.MEETS: Relation.MET_BY,
        Relation.OVERLAPS: Relation.OVERLAPPED_BY,
        Relation.STARTS: Relation.STARTED_BY,
        Relation.DURING: Relation.CONTAINS,
        Relation.FINISHES: Relation.FINISHED_BY,
        Relation.EQUALS: Relation.EQUALS,
    }
    assert relate(first, second) is relation
    assert relate(second, first) is converse[relation]


def test_exactly_one_relation_holds_of_any_two_and_all_thirteen_occur() -> None:
    found = {relate(first, second) for first, second in product(ALL, ALL)}
    assert found == set(Relation)


def test_an_interval_holds_its_start_and_not_its_end() -> None:
    assert [t for t in AXIS if Instant(t) in i(2, 4)] == [2, 3]
    assert Instant(2) not in i(2, 2)


def test_intervals_overlap_where_they_share_an_instant() -> None:
    for first, second in product(ALL, ALL):
        assert first.overlaps(second) is bool(held([first]) & held([second]))


def test_an_intersection_is_what_all_share() -> None:
    for first, second, third in product(ALL, ALL, ALL[::4]):
        shared = intersect([first, second, third])
        assert held([] if shared is None else [shared]) == held([first]) & held([second]) & held([third])


def test_an_intersection_of_intervals_that_only_touch_is_none() -> None:
    assert intersect([i(0, 2), i(2, 4)]) is None


def test_coalescing_keeps_what_is_held_and_leaves_nothing_that_touches() -> None:
    for three in combinations(ALL + EMPTY[:2], 3):
        joined = coalesce(three)
        assert held(joined) == held(list(three))
        assert joined == sorted(joined)
        assert all(one.end < other.start for one, other in pairwise(joined))


def test_coalescing_drops_what_is_empty() -> None:
    assert coalesce(EMPTY) == []


def test_subtracting_leaves_what_lies_in_no_hole() -> None:
    for one, other in product(combinations(ALL[::2], 2), combinations(ALL[::3], 2)):
        left = subtract(one, other)
        assert held(left) == held(list(one)) - held(list(other))
        assert left == coalesce(left)
