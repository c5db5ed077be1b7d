"""How long something lasts, as ISO 8601 writes it, where that is the same length always."""

import re
from typing import Final, NewType

from ontology.canonical import incorrect
from ontology.errors import shown
from ontology.instants import DAY, SECOND

Micros = NewType("Micros", int)
"""A length of time in microseconds."""

DAYS_MAX: Final = 36_500
_MINUTE: Final = 60 * SECOND
_HOUR: Final = 60 * _MINUTE
_TEXT: Final = re.compile(
    r"P(?=[0-9T])(?:(?P<weeks>[0-9]{1,6})W|(?:(?P<days>[0-9]{1,6})D)?"
    r"(?:T(?=[0-9])(?:(?P<hours>[0-9]{1,6})H)?(?:(?P<minutes>[0-9]{1,8})M)?(?:(?P<seconds>[0-9]{1,10})S)?)?)"
)
_MONTHS: Final = re.compile(r"P[0-9]+[YM]")


def days(count: int) -> Micros:
    return Micros(count * DAY)


def parse_duration(text: str, pointer: str) -> Micros:
    """The length that `text` names: weeks, or days, hours, minutes and seconds, more than none and up to a century.

    Raises `Incorrect`, for years and months too, whose length depends on when they begin.
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        why = "years and months differ in length" if _MONTHS.match(text) else "it is no ISO 8601 duration"
        raise incorrect(pointer, "bad_duration", f"{shown(text)}: {why}; give one such as 'P30D' or 'PT12H'")
    part = {name: int(number or 0) for name, number in found.groupdict().items()}
    whole = (part["weeks"] * 7 + part["days"]) * DAY
    length = Micros(whole + part["hours"] * _HOUR + part["minutes"] * _MINUTE + part["seconds"] * SECOND)
    if not 0 < length <= days(DAYS_MAX):
        raise incorrect(
            pointer, "out_of_range", f"{shown(text)} is not between a second and {DAYS_MAX} days; correct it"
        )
    return length


def format_duration(length: Micros) -> str:
    """The shortest such text, in days where it is whole days; parts of a second are left out."""
    if length % DAY == 0:
        return f"P{length // DAY}D"
    seconds = length // SECOND
    day_part, seconds = divmod(seconds, DAY // SECOND)
    hours, minutes = seconds // 3600, seconds // 60 % 60
    named = ((hours, "H"), (minutes, "M"), (seconds % 60, "S"))
    return f"P{f'{day_part}D' if day_part else ''}T" + "".join(f"{count}{unit}" for count, unit in named if count)
