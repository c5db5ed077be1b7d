"""The end of a transaction: every slot is folded once, and what changed becomes a change set and a receipt."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Final, Protocol

from consolidation.confidence import recount, reinforce, statement
from consolidation.lookup import Context, Lookup
from consolidation.policy import Held
from consolidation.receipts import ItemReceipt, Receipt, Result, SlotReport, Warned
from consolidation.slotwork import Outcome, SlotWork
from graph.paging import each_told
from graph.ports import Transaction
from graph.restating import outlives
from ontology.claims import ENDED, Claim, Lifecycle, Told, Transition
from ontology.episodes import Quote
from ontology.events import ChangeSet, Erasure, Kind, Operation, Shown
from ontology.facts import FactVersion, Slot, Support, Version
from ontology.ids import ClaimId, EntityId, Ledger, Place, claim_id, fact_id
from ontology.instants import OPEN_END, Instant
from ontology.line import Extent
from ontology.values import Value, ValueKey

EVIDENCE_READ: Final = 100
"""So many claims of what was superseded are looked at for their trust."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What becomes of a stored claim."""

    claim: Claim
    state: Lifecycle
    rule: str
    reason: str
    decided_on: Version | None
    was_folded: bool
    """Whether it was before this transaction."""


@dataclass(slots=True, kw_only=True)
class Draft:
    """What the items of one transaction have asked for so far."""

    works: dict[Slot, SlotWork] = field(default_factory=dict)
    receipts: list[ItemReceipt] = field(default_factory=list)
    """One per item, without what only the end can tell."""
    claims: dict[ClaimId, tuple[int, Claim]] = field(default_factory=dict)
    """New ones, with the index of their items."""
    quotes: dict[ClaimId, Quote] = field(default_factory=dict)
    holds: dict[ClaimId, Held] = field(default_factory=dict)
    """Those of the new ones that are not folded yet."""
    moved: dict[ClaimId, Moved] = field(default_factory=dict)
    """Stored ones that come into another state."""
    promotions: dict[int, Claim] = field(default_factory=dict)
    """What an item promoted, by its index."""
    successors: dict[ClaimId, ClaimId] = field(default_factory=dict)
    erased_claims: set[ClaimId] = field(default_factory=set)
    erasures: list[Erasure] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)

    def take_back(self, id: ClaimId, result: Result) -> None:
        """Let a claim of this transaction not have been made, since a later item of it takes it away."""
        index, _ = self.claims.pop(id)
        self.holds.pop(id, None)
        receipt = self.receipts[index]
        receipt.claim = receipt.state = receipt.rule = receipt.reason = None
        receipt.result = result

    def move(self, told: Told, state: Lifecycle, rule: str, reason: str, decided_on: Version | None) -> None:
        """Let a stored claim come into another state; what this transaction promoted before is not promoted then."""
        id = told.claim.id
        for index, claim in [*self.promotions.items()]:
            if claim.id == id:
                del self.promotions[index]
                self.receipts[index].result, self.receipts[index].state = Result.WITHDRAWN, state
        self.moved[id] = Moved(
            claim=told.claim, state=state, rule=rule, reason=reason, decided_on=decided_on, was_folded=told.is_folded
        )

    def state_of(self, id: ClaimId) -> Lifecycle:
        """The state of a new claim."""
        return self.holds[id].state if id in self.holds else Lifecycle.ACCEPTED

    def moved_to(self, told: Told) -> Lifecycle:
        """The state of a stored claim."""
        return self.moved[told.claim.id].state if told.claim.id in self.moved else told.state

    def gone(self, claim: Claim) -> bool:
        """Whether a stored claim does not count any more."""
        moved = self.moved.get(claim.id)
        return claim.id in self.erased_claims or (moved is not None and moved.state in ENDED)

    def erase(self, erasure: Erasure, claims: Set[ClaimId]) -> None:
        """Let nothing stay of what was said of it so far: `claims`, and what was done to them."""
        for id in self.claims.keys() & claims:
            self.take_back(id, Result.ERASED)
        self.erased_claims.update(claims)
        self.moved = {
            id: each for id, each in self.moved.items() if not erasure.takes(each.claim.slot, each.claim.entry.value)
        }
        self.promotions = {
            index: each for index, each in self.promotions.items() if not erasure.takes(each.slot, each.entry.value)
        }
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
    """The subject of each stored claim that changes its state: a payload of the journal belongs to one subject."""


def finish(tx: Transaction, context: Context, lookup: Lookup, draft: Draft) -> Finished:
    """Fold what was asked for, and tell what it did."""
    works = {slot: work for slot, work in draft.works.items() if work.touched}
    outcomes = {slot: work.outcome() for slot, work in works.items()}
    opened = versions_opened(context, works, outcomes)
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
        transitions=tuple(_transitions(context, draft)),
        closed=tuple(outcome.current[run] for outcome in outcomes.values() for run in outcome.change.closed),
        opened=tuple(version for versions in opened.values() for version in versions),
        hidden=tuple(s for slot, o in outcomes.items() for s in shown_rows(context, slot, o.change.hidden)),
        shown=tuple(s for slot, o in outcomes.items() for s in shown_rows(context, slot, o.change.shown)),
        support=tuple(_supports(tx, context, draft, works)),
        slots=tuple(work.head_after(context.position) for work in works.values() if not work.ends_empty),
    )
    _fill(tx, draft, outcomes, opened, {head.slot: head.version for head in changes.slots})
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
        owners={id: each.claim.slot.subject for id, each in draft.moved.items()},
    )


