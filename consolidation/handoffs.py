"""Handing over from one agent to another: what is checked when a packet is made, and who may adopt it.

A packet carries conclusions, pinned facts and what was rejected. It is adopted on purpose, once by each receiver, and
that is recorded; nothing in it becomes memory by that.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from consolidation.check import NAME_CHARS_MAX
from consolidation.conclusions import refuse_bulk, refuse_transcript, refuse_turn
from consolidation.idempotency import Written, check_key, kept, replayed
from graph.handoffs import no_handoff
from graph.ports import Clock, MemoryStore, Randomness, Transaction
from ontology.canonical import canonical_label, canonical_text, incorrect
from ontology.durations import days, format_duration, parse_duration
from ontology.errors import JSON, Forbidden, NotFound, Refused, TooLarge, Violation, shown
from ontology.handoffs import Adoption, Handoff, Rejected
from ontology.ids import FACT, FactId, HandoffId, handoff_id, locate
from ontology.instants import DAY, OPEN_END, Instant, format_instant
from ontology.scope import Scope

TTL: Final = days(7)
TTL_MAX: Final = days(30)
HANDOFFS_MAX: Final = 1_000
"""Kept at once in one scope."""
LINES_MAX: Final = 50
"""Of requirements, of constraints, of what was rejected."""
FACTS_MAX: Final = 50
ADOPTIONS_SHOWN: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class NewHandoff:
    """A packet as it came off the wire."""

    receiver: str | None
    task: object
    requirements: Sequence[object]
    constraints: Sequence[object]
    format: object
    facts: Sequence[str]
    rejected: Sequence[tuple[object, object]]
    """What, and why."""
    ttl: str | None


class Handoffs:
    """The handoffs of one store. Safe to use from many threads."""

    def __init__(self, *, store: MemoryStore, clock: Clock, randomness: Randomness, key_days: int = 7) -> None:
        self._store = store
        self._clock = clock
        self._randomness = randomness
        self._key_days = key_days

    def make(self, scope: Scope, principal: str, new: NewHandoff, *, key: str | None = None) -> Written:
        """Keep a packet; gives its id, and no word of it, so that a retry has none that was forgotten since.

        Raises `Incorrect`, `Refused` for a transcript and for facts that are not believed, `TooLarge` where the scope
        has too many, `KeyReused`, `Busy`, `Unavailable`.
        """
        if key is not None:
            check_key(key)
        now = self._clock.now()
        made = self._checked(scope, principal, new, now)
        digest = hashlib.sha256(orjson.dumps([scope, "handoff", new])).digest()
        with self._store.write(scope) as tx:
            if key is not None:
                earlier = replayed(tx, principal, key, digest, now)
                if earlier is not None:
                    return earlier
            _check_facts(tx, made.facts, now)
            if tx.handoffs_kept() >= HANDOFFS_MAX:
                raise TooLarge(f"{HANDOFFS_MAX} handoffs are kept in this scope, the most; let some expire")
            tx.put_handoff(made)
            receipt: dict[str, JSON] = {"id": made.id}
            if key is not None:
                tx.remember(principal, key, kept(digest, receipt), Instant(now + self._key_days * DAY))
        return Written(receipt=receipt, replayed=False)

    def handoff(self, scope: Scope, id: HandoffId) -> Handoff:
        """Raises `NotFound`, also for one that has expired."""
        return self._in_time(self._store.handoffs.handoff(scope, id))

    def adoptions(self, scope: Scope, id: HandoffId) -> Sequence[Adoption]:
        """Who adopted it, the first of them."""
        return self._store.handoffs.adoptions(scope, id, limit=ADOPTIONS_SHOWN)

    def adopt(self, scope: Scope, principal: str, id: HandoffId) -> tuple[Handoff, Adoption]:
        """Record that a principal takes it on; again, it gives the first time.

        Raises `NotFound`, and `Forbidden` for its sender, and for others than the one to whom it is addressed.
        """
        with self._store.write(scope) as tx:
            handoff = self._in_time(tx.handoff(id))
            if principal == handoff.sender:
                raise _not_for(handoff, f"{shown(principal)} made the handoff {id}, which is for somebody else")
            if handoff.receiver not in (None, principal):
                raise _not_for(handoff, f"the handoff {id} is for {shown(handoff.receiver)}, not {shown(principal)}")
            adoption = tx.adopted(id, principal)
            if adoption is None:
                adoption = Adoption(principal=principal, adopted_at=self._clock.now())
                tx.put_adoption(id, adoption)
        return handoff, adoption

    # ---- checking

    def _in_time(self, handoff: Handoff) -> Handoff:
        if handoff.expires_at <= self._clock.now():
            at = format_instant(handoff.expires_at)
            raise NotFound(f"{no_handoff(handoff.id).message}: it has expired at {at}; ask for a new one")
        return handoff

    def _checked(self, scope: Scope, principal: str, new: NewHandoff, now: Instant) -> Handoff:
        ttl = TTL if new.ttl is None else parse_duration(new.ttl, "/ttl")
        if ttl > TTL_MAX:
            detail = f"a handoff is kept for {format_duration(TTL_MAX)} at most, not {new.ttl}; shorten it"
            raise incorrect("/ttl", "out_of_range", detail)
        receiver = None
        if new.receiver is not None:
            receiver = canonical_label(new.receiver, "/to", "principal", NAME_CHARS_MAX)
            if receiver == principal:
                raise incorrect("/to", "own", f"{shown(receiver)} hands over to somebody else; name who that is")
        [task] = _texts([new.task], "/task", whole=True)
        format = None if new.format is None else _texts([new.format], "/format", whole=True)[0]
        requirements, constraints = (
            _texts(given, at) for given, at in ((new.requirements, "/requirements"), (new.constraints, "/constraints"))
        )
        what = _texts([what for what, _ in new.rejected], "/rejected")
        reasons = _texts([why for _, why in new.rejected if why is not None], "/rejected")
        told = iter(reasons)
        why = [None if given is None else next(told) for _, given in new.rejected]
        said = [task, *requirements, *constraints, *what, *reasons, *([] if format is None else [format])]
        refuse_bulk(said)
        return Handoff(
            id=handoff_id(now, self._randomness.bytes(8)), scope=scope, sender=principal, receiver=receiver, task=task,
            requirements=tuple(requirements), constraints=tuple(constraints), format=format,
            facts=tuple(_pinned(new.facts)),
            rejected=tuple(Rejected(what=each, why=because) for each, because in zip(what, why, strict=True)),
            lost=0, made_at=now, expires_at=Instant(now + ttl),
        )  # fmt: skip


def _texts(given: Sequence[object], at: str, *, whole: bool = False) -> list[str]:
    """The texts of a member, or the `whole` member; raises for what is none, and for a transcript."""
    if len(given) > LINES_MAX:
        raise incorrect(at, "too_many", f"{len(given)} lines under {at[1:]!r}, {LINES_MAX} at most; say less")
    found = []
    for index, each in enumerate(given):
        place = at if whole else f"{at}/{index}"
        refuse_turn(each, place)
        if not isinstance(each, str):
            raise incorrect(place, "wrong_type", f"a text is needed, got {shown(each)}")
        text = canonical_text(each, place)
        if not text.strip():
            raise incorrect(place, "empty", "there are no words in it; say what is meant, or leave it out")
        found.append(text)
    refuse_transcript(found, at)
    return found


def _pinned(given: Sequence[str]) -> list[FactId]:
    if len(given) > FACTS_MAX:
        raise incorrect("/facts", "too_many", f"{len(given)} facts in one handoff, {FACTS_MAX} at most; pin fewer")
    for index, id in enumerate(given):
        try:
            locate(id, FACT)
        except NotFound:
            raise incorrect(f"/facts/{index}", "no_fact", f"{shown(id)} is no id of a fact; give one") from None
    return [FactId(id) for id in dict.fromkeys(given)]


def _check_facts(tx: Transaction, facts: Sequence[FactId], now: Instant) -> None:
    """Raise `Refused` for facts that the scope does not show, or no longer believes."""
    violations = []
    for index, id in enumerate(facts):
        try:
            fact = tx.fact(id)
        except NotFound:
            code, detail = "not_found", f"no fact {shown(id)} here; pin one of this scope"
        else:
            if fact.version.recorded_to == OPEN_END and fact.expires_at > now:
                continue
            code, detail = "not_believed", f"the fact {id} is no longer believed; look at its state and pin that"
        violations.append(Violation(pointer=f"/facts/{index}", code=code, detail=detail))
    if violations:
        raise Refused(violations[0].detail, violations=violations)


def _not_for(handoff: Handoff, detail: str) -> Forbidden:
    scope = handoff.scope
    members: dict[str, JSON] = {"grant": "read", "namespace": str(scope.namespace), "purpose": str(scope.purpose)}
    return Forbidden(detail, remedy="let its receiver adopt it", members=members)
