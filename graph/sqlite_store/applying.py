"""How a commit is written: each kind of row in one go, in the order of the fields of its change set."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from graph.journal_rows import lost_words
from graph.naming import NAMING
from graph.sentences import relabelled
from graph.sqlite_store.connection import Connection, Row
from graph.sqlite_store.forgetting import WIPE, Forgetting
from graph.sqlite_store.keys import Keys
from graph.sqlite_store.passages import PassagesOfCommits
from graph.sqlite_store.snapshot import FIRST_TEXT, LAST_TEXT
from ontology.claims import FOLDED, HELD, Claim, Entity, Episode, Transition
from ontology.episodes import Quote, Verbatim, WordsGone, has_words
from ontology.errors import Fault
from ontology.events import Commit, Erasure, Event, Payload, Restated, Shown, SlotHead
from ontology.facts import FactVersion, Support
from ontology.ids import CLAIM, EPISODE
from ontology.instants import OPEN_END
from ontology.schema import Schema
from ontology.schema_document import schema_document, schema_from_document
from ontology.scope import Tenant

Item = TypeVar("Item")

_OF_NOBODY: Final[tuple[None, None]] = (None, None)
"""The columns of an id where there is none: of a payload that concerns no subject, of a claim without successor."""


class Applying:
    """The commits of one transaction on their way into the tables."""

    def __init__(self, connection: Connection, keys: Keys, tenant: Tenant) -> None:
        self._connection = connection
        self._keys = keys
        self._passages = PassagesOfCommits(connection, keys, tenant)
        self._forgetting = Forgetting(connection, keys, self._passages)

    def apply(self, commit: Commit) -> None:
        """Write all of it. Raises `Fault` where it does not fit what is stored."""
        changes, put = commit.changes, self._put
        if changes.schema is not None:
            self._put_schema(changes.position, changes.schema)
        self._erase(changes.erasures)
        self._forgetting.forget(changes.tombstones, changes.removals)
        put("put_entity", self._entity_row, changes.entities)
        put("put_episode", self._episode_row, changes.episodes)
        put("put_kept", self._kept_row, changes.verbatims)
        self._put_slots(changes.position, changes.slots)
        put("put_claim", self._claim_row, changes.claims)
        put("may_expire", self._expiry_row, [claim for claim in changes.claims if claim.expires_at < OPEN_END])
        put("put_quotes", self._quote_row, changes.quotes)
        self._transit(changes.transitions)
        now, tenant = changes.recorded_at, self._keys.tenant
        self._change("close_version", [(tenant, v.position, v.ordinal, now) for v in changes.closed])
        put("put_version", self._version_row, changes.opened)
        self._passages.opened(changes.opened)
        self._passages.renamed((*changes.opened, *changes.closed))
        self._change("hide_extent", [(*self._shown_row(shown), now) for shown in changes.hidden])
        put("show_extent", lambda shown: (*self._shown_row(shown), now), changes.shown)
        put("put_support", self._support_row, changes.support)
        self._put_event(commit.event, commit.payloads)
        self._restate(commit.restated)
        if changes.tombstones:
            self._forgetting.destroy(commit.destroyed)
        self._forgetting.put(changes.tombstones, changes.lifts, changes.secret)
        version = None if changes.schema is None else changes.schema.version
        erased = 1 if changes.erases else 0
        self._change("advance_tenant", [(tenant, changes.position, now, commit.event.digest, erased, version)])

    # ---- parts of a commit

    def _erase(self, erasures: Iterable[Erasure]) -> None:
        for erasure in erasures:
            low, high = (FIRST_TEXT, LAST_TEXT) if erasure.predicate is None else (erasure.predicate,) * 2
            about = (self._keys.scope(erasure.scope), *self._keys.place(erasure.subject), low, high)
            slots = self._connection.all("slots_to_erase", about)
            rows = [(slot, erasure.value_key) for (slot,) in slots]
            for query in WIPE:
                self._connection.many(query, rows)
            for (slot,) in slots:
                self._passages.gone_from(slot)
            if erasure.predicate is None or erasure.predicate in NAMING:
                self._passages.unnamed(erasure.subject)
            if erasure.value_key is None:
                self._connection.many("erase_slot", slots)
                self._keys.forget_slots()

    def _put_schema(self, position: int, schema: Schema) -> None:
        row = self._connection.one("newest_schema", (self._keys.tenant,))
        self._passages.relabelled(relabelled(None if row is None else schema_from_document(json.loads(row[0])), schema))
        document = json.dumps(schema_document(schema), ensure_ascii=False)
        self._connection.many("put_schema", [(self._keys.tenant, position, schema.version, document)])

    def _put_slots(self, position: int, heads: Iterable[SlotHead]) -> None:
        new: list[Row] = []
        moved: list[Row] = []
        for head in heads:
            slot = head.slot
            last = head.last or (None, None, None)
            row = (head.version, *last, head.functional, head.plain, head.trust, head.rejected)
            pk = self._keys.find_slot(slot, position)
            if pk is None:
                place = (self._keys.scope(slot.scope), *self._keys.place(slot.subject))
                new.append((self._keys.new_slot(slot), *place, slot.predicate, slot.language, *row))
            else:
                moved.append((pk, *row))
        self._connection.many("put_slot", new)
        self._connection.many("move_slot", moved)

    def _transit(self, transitions: Iterable[Transition]) -> None:
        told: list[Row] = []
        states: list[Row] = []
        for each in transitions:
            place = (self._keys.tenant, *self._keys.located(each.claim, CLAIM))
            successor = _OF_NOBODY if each.successor is None else self._keys.located(each.successor, CLAIM)
            why = (each.state, each.rule, each.reason, each.actor, each.decided_on)
            told.append((*place, each.position, each.recorded_at, *why, *successor))
            states.append((*place, each.state, each.state in FOLDED, each.rule if each.state in HELD else None))
        self._change("put_transition", told)
        self._change("change_claim", states)

    def _put_event(self, event: Event, payloads: Iterable[Payload]) -> None:
        restated = json.dumps([(position, subject, digest.hex()) for position, subject, digest in event.restated])
        skeleton = (event.position, event.recorded_at, event.kind, event.principal, restated)
        put = self._connection.one("put_event", (self._keys.tenant, *skeleton, event.previous, event.digest))
        if put is None:
            raise Fault("put_event gave no key")
        kept = {payload.subject: payload for payload in payloads}
        rows: list[Row] = []
        for number, (subject, digest) in enumerate(event.digests):
            payload = kept.pop(subject, None)
            columns = _OF_NOBODY if subject is None else self._keys.owner(subject)
            row = (put[0], number, self._keys.tenant, *columns, digest)
            if payload is None:
                rows.append((*row, None, None, None))
            else:
                own = None if payload.digest == digest else payload.digest
                rows.append((*row, own, payload.salt, payload.body))
        if kept:
            raise Fault(f"the event at {event.position} has payloads that it does not name")
        self._connection.many("put_payload", rows)

    def _restate(self, restated: Sequence[Restated]) -> None:
        rows: list[Row] = []
        of_nobody: list[Row] = []
        for each in restated:
            payload = each.payload
            left = (payload.digest, payload.salt, payload.body)
            if payload.subject is None:
                of_nobody.append((self._keys.tenant, each.position, *left))
            else:
                rows.append((self._keys.tenant, each.position, *self._keys.owner(payload.subject), *left))
        self._change("restate_payload", rows)
        self._change("restate_nobody", of_nobody)
        episodes = {each.payload.subject or "" for each in restated if lost_words(each)}
        self._change("destroy_words", [(self._keys.tenant, *self._keys.located(id, EPISODE)) for id in episodes])
        for id in episodes:
            self._passages.words_gone(id)

    # ---- rows

    def _entity_row(self, entity: Entity) -> Row:
        return (self._keys.tenant, entity.namespace, *self._keys.place(entity.id), entity.key)

    def _episode_row(self, episode: Episode) -> Row:
        source, root = self._keys.name(episode.source), self._keys.name(episode.root)
        return (self._keys.tenant, episode.id, source, root, episode.observed_at)

    def _kept_row(self, verbatim: Verbatim | WordsGone) -> Row:
        kept = verbatim.kept
        place = self._keys.located(kept.episode, EPISODE)
        return (self._keys.tenant, *place, self._keys.scope(kept.scope), kept.content, not has_words(verbatim))

    def _claim_row(self, claim: Claim) -> Row:
        entry, value, stated = claim.entry, claim.value, claim.stated
        return (
            self._keys.tenant, entry.position, entry.ordinal, entry.observed_at, entry.asserts, entry.value,
            entry.functional, entry.start, entry.start_lo, entry.start_hi, entry.end, entry.end_lo, entry.end_hi,
            self._keys.slot(claim.slot),
            *((None, None, None) if value is None else (value.type, value.text, value.qualifier)),
            stated.valid_from, stated.valid_to, stated.zone, stated.semantics, claim.observed_stated,
            self._keys.name(claim.source), self._keys.episode(claim.episode), self._keys.name(claim.root),
            claim.confidence, claim.schema_version, self._keys.name(claim.principal), claim.recorded_at,
            claim.trust, claim.echo, claim.expires_at,
        )  # fmt: skip

    def _expiry_row(self, claim: Claim) -> Row:
        return (self._keys.slot(claim.slot), claim.entry.value, claim.expires_at)

    def _quote_row(self, quote: Quote) -> Row:
        place = self._keys.located(quote.claim, CLAIM)
        return (self._keys.tenant, *place, quote.turn, quote.start, quote.end, quote.text)

    def _version_row(self, version: FactVersion) -> Row:
        value = version.value
        return (
            self._keys.tenant, self._keys.scope(version.slot.scope), self._keys.slot(version.slot),
            version.position, version.ordinal, value.type, value.text, value.qualifier, version.value_key,
            version.certain, version.valid_from, version.valid_to, version.recorded_from, version.recorded_to,
        )  # fmt: skip

    def _shown_row(self, shown: Shown) -> tuple[object, ...]:
        return (
            self._keys.slot(shown.slot), shown.value_key, shown.valid_from, *self._keys.located(shown.claim, CLAIM),
            shown.valid_to,
        )  # fmt: skip

    def _support_row(self, support: Support) -> Row:
        return (
            self._keys.slot(support.slot), support.value_key, support.recorded_from,
            support.sources, support.occurrences, support.doubt,
        )  # fmt: skip

    # ---- running

    def _put(self, query: str, row: Callable[[Item], Row], items: Sequence[Item]) -> None:
        if items:
            self._connection.many(query, map(row, items))

    def _change(self, query: str, rows: list[tuple[object, ...]]) -> None:
        """Change exactly one stored row for each of `rows`."""
        changed = self._connection.many(query, rows) if rows else 0
        if changed != len(rows):
            raise Fault(f"{query} found {max(changed, 0)} rows of {len(rows)}; the commit does not fit what is stored")
