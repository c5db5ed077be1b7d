"""Folding again finds what does not follow from what was told, and nothing else."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from consolidation.items import Assert, Erase, Replace, Retract, Said, Withdraw
from consolidation.verify import refold
from consolidation.write import Writer
from graph.sqlite_store.store import SqliteStore
from ontology.instants import parse_instant
from ontology.packs import load_core, read_pack
from ontology.scope import scope_of
from tests.conftest import FrozenClock, SeededRandomness
from tests.writer.conftest import PACK, Desk, lives


@pytest.fixture
def filed(tmp_path: Path) -> Iterator[tuple[Desk, Path]]:
    """A desk on a file that a test may tamper with, with a history of every kind of operation."""
    path = tmp_path / "memory.db"
    store = SqliteStore(str(path))
    clock = FrozenClock(parse_instant("2026-01-01"))
    desk = Desk(
        store, Writer(store=store, clock=clock, randomness=SeededRandomness(), core=load_core()), clock, scope_of("red")
    )
    desk.writer.put_schema(desk.scope, "person", read_pack(PACK))
    desk.write(lives("Oslo", "2020-01-01", source="a"), Assert(subject="jo", predicate="speaks", value="Welsh"))
    desk.write(lives("Riga", "2021-01-01", "2022-01-01", source="b"))
    for place, year in (("Vigo", "2020-01-01"), ("Lugo", "2021-01-01")):
        desk.write(Assert(subject="ana", predicate="lives_in", value=place, said=Said(valid_from=year)))
    desk.write(lives("Bonn", "2019", observed_at="2024-01-01"))
    desk.write(Replace(subject="mira", predicate="lives_in", old="Riga", at="2021-06-01", value="Cork"))
    desk.write(Retract(subject="mira", predicate="lives_in", said=Said(valid_from="2023", valid_to="2024")))
    desk.write(Withdraw(source="a"))
    desk.write(Erase(subject="mira", predicate="lives_in", value="Cork"))
    yield desk, path
    store.close()


def test_an_honest_ledger_has_nothing_to_find(filed: tuple[Desk, Path]) -> None:
    desk, _ = filed
    assert refold(desk.store, desk.scope.tenant) == []


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE versions SET valid_to = valid_to - 1 WHERE recorded_to < 4611686018427387904",
        "UPDATE versions SET certain = 1 - certain",
        "UPDATE versions SET recorded_to = recorded_to + 1 WHERE recorded_to < 4611686018427387904",
        "UPDATE claims SET start_lo = start_lo + 1, start_hi = start_hi + 1 WHERE asserts",
        "DELETE FROM versions WHERE recorded_to = 4611686018427387904",
    ],
)
def test_tampering_is_found(filed: tuple[Desk, Path], tampering: str) -> None:
    desk, path = filed
    with sqlite3.connect(path) as connection:
        assert connection.execute(tampering).rowcount > 0
    connection.close()
    findings = refold(desk.store, desk.scope.tenant)
    assert findings
    assert all("slot (ent_" in finding for finding in findings)
