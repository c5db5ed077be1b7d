"""What a write did, per item: the answer that a caller keeps, and that a retry gets again."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import accumulate
from typing import Final

from consolidation.slotwork import Outcome
from ontology.claims import Claim, Entity, Lifecycle
from ontology.entries import End
from ontology.errors import JSON
from ontology.facts import FactVersion, Version
from ontology.ids import ClaimId, FactId
from ontology.instants import OPEN_END, Instant, format_instant
from ontology.line import Extent
from ontology.values import ValueKey

FEW: Final = 8
"""Up to so many versions are looked through one by one."""


class Result(StrEnum):
    """What became of an item. Clients must tolerate more members."""

    CREATED = "created"
    REINFORCED = "reinforced"
    """Believed already: one more claim, no new fact."""
    SUPERSEDED = "superseded"
    """It took the place of another value, from an instant on or over a period."""
    BOUNDED = "bounded"
    """Something known already ends it earlier than it says, or covers it."""
    DUPLICATE = "duplicate"
    """The same episode said the same before: nothing was added."""
    RETRACTED = "retracted"
    REPLACED = "replaced"
    WITHDRAWN = "withdrawn"
    QUARANTINED = "quarantined"
    """Kept, and not believed until a reviewer promotes it."""
    STAGED = "staged"
    """Kept, and not believed until there is more evidence or a confirmation."""
    IGNORED = "ignored"
    """This value from this source was rejected: nothing was kept."""
    PROMOTED = "promoted"
    REJECTED = "rejected"
    EXPIRED = "expired"
    ERASED = "erased"


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """Something that the caller should look at, though nothing was refused."""

    code: str
    detail: str


@dataclass(slots=True, kw_only=True)
class ItemReceipt:
    """What became of one item; filled in as the transaction goes on, and left alone after its end."""

    op: str
    result: Result
    subject: Entity | None = None
    predicate: str | None = None
    claim: ClaimId | None = None
    state: Lifecycle | None = None
    """Of the claim, from this transaction on."""
    rule: str | None = None
    """The rule that holds it or turned it away; `reason` is its words."""
    reason: str | None = None
    echo: bool = False
    """Whether it only repeats what memory had served: it raises no support."""
    promoted: Sequence[ClaimId] = ()
    """Claims that waited for this evidence and are believed now."""
    opened: Sequence[FactId] = ()
    closed: Sequence[FactId] = ()
    superseded: Sequence[FactId] = ()
    """Those of `closed` that hold another value."""
    bounded_by: Sequence[FactId] = ()
    """The facts whose start ends it."""
    withdrawn: Sequence[ClaimId] = ()
    also_rested: Sequence[FactId] = ()
    """For a replacement: other versions that rested on the claims it withdrew."""
    observed_at: Instant | None = None
    observed_from: str | None = None
    """`stated`, `episode`, or `recorded`: then nobody said when, and the recorded time stands for it."""
    expires_at: Instant = OPEN_END
    """From then on the claim is not served."""
    version: Version | None = None
    """The version of the slot from this transaction on."""
    warnings: Sequence[Warned] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a transaction did."""

    position: int
    recorded_at: Instant | None
    """`None` where nothing was recorded: every item was a duplicate and the ledger is empty."""
    dry_run: bool
    items: tuple[ItemReceipt, ...]
    created: tuple[Entity, ...]
    """Entities that did not exist before."""

    def document(self) -> dict[str, JSON]:
        """The receipt as the wire shows it."""
        return {
            "position": self.position,
            "recorded_at": None if self.recorded_at is None else format_instant(self.recorded_at),
            "dry_run": self.dry_run,
            "items": [_item(index, item) for index, item in enumerate(self.items)],
            "entities": [_entity(entity) for entity in self.created],
        }


