"""How a plan becomes a commit: slots folded without what goes, payloads restated or destroyed, a tombstone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from consolidation.confidence import recount, statement
from consolidation.finish import shown_rows, versions_opened
from consolidation.forgetting.plan import Plan, SlotCut
from consolidation.slotwork import Outcome, SlotWork
from graph import journal
from graph.ports import Transaction
from graph.restating import Cut, cut, empty
from ontology.claims import Claim
from ontology.events import ChangeSet, Commit, Destroyed, Kind, Removal, Restated, Shown, SlotHead
from ontology.facts import FactVersion, Slot, Support
from ontology.ids import ClaimId, Ledger, Owner, Place, kind_of, locate, tombstone_id
from ontology.instants import Instant
from ontology.tombstones import Tombstone, mark
from ontology.values import ValueKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """Who forgets, and where the commit will stand."""

    actor: str
    ledger: Ledger
    position: int
    now: Instant
    secret: bytes
    is_new_secret: bool
    blocks: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What was forgotten before, in a past that a backup does not have."""

    stone: Tombstone
    end: int
    """The position at which the backup ends."""
    lost: tuple[tuple[int, Owner], ...]
    """The payloads that did not come back."""
    cut: tuple[Restated, ...]
    """What is left of those that came back without what they quoted."""

    def stone_as(self, made: Tombstone) -> Tombstone:
        """The tombstone as it was, for what was there by then, in the commit of a new one."""
        was = self.stone
        return replace(
            was,
            id=made.id,
            subject=was.subject if self._is_there(was.subject) else None,
            destroyed=tuple(id for id in was.destroyed if self._is_there(id)),
            restated=tuple(id for id in was.restated if self._is_there(id)),
            claims=tuple(id for id in was.claims if self._is_there(id)),
            facts=tuple(id for id in was.facts if self._is_there(id)),
            position=made.position,
            recorded_at=made.recorded_at,
            lifted=None,
        )

    def _is_there(self, id: str | None) -> bool:
        return id is not None and locate(id, kind_of(id) or "").position <= self.end


def commit_of(
    tx: Transaction, plan: Plan, deed: Deed, salts: Callable[[], bytes], before: Before | None = None
) -> Commit:
    """All that forgetting writes. The transaction reads what is stored, and has applied nothing yet.

    With `before`, it is forgotten again.
    """
    folded = _Folded(plan, deed)
    what = _cut(plan)
    owners = {c.slot.subject for c in plan.cuts} | {slot.subject for slot in plan.quotes}
    restated = [r for owner in sorted(owners - {plan.whole}) for r in cut(tx.payloads_about(owner), what, salts=salts)]
    words = [payload for id in plan.emptied for payload in tx.payloads_about(id)]
    left, kept, wordless = empty(words, salts=salts)
    restated += left
    whole: list[Owner] = [*plan.episodes] if plan.whole is None else [plan.whole, *plan.episodes]
    payloads = [(position, owner) for owner in whole for position, _ in tx.payloads_about(owner)]
    if plan.cited:
        restated += cut(tx.payloads_about(None), what, salts=salts)
    stone = _tombstone(plan, deed, whole, restated)
    if before is not None:
        stone = before.stone_as(stone)
        payloads += before.lost
        taken = {(each.position, each.payload.subject) for each in restated}
        restated += [each for each in before.cut if (each.position, each.payload.subject) not in taken]
    changes = ChangeSet(
        position=deed.position,
        recorded_at=deed.now,
        kind=Kind.FORGET,
        principal=deed.actor,
        closed=tuple(folded.closed),
        opened=tuple(folded.opened),
        hidden=tuple(folded.hidden),
        shown=tuple(folded.shown),
        support=tuple(folded.support),
        slots=tuple(folded.heads),
        removals=tuple(_removals(plan)),
        tombstones=(stone,),
        secret=deed.secret if deed.is_new_secret else None,
    )
    destroyed = Destroyed(payloads=(*payloads, *wordless), emptied=tuple(kept), cited=tuple(plan.cited))
    return journal.commit(changes, tx.head, salts=salts, restated=restated, destroyed=destroyed)


