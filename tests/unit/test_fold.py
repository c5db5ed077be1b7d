"""What a slot believes after a few words, rule by rule of the time page."""

from itertools import permutations

import pytest

from ontology.entries import Entry
from ontology.fold import fold, resting_on, standing
from ontology.instants import Instant, format_instant, parse_instant
from ontology.line import Line
from tests.histories import Op, transactions
from tests.mutants.kill import told
from tests.property.oracle_json import answer, same
from tests.property.reference import OFF_GRID, oracle_cases
from tests.property.worlds import KernelWorld, entry_of, value_key

LATE = "2030-01-01"
"""When everything was said that does not say when."""


class Slot:
    """A slot and what was said of it, in the order of the calls."""

    def __init__(self, *, functional: bool = True) -> None:
        self.functional = functional
        self.entries: list[Entry] = []

    def says(
        self, value: str, start: str | None = None, end: str | None = None, *, at: str = LATE, dates: str = ""
    ) -> "Slot":
        """Somebody says at `at` that the slot has a value."""
        return self._add("assert", value, start, end, at, dates)

    def retracts(
        self,
        start: str | None = None,
        end: str | None = None,
        value: str | None = None,
        *,
        at: str = LATE,
        dates: str = "",
    ) -> "Slot":
        return self._add("retract", value, start, end, at, dates)

    def _add(self, op: str, value: str | None, start: str | None, end: str | None, at: str, dates: str) -> "Slot":
        said: Op = {"op": op, "subject": "s", "predicate": "p", "value": value, "valid_from": start, "valid_to": end}
        if dates:
            said["date_semantics"] = dates
        self.entries.append(entry_of(said, self.functional, parse_instant(at), len(self.entries) + 1))
        return self

    @property
    def line(self) -> Line:
        return fold(self.entries)

    @property
    def belief(self) -> str:
        """Every run as `value from..to`, a possible one with a question mark, in order."""
        return ", ".join(
            f"{run.value.decode()}{'' if run.certain else '?'} {_short(run.valid_from)}..{_short(run.valid_to)}"
            for run in self.line.runs()
        )

    def standing(self, value: str) -> int:
        return sum(entry.value == value_key(value) for entry in standing(self.entries))


def _short(instant: Instant) -> str:
    text = format_instant(instant)
    for rest in ("T00:00:00Z", "-01", "-01"):
        text = text.removesuffix(rest)
    return {"infinity": "", "-infinity": ""}.get(text, text)


# ---- open ends


def test_an_open_assertion_holds_from_its_start_on() -> None:
    assert Slot().says("a", "2020").belief == "a? 2020..2021, a 2021.."
    assert Slot().says("a", "2020-05-01").belief == "a 2020-05.."


def test_an_open_assertion_ends_where_another_value_starts() -> None:
    assert Slot().says("a", "2020-01-01").says("b", "2022-01-01").belief == "a 2020..2022, b 2022.."


def test_a_late_arrival_falls_into_place() -> None:
    assert Slot().says("b", "2022-01-01").says("a", "2020-01-01").belief == "a 2020..2022, b 2022.."


def test_open_assertions_commute_whenever_they_were_said() -> None:
    starts = {"a": "2018-01-01", "b": "2019-01-01", "c": "2021-01-01"}
    beliefs = set()
    for order in permutations(starts):
        slot = Slot()
        for day, value in enumerate(order, start=1):
            slot.says(value, starts[value], at=f"2025-01-{day:02d}")
        beliefs.add(slot.belief)
    assert beliefs == {"a 2018..2019, b 2019..2021, c 2021.."}


def test_the_end_of_another_value_is_no_bound() -> None:
    slot = Slot().says("b", "2018-01-01", "2019-01-01").says("a", "2017-01-01")
    assert slot.belief == "a 2017..2018, b 2018..2019"
    slot = Slot().says("b", "2018-01-01", "2019-01-01").says("a", "2018-06-01")
    assert slot.belief == "b 2018..2018-06, a 2018-06.."


def test_a_value_that_comes_back_after_a_bounded_one_starts_nothing() -> None:
    slot = Slot().says("a", "2018-01-01").says("b", "2020-01-01", "2021-01-01").says("c", "2020-06-01")
    assert slot.belief == "a 2018..2020, b 2020..2020-06, c 2020-06.."


