"""Which instants do the words of a question ask at?"""

from typing import Final

import pytest

from consolidation.questions import DATES_MAX, Axis, Instants, instants_of
from ontology.instants import Instant, format_instant, parse_instant

NOW: Final = parse_instant("2026-06-17T12:00:00Z")  # a Wednesday
NIGHT: Final = "2026-06-14T23:59:59.999999Z"


def asked(question: str, zone: str = "UTC", now: Instant = NOW) -> Instants:
    return instants_of(question, now, zone, lambda side, event, known_at: f"nobody can date {event}")


def at(instants: Instants) -> tuple[str | None, str | None]:
    valid_at, known_at = instants.valid_at, instants.known_at
    return (
        None if valid_at is None else format_instant(valid_at), None if known_at is None else format_instant(known_at)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("question", "valid_at"),
    [
        ("Where did Mira live on 2 June?", "2026-06-02T00:00:00Z"),
        ("Where did Mira live on 2 June 2025?", "2025-06-02T00:00:00Z"),
        ("Where did Mira live on 2026-05-01?", "2026-05-01T00:00:00Z"),
        ("Where was Mira at 2026-05-01T10:00:00+02:00?", "2026-05-01T08:00:00Z"),
        ("What did Mira do yesterday?", "2026-06-16T00:00:00Z"),
        ("Where was she two weeks ago?", "2026-06-03T00:00:00Z"),
        ("Where will she be in three days?", "2026-06-20T00:00:00Z"),
        ("Where was she last week?", NIGHT),
        ("Where is she this week?", "2026-06-17T12:00:00Z"),
        ("Where will she be next week?", "2026-06-28T23:59:59.999999Z"),
        ("Where did Mira live in May?", "2026-05-31T23:59:59.999999Z"),
        ("Where did Mira live in December?", "2025-12-31T23:59:59.999999Z"),
        ("Where does Mira live in June?", "2026-06-17T12:00:00Z"),
        ("Where did Mira live in 2020?", "2020-12-31T23:59:59.999999Z"),
        ("Where did Mira live last year?", "2025-12-31T23:59:59.999999Z"),
        ("Where did Mira live before 2 June?", "2026-06-01T23:59:59.999999Z"),
        ("Where did Mira live before May 2026?", "2026-04-30T23:59:59.999999Z"),
        ("Where did Mira live after 2 June?", "2026-06-03T00:00:00Z"),
        ("Where did Mira live after May?", "2026-06-01T00:00:00Z"),
        ("Do you know where Mira lived in May?", "2026-05-31T23:59:59.999999Z"),
        ("Where does Mira live now?", "2026-06-17T12:00:00Z"),
        ("Where does Mira live today?", "2026-06-17T12:00:00Z"),
        ("Where did Mira live before today?", "2026-06-16T23:59:59.999999Z"),
        ("Where did Mira live at the end of February?", "2026-02-28T23:59:59.999999Z"),
        ("Where did Mira live at the end of February 2024?", "2024-02-29T23:59:59.999999Z"),
        ("Where did Mira live at the beginning of last month?", "2026-05-01T00:00:00Z"),
        ("Where will Mira live at the end of this week?", "2026-06-21T23:59:59.999999Z"),
        ("Where did Mira live in 2026-W10?", "2026-03-08T23:59:59.999999Z"),
        ("Where did Mira live in week 10 of 2026?", "2026-03-08T23:59:59.999999Z"),
        ("Where did Mira live before week 10 of 2026?", "2026-03-01T23:59:59.999999Z"),
        ("Where did Mira live in the year 2020?", "2020-12-31T23:59:59.999999Z"),
        ("The deadline of Mira 1 June 2026?", "2026-06-01T00:00:00Z"),
        ("The deadline of Mira, June 1, 2026?", "2026-06-01T00:00:00Z"),
        ("Where was Mira on 2026-06-02 23:59 UTC?", "2026-06-02T23:59:00Z"),
        ("Who works in week 10?", None),
        ("Which 2 ad campaigns ran?", None),
        ("Where does Mira live?", None),
        ("May I call Mira?", None),
        ("Who saw Blade Runner 2049 with March Hare?", None),
        ("Does Mira live at 12 June Street, flat 2020?", None),
        ("Who is at the end of the line?", None),
    ],
)
def test_a_date_in_a_question_says_when_it_holds(question: str, valid_at: str | None) -> None:
    assert at(asked(question)) == (valid_at, None)


