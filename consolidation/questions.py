"""At which instants is a question asked, by its own words? Dates in them, and events that memory can date exactly.

A day is its first instant, as everywhere (rule 9 of time), but `today` is now. A week, a month or a year is asked at
its last instant, or now while it lasts: what held last in it. Words that say who knew or believed ask at a recorded
time, all others at a valid one. What can be meant in two ways, or is no exact time, is not used, and told.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from consolidation.extraction.base import observed
from consolidation.extraction.dates import EDGE, PHRASE, PHRASE_ALONE, VAGUE, Lean, Unresolved, resolve
from ontology.instants import Granule, Instant, Semantics, format_date, format_instant, parse_bound

CHARS_MAX: Final = 4_000
"""So many characters of a question are looked through."""
DATES_MAX: Final = 32
"""So many dates of a question are read: each takes a while."""


class Axis(StrEnum):
    """Which of the two clocks a date speaks of."""

    VALID = "valid_at"
    KNOWN = "known_at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """Words of a question that name a time."""

    words: str
    axis: Axis
    instant: Instant | None
    """At which they ask; `None` where they are not understood."""
    stretch: Granule | None
    """What they name, where that is longer than an instant."""
    note: str
    """What was assumed, or why they are not understood; empty if nothing is to be said."""


DateOf = Callable[[str, str, Instant | None], Instant | str]
"""The instant before or after an event, of (`before` or `after`, its name, as known at), or why nobody can tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instants:
    """What the dates of a question come down to."""

    valid_at: Instant | None
    known_at: Instant | None
    dates: tuple[Dated, ...]
    """In the order of the words; those that are not used have no instant."""
    rest: str
    """The question without the dates that are understood."""


_BLANKS: Final = re.compile(" ")


def _spaced(shape: str) -> str:
    return _BLANKS.sub(r"\\s+", shape)


_OWNERS: Final = r"(?:the|his|her|their|my|our|its|(?:[^\W_][\w.-]*\s+)?[^\W_][\w.-]*['’]s)"
_NUMBERED: Final = "(?:the )?(?:week [0-9]{1,2}(?: of|,)? [12][0-9]{3}|[12][0-9]{3}-?w[0-9]{2}|year [12][0-9]{3})"
"""A week by its number, and a year that is called so."""
_SAYS_WHO: Final = r"(?:she|he|they|we|you|i|it)\s+(?:last\s+)?"
_NAMES_WHO: Final = r"(?:[^\W_][\w.-]*\s+){1,2}?(?=[^\W\d_]+ed\b)"
_DID: Final = rf"(?P<did>[^\W\d_]{{2,}}ing|(?:{_SAYS_WHO}|{_NAMES_WHO})[^\W\d_]+)"
"""An event as a verb: `moving`, `she moved`, `Jonas Vik moved`."""
_FOUND: Final = re.compile(
    rf"(?<![\w-])(?:{_spaced(EDGE)}|(?P<vague>{_spaced(VAGUE)})"
    rf"|(?P<turn>before|after|between|about|for|during)\s+(?P<turned>{_spaced(f'(?:{PHRASE}|{_NUMBERED})')})"
    rf"|(?P<date>{_spaced(f'(?:{PHRASE_ALONE}|(?:(?:in|by|of|since|from|until|till) )?{_NUMBERED})')})"
    rf"|(?P<side>before|prior\s+to|after)\s+(?:{_OWNERS}\s+(?P<event>(?:last\s+|latest\s+)?[^\W\d_][\w-]*)|{_DID}))"
    r"(?:\s+(?P<zone>(?-i:UTC|GMT|CES?T|EES?T|WES?T|BST|IST|MSK|JST|[ECMP][SD]?T)))?(?![\w-])",
    re.IGNORECASE,
)
_KNOWS: Final = re.compile(
    r"\b(?:did\s+(?:we|you|i|they|memory)\s+(?:know|believe|think|assume|hold)"
    r"|(?:we|you|i|they|memory)\s+(?:knew|believed|thought|assumed|held)"
    r"|(?:as|was|were|been)\s+(?:it\s+was\s+)?(?:known|believed|recorded|remembered))\b(?:\W+[\w'’.-]+){0,6}\W*$",
    re.IGNORECASE,
)
_OF_THE_WORLD: Final = frozenset({"about", "for"})
_STRETCH: Final = re.compile(r"(?:between|since|from|until|till|starting|effective)\b", re.IGNORECASE)
_AT: Final = re.compile(r"at\s+(?=\d{4}-)", re.IGNORECASE)
_SAME_EVERYWHERE: Final = frozenset({"UTC", "GMT"})
_TODAY: Final = re.compile(r"(?:as of\s+)?today", re.IGNORECASE)
_WEEK: Final = re.compile(r"(?:\w+\s+)?(?:the\s+)?(last|this|next)\s+week", re.IGNORECASE)
_WEEK_OF_YEAR: Final = re.compile(r"(?:\w+ )?(?:the )?(?:week (\d+)(?: of|,)? (\d{4})|(\d{4})-?w(\d\d))", re.IGNORECASE)
_YEAR_CALLED: Final = re.compile(r"(?:the )?year (?=\d{4}$)", re.IGNORECASE)
_WEEKS: Final = {"last": -1, "this": 0, "next": 1}


