"""Forgetting in two steps: a preview with a hash, then the deed, which is done once however often it is asked for."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import orjson

from consolidation.commits import Commits
from consolidation.forgetting.carry_out import Deed, commit_of
from consolidation.forgetting.graves import FORGOTTEN, Graves
from consolidation.forgetting.plan import Plan, Wanted, plan_of
from consolidation.forgetting.proof import NAMED, verified
from consolidation.observing import NOBODY, Observer, refusals_told
from graph import journal
from graph.forgetting import Outside
from graph.ports import Clock, MemoryStore, Randomness, Reader, Transaction
from ontology.canonical import incorrect
from ontology.claims import Source
from ontology.errors import JSON, NotFound, VersionChanged, shown
from ontology.events import ChangeSet, Kind
from ontology.ids import ENTITY, TOMBSTONE, EntityId, EpisodeId, TombstoneId, kind_of, locate
from ontology.instants import format_instant
from ontology.schema import check_predicate_name
from ontology.scope import Scope, scope_of
from ontology.tombstones import SECRET_BYTES, Lift, Marked, Target, Tombstone

PAGE: Final = 200
REASON: Final = "forgotten"
"""Why an operation gives nothing any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What is to be forgotten, as it came off the wire: exactly one of subject, episode and source; a predicate of the
    subject for a slot."""

    subject: str | None = None
    """An id or a key."""
    predicate: str | None = None
    episode: str | None = None
    source: str | None = None

    @property
    def target(self) -> Target:
        """Raises `Incorrect` where it is none."""
        given = [name for name in ("subject", "episode", "source") if getattr(self, name) is not None]
        if len(given) != 1:
            raise incorrect("", "exactly_one", "what is to be forgotten? give one of 'subject', 'episode', 'source'")
        if self.predicate is None:
            return Target(given[0])
        if self.subject is None:
            raise incorrect("/predicate", "too_many", "a predicate goes with a subject; leave it out")
        check_predicate_name(self.predicate, "/predicate")
        return Target.SLOT


class Forgetter:
    """Forgets in one store. Safe to use from many threads."""

    def __init__(
        self, *, store: MemoryStore, clock: Clock, randomness: Randomness, outside: Sequence[Outside] = (),
        observer: Observer = NOBODY,
    ) -> None:  # fmt: skip
        """`outside` is told of each tombstone: what keeps copies of memory beyond the store."""
        self._store = store
        self._clock = clock
        self._randomness = randomness
        self._commits = Commits(clock, randomness)
        self._outside = outside
        self._observer = observer

    def preview(self, scope: Scope, named: Named, *, blocks: bool = True) -> dict[str, JSON]:
        """What would go, by kind, and the hash that confirms it; the receipt where it is forgotten already.

        Raises `NotFound`, `Incorrect`, `Busy`, `Unavailable`.
        """
        target = named.target
        with self._store.write(scope) as tx:
            plan, stone = self._look(tx, scope, named, target)
            answer = _preview(plan, blocks=blocks and target is Target.SUBJECT)
        return answer if stone is None else self._ended(scope, stone)

    def forget(
        self, scope: Scope, principal: str, named: Named, *, confirm: str, blocks: bool = True
    ) -> dict[str, JSON]:
        """Do what a preview told, whose hash is `confirm`; again, it only gives the same receipt.

        Raises as `preview` does, and `VersionChanged` with the present preview where that has another hash.
        """
        target = named.target
        blocks = blocks and target is Target.SUBJECT
        with refusals_told(self._observer), self._store.write(scope) as tx:
            plan, stone = self._look(tx, scope, named, target)
            is_new = stone is None
            if stone is None:
                if plan.manifest != confirm:
                    raise VersionChanged(
                        "what would be forgotten is not what was confirmed; look at the preview and confirm that",
                        members={"preview": _preview(plan, blocks=blocks)},
                    )
                stone = self._carry_out(tx, plan, principal, blocks=blocks)
        if is_new:
            self._observer.wrote(scope.tenant, {"position": stone.position, "items": [{"result": FORGOTTEN}]})
        return self._ended(scope, stone)

    def lift(self, scope: Scope, principal: str, id: TombstoneId) -> Tombstone:
        """Let a tombstone refuse nothing any more; a lifted one stays as it is. Raises `NotFound`."""
        with self._store.write(scope) as tx:
            stone = tombstone_by_id(tx, id)
            if stone is None or stone.scope.namespace != scope.namespace:
                raise NotFound(f"no tombstone {shown(id)} here")
            head = tx.head
            if stone.lifted is None:
                lift = Lift(
                    tombstone=id,
                    actor=principal,
                    position=head.position + 1,
                    recorded_at=self._commits.time_after(head),
                )
                changes = ChangeSet(
                    position=lift.position, recorded_at=lift.recorded_at, kind=Kind.LIFT, principal=principal,
                    lifts=(lift,),
                )  # fmt: skip
                commit = journal.commit(changes, head, salts=self._commits.salt)
                tx.apply(commit, ledger=self._commits.ledger(head))
        if stone.lifted is None:
            self._observer.wrote(scope.tenant, {"position": head.position + 1})
        with self._store.read(scope) as reader:
            return tombstone_by_id(reader, id) or stone

    def resume(self) -> None:
        """Tell those outside again of every tombstone: whoever was killed after a commit may not have told them."""
        for tenant in self._store.tenants() if self._outside else ():
            with self._store.read(scope_of(tenant)) as reader:
                stones, secret = [*each_tombstone(reader)], reader.secret() or b""
            for stone in stones:
                self._tell(stone, secret)

    # ---- what these are made of

    def _look(self, tx: Transaction, scope: Scope, named: Named, target: Target) -> tuple[Plan, Tombstone | None]:
        """What there is to forget, or the tombstone where there is nothing any more. Raises `NotFound`."""
        wanted = _wanted(tx, scope, named, target)
        plan = Plan(wanted=Wanted(scope=scope, target=target))
        if wanted is not None:
            plan = plan_of(tx, wanted, self._store.scopes(scope.tenant))
        if not plan.is_empty:
            return plan, None
        stone = _earlier(tx, wanted, named, target)
        if stone is None:
            raise NotFound(f"there is nothing to forget of {_words(named)} here")
        return plan, stone

    def _carry_out(self, tx: Transaction, plan: Plan, principal: str, *, blocks: bool) -> Tombstone:
        head = tx.head
        known = tx.secret()
        now = self._commits.time_after(head)
        deed = Deed(
            actor=principal, ledger=self._commits.ledger(head), position=head.position + 1, now=now,
            secret=known or self._randomness.bytes(SECRET_BYTES), is_new_secret=known is None, blocks=blocks,
        )  # fmt: skip
        commit = commit_of(tx, plan, deed, self._commits.salt)
        tx.blank_answers([*_answers_that_mention(tx, plan)])
        tx.end_reading([*plan.episodes, *plan.emptied], REASON, self._clock.now())
        for id, notes in plan.notes.items():
            notes.tx.put_session(replace(notes.tx.session(id), me=notes.session.me, source=notes.session.source))
            notes.tx.erase_some_notes(id, notes.numbers, self._clock.now())
        for handoff in plan.handoffs.values():
            tx.put_handoff(handoff.left)
        tx.apply(commit, ledger=deed.ledger)
        return commit.changes.tombstones[0]

    def _ended(self, scope: Scope, stone: Tombstone) -> dict[str, JSON]:
        """What is done after the commit, each time anew, and the receipt."""
        with self._store.read(scope) as reader:
            secret = reader.secret() or b""
        self._tell(stone, secret)
        scrubbed = self._store.scrub()
        return receipt(stone) | {
            "verification": verified(self._store, stone),
            "files": {"scrubbed": scrubbed.done, "left": scrubbed.left},
        }

    def _tell(self, stone: Tombstone, secret: bytes) -> None:
        for each in self._outside:
            each.forget(stone.scope.tenant, stone, secret)


def tombstones_of(reader: Reader, after: int) -> Iterator[Tombstone]:
    """Those of the reader's namespace, by position, after one."""
    return (stone for stone in each_tombstone(reader, after) if stone.scope.namespace == reader.scope.namespace)


