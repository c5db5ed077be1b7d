"""What the stores of the benchmarks hold, and how they are made: through the writer, in batches.

Facts come in blocks. In a block every subject has two slots, `status` and `owner`, which hold one value at a time;
four rounds give each slot a new value, so that a block of 10,000 facts has 2,500 slots and a store that is ten times
as large has ten times as many subjects, not longer histories.
"""

import random
import sqlite3
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from api.settings import Settings
from api.wiring import Services, open_services
from consolidation.items import Assert, Said
from ontology.schema_document import pack_from_document
from ontology.scope import scope_of

SCOPE: Final = scope_of("default")
PRINCIPAL: Final = "bench"
PREDICATES: Final = ("status", "owner")
ROUNDS: Final = 4
YEARS: Final = (2000, 2005, 2010, 2015)
"""In which year the values of a round begin."""

PACK: Final = {
    "pack": "bench",
    "predicates": {
        name: {"datatype": "text", "cardinality": "functional"} for name in (*PREDICATES, "reading")
    },
}  # fmt: skip


def open_store(file: Path) -> Services:
    """A store on a file, with the predicates of the benchmarks declared."""
    services = open_services(Settings(store=f"sqlite:///{file}"))
    if "status" not in services.writer.schema(SCOPE).predicates:
        services.writer.put_schema(SCOPE, PRINCIPAL, pack_from_document(PACK))
    return services


def subject(number: int) -> str:
    return f"subject-{number:07d}"


def subjects(facts: int) -> int:
    """How many subjects a store of so many facts has."""
    return facts // (ROUNDS * len(PREDICATES))


def batch_items(block: int) -> int:
    """How many items a transaction has, where a block has so many facts: a thousand, or one round of a small block."""
    return min(1_000, block // ROUNDS)


def items(first: int, after: int, block: int) -> Iterator[Assert]:
    """The facts number `first` up to `after`, in blocks of `block`; both are multiples of it."""
    per_block = subjects(block)
    for start in range(first, after, block):
        for year in YEARS:
            for number in range(subjects(start), subjects(start) + per_block):
                for predicate in PREDICATES:
                    yield fact(number, predicate, year)


def fact(number: int, predicate: str, year: int) -> Assert:
    """What holds of a subject from some day of a year on; always the same."""
    chance = random.Random(f"{number} {predicate} {year}")
    day = f"{year}-{chance.randrange(1, 13):02d}-{chance.randrange(1, 29):02d}"
    value = f"{predicate} of {year}, number {chance.randrange(10**6)}"
    return Assert(subject=subject(number), predicate=predicate, value=value, said=Said(valid_from=day))


def write_all(services: Services, facts: Iterator[Assert], block: int) -> list[float]:
    """Write in batches; the seconds of each."""
    seconds = []
    while batch := list(islice(facts, batch_items(block))):
        started = time.perf_counter()
        services.writer.write(SCOPE, PRINCIPAL, batch)
        seconds.append(time.perf_counter() - started)
    return seconds


def settle(file: Path) -> int:
    """Bring everything into the one file; gives its bytes. Nobody else may have it open for writing."""
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return file.stat().st_size
