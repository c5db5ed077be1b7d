"""How domain values become rows for the query `apply`, which says what each place in a row is."""

from typing import Final

from graph import decoding
from graph.neo4j_store import keys
from ontology.claims import ENDED, Claim, Entity, Episode, Lifecycle, Transition
from ontology.episodes import Quote, Verbatim, WordsGone, has_words
from ontology.errors import Fault
from ontology.events import Event, Payload, Shown, SlotHead
from ontology.facts import FactVersion, Slot, Support
from ontology.ids import CLAIM, ENTITY, EPISODE, EntityId, Ledger, Owner, locate
from ontology.instants import OPEN_END
from ontology.scope import Scope, Tenant
from ontology.values import ValueType

Row = list[object]

_TEXT_SHOWN: Final = 200
"""So much of a value stands at its node, for people who look at the graph; all of it is in the fact."""


class Rows:
    """The rows of one commit; what all in a slot share is made once."""

    def __init__(self, tenant: Tenant, ledger: Ledger) -> None:
        self._tenant = tenant
        self._ledger = ledger
        self._slots: dict[Slot, tuple[Row, Row, str]] = {}

    def scope(self, scope: Scope) -> Row:
        return [keys.scope_key(scope), scope.tenant, scope.namespace, scope.purpose]

    def entity(self, entity: Entity) -> Row:
        return [self.place(entity.id, ENTITY), self._tenant, entity.namespace, entity.key, *self._located(entity.id)]

    def episode(self, episode: Episode, position: int) -> Row:
        return [self._tenant, episode.id, episode.source, episode.root, episode.observed_at, position]

    def kept(self, verbatim: Verbatim | WordsGone) -> Row:
        kept = verbatim.kept
        scope = kept.scope
        if scope.tenant != self._tenant:
            raise Fault(f"a commit of tenant {self._tenant!r} names tenant {scope.tenant!r}")
        here = keys.scope_key(scope)
        words_of, uncut = (scope.tenant, here) if has_words(verbatim) else (None, None)
        return [
            self.place(kept.episode, EPISODE), scope.tenant, scope.namespace, scope.purpose, here,
            keys.content_key(scope, kept.content), kept.content, *self._located(kept.episode, EPISODE), words_of, uncut,
        ]  # fmt: skip

    def slot(self, head: SlotHead, position: int) -> Row:
        slot = head.slot
        (_, _, _, scope), subject, key = self._slot(slot)
        keys_of = [keys.subject_key(slot.scope, slot.subject), keys.pair_key(slot.scope, slot.subject, slot.predicate)]
        last = head.last or (None, None, None)
        return [
            key, scope, *keys_of, self.place(slot.subject, ENTITY), *subject, position,
            head.version, *last, head.functional, head.plain, int(head.trust), head.rejected,
        ]  # fmt: skip

    def claim(self, claim: Claim, held: Transition | None) -> Row:
        """A claim, which is `held` where it is not folded at once."""
        entry, value, stated = claim.entry, claim.value, claim.stated
        scope, subject, slot = self._slot(claim.slot)
        waiting: Row = [entry.position, None, None, None]
        if held is not None:
            waiting = [OPEN_END, scope[-1], held.state.value, held.rule]
        voice = cited = None
        expiring: Row = [None, None, None]
        if entry.value is not None and entry.asserts:
            said = keys.said_key(slot, entry.value)
            voice = keys.voice_key(said, claim.root)
            cited = None if claim.episode is None else keys.cited_key(said, claim.episode)
            if claim.expires_at < OPEN_END:
                expiring = [claim.expires_at, said, scope[-1]]
        return [
            keys.place_key(self._tenant, (entry.position, entry.ordinal)), *scope, slot, voice, cited,
            entry.position, entry.ordinal, entry.observed_at, entry.asserts, entry.functional, *subject,
            None if entry.value is None else entry.value.hex(),
            *((None, None, None) if value is None else (value.type.value, value.text, value.qualifier)),
            int(entry.start), entry.start_lo, entry.start_hi, int(entry.end), entry.end_lo, entry.end_hi,
            stated.valid_from, stated.valid_to, stated.zone,
            None if stated.semantics is None else stated.semantics.value,
            claim.observed_stated, claim.source, claim.episode, claim.root, float(claim.confidence),
            claim.schema_version, claim.principal, claim.recorded_at, OPEN_END, int(claim.trust), claim.echo,
            *waiting, *expiring,
        ]  # fmt: skip

    def quote(self, quote: Quote) -> Row:
        return [self.place(quote.claim, CLAIM), quote.turn, quote.start, quote.end, quote.text]

    def transition(self, of: Transition) -> Row:
        """With the position from which its claim is folded, that from which it is not, where they change, and whether
        it need not expire any more."""
        successor: tuple[int | None, int | None] = (None, None)
        if of.successor is not None:
            successor = self._located(of.successor, CLAIM)
        return [
            self.place(of.claim, CLAIM), *self._located(of.claim, CLAIM), of.position, of.recorded_at, of.state.value,
            of.rule, of.reason, of.actor, of.decided_on, *successor,
            of.position if of.state is Lifecycle.ACCEPTED else None, of.position if of.state in ENDED else None,
            of.state in ENDED or of.state is Lifecycle.EXPIRED,
        ]  # fmt: skip

    def version(self, version: FactVersion) -> Row:
        """A fact with its ends: the second is a place where it is an entity, else the row of a value node."""
        value, key = version.value, version.value_key.hex()
        scope, subject, slot = self._slot(version.slot)
        said = keys.said_key(slot, version.value_key)
        end: object = [said, slot, key, value.type.value, value.text[:_TEXT_SHOWN]]
        if value.type is ValueType.ENTITY:
            end = self.place(value.text, ENTITY)
        row = [
            keys.place_key(self._tenant, (version.position, version.ordinal)), *scope, slot, said,
            keys.held_key(version.slot.scope, version.value_key), version.position, version.ordinal, *subject,
            key, value.type.value, value.text, value.qualifier, version.certain,
            version.valid_from, version.valid_to, version.recorded_from, version.recorded_to,
        ]  # fmt: skip
        return [self.place(version.slot.subject, ENTITY), end, row]

    def hidden(self, shown: Shown) -> Row:
        _, _, slot = self._slot(shown.slot)
        said = keys.said_key(slot, shown.value_key)
        return [self.place(shown.claim, CLAIM), said, shown.valid_from, shown.valid_to]

    def shown(self, shown: Shown) -> Row:
        _, _, slot = self._slot(shown.slot)
        return [
            self.place(shown.claim, CLAIM), self.place(shown.slot.subject, ENTITY), slot,
            keys.said_key(slot, shown.value_key), shown.value_key.hex(), shown.valid_from, shown.valid_to,
        ]  # fmt: skip

    def support(self, support: Support) -> Row:
        scope, subject, slot = self._slot(support.slot)
        return [
            *scope, slot, keys.said_key(slot, support.value_key), *subject, support.value_key.hex(),
            support.recorded_from, support.sources, support.occurrences, float(support.doubt),
        ]  # fmt: skip

    def payloads(self, event: Event, payloads: tuple[Payload, ...]) -> list[Row]:
        """One row for each payload that the event names; what is gone has only its digest."""
        kept = {payload.subject: payload for payload in payloads}
        rows: list[Row] = []
        for number, (subject, digest) in enumerate(event.digests):
            named = [None] * 3 if subject is None else [self.owner(subject), *self._owner(subject)]
            payload = kept.pop(subject, None)
            body: Row = [None] * 3
            if payload is not None:
                body = [None if payload.digest == digest else payload.digest, payload.salt, payload.body]
            rows.append([self._tenant, event.position, number, *named, digest, *body])
        if kept:
            raise Fault(f"the event at {event.position} has payloads that it does not name")
        return rows

    def owner(self, owner: Owner) -> str:
        """The key of whom a payload is about."""
        return keys.place_key(self._tenant, self._owner(owner))

    def _owner(self, owner: Owner) -> tuple[int, int]:
        place = decoding.owner_place(owner, self._ledger)
        if place is None:
            raise Fault(f"{owner!r} is not of the ledger {self._ledger!r}")
        return place

    def place(self, id: str, prefix: str) -> str:
        """The key of what an id names. Raises `Fault` for an id of another ledger."""
        return keys.place_key(self._tenant, self._located(id, prefix))

    def _located(self, id: str, prefix: str = ENTITY) -> tuple[int, int]:
        place = locate(id, prefix)
        if place.ledger != self._ledger:
            raise Fault(f"{id!r} is not of the ledger {self._ledger!r}")
        return place.position, place.ordinal

    def _slot(self, slot: Slot) -> tuple[Row, Row, str]:
        """What stands in everything of a slot: its scope, its subject with predicate and language; and its key."""
        known = self._slots.get(slot)
        if known is None:
            scope = slot.scope
            if scope.tenant != self._tenant:
                raise Fault(f"a commit of tenant {self._tenant!r} names tenant {scope.tenant!r}")
            whose: Row = [scope.tenant, scope.namespace, scope.purpose, keys.scope_key(scope)]
            about: Row = [*self._located(slot.subject), slot.predicate, slot.language]
            known = self._slots[slot] = whose, about, keys.slot_key(slot)
        return known


def subjects_and_values(versions: tuple[FactVersion, ...], shown: tuple[Shown, ...]) -> list[EntityId]:
    """The entities that facts and claims hang on."""
    ends = [version.slot.subject for version in versions]
    ends += [EntityId(v.value.text) for v in versions if v.value.type is ValueType.ENTITY]
    ends += [each.slot.subject for each in shown]
    return list(dict.fromkeys(ends))
