"""Durable single writes against a bare insert of the same rows, also into a slot with very many versions."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from api.wiring import Services
from benchmarks import bare, world
from benchmarks.captured import Recorder, replay
from benchmarks.figures import Figure, at_least, plain
from benchmarks.sizes import Sizes
from benchmarks.timing import each, interleaved, tell
from consolidation.items import Assert, Said
from ontology.instants import civil_from_days, format_date

LONG_SLOT = "long"
_DAY_OF_NEW = 20_000
"""The first day of new values, counted from 1970: after all that the stores hold."""


def status(facts: int) -> Callable[[int], Assert]:
    """A new value for a slot of a store of so many facts; another slot each time."""

    def item(number: int) -> Assert:
        subject = world.subject(number * 7919 % world.subjects(facts))
        return Assert(
            subject=subject, predicate="status", value=f"changed {number}", said=Said(valid_from=_day(number))
        )

    return item


def reading(number: int) -> Assert:
    """The next value of the slot that has many."""
    return Assert(subject=LONG_SLOT, predicate="reading", value=f"read {number}", said=Said(valid_from=_day(number)))


def build_long_slot(file: Path, sizes: Sizes) -> None:
    """Give one slot many versions, in transactions of up to a hundred items."""
    services = world.open_store(file)
    made = 0
    while made < sizes.slot_versions:
        # `count` open asserts that follow each other close one version and open `count` bounded ones and an open one
        count = min(100, sizes.slot_versions - made)
        batch = [
            Assert(
                subject=LONG_SLOT, predicate="reading", value=f"built {number}",
                said=Said(valid_from=format_date(*civil_from_days(number - sizes.slot_versions))),
            )
            for number in range(made, made + count)
        ]  # fmt: skip
        services.writer.write(world.SCOPE, world.PRINCIPAL, batch)
        made += count
    services.close()
    world.settle(file)


def measure(file: Path, sizes: Sizes, item: Callable[[int], Assert], what: str) -> Iterator[Figure]:
    """Single writes of the items into copies of a store: through the writer, and bare."""
    copies = {name: file.with_name(f"{file.stem}-{name}.db") for name in ("ours", "recorded", "bare")}
    for copy in copies.values():
        shutil.copy(file, copy)
    tell(f"single writes {what}")
    count = sizes.writes * (sizes.runs + 1)
    recorder = Recorder(copies["recorded"])
    services = world.open_store(copies["recorded"])
    commits = []
    for number in range(count):
        services.writer.write(world.SCOPE, world.PRINCIPAL, [item(number)])
        commits.append(recorder.commit())
    services.close()
    recorder.close()

    services, connection = world.open_store(copies["ours"]), bare.connect(copies["bare"])
    seconds = interleaved(
        {
            "ours": each((partial(_write, services, item(number)) for number in range(count)), sizes.writes),
            "bare": each((partial(replay, connection, commit) for commit in commits), sizes.writes),
        },
        sizes.runs,
    )
    services.close()
    _check(copies["ours"], connection)
    connection.close()
    yield plain(f"single writes {what}", 1 / seconds["ours"], "per s")
    yield plain(f"single writes {what}, bare", 1 / seconds["bare"], "per s")
    yield at_least(f"single writes {what}, against bare", seconds["bare"] / seconds["ours"], 0.5)
    for copy in copies.values():
        copy.unlink()


def _write(services: Services, item: Assert) -> None:
    services.writer.write(world.SCOPE, world.PRINCIPAL, [item])


def _check(ours: Path, theirs: sqlite3.Connection) -> None:
    """That the bare side wrote as many rows into each table as the store did."""
    connection = sqlite3.connect(ours)
    for table in bare.tables(connection):
        counts = [side.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for side in (connection, theirs)]
        if counts[0] != counts[1]:
            raise AssertionError(f"{table} has {counts[0]} rows here and {counts[1]} there")
    connection.close()


def _day(number: int) -> str:
    return format_date(*civil_from_days(_DAY_OF_NEW + number))
