"""What history says agrees with a brute force over all rectangles, and a ceiling is never silent."""

import dataclasses
from collections.abc import Callable, Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from graph import history
from graph.history import OfSubject, OfValue, Period, Statement
from graph.periods import ALWAYS, minus
from graph.ports import OrderKey, Page, Reader
from ontology.facts import Fact, FactVersion, Slot, Support
from ontology.ids import EntityId, FactId
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.intervals import Interval
from ontology.scope import scope_of
from ontology.values import Value, ValueType, value_key
from tests.naive_store import NaiveReader, Tables
from tests.readings import Key, Readings, Rectangle

SCOPE = scope_of("acme")
SUBJECTS = [EntityId("ent_abcdefgh_1_0"), EntityId("ent_abcdefgh_1_1")]
ANNA = SUBJECTS[0]
VALUES = "xyz"
GRID = [Instant(t) for t in (OPEN_START, 10, 20, 30, 40, OPEN_END)]
RECORDED = [Instant(t) for t in (100, 200, 300, 400, OPEN_END)]
INSTANTS = [Instant(t) for t in (OPEN_START, 9, 10, 15, 20, 30, 35, 40, 41)]
KNOWN = [Instant(t) for t in (99, 100, 150, 200, 250, 300, 400, 500)]
PLENTY = 1_000

Snapshot = dict[Key, list[dict[str, bool]]]
"""For each slot, its cells of valid time: whether each value is certain there."""


class World(Readings):
    """What was believed after each of some transactions, as snapshots and as the versions they make."""

    def __init__(self, snapshots: Sequence[Snapshot]) -> None:
        self.rows: dict[Key, list[Rectangle]] = {}
        for key in {key for snapshot in snapshots for key in snapshot}:
            open_rows: dict[tuple[int, int, str, bool], int] = {}
            for recorded, snapshot in zip(RECORDED, snapshots, strict=False):
                runs = set(_runs(snapshot.get(key, [])))
                for run in open_rows.keys() - runs:
                    self._add(key, run, open_rows.pop(run), recorded)
                for run in runs - open_rows.keys():
                    open_rows[run] = recorded
            for run, opened in open_rows.items():
                self._add(key, run, opened, OPEN_END)

    def _add(self, key: Key, run: tuple[int, int, str, bool], recorded_from: int, recorded_to: int) -> None:
        valid_from, valid_to, value, certain = run
        row = Rectangle(recorded_from, valid_from, valid_to, recorded_to, value, certain)
        self.rows.setdefault(key, []).append(row)

    def slots(self) -> list[Key]:
        return sorted(self.rows)

    def audit(self, key: Key) -> list[Rectangle]:
        return sorted(self.rows.get(key, []))

    def reader(self) -> Reader:
        """A reader of these versions; support is there because a fact needs some."""
        tables = Tables()
        listed = sorted((row, key) for key in self.slots() for row in self.audit(key))
        for ordinal, (row, key) in enumerate(listed):
            slot = Slot(scope=SCOPE, subject=EntityId(key[0]), predicate=key[1], language="")
            version = FactVersion(
                id=FactId(f"fct_abcdefgh_{row.recorded_from}_{ordinal}"), position=row.recorded_from, ordinal=ordinal,
                slot=slot, value=self.value(row.value), value_key=value_key(self.value(row.value)), certain=row.certain,
                valid_from=Instant(row.valid_from), valid_to=Instant(row.valid_to),
                recorded_from=Instant(row.recorded_from), recorded_to=Instant(row.recorded_to),
            )  # fmt: skip
            tables.versions.append(version)
            tables.support.append(Support(
                slot=slot, value_key=version.value_key, recorded_from=version.recorded_from, sources=1, occurrences=1,
                doubt=0.5,
            ))  # fmt: skip
        return NaiveReader(tables, SCOPE)

    def value(self, name: str) -> Value:
        return Value(type=ValueType.TEXT, text=name, qualifier="")


