"""The journal of public data moves from store to store and back, and every store on the way holds the same.

As `vigencia journal export | import` does it: through a file that is read twice.
"""

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from api.settings import Settings
from api.wiring import services_over
from benchmarks import convert_gdp, convert_yago
from benchmarks.conversion import Line
from graph.ledger import ledger_hash
from graph.ports import MemoryStore
from graph.sqlite_store.store import SqliteStore
from graph.transfer import export_events, import_events, verify_events
from ontology.instants import Instant, parse_instant
from ontology.scope import Tenant
from tests.conftest import FrozenClock, SeededRandomness
from tests.data.loading import ITEMS_MAX, load
from tests.neo4j.stores import empty_store
from tests.oracles.memory import AFTER_ALL
from tests.sizes import SOAK

pytestmark = pytest.mark.neo4j

LINES = None if SOAK else 2_000
"""How many lines of each set are moved: all of them in a soak."""
NOW = Instant(parse_instant("2026-06-01"))

Lines = Callable[[Path], Iterator[Line]]
SETS: dict[str, tuple[str, Lines, bool]] = {
    "yago": ("yago11k", convert_yago.lines, False),
    "gdp": ("gdp-vintages", lambda folder: convert_gdp.lines(convert_gdp.read_rows(folder)), True),
}
"""Name of a set: its folder, the converter, and whether its lines tell when they were recorded."""


@dataclass(frozen=True)
class Stop:
    """A tenant of a store, where a journal comes by."""

    name: str
    store: MemoryStore
    tenant: Tenant
    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / f"{self.name} {self.tenant}.jsonl"

    def export(self) -> bytes:
        """Write the journal to the file of this stop; gives its last digest."""
        with self.file.open("wb") as stream:
            return export_events(self.store, self.tenant, stream.write).digest

    def import_from(self, before: "Stop") -> None:
        import_events(self.store, self.tenant, partial(_lines, before.file), now=AFTER_ALL)


def _lines(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        yield from stream


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, MemoryStore]]:
    folder = tmp_path_factory.mktemp("moves")
    opened: dict[str, MemoryStore] = {
        "sqlite": SqliteStore(str(folder / "first.db")),
        "neo4j": empty_store(),
        "sqlite again": SqliteStore(str(folder / "second.db")),
    }
    yield opened
    for store in opened.values():
        store.close()


def loaded(stop: Stop, folder: Path, lines: Lines, *, as_recorded: bool) -> int:
    """Load a set into a stop, under a clock that stands; gives how many lines were refused."""
    clock, randomness = FrozenClock(NOW), SeededRandomness(11)
    settings = Settings(tenant=stop.tenant, items_max=ITEMS_MAX)
    services = services_over(stop.store, settings, clock, randomness)
    source = stop.folder / f"{stop.tenant}-lines.jsonl"
    return len(load(services, stop.tenant, islice(lines(folder), LINES), source, as_recorded=as_recorded))


@pytest.mark.parametrize("name", SETS)
def test_a_journal_moves_and_the_ledger_stays_the_same(
    name: str, data_folder: Path, stores: dict[str, MemoryStore], tmp_path: Path
) -> None:
    """SQLite and Neo4j load the same and then hold the same; so does every store on the way from each to the other
    and back."""
    folder, lines, as_recorded = SETS[name]

    def stop(store: str, suffix: str = "") -> Stop:
        return Stop(store, stores[store], Tenant(name + suffix), tmp_path)

    ways = [
        [stop("sqlite"), stop("neo4j", "-there"), stop("sqlite again")],
        [stop("neo4j"), stop("sqlite", "-there"), stop("neo4j", "-back")],
    ]
    held: set[tuple[bytes, bytes, str]] = set()
    for first, *others in ways:
        before = first
        for at in (first, *others):
            began = time.monotonic()
            if at is first:
                refused = loaded(first, data_folder / folder, lines, as_recorded=as_recorded)
                did = f"loads {LINES or 'all'} lines, {refused} refused"
            else:
                at.import_from(before)
                did = "imports"
            took = time.monotonic() - began
            digest, held_here = at.export(), ledger_hash(at.store, at.tenant)
            print(f"{at.tenant} {at.name} {did} in {took:.1f} s: digest {digest.hex()}, ledger_hash {held_here}")
            assert verify_events(at.store, at.tenant) == []
            held.add((digest, hashlib.sha256(at.file.read_bytes()).digest(), held_here))
            before = at
    assert len(held) == 1