class SlotReport:
    """What a transaction did to one slot, told claim by claim.

    An assertion is told from where its claim shows now and from the versions near it that closed and opened.
    """

    def __init__(self, outcome: Outcome, opened: Sequence[FactVersion]) -> None:
        self._closed = _Near([outcome.current[run] for run in outcome.change.closed])
        self._opened = _Near(opened)
        self._current = outcome.current.values()
        self._shows: dict[tuple[int, int], list[Extent]] = {}
        for extent in outcome.change.shown:
            self._shows.setdefault((extent.entry.position, extent.entry.ordinal), []).append(extent)

    def asserted(self, receipt: ItemReceipt, claim: Claim) -> None:
        """Fill in what an assertion did."""
        entry = claim.entry
        rivalled = None if entry.functional else entry.value
        shows = self._shows.get((entry.position, entry.ordinal), [])
        closed, opened = self._closed.to(shows, rivalled), self._opened.to(shows, rivalled)
        ends = max((extent.valid_to for extent in shows), default=OPEN_END)
        bounded = entry.end is End.OPEN and ends < OPEN_END
        receipt.closed = [v.id for v in closed]
        receipt.opened = [v.id for v in opened]
        receipt.superseded = [v.id for v in closed if v.value_key != entry.value]
        if not shows:
            receipt.result = Result.BOUNDED
            detail = "later claims cover the whole of it: it is kept as evidence and shows nowhere"
            receipt.warnings = (*receipt.warnings, Warned(code="shows_nowhere", detail=detail))
        elif not any(v.value_key == entry.value for v in opened):
            receipt.result = Result.REINFORCED
        elif receipt.superseded:
            receipt.result = Result.SUPERSEDED
        else:
            receipt.result = Result.BOUNDED if bounded else Result.CREATED
        if bounded:
            receipt.bounded_by = self._starts.get(ends, ())

    def retracted(self, receipt: ItemReceipt, claim: Claim) -> None:
        """Add what a retraction closed and opened here; without a value it goes through all languages."""
        hole = [Extent(claim.entry, claim.entry.start_lo, claim.entry.end_hi)]
        receipt.closed = [*receipt.closed, *(v.id for v in self._closed.to(hole, claim.entry.value))]
        receipt.opened = [*receipt.opened, *(v.id for v in self._opened.to(hole, claim.entry.value))]

    def replaced(self, receipt: ItemReceipt, claim: Claim) -> None:
        """Fill in what a replacement did: all that changed in the slot, since what the wrong claims closed may open."""
        self.asserted(receipt, claim)
        near = set(receipt.closed)
        receipt.result = Result.REPLACED
        receipt.also_rested = [id for id in self.closed if id not in near]
        receipt.closed, receipt.opened = self.closed, self.opened

    @cached_property
    def closed(self) -> list[FactId]:
        """All versions of the slot that closed."""
        return [version.id for version in self._closed.all]

    @cached_property
    def opened(self) -> list[FactId]:
        """All versions of the slot that opened."""
        return [version.id for version in self._opened.all]

    @cached_property
    def _starts(self) -> dict[Instant, list[FactId]]:
        """The facts that are believed now, by their start."""
        gone = set(self.closed)
        starts: dict[Instant, list[FactId]] = {}
        for version in (*self._current, *self._opened.all):
            if version.id not in gone:
                starts.setdefault(version.valid_from, []).append(version.id)
        return starts


class _Near:
    """Finds the versions that meet or touch a stretch, without looking at all of them each time."""

    def __init__(self, versions: Sequence[FactVersion]) -> None:
        self.all = versions
        self._groups: dict[ValueKey | None, tuple[list[FactVersion], list[Instant], list[Instant]]] = {}

    def to(self, shows: Sequence[Extent], value: ValueKey | None) -> list[FactVersion]:
        """Those near any of `shows`, of one value or of all, by start."""
        if len(self.all) <= FEW:
            near = [v for v in self.all if value in (None, v.value_key) and any(map(v.touches, shows))]
            return sorted(near, key=_by_start)
        group, starts, reach = self._group(value)
        found: dict[FactId, FactVersion] = {}
        for extent in shows:
            index = bisect_right(starts, extent.valid_to) - 1
            while index >= 0 and reach[index] >= extent.valid_from:
                if group[index].touches(extent):
                    found[group[index].id] = group[index]
                index -= 1
        return sorted(found.values(), key=_by_start) if len(found) > 1 else list(found.values())

    def _group(self, value: ValueKey | None) -> tuple[list[FactVersion], list[Instant], list[Instant]]:
        """The versions of a value by start, their starts, and how far they and those before them reach."""
        if not self._groups:
            by_value: dict[ValueKey | None, list[FactVersion]] = {None: list(self.all)}
            for version in self.all:
                by_value.setdefault(version.value_key, []).append(version)
            for key, group in by_value.items():
                group.sort(key=_by_start)
                reach = list(accumulate((v.valid_to for v in group), max))
                self._groups[key] = (group, [v.valid_from for v in group], reach)
        return self._groups.get(value, ([], [], []))


def _by_start(version: FactVersion) -> tuple[Instant, int]:
    return version.valid_from, version.ordinal


def _entity(entity: Entity) -> dict[str, JSON]:
    return {"id": entity.id, "key": entity.key}


def _item(index: int, item: ItemReceipt) -> dict[str, JSON]:
    return {
        "index": index,
        "op": item.op,
        "result": item.result.value,
        "claim": item.claim,
        "state": None if item.state is None else item.state.value,
        "rule": item.rule,
        "reason": item.reason,
        "echo": item.echo,
        "promoted": list(item.promoted),
        "subject": None if item.subject is None else _entity(item.subject),
        "predicate": item.predicate,
        "opened": list(item.opened),
        "closed": list(item.closed),
        "superseded": list(item.superseded),
        "bounded_by": list(item.bounded_by),
        "withdrawn": list(item.withdrawn),
        "also_rested": list(item.also_rested),
        "observed_at": None if item.observed_at is None else format_instant(item.observed_at),
        "observed_from": item.observed_from,
        "expires_at": None if item.expires_at == OPEN_END else format_instant(item.expires_at),
        "version": item.version,
        "warnings": [{"code": w.code, "detail": w.detail} for w in item.warnings],
    }