def test_a_value_that_comes_back_after_a_hole_starts_nothing() -> None:
    slot = Slot().says("a", "2018-01-01").retracts("2020-01-01", "2021-01-01").says("c", "2020-06-01")
    assert slot.belief == "a 2018..2020, c 2020-06.."


def test_before_a_coarse_start_the_certain_part_ends_early_and_the_possible_part_late() -> None:
    slot = Slot().says("b", "2020").says("a", "2018-01-01")
    assert slot.belief == "a 2018..2020, a? 2020..2021, b? 2020..2021, b 2021.."


def test_an_infinite_assertion_overwrites_later_values() -> None:
    slot = Slot().says("b", "2022-01-01").says("a", "2020-01-01", "infinity")
    assert slot.belief == "a 2020.."


# ---- stated ends


def test_a_bounded_assertion_overwrites_its_extent_and_the_old_value_comes_back() -> None:
    slot = Slot().says("a", "2018-01-01").says("b", "2020-01-01", "2021-01-01")
    assert slot.belief == "a 2018..2020, b 2020..2021, a 2021.."


def test_a_stated_end_ends_the_open_claim_of_the_same_value() -> None:
    open_first = Slot().says("a", "2018-01-01").says("a", "2018-01-01", "2020-01-01")
    open_last = Slot().says("a", "2018-01-01", "2020-01-01").says("a", "2018-01-01")
    assert open_first.belief == open_last.belief == "a 2018..2020"


def test_a_stated_end_leaves_a_claim_that_begins_later() -> None:
    slot = Slot().says("a", "2022-01-01").says("a", "2018-01-01", "2020-01-01")
    assert slot.belief == "a 2018..2020, a 2022.."


def test_a_known_end_is_not_opened_again_by_a_repetition_inside() -> None:
    assert Slot().says("a", "2018-01-01", "2021-01-01").says("a", "2019-01-01").belief == "a 2018..2021"


def test_of_one_period_stated_twice_the_later_said_decides_the_end() -> None:
    longer = Slot().says("a", "2018-01-01", "2020-01-01").says("a", "2018-01-01", "2021-01-01")
    shorter = Slot().says("a", "2018-01-01", "2021-01-01").says("a", "2018-01-01", "2020-01-01")
    assert (longer.belief, shorter.belief) == ("a 2018..2021", "a 2018..2020")


def test_a_bounded_claim_does_not_shorten_one_of_another_start() -> None:
    assert Slot().says("a", "2018-01-01", "2022-01-01").says("a", "2019-01-01", "2020-01-01").belief == "a 2018..2022"


def test_a_coarse_end_leaves_the_granule_possible() -> None:
    assert Slot().says("a", "2018-01-01", "2020").belief == "a 2018..2020, a? 2020..2021"


def test_a_coarse_end_leaves_what_ran_over_it_possible_and_then_nothing() -> None:
    slot = Slot().says("a", "2018-01-01").says("a", "2018-01-01", "2020-05")
    assert slot.belief == "a 2018..2020-05, a? 2020-05..2020-06"


def test_a_whole_granule_is_certain_to_its_last_instant() -> None:
    assert Slot().says("a", "2018", "2019", dates="whole").belief == "a 2018..2020"


def test_a_day_is_its_first_instant_unless_it_is_meant_vaguely() -> None:
    assert Slot().says("a", "2018-05-21", "2018-05-23").belief == "a 2018-05-21..2018-05-23"
    sometime = Slot().says("a", "2018-05-21", "2018-05-23", dates="sometime")
    assert sometime.belief == "a? 2018-05-21..2018-05-22, a 2018-05-22..2018-05-23, a? 2018-05-23..2018-05-24"


# ---- unknown ends and starts


def test_an_unknown_end_is_over_when_it_was_said_and_certain_as_far_as_anyone_saw() -> None:
    slot = Slot().says("a", "2018-01-01", at="2019-06-01").says("a", "2018-01-01", "unknown", at="2021-01-01")
    assert slot.belief == "a 2018..2019-06, a? 2019-06..2021"


