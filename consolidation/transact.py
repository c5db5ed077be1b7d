"""One transaction, from checked items to a change set and a receipt; it holds everything until the end.

Items take effect in their order. Each slot is folded once, when all of its operations are known, except that a
replacement looks at what the items before it made.
"""

from collections.abc import Sequence
from dataclasses import replace

from consolidation.check import (
    NOTHING_TOLD,
    ByPlace,
    Checked,
    CheckedAssert,
    CheckedErase,
    CheckedExpire,
    CheckedReplace,
    CheckedRetract,
    CheckedRetractFact,
    CheckedReview,
    CheckedWithdraw,
    Telling,
    functional,
)
from consolidation.confidence import PRIOR
from consolidation.finish import Draft, Finished, finish
from consolidation.gate import Gate
from consolidation.items import Absent
from consolidation.lookup import TYPE, Context, Lookup
from consolidation.receipts import ItemReceipt, Result, Warned
from consolidation.review import review
from consolidation.slotwork import SlotWork
from graph.ports import Transaction
from ontology.claims import ENDED, RETENTION, Claim, Entity, Lifecycle, Source, Told
from ontology.entries import Entry, Stated, assertion, inherit, retraction
from ontology.episodes import Quote
from ontology.errors import JSON, Incorrect, NotFound, Refused, VersionChanged, Violation, shown
from ontology.events import Erasure, Operation
from ontology.facts import FactVersion, Slot, Version
from ontology.ids import ClaimId, EntityId, EpisodeId, FactId, Place, claim_id
from ontology.instants import OPEN_END, OPEN_START, Instant, format_instant
from ontology.intervals import Interval
from ontology.retention import check_ttl, expires_at, terms_of
from ontology.schema import Predicate, Retention
from ontology.values import Value, ValueKey, ValueType, value_key


