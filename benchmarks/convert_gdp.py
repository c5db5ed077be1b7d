"""GDP vintages as lines for `vigencia load --as-recorded`:

    python -m benchmarks.convert_gdp ../shared/data/gdp-vintages

One slot per country. A quarter's figure holds over the quarter, half-open, and was recorded when its vintage was
published; a vintage is one transaction. A revised figure takes the place of the one before: the quarter is cut
out of what is believed, then asserted anew, which needs no schema. In a tenant where `gdp` is functional the
assert alone would do (`revise=False`), since a bounded assert overwrites its extent.
"""

import csv
import gzip
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Final

from benchmarks.conversion import Line, assertion, print_lines

FILE: Final = "gdp_che.csv.gz"
PREDICATE: Final = "gdp"


def read_rows(folder: Path) -> list[dict[str, str]]:
    """The rows `id, time, pub_date, value` as they stand."""
    with gzip.open(folder / FILE, "rt", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def lines(rows: Iterable[Mapping[str, str]], *, revise: bool = True) -> Iterator[Line]:
    """The items of each vintage, oldest vintage first; inside a vintage in the order of the rows."""
    known: dict[tuple[str, str], Decimal] = {}
    for row in sorted(rows, key=lambda row: row["pub_date"]):
        quarter, figure = (row["id"], row["time"]), Decimal(row["value"])
        begins, ends = row["time"], next_quarter(row["time"])
        if revise and quarter in known and known[quarter] != figure:
            yield {
                "op": "retract", "subject": row["id"], "predicate": PREDICATE,
                "valid_from": begins, "valid_to": ends, "recorded_at": row["pub_date"],
            }  # fmt: skip
        known[quarter] = figure
        value = {"type": "decimal", "value": row["value"]}
        yield assertion(row["id"], PREDICATE, value, begins, ends, recorded_at=row["pub_date"])


def next_quarter(day: str) -> str:
    """The first day of the quarter after the one that begins on `day`."""
    year, month = int(day[:4]), int(day[5:7]) + 3
    return f"{year + month // 13:04d}-{(month - 1) % 12 + 1:02d}-01"


if __name__ == "__main__":
    print_lines(lambda folder: lines(read_rows(folder)), "convert_gdp", __doc__)