def test_an_unknown_end_yields_to_a_known_rival() -> None:
    slot = Slot().says("b", "2019-01-01", at="2020-01-01").says("a", "2018-01-01", "unknown", at="2021-01-01")
    assert slot.belief == "a 2018..2018-01-01T00:00:00.000001Z, a? 2018-01-01T00:00:00.000001Z..2019, b 2019.."


def test_what_held_since_always_and_ended_nobody_knows_when_is_certain_only_where_it_was_seen() -> None:
    """Not in the first microsecond of the axis, which no text can name."""
    assert Slot().says("a", "-infinity", "unknown", at="2021-01-01").belief == "a? ..2021"
    slot = Slot().says("a", "-infinity", at="2019-06-01").says("a", "-infinity", "unknown", at="2021-01-01")
    assert slot.belief == "a ..2019-06, a? 2019-06..2021"


def test_an_undated_claim_is_certain_from_when_it_was_said_and_possible_before() -> None:
    assert Slot().says("a", at="2021-01-01").belief == "a? ..2021, a 2021.."


def test_an_undated_claim_is_possible_only_since_the_last_certain_rival() -> None:
    slot = Slot().says("b", "2018-01-01", "2019-01-01", at="2020-01-01").says("a", at="2021-01-01")
    assert slot.belief == "b 2018..2019, a? 2019..2021, a 2021.."


def test_a_rival_that_is_told_later_takes_only_its_own_period_from_an_undated_claim() -> None:
    slot = Slot().says("a", at="2021-01-01").says("b", "2018-01-01", "2019-01-01", at="2022-01-01")
    assert slot.belief == "a? ..2018, b 2018..2019, a? 2019..2021, a 2021.."


def test_an_undated_claim_unseats_a_rival_only_from_when_it_was_said() -> None:
    slot = Slot().says("b", "2018-01-01", at="2019-01-01").says("a", at="2021-01-01")
    assert slot.belief == "b 2018..2021, a 2021.."


def test_an_unknown_start_never_unseats_a_known_rival_before_its_stated_end() -> None:
    slot = Slot().says("b", "2018-01-01", at="2019-01-01").says("a", None, "2020-01-01", at="2021-01-01")
    assert slot.belief == "b 2018.."


def test_an_undated_claim_with_an_end_is_certain_just_before_it() -> None:
    slot = Slot().says("a", None, "2020-01-01", at="2021-01-01")
    assert slot.belief == "a? ..2019-12-31T23:59:59.999999Z, a 2019-12-31T23:59:59.999999Z..2020"


# ---- reinforcement and order


def test_a_repetition_opens_no_period_but_bounds_what_arrives_later() -> None:
    slot = Slot().says("b", "2018-01-01").says("b", "2020-01-01")
    assert slot.belief == "b 2018.."
    assert slot.says("a", "2019-01-01").belief == "b 2018..2019, a 2019..2020, b 2020.."


def test_without_the_repetition_the_late_arrival_runs_on() -> None:
    assert Slot().says("b", "2018-01-01").says("a", "2019-01-01").belief == "b 2018..2019, a 2019.."


def test_a_return_after_a_gap_is_a_new_period() -> None:
    slot = Slot().says("a", "2018-01-01", "2019-01-01").says("a", "2020-01-01")
    assert slot.belief == "a 2018..2019, a 2020.."


def test_periods_that_touch_are_read_as_one() -> None:
    assert Slot().says("a", "2018-01-01", "2019-01-01").says("a", "2019-01-01", "2020-01-01").belief == "a 2018..2020"


def test_of_two_values_from_one_start_the_later_said_wins() -> None:
    slot = Slot().says("a", "2020-01-01", at="2021-02-01").says("b", "2020-01-01", at="2021-01-01")
    assert slot.belief == "a 2020.."


def test_what_was_said_at_the_same_time_goes_by_the_order_of_recording() -> None:
    assert Slot().says("a", "2020-01-01").says("b", "2020-01-01").belief == "b 2020.."


