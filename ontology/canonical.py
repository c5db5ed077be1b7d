"""What the one canonical text of each datatype is; what has none is refused.

Every function raises `Incorrect` with one violation at `pointer`. Canonical texts are fixed points: each
function gives its own results back.
"""

import math
import re
import unicodedata
from typing import Final

import rfc8785

from ontology.errors import Incorrect, TooLarge, Violation, pointer, shown
from ontology.instants import DAY, SECOND, format_date, format_instant, parse_date, parse_instant

TEXT_BYTES_MAX: Final = 1_000_000
DECIMAL_CHARS_MAX: Final = 400
"""Enough for every finite double."""
JSON_DEPTH_MAX: Final = 64

_SAFE_INTEGER: Final = 2**53 - 1
_DURATION_YEARS_MAX: Final = 300_000
_REFUSED: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_DECIMAL: Final = re.compile(r"([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]{1,6}))?")
_TAG: Final = re.compile(r"(?:[a-z]{2,8}|[ix])(?:-[a-z0-9]{1,8})*")
_DURATION: Final = re.compile(
    r"([+-]?)P(?!$)(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?"
    r"(?:T(?!$)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,](\d{1,6})0*)?S)?)?",
    re.ASCII,
)


def incorrect(at: str, code: str, detail: str) -> Incorrect:
    """The error of one violation, for the caller to raise."""
    return Incorrect(detail, violations=(Violation(pointer=at, code=code, detail=detail),))


def canonical_text(text: str, at: str, bytes_max: int = TEXT_BYTES_MAX) -> str:
    """NFC; refused are lone surrogates, C0 controls but tab and line ends, and more than `bytes_max` in UTF-8."""
    if len(text) > bytes_max:
        raise _too_large(text, at, bytes_max)
    if _REFUSED.search(text):
        raise _refused_character(text, at)
    if text.isascii():
        return text
    text = unicodedata.normalize("NFC", text)
    if len(text) * 4 > bytes_max and len(text.encode()) > bytes_max:
        raise _too_large(text, at, bytes_max)
    return text


def canonical_label(text: str, at: str, what: str, chars_max: int) -> str:
    """A short text such as a key or a unit: NFC, 1 to `chars_max` characters, not blank, no control characters."""
    if len(text) > chars_max:
        raise incorrect(at, "too_large", f"the {what} {shown(text)} is longer than {chars_max} characters; shorten it")
    if text.isascii() and text.isprintable() and text.strip():
        return text
    text = canonical_text(text, at)
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise incorrect(at, "control_character", f"the {what} {shown(text)} has a control character; remove it")
    if not text.strip() or len(text) > chars_max:
        raise incorrect(at, "bad_name", f"{shown(text)} is no {what}; give 1 to {chars_max} characters, not all blank")
    return text


def canonical_integer(given: int | str, at: str) -> str:
    """Decimal digits of a signed 64-bit integer."""
    if isinstance(given, str):
        if _INTEGER.fullmatch(given) is None:
            raise incorrect(at, "unreadable_value", f"cannot read {shown(given)} as an integer; give digits such as 42")
        given = int(given) if len(given) <= 100 else 2**64
    if not -(2**63) <= given < 2**63:
        detail = f"the integer {shown(given)} is beyond 64 bits; give a decimal: {{'type': 'decimal', 'value': '…'}}"
        raise incorrect(at, "out_of_range", detail)
    return str(given)


def canonical_decimal(given: float | str, at: str) -> str:
    """Digits without exponent, trailing zeros or `-0`. A double gives the shortest decimal that reads back as it."""
    if isinstance(given, float) and not math.isfinite(given):
        raise incorrect(at, "out_of_range", f"{given!r} is no number; give a finite one or leave the value out")
    if isinstance(given, int) and given.bit_length() > 4 * DECIMAL_CHARS_MAX:
        raise _too_long(given, at)
    text = given if isinstance(given, str) else repr(given)
    match = _DECIMAL.fullmatch(text) if len(text) <= 2 * DECIMAL_CHARS_MAX else None
    if match is None:
        raise incorrect(at, "unreadable_value", f"cannot read {shown(text)} as a decimal; give digits such as '-12.50'")
    whole, fraction = match[2] or "", match[3] or match[4] or ""
    point = len(whole) + int(match[5] or 0)
    digits = whole + fraction
    if not digits.strip("0"):
        return "0"
    if abs(point) > 2 * DECIMAL_CHARS_MAX:
        raise _too_long(given, at)
    digits, point = ("0" * -point + digits, 0) if point < 0 else (digits.ljust(point, "0"), point)
    head, tail = digits[:point].lstrip("0") or "0", digits[point:].rstrip("0")
    number = ("-" if match[1] == "-" else "") + head + ("." + tail if tail else "")
    if len(number) > DECIMAL_CHARS_MAX:
        raise _too_long(given, at)
    return number


def canonical_date(text: str, at: str) -> str:
    """A year, a month or a day of the proleptic Gregorian calendar, as coarse as given."""
    try:
        year, month, day = parse_date(text)
    except Incorrect as exc:
        raise exc.under(at) from None
    return format_date(year, month or 1, day or 1)[: None if day else -3 if month else -6]


