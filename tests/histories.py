"""What callers of the tests say: operations in the form of the oracle files, and random histories of them.

A history comes from a `random.Random`; under Hypothesis that one is Hypothesis's own, so that a failing history
shrinks. Whatever is drawn first or lies at the beginning of a list is the simplest.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Required, TypedDict

from ontology.instants import DAY, Instant, days_from_civil, format_instant, parse_bound


class Op(TypedDict, total=False):
    """One operation as the oracle files write it."""

    op: Required[str]
    subject: str
    predicate: str | None
    value: str | None
    valid_from: str | None
    valid_to: str | None
    tz: str
    date_semantics: str
    observed_at: str | None
    recorded_at: str
    """What the server's clock reads."""
    tx: object
    """Neighbours with the same mark are one transaction."""
    id: str
    episode: str
    source: str
    ttl: str
    claim: str
    old: str
    at: str
    import_recorded_at: str
    client_recorded_at: str
    expect_error: str


@dataclass(frozen=True, kw_only=True)
class Mix:
    """What a random history may hold; each number is a probability."""

    length_max: int = 8
    subjects: Sequence[str] = ("s",)
    values: Sequence[str] = ("x", "y", "z")
    retracts: float = 0.15
    corrections: float = 0.0
    """Of withdrawals, replacements and, more rarely, erasures."""
    batches: float = 0.0
    late: float = 0.4
    """That the source said it before it was recorded."""
    coarse: float = 0.35
    undated: float = 0.15
    open_ends: float = 0.45
    unknown_ends: float = 0.12
    infinite: float = 0.08
    semantics: float = 0.15
    wrong: float = 0.0
    """Of operations that are refused for what they say."""
    stopped_clock: float = 0.0
    """That the clock stands still or runs backwards."""
    lasting: float = 0.0
    """Of claims that state for how long they are served."""
    episodes: bool = True
    """Whether claims cite episodes, of which a store knows when they were said and whether they repeat themselves."""


PLAIN: Final = Mix()
"""Assertions and retractions in one slot, of every kind of date."""
EVERYTHING: Final = Mix(corrections=0.25, batches=0.3, wrong=0.05, stopped_clock=0.1, subjects=("s", "t"))
ONE_VALUE: Final = Mix(
    values=("x",), retracts=0.05, late=0.7, coarse=0.2, undated=0.1, open_ends=0.7, unknown_ends=0.25
)
"""Where claims of one value contest only each other's ends."""
EXACT: Final = Mix(coarse=0, undated=0, unknown_ends=0, semantics=0)
"""Nothing that is merely possible."""

FIRST_YEAR, LAST_YEAR = 2018, 2021
_FIRST_CLOCK: Final = days_from_civil(2020, 6, 1) * DAY
PREDICATE: Final = "p"
_SAID: Final = (
    "subject",
    "value",
    "valid_from",
    "valid_to",
    "tz",
    "date_semantics",
    "observed_at",
    "source",
    "episode",
)


def history(rng: Random, mix: Mix = PLAIN) -> list[list[Op]]:
    """Transactions of at least one operation in all; every operation has an id and a reading of the clock."""
    return _History(rng, mix).transactions()


def transactions(ops: Iterable[Op]) -> list[list[Op]]:
    """Neighbours with one `tx` are one transaction."""
    groups: list[list[Op]] = []
    for op in ops:
        if groups and op.get("tx") is not None and groups[-1][-1].get("tx") == op["tx"]:
            groups[-1].append(op)
        else:
            groups.append([op])
    return groups


def as_case(said: Sequence[Sequence[Op]], *, functional: object) -> str:
    """A history as a line of an oracle file, for people who want to replay it."""
    ops = [{**op, "tx": number} for number, ops in enumerate(said) for op in ops]
    return json.dumps({"functional": functional, "ops": ops})


