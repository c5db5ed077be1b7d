"""YAGO11k in the store: ten shapes of question equal a brute force over the files."""

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from api.wiring import Services
from benchmarks import convert_yago
from graph.history import OfSubject, OfValue, first, last, next_after, read_periods
from graph.periods import Period
from graph.ports import Page, Reader
from ontology.entries import End
from ontology.facts import AsOf, Fact
from ontology.ids import EntityId
from ontology.instants import OPEN_END, Instant, parse_instant
from ontology.intervals import Interval
from ontology.scope import scope_of
from ontology.values import entity_value, value_key
from tests.data.loading import load
from tests.data.yago_rows import DAY, Row, midnight, read_rows
from tests.sizes import scaled

SCOPE = scope_of("yago")
QUESTIONS = scaled(200)
SEED = 1911
ALL = Page(10_000)
CEILING = 10_000
YEAR = 366 * DAY

REFUSED = 73
"""Rows of the data with inverted or unreadable dates."""


class Truth:
    """The rows of the files, found by going through them."""

    def __init__(self, rows: list[Row], wrong: int) -> None:
        self.rows = rows
        self.wrong = wrong
        self.slots: dict[tuple[str, str], list[Row]] = defaultdict(list)
        self.holders: dict[tuple[str, str], list[Row]] = defaultdict(list)
        self.values: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
        for row in rows:
            self.slots[row.subject, row.relation].append(row)
            self.holders[row.value, row.relation].append(row)
            self.values[row.subject, row.relation, row.value].append(row)


class Asking:
    """Questions by names, answered with names and microseconds."""

    def __init__(self, reader: Reader, truth: Truth) -> None:
        self.reader = reader
        self.now = reader.head.recorded_at
        keys = sorted({name for row in truth.rows for name in (row.subject, row.value)})
        found = [reader.entities_by_key(keys[start : start + 10_000]) for start in range(0, len(keys), 10_000)]
        self.id = {key: entity.id for part in found for key, entity in part.items()}
        self.name = {id: key for key, id in self.id.items()}
        assert len(self.id) == len(keys)

    def as_of(self, instant: int) -> AsOf:
        return AsOf(valid_at=Instant(instant), known_at=self.now)

    def of(self, subject: str, relation: str) -> OfSubject:
        return OfSubject(self.id[subject], relation)

    def state(self, subject: str, relation: str | None, instant: int) -> set[tuple[str, str]]:
        return {self.said(fact) for fact in self.state_facts(subject, relation, instant)}

    def state_facts(self, subject: str, relation: str | None, instant: int) -> list[Fact]:
        return self.reader.state([(self.id[subject], relation)], self.as_of(instant), certain=True, page=ALL)

    def inverse_state(self, value: str, relation: str | None, instant: int) -> set[tuple[str, str]]:
        key = value_key(entity_value(self.id[value]))
        facts = self.reader.holders(key, relation, self.as_of(instant), certain=True, page=ALL)
        return {(fact.version.slot.predicate, self.name[fact.version.slot.subject]) for fact in facts}

    def said(self, fact: Fact) -> tuple[str, str]:
        return fact.version.slot.predicate, self.name[EntityId(fact.version.value.text)]

    def told(self, period: Period) -> tuple[str, int, int | None]:
        end = None if period.valid_to == OPEN_END else int(period.valid_to)
        assert period.certain
        return self.name[EntityId(period.statement.value.text)], int(period.valid_from), end


@pytest.fixture(scope="module")
def truth(data_folder: Path) -> Truth:
    return Truth(*read_rows(data_folder / "yago11k"))


