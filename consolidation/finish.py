"""The end of a transaction: every slot is folded once, and what changed becomes a change set and a receipt."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from consolidation.confidence import recount, reinforce, statement
from consolidation.lookup import Context, Lookup
from consolidation.receipts import ItemReceipt, Receipt, Result, SlotReport
from consolidation.slotwork import Outcome, SlotWork
from graph.paging import each_told
from graph.ports import Transaction
from graph.restating import outlives
from ontology.claims import Claim, Ending, Lifecycle
from ontology.episodes import Quote
from ontology.events import ChangeSet, Erasure, Kind, Operation, Shown
from ontology.facts import FactVersion, Slot, Support, Version
from ontology.ids import ClaimId, EntityId, Place, claim_id, fact_id
from ontology.instants import OPEN_END
from ontology.line import Extent
from ontology.values import Value, ValueKey


@dataclass(slots=True, kw_only=True)
class Draft:
    """What the items of one transaction have asked for so far."""

    works: dict[Slot, SlotWork] = field(default_factory=dict)
    receipts: list[ItemReceipt] = field(default_factory=list)
    """One per item, without what only the end can tell."""
    claims: dict[ClaimId, tuple[int, Claim]] = field(default_factory=dict)
    """New ones, with the index of their items."""
    quotes: dict[ClaimId, Quote] = field(default_factory=dict)
    ended: dict[ClaimId, tuple[Claim, str]] = field(default_factory=dict)
    """Stored ones that no longer count, and why."""
    successors: dict[ClaimId, ClaimId] = field(default_factory=dict)
    erased_claims: set[ClaimId] = field(default_factory=set)
    erasures: list[Erasure] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)

    def take_back(self, id: ClaimId, result: Result) -> None:
        """Let a claim of this transaction not have been made, since a later item of it takes it away."""
        index, _ = self.claims.pop(id)
        self.receipts[index].claim = None
        self.receipts[index].result = result

    def gone(self, claim: Claim) -> bool:
        """Whether a stored claim does not count any more."""
        return claim.id in self.ended or claim.id in self.erased_claims

    def erase(self, erasure: Erasure, claims: Set[ClaimId]) -> None:
        """Let nothing stay of what was said of it so far: `claims`, and what was done to them."""
        for id in self.claims.keys() & claims:
            self.take_back(id, Result.ERASED)
        self.erased_claims.update(claims)
        self.operations = [
            each
            for each in self.operations
            if each.subject != erasure.subject or outlives(each.detail, erasure, claims)
        ]
        self.erasures = [each for each in self.erasures if not erasure.covers(each)] + [erasure]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A transaction that is ready to be committed."""

    changes: ChangeSet | None
    """`None` where nothing changes."""
    receipt: Receipt
    owners: Mapping[ClaimId, EntityId]
    """The subject of each ended claim: a payload of the journal belongs to one subject."""


def finish(tx: Transaction, context: Context, lookup: Lookup, draft: Draft) -> Finished:
    """Fold what was asked for, and tell what it did."""
    works = {slot: work for slot, work in draft.works.items() if work.touched}
    outcomes = {slot: work.outcome() for slot, work in works.items()}
    opened = _opened(context, works, outcomes)
    created = tuple(lookup.created.values())
    if not works and not draft.erasures:
        recorded_at = tx.head.recorded_at if tx.head.position else None
        receipt = Receipt(
            position=tx.head.position, recorded_at=recorded_at, dry_run=False, items=tuple(draft.receipts), created=()
        )
        return Finished(changes=None, receipt=receipt, owners={})
    changes = ChangeSet(
        position=context.position,
        recorded_at=context.now,
        kind=Kind.ERASE if draft.erasures else context.kind,
        principal=context.principal,
        operations=tuple(draft.operations),
        schema=None,
        erasures=tuple(draft.erasures),
        entities=created,
        episodes=tuple(lookup.new_episodes.values()),
        verbatims=(),
        claims=tuple(claim for _, claim in draft.claims.values()),
        quotes=tuple(quote for id, quote in draft.quotes.items() if id in draft.claims),
        endings=tuple(_endings(context, draft)),
        closed=tuple(outcome.current[run] for outcome in outcomes.values() for run in outcome.change.closed),
        opened=tuple(version for versions in opened.values() for version in versions),
        hidden=tuple(s for slot, o in outcomes.items() for s in _shown(context, slot, o.change.hidden)),
        shown=tuple(s for slot, o in outcomes.items() for s in _shown(context, slot, o.change.shown)),
        support=tuple(_supports(tx, context, draft, works)),
        slots=tuple(work.head_after(context.position) for work in works.values() if not work.ends_empty),
    )
    _fill(context, draft, outcomes, opened)
    receipt = Receipt(
        position=context.position,
        recorded_at=context.now,
        dry_run=False,
        items=tuple(draft.receipts),
        created=created,
    )
    return Finished(
        changes=changes,
        receipt=receipt,
        owners={id: claim.slot.subject for id, (claim, _) in draft.ended.items()},
    )


