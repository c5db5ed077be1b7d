"""What one transaction does to one slot: it collects operations, then folds them once and says what changed.

Where the new operations come last in the order of rule 1, only the neighbourhood of the change is read and
folded; the kernel says `Beyond` where that is too little, and the window widens. Everything else (a late arrival,
a withdrawal, a replacement, an erasure) folds the slot again from its standing operations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from graph.paging import each_told
from graph.ports import Transaction, Window
from ontology.changes import Difference, difference, gained, together
from ontology.claims import Claim, Trust
from ontology.entries import End, Entry, Start
from ontology.events import SlotHead
from ontology.facts import FactVersion, Slot, Version
from ontology.fold import apart, apply, compete, fold, resting_on
from ontology.ids import ClaimId
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.intervals import Interval
from ontology.line import Beyond, Extent, Line, Run
from ontology.values import Value, ValueKey

MARGINS: Final = (2, 8, 64, None)
"""How many versions beyond the change are read on each side, until the kernel is content; `None` is all."""

EntryKey = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The belief of a slot before and after a transaction, as far as it was read."""

    change: Difference
    current: Mapping[Run, FactVersion]
    """The versions that were read, as they were before, by their run."""


class SlotWork:
    """The operations of one transaction on one slot."""

    def __init__(self, tx: Transaction, slot: Slot, head: SlotHead | None) -> None:
        self.slot = slot
        self.head = head
        self.added: list[Claim] = []
        self.held: list[Claim] = []
        """New ones that are not folded yet."""
        self.undone: list[Claim] = []
        """Those that this transaction added or held and took back again."""
        self.removed: set[EntryKey] = set()
        self.erased: set[ValueKey | None] = set()
        """Values of which nothing may stay; `None` for all of the slot."""
        self.decided = False
        """Whether something was decided of a claim that is not folded."""
        self.trusts: dict[EntryKey, Trust] = {}
        """How far the operations are trusted that this transaction adds."""
        self.rejected = head is not None and head.rejected
        self._tx = tx
        self._stored: dict[EntryKey, tuple[Entry, ClaimId]] | None = None

    @property
    def version(self) -> Version:
        """The version that writers may expect: that before this transaction."""
        return Version(0) if self.head is None else self.head.version

    def add(self, claim: Claim, trust: Trust) -> None:
        """Fold a claim: a new one, or one that was held until now, at its old place."""
        self.added.append(claim)
        self.trusts[_key(claim.entry)] = trust

    def hold(self, claim: Claim) -> None:
        self.held.append(claim)

    def take_back(self, claim: Claim) -> None:
        """Let a claim that this transaction made not have been made."""
        if claim in self.held:
            self.held.remove(claim)
            self.undone.append(claim)
        else:
            self.remove(claim.entry)

    def remove(self, entry: Entry) -> None:
        """Fold the slot without this operation, from now on."""
        key = _key(entry)
        undone = [claim for claim in self.added if _key(claim.entry) == key]
        if undone:
            self.added = [claim for claim in self.added if _key(claim.entry) != key]
            self.undone += undone
        else:
            self.removed.add(key)

    def erase(self, value: ValueKey | None) -> list[ClaimId]:
        """Let nothing of a value, or of the slot, stay; gives the ids of the claims that go and stood or are new."""
        self.erased.add(value)
        told = (*self.added, *self.held, *self.undone)
        own = [claim.id for claim in told if value in (None, claim.entry.value)]
        self.held = [claim for claim in self.held if value not in (None, claim.entry.value)]
        self.added = [claim for claim in self.added if value not in (None, claim.entry.value)]
        gone = [(key, id) for key, (entry, id) in self._entries().items() if value in (None, entry.value)]
        self.removed.update(key for key, _ in gone)
        return own + [id for _, id in gone]

    @property
    def touched(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.added or self.removed or self.erased or self.held or self.decided)

    @property
    def ends_empty(self) -> bool:
        """Whether nothing of the slot stays, not even that it was there."""
        return not self.added and not self.held and (self.head is None or None in self.erased)

    def is_erased(self, value: ValueKey | None) -> bool:
        """Whether what was stored of a value goes with this transaction."""
        return None in self.erased or value in self.erased

    def resting_on(self, value: ValueKey, at: Instant) -> list[Entry]:
        """The claims on which the period of a value around an instant rests, this transaction's included."""
        part = next((part for part in apart(self._standing()) if any(e.value == value for e in part)), [])
        return resting_on(fold(part), value, at)

    def value_of(self, key: ValueKey) -> Value:
        """The value behind a key that an operation of the slot has."""
        for claim in self.added:
            if claim.entry.value == key and claim.value is not None:
                return claim.value
        for entry, id in self._entries().values():
            if entry.value == key:
                value = self._tx.claim(id).claim.value
                if value is not None:
                    return value
        raise LookupError(f"no operation of {self.slot} has the value {key.hex()}")

    def outcome(self) -> Outcome:
        """Fold what was collected; the transaction's belief of the slot against the stored one."""
        in_order = [claim.entry for claim in self.added]
        in_order.sort(key=lambda e: e.order)
        if self.head is None:
            return Outcome(change=together([gained(fold(part)) for part in apart(in_order)]), current={})
        last = self.head.last
        if self.removed or self.erased or (last is not None and in_order and in_order[0].order < last):
            return self._refolded()
        to_all = any(entry.value is None for entry in in_order)
        parts = [self._appended(part) for part in ([in_order] if to_all else apart(in_order))]
        current = {run: version for part in parts for run, version in part.current.items()}
        return Outcome(change=together([part.change for part in parts]), current=current)

    def head_after(self, position: int) -> SlotHead:
        """What the next writer needs to know of the slot."""
        entries = [claim.entry for claim in self.added]
        head = None if None in self.erased else self.head
        if self.removed:
            last = max((e.order for e in self._standing()), default=None)
        else:
            last = max([e.order for e in entries] + ([head.last] if head and head.last else []), default=None)
        folds = bool(self.added or self.removed or self.erased)
        trusts = [self.trusts[_key(entry)] for entry in entries]
        return SlotHead(
            slot=self.slot, version=Version(position) if folds else self.version, last=last,
            functional=(head is None or head.functional) and all(e.functional for e in entries),
            plain=(head is None or head.plain) and all(map(_plain, entries)),
            trust=max([*trusts, Trust.UNTRUSTED if head is None else head.trust]),
            rejected=self.rejected,
        )  # fmt: skip

    def trusted(self) -> list[tuple[Entry, Trust]]:
        """Every operation that is folded so far, with its trust."""
        told = [] if self.head is None else each_told(self._tx, self.slot)
        stored = [
            (each.claim.entry, each.trust)
            for each in told
            if each.is_folded and _key(each.claim.entry) not in self.removed
        ]
        return stored + [(claim.entry, self.trusts[_key(claim.entry)]) for claim in self.added]

    @property
    def trust(self) -> Trust:
        """Nothing that is folded so far is trusted more."""
        return max([*self.trusts.values(), Trust.UNTRUSTED if self.head is None else self.head.trust])

    def _appended(self, entries: Sequence[Entry]) -> Outcome:
        value = _only_value(entries)
        around = _reach(entries)
        for margin in MARGINS:
            window = self._tx.window(self.slot, value, around, margin)
            before = _line(window)
            after = before.copy()
            try:
                for entry in entries:
                    apply(after, entry)
                change = difference(before, after)
            except Beyond:
                continue
            return Outcome(change=change, current=_by_run(window.versions))
        raise AssertionError("the whole axis is never too narrow")

    def _refolded(self) -> Outcome:
        window = self._tx.window(self.slot, None, Interval(OPEN_START, OPEN_END), None)
        kept = [v for v in window.versions if not self.is_erased(v.value_key)]
        runs = [_run(version) for version in kept]
        shows = [
            extent._replace(entry=self._entries()[_key(extent.entry)][0])
            for extent in window.extents
            if not self.is_erased(extent.entry.value)
        ]
        standing = self._standing()
        if compete(standing):
            change = difference(Line.of((OPEN_START, OPEN_END), runs, shows), fold(standing))
        else:
            change = together(_refolded_apart(runs, shows, standing))
        return Outcome(change=change, current=_by_run(kept))

    def _standing(self) -> list[Entry]:
        stored = [entry for key, (entry, _) in self._entries().items() if key not in self.removed]
        return stored + [claim.entry for claim in self.added]

    def _entries(self) -> dict[EntryKey, tuple[Entry, ClaimId]]:
        if self._stored is None:
            rows = [] if self.head is None else self._tx.entries(self.slot)
            self._stored = {_key(entry): (entry, id) for entry, id in rows}
        return self._stored


