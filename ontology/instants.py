"""What an instant is: int64 microseconds since 1970 in UTC, with astronomical years, and how text names one.

A `datetime` holds only the years 1 to 9999, so nothing below the edge uses it: days are counted by the
proleptic Gregorian calendar (Hinnant, *chrono-compatible low-level date algorithms*), and a time zone is
asked only for the offset at one local midnight. A text that is no exact instant is a `Granule`.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Final, NewType
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ontology.errors import Incorrect, NaiveInstant, Violation, shown

Instant = NewType("Instant", int)

OPEN_START: Final = Instant(-(2**62))
OPEN_END: Final = Instant(2**62)
"""The sentinels of an open start and an open end. No instant that a text names reaches them."""

SECOND: Final = 1_000_000
DAY: Final = 86_400 * SECOND

_YEARS: Final = 140_000
_DATE: Final = re.compile(r"(?P<year>\d{4}|[+-]\d{4,6})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?", re.ASCII)
_TIME: Final = re.compile(
    r"(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,12}))?)?"
    r"(?P<zone>[Zz]|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)


class Semantics(StrEnum):
    """What a date names (rule 9): its first instant where it is a day, some instant inside it, or all of it."""

    DEFAULT = ""
    SOMETIME = "sometime"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True, kw_only=True)
class Granule:
    """The instants that a text may mean: from `earliest` up to `latest`, which are equal when it is exact."""

    earliest: Instant
    latest: Instant

    @property
    def exact(self) -> bool:
        return self.earliest == self.latest


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a proleptic Gregorian date; `year` is astronomical (0 is 1 BC)."""
    year -= month <= 2
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """(astronomical year, month, day) of a count of days from 1970-01-01; inverse of `days_from_civil`."""
    days += 719_468
    era = days // 146_097
    day_of_era = days - era * 146_097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


@lru_cache(maxsize=4096)
def format_instant(instant: Instant) -> str:
    """ISO 8601 in UTC, with six decimals only where there are microseconds; `±infinity` for the sentinels.

    Years before 0 and beyond 9999 carry a sign: `-0043-03-15T00:00:00Z`, `+012026-01-01T00:00:00Z`.
    """
    if instant <= OPEN_START or instant >= OPEN_END:
        return "infinity" if instant > 0 else "-infinity"
    days, rest = divmod(instant, DAY)
    seconds, micros = divmod(rest, SECOND)
    fraction = f".{micros:06d}" if micros else ""
    time = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}Z"
    return f"{format_date(*civil_from_days(days))}T{time}"


def format_date(year: int, month: int, day: int) -> str:
    """`YYYY-MM-DD`, with a signed year before 0 and beyond 9999."""
    signed = f"{year:04d}" if 0 <= year <= 9999 else f"-{-year:04d}" if year < 0 else f"+{year:06d}"
    return f"{signed}-{month:02d}-{day:02d}"


def parse_date(text: str) -> tuple[int, int | None, int | None]:
    """(astronomical year, month, day) of `YYYY`, `YYYY-MM` or `YYYY-MM-DD`; what is not given is `None`.

    Raises `Incorrect` for anything else and for a day that the calendar does not have.
    """
    match = _DATE.fullmatch(text)
    if match is None:
        raise _unreadable(text)
    year, month, day = (int(part) if part else None for part in match.group("year", "month", "day"))
    if year is None or match["year"] in ("-0000", "+0000"):
        raise _unreadable(text)
    _check_date(text, year, 1 if month is None else month, 1 if day is None else day)
    return year, month, day