class _History:
    def __init__(self, rng: Random, mix: Mix) -> None:
        self._rng = rng
        self._mix = mix
        self._said = 0
        self._known = 0
        """How many operations were said before this transaction: whose claims can be named."""
        self._cited_already: set[tuple[object, ...]] = set()

    def transactions(self) -> list[list[Op]]:
        rng, mix = self._rng, self._mix
        number = rng.randint(1, mix.length_max)
        found: list[list[Op]] = []
        clock = _FIRST_CLOCK
        while self._said < number:
            if not self._chance(mix.stopped_clock):
                clock += rng.randint(1, 60) * DAY
            elif self._chance(0.5):
                clock -= rng.randint(1, 60) * DAY
            size = rng.randint(2, 3) if self._chance(mix.batches) else 1
            self._known = self._said
            found.append([self._op(clock) for _ in range(size)])
        return found

    def _op(self, clock: int) -> Op:
        mix = self._mix
        op: Op = {
            "op": "assert", "subject": self._rng.choice(mix.subjects), "predicate": PREDICATE,
            "value": self._rng.choice(mix.values), "id": f"c{self._said}", "recorded_at": _text(clock),
        }  # fmt: skip
        self._said += 1
        if self._chance(mix.wrong):
            return self._wrong(op, clock)
        if self._chance(mix.corrections):
            return self._correction(op, clock)
        self._observe(op, clock)
        return self._retraction(op) if self._chance(mix.retracts) else self._period(op)

    def _observe(self, op: Op, clock: int) -> None:
        """Now and then the source said it earlier."""
        if self._chance(self._mix.late):
            said = self._date(exact=True)
            if parse_bound(said).earliest <= clock:
                op["observed_at"] = said

    def _period(self, op: Op) -> Op:
        mix = self._mix
        op["source"] = f"w{self._rng.randint(1, 2)}"
        if self._chance(mix.undated):
            if self._chance(0.3):
                op["valid_from"] = self._rng.choice(["unknown", "-infinity"])
        else:
            op["valid_from"] = self._date()
        if not self._chance(mix.open_ends):
            self._end(op)
        elif self._chance(mix.unknown_ends / mix.open_ends):
            op["valid_to"] = "unknown"
        elif self._chance(mix.infinite / mix.open_ends):
            op["valid_to"] = "infinity"
        return self._cited(self._lasting(self._zoned(op)))

    def _lasting(self, op: Op) -> Op:
        if self._mix.lasting and self._chance(self._mix.lasting):
            op["ttl"] = self._rng.choice(["P5D", "P40D", "P200D"])
        return op

    def _cited(self, op: Op) -> Op:
        """With its episode, unless that one says just the same already: then a store calls it a duplicate."""
        if not self._mix.episodes:
            return op
        op["episode"] = f"e{self._rng.randint(1, 3)}"
        said = tuple(op.get(field) for field in _SAID)
        if said in self._cited_already:
            del op["episode"]
        self._cited_already.add(said)
        return op

    def _retraction(self, op: Op) -> Op:
        op["op"] = "retract"
        if self._chance(0.4):
            del op["value"]
        if self._chance(0.8):
            op["valid_from"] = self._date()
        if self._chance(0.8):
            self._end(op)
            if self._chance(0.1):
                op["valid_to"] = "infinity"
        return self._zoned(op)

    def _end(self, op: Op) -> None:
        """A stated end, which hardly ever lies before the start."""
        end, start = self._date(), op.get("valid_from")
        if start and start[0].isdigit() and parse_bound(end).latest <= parse_bound(start).earliest:
            end = f"{LAST_YEAR + self._rng.randint(1, 2)}-01-01T00:00:00Z"
        op["valid_to"] = end

    def _correction(self, op: Op, clock: int) -> Op:
        kind = self._rng.choice(["withdraw"] * 4 + ["replace"] * 5 + ["erase"])
        if kind == "withdraw":
            by = self._rng.choice(["claim"] * 4 + ["source"] + ["episode"] * self._mix.episodes)
            bare: Op = {"op": "withdraw", "id": op["id"], "recorded_at": op["recorded_at"]}
            if by == "claim":
                bare["claim"] = f"c{self._rng.randrange(self._known)}" if self._known else "nobody said it"
            elif by == "episode":
                bare["episode"] = f"e{self._rng.randint(1, 3)}"
            else:
                bare["source"] = f"w{self._rng.randint(1, 2)}"
            return bare
        op["op"] = kind
        if kind == "replace":
            op["old"], op["at"] = self._rng.choice(self._mix.values), self._date(exact=True)
            if self._chance(0.3):
                op["valid_from"] = self._date()
            if self._chance(0.3):
                op["valid_to"] = self._date()
            self._observe(op, clock)
            self._lasting(op)
        elif self._chance(0.3):
            del op["value"]
        return op

    def _wrong(self, op: Op, clock: int) -> Op:
        """Something that is refused for what it says."""
        op["valid_from"] = self._date(exact=True)
        match self._rng.choice(["inverted", "empty", "naive", "future", "client", "import"]):
            case "inverted":
                op["valid_from"], op["valid_to"] = "2019-06-01", "2019-05"
            case "empty":
                op["valid_to"] = op["valid_from"]
            case "naive":
                op["valid_to"] = "2021-01-01T00:00:00"
            case "future":
                op["observed_at"] = _text(clock + 1_000 * DAY)
            case "client":
                op["client_recorded_at"] = _text(clock)
            case _:
                op["import_recorded_at"] = _text(clock - self._rng.randint(-2, 80) * DAY)
        return op

    def _zoned(self, op: Op) -> Op:
        if self._chance(self._mix.semantics):
            op["date_semantics"] = self._rng.choice(["whole", "sometime"])
        if self._chance(self._mix.semantics / 3):
            op["tz"] = self._rng.choice(["Asia/Tokyo", "America/New_York"])
        return op

    def _date(self, *, exact: bool = False) -> str:
        """A text for a bound. Few of them, so that they meet."""
        year, month = self._rng.randint(FIRST_YEAR, LAST_YEAR), self._rng.choice([1, 4, 7])
        if exact or not self._chance(self._mix.coarse):
            return f"{year}-{month:02d}-01T00:00:00Z" if self._chance(0.8) else f"{year}-{month:02d}-15"
        return str(year) if self._chance(0.5) else f"{year}-{month:02d}"

    def _chance(self, probability: float) -> bool:
        return self._rng.random() > 1 - probability


def _text(clock: int) -> str:
    return format_instant(Instant(clock))