@pytest.fixture(scope="module")
def asking(
    data_folder: Path, services: Services, truth: Truth, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Asking]:
    """The loaded data; what is refused is looked at here, since the load runs once."""
    file = tmp_path_factory.mktemp("yago") / "yago.jsonl"
    refusals = load(services, SCOPE.tenant, convert_yago.lines(data_folder / "yago11k"), file, as_recorded=False)
    assert {violation.code for refusal in refusals for violation in refusal.error.violations} == {
        "inverted_interval", "empty_interval", "unreadable_date",
    }  # fmt: skip
    assert len(refusals) == truth.wrong == REFUSED
    for refusal in refusals:
        assert set(json.loads(refusal.text)) >= {"subject", "predicate", "value", "valid_from"}
    with services.store.read(SCOPE) as reader:
        yield Asking(reader, truth)


def test_the_rows_with_wrong_dates_are_refused_and_all_others_loaded(asking: Asking, truth: Truth) -> None:
    relations = {row.relation for row in truth.rows}
    slots = [head.slot for relation in relations for head in asking.reader.slots(relation, limit=30_000, after=None)]
    assert sorted((asking.name[slot.subject], slot.predicate) for slot in slots) == sorted(truth.slots)


def test_state(asking: Asking, truth: Truth) -> None:
    for row, instant, chance in questions(truth, "state"):
        relation = row.relation if chance.random() < 0.7 else None
        expected = {
            (each.relation, each.value)
            for each in truth.rows
            if each.subject == row.subject and relation in (None, each.relation) and each.holds(instant)
        }
        assert asking.state(row.subject, relation, instant) == expected, (row, instant)


def test_inverse_state(asking: Asking, truth: Truth) -> None:
    for row, instant, chance in questions(truth, "inverse state"):
        relation = row.relation if chance.random() < 0.7 else None
        expected = {
            (each.relation, each.subject)
            for each in truth.rows
            if each.value == row.value and relation in (None, each.relation) and each.holds(instant)
        }
        assert asking.inverse_state(row.value, relation, instant) == expected, (row, instant)


def test_first(asking: Asking, truth: Truth) -> None:
    check_order(asking, truth, "first", lambda asked, _, limit: first(
        asking.reader, asked, asking.now, limit=limit, ceiling=CEILING
    ), lambda rows, _: sorted(row.start for row in rows))  # fmt: skip


def test_last(asking: Asking, truth: Truth) -> None:
    check_order(asking, truth, "last", lambda asked, _, limit: last(
        asking.reader, asked, asking.now, limit=limit, ceiling=CEILING
    ), lambda rows, _: sorted((row.start for row in rows), reverse=True))  # fmt: skip


def test_next_after(asking: Asking, truth: Truth) -> None:
    check_order(asking, truth, "next after", lambda asked, instant, limit: next_after(
        asking.reader, asked, asking.now, Instant(instant), limit=limit, ceiling=CEILING
    ), lambda rows, instant: sorted(row.start for row in rows if row.start > instant))  # fmt: skip


def test_overlaps(asking: Asking, truth: Truth) -> None:
    for row, instant, chance in questions(truth, "overlaps"):
        start, end = instant, instant + chance.randrange(1, 20 * YEAR)
        expected = {
            (each.value, max(each.start, start), end if each.end is None else min(each.end, end))
            for each in truth.slots[row.subject, row.relation]
            if each.meets(start, end)
        }
        within = Interval(Instant(start), Instant(end))
        asked = asking.of(row.subject, row.relation)
        found = read_periods(asking.reader, asked, asking.now, within=within, ceiling=CEILING)
        assert not found.truncated
        assert [asking.told(period) for period in found.rows] == sorted(
            expected, key=lambda held: (held[1], asking.id[held[0]])
        ), (row, start, end)


def test_duration(asking: Asking, truth: Truth) -> None:
    for row, _, _ in questions(truth, "duration"):
        expected = {
            each.value: None if each.end is None else each.end - each.start
            for each in truth.slots[row.subject, row.relation]
        }
        found = read_periods(asking.reader, asking.of(row.subject, row.relation), asking.now, ceiling=CEILING)
        told = [asking.told(period) for period in found.rows]
        assert len(told) == len(expected)
        assert {value: None if end is None else end - start for value, start, end in told} == expected, row


