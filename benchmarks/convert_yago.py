"""YAGO11k as lines for `vigencia load`: `python -m benchmarks.convert_yago ../shared/data/yago11k > yago.jsonl`.

Entities go by their names and relations are predicates, both without YAGO's angle brackets. No predicate is
declared, so all take many values. A date of the data names a whole granule (`date_semantics: whole`):

    1986-05-11 → 1986-05-11      1986-05-## → 1986-05      1986-##-## → 1986      431-##-## → 0431
    19##-##-## → 1900 as a start, 1999 as an end: with whole granules both say "all of that century"
    ####-##-## → "unknown" as a start, no end as an end

A year before 0 is taken as given, -431 as the astronomical year -431 (`-0431`). Whether the source counts a year
0 cannot be told from the data; nothing that compares its dates with each other depends on it.
What is none of these (`195#-##-##`, `307-13047-09`) is passed on as it stands, for `load` to refuse and report,
together with the rows that end before they begin.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.conversion import Line, assertion, entity, print_lines

FILES: Final = ("train.txt", "valid.txt", "test.txt")

_NOT_KNOWN: Final = "####-##-##"
_CENTURY: Final = re.compile(r"(\d\d)##-##-##", re.ASCII)
_DATE: Final = re.compile(r"(-?)(\d{1,4})-(\d\d|##)-(\d\d|##)", re.ASCII)


def lines(folder: Path) -> Iterator[Line]:
    """One assert for each row of the three files, in their order."""
    entities, relations = _names(folder / "entity2id.txt"), _names(folder / "relation2id.txt")
    for name in FILES:
        for row in (folder / name).read_text(encoding="utf-8").splitlines():
            subject, relation, value, start, end = row.split("\t")
            yield assertion(
                entities[subject], relations[relation], entity(entities[value]), _start(start), _end(end),
                date_semantics="whole",
            )  # fmt: skip


def _names(file: Path) -> dict[str, str]:
    """Names by id."""
    rows = (line.split("\t") for line in file.read_text(encoding="utf-8").splitlines())
    return {row[1]: row[0].removeprefix("<").removesuffix(">") for row in rows}


def _start(date: str) -> str:
    if date == _NOT_KNOWN:
        return "unknown"
    century = _CENTURY.fullmatch(date)
    return f"{century[1]}00" if century else _date(date)


def _end(date: str) -> str | None:
    if date == _NOT_KNOWN:
        return None
    century = _CENTURY.fullmatch(date)
    return f"{century[1]}99" if century else _date(date)


def _date(date: str) -> str:
    match = _DATE.fullmatch(date)
    if match is None:
        return date
    sign, year, month, day = match.groups()
    parts = (f"{sign}{int(year):04d}", month, day)
    return "-".join(parts[: parts.index("##")] if "##" in parts else parts)


if __name__ == "__main__":
    print_lines(lines, "convert_yago", __doc__)
