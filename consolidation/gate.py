"""What one transaction looks up to admit, hold or turn away what it is told, and what it does then."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from consolidation.finish import EVIDENCE_READ, Draft
from consolidation.forgetting.graves import FORGOTTEN, Graves
from consolidation.items import Read
from consolidation.lookup import Context
from consolidation.policy import (
    PROMOTE_AFTER,
    SENSITIVE,
    Circumstances,
    Held,
    TurnedAway,
    changes,
    forged,
    independent,
    judge,
    may_speak_for,
    unseated,
)
from consolidation.profile_notes import check_note
from consolidation.receipts import ItemReceipt, Result
from consolidation.serving import Served
from consolidation.slotwork import SlotWork
from graph.naming import NAMING
from graph.ports import Transaction
from ontology.claims import Claim, Lifecycle, Told, Trust
from ontology.errors import Forbidden, NotFound, Refused, Violation, shown
from ontology.ids import ClaimId, EpisodeId, FactId, is_recorded
from ontology.schema import Predicate

_RESULT = {Lifecycle.QUARANTINED: Result.QUARANTINED, Lifecycle.STAGED: Result.STAGED}


class Gate:
    """Where what a transaction is told is let in."""

    def __init__(self, tx: Transaction, context: Context, draft: Draft, graves: Graves) -> None:
        self._tx = tx
        self._context = context
        self._draft = draft
        self._graves = graves
        self._sessions: dict[EpisodeId, str | None] = {}
        self._served = Served(tx, context.now)

    def trust(self, asked: Trust | None) -> Trust:
        """The trust of a claim. Raises `Refused` for more than its principal may give."""
        most = self._context.authority.trust_max
        if asked is not None and asked > most:
            detail = f"{shown(self._context.principal)} may give {most.word} at most, not {asked.word}; ask for less"
            raise Refused(detail, violations=(Violation(pointer="/trust", code="trust_too_high", detail=detail),))
        return self._context.authority.trust if asked is None else asked

    def admit(
        self, index: int, work: SlotWork, claim: Claim, predicate: Predicate, read: Read | None, receipt: ItemReceipt
    ) -> None:  # fmt: skip
        """Fold a new claim, hold it, or keep nothing of it; the receipt says which. Raises as `check_note` does."""
        check_note(self._tx, work, claim, self._context.now, replaces=False)
        heard = self._heard(claim, predicate, work)
        verdict = judge(claim, predicate, self._around(claim, predicate, work, heard, read)) or self._forgotten(claim)
        if isinstance(verdict, TurnedAway):
            receipt.result, receipt.rule, receipt.reason = Result.IGNORED, verdict.rule, verdict.reason
            return
        self._draft.claims[claim.id] = (index, claim)
        receipt.claim, receipt.echo = claim.id, claim.echo
        if isinstance(verdict, Held):
            work.hold(claim)
            self._draft.holds[claim.id] = verdict
            receipt.state, receipt.rule, receipt.reason = verdict.state, verdict.rule, verdict.reason
            receipt.result = _RESULT[verdict.state]
            return
        work.add(claim, claim.trust)
        receipt.state = Lifecycle.ACCEPTED
        if claim.entry.asserts:
            receipt.promoted = [*self._promote_waiting(claim, predicate, work, heard)]

    def correct(
        self, index: int, work: SlotWork, claim: Claim, predicate: Predicate, read: Read | None
    ) -> None:  # fmt: skip
        """Fold the right value of a correction. Raises `Refused` where it could not be believed at once."""
        check_note(self._tx, work, claim, self._context.now, replaces=True)
        heard = self._heard(claim, predicate, work)
        verdict = judge(claim, predicate, self._around(claim, predicate, work, heard, read))
        if verdict is not None:
            detail = f"a correction cannot wait, and this one would: {verdict.reason}; assert what is right instead"
            raise Refused(detail, violations=(Violation(pointer="", code=_code(verdict.rule), detail=detail),))
        self._draft.claims[claim.id] = (index, claim)
        work.add(claim, claim.trust)

    def as_echo(self, claim: Claim, recalled: Sequence[FactId]) -> Claim:
        """The claim, as an echo where it says no more than a recalled fact: then it has the root of what it repeats.

        Another slot or another value is no echo, nor is a fact that is not here.
        """
        for id in recalled:
            try:
                version = self._tx.fact(id).version
            except NotFound:
                continue
            if version.slot == claim.slot and version.value_key == claim.entry.value:
                shown = self._tx.evidence(version, self._tx.head.recorded_at, limit=EVIDENCE_READ, after=None)
                surest = max(shown, key=lambda told: told.claim.confidence, default=None)
                if surest is not None:
                    confidence = min(claim.confidence, surest.claim.confidence)
                    return replace(claim, echo=True, root=surest.claim.root, confidence=confidence)
        return claim

    def served(self, claim: Claim, read: Read | None) -> list[FactId]:
        """The fact that says the same and was served to this principal in the session in which an agent says it."""
        value = claim.entry.value
        if read is None or read.session is None or value is None:
            return []
        found = self._served.fact(claim.principal, read.session, claim.slot, value)
        return [] if found is None else [found]

    def may_undo(self, told: Iterable[Told], predicate: Predicate) -> None:
        """Raise `Forbidden` or `Refused` for whoever may not let these claims not have counted."""
        authority, principal = self._context.authority, self._context.principal
        for each in told:
            own_proposal = each.held is not None and each.claim.principal == principal
            if not authority.owns and not own_proposal:
                raise Forbidden(
                    f"{shown(principal)} does not own the namespace, so it cannot undo {each.claim.id!r}",
                    remedy="propose what is right, as a claim",
                )
            if predicate.governance.guarded and each.is_folded and authority.trust_max < each.trust:
                detail = (
                    f"{shown(predicate.name)} is guarded: {shown(principal)} gives {authority.trust_max.word} at most, "
                    f"and cannot undo {each.claim.id!r}, which is {each.trust.word}; assert what is right, for review"
                )
                raise Refused(detail, violations=(Violation(pointer="", code="guarded", detail=detail),))

    def may_erase(self) -> None:
        """Raise `Forbidden` for whoever does not own the namespace."""
        if not self._context.authority.owns:
            raise Forbidden(
                f"{shown(self._context.principal)} does not own the namespace, so it cannot erase from it",
                remedy="ask its owner",
            )

    # ---- what these are made of

    def _forgotten(self, claim: Claim) -> Held | None:
        """That a name waits which was forgotten: nobody knows whether it is the same one's."""
        value = claim.value
        if claim.slot.predicate not in NAMING or value is None or not claim.entry.asserts:
            return None
        stone = self._graves.holding(value.text)
        if stone is None:
            return None
        reason = f"the name was forgotten ({stone.id}), and may be that of somebody else"
        return Held(state=Lifecycle.QUARANTINED, rule=FORGOTTEN, reason=reason)

    def _heard(self, claim: Claim, predicate: Predicate, work: SlotWork) -> list[Told]:
        """What was told of its value before, where that matters."""
        value, matters = claim.entry.value, work.rejected or predicate.governance.promote_after is not None
        matters = matters or (predicate.governance.sensitive and claim.trust >= Trust.CONFIRMED)
        if work.head is None or value is None or not claim.entry.asserts or not matters:
            return []
        return [told for told in self._tx.heard(claim.slot, value) if not self._erased(told, work)]

    def _erased(self, told: Told, work: SlotWork) -> bool:
        return told.claim.id in self._draft.erased_claims or work.is_erased(told.claim.entry.value)

    def _around(
        self, claim: Claim, predicate: Predicate, work: SlotWork, heard: list[Told], read: Read | None
    ) -> Circumstances:  # fmt: skip
        rules, states = predicate.governance, [(told, self._draft.moved_to(told)) for told in heard]
        same = [told for told, state in states if state is Lifecycle.REJECTED and told.claim.source == claim.source]
        unseats = None
        if rules.guarded and claim.trust < work.trust:
            unseats = unseated(work.trusted(), claim.entry)
        counted = [told.claim for told, state in states if state is Lifecycle.ACCEPTED]
        counted += [told.claim for told in heard if self._waits(told, (PROMOTE_AFTER,))]
        counted += [c for c in (*work.added, *self._waiting_new(work, (PROMOTE_AFTER,))) if _same_value(c, claim)]
        return Circumstances(
            owns=self._context.authority.owns,
            rejected=same[0] if same else None,
            unseats=unseats,
            independent=independent([*counted, claim], rules.promote_by, self._session),
            changes=claim.echo and changes([entry for entry, _ in work.trusted()], claim.entry),
            doubt=self._doubt(claim, read),
        )

    def _doubt(self, claim: Claim, read: Read | None) -> Held | None:
        """Why it should wait, by whoever read it, else by its source, which may be one that signs what it says."""
        if read is not None:
            return read.doubt
        principal = self._context.principal
        if may_speak_for(claim.source, principal, self._context.authority):
            return None
        declared = self._context.sources.declared(self._tx.scope.tenant, claim.source)
        return None if declared is None or not declared.signs else forged(claim.source, principal)

    def _session(self, claim: Claim) -> str | None:
        """The session of the episode that a claim cites; `None` where it names none, or its words are gone."""
        id = claim.episode
        if id is None or not is_recorded(id):
            return None
        if id not in self._sessions:
            self._sessions[id] = None
            with suppress(NotFound):  # one of another scope
                words = self._tx.recorded_episode(id).verbatim
                self._sessions[id] = None if words is None else words.session
        return self._sessions[id]

    def _promote_waiting(self, claim: Claim, predicate: Predicate, work: SlotWork, heard: list[Told]) -> list[ClaimId]:
        """Fold what waited for the evidence that a claim gives."""
        rules = (PROMOTE_AFTER, SENSITIVE) if claim.trust >= Trust.CONFIRMED else (PROMOTE_AFTER,)
        reason = f"with {claim.id} there is enough evidence"
        promoted = []
        for told in heard:
            if self._waits(told, rules):
                work.add(told.claim, told.trust)
                self._draft.move(told, Lifecycle.ACCEPTED, PROMOTE_AFTER, reason, None)
                promoted.append(told.claim.id)
        for each in self._waiting_new(work, rules):
            if _same_value(each, claim):
                work.held.remove(each)
                work.add(each, each.trust)
                del self._draft.holds[each.id]
                receipt = self._draft.receipts[self._draft.claims[each.id][0]]
                receipt.state, receipt.rule, receipt.reason = Lifecycle.ACCEPTED, None, None
                promoted.append(each.id)
        return promoted

    def _waits(self, told: Told, rules: tuple[str, ...]) -> bool:
        """Whether a stored claim waits by one of these rules."""
        return told.held is not None and told.held.rule in rules and told.claim.id not in self._draft.moved

    def _waiting_new(self, work: SlotWork, rules: tuple[str, ...]) -> list[Claim]:
        """The same of the claims of this transaction."""
        return [claim for claim in work.held if self._draft.holds[claim.id].rule in rules]


def _same_value(one: Claim, other: Claim) -> bool:
    return one.entry.asserts and one.entry.value == other.entry.value


def _code(rule: str) -> str:
    return rule.replace("-", "_")
