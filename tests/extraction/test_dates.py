"""Which date a phrase means, wherever the process runs."""

import calendar
import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidation.extraction.base import Code, Observed, observed
from consolidation.extraction.dates import PHRASE_CHARS_MAX, Lean, Reading, Resolved, Unresolved, resolve
from ontology.instants import format_instant, parse_bound
from tests.extraction.world import BOGOTA

ZONES = ["UTC", "America/Bogota", "Europe/Madrid", "Pacific/Kiritimati", "Pacific/Midway", "America/Sao_Paulo"]


def text_of(phrase: str, at: Observed | None = BOGOTA, lean: Lean = Lean.PAST) -> str | None:
    reading = resolve(phrase, at, lean)
    return reading.text if isinstance(reading, Resolved) else None


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("yesterday", "2024-11-17"),
        ("today", "2024-11-18"),
        ("the day before yesterday", "2024-11-16"),
        ("tomorrow", "2024-11-19"),
        ("in two weeks", "2024-12-02"),
        ("a fortnight ago", "2024-11-04"),
        ("in 10 days", "2024-11-28"),
        ("two months ago", "2024-09"),
        ("last month", "2024-10"),
        ("last year", "2023"),
        ("next year", "2025"),
        ("3 years ago", "2021"),
        ("in March", "2024-03"),
        ("December", "2023-12"),
        ("last November", "2023-11"),
        ("next November", "2025-11"),
        ("next March", "2025-03"),
        ("March 2025", "2025-03"),
        ("since March, 2025", "2025-03"),
        ("30 June 2026", "2026-06-30"),
        ("the 30th of June 2026", "2026-06-30"),
        ("June 30th, 2026", "2026-06-30"),
        ("Dec 24", "2023-12-24"),
        ("on Monday", "2024-11-18"),
        ("Tuesday", "2024-11-12"),
        ("last Monday", "2024-11-11"),
        ("next Monday", "2024-11-25"),
        ("30/06/2026", "2026-06-30"),
        ("6/30/2026", "2026-06-30"),
        ("30.06.2026", "2026-06-30"),
        ("03/03/2026", "2026-03-03"),
        ("2026-06-30", "2026-06-30"),
        ("2026-06", "2026-06"),
        ("in 2019", "2019"),
        ("2026-06-30T10:00:00+02:00", "2026-06-30T10:00:00+02:00"),
        ("2026-06-30 10:00", "2026-06-30T15:00:00Z"),
        ("yesterday at 5 pm", "2024-11-17T22:00:00Z"),
        ("June 30, 2026 at 14:30", "2026-06-30T19:30:00Z"),
        ("three hours ago", "2024-11-19T01:40:00Z"),
        ("now", "2024-11-19T04:40:00Z"),
        ("  YESTERDAY, ", "2024-11-17"),
    ],
)
def test_a_phrase_keeps_its_precision(phrase: str, text: str) -> None:
    assert text_of(phrase) == text
    parse_bound(text)


@pytest.mark.parametrize(
    ("phrase", "why"),
    [
        ("03/04/2026", "day 3 of month 4 or day 4 of month 3"),
        ("03.04.2026", "day 3 of month 4"),
        ("3-4-2026", "day 3 of month 4"),
        ("30/06/26", "two digits"),
        ("2026-02-30", "calendar"),
        ("31 June 2026", "calendar"),
        ("Feb 29, 2023", "calendar"),
        ("29/02/2023", "calendar"),
        ("2026-06-30 25:00", "calendar"),
        ("soon", "no date"),
        ("12", "no date"),
        ("1990s", "no date"),
        ("the 5th", "no date"),
        ("", "no date"),
        ("yesterday " * 20, "no date"),
        ("\x00", "no date"),
        ("in 999 years at 5 pm", "no date"),
    ],
)
def test_what_is_ambiguous_or_no_date_is_told_and_not_guessed(phrase: str, why: str) -> None:
    reading = resolve(phrase, BOGOTA, Lean.PAST)

    assert isinstance(reading, Unresolved)
    assert why in reading.detail


@pytest.mark.parametrize("phrase", ["yesterday", "in two weeks", "last year", "in March", "now", "Monday", "at 5 pm"])
def test_without_a_time_of_saying_nothing_relative_is_read(phrase: str) -> None:
    assert isinstance(resolve(phrase, None, Lean.PAST), Unresolved)


@pytest.mark.parametrize("phrase", ["2026-06-30", "June 2026", "30 June 2026", "2026"])
def test_without_a_time_of_saying_a_whole_date_is_read(phrase: str) -> None:
    reading = resolve(phrase, None, Lean.NONE)

    assert isinstance(reading, Resolved)
    assert reading.zone is None


def test_a_year_that_is_assumed_is_told_and_only_where_the_past_is_meant() -> None:
    for phrase in ("in March", "30 June", "Monday"):
        reading = resolve(phrase, BOGOTA, Lean.PAST)
        assert isinstance(reading, Resolved)
        assert reading.code is Code.ASSUMED_DATE
        assert isinstance(resolve(phrase, BOGOTA, Lean.NONE), Unresolved)
    with_clock = resolve("30 June at 5 pm", BOGOTA, Lean.PAST)
    assert isinstance(with_clock, Resolved)
    assert with_clock.code is Code.ASSUMED_DATE


