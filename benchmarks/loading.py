"""Bulk load through the writer and through the loader against a bare `executemany` of the same rows."""

import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import orjson

from api.load import Loader, Plan, Refusal, Tally, check_file
from api.load_lines import LineFile
from benchmarks import bare, world
from benchmarks.figures import Figure, at_least, plain
from benchmarks.sizes import Sizes
from benchmarks.timing import interleaved, tell


class Grown:
    """The stores of a run: one that grows, and a copy of it at each size but the last."""

    def __init__(self, folder: Path, sizes: Sizes) -> None:
        self.files = {facts: folder / f"{facts}.db" for facts in sizes.facts}
        self.bytes: dict[int, int] = {}
        self.seconds: list[float] = []
        """Of each batch, from the first on."""
        self._batch = world.batch_items(sizes.facts[0])
        growing = self.files[sizes.facts[-1]]
        made = 0
        for facts in sizes.facts:
            services = world.open_store(growing)
            for step in range(made, facts, max(facts // 10, sizes.facts[0])):
                after = min(step + max(facts // 10, sizes.facts[0]), facts)
                tell(f"loading up to {after:,} facts through the writer")
                self.seconds += world.write_all(services, world.items(step, after, sizes.facts[0]), sizes.facts[0])
            services.close()
            made = facts
            self.bytes[facts] = world.settle(growing)
            if growing != self.files[facts]:
                shutil.copy(growing, self.files[facts])

    def seconds_per_fact(self, first: int, after: int) -> float:
        """Of the facts from number `first` up to `after`."""
        return sum(self.seconds[first // self._batch : after // self._batch]) / (after - first)


def measure(grown: Grown, folder: Path, sizes: Sizes) -> Iterator[Figure]:
    """Facts per second by the writer, by the loader and bare; how the rate falls; bytes per fact."""
    first, *_, last = sizes.facts
    batch = world.batch_items(first)
    file = folder / "lines.jsonl"
    _write_lines(file, first)
    tell(f"loading {first:,} facts by the writer, by the loader and bare")
    seconds = interleaved(
        {
            "writer": partial(_fresh, folder, partial(_by_writer, facts=first)),
            "loader": partial(_fresh, folder, partial(_by_loader, lines=file, batch=batch)),
            "bare": partial(_fresh, folder, partial(_bare, source=grown.files[first], transactions=first // batch)),
        },
        min(sizes.runs, 3),
    )
    for name, shown in (("writer", "bulk load"), ("loader", "bulk load by the loader")):
        yield plain(f"{shown}, {first:,} facts", first / seconds[name], "facts per s")
        yield at_least(f"{shown}, {first:,} facts, against bare", seconds["bare"] / seconds[name], 0.2)
    yield plain(f"bulk load, {first:,} facts, bare", first / seconds["bare"], "facts per s")
    for facts in sizes.facts[1:]:
        tell(f"loading {facts:,} facts bare")
        ours = grown.seconds_per_fact(0, facts) * facts
        theirs = _fresh(folder, partial(_bare, source=grown.files[facts], transactions=facts // batch))
        yield plain(f"bulk load, {facts:,} facts", facts / ours, "facts per s")
        yield at_least(f"bulk load, {facts:,} facts, against bare", theirs / ours, 0.2)
    slower = grown.seconds_per_fact(last - first, last) / grown.seconds_per_fact(0, first)
    yield plain(f"bulk load, seconds per fact at {last:,} against at {first:,}", slower, "x")
    for facts, size in grown.bytes.items():
        yield plain(f"bytes per fact, {facts:,} facts", size / facts, "bytes")


def _fresh(folder: Path, load: Callable[[Path], float]) -> float:
    """The seconds of a load into a new file, which is gone afterwards."""
    target = folder / "fresh.db"
    try:
        return load(target)
    finally:
        for name in (target, target.with_name("fresh.db-wal"), target.with_name("fresh.db-shm")):
            name.unlink(missing_ok=True)


def _by_writer(target: Path, facts: int) -> float:
    services = world.open_store(target)
    seconds = sum(world.write_all(services, world.items(0, facts, facts), facts))
    services.close()
    return seconds


def _by_loader(target: Path, lines: Path, batch: int) -> float:
    """All that `vigencia load` does but starting Python: reading twice, checking, writing."""
    services = world.open_store(target)
    plan = Plan(
        scope=world.SCOPE, principal=world.PRINCIPAL, batch_lines=batch, items_max=batch,
        as_recorded=False, dry_run=False,
    )  # fmt: skip
    started = time.perf_counter()
    source = LineFile(lines, lines.name, None, as_recorded=False)
    checked = check_file(source, services.writer.schema(world.SCOPE), _Nobody())
    loader = Loader(services.writer, services.store, plan, _Nobody())
    loader.load(source, checked)
    seconds = time.perf_counter() - started
    services.close()
    if loader.tally.refused:
        raise AssertionError(f"{loader.tally.refused} lines were refused")
    return seconds


def _bare(target: Path, source: Path, transactions: int) -> float:
    """The rows of a store, as many transactions as it took to write them."""
    connection = bare.copy_schema(source, target)
    original = sqlite3.connect(source)
    statements = {table: bare.insert(connection, table) for table in bare.tables(connection)}
    seconds = 0.0
    for portion in bare.slices(original, transactions):
        started = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        for table, rows in portion:
            connection.executemany(statements[table], rows)
        connection.execute("COMMIT")
        seconds += time.perf_counter() - started
    original.close()
    connection.close()
    return seconds


def _write_lines(file: Path, facts: int) -> None:
    with file.open("wb") as stream:
        for item in world.items(0, facts, facts):
            said = {"valid_from": item.said.valid_from}
            line = {"subject": item.subject, "predicate": item.predicate, "value": item.value, **said}
            stream.write(orjson.dumps(line) + b"\n")


class _Nobody:
    """A watcher that does not look."""

    def checked(self, lines: int) -> None:
        pass

    def refused(self, refusal: Refusal) -> None:
        pass

    def wrote(self, lines: int, tally: Tally) -> None:
        pass

    def stopping(self) -> bool:
        return False
