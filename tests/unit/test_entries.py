"""What one operation says about time: its bounds as integers, and what it says wrongly by itself."""

import pytest

from ontology.entries import End, Entry, Start, Stated, assertion, inherit, retraction
from ontology.errors import Incorrect
from ontology.instants import OPEN_END, OPEN_START, Instant, Semantics, format_instant, parse_instant
from ontology.values import ValueKey

SAID = parse_instant("2021-01-01")
ZONES = ["UTC", "Asia/Tokyo"]


def stated(start: str | None = None, end: str | None = None, semantics: str = "", zone: str | None = None) -> Stated:
    return Stated(valid_from=start, valid_to=end, zone=zone, semantics=Semantics(semantics) if semantics else None)


def asserted(start: str | None = None, end: str | None = None, semantics: str = "", *, at: Instant = SAID) -> Entry:
    said = stated(start, end, semantics)
    return assertion(said, value=ValueKey(b"v"), functional=True, observed_at=at, position=1, ordinal=0)


def retracted(start: str | None = None, end: str | None = None, semantics: str = "") -> Entry:
    return retraction(
        stated(start, end, semantics), value=None, functional=True, observed_at=SAID, position=1, ordinal=0
    )


def starts(entry: Entry) -> tuple[str, str]:
    return format_instant(entry.start_lo), format_instant(entry.start_hi)


def ends(entry: Entry) -> tuple[str, str]:
    return format_instant(entry.end_lo), format_instant(entry.end_hi)


def code(start: str | None, end: str | None, semantics: str = "", *, retract: bool = False) -> str:
    with pytest.raises(Incorrect) as refused:
        (retracted if retract else asserted)(start, end, semantics)
    return refused.value.violations[0].code


@pytest.mark.parametrize(
    ("start", "end", "kinds"),
    [
        ("2020", "2021", (Start.KNOWN, End.KNOWN)),
        ("2020", None, (Start.KNOWN, End.OPEN)),
        (None, "infinity", (Start.UNKNOWN, End.INFINITY)),
        ("unknown", "unknown", (Start.UNKNOWN, End.UNKNOWN)),
        ("-infinity", "2021", (Start.OPEN, End.KNOWN)),
    ],
)
def test_an_entry_knows_how_its_ends_are_known(start: str | None, end: str | None, kinds: tuple[Start, End]) -> None:
    entry = asserted(start, end)
    assert (entry.start, entry.end) == kinds
    assert entry.dated is (kinds[0] is not Start.UNKNOWN)


def test_coarse_bounds_have_an_earliest_and_a_latest_instant() -> None:
    entry = asserted("2018", "2019-05")
    assert starts(entry) == ("2018-01-01T00:00:00Z", "2019-01-01T00:00:00Z")
    assert ends(entry) == ("2019-05-01T00:00:00Z", "2019-06-01T00:00:00Z")


def test_whole_granules_are_exact_and_end_with_their_last_instant() -> None:
    entry = asserted("2018", "2019-05-31", "whole")
    assert starts(entry) == ("2018-01-01T00:00:00Z",) * 2
    assert ends(entry) == ("2019-06-01T00:00:00Z",) * 2


def test_an_open_end_is_the_open_end() -> None:
    assert ends(asserted("2018")) == ("infinity", "infinity")


def test_an_unknown_start_lies_no_later_than_when_it_was_said() -> None:
    assert starts(asserted()) == ("2021-01-01T00:00:00Z",) * 2


def test_an_unknown_start_lies_just_before_a_stated_end_where_that_is_earlier() -> None:
    assert starts(asserted(None, "2020")) == ("2019-12-31T23:59:59.999999Z",) * 2
    assert starts(asserted(None, "2020", "whole")) == ("2019-12-31T23:59:59.999999Z",) * 2
    assert starts(asserted(None, "2030")) == ("2021-01-01T00:00:00Z",) * 2


def test_an_unknown_end_lies_no_later_than_when_it_was_said() -> None:
    assert format_instant(asserted("2018", "unknown").end_hi) == "2021-01-01T00:00:00Z"