def test_an_old_episode_that_arrives_late_never_beats_a_newer_one() -> None:
    slot = Slot().says("a", "2020-01-01", "2022-01-01", at="2021-06-01")
    assert slot.says("b", "2021-01-01", "2023-01-01", at="2021-03-01").belief == "a 2020..2022, b 2022..2023"


# ---- retractions


def test_a_retraction_cuts_a_hole() -> None:
    assert Slot().says("a", "2018-01-01").retracts("2019-01-01", "2020-01-01").belief == "a 2018..2019, a 2020.."


def test_a_retraction_without_a_bound_cuts_all_of_that_side() -> None:
    said = Slot().says("a", "2018-01-01", "2022-01-01")
    assert said.retracts("2020-01-01").belief == "a 2018..2020"
    assert said.retracts(None, "2019-01-01").belief == "a 2019..2020"


def test_a_retraction_of_one_value_leaves_the_others() -> None:
    slot = Slot(functional=False).says("a", "2018-01-01").says("b", "2018-01-01").retracts(value="a")
    assert slot.belief == "b 2018.."


def test_a_coarse_retraction_leaves_its_edges_possible() -> None:
    slot = Slot().says("a", "2018-01-01", "2023-01-01").retracts("2019", "2021")
    assert slot.belief == "a 2018..2019, a? 2019..2020, a? 2021..2022, a 2022..2023"


def test_a_hole_can_be_filled_again() -> None:
    slot = Slot().says("a", "2018-01-01", "2021-01-01").retracts("2019-01-01", "2020-01-01")
    assert slot.says("b", "2019-01-01", "2020-01-01").belief == "a 2018..2019, b 2019..2020, a 2020..2021"


def test_a_claim_that_begins_inside_the_hole_stands_no_longer_and_one_that_runs_through_it_does() -> None:
    slot = Slot().says("a", "2019-06-01").says("a", "2018-01-01", "2022-01-01").retracts("2019-01-01", "2020-01-01")
    assert slot.standing("a") == 1


def test_a_claim_made_after_the_retraction_stands() -> None:
    assert Slot().retracts().says("a", "2019-01-01").standing("a") == 1


def test_a_retraction_of_nothing_changes_nothing() -> None:
    slot = Slot().says("a", "2018-01-01")
    assert slot.retracts("2019-01-01", "2019-01-01").belief == "a 2018.."


# ---- several values


def test_a_slot_for_many_values_is_their_union() -> None:
    slot = Slot(functional=False).says("a", "2018-01-01").says("b", "2020-01-01", "2021-01-01")
    assert slot.belief == "a 2018.., b 2020..2021"


def test_in_a_slot_for_many_values_a_start_bounds_only_its_own_value() -> None:
    slot = Slot(functional=False).says("a", "2022-01-01").says("b", "2021-01-01").says("a", "2018-01-01")
    assert slot.belief == "a 2018.., b 2021.."


def test_a_possible_value_makes_the_certain_one_beside_it_possible_only() -> None:
    slot = Slot().says("a", "2018-01-01", "2022-01-01").says("b", "2020")
    assert slot.belief == "a 2018..2020, a? 2020..2021, b? 2020..2021, b 2021.."


# ---- corrections


def test_a_period_rests_on_the_claims_that_show_inside_it() -> None:
    slot = Slot().says("a", "2018-01-01").says("a", "2019-01-01").says("b", "2021-01-01").says("a", "2023-01-01")
    rested = resting_on(slot.line, value_key("a"), parse_instant("2020-01-01"))
    assert [entry.position for entry in rested] == [1, 2]
    assert resting_on(slot.line, value_key("a"), parse_instant("2022-01-01")) == []


# ---- the shared oracles


@pytest.mark.parametrize("name", ["bitemporal.jsonl", "random.jsonl"])
def test_the_oracle_files_replayed_on_the_kernel_alone(name: str) -> None:
    for case in oracle_cases(name):
        world = KernelWorld(case.get("functional", False))
        for ops in transactions(case["ops"]):
            expected = next((op["expect_error"] for op in ops if "expect_error" in op), None)
            assert told(world, ops) == expected, (case["id"], ops)
        for query in case["queries"]:
            if case["id"] not in OFF_GRID:
                assert same(query, answer(world, query)), (case["id"], query)
