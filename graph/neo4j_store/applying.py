"""How one commit is written: most of it in one query, in the order of the fields of its change set."""

import json
from collections.abc import Iterable, Sequence
from typing import Final

from graph.neo4j_store import keys
from graph.neo4j_store.rows import Rows
from graph.neo4j_store.snapshot import Run
from graph.ports import Head
from ontology.errors import Fault
from ontology.events import ChangeSet, Commit, Erasure, Event, Restated
from ontology.ids import CLAIM, ENTITY, EntityId, Ledger
from ontology.schema_document import schema_document
from ontology.scope import Scope
from ontology.values import ValueType

_PARTS: Final = (
    "slots", "claims", "cited", "endings", "closed", "facts", "literals", "hidden", "shown", "support", "payloads",
)  # fmt: skip
"""The lists that `apply` takes, in the order of the counts that it gives."""
_ROWS_AT_ONCE: Final = 2_000


class Applying:
    """One commit on its way into the graph, under the tenant's lock."""

    def __init__(self, run: Run, scope: Scope, started: Head, head: Head, ledger: Ledger) -> None:
        """`started` is where the ledger stood when the transaction began, `head` after the commits before this one."""
        self._run = run
        self._scope = scope
        self._started = started
        self._head = head
        self._ledger = ledger
        self._rows = Rows(scope.tenant, ledger)

    def apply(self, commit: Commit) -> Head:
        """Write all of it; gives where the ledger stands then. Raises `Fault` where it does not fit what is stored."""
        changes, rows, tenant = commit.changes, self._rows, self._scope.tenant
        if changes.schema is not None:
            document = json.dumps(schema_document(changes.schema), ensure_ascii=False)
            version = changes.schema.version
            row = {"tenant": tenant, "position": changes.position, "version": version, "document": document}
            self._put("put_schema", row=row, expected=1)
        self._erase(changes.erasures)
        self._many("put_entity", [rows.entity(entity) for entity in changes.entities])
        self._put_event(commit.event)
        self._put_scopes(changes)
        self._many(
            "put_episode", [rows.episode(e, changes.position) for e in changes.episodes], position=changes.position
        )
        self._many("put_entity", [rows.end(id) for id in self._ends(changes)])
        self._apply(commit)
        self._put_successors(changes)
        self._restate(commit.restated)
        return self._advance(commit)

    # ---- parts of a commit

    def _erase(self, erasures: Iterable[Erasure]) -> None:
        for erasure in erasures:
            scope, subject, predicate = erasure.scope, erasure.subject, erasure.predicate
            named = {
                "pairs": [] if predicate is None else [keys.pair_key(scope, subject, predicate)],
                "subjects": [keys.subject_key(scope, subject)] if predicate is None else [],
            }
            value = None if erasure.value_key is None else erasure.value_key.hex()
            slots = [row[0] for row in self._run("slots_to_erase", named)]
            for query in ("erase_claims", "erase_versions", "erase_values", "erase_extents", "erase_support"):
                self._run(query, {"slots": slots, "value": value})
            if value is None:
                self._run("erase_slot", {"slots": slots})

    def _put_event(self, event: Event) -> None:
        restated = json.dumps([(position, subject, digest.hex()) for position, subject, digest in event.restated])
        self._many("put_agent", [{"tenant": self._scope.tenant, "agent": event.principal}])
        row = {
            "tenant": self._scope.tenant, "position": event.position, "recorded_at": event.recorded_at,
            "kind": event.kind.value, "principal": event.principal, "restated": restated, "previous": event.previous,
            "digest": event.digest,
        }  # fmt: skip
        self._put("put_event", row=row, expected=1)

    def _put_scopes(self, changes: ChangeSet) -> None:
        scopes = dict.fromkeys(head.slot.scope for head in changes.slots)
        rows = [
            {"scope": keys.scope_key(s), "tenant": s.tenant, "namespace": s.namespace, "purpose": s.purpose}
            for s in scopes
        ]
        self._many("put_scope", rows)

    def _ends(self, changes: ChangeSet) -> list[EntityId]:
        """The entities that facts and claims of this commit hang on."""
        made = {entity.id for entity in changes.entities}
        ends = [version.slot.subject for version in changes.opened]
        ends += [EntityId(v.value.text) for v in changes.opened if v.value.type is ValueType.ENTITY]
        ends += [shown.slot.subject for shown in changes.shown]
        return [id for id in dict.fromkeys(ends) if id not in made]

    def _apply(self, commit: Commit) -> None:
        changes, rows = commit.changes, self._rows
        now, tenant = changes.recorded_at, self._scope.tenant
        facts = [rows.version(version) for version in changes.opened]
        parts: dict[str, Sequence[object]] = {
            "slots": [rows.slot(head, changes.position) for head in changes.slots],
            "claims": [rows.claim(claim) for claim in changes.claims],
            "cited": [[rows.place(c.id, CLAIM), c.episode] for c in changes.claims if c.episode is not None],
            "endings": [rows.ending(ending) for ending in changes.endings],
            "closed": [keys.place_key(tenant, (v.position, v.ordinal)) for v in changes.closed],
            "facts": [fact for fact in facts if isinstance(fact["value"], str)],
            "literals": [fact for fact in facts if not isinstance(fact["value"], str)],
            "hidden": [rows.hidden(shown) for shown in changes.hidden],
            "shown": [rows.shown(shown, now) for shown in changes.shown],
            "support": [rows.support(support) for support in changes.support],
            "payloads": rows.payloads(commit.event, commit.payloads),
        }
        common = {"tenant": tenant, "position": changes.position, "now": now}
        for chunk in _chunks(parts):
            counts = self._run("apply", common | chunk)[0]
            for name, count in zip(_PARTS, counts, strict=True):
                if count != len(chunk[name]):
                    raise Fault(f"of {len(chunk[name])} {name} {count} fit what is stored; the commit does not")

    def _put_successors(self, changes: ChangeSet) -> None:
        rows = self._rows
        pairs = [
            [rows.place(ending.claim, CLAIM), rows.place(ending.successor, CLAIM)]
            for ending in changes.endings
            if ending.successor is not None
        ]
        self._many("put_successor", pairs)

    def _restate(self, restated: Iterable[Restated]) -> None:
        rows = [
            {
                "position": each.position,
                "subject": "" if each.payload.subject is None else self._rows.place(each.payload.subject, ENTITY),
                "restated": each.payload.digest, "salt": each.payload.salt, "body": each.payload.body,
            }
            for each in restated
        ]  # fmt: skip
        self._many("restate_payload", rows, tenant=self._scope.tenant)

    def _advance(self, commit: Commit) -> Head:
        changes, before, started = commit.changes, self._head, self._started
        after = Head(
            ledger=self._ledger,
            position=changes.position,
            recorded_at=changes.recorded_at,
            digest=commit.event.digest,
            erasures=before.erasures + (1 if changes.erasures else 0),
            schema_version=before.schema_version if changes.schema is None else changes.schema.version,
        )
        row: dict[str, object] = {
            "position": after.position, "recorded_at": after.recorded_at, "digest": after.digest,
            "erasures": after.erasures, "schema_version": after.schema_version,
            "previous_position": started.position, "previous_recorded_at": started.recorded_at,
            "previous_digest": started.digest, "previous_erasures": started.erasures,
            "previous_schema_version": started.schema_version,
        }  # fmt: skip
        self._put(
            "advance_tenant",
            row=row,
            expected=1,
            tenant=self._scope.tenant,
            ledger=self._ledger,
            before=before.position,
        )
        return after

    # ---- running

    def _put(self, query: str, *, row: object, expected: int, **others: object) -> None:
        count = self._run(query, {"row": row, **others})[0][0]
        if count != expected:
            raise Fault(f"{query} found {count} of {expected}; the commit does not fit what is stored")

    def _many(self, query: str, rows: Sequence[object], **others: object) -> None:
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows[start : start + _ROWS_AT_ONCE]
            count = self._run(query, {"rows": part, **others})[0][0]
            if count != len(part):
                raise Fault(f"{query} found {count} rows of {len(part)}; the commit does not fit what is stored")


def _chunks(parts: dict[str, Sequence[object]]) -> Iterable[dict[str, Sequence[object]]]:
    """All in one where it is little; else part by part, each in pieces."""
    empty: dict[str, Sequence[object]] = dict.fromkeys(parts, ())
    if sum(map(len, parts.values())) <= _ROWS_AT_ONCE:
        yield parts
        return
    for name, rows in parts.items():
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            yield empty | {name: rows[start : start + _ROWS_AT_ONCE]}
