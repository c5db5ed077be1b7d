"""An invariant that nothing breaks tests nothing: for each there is a world that breaks it, and it says so.

The rules of belief themselves are broken in `tests.mutants`; here it is what surrounds them.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest

from ontology.instants import OPEN_END, OPEN_START
from tests.histories import Op
from tests.model import Refusal
from tests.property import invariants
from tests.property.invariants import INVARIANTS, Invariant
from tests.property.oracle_json import JSONAnswer
from tests.property.worlds import KernelWorld
from tests.readings import Key, Period, Rectangle


class TwoAtOnce(KernelWorld):
    def audit(self, key: Key) -> list[Rectangle]:
        rows = super().audit(key)
        return sorted(rows + [row._replace(value="other") for row in rows[:1]])


class Emptied(KernelWorld):
    def audit(self, key: Key) -> list[Rectangle]:
        return [row._replace(recorded_to=row.recorded_from) for row in super().audit(key)]


class Split(KernelWorld):
    def audit(self, key: Key) -> list[Rectangle]:
        halves = ((r._replace(valid_to=0), r._replace(valid_from=0)) for r in super().audit(key) if r.holds(0))
        return sorted(row for pair in halves for row in pair)


class Confused(KernelWorld):
    """Whatever is said of one subject is believed of another."""

    def audit(self, key: Key) -> list[Rectangle]:
        return super().audit(("t", key[1]))

    def slots(self) -> list[Key]:
        return [("s", "p"), ("t", "p")]


class Forgetful(KernelWorld):
    def audit(self, key: Key) -> list[Rectangle]:
        return [row for row in super().audit(key) if row.recorded_to == OPEN_END]


class Clocked(KernelWorld):
    def transact(self, ops: Sequence[Op], clock: int) -> int:
        super().transact(ops, clock)
        self.times[-1] = clock
        return clock


class Leaky(KernelWorld):
    """What comes before the operation that is refused stays."""

    def transact(self, ops: Sequence[Op], clock: int) -> int:
        try:
            return super().transact(ops, clock)
        except Refusal:
            if len(ops) > 1:
                super().transact(ops[:1], clock)
            raise


class Swapped(KernelWorld):
    def diff(self, key: Key, known_from: int, known_to: int) -> tuple[list[Period], list[Period]]:
        added, removed = super().diff(key, known_from, known_to)
        return removed, added


class Unerased(KernelWorld):
    def _wipe(self, op: Op) -> None:
        """Only the present is folded again."""


class Stubborn(KernelWorld):
    """Withdraws nothing, but says it did."""

    def transact(self, ops: Sequence[Op], clock: int) -> int:
        return super().transact([op for op in ops if op["op"] != "withdraw"], clock)


class Modern(KernelWorld):
    """Nothing is believed of the time before 1900."""

    def audit(self, key: Key) -> list[Rectangle]:
        rows = super().audit(key)
        return [row for row in rows if row.valid_from == OPEN_START or row.valid_from > -70 * 365 * 86_400_000_000]


class Pathless(KernelWorld):
    def ask(self, query: Mapping[str, Any]) -> JSONAnswer:
        return super().ask(query)[1:] if query["kind"] == "path" else super().ask(query)


class Unfounded(KernelWorld):
    def folded(self, key: Key) -> list[Rectangle]:
        return super().folded(key)[1:]


@pytest.mark.parametrize(
    ("world", "broken"),
    [
        (TwoAtOnce, invariants.a_functional_slot_holds_at_most_one_certain_value),
        (Emptied, invariants.no_version_is_empty_on_either_axis),
        (Split, invariants.versions_of_a_value_never_overlap_and_are_as_long_as_they_can_be),
        (Confused, invariants.an_operation_on_one_slot_changes_no_other),
        (Forgetful, invariants.what_was_believed_stays_readable_for_ever),
        (Clocked, invariants.recorded_time_increases_strictly_under_any_clock),
        (Leaky, invariants.a_refused_transaction_leaves_no_trace),
        (Swapped, invariants.a_belief_less_what_was_removed_plus_what_was_added_is_the_next),
        (Unerased, invariants.what_is_erased_is_nowhere_at_any_time),
        (Stubborn, invariants.withdrawing_a_claim_leaves_the_belief_that_would_be_without_it),
        (Modern, invariants.shifting_all_valid_times_shifts_all_answers),
        (Modern, invariants.shifting_all_times_by_whole_cycles_of_the_calendar_shifts_all_answers),
        (Pathless, invariants.a_path_holds_at_an_instant_iff_each_of_its_edges_does),
        (Unfounded, invariants.facts_are_the_fold_of_the_claims),
    ],
)
def test_a_broken_world_is_found_out(world: type[KernelWorld], broken: Invariant) -> None:
    assert broken in INVARIANTS
    with pytest.raises(AssertionError):
        hold(broken, world)


def hold(invariant: Invariant, world: type[KernelWorld]) -> None:
    for seed in range(200):
        invariant(world, Random(seed))