def instants_of(question: str, now: Instant, zone: str, date_of: DateOf) -> Instants:
    """What a question asks at, said now and in this zone; `date_of` is asked for the events that it names.

    Of two different dates for one clock neither is used. A date at which nothing can be known yet is not used either.
    """
    found = list(islice(_found(question[:CHARS_MAX]), DATES_MAX))
    dates = {index: _date(match, axis, now, zone) for index, (match, axis) in enumerate(found) if not match["side"]}
    known_at = _first(_usable([*dates.values()], now), Axis.KNOWN)
    for index, (match, axis) in enumerate(found):
        if match["side"]:
            dates[index] = _event(match, axis, known_at, date_of)
    usable = _usable([dates[index] for index in sorted(dates)], now)
    rest = question
    for (match, _), dated in sorted(zip(found, usable, strict=True), key=lambda each: -each[0][0].start()):
        if dated.instant is not None:
            rest = f"{rest[: match.start()]} {rest[match.end() :]}"
    return Instants(
        valid_at=_first(usable, Axis.VALID), known_at=_first(usable, Axis.KNOWN), dates=tuple(usable), rest=rest
    )  # fmt: skip


def _found(question: str) -> Iterator[tuple[re.Match[str], Axis]]:
    """The words that may name a time, each with the clock that the words before it speak of."""
    end = 0
    for match in _FOUND.finditer(question):
        before, end = question[end : match.start()], match.end()
        known = _KNOWS.search(before) and (match["turn"] or "").lower() not in _OF_THE_WORLD
        yield match, Axis.KNOWN if known else Axis.VALID


def _usable(dates: Sequence[Dated], now: Instant) -> list[Dated]:
    """The dates, without the instants of those that cannot be used."""
    found = [
        _unused(each, "it lies in the future, where nothing is known yet")
        if each.axis is Axis.KNOWN and each.instant is not None and each.instant > now
        else each
        for each in dates
    ]
    for axis in Axis:
        if len({each.instant for each in found if each.axis is axis and each.instant is not None}) > 1:
            why = "the question names several times; give one"
            found = [_unused(each, why) if each.axis is axis else each for each in found]
    return found


def _unused(dated: Dated, why: str) -> Dated:
    return dated if dated.instant is None else replace(dated, instant=None, note=why)


def _first(dates: Sequence[Dated], axis: Axis) -> Instant | None:
    return next((each.instant for each in dates if each.axis is axis and each.instant is not None), None)


def _event(match: re.Match[str], axis: Axis, known_at: Instant | None, date_of: DateOf) -> Dated:
    side = "after" if match["side"].lower() == "after" else "before"
    words = (match["event"] or match["did"]).lower().split()
    event = " ".join(words[-2:] if words[-2:-1] in (["last"], ["latest"]) else words[-1:])
    found = date_of(side, event, known_at)
    if isinstance(found, str):
        return Dated(words=match[0], axis=axis, instant=None, stretch=None, note=found)
    return Dated(words=match[0], axis=axis, instant=found, stretch=None, note="")