def _runs(cells: Sequence[dict[str, bool]]) -> list[tuple[int, int, str, bool]]:
    """(from, to, value, certain) of each maximal run."""
    found: list[tuple[int, int, str, bool]] = []
    for (start, end), cell in zip(pairwise(GRID), cells, strict=False):
        for value, certain in cell.items():
            before = next((run for run in found if run[1:] == (start, value, certain)), None)
            if before is None:
                found.append((start, end, value, certain))
            else:
                found[found.index(before)] = (before[0], end, value, certain)
    return found


KEYS: list[Key] = [(subject, predicate) for subject in SUBJECTS for predicate in ("p", "q")]
cells = st.dictionaries(st.sampled_from(VALUES), st.booleans(), max_size=2)
lines = st.lists(cells, min_size=5, max_size=5)
worlds = st.lists(st.dictionaries(st.sampled_from(KEYS), lines), min_size=1, max_size=4).map(World)
keys = st.sampled_from(KEYS)
instants, knowns = st.sampled_from(INSTANTS), st.sampled_from(KNOWN)


def plain(found: Sequence[Period]) -> list[tuple[int, str, int]]:
    return [(p.valid_from, p.statement.value.text, p.valid_to) for p in found]


def texts(statements: Sequence[Statement]) -> list[str]:
    return [statement.value.text for statement in statements]


def of(key: Key) -> OfSubject:
    return OfSubject(EntityId(key[0]), key[1])


@given(world=worlds, key=keys, known_at=knowns, certain=st.booleans())
def test_periods_are_the_unbroken_stretches(world: World, key: Key, known_at: Instant, certain: bool) -> None:
    found = history.read_periods(world.reader(), of(key), known_at, ceiling=PLENTY, certain=certain)

    assert plain(found.rows) == sorted(world.history(key, known_at, certain=certain))
    assert not found.truncated
    for period in found.rows:
        states = [world.state(key, t, known_at) for t in GRID[:-1] if period.valid_from <= t < period.valid_to]
        assert period.certain == all(state[period.statement.value.text] for state in states)


@given(world=worlds, key=keys, known_at=knowns, start=instants, end=instants)
def test_periods_are_cut_to_a_window(world: World, key: Key, known_at: Instant, start: Instant, end: Instant) -> None:
    within = Interval(min(start, end), max(start, end))
    found = history.read_periods(world.reader(), of(key), known_at, ceiling=PLENTY, within=within)

    whole = world.history(key, known_at)
    cut = [(max(p.valid_from, within.start), p.value, min(p.valid_to, within.end)) for p in whole]
    assert plain(found.rows) == sorted(p for p in cut if p[0] < p[2])


@given(world=worlds, key=keys, valid_at=instants)
def test_belief_about_an_instant(world: World, key: Key, valid_at: Instant) -> None:
    found = history.belief(world.reader(), EntityId(key[0]), key[1], valid_at, ceiling=PLENTY)

    got = [(row.recorded_from, row.statement.value.text, row.recorded_to) for row in found.rows]
    assert got == world.belief(key, valid_at)
    for row in found.rows:
        times = [t for t in RECORDED[:-1] if row.recorded_from <= t < row.recorded_to]
        assert row.certain == all(world.state(key, valid_at, t)[row.statement.value.text] for t in times)


@given(world=worlds, key=keys, known_from=knowns, known_to=knowns)
def test_diff_is_what_turns_one_belief_into_the_other(
    world: World, key: Key, known_from: Instant, known_to: Instant
) -> None:
    found = history.diff(world.reader(), of(key), known_from, known_to, ceiling=PLENTY)

    added, removed = world.diff(key, known_from, known_to)
    assert (plain(found.added), plain(found.removed)) == (added, removed)
    assert found.complete_before is None


