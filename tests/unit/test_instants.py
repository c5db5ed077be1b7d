"""Instants as text and as integers: calendar, precision, zones, and what is refused."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ontology.errors import Incorrect, NaiveInstant
from ontology.instants import (
    DAY,
    OPEN_END,
    OPEN_START,
    SECOND,
    Granule,
    Instant,
    Semantics,
    check_zone,
    civil_from_days,
    days_from_civil,
    format_date,
    format_instant,
    parse_bound,
    parse_date,
    parse_instant,
)

YEARS = st.integers(-140_000, 140_000)
INSTANTS = st.integers(-138_000 * 366 * DAY, 138_000 * 365 * DAY).map(Instant)


def code(text: str, zone: str = "UTC") -> str:
    """The code with which a text is refused."""
    with pytest.raises(Incorrect) as refused:
        parse_bound(text, zone)
    return refused.value.violations[0].code


def bounds(text: str, zone: str = "UTC", semantics: Semantics = Semantics.DEFAULT) -> tuple[str, str]:
    granule = parse_bound(text, zone, semantics)
    return format_instant(granule.earliest), format_instant(granule.latest)


# ---- the calendar


@given(day=st.dates())
def test_days_are_those_of_the_proleptic_gregorian_calendar(day: date) -> None:
    assert days_from_civil(day.year, day.month, day.day) == (day - date(1970, 1, 1)).days


@given(days=st.integers(-51_000_000, 51_000_000))
def test_a_count_of_days_and_its_date_are_inverse(days: int) -> None:
    assert days_from_civil(*civil_from_days(days)) == days


@given(days=st.integers(-40_000_000, 40_000_000))
def test_the_calendar_repeats_every_400_years(days: int) -> None:
    year, month, day = civil_from_days(days)
    assert civil_from_days(days + 146_097) == (year + 400, month, day)


def test_the_year_0_is_a_leap_year() -> None:
    assert parse_date("0000-02-29") == (0, 2, 29)
    assert civil_from_days(days_from_civil(0, 2, 28) + 1) == (0, 2, 29)


@given(moment=st.datetimes(timezones=st.just(UTC)))
def test_an_instant_counts_microseconds_since_1970(moment: datetime) -> None:
    expected = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert parse_instant(moment.isoformat()) == expected


# ---- text and back


@given(instant=INSTANTS)
def test_the_text_of_an_instant_reads_back_as_it(instant: Instant) -> None:
    assert parse_instant(format_instant(instant)) == instant


@given(first=INSTANTS, second=INSTANTS)
def test_different_instants_have_different_texts(first: Instant, second: Instant) -> None:
    assert (format_instant(first) == format_instant(second)) is (first == second)


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (1, "1970-01-01T00:00:00.000001Z"),
        (days_from_civil(-43, 3, 15) * DAY, "-0043-03-15T00:00:00Z"),
        (days_from_civil(0, 1, 1) * DAY, "0000-01-01T00:00:00Z"),
        (days_from_civil(12_026, 1, 1) * DAY, "+012026-01-01T00:00:00Z"),
        (OPEN_START, "-infinity"),
        (OPEN_END, "infinity"),
    ],
)
def test_instants_are_written_in_utc_with_signed_years_where_they_need_a_sign(instant: int, text: str) -> None:
    assert format_instant(Instant(instant)) == text
    assert parse_bound(text) == Granule(earliest=Instant(instant), latest=Instant(instant))


def test_dates_are_written_with_signed_years_where_they_need_a_sign() -> None:
    assert [format_date(year, 2, 3) for year in (2026, 7, -1, 10_000)] == [
        "2026-02-03",
        "0007-02-03",
        "-0001-02-03",
        "+010000-02-03",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "2026-06-30T10:00:00Z", "2026-06-30t10:00:00z", "2026-06-30 10:00:00Z", "2026-06-30T10:00Z",
        "2026-06-30T12:00:00+02:00", "2026-06-30T12:00+0200", "2026-06-30T12:00+02", "2026-06-30T10:00:00.000Z",
        "2026-06-30T10:00:00,000000Z", "2026-06-29T23:30:00-10:30", "2026-06-30T10:00:00.000000000Z",
    ],
)  # fmt: skip
def test_one_instant_has_many_texts(text: str) -> None:
    assert format_instant(parse_instant(text)) == "2026-06-30T10:00:00Z"


# ---- precision


def test_a_year_and_a_month_name_some_instant_inside() -> None:
    assert bounds("2018") == ("2018-01-01T00:00:00Z", "2019-01-01T00:00:00Z")
    assert bounds("2018-05") == ("2018-05-01T00:00:00Z", "2018-06-01T00:00:00Z")
    assert bounds("2018-12") == ("2018-12-01T00:00:00Z", "2019-01-01T00:00:00Z")


def test_a_bare_day_is_its_first_instant_unless_its_semantics_say_otherwise() -> None:
    assert bounds("2018-05-21") == ("2018-05-21T00:00:00Z",) * 2
    for semantics in (Semantics.SOMETIME, Semantics.WHOLE):
        day = bounds("2018-05-21", semantics=semantics)
        assert day == ("2018-05-21T00:00:00Z", "2018-05-22T00:00:00Z")


def test_a_date_time_is_exact_whatever_its_semantics() -> None:
    for semantics in Semantics:
        assert parse_bound("2018-05-21T10:00:00Z", "UTC", semantics).exact


@given(year=st.integers(-9_999, 9_999), month=st.integers(1, 12))
def test_months_fill_their_year(year: int, month: int) -> None:
    written = f"{year:04d}" if year >= 0 else f"-{-year:04d}"
    if year == 0 and written == "-0000":
        return
    whole, part = parse_bound(written), parse_bound(f"{written}-{month:02d}")
    assert whole.earliest <= part.earliest < part.latest <= whole.latest
    assert (part.earliest == whole.earliest) is (month == 1)
    assert (part.latest == whole.latest) is (month == 12)


def test_only_exact_texts_are_instants() -> None:
    assert parse_instant("2018-05-21") == parse_instant("2018-05-21T00:00:00Z")
    for text in ("2018", "2018-05", "infinity", "-infinity"):
        with pytest.raises(Incorrect) as refused:
            parse_instant(text)
        assert refused.value.violations[0].code == "inexact_instant"


# ---- zones


def test_a_date_begins_at_midnight_in_its_zone() -> None:
    assert bounds("2026-06-30", "Asia/Tokyo")[0] == "2026-06-29T15:00:00Z"
    assert bounds("2026", "America/New_York") == ("2026-01-01T05:00:00Z", "2027-01-01T05:00:00Z")


def test_a_day_on_which_the_clock_changes_is_shorter_or_longer() -> None:
    def hours(text: str) -> float:
        granule = parse_bound(text, "Europe/Madrid", Semantics.WHOLE)
        return (granule.latest - granule.earliest) / SECOND / 3600

    assert [hours(text) for text in ("2026-03-29", "2026-10-25", "2026-06-01")] == [23, 25, 24]


def test_where_midnight_does_not_exist_the_day_begins_when_the_clock_jumps() -> None:
    # Lebanon moves its clock from 0:00 to 1:00 on 26 March 2023
    assert bounds("2023-03-26", "Asia/Beirut")[0] == "2023-03-25T22:00:00Z"


def test_zones_work_in_years_that_no_datetime_has() -> None:
    assert bounds("-0043-03-15", "UTC")[0] == "-0043-03-15T00:00:00Z"
    assert bounds("+012026-07-01", "Europe/Madrid")[0] == "+012026-06-30T22:00:00Z"
    assert bounds("9999", "Asia/Tokyo")[1] == "9999-12-31T15:00:00Z"


def test_an_unknown_zone_is_refused() -> None:
    for zone in ("Mars/Olympus", "", "../etc/passwd", "UTC\0", "localtime", "posixrules", "right/Europe/Madrid"):
        assert code("2026-06-30", zone) == "unknown_zone"
    assert check_zone("Europe/Madrid") == "Europe/Madrid"


# ---- what is refused


def test_a_date_time_without_an_offset_names_no_instant() -> None:
    with pytest.raises(NaiveInstant) as refused:
        parse_bound("2026-06-30T10:00:00")
    assert refused.value.violations[0].code == "naive_timestamp"


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "now", "2026-6-30", "26-06-30", "2026/06/30", "2026-06-30T", "2026-06-30Z", "2026-06T10:00Z",
        "T10:00Z", "2026-06-30T24:00:00Z", "2026-06-30T10:60:00Z", "2026-06-30T10:00:60Z", "2026-06-30T10Z",
        "2026-06-30T10:00:00+24:00", "-0000", "+0000-01", "2026-06-30T10:00:00Zz", "２０２６", "2026-W05",
        "2026-06-30\n", "x" * 10_000,
    ],
)  # fmt: skip
def test_unreadable_texts_are_refused(text: str) -> None:
    assert code(text) == "unreadable_date"


@pytest.mark.parametrize(
    "text", ["2026-02-29", "2026-13", "2026-00", "2026-00-01", "2026-04-31", "1900-02-29", "2026-01-00"]
)
def test_days_that_the_calendar_does_not_have_are_refused(text: str) -> None:
    assert code(text) == "unreadable_date"


def test_what_is_finer_than_a_microsecond_is_refused_unless_it_is_zero() -> None:
    assert code("2026-06-30T10:00:00.0000001Z") == "too_precise"
    assert parse_instant("2026-06-30T10:00:00.0000010Z") == parse_instant("2026-06-30T10:00:00.000001Z")


@given(year=YEARS)
def test_years_up_to_140_000_lie_between_the_open_ends(year: int) -> None:
    written = f"{year:+07d}" if year else "0000"
    granule = parse_bound(written)
    assert OPEN_START < granule.earliest < granule.latest < OPEN_END


def test_years_beyond_are_refused() -> None:
    assert [code(text) for text in ("+140001", "-140001-01-01")] == ["out_of_range"] * 2
