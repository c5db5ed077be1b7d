"""One transaction, from checked items to a change set and a receipt; it holds everything until the end.

Items take effect in their order. Each slot is folded once, when all of its operations are known, except that a
replacement looks at what the items before it made.
"""

from collections.abc import Sequence
from dataclasses import replace

from consolidation.check import (
    ByPlace,
    Checked,
    CheckedAssert,
    CheckedErase,
    CheckedReplace,
    CheckedRetract,
    CheckedRetractFact,
    CheckedWithdraw,
    Telling,
    again,
    functional,
)
from consolidation.confidence import DEFAULT_CONFIDENCE
from consolidation.finish import Draft, Finished, finish
from consolidation.items import Absent
from consolidation.lookup import TYPE, Context, Lookup
from consolidation.receipts import ItemReceipt, Result, Warned
from consolidation.slotwork import SlotWork
from graph.ports import Transaction
from ontology.claims import Claim, Entity, Source
from ontology.entries import Entry, Stated, assertion, inherit, retraction
from ontology.episodes import Quote
from ontology.errors import JSON, Incorrect, NotFound, Refused, VersionChanged, Violation, shown
from ontology.events import Erasure, Operation
from ontology.facts import FactVersion, Slot, Version
from ontology.ids import ClaimId, EntityId, EpisodeId, FactId, Place, claim_id
from ontology.instants import OPEN_END, OPEN_START, Instant, format_instant
from ontology.schema import Predicate
from ontology.values import Value, ValueType, value_key


