"""The decision on a held claim: by somebody else than its writer, on the state that the reviewer has seen."""

from collections.abc import Callable

from consolidation.check import CheckedReview
from consolidation.finish import Draft
from consolidation.lookup import Context
from consolidation.receipts import ItemReceipt, Result
from consolidation.slotwork import SlotWork
from graph.ports import Transaction
from ontology.claims import HELD, REVIEW, Lifecycle, Told, Trust
from ontology.errors import JSON, AlreadyDecided, OwnReview, VersionChanged, shown
from ontology.events import Operation, SlotHead
from ontology.facts import Slot, Version


def version_of(told: Told, head: SlotHead | None) -> Version:
    """The version of a held claim: that of its slot, or of the commit that held it where that came later."""
    held = told.transitions[-1].position if told.transitions else told.claim.entry.position
    return Version(max(held, 0 if head is None else head.version))


def review(
    tx: Transaction,
    context: Context,
    draft: Draft,
    work_of: Callable[[Slot], SlotWork],
    index: int,
    item: CheckedReview,
) -> ItemReceipt:
    """Promote a held claim, which is folded from now on at its old place in the order, or reject it.

    Raises `NotFound`, `AlreadyDecided`, `OwnReview`, `VersionChanged`.
    """
    told = tx.claim(item.claim)
    claim = told.claim
    work = work_of(claim.slot)
    _check(told, draft, context, work, item)
    state = Lifecycle.ACCEPTED if item.promotes else Lifecycle.REJECTED
    decided_on = version_of(told, work.head)
    draft.move(told, state, REVIEW, item.reason, decided_on)
    work.decided = True
    op = "promote" if item.promotes else "reject"
    detail: dict[str, JSON] = {"claim": claim.id, "reason": item.reason, "decided_on": decided_on}
    draft.operations.append(Operation(op=op, subject=claim.slot.subject, ordinal=index, detail=detail))
    if item.promotes:
        work.add(claim, max(claim.trust, Trust.CONFIRMED))
        draft.promotions[index] = claim
    elif claim.entry.asserts:
        work.rejected = True
    (subject,) = tx.entities_by_id([claim.slot.subject]).values()
    return ItemReceipt(
        op=op, result=Result.PROMOTED if item.promotes else Result.REJECTED, subject=subject,
        predicate=claim.slot.predicate, claim=claim.id, state=state, rule=REVIEW, reason=item.reason,
        observed_at=claim.entry.observed_at,
    )  # fmt: skip


def _check(told: Told, draft: Draft, context: Context, work: SlotWork, item: CheckedReview) -> None:
    claim, state = told.claim, draft.moved_to(told)
    if state not in HELD:
        raise AlreadyDecided(
            f"the claim {claim.id!r} waits no more, it is {state.value}",
            remedy="read it: its state says what was decided, by whom and why",
            members={"claim": claim.id, "state": state.value},
        )
    if claim.principal == context.principal:
        raise OwnReview(
            f"{shown(context.principal)} wrote the claim {claim.id!r} and cannot decide on it",
            remedy="let another principal that may review decide",
        )
    version = version_of(told, work.head)
    if item.expected is not None and item.expected != version:
        raise VersionChanged(
            f"the claim {claim.id!r} is at version {version}, not {item.expected}: what is believed there has changed",
            remedy="look at its current state and decide again",
            members={
                "current_version": version,
                "claim": claim.id,
                "subject": claim.slot.subject,
                "predicate": claim.slot.predicate,
            },
        )