@pytest.mark.parametrize(
    ("question", "valid_at", "known_at"),
    [
        ("Where does Mira live, as we knew last week?", None, NIGHT),
        ("What did we believe on 2 June about 10 June?", "2026-06-10T00:00:00Z", "2026-06-02T00:00:00Z"),
        ("What did we know about Mira on 2 June?", None, "2026-06-02T00:00:00Z"),
        ("Where did Mira live in May, as known on 2 June?", "2026-05-31T23:59:59.999999Z", "2026-06-02T00:00:00Z"),
        ("Her deadline as it was recorded yesterday", None, "2026-06-16T00:00:00Z"),
        ("What did you think in May?", None, "2026-05-31T23:59:59.999999Z"),
    ],
)
def test_words_of_knowing_say_when_it_was_known(question: str, valid_at: str | None, known_at: str) -> None:
    assert at(asked(question)) == (valid_at, known_at)


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("Where has Mira lived since 2020?", "stretch"),
        ("Where did she live between 2 June and 5 June?", "stretch"),
        ("Where did she live until May?", "stretch"),
        ("Where was she on 1/2/2026?", "can be day 1 of month 2"),
        ("Where did she live on 31 February 2026?", "no "),
        ("Where was she before the move?", "nobody can date move"),
        ("Where was she after Mira's last move?", "nobody can date last move"),
        ("Where did Mira live before she moved?", "nobody can date moved"),
        ("Where did she live before Mira Duarte moved to Lisbon?", "nobody can date moved"),
        ("Where did Mira live before she last moved?", "nobody can date last moved"),
        ("Where did Mira live before moving?", "nobody can date moving"),
        ("Where did Mira live prior to the move?", "nobody can date move"),
        ("Where did Mira live before she left?", "nobody can date left"),
        ("What will we know? What did we know next week?", "future"),
        ("Where was she on 2 June, and on 3 June?", "several times"),
        ("Where was she in 2026-W60?", "no week 60"),
        ("Where was she on 2026-06-02 23:59 CEST?", "offset"),
        ("Where was she on 1 June 99999?", "not read"),
        ("Where was she on 1 June 3000?", "not read"),
        ("Where was she before 1 June 3000?", "not read"),
        ("Where was she on 20260602?", "not read"),
        ("Where was she in June 800?", "not read"),
        ("Where was she in 2020 BC?", "not read"),
        ("Where was she in June 44 BC?", "not read"),
        ("Where was she on 15 March 2020 BC?", "not read"),
        ("Where was she on -0044-03-15?", "not read"),
        ("Where was she in the year 0?", "not read"),
        ("Where was she 99999999999999999999 days ago?", "not read"),
        ("Where will she be in 10 billion years?", "not read"),
    ],
)
def test_what_can_be_meant_in_two_ways_or_in_none_is_not_used_and_told(question: str, note: str) -> None:
    instants = asked(question)

    assert at(instants) == (None, None)
    assert all(each.instant is None for each in instants.dates)
    assert note in instants.dates[0].note


def test_the_same_date_twice_is_one_date() -> None:
    assert at(asked("On 2 June, where was Mira on 2 June?")) == ("2026-06-02T00:00:00Z", None)


def test_days_weeks_and_months_are_those_of_the_zone() -> None:
    late = parse_instant("2026-06-15T02:00:00Z")  # still Sunday in Bogota, long Monday in Auckland

    assert at(asked("yesterday", "America/Bogota", late)) == ("2026-06-13T05:00:00Z", None)
    assert at(asked("yesterday", "Pacific/Auckland", late)) == ("2026-06-13T12:00:00Z", None)
    assert at(asked("last week", "America/Bogota", late)) == ("2026-06-08T04:59:59.999999Z", None)
    assert at(asked("last week", "Pacific/Auckland", late)) == ("2026-06-14T11:59:59.999999Z", None)
    assert at(asked("in May", "America/Bogota", late)) == ("2026-06-01T04:59:59.999999Z", None)


def test_what_the_words_name_is_told_with_its_stretch() -> None:
    [date] = asked("Where was she in May?").dates

    assert date.words == "in May"
    assert date.axis is Axis.VALID
    assert date.stretch is not None
    assert format_instant(date.stretch.earliest) == "2026-05-01T00:00:00Z"
    assert format_instant(date.stretch.latest) == "2026-06-01T00:00:00Z"
    assert "2026-05" in date.note


def test_an_event_is_asked_for_with_its_side_and_as_known_then() -> None:
    heard: list[tuple[str, str, Instant | None]] = []

    def date_of(side: str, event: str, known_at: Instant | None) -> Instant | str:
        heard.append((side, event, known_at))
        return Instant(7)

    question = "Where did Mira live before the move, as we knew on 2 June?"
    found = instants_of(question, NOW, "UTC", date_of)

    assert heard == [("before", "move", parse_instant("2026-06-02"))]
    assert (found.valid_at, found.known_at) == (7, parse_instant("2026-06-02"))


def test_a_long_question_is_looked_through_in_no_time_and_only_so_far() -> None:
    assert at(asked("before the " * 2_000 + "on 2 June")) == (None, None)
    assert at(asked("x " * 1_900 + "on 2 June")) == ("2026-06-02T00:00:00Z", None)


def test_a_clock_at_the_end_of_the_calendar_is_survived() -> None:
    last = parse_instant("9999-12-31T23:00:00Z")

    for question in ("next week", "this week", "yesterday", "in three days", "next month", "on Friday"):
        asked(question, "Pacific/Auckland", last)
        asked(question, "America/Bogota", last)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What did tea cost in early May 2026?", "in early May 2026"),
        ("What did tea cost mid-May 2026?", "mid-May 2026"),
        ("What did tea cost in the last week of May?", "in the last week of May"),
        ("What did tea cost 1 year and 2 months ago?", "1 year and 2 months ago"),
        ("What did tea cost in Q1 2026?", "in Q1 2026"),
        ("What did tea cost last quarter?", "last quarter"),
        ("What did tea cost last summer?", "last summer"),
        ("What did tea cost in the last 3 months?", "in the last 3 months"),
        ("Tea price 15 May", "15 May"),
        ("What did tea cost after the end of May?", "after the end of May"),
    ],
)
def test_a_time_that_is_not_read_is_told_and_no_part_of_it_is_taken(question: str, words: str) -> None:
    found = asked(question)

    assert at(found) == (None, None)
    assert [each.words for each in found.dates] == [words]
    assert found.dates[0].note


def test_a_time_that_is_said_to_be_of_utc_is_of_utc_in_every_zone() -> None:
    assert at(asked("Where was Mira on 2026-06-02 23:59 UTC?", "Europe/Vienna")) == ("2026-06-02T23:59:00Z", None)


def test_a_question_of_dates_alone_is_read_up_to_a_number_of_them() -> None:
    assert len(asked("on 1 June 9 " * 300).dates) == DATES_MAX
