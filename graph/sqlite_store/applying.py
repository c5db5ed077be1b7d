"""How a commit is written: each kind of row in one go, in the order of the fields of its change set."""

import json
from collections.abc import Iterable
from typing import Final

from graph.sqlite_store import codec
from graph.sqlite_store.connection import Connection, Row
from graph.sqlite_store.snapshot import FIRST_TEXT, LAST_TEXT
from ontology.claims import Claim, Ending, Episode
from ontology.errors import Fault
from ontology.events import Commit, Erasure, Event, Payload, Restated, Shown, SlotHead
from ontology.facts import FactVersion, Slot, Support
from ontology.ids import CLAIM, ENTITY, EntityId, EpisodeId, Ledger
from ontology.schema_document import schema_document
from ontology.scope import Scope, Tenant

_OF_NOBODY: Final[tuple[None, None]] = (None, None)
"""The subject columns of a payload that concerns no subject."""


class Applying:
    """The commits of one transaction on their way into the tables; each key that they need is looked up once."""

    def __init__(self, connection: Connection, tenant: Tenant, ledger: Ledger) -> None:
        self._connection = connection
        self._tenant = tenant
        self._ledger = ledger
        self._tenant_pk: int = self._key("put_tenant", tenant, ledger)
        self._scopes: dict[Scope, int] = {}
        self._slots: dict[Slot, int] = {}
        self._places: dict[EntityId, tuple[int, int]] = {}
        self._names: dict[str, int] = {}
        self._episodes: dict[EpisodeId, int] = {}

    def apply(self, commit: Commit) -> None:
        """Write all of it. Raises `Fault` where it does not fit what is stored."""
        changes, many = commit.changes, self._connection.many
        if changes.schema is not None:
            document = json.dumps(schema_document(changes.schema), ensure_ascii=False)
            many("put_schema", [(self._tenant_pk, changes.position, changes.schema.version, document)])
        self._erase(changes.erasures)
        entities = ((self._tenant_pk, e.namespace, *self._place(e.id), e.key) for e in changes.entities)
        many("put_entity", entities)
        for episode in changes.episodes:
            self._put_episode(episode)
        for head in changes.slots:
            self._put_slot(head)
        many("put_claim", map(self._claim_row, changes.claims))
        self._update("end_claim", [self._ending_row(ending) for ending in changes.endings])
        now = changes.recorded_at
        self._update("close_version", [(self._tenant_pk, v.position, v.ordinal, now) for v in changes.closed])
        many("put_version", map(self._version_row, changes.opened))
        self._update("hide_extent", [(*self._shown_row(shown), now) for shown in changes.hidden])
        many("show_extent", ((*self._shown_row(shown), now) for shown in changes.shown))
        many("put_support", map(self._support_row, changes.support))
        self._put_event(commit.event, commit.payloads)
        self._restate(commit.restated)
        version = None if changes.schema is None else changes.schema.version
        erased = 1 if changes.erasures else 0
        many("advance_tenant", [(self._tenant_pk, changes.position, now, commit.event.digest, erased, version)])

    # ---- parts of a commit

    def _erase(self, erasures: Iterable[Erasure]) -> None:
        for erasure in erasures:
            low, high = (FIRST_TEXT, LAST_TEXT) if erasure.predicate is None else (erasure.predicate,) * 2
            about = (self._scope_pk(erasure.scope), *self._place(erasure.subject), low, high)
            slots = self._connection.all("slots_to_erase", about)
            rows = [(slot, erasure.value_key) for (slot,) in slots]
            for query in ("erase_claims", "erase_versions", "erase_extents", "erase_support"):
                self._connection.many(query, rows)
            if erasure.value_key is None:
                self._connection.many("erase_slot", slots)
                self._slots.clear()

    def _put_episode(self, episode: Episode) -> None:
        row = (
            self._tenant_pk, episode.id, self._name(episode.source), self._name(episode.root), episode.observed_at,
        )  # fmt: skip
        self._connection.many("put_episode", [row])

    def _put_slot(self, head: SlotHead) -> None:
        slot = head.slot
        row = (
            self._scope_pk(slot.scope), *self._place(slot.subject), slot.predicate, slot.language,
            head.version, *(head.last or (None, None, None)), head.functional, head.plain,
        )  # fmt: skip
        self._slots[slot] = self._key("put_slot", *row)

    def _put_event(self, event: Event, payloads: Iterable[Payload]) -> None:
        restated = json.dumps([(position, subject, digest.hex()) for position, subject, digest in event.restated])
        event_pk = self._key(
            "put_event", self._tenant_pk, event.position, event.recorded_at, event.kind, event.principal,
            restated, event.previous, event.digest,
        )  # fmt: skip
        kept = {payload.subject: payload for payload in payloads}
        rows: list[Row] = []
        for number, (subject, digest) in enumerate(event.digests):
            payload = kept.pop(subject, None)
            columns = _OF_NOBODY if subject is None else self._place(subject)
            row = (event_pk, number, self._tenant_pk, *columns, digest)
            if payload is None:
                rows.append((*row, None, None, None))
            else:
                own = None if payload.digest == digest else payload.digest
                rows.append((*row, own, payload.salt, payload.body))
        if kept:
            raise Fault(f"the event at {event.position} has payloads that it does not name")
        self._connection.many("put_payload", rows)

    def _restate(self, restated: Iterable[Restated]) -> None:
        rows = []
        for each in restated:
            payload = each.payload
            columns = _OF_NOBODY if payload.subject is None else self._place(payload.subject)
            rows.append((self._tenant_pk, each.position, *columns, payload.digest, payload.salt, payload.body))
        self._update("restate_payload", rows)

    # ---- rows

    def _claim_row(self, claim: Claim) -> Row:
        value, stated = claim.value, claim.stated
        return (
            self._tenant_pk, *codec.entry_columns(claim.entry), self._slot(claim.slot),
            *((None, None, None) if value is None else (value.type, value.text, value.qualifier)),
            stated.valid_from, stated.valid_to, stated.zone, stated.semantics, claim.observed_stated,
            self._name(claim.source), self._episode(claim.episode), self._name(claim.root), claim.confidence,
            claim.schema_version, self._name(claim.principal), claim.recorded_at,
        )  # fmt: skip

    def _ending_row(self, ending: Ending) -> Row:
        successor: tuple[int | None, int | None] = _OF_NOBODY
        if ending.successor is not None:
            successor = self._located(ending.successor, CLAIM)
        return (
            self._tenant_pk, *self._located(ending.claim, CLAIM), ending.state, ending.reason, ending.position,
            ending.recorded_at, *successor,
        )  # fmt: skip

    def _version_row(self, version: FactVersion) -> Row:
        value = version.value
        return (
            self._tenant_pk, self._scope_pk(version.slot.scope), self._slot(version.slot),
            version.position, version.ordinal, value.type, value.text, value.qualifier, version.value_key,
            version.certain, version.valid_from, version.valid_to, version.recorded_from, version.recorded_to,
        )  # fmt: skip

    def _shown_row(self, shown: Shown) -> tuple[object, ...]:
        return (
            self._slot(shown.slot), shown.value_key, shown.valid_from, *self._located(shown.claim, CLAIM),
            shown.valid_to,
        )  # fmt: skip

    def _support_row(self, support: Support) -> Row:
        return (
            self._slot(support.slot), support.value_key, support.recorded_from,
            support.sources, support.occurrences, support.doubt,
        )  # fmt: skip

    # ---- keys

    def _key(self, query: str, *parameters: object) -> int:
        row = self._connection.one(query, parameters)
        if row is None:
            raise Fault(f"{query} gave no key")
        return int(row[0])

    def _scope_pk(self, scope: Scope) -> int:
        if scope not in self._scopes:
            if scope.tenant != self._tenant:
                raise Fault(f"a commit of tenant {self._tenant!r} names tenant {scope.tenant!r}")
            self._scopes[scope] = self._key("put_scope", self._tenant_pk, scope.namespace, scope.purpose)
        return self._scopes[scope]

    def _slot(self, slot: Slot) -> int:
        if slot not in self._slots:
            place = self._place(slot.subject)
            self._slots[slot] = self._key("slot", self._scope_pk(slot.scope), *place, slot.predicate, slot.language)
        return self._slots[slot]

    def _name(self, name: str) -> int:
        if name not in self._names:
            self._names[name] = self._key("put_name", self._tenant_pk, name)
        return self._names[name]

    def _episode(self, id: EpisodeId | None) -> int | None:
        if id is None:
            return None
        if id not in self._episodes:
            self._episodes[id] = self._key("episode_pk", self._tenant_pk, id)
        return self._episodes[id]

    def _place(self, subject: EntityId) -> tuple[int, int]:
        if subject not in self._places:
            self._places[subject] = self._located(subject, ENTITY)
        return self._places[subject]

    def _located(self, id: str, prefix: str) -> tuple[int, int]:
        place = codec.place(id, prefix, self._ledger)
        if place is None:
            raise Fault(f"{id!r} is not of the ledger {self._ledger!r}")
        return place

    def _update(self, query: str, rows: list[tuple[object, ...]]) -> None:
        """Change exactly one stored row for each of `rows`."""
        changed = self._connection.many(query, rows) if rows else 0
        if changed != len(rows):
            raise Fault(f"{query} found {max(changed, 0)} rows of {len(rows)}; the commit does not fit what is stored")