@given(world=worlds, key=keys, after=knowns, until=knowns, limit=st.integers(1, 3))
def test_log_has_every_opening_and_closing(world: World, key: Key, after: Instant, until: Instant, limit: int) -> None:
    reader, rows = world.reader(), []
    page: OrderKey | None = None
    while True:
        log = history.log(reader, EntityId(key[0]), key[1], after, until, page=Page(limit, page))
        assert len(log.rows) <= limit
        rows += log.rows
        if log.after is None:
            break
        page = log.after

    got = []
    for row in rows:
        version = row.fact.version
        where = version.valid_from, version.value.text
        got += [(version.recorded_from, True, *where)] if row.opened else []
        got += [(version.recorded_to, False, *where)] if row.closed else []
        assert row.opened or row.closed
    wanted = [(at, opened, row.valid_from, row.value) for at, opened, row in world.log(key, after, until)]
    assert sorted(got) == sorted(wanted)


@given(world=worlds, key=keys, after=instants, until=instants, known_at=knowns)
def test_changes_of_the_world(world: World, key: Key, after: Instant, until: Instant, known_at: Instant) -> None:
    found = history.changes(world.reader(), of(key), after, until, known_at, ceiling=PLENTY)

    got = [(c.at, texts(c.ended), texts(c.started)) for c in found.rows]
    assert got == world.changes(key, after, until, known_at)


@given(world=worlds, key=keys, known_from=knowns, known_to=knowns, closed=st.booleans())
def test_what_was_believed_during_a_window(
    world: World, key: Key, known_from: Instant, known_to: Instant, closed: bool
) -> None:
    got, cut = history.believed_during(
        world.reader(), EntityId(key[0]), key[1], known_from, known_to, closed=closed, ceiling=PLENTY
    )

    assert texts(got) == world.believed_during(key, known_from, known_to, closed=closed)
    assert not cut


@given(world=worlds, key=keys, known_at=knowns, instant=instants, limit=st.integers(1, 3), certain=st.booleans())
def test_first_last_and_next(
    world: World, key: Key, known_at: Instant, instant: Instant, limit: int, certain: bool
) -> None:
    reader, asked = world.reader(), of(key)
    every = world.history(key, known_at, certain=certain)
    later = [p for p in every if p.valid_from > instant]

    def agrees(found: Sequence[Period], wanted: Sequence[tuple[int, str, int]]) -> None:
        assert set(plain(found)) <= set(wanted)
        assert [p.valid_from for p in found] == [p[0] for p in wanted][:limit]

    agrees(history.first(reader, asked, known_at, limit=limit, ceiling=PLENTY, certain=certain), every)
    agrees(history.last(reader, asked, known_at, limit=limit, ceiling=PLENTY, certain=certain), every[::-1])
    agrees(history.next_after(reader, asked, known_at, instant, limit=limit, ceiling=PLENTY, certain=certain), later)


@given(world=worlds, value=st.sampled_from(VALUES), known_at=knowns, after=instants, until=instants)
def test_inverse_questions_are_the_same_of_who_has_a_value(
    world: World, value: str, known_at: Instant, after: Instant, until: Instant
) -> None:
    asked = OfValue(value_key(world.value(value)), "p")
    found = history.read_periods(world.reader(), asked, known_at, ceiling=PLENTY)
    changes = history.changes(world.reader(), asked, after, until, known_at, ceiling=PLENTY)

    wanted = [
        (p.valid_from, subject, p.valid_to)
        for subject, predicate in world.slots()
        if predicate == "p"
        for p in world.history((subject, predicate), known_at)
        if p.value == value
    ]
    assert sorted((p.valid_from, p.statement.subject, p.valid_to) for p in found.rows) == sorted(wanted)
    starts = {(c.at, s.subject) for c in changes.rows for s in c.started}
    assert starts == {(start, subject) for start, subject, _ in wanted if after < start <= until}


@given(world=worlds, known_at=knowns)
def test_every_predicate_at_once(world: World, known_at: Instant) -> None:
    found = history.read_periods(world.reader(), OfSubject(ANNA, None), known_at, ceiling=PLENTY).rows

    wanted = [(p, *each) for s, p in KEYS if s == ANNA for each in world.history((s, p), known_at)]
    got = [(p.statement.predicate, p.valid_from, p.statement.value.text, p.valid_to) for p in found]
    assert sorted(got) == sorted(wanted)


# --- what a ceiling cuts