class Transact:
    """The items of one transaction, done one after the other under the tenant's lock."""

    def __init__(self, tx: Transaction, context: Context, items: Sequence[Checked]) -> None:
        self._tx = tx
        self._context = context
        self._items = items
        self._lookup = Lookup(tx, context, items)
        self._draft = Draft()
        self._spare = len(items) - 1

    def run(self) -> Finished:
        """The change set (`None` where nothing changes) and the receipt.

        Raises `Incorrect`, `NotFound` or `VersionChanged` for the first item that cannot be done.
        """
        for index, item in enumerate(self._items):
            try:
                self._draft.receipts.append(self._do(index, item))
            except Incorrect as exc:
                raise again(exc, [v.under(f"/items/{index}") for v in exc.violations]) from None
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

    # ---- the operations
    def _assert(self, index: int, item: CheckedAssert) -> ItemReceipt:
        subject = self._lookup.entity(item.subject, "/subject", declares=item.predicate.name == TYPE)
        value = self._lookup.value(item.value, "/value")
        self._lookup.check_types(item.predicate, subject, value)
        slot = self._slot(subject, item.predicate, value)
        work = self._work(slot)
        self._expect(work, item.expected)
        claim, observed_from = self._claim(index, slot, item.predicate, value, item.telling)
        repeated = self._repeats(claim, work)
        if repeated is not None:
            return ItemReceipt(
                op="assert", result=Result.DUPLICATE, subject=subject, predicate=item.predicate.name,
                claim=repeated, version=work.version or None,
            )  # fmt: skip
        self._add(index, work, claim)
        return ItemReceipt(
            op="assert", result=Result.CREATED, subject=subject, predicate=item.predicate.name,
            claim=claim.id, observed_at=claim.entry.observed_at, observed_from=observed_from,
            warnings=self._warnings(claim, work),
        )  # fmt: skip

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
        for slot in sorted(slots, key=lambda s: s.language):
            work = self._work(slot)
            self._expect(work, expected)
            ordinal = index if claim is None else self._spare_ordinal()
            claim, observed_from = self._claim(ordinal, slot, predicate, value, telling, asserts=False)
            if claim.entry.start_lo < claim.entry.end_hi:  # an empty retract does nothing
                self._add(index, work, claim)
        if claim is None:
            raise AssertionError("there is always a slot")
        return ItemReceipt(
            op="retract", result=Result.RETRACTED, subject=subject, predicate=predicate.name,
            claim=claim.id if claim.id in self._draft.claims else None,
            observed_at=claim.entry.observed_at, observed_from=observed_from,
        )  # fmt: skip

    def _retract_fact(self, index: int, item: CheckedRetractFact) -> ItemReceipt:
        version = self._open_fact(item.fact)
        telling = replace(
            item.telling,
            stated=Stated(
                valid_from=None if version.valid_from == OPEN_START else format_instant(version.valid_from),
                valid_to=None if version.valid_to == OPEN_END else format_instant(version.valid_to),
                zone=None, semantics=None,
            ),
        )  # fmt: skip
        subject = self._lookup.by_id(version.slot.subject)
        predicate = self._context.schema.predicate(version.slot.predicate)
        return self._retract(index, subject, predicate, version.value, telling, item.expected)

    def _replace(self, index: int, item: CheckedReplace) -> ItemReceipt:
        subject, predicate, old, at, slot = self._target(item)
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
        told = [self._told(entry, work) for entry in gone]
        start_from = next((c for c in told if c.entry.dated), told[0])
        end_from = next((c for c in told if c.stated.valid_to is not None), start_from)
        stated = inherit(item.telling.stated, start_from=start_from.stated, end_from=end_from.stated)
        value = old
        if not isinstance(item.value, Absent):
            value = self._lookup.value(predicate.read(item.value, pointer="/value"), "/value")
        self._lookup.check_types(predicate, subject, value)
        new_slot = self._slot(subject, predicate, value)
        claim, observed_from = self._claim(index, new_slot, predicate, value, replace(item.telling, stated=stated))
        for claim_gone in told:
            self._end(claim_gone, work, item.reason)
            self._draft.successors[claim_gone.id] = claim.id
        self._add(index, self._work(new_slot), claim)
        self._note("replace", index, subject.id, {
            "old": old_key.hex(), "at": format_instant(at), "reason": item.reason, "withdrawn": [c.id for c in told],
            "claim": claim.id,
        })  # fmt: skip
        return ItemReceipt(
            op="replace", result=Result.REPLACED, subject=subject, predicate=predicate.name, claim=claim.id,
            withdrawn=tuple(c.id for c in told), observed_at=claim.entry.observed_at, observed_from=observed_from,
        )  # fmt: skip

    def _withdraw(self, index: int, item: CheckedWithdraw) -> ItemReceipt:
        claims = self._targets(item)
        if not claims:
            detail = f"no standing claim of the {item.by} {shown(item.target)}; it may have been withdrawn before"
            violation = Violation(pointer=f"/{item.by}", code="not_found", detail=detail)
            raise Refused(detail, slug="not-found", violations=(violation,))
        for claim in claims:
            work = self._work(claim.slot)
            self._expect(work, item.expected)
            self._end(claim, work, item.reason)
        for subject in sorted({claim.slot.subject for claim in claims}):
            self._note("withdraw", index, subject, {
                "by": item.by, "target": item.target, "reason": item.reason,
                "withdrawn": [c.id for c in claims if c.slot.subject == subject],
            })  # fmt: skip
        return ItemReceipt(op="withdraw", result=Result.WITHDRAWN, withdrawn=[claim.id for claim in claims])

    def _erase(self, index: int, item: CheckedErase) -> ItemReceipt:
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
        confidence = DEFAULT_CONFIDENCE if telling.confidence is None else telling.confidence
        claim = Claim(
            id=claim_id(Place(self._context.ledger, position, ordinal)), slot=slot, entry=entry, value=value,
            stated=telling.stated, observed_stated=telling.observed_at is not None, source=source,
            episode=telling.episode, root=telling.root or (episode.root if episode else source),
            confidence=float(confidence), schema_version=self._context.schema.version,
            principal=self._context.principal, recorded_at=now,
        )  # fmt: skip
        quoted = telling.quote
        if quoted is not None:
            self._draft.quotes[claim.id] = Quote(
                claim=claim.id, turn=quoted.turn, start=quoted.start, end=quoted.end, text=quoted.text
            )
        return claim, observed_from

    def _add(self, index: int, work: SlotWork, claim: Claim) -> None:
        work.add(claim)
        self._draft.claims[claim.id] = (index, claim)

    def _spare_ordinal(self) -> int:
        """For an item that needs more than one claim: beyond the ordinals of the items."""
        self._spare += 1
        return self._spare

    def _end(self, claim: Claim, work: SlotWork, reason: str) -> None:
        work.remove(claim.entry)
        if claim.id in self._draft.claims:
            self._draft.take_back(claim.id, Result.WITHDRAWN)
        else:
            self._draft.ended[claim.id] = (claim, reason)

    def _told(self, entry: Entry, work: SlotWork) -> Claim:
        for claim in work.added:
            if claim.entry is entry:
                return claim
        id = claim_id(Place(self._context.ledger, entry.position, entry.ordinal))
        return self._tx.claim(id).claim

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

    def _targets(self, item: CheckedWithdraw) -> list[Claim]:
        added = [claim for _, claim in self._draft.claims.values() if claim.entry.asserts]
        match item.by:
            case "claim":
                stored = self._claim_to_withdraw(ClaimId(item.target))
                added = [claim for claim in added if claim.id == item.target]
            case "episode":
                stored = [told.claim for told in self._tx.claims_of_episode(EpisodeId(item.target))]
                added = [claim for claim in added if claim.episode == item.target]
            case _:
                stored = [told.claim for told in self._tx.claims_of_source(Source(item.target))]
                added = [claim for claim in added if claim.source == item.target]
        return [claim for claim in stored if not self._draft.gone(claim)] + added

    def _claim_to_withdraw(self, id: ClaimId) -> list[Claim]:
        try:
            told = self._tx.claim(id)
        except NotFound:
            return []
        if not told.claim.entry.asserts:
            detail = f"{id!r} is a retraction; assert the value again to fill the hole"
            raise Refused(detail, violations=(Violation(pointer="/claim", code="is_a_retraction", detail=detail),))
        return [] if told.ending else [told.claim]

    def _repeats(self, claim: Claim, work: SlotWork) -> ClaimId | None:
        """The standing claim of the same episode that says exactly this, if there is one (scenario P11)."""
        if claim.episode is None or claim.entry.value is None:
            return None
        same = [c for c in work.added if c.episode == claim.episode and c.entry.value == claim.entry.value]
        if work.head is not None and self._lookup.is_known_episode(claim.episode):
            told = self._tx.repeated(claim.slot, claim.entry.value, claim.episode)
            same += [t.claim for t in told if not self._draft.gone(t.claim)]
        return next((c.id for c in same if _says_the_same(c, claim)), None)

    def _warnings(self, claim: Claim, work: SlotWork) -> tuple[Warned, ...]:
        """Two values from one episode for one start are flagged, not silently ordered (rule 10)."""
        if claim.episode is None or not claim.entry.functional:
            return ()
        others = [c for c in work.added if c is not claim and c.episode == claim.episode]
        if work.head is not None and self._lookup.is_known_episode(claim.episode):
            others += [t.claim for t in self._tx.claims_of_episode(claim.episode) if t.claim.slot == claim.slot]
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


def _says_the_same(one: Claim, other: Claim) -> bool:
    """Whether two claims of one slot and value state the same period, source and time of saying."""
    return _said(one) == _said(other)


def _said(claim: Claim) -> tuple[Stated, Source, Instant | None]:
    return claim.stated, claim.source, claim.entry.observed_at if claim.observed_stated else None
