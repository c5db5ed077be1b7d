"""GDP vintages in the store: what a quarter's figure was believed to be, as the files say it."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pytest

from api.settings import Settings
from api.wiring import Services, open_services
from benchmarks import convert_gdp
from graph.ports import Page
from ontology.facts import AsOf
from ontology.instants import Instant
from ontology.schema_document import pack_from_document
from ontology.scope import scope_of
from tests.conftest import FrozenClock, SeededRandomness
from tests.data.loading import load
from tests.sizes import scaled

READS = scaled(2_000)
SEED = 89
FUNCTIONAL = {"pack": "gdp", "predicates": {"gdp": {"datatype": "decimal", "cardinality": "functional"}}}


class Published(NamedTuple):
    """One row: a quarter `[begins, ends)` and its figure from `recorded` on, in microseconds."""

    begins: int
    ends: int
    recorded: int
    figure: Decimal


class Truth:
    """Goes through the rows for every question."""

    def __init__(self, rows: list[dict[str, str]]) -> None:
        quarters = sorted({row["time"] for row in rows})
        after = dict(zip(quarters, [*quarters[1:], "2024-10-01"], strict=True))
        self.rows = [
            Published(micros(row["time"]), micros(after[row["time"]]), micros(row["pub_date"]), Decimal(row["value"]))
            for row in rows
        ]
        self.vintages = sorted({row.recorded for row in self.rows})
        self.quarters = sorted({(row.begins, row.ends) for row in self.rows})

    def figure(self, valid_at: int, known_at: int) -> Decimal | None:
        published = [row for row in self.rows if row.begins <= valid_at < row.ends and row.recorded <= known_at]
        return max(published, key=lambda row: row.recorded).figure if published else None


def micros(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1_000_000


@pytest.fixture(scope="module")
def rows(data_folder: Path) -> list[dict[str, str]]:
    return convert_gdp.read_rows(data_folder / "gdp-vintages")


@pytest.fixture(scope="module")
def truth(rows: list[dict[str, str]]) -> Truth:
    return Truth(rows)


@pytest.mark.parametrize("shuffled", [False, True])
def test_every_vintage_is_read_as_it_was_published(
    rows: list[dict[str, str]], truth: Truth, services: Services, tmp_path: Path, shuffled: bool
) -> None:
    tenant = f"gdp-{'shuffled' if shuffled else 'in-order'}"
    told = shuffle(rows) if shuffled else rows
    assert not load(services, tenant, convert_gdp.lines(told), tmp_path / "gdp.jsonl", as_recorded=True)
    check(services, tenant, truth)


def test_a_functional_predicate_needs_no_retractions(rows: list[dict[str, str]], truth: Truth, tmp_path: Path) -> None:
    clock = FrozenClock(Instant(micros("2000-01-01")))
    services = open_services(Settings(store=f"sqlite:///{tmp_path / 'gdp.db'}"), clock, SeededRandomness(SEED))
    services.writer.put_schema(scope_of("gdp"), "importer", pack_from_document(FUNCTIONAL))
    clock.reading = Instant(micros("2026-01-01"))
    lines = convert_gdp.lines(shuffle(rows), revise=False)
    assert not load(services, "gdp", lines, tmp_path / "gdp.jsonl", as_recorded=True)
    check(services, "gdp", truth)
    services.close()


def shuffle(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows in another order inside each vintage; the converter puts the vintages in order."""
    told = rows.copy()
    random.Random(SEED).shuffle(told)
    return told


def check(services: Services, tenant: str, truth: Truth) -> None:
    with services.store.read(scope_of(tenant)) as reader:
        country = reader.entities_by_key(["CHE"])["CHE"].id
        events = reader.events(after=0, limit=1_000)
        recorded = [event.recorded_at for event, _ in events]
        assert [instant for instant in recorded if instant >= truth.vintages[0]] == truth.vintages
        for valid_at, known_at in reads(truth):
            as_of = AsOf(valid_at=Instant(valid_at), known_at=Instant(known_at))
            facts = reader.state([(country, "gdp")], as_of, certain=True, page=Page(10))
            expected = truth.figure(valid_at, known_at)
            assert [Decimal(fact.version.value.text) for fact in facts] == [f for f in [expected] if f is not None]


def reads(truth: Truth) -> Iterator[tuple[int, int]]:
    """Pairs of instants, for half of which the answer is another one than now."""
    chance = random.Random(SEED)
    wanted = {True: READS - READS // 2, False: READS // 2}
    while any(wanted.values()):
        begins, ends = chance.choice(truth.quarters)
        valid_at = chance.choice([begins, ends - 1, chance.randrange(begins, ends)])
        vintage = chance.choice(truth.vintages)
        known_at = vintage + chance.choice([0, -1, 1, chance.randrange(-(10**14), 10**14)])
        now = truth.figure(valid_at, truth.vintages[-1])
        changed = truth.figure(valid_at, known_at) != now
        if wanted[changed]:
            wanted[changed] -= 1
            yield valid_at, known_at