def _refolded_apart(runs: Sequence[Run], shows: Sequence[Extent], standing: Sequence[Entry]) -> list[Difference]:
    """The difference for each value by itself, between what is stored and what its operations make."""
    stored: dict[ValueKey | None, tuple[list[Run], list[Extent]]] = {}
    for run in runs:
        stored.setdefault(run.value, ([], []))[0].append(run)
    for extent in shows:
        stored[extent.entry.value][1].append(extent)
    told: dict[ValueKey | None, list[Entry]] = {
        next(entry.value for entry in part if entry.value is not None): part for part in apart(standing)
    }
    return [
        difference(Line.of((OPEN_START, OPEN_END), *stored.get(value, ((), ()))), fold(told.get(value, ())))
        for value in stored.keys() | told.keys()
    ]


def _line(window: Window) -> Line:
    return Line.of((window.span.start, window.span.end), map(_run, window.versions), window.extents)


def _run(version: FactVersion) -> Run:
    return Run(version.valid_from, version.valid_to, version.value_key, version.certain)


def _by_run(versions: Sequence[FactVersion]) -> dict[Run, FactVersion]:
    return {_run(version): version for version in versions}


def _key(entry: Entry) -> EntryKey:
    return entry.position, entry.ordinal


def _plain(entry: Entry) -> bool:
    """Whether how its ends are known can be read off the version alone."""
    return not entry.asserts or (entry.start is Start.KNOWN and entry.end in (End.KNOWN, End.OPEN))


def _only_value(entries: Sequence[Entry]) -> ValueKey | None:
    """The one value that the operations are about, where values of the slot do not compete."""
    values = {entry.value for entry in entries}
    return values.pop() if len(values) == 1 and not any(e.functional for e in entries) else None


def _reach(entries: Sequence[Entry]) -> Interval:
    """The stretch of valid time that the operations name, without their open sides."""
    named = [t for e in entries for t in (e.start_lo, e.start_hi, e.end_lo, e.end_hi) if OPEN_START < t < OPEN_END]
    return Interval(min(named), max(named)) if named else Interval(OPEN_START, OPEN_END)