def canonical_datetime(text: str, at: str, zone: str = "UTC") -> str:
    """The exact instant in UTC; a bare day is its first instant in `zone`."""
    try:
        return format_instant(parse_instant(text, zone))
    except Incorrect as exc:
        raise exc.under(at) from None


def canonical_duration(text: str, at: str) -> str:
    """ISO 8601 in two parts that do not convert: months, written `1Y2M`, and microseconds; a day has 24 hours."""
    match = _DURATION.fullmatch(text) if len(text) <= 100 else None
    if match is None:
        raise incorrect(at, "unreadable_value", f"cannot read {shown(text)} as a duration; give 'P1Y2M3DT4H5M6.5S'")
    years, months, weeks, days, hours, minutes, seconds = (int(match[part] or 0) for part in range(2, 9))
    months += 12 * years
    micros = ((weeks * 7 + days) * DAY) + ((hours * 60 + minutes) * 60 + seconds) * SECOND
    micros += int((match[9] or "").ljust(6, "0"))
    if months > 12 * _DURATION_YEARS_MAX or micros >= 2**62:
        raise incorrect(at, "out_of_range", f"the duration {shown(text)} is too long; give at most 140,000 years")
    days, rest = divmod(micros, DAY)
    whole_seconds, fraction = divmod(rest, SECOND)
    seconds_text = f"{whole_seconds % 60}.{fraction:06d}".rstrip("0").rstrip(".")
    date = _parts((months // 12, "Y"), (months % 12, "M"), (days, "D"))
    time = _parts((whole_seconds // 3600, "H"), (whole_seconds // 60 % 60, "M"))
    time += f"{seconds_text}S" if seconds_text != "0" else ""
    if not (date or time):
        return "PT0S"
    return f"{'-' if match[1] == '-' else ''}P{date}{'T' if time else ''}{time}"


def canonical_json(value: object, at: str, bytes_max: int = TEXT_BYTES_MAX) -> str:
    """RFC 8785 (JCS) within I-JSON: finite doubles, integers up to 2^53 - 1. Strings are checked, not made NFC."""
    _check_json(value, at)
    text = rfc8785.dumps(value).decode()  # type: ignore[arg-type]
    if len(text.encode()) > bytes_max:
        raise _too_large(text, at, bytes_max)
    return text


def canonical_tag(text: str, at: str) -> str:
    """A language tag in lower case; BCP 47 decides its shape, no registry is asked."""
    tag = text.lower()
    if len(tag) > 64 or _TAG.fullmatch(tag) is None:
        raise incorrect(at, "unreadable_value", f"{shown(text)} is no language tag; give one such as 'de' or 'pt-BR'")
    return tag


def _parts(*parts: tuple[int, str]) -> str:
    return "".join(f"{number}{unit}" for number, unit in parts if number)


def _check_json(value: object, at: str) -> None:
    open_values: list[tuple[object, str, int]] = [(value, at, 0)]
    while open_values:
        inner, here, depth = open_values.pop()
        if depth > JSON_DEPTH_MAX:
            raise incorrect(at, "too_large", f"the JSON is nested deeper than {JSON_DEPTH_MAX} levels; flatten it")
        if isinstance(inner, str):
            if _REFUSED.search(inner):
                raise _refused_character(inner, here)
        elif isinstance(inner, list):
            open_values += [(item, here + pointer(index), depth + 1) for index, item in enumerate(inner)]
        elif isinstance(inner, dict):
            for name, item in inner.items():
                if not isinstance(name, str):
                    raise incorrect(here, "wrong_type", f"the member name {shown(name)} is no string; make it one")
                if _REFUSED.search(name):
                    raise _refused_character(name, here)
                open_values.append((item, here + pointer(name), depth + 1))
        else:
            _check_json_scalar(inner, here)


def _check_json_scalar(value: object, at: str) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            raise incorrect(at, "out_of_range", f"{value!r} is no number; JSON has finite ones only")
    elif not isinstance(value, int):
        raise incorrect(at, "wrong_type", f"{shown(value)} is not JSON; give a string, a number, a list or an object")
    elif abs(value) > _SAFE_INTEGER:
        raise incorrect(at, "out_of_range", f"the integer {shown(value)} is beyond ±(2^53 - 1); give it as a string")


def _refused_character(text: str, at: str) -> Incorrect:
    found = _REFUSED.search(text)
    character = found[0] if found else ""
    surrogate = character >= "\ud800"
    code = "lone_surrogate" if surrogate else "control_character"
    what = "lone surrogate" if surrogate else "control character"
    return incorrect(at, code, f"the {what} {character!r} is not allowed in {shown(text)}; remove it")


def _too_large(text: str, at: str, bytes_max: int) -> TooLarge:
    detail = f"the text {shown(text)} exceeds {bytes_max} bytes; keep it elsewhere and store where it is"
    return TooLarge(detail, violations=(Violation(pointer=at, code="too_large", detail=detail),))


def _too_long(given: float | str, at: str) -> Incorrect:
    detail = f"the decimal {shown(given)} needs more than {DECIMAL_CHARS_MAX} characters; give a shorter one"
    return incorrect(at, "out_of_range", detail)