def test_zones_shift_dates_and_not_date_times() -> None:
    said = stated("2018-01-01", "2019-01-01T00:00:00Z", zone="Asia/Tokyo")
    entry = assertion(said, value=ValueKey(b"v"), functional=True, observed_at=SAID, position=1, ordinal=0)
    assert starts(entry)[0] == "2017-12-31T15:00:00Z"
    assert ends(entry)[0] == "2019-01-01T00:00:00Z"


def test_the_order_is_when_it_was_said_then_the_commit_then_the_place_in_it() -> None:
    def entry(at: int, position: int, ordinal: int) -> Entry:
        return assertion(
            stated("2018"), value=ValueKey(b"v"), functional=True, observed_at=Instant(at), position=position,
            ordinal=ordinal,
        )  # fmt: skip

    first, second, third, fourth = entry(1, 2, 2), entry(2, 1, 1), entry(2, 2, 0), entry(2, 2, 1)
    assert sorted([third, second, fourth, first], key=lambda e: e.order) == [first, second, third, fourth]


def test_two_entries_are_equal_only_if_they_are_the_same() -> None:
    assert asserted("2018") != asserted("2018")


# ---- retractions


def test_an_absent_bound_of_a_retraction_means_all_of_that_side() -> None:
    hole = retracted()
    assert (hole.start_lo, hole.start_hi, hole.end_lo, hole.end_hi) == (OPEN_START, OPEN_START, OPEN_END, OPEN_END)
    assert not hole.asserts


def test_a_retraction_may_be_empty_and_not_inverted() -> None:
    assert retracted("2020-01-01", "2020-01-01").start_lo == parse_instant("2020-01-01")
    assert code("2020-01-02", "2020-01-01", retract=True) == "inverted_interval"


def test_a_retraction_needs_known_bounds() -> None:
    assert code("unknown", None, retract=True) == code(None, "unknown", retract=True) == "unknown_bound"


# ---- what is refused


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2020-01-01", "2020-01-01", "empty_interval"),
        ("2020-01-01T00:00:00Z", "2020-01-01T01:00:00+01:00", "empty_interval"),
        ("2020-01-02", "2020-01-01", "inverted_interval"),
        ("2020", "2019", "empty_interval"),  # the latest end is the earliest start
        ("2021", "2019", "inverted_interval"),
        ("2021-01-01", "unknown", "empty_interval"),  # over when it was said
        ("2022-01-01", "unknown", "inverted_interval"),
        ("infinity", None, "inverted_interval"),
        (None, "-infinity", "inverted_interval"),
        ("2020-01-01T00:00:00", None, "naive_timestamp"),
        ("soon", None, "unreadable_date"),
    ],
)
def test_a_period_that_cannot_be_is_refused(start: str | None, end: str | None, expected: str) -> None:
    assert code(start, end) == expected


def test_coarse_bounds_that_may_be_in_order_are_taken() -> None:
    entry = asserted("2020-06", "2020")
    assert entry.start_lo < entry.end_hi


def test_both_ends_unknown_is_never_empty() -> None:
    assert asserted("unknown", "unknown").start is Start.UNKNOWN


def test_a_refusal_points_at_the_bound_and_names_both_texts() -> None:
    with pytest.raises(Incorrect) as refused:
        asserted("2020-01-02", "2020-01-01")
    [violation] = refused.value.violations
    assert violation.pointer == "/valid_to"
    assert "'2020-01-02'" in violation.detail
    assert "'2020-01-01'" in violation.detail


# ---- replacements


def test_a_replacement_takes_what_it_does_not_state_from_what_it_replaces() -> None:
    first = stated("2018", None, "whole", "Asia/Tokyo")
    ended = stated("2019", "2020")
    assert inherit(stated(), start_from=first, end_from=ended) == stated("2018", "2020", "whole", "Asia/Tokyo")


def test_a_replacement_keeps_what_it_states() -> None:
    own = stated("2016", "2017", "sometime", "UTC")
    assert inherit(own, start_from=stated("2018", None, "whole"), end_from=stated("2019", "2020")) == own