class _Folded:
    """What becomes of the belief in slots of which something is left."""

    def __init__(self, plan: Plan, deed: Deed) -> None:
        self.closed: list[FactVersion] = []
        self.hidden: list[Shown] = []
        self.shown: list[Shown] = []
        self.support: list[Support] = []
        self.heads: list[SlotHead] = []
        self._deed = deed
        works: dict[Slot, SlotWork] = {}
        outcomes: dict[Slot, Outcome] = {}
        for each in plan.cuts:
            if each.left and any(told.is_folded for told in each.gone):
                works[each.slot] = _without(each)
                outcomes[each.slot] = works[each.slot].outcome()
                self._take(each, works[each.slot], outcomes[each.slot], plan)
        opened = versions_opened(deed, works, outcomes)
        self.opened = [version for versions in opened.values() for version in versions]

    def _take(self, each: SlotCut, work: SlotWork, outcome: Outcome, plan: Plan) -> None:
        slot, change = each.slot, outcome.change
        self.closed += [v for v in (outcome.current[run] for run in change.closed) if v.id not in plan.facts]
        hidden = shown_rows(self._deed, slot, change.hidden)
        self.hidden += [shown for shown in hidden if shown.claim not in plan.claims]
        self.shown += shown_rows(self._deed, slot, change.shown)
        self.heads.append(work.head_after(self._deed.position))
        left = [told.claim for told in each.left]
        lost = {t.claim.entry.value for t in each.gone if t.is_folded and t.claim.entry.asserts}
        standing = [told.claim for told in each.left if told.is_folded]
        self.support += _recounted(slot, lost & _values(left), standing, self._deed.now)


def _without(each: SlotCut) -> SlotWork:
    work = SlotWork(each.tx, each.slot, each.tx.slot_heads([each.slot]).get(each.slot))
    for told in each.gone:
        if told.is_folded:
            work.remove(told.claim.entry)
    return work


def _recounted(slot: Slot, values: set[ValueKey | None], standing: Sequence[Claim], now: Instant) -> Iterator[Support]:
    for value in sorted(value for value in values if value is not None):
        said = [claim for claim in standing if claim.entry.asserts and claim.entry.value == value]
        yield recount(slot, value, map(statement, said), now)


def _removals(plan: Plan) -> Iterator[Removal]:
    quotes = dict(plan.quotes)
    for each in plan.cuts:
        yield Removal(
            slot=each.slot,
            claims=tuple(told.claim.id for told in each.gone),
            versions=tuple(version.id for version in each.versions),
            quotes=tuple(quotes.pop(each.slot, ())),
        )
    for slot, ids in quotes.items():
        yield Removal(slot=slot, claims=(), versions=(), quotes=tuple(ids))


def _cut(plan: Plan) -> Cut:
    dead: set[tuple[Slot, ValueKey]] = set()
    for each in plan.cuts:
        left = _values([told.claim for told in each.left])
        gone = _values([told.claim for told in each.gone])
        dead |= {(each.slot, value) for value in gone - left if value is not None}
    quotes: frozenset[ClaimId] = frozenset(id for ids in plan.quotes.values() for id in ids)
    named: set[str] = {*plan.episodes, *plan.cited}
    if plan.wanted.source is not None:
        named.add(plan.wanted.source)
    return Cut(
        claims=frozenset(plan.claims),
        versions=frozenset(plan.facts),
        quotes=quotes,
        values=frozenset(dead),
        slots=frozenset(each.slot for each in plan.cuts if not each.left),
        episodes=frozenset(plan.cited),
        named=frozenset(named),
    )


def _values(claims: Sequence[Claim]) -> set[ValueKey | None]:
    return {claim.entry.value for claim in claims}


def _tombstone(plan: Plan, deed: Deed, whole: Sequence[Owner], restated: Sequence[Restated]) -> Tombstone:
    wanted = plan.wanted
    return Tombstone(
        id=tombstone_id(Place(deed.ledger, deed.position, 0)),
        scope=wanted.scope,
        target=wanted.target,
        manifest=plan.manifest,
        subject=None if wanted.subject is None else wanted.subject.id,
        predicate=wanted.predicate,
        destroyed=tuple(whole),
        restated=tuple(dict.fromkeys(r.payload.subject for r in restated if r.payload.subject is not None)),
        claims=tuple(sorted(plan.claims)),
        facts=tuple(sorted(plan.facts)),
        marks=tuple(dict.fromkeys(mark(deed.secret, kind, wanted.scope, word) for kind, word in plan.words)),
        counts=plan.counts,
        blocks=deed.blocks,
        actor=deed.actor,
        position=deed.position,
        recorded_at=deed.now,
        lifted=None,
    )