def test_open_ends(asking: Asking, truth: Truth) -> None:
    for row, instant, _ in questions(truth, "open ends", lambda row: row.end is None):
        holding = [each for each in truth.slots[row.subject, row.relation] if each.holds(instant)]
        facts = asking.state_facts(row.subject, row.relation, instant)
        assert {asking.said(fact)[1]: (fact.end is End.OPEN, fact.version.valid_to == OPEN_END) for fact in facts} == {
            each.value: (each.end is None, each.end is None) for each in holding
        }, (row, instant)


def test_coarse_dates(asking: Asking, truth: Truth) -> None:
    """The first and the last instant of a year or a month, and their neighbours outside."""
    for row, _, chance in questions(truth, "coarse dates", lambda row: "##" in row.dates[0]):
        edges = [row.start] + ([] if row.end is None else [row.end])
        instant = chance.choice(edges) - chance.randrange(2)
        expected = {
            (each.relation, each.value) for each in truth.slots[row.subject, row.relation] if each.holds(instant)
        }
        assert asking.state(row.subject, row.relation, instant) == expected, (row, instant)


def test_years_before_0(asking: Asking, truth: Truth) -> None:
    ancient = [row for row in truth.rows if row.start < midnight(0, 1, 1)]
    assert len(ancient) == 10
    chance = random.Random(f"{SEED} years before 0")
    for _ in range(QUESTIONS):
        row, year = chance.choice(ancient), -chance.randrange(395, 435)
        instant = parse_instant(f"{year:05d}-{chance.randrange(1, 13):02d}-15")
        assert asking.state(row.subject, row.relation, instant) == {
            (each.relation, each.value) for each in truth.slots[row.subject, row.relation] if each.holds(instant)
        }, (row, year)
        assert asking.inverse_state(row.value, None, instant) == {
            (each.relation, each.subject) for each in truth.rows if each.value == row.value and each.holds(instant)
        }, (row, year)
        asked = OfValue(value_key(entity_value(asking.id[row.value])), row.relation)
        holders = read_periods(asking.reader, asked, asking.now, ceiling=CEILING)
        assert {(int(p.valid_from), asking.name[p.statement.subject]) for p in holders.rows} == {
            (each.start, each.subject) for each in truth.holders[row.value, row.relation]
        }


# ---- what the questions share


def questions(
    truth: Truth, shape: str, wanted: Callable[[Row], bool] = lambda row: True
) -> Iterator[tuple[Row, int, random.Random]]:
    """A row, an instant that means something to it, and more chance; the same for the same shape."""
    chance = random.Random(f"{SEED} {shape}")
    rows = [row for row in truth.rows if wanted(row)]
    for _ in range(QUESTIONS):
        row = chance.choice(rows)
        rivals = chance.choice([truth.slots[row.subject, row.relation], truth.holders[row.value, row.relation]])
        edges = [edge for each in rivals for edge in (each.start, each.end) if edge is not None]
        instant = chance.choice(edges) + chance.choice([-1, 0, 1, -YEAR, YEAR, chance.randrange(-50 * YEAR, 50 * YEAR)])
        yield row, instant, chance


def check_order(
    asking: Asking,
    truth: Truth,
    shape: str,
    ask: Callable[[OfSubject, int, int], list[Period]],
    expect: Callable[[list[Row], int], list[int]],
) -> None:
    """That the periods are those of the slot and their starts come in the order that is expected."""
    for row, instant, chance in questions(truth, shape):
        rows = truth.slots[row.subject, row.relation]
        limit = chance.choice([1, 1, 2, 5])
        told = [asking.told(period) for period in ask(asking.of(row.subject, row.relation), instant, limit)]
        assert [start for _, start, _ in told] == expect(rows, instant)[:limit], (row, instant)
        assert set(told) <= {(each.value, each.start, each.end) for each in rows}
        assert len(set(told)) == len(told)
        assert all(earlier != later for earlier, later in pairwise(told))