def _date(match: re.Match[str], axis: Axis, now: Instant, zone: str) -> Dated:
    if match["edge"]:
        return _edge(match, axis, now, zone)
    if match["vague"]:
        why = "it is not read as a date; say 'in June', 'on 2 June' or 'at the end of June', or give valid_at"
        return _unread(match, axis, why)
    phrase = _AT.sub("", " ".join((match["turned"] or match["date"]).split()), count=1)
    if match["zone"] in _SAME_EVERYWHERE:
        zone = "UTC"
    elif match["zone"]:
        return _unread(match, axis, f"{match['zone']} may be several zones; give an offset such as '+02:00', or zone")
    if _STRETCH.match(phrase if match["turn"] is None else match[0]):
        return _unread(match, axis, "it names a stretch of time, not one; give valid_at, or ask for the history")
    if match["turn"] is None and _TODAY.fullmatch(phrase):
        return Dated(words=match[0], axis=axis, instant=now, stretch=None, note="")
    read = _read(phrase, now, zone)
    return _unread(match, axis, read) if isinstance(read, str) else _placed(match, axis, read, now)


def _unread(match: re.Match[str], axis: Axis, why: str) -> Dated:
    return Dated(words=match[0], axis=axis, instant=None, stretch=None, note=why)


def _edge(match: re.Match[str], axis: Axis, now: Instant, zone: str) -> Dated:
    """The first or the last instant of a week, a month or a year."""
    read = _read(match["whole"], now, zone)
    if isinstance(read, str):
        return _unread(match, axis, read)
    at = Instant(read.whole.latest - 1) if match["edge"].lower() == "end" else read.whole.earliest
    return Dated(words=match[0], axis=axis, instant=at, stretch=None, note=read.note)


class _Read(NamedTuple):
    meant: Granule
    whole: Granule
    note: str


def _read(phrase: str, now: Instant, zone: str) -> _Read | str:
    """What a date means, or why it is not read."""
    week = _WEEK.fullmatch(phrase)
    if week is not None:
        whole = _week(_WEEKS[week[1].lower()], now, zone)
        return "it is beyond the calendar" if whole is None else _Read(whole, whole, "")
    numbered = _WEEK_OF_YEAR.fullmatch(phrase)
    if numbered is not None:
        return _numbered_week(int(numbered[2] or numbered[3]), int(numbered[1] or numbered[4]), zone)
    phrase = _YEAR_CALLED.sub("", phrase)
    reading = resolve(phrase, observed(format_instant(now), zone), Lean.PAST)
    if isinstance(reading, Unresolved):
        return reading.detail
    meant = parse_bound(reading.text, reading.zone or zone)
    return _Read(meant, parse_bound(reading.text, reading.zone or zone, Semantics.WHOLE), reading.detail)


def _placed(match: re.Match[str], axis: Axis, read: _Read, now: Instant) -> Dated:
    """A date that is read: the instant before it, after all of it, or the one at which it asks itself."""
    meant, whole, note = read
    turn = (match["turn"] or "").lower()
    if turn == "before":
        return Dated(words=match[0], axis=axis, instant=Instant(whole.earliest - 1), stretch=None, note=note)
    if turn == "after":
        return Dated(words=match[0], axis=axis, instant=whole.latest, stretch=None, note=note)
    stretch = None if meant.exact else meant
    return Dated(words=match[0], axis=axis, instant=_asked_at(meant, now), stretch=stretch, note=note)


def _numbered_week(year: int, number: int, zone: str) -> _Read | str:
    """A week of a year as ISO 8601 counts them."""
    try:
        monday = date.fromisocalendar(year, number, 1)
    except ValueError:
        return f"{year} has no week {number}"
    week = Granule(earliest=_midnight(monday, zone), latest=_midnight(monday + timedelta(days=7), zone))
    return _Read(week, week, "")


def _week(turns: int, now: Instant, zone: str) -> Granule | None:
    """From Monday to Monday; `None` outside the years 1 to 9999."""
    try:
        local = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=now)).astimezone(ZoneInfo(zone))
        monday = local.date() - timedelta(days=local.weekday()) + timedelta(weeks=turns)
        return Granule(earliest=_midnight(monday, zone), latest=_midnight(monday + timedelta(days=7), zone))
    except OverflowError:
        return None


def _midnight(day: date, zone: str) -> Instant:
    return parse_bound(format_date(day.year, day.month, day.day), zone).earliest


def _asked_at(granule: Granule, now: Instant) -> Instant:
    """The instant of a day; of what is longer its last one, or now while it lasts."""
    if granule.exact:
        return granule.earliest
    last = Instant(granule.latest - 1)
    return now if granule.earliest <= now <= last else last
