"""Which date a phrase means, said at a time and in a zone, as a text that `ontology.instants.parse_bound` reads.

`dateparser` reads the words, but only phrases of a shape that is known here: it would find a date in a flat
number too. It is given the local time of the speaker, so the clock and the zone of the process never count.
The precision stays that of the phrase: `yesterday` is a day, `in March` a month, `last year` a year. What can
be read in two ways is not read at all.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from enum import Enum
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from consolidation.extraction.base import Code, Observed
from ontology.errors import Incorrect, shown
from ontology.instants import Granule, Instant, days_from_civil, format_instant, parse_bound

PHRASE_CHARS_MAX: Final = 80


class Lean(Enum):
    """Which year a phrase without one means."""

    PAST = "past"
    """The last one that has begun, for what is told as having happened; a note tells that it was assumed."""
    NONE = "none"
    """None: it stays unresolved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A date as stated text, and the zone in which it is meant."""

    text: str
    zone: str | None
    """`None` where nothing depends on it, or nobody told."""
    code: Code | None
    """What is to be noted of it, with `detail`; `None` if nothing."""
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unresolved:
    """Why a phrase names no date."""

    detail: str


Reading: TypeAlias = Resolved | Unresolved

# The shapes; a blank stands for one or more

_MONTH: Final = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY: Final = "(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_COUNT: Final = "(?:[0-9]{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_DAY: Final = "[0-9]{1,2}(?:st|nd|rd|th)?"
_YEAR: Final = "[12][0-9]{3}"
_CLOCK: Final = "(?:[0-9]{1,2}:[0-9]{2}(?: ?[ap]m)?|[0-9]{1,2} ?[ap]m)"
_ISO: Final = (
    "[0-9]{4}-[0-9]{2}(?:-[0-9]{2}(?:[t ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.][0-9]{1,6})?)?"
    "(?:z|[+-][0-9]{2}:?[0-9]{2})?)?)?"
)
_SHAPES: Final[Mapping[str, str]] = {
    "iso": _ISO,
    "named": "(?:the day before yesterday|the day after tomorrow|yesterday|today|tomorrow)",
    "now": "(?:right now|just now|now)",
    "days": f"(?:{_COUNT} (?:days?|weeks?|fortnights?) ago|in {_COUNT} (?:days?|weeks?|fortnights?))",
    "months": f"(?:{_COUNT} months? ago|in {_COUNT} months?)",
    "years": f"(?:{_COUNT} years? ago|in {_COUNT} years?)",
    "moments": f"(?:{_COUNT} (?:hours?|minutes?|seconds?) ago|in {_COUNT} (?:hours?|minutes?|seconds?))",
    "week": "(?:last|this|next) week",
    "month": "(?:last|this|next) month",
    "year": "(?:last|this|next) year",
    "turned_weekday": f"(?:last|next) {_WEEKDAY}",
    "turned_month": f"(?:last|next) {_MONTH}",
    "full": f"(?:{_DAY}(?: of)? {_MONTH},? {_YEAR}|{_MONTH} {_DAY},? {_YEAR})",
    "dated_month": f"{_MONTH},? {_YEAR}",
}
"""What is a date wherever it stands."""
_BARE: Final[Mapping[str, str]] = {
    "numeric": "[0-9]{1,2}[/.-][0-9]{1,2}[/.-](?:[0-9]{4}|[0-9]{2})",
    "yearless": f"(?:{_DAY}(?: of)? {_MONTH}|{_MONTH} {_DAY})",
    "bare_year": _YEAR,
    "bare_month": _MONTH,
    "bare_weekday": _WEEKDAY,
}
"""What may be part of a name as well, such as `Blade Runner 2049`: a date only after a word that says so."""
_UNIT: Final = "(?:hours?|days?|weeks?|fortnights?|months?|years?)"
_BEFORE: Final = "(?:on|in|since|from|as of|by|at|until|till|starting|effective)"
_AT_CLOCK: Final = f"(?:,? (?:at )?{_CLOCK})?"


def _any(*shapes: Mapping[str, str]) -> str:
    return "(?:" + "|".join(text for each in shapes for text in each.values()) + ")"


PHRASE: Final = f"(?:{_BEFORE} )?(?:the )?{_any(_SHAPES, _BARE)}{_AT_CLOCK}"
"""A date where words before say that one follows; every blank of it stands for any."""
PHRASE_ALONE: Final = (
    f"(?:(?:{_BEFORE} )?(?:the )?{_any(_SHAPES)}{_AT_CLOCK}|{_BEFORE} (?:the )?{_any(_BARE)}{_AT_CLOCK})"
)
"""A date where it follows other words at once."""

_WHOLE: Final = f"(?:(?:last|this|next) (?:week|month|year)|{_MONTH}(?:,? {_YEAR})?|{_YEAR})"
_SEASON: Final = "(?:spring|summer|autumn|winter)"
EDGE: Final = f"(?:(?:at|by|as of) )?(?:the )?(?P<edge>beginning|start|end) of (?P<whole>{_WHOLE})"
"""The first or the last instant of a longer time."""
_ROUGH: Final = "|".join(
    (
        f"(?:early|mid|late)[ -](?:in )?{_WHOLE}",
        f"(?:middle|(?:first|second|last) (?:half|quarter|weeks?|days?|weekend)) of {_WHOLE}",
        f"(?:q[1-4]|(?:first|second|third|fourth|last|this|next) quarter)(?:(?: of)?,? {_YEAR})?",
        f"(?:last |this |next ){_SEASON}|{_SEASON} (?:of )?{_YEAR}",
        f"(?:last|past|next) {_COUNT} (?:hours?|days?|weeks?|months?|years?)",
    )
)
_LEAD: Final = f"(?:{_BEFORE}|before|after|between|about|for|during) (?:the )?"
_DAY_OR_MONTH: Final = f"(?:{_DAY}(?: of)? {_MONTH}|{_MONTH}(?: {_DAY})?)"
_FAR: Final = "|".join(
    (
        f"{_LEAD}{_DAY_OR_MONTH} (?:[0-9]{{3}}|[03-9][0-9]{{3}}|[0-9]{{5,6}})",
        f"{_LEAD}(?:year |{_DAY_OR_MONTH},? )?(?:[0-9]{{1,6}} bce?|[0-9]{{2,4}} (?:ad|ce))",
        f"{_LEAD}year (?!{_YEAR}(?![0-9]))-?[0-9]{{1,6}}",
        f"{_LEAD}(?:-[0-9]{{4,6}}(?:-[0-9]{{2}}){{0,2}}|[12][0-9]{{3}}[01][0-9][0-3][0-9])",
        f"[0-9]{{4,}} {_UNIT} ago|in [0-9]{{4,}} {_UNIT}",
        "(?:in )?[0-9]+ (?:hundred|thousand|million|billion) years?(?: ago)?",
    )
)
"""Years other than 1000 to 2999, days as eight digits, and counts of more than three digits."""
VAGUE: Final = "|".join(
    (
        f"(?:(?:in|on|at|by|during|over|for) )?(?:the )?(?:{_ROUGH})",
        f"(?:before|after|since|from|until|till) (?:the )?(?:beginning|start|end) of {_WHOLE}",
        f"in (?:the )?{_SEASON}",
        f"{_COUNT} years?,?(?: and)? {_COUNT} months? ago",
        _FAR,
        f"{_BARE['yearless']}(?!,? {_YEAR})",
    )
)
"""What tells of a time, but of none that can be said exactly, or of one that may be a part of a name."""

_KIND: Final = {
    name: re.compile(text) for name, text in (*_SHAPES.items(), *_BARE.items(), ("clock", f"(?:at )?{_CLOCK}"))
}
_PREFIX: Final = re.compile(
    rf"(?:(?:on|since|from|as of|by|until|till|starting|effective) (?:the )?|in (?={_MONTH}\b|{_YEAR}\b)|the (?!day ))"
)
_TAIL: Final = re.compile(rf"(.+?),? (?:at )?({_CLOCK})")
_DAYS: Final = frozenset({"named", "days", "turned_weekday", "full", "numeric", "yearless", "bare_weekday"})
_YEARLESS: Final = frozenset({"yearless", "bare_month", "bare_weekday"})
_OFFSET: Final = re.compile(r"([+-])(\d\d)(?::?(\d\d))?$")
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def resolve(phrase: str, at: Observed | None, lean: Lean) -> Reading:
    """The date that `phrase` means, said at `at`."""
    words = " ".join(phrase.lower().split()).strip(" ,.;")
    if not words or len(words) > PHRASE_CHARS_MAX:
        return Unresolved(detail=f"{shown(phrase)} is no date that can be read")
    words = _PREFIX.sub("", words, count=1) if _PREFIX.match(words) else words
    kind = _kind(words)
    if kind is None:
        with_clock = _TAIL.fullmatch(words)
        if with_clock is None or _kind(with_clock[1]) not in _DAYS:
            return Unresolved(detail=f"{shown(phrase)} is no date that can be read; give one such as '2026-06-30'")
        return _moment(words, with_clock[1], at, lean, phrase)
    return _of_kind(kind, words, at, lean, phrase)


def _kind(words: str) -> str | None:
    return next((name for name, shape in _KIND.items() if shape.fullmatch(words)), None)


def _of_kind(kind: str, words: str, at: Observed | None, lean: Lean, phrase: str) -> Reading:
    if kind == "iso":
        return _iso(words, at, phrase)
    if kind == "bare_year":
        return _date(words, at)
    if kind in ("full", "dated_month", "numeric"):
        return _absolute(kind, words, at, phrase)
    if at is None:
        return Unresolved(detail=f"{shown(phrase)} depends on when it was said, which nobody told; give observed_at")
    local = _local(at)
    if local is None:
        return Unresolved(detail=f"{shown(phrase)} was said in a year that no calendar here reaches")
    if kind == "now":
        return Resolved(text=format_instant(at.instant), zone=None, code=None, detail="")
    if kind == "moments":
        found = _read(words, _utc(at.instant), "current_period")
        text = None if found is None else format_instant(_instant(found, UTC))
        return _unread(phrase) if text is None else Resolved(text=text, zone=None, code=None, detail="")
    if kind == "clock":
        return _moment(words, words, at, lean, phrase)
    if kind in _YEARLESS and lean is Lean.NONE:
        return Unresolved(detail=f"{shown(phrase)} does not tell which year or week; give a whole date")
    return _relative(kind, words, at, local, phrase)


def _relative(kind: str, words: str, at: Observed, local: datetime, phrase: str) -> Reading:
    if kind == "week":
        return _week(words, at, local, phrase)
    prefer = "past"
    if kind == "turned_month":
        turn, words = words.split(" ", 1)
        prefer = "past" if turn == "last" else "future"
        local = _beside(words, local, prefer)
    if kind == "bare_weekday":
        back = (local.weekday() - _WEEKDAYS.index(words)) % 7
        found: datetime | None = local - timedelta(days=back)
    else:
        found = _read(words, local, prefer)
    if found is None:
        return _unread(phrase)
    day = f"{found.year:04d}-{found.month:02d}-{found.day:02d}"
    text = day if kind in _DAYS else day[:4] if kind in ("years", "year") else day[:7]
    if kind in _YEARLESS:
        return _date(text, at, Code.ASSUMED_DATE, f"{shown(phrase)} is taken for the last one, {text}")
    return _date(text, at)


def _beside(month: str, local: datetime, prefer: str) -> datetime:
    """The middle of the month before or after, where `month` is the one in which it was said: not that one."""
    same = _read(month, local, "current_period")
    if same is None or same.month != local.month:
        return local
    return local.replace(day=15) + timedelta(days=-31 if prefer == "past" else 31)


def _week(words: str, at: Observed, local: datetime, phrase: str) -> Reading:
    """A week has no text of its own: the month or the year that holds all of it."""
    monday = local - timedelta(days=local.weekday()) + timedelta(weeks={"last": -1, "this": 0, "next": 1}[words[:4]])
    sunday = monday + timedelta(days=6)
    if monday.year != sunday.year:
        return Unresolved(detail=f"{shown(phrase)} lies in two years; give the day")
    text = f"{monday.year:04d}" if monday.month != sunday.month else f"{monday.year:04d}-{monday.month:02d}"
    return _date(text, at, Code.COARSENED_DATE, f"{shown(phrase)} is some day of a week, kept as {text}")


def _absolute(kind: str, words: str, at: Observed | None, phrase: str) -> Reading:
    if kind == "numeric":
        return _numeric(words, at, phrase)
    found = _read(words.replace(" of ", " "), datetime(2000, 1, 1), "current_period")  # noqa: DTZ001 - local time
    if found is None:
        return Unresolved(detail=f"the calendar has no {shown(phrase)}; check day and month")
    day = f"{found.year:04d}-{found.month:02d}-{found.day:02d}"
    return _date(day if kind == "full" else day[:7], at)


def _numeric(words: str, at: Observed | None, phrase: str) -> Reading:
    first, second, year = re.split("[/.-]", words)
    if len(year) == 2:
        return Unresolved(detail=f"{shown(phrase)} has a year of two digits; write all four")
    one, two = int(first), int(second)
    if one != two and one <= 12 and two <= 12:
        detail = f"{shown(phrase)} can be day {one} of month {two} or day {two} of month {one}; write it as YYYY-MM-DD"
        return Unresolved(detail=detail)
    month, day = (one, two) if one <= 12 else (two, one)
    text = f"{year}-{month:02d}-{day:02d}"
    return _date(text, at) if _readable(text) else Unresolved(detail=f"the calendar has no {shown(phrase)}")


def _iso(words: str, at: Observed | None, phrase: str) -> Reading:
    text = words.upper()
    if len(text) <= 10:
        return _date(text, at) if _readable(text) else Unresolved(detail=f"the calendar has no {shown(phrase)}")
    if text.endswith("Z") or _OFFSET.search(text[11:]):
        exact = _readable(text)
        return Resolved(text=text, zone=None, code=None, detail="") if exact else _unread(phrase)
    if at is None:
        return Unresolved(detail=f"{shown(phrase)} has no offset, and nobody told the zone; add 'Z' or an offset")
    try:
        return _local_moment(datetime.fromisoformat(text), at, phrase)
    except ValueError:
        return Unresolved(detail=f"the calendar has no {shown(phrase)}")


def _moment(words: str, day: str, at: Observed | None, lean: Lean, phrase: str) -> Reading:
    """A day with a time of day, in the zone of the speaker."""
    local = None if at is None else _local(at)
    if at is None or local is None:
        return Unresolved(detail=f"{shown(phrase)} has no offset, and nobody told the zone; add 'Z' or an offset")
    base, code, detail = local, None, ""
    if day != words:
        reading = resolve(day, at, lean)
        if isinstance(reading, Unresolved):
            return reading
        code, detail = reading.code, reading.detail
        base = datetime.fromisoformat(reading.text[:10])
        words = words[len(day) :].lstrip(" ,")
    found = _read(words.removeprefix("at "), base, "current_period")
    if found is None:
        return _unread(phrase)
    moment = _local_moment(found.replace(year=base.year, month=base.month, day=base.day), at, phrase)
    return moment if isinstance(moment, Unresolved) else replace(moment, code=code, detail=detail)


def _local_moment(local: datetime, at: Observed, phrase: str) -> Reading:
    zone = _zone(at)
    first, second = local.replace(tzinfo=zone, fold=0), local.replace(tzinfo=zone, fold=1)
    if first.utcoffset() != second.utcoffset():
        detail = f"{shown(phrase)} is in the hour of a clock change, shown twice or never; add an offset"
        return Unresolved(detail=detail)
    text = format_instant(_instant(local, zone))
    return Resolved(text=text, zone=None, code=None, detail="")


def _date(text: str, at: Observed | None, code: Code | None = None, detail: str = "") -> Resolved:
    """A date in the zone of the speaker: of a name, of whole hours, or else by its first instant."""
    if at is None or at.zone is not None:
        return Resolved(text=text, zone=None if at is None else at.zone, code=code, detail=detail)
    offset = _offset(at)
    hours, rest = divmod(int(offset.total_seconds()), 3600)
    if not rest and -12 <= hours <= 14:
        # the names of these zones count westward: Etc/GMT+5 is five hours behind
        zone = "UTC" if not hours else f"Etc/GMT{-hours:+d}"
        return Resolved(text=text, zone=zone, code=code, detail=detail)
    if len(text) == 10 and text[4] == "-":
        first = days_from_civil(int(text[:4]), int(text[5:7]), int(text[8:])) * 86_400 - int(offset.total_seconds())
        return Resolved(text=format_instant(Instant(first * 1_000_000)), zone=None, code=code, detail=detail)
    told = detail or f"{text} is kept in UTC, as no zone has the offset of {shown(at.text)}; name the zone"
    return Resolved(text=text, zone=None, code=code or Code.ASSUMED_DATE, detail=told)


def _read(words: str, base: datetime, prefer: str) -> datetime | None:
    """What dateparser finds, in the local time of `base`."""
    # a third of a second to import, which only a text with dates should cost
    from dateparser.date import DateDataParser

    settings = {"RELATIVE_BASE": base, "PREFER_DATES_FROM": prefer, "DATE_ORDER": "DMY", "TIMEZONE": "UTC"}
    try:
        # one locale, none remembered: the same phrase is read the same whatever was read before
        parser = DateDataParser(languages=["en"], settings=settings, try_previous_locales=False)
        found = parser.get_date_data(words).date_obj
    except (ValueError, OverflowError):
        return None
    return None if found is None else found.replace(tzinfo=None)


def _readable(text: str) -> Granule | None:
    try:
        return parse_bound(text)
    except Incorrect:
        return None


def _unread(phrase: str) -> Unresolved:
    return Unresolved(detail=f"{shown(phrase)} is beyond the calendar; give a date such as '2026-06-30'")


def _utc(instant: Instant) -> datetime:
    return datetime(1970, 1, 1) + timedelta(microseconds=instant)  # noqa: DTZ001 - UTC, as dateparser wants it


def _local(at: Observed) -> datetime | None:
    """The local time of the speaker; `None` outside the years 1 to 9999."""
    try:
        return _utc(at.instant).replace(tzinfo=UTC).astimezone(_zone(at)).replace(tzinfo=None)
    except (OverflowError, ValueError):
        return None


def _zone(at: Observed) -> tzinfo:
    return ZoneInfo(at.zone) if at.zone is not None else timezone(_offset(at))


def _offset(at: Observed) -> timedelta:
    match = _OFFSET.search(at.text) if len(at.text) > 10 else None
    if match is None:
        return timedelta()
    span = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    return -span if match[1] == "-" else span


def _instant(local: datetime, zone: tzinfo) -> Instant:
    since = local.replace(tzinfo=zone) - datetime(1970, 1, 1, tzinfo=UTC)
    return Instant((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)