def each_tombstone(reader: Reader, after: int = 0) -> Iterator[Tombstone]:
    """All of the tenant, by position, after one."""
    while page := reader.tombstones(limit=PAGE, after=after):
        yield from page
        after = page[-1].position


def tombstone_by_id(reader: Reader, id: str) -> Tombstone | None:
    if kind_of(id) != TOMBSTONE:
        return None
    found = reader.tombstones(limit=1, after=locate(id, TOMBSTONE).position - 1)
    return found[0] if found and found[0].id == id else None


def receipt(stone: Tombstone) -> dict[str, JSON]:
    """A tombstone as it is answered: without the ids of all that went, which may be many."""
    lifted = stone.lifted
    return {
        "state": "forgotten",
        "tombstone": stone.id,
        "namespace": stone.scope.namespace,
        "purpose": None if stone.target is Target.SUBJECT else stone.scope.purpose,
        "target": stone.target.value,
        "subject": stone.subject,
        "predicate": stone.predicate,
        "manifest": stone.manifest,
        "counts": dict(sorted(stone.counts.items())),
        "destroyed": list(stone.destroyed),
        "marks": len(stone.marks),
        "block": stone.blocks,
        "actor": stone.actor,
        "position": stone.position,
        "recorded_at": format_instant(stone.recorded_at),
        "lifted_at": None if lifted is None else format_instant(lifted.recorded_at),
        "lifted_by": None if lifted is None else lifted.actor,
    }