def test_a_week_is_kept_as_what_holds_all_of_it() -> None:
    assert [text_of(phrase) for phrase in ("last week", "next week")] == ["2024-11", "2024"]
    at_new_year = observed("2025-01-02T12:00:00Z", "UTC")
    assert text_of("this week", at_new_year) is None
    assert text_of("last week", at_new_year) == "2024-12"
    reading = resolve("last week", BOGOTA, Lean.PAST)
    assert isinstance(reading, Resolved)
    assert reading.code is Code.COARSENED_DATE


@pytest.mark.parametrize(
    ("said", "zone", "phrase", "text"),
    [
        # nights on which the clocks change, in both directions
        ("2025-03-30T00:30:00Z", "Europe/Madrid", "yesterday", "2025-03-29"),
        ("2025-03-30T21:59:59Z", "Europe/Madrid", "today", "2025-03-30"),
        ("2025-10-26T00:30:00Z", "Europe/Madrid", "today", "2025-10-26"),
        ("2025-10-26T01:30:00Z", "Europe/Madrid", "2 hours ago", "2025-10-25T23:30:00Z"),
        ("2025-03-30T01:30:00Z", "Europe/Madrid", "in one hour", "2025-03-30T02:30:00Z"),
        # midnight is skipped there
        ("2018-11-04T03:30:00Z", "America/Sao_Paulo", "today", "2018-11-04"),
        ("2018-11-05T03:30:00Z", "America/Sao_Paulo", "yesterday", "2018-11-04"),
        # the 30th of December 2011 was left out in Samoa
        ("2011-12-31T10:00:00Z", "Pacific/Apia", "today", "2012-01-01"),
        # year boundaries
        ("2024-12-31T23:59:59.999999Z", "UTC", "tomorrow", "2025-01-01"),
        ("2025-01-01T00:00:00Z", "UTC", "yesterday", "2024-12-31"),
        ("2025-01-01T00:00:00Z", "America/Bogota", "last year", "2023"),
        ("2025-01-01T05:00:00Z", "America/Bogota", "last year", "2024"),
        ("2025-01-31T12:00:00Z", "UTC", "last month", "2024-12"),
        ("2025-12-15T12:00:00Z", "UTC", "next month", "2026-01"),
        # leap days
        ("2024-02-29T12:00:00Z", "UTC", "last year", "2023"),
        ("2024-03-01T12:00:00Z", "UTC", "yesterday", "2024-02-29"),
        ("2023-03-01T12:00:00Z", "UTC", "yesterday", "2023-02-28"),
        ("2025-03-31T12:00:00Z", "UTC", "last month", "2025-02"),
        ("2026-05-01T12:00:00Z", "UTC", "Feb 29", "2024-02-29"),
        ("1900-03-01T12:00:00Z", "UTC", "yesterday", "1900-02-28"),
    ],
)
def test_nights_and_years_that_are_not_like_others(said: str, zone: str, phrase: str, text: str) -> None:
    assert text_of(phrase, observed(said, zone)) == text


@pytest.mark.parametrize("phrase", ["2025-03-30 02:30", "2025-10-26 02:30", "today at 2:30"])
def test_an_hour_that_the_clock_shows_twice_or_never_is_told(phrase: str) -> None:
    reading = resolve(phrase, observed("2025-10-26T20:00:00Z", "Europe/Madrid"), Lean.PAST)

    assert isinstance(reading, Unresolved)
    assert "twice or never" in reading.detail


def test_an_offset_stands_for_a_zone_where_none_is_told() -> None:
    behind = resolve("yesterday", observed("2024-11-18T23:40:00-05:00"), Lean.PAST)
    ahead = resolve("last year", observed("2024-11-18T23:40:00+14:00"), Lean.PAST)
    utc = resolve("yesterday", observed("2024-11-18T23:40:00Z"), Lean.PAST)
    half = resolve("yesterday", observed("2024-11-18T23:40:00+05:30"), Lean.PAST)
    coarse = resolve("last year", observed("2024-11-18T23:40:00+05:30"), Lean.PAST)
    assert [each.zone for each in (behind, ahead, utc) if isinstance(each, Resolved)] == [
        "Etc/GMT+5",
        "Etc/GMT-14",
        "UTC",
    ]
    assert isinstance(behind, Resolved)
    assert parse_bound(behind.text, behind.zone or "").earliest == parse_bound("2024-11-17T05:00:00Z").earliest
    assert isinstance(half, Resolved)
    assert half.text == "2024-11-16T18:30:00Z"
    assert isinstance(coarse, Resolved)
    assert (coarse.text, coarse.zone, coarse.code) == ("2023", None, Code.ASSUMED_DATE)


@pytest.mark.parametrize("said", ["-0043-03-15T12:00:00Z", "+012026-01-01T00:00:00Z"])
def test_a_time_beyond_the_calendar_of_the_machine_is_told(said: str) -> None:
    assert isinstance(resolve("yesterday", observed(said, "UTC"), Lean.PAST), Unresolved)
    assert text_of("2026-06-30", observed(said, "UTC")) == "2026-06-30"