@lru_cache(maxsize=4096)
def parse_bound(text: str, zone: str = "UTC", semantics: Semantics = Semantics.DEFAULT) -> Granule:
    """The granule that `text` names: a date in `zone`, or a date-time, which needs an offset of its own.

    A bare day is exact (its first instant in `zone`) unless `semantics` says otherwise; a year or a month
    is the whole granule. `infinity` and `-infinity` are the sentinels.
    Raises `NaiveInstant` for a date-time without an offset, `Incorrect` for what cannot be read.
    """
    if text in ("infinity", "-infinity"):
        end = OPEN_END if text == "infinity" else OPEN_START
        return Granule(earliest=end, latest=end)
    if len(text) > 64:
        raise _unreadable(text)
    if "T" in text or "t" in text or ":" in text or " " in text:
        instant = _date_time(text)
        return Granule(earliest=instant, latest=instant)
    year, month, day = parse_date(text)
    first = _midnight(year, month or 1, day or 1, zone)
    if day is not None:
        after = first if semantics is Semantics.DEFAULT else _next_midnight(year, month or 1, day, zone)
    elif month is not None:
        after = _midnight(year + month // 12, month % 12 + 1, 1, zone)
    else:
        after = _midnight(year + 1, 1, 1, zone)
    return Granule(earliest=first, latest=after)


def parse_instant(text: str, zone: str = "UTC") -> Instant:
    """The exact instant that `text` names: a date-time with an offset, or a bare day (its first instant in `zone`)."""
    granule = parse_bound(text, zone)
    if not granule.exact or granule.earliest in (OPEN_START, OPEN_END):
        raise _incorrect("inexact_instant", f"an exact instant is needed, got {shown(text)}; give a day or a date-time")
    return granule.earliest


def check_zone(name: str) -> str:
    """`name`, if it is a time zone of the IANA database; raises `Incorrect` if not."""
    _zone(name)
    return name


def _date_time(text: str) -> Instant:
    date, _, time = text.replace(" ", "T").replace("t", "T").partition("T")
    match = _TIME.fullmatch(time)
    if match is None or _DATE.fullmatch(date) is None:
        raise _unreadable(text)
    year, month, day = parse_date(date)
    if month is None or day is None:
        raise _unreadable(text)
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        raise _unreadable(text)
    if match["zone"] is None:
        raise NaiveInstant(
            f"the date-time {shown(text)} has no offset; add 'Z' or an offset such as '+02:00'",
            violations=(Violation(pointer="", code="naive_timestamp", detail=f"{shown(text)} has no offset"),),
        )
    fraction = (match["fraction"] or "").ljust(6, "0")
    if fraction[6:].strip("0"):
        raise _incorrect("too_precise", f"{shown(text)} is finer than a microsecond; give at most six decimals")
    seconds = days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
    return Instant((seconds - _offset_seconds(match["zone"], text)) * SECOND + int(fraction[:6]))


def _offset_seconds(zone: str, text: str) -> int:
    if zone in "Zz":
        return 0
    digits = zone[1:].replace(":", "").ljust(6, "0")
    hours, minutes, seconds = int(digits[:2]), int(digits[2:4]), int(digits[4:6])
    if hours > 23 or minutes > 59 or seconds > 59:
        raise _unreadable(text)
    return (hours * 3600 + minutes * 60 + seconds) * (-1 if zone[0] == "-" else 1)


def _check_date(text: str, year: int, month: int, day: int) -> None:
    if abs(year) > _YEARS:
        raise _incorrect("out_of_range", f"the year of {shown(text)} is beyond ±{_YEARS}; use 'infinity' for no end")
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not (1 <= month <= 12 and 1 <= day <= lengths[month - 1]):
        raise _incorrect("unreadable_date", f"the calendar has no {shown(text)}; check month and day")


def _midnight(year: int, month: int, day: int, zone: str) -> Instant:
    """The first instant of a local day; where a clock change skips midnight, by the offset before the change."""
    seconds = days_from_civil(year, month, day) * 86_400
    if zone == "UTC":
        return Instant(seconds * SECOND)
    # zone rules repeat every 400 years of the calendar, and `datetime` holds the years 1 to 9999 only
    year_in_reach = year if 1 <= year <= 9999 else (year % 400 or 400) + (0 if year < 1 else 9200)
    offset = datetime(year_in_reach, month, day, tzinfo=_zone(zone)).utcoffset()
    if offset is None:
        raise _incorrect("unknown_zone", f"the time zone {shown(zone)} has no offset; name one such as 'Europe/Madrid'")
    return Instant(seconds * SECOND - (offset.days * 86_400 + offset.seconds) * SECOND - offset.microseconds)


def _next_midnight(year: int, month: int, day: int, zone: str) -> Instant:
    return _midnight(*civil_from_days(days_from_civil(year, month, day) + 1), zone)


OF_THE_MACHINE: Final = ("localtime", "posixrules")
"""Files beside the zones that name none: what they hold differs from one machine to the next."""


@lru_cache(maxsize=512)
def _zone(name: str) -> ZoneInfo:
    try:
        if name in OF_THE_MACHINE or name.startswith(("posix/", "right/")):
            raise ValueError(name)
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise _incorrect("unknown_zone", f"no time zone {shown(name)}; name one such as 'Europe/Madrid'") from exc


def _unreadable(text: str) -> Incorrect:
    return _incorrect(
        "unreadable_date",
        f"cannot read {shown(text)} as a date; give '2026', '2026-06', '2026-06-30' or '2026-06-30T10:00:00Z'",
    )


def _incorrect(code: str, detail: str) -> Incorrect:
    return Incorrect(detail, violations=(Violation(pointer="", code=code, detail=detail),))
