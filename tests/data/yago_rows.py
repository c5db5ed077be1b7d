"""YAGO11k read on its own, for a brute force: nothing here knows the converter or the product.

Dates are counted by `datetime`, whose calendar begins with the year 1; earlier years are moved by whole cycles of
400 years, after which the calendar repeats.
"""

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path

CYCLE_YEARS, CYCLE_DAYS = 400, 146_097
EPOCH = date(1970, 1, 1).toordinal()
DAY = 86_400_000_000


@dataclass(frozen=True)
class Row:
    """One line, with the first microsecond of its period and the first one after it (`None` for no end)."""

    subject: str
    relation: str
    value: str
    start: int
    end: int | None
    dates: tuple[str, str]

    def holds(self, instant: int) -> bool:
        return self.start <= instant and (self.end is None or instant < self.end)

    def meets(self, start: int, end: int) -> bool:
        return self.start < end and (self.end is None or self.end > start)


def read_rows(folder: Path) -> tuple[list[Row], int]:
    """The rows with a period, and how many have none: their dates are inverted or cannot be read."""
    entities = names(folder / "entity2id.txt")
    relations = names(folder / "relation2id.txt")
    rows, wrong = [], 0
    for name in ("train.txt", "valid.txt", "test.txt"):
        for line in (folder / name).read_text(encoding="utf-8").splitlines():
            subject, relation, value, start_date, end_date = line.split("\t")
            try:
                start = granule(start_date)[0]
                end = None if end_date.startswith("####") else granule(end_date)[1]
            except ValueError:
                wrong += 1
                continue
            if end is not None and end <= start:
                wrong += 1
                continue
            rows.append(
                Row(entities[subject], relations[relation], entities[value], start, end, (start_date, end_date))
            )
    return rows, wrong


def names(file: Path) -> dict[str, str]:
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        name, id = line.split("\t")[:2]
        found[id] = name[1:-1]
    return found


def granule(text: str) -> tuple[int, int]:
    """The first microsecond that a date of the data names, and the first one after it. Raises `ValueError`."""
    if match := re.fullmatch(r"(\d\d)##-##-##", text):
        return midnight(int(match[1]) * 100, 1, 1), midnight(int(match[1]) * 100 + 100, 1, 1)
    match = re.fullmatch(r"(-?\d+)-(\d\d|##)-(\d\d|##)", text)
    if match is None:
        raise ValueError(text)
    year = int(match[1])
    if match[2] == "##":
        return midnight(year, 1, 1), midnight(year + 1, 1, 1)
    month = int(match[2])
    if match[3] == "##":
        return midnight(year, month, 1), midnight(year + month // 12, month % 12 + 1, 1)
    first = midnight(year, month, int(match[3]))
    return first, first + DAY


def midnight(year: int, month: int, day: int) -> int:
    """Microseconds from 1970 to a day of the proleptic Gregorian calendar, with a year 0."""
    cycles = max(0, (CYCLE_YEARS - year) // CYCLE_YEARS)
    moved = date(year + cycles * CYCLE_YEARS, month, day).toordinal() - cycles * CYCLE_DAYS
    return (moved - EPOCH) * DAY