@given(world=worlds, key=keys, known_at=knowns, ceiling=st.integers(0, 4), valid_at=instants)
@settings(max_examples=200)
def test_a_cut_answer_is_right_before_the_instant_it_names(
    world: World, key: Key, known_at: Instant, ceiling: int, valid_at: Instant
) -> None:
    reader, subject = world.reader(), EntityId(key[0])

    def before(rows: Sequence[tuple[int, str, int]], cut: Instant | None) -> list[tuple[int, str, int]]:
        until = OPEN_END if cut is None else cut
        return sorted((start, value, min(end, until)) for start, value, end in rows if start < until)

    found = history.read_periods(reader, of(key), known_at, ceiling=ceiling)
    cut = found.complete_before
    assert before(plain(found.rows), cut) == before(world.history(key, known_at), cut)
    assert found.truncated == (len(world.visible(key, known_at)) > ceiling)

    held = history.belief(reader, subject, key[1], valid_at, ceiling=ceiling)
    got = [(row.recorded_from, row.statement.value.text, row.recorded_to) for row in held.rows]
    cut = held.complete_before
    assert before(got, cut) == before(world.belief(key, valid_at), cut)

    net = history.diff(reader, of(key), KNOWN[1], known_at, ceiling=ceiling)
    cut = net.complete_before
    added, removed = world.diff(key, KNOWN[1], known_at)
    assert (before(plain(net.added), cut), before(plain(net.removed), cut)) == (
        before(added, cut),
        before(removed, cut),
    )

    changes = history.changes(reader, of(key), GRID[0], Instant(50), known_at, ceiling=ceiling)
    cut = changes.complete_before
    wanted = [c for c in world.changes(key, GRID[0], 50, known_at) if cut is None or c[0] < cut]
    assert [(c.at, texts(c.ended), texts(c.started)) for c in changes.rows] == wanted


def test_what_may_be_missing_from_a_window_is_said() -> None:
    cells: list[dict[str, bool]] = [{"x": True}, {"y": True}, {}, {}, {}]
    world = World([{(ANNA, "p"): cells}])

    got, cut = history.believed_during(world.reader(), ANNA, "p", Instant(150), Instant(160), closed=False, ceiling=1)

    assert (texts(got), cut) == (["x"], True)


def test_a_ceiling_bounds_what_is_read_for_the_first() -> None:
    world = World([{(ANNA, "p"): [{"x": True}, {"y": True}, {"x": True}, {"y": True}, {"x": True}]}])
    limits: list[int] = []
    reader = world.reader()
    asked: Callable[..., list[Fact]] = reader.history

    def counting(*args: object, page: Page, **others: object) -> list[Fact]:
        limits.append(page.limit)
        return asked(*args, page=page, **others)

    reader.history = counting  # type: ignore[method-assign]
    found = history.first(reader, of((ANNA, "p")), Instant(500), limit=1, ceiling=2)

    assert texts([p.statement for p in found]) == ["x"]
    assert limits
    assert max(limits) <= 3


def test_a_long_slot_takes_linear_time() -> None:
    """A slot of 20,000 alternating versions; where this is quadratic it takes minutes."""
    slot = Slot(scope=SCOPE, subject=ANNA, predicate="p", language="")
    first = FactVersion(
        id=FactId("fct_abcdefgh_1_0"), position=1, ordinal=0, slot=slot, value=World([]).value("x"),
        value_key=value_key(World([]).value("x")), certain=True, valid_from=Instant(0), valid_to=Instant(5),
        recorded_from=Instant(1), recorded_to=OPEN_END,
    )  # fmt: skip
    versions = [
        dataclasses.replace(first, valid_from=Instant(10 * n), valid_to=Instant(10 * n + 5)) for n in range(20_000)
    ]
    gaps = [
        dataclasses.replace(v, valid_from=Instant(v.valid_from + 2), valid_to=Instant(v.valid_from + 3))
        for v in versions
    ]

    assert len(history.periods(versions)) == 20_000
    assert len(minus(versions, gaps, ALWAYS)) == 40_000
