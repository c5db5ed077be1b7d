"""Durations as ISO 8601 writes them, and what they come to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ontology.durations import DAYS_MAX, Micros, days, format_duration, parse_duration
from ontology.errors import Incorrect
from ontology.instants import DAY, SECOND

HOUR = 3_600 * SECOND


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("P30D", 30 * DAY),
        ("P2W", 14 * DAY),
        ("PT12H", 12 * HOUR),
        ("P1DT2H3M4S", DAY + 2 * HOUR + 3 * 60 * SECOND + 4 * SECOND),
        ("PT1S", SECOND),
        (f"P{DAYS_MAX}D", DAYS_MAX * DAY),
    ],
)
def test_a_duration_is_read(text: str, length: int) -> None:
    assert parse_duration(text, "/ttl") == length


@pytest.mark.parametrize(
    "text",
    ["", "P", "PT", "P1DT", "30D", "P-1D", "P1.5D", "P1Y", "P1M", "P1W2D", "p1d", "PT0S", "P0D", "P1D ", "P٣D",
     f"P{DAYS_MAX}DT1S", "P999999W", "PT" + "9" * 40 + "S"],
)  # fmt: skip
def test_what_is_none_is_refused_by_its_place(text: str) -> None:
    with pytest.raises(Incorrect) as refused:
        parse_duration(text, "/ttl")
    assert refused.value.violations[0].pointer == "/ttl"


@given(st.integers(1, DAYS_MAX * 86_400))
def test_what_is_written_is_read_back(seconds: int) -> None:
    length = Micros(seconds * SECOND)
    assert parse_duration(format_duration(length), "") == length


def test_whole_days_are_written_as_days() -> None:
    assert format_duration(days(7)) == "P7D"