class Committing(Protocol):
    """Where a commit will stand."""

    @property
    def ledger(self) -> Ledger: ...
    @property
    def position(self) -> int: ...
    @property
    def now(self) -> Instant: ...


def versions_opened(
    context: Committing, works: Mapping[Slot, SlotWork], outcomes: Mapping[Slot, Outcome]
) -> dict[Slot, list[FactVersion]]:
    """The versions that each slot opens, numbered in order."""
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


def shown_rows(context: Committing, slot: Slot, extents: Sequence[Extent]) -> Iterator[Shown]:
    """Where claims show, or do not any more."""
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


def _transitions(context: Context, draft: Draft) -> Iterator[Transition]:
    changes: list[tuple[ClaimId, Held | Moved]] = [*draft.holds.items(), *draft.moved.items()]
    for id, each in changes:
        if id not in draft.erased_claims:
            yield Transition(
                claim=id,
                state=each.state,
                rule=each.rule,
                reason=each.reason,
                actor=context.principal,
                position=context.position,
                recorded_at=context.now,
                decided_on=each.decided_on if isinstance(each, Moved) else None,
                successor=draft.successors.get(id),
            )


def _supports(tx: Transaction, context: Context, draft: Draft, works: Mapping[Slot, SlotWork]) -> Iterator[Support]:
    ended: dict[Slot, list[Claim]] = {}
    for each in draft.moved.values():
        if each.was_folded and each.state in ENDED:
            ended.setdefault(each.claim.slot, []).append(each.claim)
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
        standing = [t.claim for t in told if t.is_folded and t.claim.entry.asserts and not draft.gone(t.claim)]
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
    tx: Transaction,
    draft: Draft,
    outcomes: Mapping[Slot, Outcome],
    opened: Mapping[Slot, Sequence[FactVersion]],
    versions: Mapping[Slot, Version],
) -> None:
    """Complete the receipts with what only the end can tell."""
    claims: dict[int, list[Claim]] = {index: [claim] for index, claim in draft.promotions.items()}
    for index, claim in draft.claims.values():
        if claim.id not in draft.holds:
            claims.setdefault(index, []).append(claim)
    reports = {slot: SlotReport(outcome, opened[slot]) for slot, outcome in outcomes.items()}
    by_subject: dict[EntityId, list[Slot]] = {}
    for slot in outcomes:
        by_subject.setdefault(slot.subject, []).append(slot)
    for index, receipt in enumerate(draft.receipts):
        own = claims.get(index)
        if receipt.op == "expire" or receipt.result in (Result.DUPLICATE, Result.IGNORED):
            continue
        if own is None and receipt.claim is not None:  # it waits, or was rejected: nothing was folded for it
            held = draft.claims.get(receipt.claim)
            slot = draft.moved[receipt.claim].claim.slot if held is None else held[1].slot
            receipt.version = versions.get(slot) or None
            continue
        if own is None:
            slots = {draft.moved[id].claim.slot for id in receipt.withdrawn if id in draft.moved}
            if receipt.subject is not None:
                about = by_subject.get(receipt.subject.id, [])
                slots.update(slot for slot in about if receipt.predicate in (None, slot.predicate))
            touched = sorted(slots, key=lambda slot: (slot.subject, slot.predicate, slot.language))
            receipt.opened = [id for slot in touched for id in reports[slot].opened]
            receipt.closed = [id for slot in touched for id in reports[slot].closed]
            left = [versions[slot] for slot in touched if slot in versions]
            receipt.version = max(left, default=None)
            continue
        for claim in own:
            receipt.version = versions[claim.slot]
            report = reports[claim.slot]
            if receipt.op == "retract":
                report.retracted(receipt, claim)
            elif receipt.op == "replace":
                report.replaced(receipt, claim)
            else:
                report.asserted(receipt, claim)
                _flag_drop(tx, draft.works[claim.slot], outcomes[claim.slot], receipt, claim)
            if receipt.op == "promote":
                receipt.result = Result.PROMOTED


def _flag_drop(tx: Transaction, work: SlotWork, outcome: Outcome, receipt: ItemReceipt, claim: Claim) -> None:
    """Warn where what was believed rested on claims that are trusted more than the one that supersedes it."""
    trust = work.trusts[claim.entry.position, claim.entry.ordinal]
    if not receipt.superseded or work.head is None or trust >= work.head.trust:
        return
    gone = [version for version in outcome.current.values() if version.id in set(receipt.superseded)]
    told = [
        each for version in gone for each in tx.evidence(version, tx.head.recorded_at, limit=EVIDENCE_READ, after=None)
    ]
    before = max((each.trust for each in told), default=trust)
    if before > trust:
        detail = f"what is {trust.word} superseded what was {before.word}"
        receipt.warnings = (*receipt.warnings, Warned(code="trust_dropped", detail=detail))
