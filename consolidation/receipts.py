"""What a write did, per item: the answer that a caller keeps, and that a retry gets again."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate

from consolidation.slotwork import Outcome
from ontology.claims import Claim, Entity
from ontology.entries import End
from ontology.errors import JSON
from ontology.facts import FactVersion, Version
from ontology.ids import ClaimId, FactId
from ontology.instants import OPEN_END, Instant, format_instant
from ontology.line import Extent
from ontology.values import ValueKey


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
    ERASED = "erased"


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """Something that the caller should look at, though nothing was refused."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemReceipt:
    """What became of one item."""

    op: str
    result: Result
    claim: ClaimId | None
    subject: Entity | None
    predicate: str | None
    opened: tuple[FactId, ...]
    closed: tuple[FactId, ...]
    superseded: tuple[FactId, ...]
    """Those of `closed` that hold another value."""
    bounded_by: tuple[FactId, ...]
    """The facts whose start ends it."""
    withdrawn: tuple[ClaimId, ...]
    also_rested: tuple[FactId, ...]
    """For a replacement: other versions that rested on the claims it withdrew."""
    observed_at: Instant | None
    observed_from: str | None
    """`stated`, `episode`, or `recorded`: then nobody said when, and the recorded time stands for it."""
    version: Version | None
    """The version of the slot from this transaction on."""
    warnings: tuple[Warned, ...]


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
        closed = [outcome.current[run] for run in outcome.change.closed]
        self._closed, self._opened = _Near(closed), _Near(opened)
        self._all_closed, self._all_opened = tuple(v.id for v in closed), tuple(v.id for v in opened)
        self._shows: dict[tuple[int, int], list[Extent]] = {}
        for extent in outcome.change.shown:
            self._shows.setdefault((extent.entry.position, extent.entry.ordinal), []).append(extent)
        gone = set(self._all_closed)
        self._starts: dict[Instant, list[FactId]] = {}
        for version in (*outcome.current.values(), *opened):
            if version.id not in gone:
                self._starts.setdefault(version.valid_from, []).append(version.id)

    def asserted(self, blank: ItemReceipt, claim: Claim) -> ItemReceipt:
        """What an assertion did."""
        entry = claim.entry
        rivalled = None if entry.functional else entry.value
        shows = self._shows.get((entry.position, entry.ordinal), [])
        closed, opened = self._closed.to(shows, rivalled), self._opened.to(shows, rivalled)
        rivals = tuple(v.id for v in closed if v.value_key != entry.value)
        ends = max((extent.valid_to for extent in shows), default=None)
        bounded = entry.end is End.OPEN and ends is not None and ends < OPEN_END
        if not shows:
            result = Result.BOUNDED
        elif not any(v.value_key == entry.value for v in opened):
            result = Result.REINFORCED
        elif rivals:
            result = Result.SUPERSEDED
        else:
            result = Result.BOUNDED if bounded else Result.CREATED
        detail = "later claims cover the whole of it: it is kept as evidence and shows nowhere"
        return replace(
            blank, result=result, opened=tuple(v.id for v in opened), closed=tuple(v.id for v in closed),
            superseded=rivals, bounded_by=tuple(self._starts.get(ends, ())) if bounded and ends is not None else (),
            warnings=blank.warnings if shows else (*blank.warnings, Warned(code="shows_nowhere", detail=detail)),
        )  # fmt: skip

    def replaced(self, blank: ItemReceipt, claim: Claim) -> ItemReceipt:
        """What a replacement did: all that changed in the slot, since what the wrong claims had closed may open."""
        told = self.asserted(blank, claim)
        return replace(
            told, result=Result.REPLACED, opened=self._all_opened, closed=self._all_closed,
            also_rested=tuple(id for id in self._all_closed if id not in told.closed),
        )  # fmt: skip


class _Near:
    """Finds the versions that meet or touch a stretch, without looking at all of them each time."""

    def __init__(self, versions: Sequence[FactVersion]) -> None:
        self._by_value: dict[ValueKey | None, tuple[list[FactVersion], list[Instant], list[Instant]]] = {}
        groups: dict[ValueKey | None, list[FactVersion]] = {None: list(versions)}
        for version in versions:
            groups.setdefault(version.value_key, []).append(version)
        for value, group in groups.items():
            group.sort(key=lambda v: (v.valid_from, v.ordinal))
            reach = list(accumulate((v.valid_to for v in group), max))
            self._by_value[value] = (group, [v.valid_from for v in group], reach)

    def to(self, shows: Sequence[Extent], value: ValueKey | None) -> list[FactVersion]:
        """Those near any of `shows`, of one value or of all, by start."""
        group, starts, reach = self._by_value.get(value, ([], [], []))
        found: dict[FactId, FactVersion] = {}
        for extent in shows:
            index = bisect_right(starts, extent.valid_to) - 1
            while index >= 0 and reach[index] >= extent.valid_from:
                if group[index].valid_to >= extent.valid_from:
                    found[group[index].id] = group[index]
                index -= 1
        return sorted(found.values(), key=lambda v: (v.valid_from, v.ordinal))


def _entity(entity: Entity) -> dict[str, JSON]:
    return {"id": entity.id, "key": entity.key}


def _item(index: int, item: ItemReceipt) -> dict[str, JSON]:
    return {
        "index": index,
        "op": item.op,
        "result": item.result.value,
        "claim": item.claim,
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
        "version": item.version,
        "warnings": [{"code": w.code, "detail": w.detail} for w in item.warnings],
    }