def _opened(
    context: Context, works: Mapping[Slot, SlotWork], outcomes: Mapping[Slot, Outcome]
) -> dict[Slot, list[FactVersion]]:
    opened: dict[Slot, list[FactVersion]] = {}
    ordinal = 0
    for slot, outcome in outcomes.items():
        values: dict[ValueKey, Value] = {v.value_key: v.value for v in outcome.current.values()}
        opened[slot] = []
        for run in outcome.change.opened:
            if run.value not in values:
                values[run.value] = works[slot].value_of(run.value)
            version = FactVersion(
                id=fact_id(Place(context.ledger, context.position, ordinal)),
                position=context.position,
                ordinal=ordinal,
                slot=slot,
                value=values[run.value],
                value_key=run.value,
                certain=run.certain,
                valid_from=run.valid_from,
                valid_to=run.valid_to,
                recorded_from=context.now,
                recorded_to=OPEN_END,
            )
            opened[slot].append(version)
            ordinal += 1
    return opened


def _shown(context: Context, slot: Slot, extents: Sequence[Extent]) -> Iterator[Shown]:
    for extent in extents:
        entry = extent.entry
        if entry.value is None:
            raise AssertionError("a retraction shows nowhere")
        yield Shown(
            claim=claim_id(Place(context.ledger, entry.position, entry.ordinal)),
            slot=slot,
            value_key=entry.value,
            valid_from=extent.valid_from,
            valid_to=extent.valid_to,
        )


def _endings(context: Context, draft: Draft) -> Iterator[Ending]:
    for id, (_, reason) in draft.ended.items():
        if id not in draft.erased_claims:
            yield Ending(
                claim=id,
                state=Lifecycle.WITHDRAWN,
                reason=reason,
                position=context.position,
                recorded_at=context.now,
                successor=draft.successors.get(id),
            )


def _supports(tx: Transaction, context: Context, draft: Draft, works: Mapping[Slot, SlotWork]) -> Iterator[Support]:
    ended: dict[Slot, list[Claim]] = {}
    for claim, _ in draft.ended.values():
        ended.setdefault(claim.slot, []).append(claim)
    for slot, work in works.items():
        yield from _support(tx, context, draft, work, ended.get(slot, ()))


def _support(
    tx: Transaction, context: Context, draft: Draft, work: SlotWork, ended: Sequence[Claim]
) -> Iterator[Support]:
    """A row for each value of the slot whose claims became more or fewer."""
    gained: dict[ValueKey, list[Claim]] = {}
    for claim in work.added:
        if claim.entry.asserts and claim.entry.value is not None:
            gained.setdefault(claim.entry.value, []).append(claim)
    lost = {
        claim.entry.value for claim in ended if claim.entry.value is not None and not work.is_erased(claim.entry.value)
    }
    if lost:
        told = each_told(tx, work.slot)
        standing = [t.claim for t in told if t.ending is None and t.claim.entry.asserts and not draft.gone(t.claim)]
        for value in sorted(lost):
            said = [c for c in (*standing, *work.added) if c.entry.asserts and c.entry.value == value]
            yield recount(work.slot, value, map(statement, said), context.now)
    values = [value for value in gained if value not in lost]
    kept = [] if work.head is None else [value for value in values if not work.is_erased(value)]
    held = tx.support_now(work.slot, kept) if kept else {}
    for value in values:
        if value in held:
            yield reinforce(tx, held[value], gained[value], context.now)
        else:
            yield recount(work.slot, value, map(statement, gained[value]), context.now)


def _fill(
    context: Context,
    draft: Draft,
    outcomes: Mapping[Slot, Outcome],
    opened: Mapping[Slot, Sequence[FactVersion]],
) -> None:
    """Complete the receipts with what only the end can tell."""
    claims: dict[int, list[Claim]] = {}
    for index, claim in draft.claims.values():
        claims.setdefault(index, []).append(claim)
    reports = {slot: SlotReport(outcome, opened[slot]) for slot, outcome in outcomes.items()}
    by_subject: dict[EntityId, list[Slot]] = {}
    for slot in outcomes:
        by_subject.setdefault(slot.subject, []).append(slot)
    for index, receipt in enumerate(draft.receipts):
        own = claims.get(index)
        if receipt.result is Result.DUPLICATE:
            continue
        if own is None:
            slots = {draft.ended[id][0].slot for id in receipt.withdrawn if id in draft.ended}
            if receipt.subject is not None:
                about = by_subject.get(receipt.subject.id, [])
                slots.update(slot for slot in about if receipt.predicate in (None, slot.predicate))
            touched = sorted(slots, key=lambda slot: (slot.subject, slot.predicate, slot.language))
            receipt.opened = [id for slot in touched for id in reports[slot].opened]
            receipt.closed = [id for slot in touched for id in reports[slot].closed]
            if any(not draft.works[slot].ends_empty for slot in touched):
                receipt.version = Version(context.position)
            continue
        receipt.version = Version(context.position)
        for claim in own:
            report = reports[claim.slot]
            if receipt.op == "retract":
                report.retracted(receipt, claim)
            elif receipt.op == "replace":
                report.replaced(receipt, claim)
            else:
                report.asserted(receipt, claim)