class Transact:
    """The items of one transaction, done one after the other under the tenant's lock."""

    def __init__(self, tx: Transaction, context: Context, items: Sequence[Checked]) -> None:
        self._tx = tx
        self._context = context
        self._items = items
        self._lookup = Lookup(tx, context, items)
        self._draft = Draft()
        self._gate = Gate(tx, context, self._draft, self._lookup.graves)
        self._spare = len(items) - 1

    def run(self) -> Finished:
        """The change set (`None` where nothing changes) and the receipt.

        Raises `Incorrect`, `NotFound` or `VersionChanged` for the first item that cannot be done.
        """
        for index, item in enumerate(self._items):
            try:
                self._draft.receipts.append(self._do(index, item))
            except Incorrect as exc:
                raise exc.under(f"/items/{index}") from None
        return finish(self._tx, self._context, self._lookup, self._draft)

    def _do(self, index: int, item: Checked) -> ItemReceipt:
        match item:
            case CheckedAssert():
                return self._assert(index, item)
            case CheckedRetract():
                subject = self._lookup.entity(item.subject, "/subject")
                value = None if item.value is None else self._lookup.value(item.value, "/value")
                return self._retract(index, subject, item.predicate, value, item.telling, item.expected)
            case CheckedRetractFact():
                return self._retract_fact(index, item)
            case CheckedReplace():
                return self._replace(index, item)
            case CheckedWithdraw():
                return self._withdraw(index, item)
            case CheckedErase():
                return self._erase(index, item)
            case CheckedReview():
                return review(self._tx, self._context, self._draft, self._work, index, item)
            case CheckedExpire():
                return self._expire(item)

    # ---- the operations
    def _assert(self, index: int, item: CheckedAssert) -> ItemReceipt:
        subject = self._lookup.entity(item.subject, "/subject", declares=item.predicate.name == TYPE)
        value = self._lookup.value(item.value, "/value")
        self._lookup.check_types(item.predicate, subject, value)
        slot = self._slot(subject, item.predicate, value)
        work = self._work(slot)
        self._expect(work, item.expected)
        claim, observed_from = self._claim(index, slot, item.predicate, value, item.telling)
        recalled = (*item.telling.recalled, *self._gate.served(claim, item.telling.read))
        if recalled:
            claim = self._gate.as_echo(claim, recalled)
        repeated = self._repeats(claim, work)
        receipt = ItemReceipt(op="assert", result=Result.CREATED, subject=subject, predicate=item.predicate.name)
        if repeated is not None:
            receipt.result, receipt.claim, receipt.state = Result.DUPLICATE, *repeated
            receipt.version = work.version or None
            return receipt
        receipt.observed_at, receipt.observed_from = claim.entry.observed_at, observed_from
        receipt.expires_at = claim.expires_at
        self._gate.admit(index, work, claim, item.predicate, item.telling.read, receipt)
        receipt.warnings = self._warnings(claim, work)
        return receipt

    def _retract(
        self,
        index: int,
        subject: Entity,
        predicate: Predicate,
        value: Value | None,
        telling: Telling,
        expected: Version | None,
    ) -> ItemReceipt:
        heads = self._tx.slots_of(subject.id, predicate.name) if subject.id not in self._lookup.created else []
        slots = {head.slot for head in heads} | {
            s for s in self._draft.works if (s.subject, s.predicate) == (subject.id, predicate.name)
        }
        if value is not None or not slots:
            slots = {self._slot(subject, predicate, value)}
        claim, observed_from = None, "recorded"
        receipt = ItemReceipt(op="retract", result=Result.RETRACTED, subject=subject, predicate=predicate.name)
        for slot in sorted(slots, key=lambda s: s.language):
            work = self._work(slot)
            self._expect(work, expected)
            ordinal = index if claim is None else self._spare_ordinal()
            claim, observed_from = self._claim(ordinal, slot, predicate, value, telling, asserts=False)
            if claim.entry.start_lo < claim.entry.end_hi:  # an empty retract does nothing
                self._gate.admit(index, work, claim, predicate, telling.read, receipt)
        if claim is None:
            raise AssertionError("there is always a slot")
        receipt.observed_at, receipt.observed_from = claim.entry.observed_at, observed_from
        return receipt

    def _retract_fact(self, index: int, item: CheckedRetractFact) -> ItemReceipt:
        version = self._open_fact(item.fact)
        telling = replace(item.telling, stated=_stretch_of(version))
        subject = self._lookup.by_id(version.slot.subject)
        predicate = self._context.schema.predicate(version.slot.predicate)
        return self._retract(index, subject, predicate, version.value, telling, item.expected)

    def _replace(self, index: int, item: CheckedReplace) -> ItemReceipt:
        subject, predicate, old, at, slot = self._target(item)
        if item.telling.ttl is not None:
            check_ttl(predicate, item.telling.ttl, "/ttl")
        work = self._work(slot)
        self._expect(work, item.expected)
        old_key = value_key(old)
        gone = work.resting_on(old_key, at)
        if not gone:
            detail = (
                f"{shown(old.text)} is not believed of {predicate.name!r} at {format_instant(at)}; name a fact that is"
            )
            raise Refused(
                detail, slug="not-found", violations=(Violation(pointer="", code="not_found", detail=detail),)
            )
        rested = [self._told(entry, work) for entry in gone]
        self._gate.may_undo(rested, predicate)
        told = [each.claim for each in rested]
        start_from = next((c for c in told if c.entry.dated), told[0])
        end_from = next((c for c in told if c.stated.valid_to is not None), start_from)
        stated = inherit(item.telling.stated, start_from=start_from.stated, end_from=end_from.stated)
        value = old
        if not isinstance(item.value, Absent):
            value = self._lookup.value(predicate.read(item.value, pointer="/value"), "/value")
        self._lookup.check_types(predicate, subject, value)
        new_slot = self._slot(subject, predicate, value)
        claim, observed_from = self._claim(index, new_slot, predicate, value, replace(item.telling, stated=stated))
        for each in rested:
            self._end(each, work, "replace", item.reason)
            self._draft.successors[each.claim.id] = claim.id
        self._gate.correct(index, self._work(new_slot), claim, predicate, item.telling.read)
        self._note("replace", index, subject.id, {
            "old": old_key.hex(), "at": format_instant(at), "reason": item.reason, "withdrawn": [c.id for c in told],
            "claim": claim.id,
        })  # fmt: skip
        return ItemReceipt(
            op="replace", result=Result.REPLACED, subject=subject, predicate=predicate.name, claim=claim.id,
            state=Lifecycle.ACCEPTED,
            withdrawn=tuple(c.id for c in told), observed_at=claim.entry.observed_at, observed_from=observed_from,
            expires_at=claim.expires_at,
        )  # fmt: skip

    def _withdraw(self, index: int, item: CheckedWithdraw) -> ItemReceipt:
        targets = self._targets(item)
        claims = [each.claim for each in targets]
        if not claims:
            detail = f"no standing claim of the {item.by} {shown(item.target)}; it may have been withdrawn before"
            violation = Violation(pointer=f"/{item.by}", code="not_found", detail=detail)
            raise Refused(detail, slug="not-found", violations=(violation,))
        for each in targets:
            work = self._work(each.claim.slot)
            self._expect(work, item.expected)
            self._gate.may_undo([each], self._context.schema.predicate(each.claim.slot.predicate))
            self._end(each, work, "withdraw", item.reason)
        for subject in sorted({claim.slot.subject for claim in claims}):
            self._note("withdraw", index, subject, {
                "by": item.by, "target": item.target, "reason": item.reason,
                "withdrawn": [c.id for c in claims if c.slot.subject == subject],
            })  # fmt: skip
        return ItemReceipt(op="withdraw", result=Result.WITHDRAWN, withdrawn=[claim.id for claim in claims])

    def _erase(self, index: int, item: CheckedErase) -> ItemReceipt:
        self._gate.may_erase()
        subject = self._lookup.entity(item.subject, "/subject", create=False)
        name = item.predicate.name if item.predicate else None
        value = None if item.value is None else self._lookup.value(item.value, "/value", create=False)
        key = None if value is None else value_key(value)
        erasure = Erasure(scope=self._tx.scope, subject=subject.id, predicate=name, value_key=key)
        stored = [head.slot for head in self._tx.slots_of(subject.id, name)]
        slots = stored + [slot for slot in self._draft.works if slot not in stored and erasure.reaches(slot)]
        if item.predicate is not None and (value is not None or not slots):
            slots = [self._slot(subject, item.predicate, value)]
        gone: set[ClaimId] = set()
        for slot in slots:
            work = self._work(slot)
            self._expect(work, item.expected)
            gone.update(work.erase(key))
        self._draft.erase(erasure, gone)
        self._note("erase", index, subject.id, {"predicate": name, "value": None if key is None else key.hex()})
        return ItemReceipt(op="erase", result=Result.ERASED, subject=subject, predicate=name)

    def _expire(self, item: CheckedExpire) -> ItemReceipt:
        """Write down that the time of a claim is over, or let nothing of its value stay where its kind wants that.

        A value is erased with the last of the claims that say it. What was believed of it stays a hole, so that
        nothing older rises.
        """
        told = self._tx.claim(item.claim)
        claim, now = told.claim, self._context.now
        receipt = ItemReceipt(
            op="expire", result=Result.IGNORED, predicate=claim.slot.predicate, expires_at=claim.expires_at
        )
        if told.state is not Lifecycle.ACCEPTED or claim.expires_at > now or self._draft.gone(claim):
            return receipt
        work, value = self._work(claim.slot), claim.entry.value
        terms = terms_of(self._context.schema.predicate(claim.slot.predicate))
        if value is not None and terms.ends is Retention.ERASE and self._all_over(claim.slot, value):
            self._erase_value(claim.slot, value)
            receipt.result = Result.ERASED
        else:
            work.decided = True
            reason = f"its time was over at {format_instant(claim.expires_at)}"
            self._draft.move(told, Lifecycle.EXPIRED, RETENTION, reason, None)
            receipt.result, receipt.claim, receipt.state = Result.EXPIRED, claim.id, Lifecycle.EXPIRED
        return receipt

    def _all_over(self, slot: Slot, value: ValueKey) -> bool:
        """Whether the time of every claim of a value is over, of those that wait too."""
        heard = [told for told in self._tx.heard(slot, value) if self._draft.moved_to(told) not in ENDED]
        return all(told.claim.expires_at <= self._context.now for told in heard)

    def _erase_value(self, slot: Slot, value: ValueKey) -> None:
        work = self._work(slot)
        versions = self._tx.window(slot, value, Interval(OPEN_START, OPEN_END), None).versions
        others = any(entry.asserts and entry.value != value for entry, _ in self._tx.entries(slot))
        erasure = Erasure(scope=slot.scope, subject=slot.subject, predicate=slot.predicate, value_key=value)
        self._draft.erase(erasure, set(work.erase(value)))
        self._note("erase", 0, slot.subject, {"predicate": slot.predicate, "value": value.hex()})
        predicate = self._context.schema.predicate(slot.predicate)
        for version in versions if others and work.head is not None and work.head.functional else ():
            if version.certain:
                telling = replace(NOTHING_TOLD, stated=_stretch_of(version))
                hole, _ = self._claim(self._spare_ordinal(), slot, predicate, None, telling, asserts=False)
                self._draft.claims[hole.id] = (0, hole)
                work.add(hole, hole.trust)

    # ---- what they share
    def _slot(self, subject: Entity, predicate: Predicate, value: Value | None) -> Slot:
        language = value.qualifier if value is not None and value.type is ValueType.LANGTEXT else ""
        return Slot(scope=self._tx.scope, subject=subject.id, predicate=predicate.name, language=language)

    def _work(self, slot: Slot) -> SlotWork:
        work = self._draft.works.get(slot)
        if work is None:
            work = self._draft.works[slot] = SlotWork(self._tx, slot, self._lookup.head(slot))
        return work

    def _expect(self, work: SlotWork, expected: Version | None) -> None:
        if expected is not None and expected != work.version:
            raise VersionChanged(
                f"the slot of {work.slot.predicate!r} is at version {work.version or 'none'}, not {expected or 'none'}",
                remedy="look at its current state and decide again",
                members={
                    "current_version": work.version,
                    "subject": work.slot.subject,
                    "predicate": work.slot.predicate,
                },
            )

    def _claim(
        self,
        ordinal: int,
        slot: Slot,
        predicate: Predicate,
        value: Value | None,
        telling: Telling,
        *,
        asserts: bool = True,
    ) -> tuple[Claim, str]:
        now, position = self._context.now, self._context.position
        episode = self._lookup.episode(telling, Source(self._context.principal))
        observed_at, observed_from = now, "recorded"
        if telling.observed_at is not None:
            observed_at, observed_from = telling.observed_at, "stated"
        elif episode is not None and episode.observed_at is not None:
            observed_at, observed_from = episode.observed_at, "episode"
        if observed_at > now:
            said, clock = format_instant(observed_at), format_instant(now)
            detail = f"observed_at {said} is later than now, {clock}; nobody has said it yet"
            raise Incorrect(
                detail, violations=(Violation(pointer="/observed_at", code="observed_at_in_future", detail=detail),)
            )
        key = None if value is None else value_key(value)
        if asserts:
            if key is None:
                raise AssertionError("an assert has a value")
            entry = assertion(
                telling.stated, value=key, functional=functional(predicate),
                observed_at=observed_at, position=position, ordinal=ordinal,
            )  # fmt: skip
        else:
            entry = retraction(
                telling.stated, value=key, functional=functional(predicate),
                observed_at=observed_at, position=position, ordinal=ordinal,
            )  # fmt: skip
        source = telling.source or (episode.source if episode else Source(self._context.principal))
        trust = self._gate.trust(telling.trust)
        confidence = PRIOR[trust] if telling.confidence is None else telling.confidence
        claim = Claim(
            id=claim_id(Place(self._context.ledger, position, ordinal)), slot=slot, entry=entry, value=value,
            stated=telling.stated, observed_stated=telling.observed_at is not None, source=source,
            episode=telling.episode, root=telling.root or (episode.root if episode else source),
            confidence=float(confidence), schema_version=self._context.schema.version,
            principal=self._context.principal, recorded_at=now, trust=trust, echo=False,
            expires_at=expires_at(predicate, telling.ttl, now) if asserts else OPEN_END,
        )  # fmt: skip
        quoted = telling.quote
        if quoted is not None:
            self._draft.quotes[claim.id] = Quote(
                claim=claim.id, turn=quoted.turn, start=quoted.start, end=quoted.end, text=quoted.text
            )
        return claim, observed_from

    def _spare_ordinal(self) -> int:
        """For an item that needs more than one claim: beyond the ordinals of the items."""
        self._spare += 1
        return self._spare

    def _end(self, told: Told, work: SlotWork, rule: str, reason: str) -> None:
        """Let a claim, folded or held, not count any more."""
        claim = told.claim
        if claim.id in self._draft.claims:
            work.take_back(claim)
            self._draft.take_back(claim.id, Result.WITHDRAWN)
            return
        if told.is_folded or claim.id in self._draft.moved:
            work.remove(claim.entry)
        work.decided = True
        self._draft.move(told, Lifecycle.WITHDRAWN, rule, reason, None)

    def _told(self, entry: Entry, work: SlotWork) -> Told:
        for claim in work.added:
            if claim.entry is entry and claim.id in self._draft.claims:
                return Told(claim=claim, transitions=())
        id = claim_id(Place(self._context.ledger, entry.position, entry.ordinal))
        return self._tx.claim(id)

    def _note(self, op: str, index: int, subject: EntityId, detail: dict[str, JSON]) -> None:
        self._draft.operations.append(Operation(op=op, subject=subject, ordinal=index, detail=detail))

    def _target(self, item: CheckedReplace) -> tuple[Entity, Predicate, Value, Instant, Slot]:
        if isinstance(item.target, ByPlace):
            subject = self._lookup.entity(item.target.subject, "/subject", create=False)
            old = self._lookup.value(item.target.old, "/old", create=False)
            slot = self._slot(subject, item.target.predicate, old)
            return subject, item.target.predicate, old, item.target.at, slot
        version = self._open_fact(item.target)
        inside = version.valid_from if version.valid_from > OPEN_START else Instant(version.valid_to - 1)
        subject = self._lookup.by_id(version.slot.subject)
        return subject, self._context.schema.predicate(version.slot.predicate), version.value, inside, version.slot

    def _open_fact(self, id: FactId) -> FactVersion:
        version = self._tx.fact(id).version
        work = self._draft.works.get(version.slot)
        if work is not None and work.is_erased(version.value_key):
            raise NotFound(f"no fact {shown(id)} here")
        if version.recorded_to != OPEN_END:
            raise VersionChanged(
                f"fact {id!r} is no longer believed; it was closed at {format_instant(version.recorded_to)}",
                remedy="read the current facts of its subject and predicate",
                members={"subject": version.slot.subject, "predicate": version.slot.predicate},
            )
        return version

    def _targets(self, item: CheckedWithdraw) -> list[Told]:
        added = [claim for _, claim in self._draft.claims.values() if claim.entry.asserts]
        match item.by:
            case "claim":
                stored = self._claim_to_withdraw(ClaimId(item.target))
                added = [claim for claim in added if claim.id == item.target]
            case "episode":
                stored = self._tx.claims_of_episode(EpisodeId(item.target))
                added = [claim for claim in added if claim.episode == item.target]
            case _:
                stored = self._tx.claims_of_source(Source(item.target))
                added = [claim for claim in added if claim.source == item.target]
        return [told for told in stored if not self._draft.gone(told.claim)] + [
            Told(claim=claim, transitions=()) for claim in added
        ]

    def _claim_to_withdraw(self, id: ClaimId) -> list[Told]:
        try:
            told = self._tx.claim(id)
        except NotFound:
            return []
        if not told.claim.entry.asserts:
            detail = f"{id!r} is a retraction; assert the value again to fill the hole"
            raise Refused(detail, violations=(Violation(pointer="/claim", code="is_a_retraction", detail=detail),))
        return [] if told.ending else [told]

    def _repeats(self, claim: Claim, work: SlotWork) -> tuple[ClaimId, Lifecycle] | None:
        """The folded or held claim of the same episode that says exactly this, if there is one (scenario P11)."""
        if claim.episode is None or claim.entry.value is None:
            return None
        new = [c for _, c in self._draft.claims.values() if c.slot == claim.slot and c.entry.asserts]
        same = [(c, self._draft.state_of(c.id)) for c in new if c.episode == claim.episode]
        if work.head is not None and self._lookup.is_known_episode(claim.episode):
            told = self._tx.repeated(claim.slot, claim.entry.value, claim.episode)
            same += [(t.claim, self._draft.moved_to(t)) for t in told if not self._draft.gone(t.claim)]
        return next(
            (
                (c.id, state)
                for c, state in same
                if c.entry.value == claim.entry.value and _says_the_same(c, claim) and c.expires_at > self._context.now
            ),
            None,
        )

    def _warnings(self, claim: Claim, work: SlotWork) -> tuple[Warned, ...]:
        """Two values from one episode for one start are flagged, not silently ordered (rule 10)."""
        if claim.episode is None or not claim.entry.functional:
            return ()
        others = [c for c in work.added if c is not claim and c.episode == claim.episode]
        if work.head is not None and self._lookup.is_known_episode(claim.episode):
            told = self._tx.claims_of_episode(claim.episode)
            others += [t.claim for t in told if t.is_folded and t.claim.slot == claim.slot]
        rivals = [
            c.id
            for c in others
            if c.entry.value != claim.entry.value
            and (c.entry.start_lo, c.entry.start_hi) == (claim.entry.start_lo, claim.entry.start_hi)
        ]
        if not rivals:
            return ()
        detail = f"episode {shown(claim.episode)} also says another value from the same start: {', '.join(rivals)}"
        return (Warned(code="episode_contradicts_itself", detail=detail),)


def _stretch_of(version: FactVersion) -> Stated:
    """The whole period of a version, as a retraction states it."""
    return Stated(
        valid_from=None if version.valid_from == OPEN_START else format_instant(version.valid_from),
        valid_to=None if version.valid_to == OPEN_END else format_instant(version.valid_to),
        zone=None,
        semantics=None,
    )


def _says_the_same(one: Claim, other: Claim) -> bool:
    """Whether two claims of one slot and value state the same period, source and time of saying."""
    return _said(one) == _said(other)


def _said(claim: Claim) -> tuple[Stated, Source, Instant | None]:
    return claim.stated, claim.source, claim.entry.observed_at if claim.observed_stated else None
