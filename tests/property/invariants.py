"""The invariants of the time page, each a function of a kind of world and of chance that fails where it is broken.

`test_invariants` tries them on the bare kernel, `test_stores` on the stores behind their writer, `test_minutes` on
all of them for as long as one likes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from random import Random
from typing import Final, Protocol, cast

from hypothesis import currently_in_test_context, note

from ontology.instants import DAY, OPEN_END, OPEN_START, Instant, format_instant, parse_bound, parse_date, parse_instant
from tests.histories import EVERYTHING, EXACT, PLAIN, PREDICATE, Mix, Op, as_case, history
from tests.model import Model, Refusal, Saying, saying, text_bound
from tests.property.oracle_json import Answers, answer, same
from tests.property.worlds import Functional, MakeWorld, World
from tests.readings import Key, Rectangle

SLOT: Key = ("s", PREDICATE)
LINKED: Final = ("n1", "n2", "n3")
"""Names of subjects that are values too: they mean entities."""

Invariant = Callable[[MakeWorld, Random], None]

INVARIANTS: Final[list[Invariant]] = []


def invariant(check: Invariant) -> Invariant:
    INVARIANTS.append(check)
    return check


class Told(Protocol):
    """Whoever can be told something."""

    def transact(self, ops: Sequence[Op], clock: int) -> int: ...


Belief = list[tuple[int, int, str, bool]]
"""(from, to, value, certain) of each run."""


def tell(world: Told, said: Sequence[Sequence[Op]]) -> list[str | None]:
    """Say everything; gives the code of the refusal of each transaction, `None` where there is none."""
    refused: list[str | None] = []
    for ops in said:
        try:
            world.transact(ops, parse_instant(ops[0]["recorded_at"]))
            refused.append(None)
        except Refusal as refusal:
            refused.append(str(refusal))
    return refused


def believed(world: World, key: Key = SLOT, known_at: int | None = None) -> Belief:
    rows = world.visible(key, known_at)
    return sorted((row.valid_from, row.valid_to, row.value, row.certain) for row in rows)


def everything_believed(world: World) -> dict[Key, Belief]:
    return {key: belief for key in world.slots() if (belief := believed(world, key))}


def random_history(rng: Random, mix: Mix) -> tuple[bool, list[list[Op]]]:
    functional = rng.random() < 0.6
    said = history(rng, replace(mix, episodes=False))  # a store knows when an episode was said, and what it repeats
    said = _without_vain(functional, said)
    if currently_in_test_context():
        note(as_case(said, functional=functional))
    return functional, said


def _without_vain(functional: bool, said: Sequence[Sequence[Op]]) -> list[list[Op]]:
    """The same without what a store does not record, as the model does: transactions that in the end say nothing, and
    erasures about subjects that nobody spoke of, which it does not find."""
    model = Model(functional)
    spoken: set[str] = set()
    kept: list[list[Op]] = []
    for ops in said:
        heard = spoken.copy()
        left: list[Op] = []
        for op in ops:
            if op["op"] != "erase" or op["subject"] in heard:
                left.append(op)
                heard |= {op["subject"]} if op["op"] in ("assert", "retract") else set()
        before = model.sayings
        taken = bool(left) and tell(model, [left]) == [None]
        if taken and model.sayings == before and not any(op["op"] == "erase" for op in left):
            model.times.pop()
            model.snapshots.pop()
        elif left:
            kept.append(left)
            spoken = heard if taken else spoken
    return kept


def accepted(functional: Functional, said: Sequence[Sequence[Op]]) -> list[list[Op]]:
    """The transactions of a history that are not refused."""
    model = Model(functional)
    return [list(ops) for ops in said if tell(model, [ops]) == [None]]


def edges(world: Answers, key: Key = SLOT) -> list[int]:
    """Instants of valid time at which any answer of the slot can change, and one before each."""
    rows = world.audit(key)
    bounds = {t for row in rows for t in (row.valid_from, row.valid_to)}
    return sorted({t + d for t in bounds for d in (-1, 0) if OPEN_START <= t + d < OPEN_END})


# ---- one model


@invariant
def a_world_refuses_and_believes_what_the_model_does(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, EVERYTHING)
    model, world = Model(functional), make(functional)
    for ops in said:
        [expected], [refused] = tell(model, [ops]), tell(world, [ops])
        assert (expected is None) is (refused is None), (ops, expected, refused)
        assert refused == expected or len(ops) > 1, (ops, expected, refused)  # of several, another may be named
    assert {k: world.audit(k) for k in model.slots()} == {k: model.audit(k) for k in model.slots()}
    for key in model.slots():
        for value in "xyz":
            assert world.evidence(key, value) == model.evidence(key, value)


@invariant
def every_question_has_the_answer_that_the_model_gives(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, EVERYTHING)
    model, world = Model(functional), make(functional)
    tell(model, said)
    tell(world, said)
    for key in model.slots() if model.times else ():
        instants = [t for t in edges(model, key) if abs(t) < OPEN_END // 2] or [0]
        for _ in range(2):
            for query in _questions(rng, key, instants, model.times):
                assert same({**query, "expect": answer(model, query)}, world.ask(query)), query


def _questions(rng: Random, key: Key, instants: Sequence[int], times: Sequence[int]) -> Iterator[dict[str, str]]:
    """One of each kind, asked at random."""

    def text(choices: Sequence[int]) -> str:
        return format_instant(Instant(rng.choice(choices)))

    asked = {"subject": key[0], "predicate": key[1]}
    then = {"known_at": text(times)}
    certain = {"certainty": "certain"} if rng.random() > 0.5 else {}
    yield {"kind": "state", "valid_at": text(instants), **asked, **then, **certain}
    yield {"kind": "state_all", "valid_at": text(instants), **asked, **then, **certain}
    yield {"kind": "history", **asked, **then, **certain}
    yield {"kind": "history", **asked, **certain}
    yield {"kind": "audit", **asked}
    yield {"kind": "belief", "valid_at": text(instants), **asked}
    valid = sorted([rng.choice(instants), rng.choice(instants)])
    yield {"kind": "changes", "valid_after": text(valid[:1]), "valid_until": text(valid[1:]), **asked}
    known = sorted([rng.choice(times), rng.choice(times)])
    window = {"known_from": text(known[:1]), "known_to": text(known[1:])}
    yield {"kind": "diff", **window, **asked}
    yield {"kind": "believed_during", **window, **asked}


@invariant
def facts_are_the_fold_of_the_claims(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, EVERYTHING)
    world = make(functional)
    tell(world, said)
    for key in world.slots():
        assert believed(world, key) == sorted((r.valid_from, r.valid_to, r.value, r.certain) for r in world.folded(key))


@invariant
def a_version_shows_the_claims_that_make_it(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, EVERYTHING)
    model, world = Model(functional), make(functional)
    tell(model, said)
    tell(world, said)
    for key in model.slots():
        for row in model.audit(key):
            assert world.shown(key, row) in (None, model.shown(key, row)), row


# ---- the shape of belief


@invariant
def a_functional_slot_holds_at_most_one_certain_value(make: MakeWorld, rng: Random) -> None:
    _, said = random_history(rng, EVERYTHING)
    world = make(True)
    tell(world, said)
    for key in world.slots():
        certain = [row for row in world.audit(key) if row.certain]
        assert not [pair for pair in combinations(certain, 2) if _overlap(*pair)]


@invariant
def no_version_is_empty_on_either_axis(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, EVERYTHING)
    world = make(functional)
    tell(world, said)
    for key in world.slots():
        for row in world.audit(key):
            assert row.valid_from < row.valid_to
            assert row.recorded_from < row.recorded_to


@invariant
def versions_of_a_value_never_overlap_and_are_as_long_as_they_can_be(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, EVERYTHING)
    world = make(functional)
    tell(world, said)
    for key in world.slots():
        rows = world.audit(key)
        assert not [(a, b) for a, b in combinations(rows, 2) if a.value == b.value and _overlap(a, b)]
        for t in world.times:
            for value in "xyz":
                visible = sorted(
                    (row for row in world.visible(key, t) if row.value == value), key=lambda row: row.valid_from
                )
                for first, second in pairwise(visible):
                    assert first.valid_to < second.valid_from or first.certain != second.certain


def _overlap(a: Rectangle, b: Rectangle) -> bool:
    return (
        a.valid_from < b.valid_to
        and b.valid_from < a.valid_to
        and a.recorded_from < b.recorded_to
        and b.recorded_from < a.recorded_to
    )


# ---- what an operation leaves alone


@invariant
def an_operation_on_one_slot_changes_no_other(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, replace(EVERYTHING, batches=0))
    world = make(functional)
    for ops in said:
        before = {key: world.audit(key) for key in world.slots()}
        tell(world, [ops])
        if "subject" in ops[0]:  # a withdrawal names no slot
            mine = ops[0]["subject"], PREDICATE
            assert {k: rows for k, rows in before.items() if k != mine} == {
                k: world.audit(k) for k in before if k != mine
            }


@invariant
def outside_its_extent_an_operation_changes_nothing_but_open_ends_of_its_value(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, replace(PLAIN, late=0))
    world = make(functional)
    for ops in said:
        before = believed(world)
        if tell(world, [ops]) != [None]:
            continue
        said_now = _saying(ops[0], functional, world.times[-1])
        after = believed(world)
        for t in edges(world):
            if _outside(said_now, t):
                old, new = _at(before, t), _at(after, t)
                if said_now.asserts and t >= said_now.start.lo:
                    value = ops[0].get("value") or ""
                    assert new.get(value) in (None, old.get(value), False)
                    old, new = ({v: c for v, c in held.items() if v != value} for held in (old, new))
                assert new == old, t


def _saying(op: Op, functional: bool, now: int) -> Saying:
    text = op.get("observed_at")
    observed = text_bound(text).lo if text else now
    return saying(op, order=(observed, 0, 0), functional=functional)


def _outside(said: Saying, t: int) -> bool:
    """Whether an instant lies outside what the operation states; an absent bound states all of that side."""
    return (said.dated and t < said.start.lo) or t >= said.end.hi


def _at(belief: Belief, t: int) -> dict[str, bool]:
    return {value: certain for start, end, value, certain in belief if start <= t < end}


@invariant
def a_retraction_leaves_nothing_certain_inside_its_hole_and_adds_nothing(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, replace(PLAIN, late=0, retracts=0.4))
    world = make(functional)
    for ops in said:
        before = believed(world)
        if tell(world, [ops]) != [None] or ops[0]["op"] != "retract":
            continue
        hole = _saying(ops[0], functional, world.times[-1])
        for t in edges(world):
            old, new = _at(before, t), _at(believed(world), t)
            for value in new:
                assert value in old
                assert old[value] or not new[value]
            if hole.start.lo <= t < hole.end.hi:
                assert not any(c for v, c in new.items() if ops[0].get("value") in (None, v))
            if hole.start.hi <= t < hole.end.lo:
                assert not [v for v in new if ops[0].get("value") in (None, v)]


@invariant
def repeating_the_last_operation_changes_no_belief(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, PLAIN)
    world = make(functional)
    refused = tell(world, said)
    if refused[-1] is None:
        before = believed(world)
        again: Op = {"observed_at": format_instant(Instant(world.times[-1])), **said[-1][0], "id": "again"}
        assert tell(world, [[{**again, "recorded_at": _after(said)}]]) == [None]
        assert believed(world) == before


@invariant
def the_same_value_where_it_is_believed_opens_and_closes_nothing(make: MakeWorld, rng: Random) -> None:
    """A reinforcement: an open assertion that begins inside a certain period (rule 7)."""
    functional, said = random_history(rng, PLAIN)
    world = make(functional)
    tell(world, said)
    before = believed(world)
    certain = [row for row in before if row[3]]
    if certain:
        start, end, value, _ = rng.choice(certain)
        inside = Instant(max(start, min(end, 0) - 1) if start == OPEN_START else start)
        if inside > OPEN_START:
            repeated = _assertion(value, format_instant(inside), _after(said))
            assert tell(world, [[repeated]]) == [None]
            assert believed(world) == before


@invariant
def a_dated_bounded_assertion_shows_as_stated(make: MakeWorld, rng: Random) -> None:
    """It overwrites exactly its extent (rule 4): certain in its certain part, possible in the rest."""
    functional, said = random_history(rng, PLAIN)
    world = make(functional)
    tell(world, said)
    op = changed(_assertion("x", "2019-04", _after(said)), {"valid_to": rng.choice(["2020", "2020-07-15"])})
    assert tell(world, [[op]]) == [None]
    new = _saying(op, functional, world.times[-1])
    for t in edges(world):
        if new.start.hi <= t < new.end.lo:
            assert world.state(SLOT, t)["x"]
            assert not functional or list(world.state(SLOT, t)) == ["x"]
        elif new.start.lo <= t < new.end.hi:
            assert "x" in world.state(SLOT, t)


# ---- the past of belief


@invariant
def what_was_believed_stays_readable_for_ever(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, EVERYTHING)
    world = make(functional)
    past: dict[tuple[Key, int], Belief] = {}
    for ops in said:
        tell(world, [ops])
        if any(op["op"] == "erase" for op in ops):
            past.clear()
        for (key, known_at), belief in past.items():
            assert believed(world, key, known_at) == belief
        past |= {(key, t): believed(world, key, t) for key in world.slots() for t in world.times[-2:]}


@invariant
def recorded_time_increases_strictly_under_any_clock(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, replace(EVERYTHING, stopped_clock=0.6))
    world = make(functional)
    for ops in said:
        before = world.times[-1] if world.times else OPEN_START
        if tell(world, [ops]) == [None] and world.times and world.times[-1] != before:
            clock = parse_instant(ops[0]["recorded_at"])
            imported = any("import_recorded_at" in op for op in ops)
            assert world.times[-1] > before
            assert imported or world.times[-1] == max(clock, before + 1)


@invariant
def a_refused_transaction_leaves_no_trace(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, replace(EVERYTHING, wrong=0.25, batches=0.5))
    world, other = make(functional), make(functional)
    tell(world, said)
    tell(other, accepted(functional, said))
    assert {k: world.audit(k) for k in world.slots()} == {k: other.audit(k) for k in other.slots()}
    assert world.times == other.times


@invariant
def a_belief_less_what_was_removed_plus_what_was_added_is_the_next(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, EVERYTHING)
    world = make(functional)
    tell(world, said)
    if not world.times:
        return
    since, to = sorted([rng.choice(world.times), rng.choice(world.times)])
    for key in world.slots():
        added, removed = world.diff(key, since, to)
        for t in edges(world, key):
            gone = {p.value for p in removed if p.valid_from <= t < p.valid_to}
            new = {p.value for p in added if p.valid_from <= t < p.valid_to}
            old = world.state(key, t, since).keys()
            assert gone <= old
            assert not new & old
            assert old - gone | new == world.state(key, t, to).keys()
        rows = set(world.visible(key, since))
        for _, opened, row in world.log(key, since, to):
            (rows.add if opened else rows.discard)(row)
        assert rows == set(world.visible(key, to))


@invariant
def what_is_erased_is_nowhere_at_any_time(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, replace(EVERYTHING, subjects=("s",)))
    world = make(functional)
    tell(world, said)
    rest = {key: [row for row in world.audit(key) if row.value != "x"] for key in world.slots()}
    erase: Op = {"op": "erase", "subject": "s", "predicate": PREDICATE, "value": "x", "recorded_at": _after(said)}
    tell(world, [[erase]])
    for key in world.slots():
        assert not [row for row in world.audit(key) if row.value == "x"]
        assert world.evidence(key, "x") == 0
        erased_at = parse_instant(erase["recorded_at"])
        for row in rest[key]:  # what else was believed before stays as it was
            now = [r for r in world.audit(key) if r[:3] == row[:3] and r[4:] == row[4:]]
            assert now
            assert now[0].recorded_to in (row.recorded_to, erased_at)


# ---- what the outcome does not depend on


@invariant
def any_order_of_arrival_gives_the_same_belief(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, replace(PLAIN, late=0))
    said = _observed_apart(rng, accepted(functional, said))
    beliefs = []
    for _ in range(3):
        world = make(functional)
        refused = tell(world, _in_order_of_clocks(said))
        assert not any(refused) or set(refused) <= {None, "inverted_interval", "empty_interval"}
        beliefs.append(believed(world))
        rng.shuffle(said)
    assert beliefs[0] == beliefs[1] == beliefs[2]


def _observed_apart(rng: Random, said: Sequence[Sequence[Op]]) -> list[list[Op]]:
    """The same, each operation said at another instant before the first clock."""
    days = rng.sample(range(400), sum(len(ops) for ops in said))
    first = parse_instant("2019-01-01")
    return [[{**op, "observed_at": format_instant(Instant(first + days.pop() * DAY))} for op in ops] for ops in said]


def _in_order_of_clocks(said: Sequence[Sequence[Op]]) -> list[list[Op]]:
    """The same, each transaction under a clock that runs with its place."""
    first = parse_instant("2020-06-02")
    return [
        [{**op, "recorded_at": format_instant(Instant(first + n * DAY))} for op in ops] for n, ops in enumerate(said)
    ]


@invariant
def a_batch_is_the_same_operations_one_by_one(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, replace(EVERYTHING, batches=0, wrong=0, stopped_clock=0))
    said = [[{"observed_at": "2018-01-01", **ops[0]}] for ops in said]
    for ops in said:
        if ops[0]["op"] not in ("assert", "retract", "replace"):
            del ops[0]["observed_at"]
    said = _without_vain(functional, accepted(functional, said))
    batches: list[list[Op]] = []
    for ops in said:
        own = {op["id"] for op in batches[-1]} if batches else set()
        if batches and rng.random() < 0.6 and ops[0].get("claim") not in own:  # whose id nobody knows yet
            batches[-1] += ops
        else:
            batches.append(list(ops))
    together = [[changed(op, {"recorded_at": ops[-1]["recorded_at"]}) for op in ops] for ops in batches]
    single, batched = make(functional), make(functional)
    assert tell(single, said) == [None] * len(said)
    assert tell(batched, together) == [None] * len(together)
    assert everything_believed(batched) == everything_believed(single)


@invariant
def withdrawing_a_claim_leaves_the_belief_that_would_be_without_it(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, PLAIN)
    said = accepted(functional, said)
    claims = [ops for ops in said if ops[0]["op"] == "assert"]
    if claims:
        gone = rng.choice(claims)
        world, other = make(functional), make(functional)
        withdrawal: Op = {"op": "withdraw", "claim": gone[0]["id"], "recorded_at": _after(said)}
        assert tell(world, [*said, [withdrawal]]) == [None] * (len(said) + 1)
        tell(other, [ops for ops in said if ops is not gone])
        assert believed(world) == believed(other)


@invariant
def open_assertions_with_distinct_exact_starts_commute(make: MakeWorld, rng: Random) -> None:
    """Whatever their order and whenever they were said (rule 3)."""
    functional = rng.random() < 0.8
    starts = rng.sample([f"20{y}-{m:02d}-01" for y in (18, 19, 20) for m in (1, 5, 9)], rng.randint(2, 5))
    ops = [_assertion(rng.choice("xyz"), start, "") for start in starts]
    beliefs = []
    for _ in range(3):
        rng.shuffle(ops)
        said = _in_order_of_clocks([[op] for op in ops])
        world = make(functional)
        tell(world, _observed_apart(rng, said) if rng.random() < 0.5 else said)
        beliefs.append(believed(world))
    assert beliefs[0] == beliefs[1] == beliefs[2]


@invariant
def a_coarser_date_of_the_last_word_takes_no_possible_value_and_adds_no_certain_one(
    make: MakeWorld, rng: Random
) -> None:
    """Of a dated claim with a stated end, the last in the order of rule 1 and the only one of its value.

    Another claim of the value may end with it, or restate the same start only when both are as coarse; an older
    open claim of a rival may only be bounded by a start that is surely later.
    """
    functional, said = random_history(rng, replace(PLAIN, values=("y", "z"), length_max=5))
    exact = changed(_assertion("x", "2019-04-15", _after(said)), {"valid_to": "2020-07-01T00:00:00Z"})
    side = rng.choice(["valid_from", "valid_to"])
    text = {"valid_from": "2019-04-15", "valid_to": "2020-07-01"}[side]
    coarse = changed(exact, {side: text[: rng.choice([4, 7])]})
    worlds = make(functional), make(functional)
    for world, op in zip(worlds, (exact, coarse), strict=True):
        tell(world, [*said, [op]])
    for t in sorted({t for world in worlds for t in edges(world)}):
        known, blurred = (world.state(SLOT, t) for world in worlds)
        assert known.keys() <= blurred.keys()
        assert {v for v, sure in blurred.items() if sure} <= {v for v, sure in known.items() if sure}


@invariant
def shifting_all_valid_times_shifts_all_answers(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, EXACT)
    shift = rng.randint(-1_000_000, 1_000_000) * DAY + rng.randint(-5, 5)

    def shifted(text: str) -> str:
        if text.endswith("infinity"):
            return text
        return format_instant(Instant(parse_instant(text) + shift))

    later = [[mapped(op, ("valid_from", "valid_to"), shifted) for op in ops] for ops in said]
    world, other = make(functional), make(functional)
    assert tell(other, later) == tell(world, said)
    assert other.audit(SLOT) == sorted(
        row._replace(valid_from=_moved(row.valid_from, shift), valid_to=_moved(row.valid_to, shift))
        for row in world.audit(SLOT)
    )


@invariant
def shifting_all_times_by_whole_cycles_of_the_calendar_shifts_all_answers(make: MakeWorld, rng: Random) -> None:
    """400 years have the same months and days, so coarse dates shift too; nothing depends on a year within 1-9999."""
    functional, said = random_history(rng, replace(PLAIN, semantics=0))
    cycles = rng.choice([1, -1, 4, -6, 30])
    shift = cycles * 146_097 * DAY
    fields = ("valid_from", "valid_to", "observed_at", "recorded_at")
    moved = [[mapped(op, fields, lambda text: _cycled(text, cycles)) for op in ops] for ops in said]
    world, other = make(functional), make(functional)
    assert tell(other, moved) == tell(world, said)
    assert other.audit(SLOT) == sorted(
        Rectangle(
            recorded_from=_moved(row.recorded_from, shift),
            valid_from=_moved(row.valid_from, shift),
            valid_to=_moved(row.valid_to, shift),
            recorded_to=_moved(row.recorded_to, shift),
            value=row.value,
            certain=row.certain,
        )
        for row in world.audit(SLOT)
    )


def _moved(t: int, shift: int) -> int:
    """An instant later by `shift`; an open end stays, and so does the microsecond after an open start."""
    return t if t in (OPEN_START, OPEN_START + 1, OPEN_END) else t + shift


def _cycled(text: str, cycles: int) -> str:
    if not text[0].isdigit():
        return text
    year = parse_date(text[:10])[0] + 400 * cycles
    written = f"{year:04d}" if 0 <= year <= 9999 else f"{'-' if year < 0 else '+'}{abs(year):06d}"
    return written + text[4:]


# ---- paths


@invariant
def a_path_holds_at_an_instant_iff_each_of_its_edges_does(make: MakeWorld, rng: Random) -> None:
    functional, said = random_history(rng, replace(EXACT, subjects=LINKED, values=LINKED, length_max=12))
    world = make(functional)
    tell(world, said)
    if not world.times:
        return
    steps = [rng.choice([PREDICATE, "^" + PREDICATE]) for _ in range(rng.randint(1, 2))]
    known_at = rng.choice(world.times)
    at = {"known_at": format_instant(Instant(known_at))}
    for start in LINKED:
        paths = world.ask({"kind": "path", "subject": start, "steps": steps, **at})
        for t in sorted({t for key in world.slots() for t in edges(world, key)}):
            walked = [tuple(row["nodes"]) for row in paths if _within(row, t)]
            assert sorted(walked) == sorted(_walks(world, (start,), steps, t, known_at)), (start, steps, at)


def _within(row: Mapping[str, str], t: int) -> bool:
    return parse_bound(row["valid_from"]).earliest <= t < parse_bound(row["valid_to"]).earliest


def _walks(world: World, nodes: tuple[str, ...], steps: Sequence[str], t: int, known_at: int) -> list[tuple[str, ...]]:
    """Every path at one instant, from the state of each slot."""
    if not steps:
        return [nodes]
    found: list[tuple[str, ...]] = []
    for other in LINKED:
        here, there = (other, nodes[-1]) if steps[0].startswith("^") else (nodes[-1], other)
        if other not in nodes and there in world.state((here, PREDICATE), t, known_at):
            found += _walks(world, (*nodes, other), steps[1:], t, known_at)
    return found


def changed(op: Op, fields: Mapping[str, str]) -> Op:
    return cast(Op, {**op, **fields})


def mapped(op: Op, fields: Sequence[str], change: Callable[[str], str]) -> Op:
    """The operation with the texts of some fields changed."""
    given = cast(dict[str, str], op)
    return changed(op, {field: change(given[field]) for field in fields if field in op})


def _after(said: Sequence[Sequence[Op]]) -> str:
    """A clock after all that was said."""
    last = max((parse_bound(op["recorded_at"]).latest for ops in said for op in ops), default=Instant(0))
    return format_instant(Instant(last + DAY))


def _assertion(value: str, valid_from: str, recorded_at: str) -> Op:
    return {
        "op": "assert", "subject": "s", "predicate": PREDICATE, "value": value, "valid_from": valid_from,
        "recorded_at": recorded_at, "id": f"{value}@{valid_from}",
    }  # fmt: skip