def _preview(plan: Plan, *, blocks: bool) -> dict[str, JSON]:
    wanted = plan.wanted
    return {
        "state": "preview",
        "manifest": plan.manifest,
        "namespace": wanted.scope.namespace,
        "purpose": None if wanted.target is Target.SUBJECT else wanted.scope.purpose,
        "target": wanted.target.value,
        "subject": None if wanted.subject is None else wanted.subject.id,
        "predicate": wanted.predicate,
        "counts": dict(sorted(plan.counts.items())),
        "block": blocks,
    }


def _wanted(tx: Transaction, scope: Scope, named: Named, target: Target) -> Wanted | None:
    """The target as it is stored; `None` where its subject is not there."""
    match target:
        case Target.EPISODE:
            return Wanted(scope=scope, target=target, episode=EpisodeId(named.episode or ""))
        case Target.SOURCE:
            return Wanted(scope=scope, target=target, source=Source(named.source or ""))
        case _:
            text = named.subject or ""
            entity = tx.entities_by_key([text]).get(text)
            if entity is None and kind_of(text) == ENTITY:
                entity = tx.entities_by_id([EntityId(text)]).get(EntityId(text))
            if entity is None:
                return None
            return Wanted(scope=scope, target=target, subject=entity, predicate=named.predicate)


def _earlier(tx: Transaction, wanted: Wanted | None, named: Named, target: Target) -> Tombstone | None:
    """The tombstone of what is gone."""
    graves = Graves(tx)
    match target:
        case Target.SUBJECT:
            return graves.of_id(named.subject or "") or graves.of_word(Marked.KEY, named.subject or "")
        case Target.EPISODE:
            return graves.of_id(named.episode or "") or graves.of_word(Marked.EPISODE, named.episode or "")
        case Target.SOURCE:
            return graves.of_word(Marked.SOURCE, named.source or "")
        case Target.SLOT:
            whole = graves.of_id(named.subject or "") or graves.of_word(Marked.KEY, named.subject or "")
            if wanted is None or wanted.subject is None:
                return whole
            same = (tx.scope, target, wanted.subject.id, named.predicate)
            stones = [s for s in each_tombstone(tx) if (s.scope, s.target, s.subject, s.predicate) == same]
            return stones[-1] if stones else None


def _answers_that_mention(tx: Transaction, plan: Plan) -> Iterator[object]:
    """The handles of the answers that name what goes, by id or by word."""
    whole = [] if plan.whole is None else [plan.whole]
    ids = {id.encode() for id in (*plan.claims, *plan.facts, *plan.episodes, *plan.emptied, *whole)}
    words = [orjson.dumps(word) for kind, word in plan.words if kind is not Marked.PURPOSE]
    words += [orjson.dumps(id) for id in plan.handoffs]
    for answer in tx.kept_answers():
        if answer.receipt:
            document = zlib.decompress(answer.receipt)
            if not ids.isdisjoint(NAMED.findall(document)) or any(word in document for word in words):
                yield answer.handle


def _words(named: Named) -> str:
    given = next(text for text in (named.subject, named.episode, named.source) if text is not None)
    return shown(given) if named.predicate is None else f"{shown(named.predicate)} of {shown(given)}"