@pytest.mark.parametrize("said", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
@pytest.mark.parametrize(
    "phrase", ["yesterday", "tomorrow", "last year", "next year", "in 999 years", "an hour ago", "last week", "Monday"]
)
def test_the_ends_of_the_calendar_break_nothing(said: str, phrase: str) -> None:
    resolve(phrase, observed(said, "Pacific/Kiritimati"), Lean.PAST)


PROGRAM = """
from consolidation.extraction.base import observed
from consolidation.extraction.dates import Lean, resolve
at = observed("2024-11-18T23:40:00-05:00", "America/Bogota")
for phrase in ("yesterday", "in two weeks", "now", "last year", "in March", "Monday", "2 hours ago", "at 5 pm",
               "2026-06-30 10:00", "30 June", "30 June 2026", "last week", "next Monday", "03/04/2026"):
    print(resolve(phrase, at, Lean.PAST), resolve(phrase, None, Lean.NONE))
"""


def test_the_zone_and_the_clock_of_the_process_do_not_count() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-W", "error", "-c", PROGRAM],
            env={**os.environ, "TZ": zone},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for zone in ("UTC", "Pacific/Midway", "Pacific/Kiritimati")
    }

    (one,) = told
    assert "'2024-11-17'" in one
    assert "2026" not in one.split("'2026-06-30T15:00:00Z'")[0]


moments = st.integers(-2_050_000_000, 3_940_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
zones = st.sampled_from(ZONES)


def local_day(moment: datetime, zone: str) -> date:
    return moment.astimezone(ZoneInfo(zone)).date()


@given(moments, zones, st.integers(0, 999), st.sampled_from(["days", "weeks"]), st.booleans())
def test_days_and_weeks_are_counted_on_the_local_calendar(
    moment: datetime, zone: str, count: int, unit: str, ago: bool
) -> None:
    phrase = f"{count} {unit} ago" if ago else f"in {count} {unit}"
    days = count * (7 if unit == "weeks" else 1)

    text = text_of(phrase, observed(moment.isoformat(), zone))

    assert text == str(local_day(moment, zone) + timedelta(days=-days if ago else days))


@given(moments, zones, st.integers(0, 999), st.booleans())
def test_months_are_counted_on_the_local_calendar(moment: datetime, zone: str, count: int, ago: bool) -> None:
    day = local_day(moment, zone)
    months = day.year * 12 + day.month - 1 + (-count if ago else count)

    text = text_of(f"{count} months ago" if ago else f"in {count} months", observed(moment.isoformat(), zone))

    assert text == f"{months // 12:04d}-{months % 12 + 1:02d}"


@given(moments, zones, st.integers(0, 999), st.sampled_from(["hours", "minutes"]), st.booleans())
def test_hours_are_counted_in_real_time(moment: datetime, zone: str, count: int, unit: str, ago: bool) -> None:
    at = observed(moment.isoformat(), zone)
    micros = count * (3600 if unit == "hours" else 60) * 1_000_000

    text = text_of(f"{count} {unit} ago" if ago else f"in {count} {unit}", at)

    assert text == format_instant(type(at.instant)(at.instant + (-micros if ago else micros)))


@given(moments, zones, st.integers(1, 12), st.integers(0, 6))
def test_the_last_month_and_weekday_of_a_name_have_begun(moment: datetime, zone: str, month: int, weekday: int) -> None:
    day, at = local_day(moment, zone), observed(moment.isoformat(), zone)

    assert text_of(f"in {calendar.month_name[month]}", at) == f"{day.year - (month > day.month):04d}-{month:02d}"
    assert text_of(f"on {calendar.day_name[weekday]}", at) == str(day - timedelta(days=(day.weekday() - weekday) % 7))


@given(st.text(max_size=PHRASE_CHARS_MAX + 5), st.none() | moments, zones, st.sampled_from(Lean))
def test_no_phrase_breaks_and_what_is_read_is_a_bound(
    phrase: str, moment: datetime | None, zone: str, lean: Lean
) -> None:
    at = None if moment is None else observed(moment.isoformat(), zone)
    reading: Reading = resolve(phrase, at, lean)

    assert reading == resolve(phrase, at, lean)
    if isinstance(reading, Resolved):
        parse_bound(reading.text, reading.zone or "UTC")
    else:
        assert reading.detail


WORDS = """
in on since last next this two 3 12 31 1999 2024 ago days weeks months years hours march may monday the of at 5pm
17:30 am yesterday now day before after 2024-02-30 30/02/2024 31/12/9999 0000 february 29 st th , . -
"""
words = st.lists(st.sampled_from(sorted(WORDS.split())), max_size=6).map(" ".join)


@given(words, moments, zones, st.sampled_from(Lean))
def test_no_row_of_date_words_breaks(phrase: str, moment: datetime, zone: str, lean: Lean) -> None:
    reading = resolve(phrase, observed(moment.isoformat(), zone), lean)

    if isinstance(reading, Resolved):
        parse_bound(reading.text, reading.zone or "UTC")
