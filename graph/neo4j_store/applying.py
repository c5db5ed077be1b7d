"""How a commit is written: all in one query, or in pieces where it is much."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from graph.journal_rows import lost_words
from graph.naming import NAMING
from graph.neo4j_store import keys
from graph.neo4j_store.forgetting import WIPE, Forgetting
from graph.neo4j_store.rows import Rows, subjects_and_values
from graph.neo4j_store.snapshot import Run
from graph.ports import Head
from graph.sentences import relabelled
from ontology.claims import HELD
from ontology.errors import Fault
from ontology.events import ChangeSet, Commit, Erasure, Restated
from ontology.ids import CLAIM, ENTITY, EPISODE, Ledger
from ontology.instants import OPEN_END
from ontology.schema import Schema
from ontology.schema_document import schema_document, schema_from_document
from ontology.scope import Scope, Tenant
from ontology.values import ValueKey

_PARTS: Final = (
    "scopes", "entities", "ends", "episodes", "slots", "claims", "payloads",
    "cited", "transitions", "closed", "hidden", "facts", "literals", "shown", "support",
)  # fmt: skip
"""What `apply` takes, in order, which is that of the counts that it gives."""
_ROWS_AT_ONCE: Final = 2_000

Parts = Mapping[str, Sequence[object]]


class Applying:
    """One commit on its way into the graph, under the tenant's lock."""

    def __init__(self, run: Run, tenant: Tenant, started: Head, head: Head, ledger: Ledger) -> None:
        """`started` is where the ledger stood when the transaction began, `head` after the commits before this one."""
        self._run = run
        self._tenant = tenant
        self._started = started
        self._head = head
        self._ledger = ledger
        self._rows = Rows(tenant, ledger)
        self._forgetting = Forgetting(run, tenant, self._rows)

    def apply(self, commit: Commit) -> Head:
        """Write all of it; gives where the ledger stands then. Raises `Fault` where it does not fit what is stored."""
        changes, after = commit.changes, self._after(commit)
        if changes.schema is not None:
            self._relabel(changes.schema)
            document = json.dumps(schema_document(changes.schema), ensure_ascii=False)
            version = changes.schema.version
            row = {"tenant": self._tenant, "position": changes.position, "version": version, "document": document}
            self._run("put_schema", {"row": row})
        for erasure in changes.erasures:
            self._erase(erasure)
        self._forgetting.forget(changes.tombstones, changes.removals)
        turn = self._turn(commit, after)
        for chunk in _chunks({**self._told(commit), **self._believed(commit)}):
            *counts, expires = self._run("apply", {**turn, "parts": [chunk[name] for name in _PARTS]})[0]
            for name, count in zip(_PARTS, counts, strict=True):
                _check(name, count, len(chunk[name]))
        for start in range(0, len(changes.verbatims), _ROWS_AT_ONCE):
            kept = [self._rows.kept(verbatim) for verbatim in changes.verbatims[start : start + _ROWS_AT_ONCE]]
            _check("verbatims", self._run("put_kept", {"rows": kept})[0][0], len(kept))
        for start in range(0, len(changes.quotes), _ROWS_AT_ONCE):
            quotes = [self._rows.quote(quote) for quote in changes.quotes[start : start + _ROWS_AT_ONCE]]
            _check("quotes", self._run("put_quotes", {"rows": quotes})[0][0], len(quotes))
        if expires:
            self._may_expire(commit)
        self._put_successors(commit)
        self._rename(changes)
        self._restate(commit.restated)
        if changes.tombstones:
            self._forgetting.destroy(commit.destroyed)
        self._forgetting.put(changes.tombstones, changes.lifts, changes.secret)
        return after

    # ---- parts of a commit

    def _after(self, commit: Commit) -> Head:
        changes, before = commit.changes, self._head
        if changes.position != before.position + 1:
            raise Fault(f"a commit at position {changes.position} cannot follow position {before.position}")
        return Head(
            ledger=self._ledger,
            position=changes.position,
            recorded_at=changes.recorded_at,
            digest=commit.event.digest,
            erasures=before.erasures + (1 if changes.erases else 0),
            schema_version=before.schema_version if changes.schema is None else changes.schema.version,
        )

    def _turn(self, commit: Commit, after: Head) -> dict[str, object]:
        """The parameters of the Clock and of the activity."""
        event, started = commit.event, self._started
        restated = json.dumps([(position, subject, digest.hex()) for position, subject, digest in event.restated])
        return {
            "tenant": self._tenant, "ledger": after.ledger, "position": after.position,
            "recorded_at": after.recorded_at, "digest": after.digest, "erasures": after.erasures,
            "schema_version": after.schema_version, "previous_position": started.position,
            "previous_recorded_at": started.recorded_at, "previous_digest": started.digest,
            "previous_erasures": started.erasures, "previous_schema_version": started.schema_version,
            "kind": event.kind.value, "principal": event.principal, "restated": restated, "previous": event.previous,
            "expires": any(claim.expires_at < OPEN_END for claim in commit.changes.claims),
        }  # fmt: skip

    def _told(self, commit: Commit) -> Parts:
        changes, rows = commit.changes, self._rows
        held = {each.claim: each for each in changes.transitions if each.state in HELD}
        made = {entity.id for entity in changes.entities}
        return {
            "scopes": [rows.scope(scope) for scope in dict.fromkeys(_scopes(changes))],
            "entities": [rows.entity(entity) for entity in changes.entities],
            "ends": [
                rows.place(id, ENTITY) for id in subjects_and_values(changes.opened, changes.shown) if id not in made
            ],
            "episodes": [rows.episode(episode, changes.position) for episode in changes.episodes],
            "slots": [rows.slot(head, changes.position) for head in changes.slots],
            "claims": [rows.claim(claim, held.get(claim.id)) for claim in changes.claims],
            "payloads": rows.payloads(commit.event, commit.payloads),
        }

    def _believed(self, commit: Commit) -> Parts:
        changes, rows = commit.changes, self._rows
        facts = [rows.version(version) for version in changes.opened]
        return {
            "cited": [[rows.place(c.id, CLAIM), c.episode] for c in changes.claims if c.episode is not None],
            "transitions": [rows.transition(each) for each in changes.transitions],
            "closed": [keys.place_key(self._tenant, (v.position, v.ordinal)) for v in changes.closed],
            "hidden": [rows.hidden(shown) for shown in changes.hidden],
            "facts": [fact for fact in facts if isinstance(fact[1], str)],
            "literals": [fact for fact in facts if not isinstance(fact[1], str)],
            "shown": [rows.shown(shown) for shown in changes.shown],
            "support": [rows.support(support) for support in changes.support],
        }

    def _erase(self, erasure: Erasure) -> None:
        scope, subject, predicate = erasure.scope, erasure.subject, erasure.predicate
        named = {
            "pairs": [] if predicate is None else [keys.pair_key(scope, subject, predicate)],
            "subjects": [keys.subject_key(scope, subject)] if predicate is None else [],
        }
        value = None if erasure.value_key is None else erasure.value_key.hex()
        slots = [row[0] for row in self._run("slots_to_erase", named)]
        for query in WIPE:
            self._run(query, {"slots": slots, "value": value})
        if value is None:
            self._run("erase_slot", {"slots": slots})
        if predicate is None or predicate in NAMING:
            self._forgetting.forget_name(keys.scope_key(scope), self._rows.place(subject, ENTITY))

    def _may_expire(self, commit: Commit) -> None:
        """Let the facts say so in which claims that expire show, or may show from now on."""
        changes = commit.changes
        told = [claim for claim in changes.claims if claim.expires_at < OPEN_END and claim.entry.value is not None]
        said = {keys.said_key(keys.slot_key(v.slot), v.value_key) for v in changes.opened}
        said |= {keys.said_key(keys.slot_key(c.slot), ValueKey(c.entry.value or b"")) for c in told}
        if said:
            self._run("may_expire", {"said": sorted(said)})

    def _rename(self, changes: ChangeSet) -> None:
        """Let all be written anew in which another name would stand now. What is new is to be written anyway."""
        made = {entity.id for entity in changes.entities}
        named = {
            (keys.scope_key(version.slot.scope), self._rows.place(version.slot.subject, ENTITY))
            for version in (*changes.opened, *changes.closed)
            if version.slot.predicate in NAMING and version.slot.subject not in made
        }
        if named:
            self._run("rewrite_around", {"rows": [list(pair) for pair in sorted(named)]})

    def _put_successors(self, commit: Commit) -> None:
        """Join the claims that correct others to those; a claim that a later erasure took has none."""
        rows = self._rows
        pairs = [
            [rows.place(each.claim, CLAIM), rows.place(each.successor, CLAIM)]
            for each in commit.changes.transitions
            if each.successor is not None
        ]
        if pairs:
            self._run("put_successor", {"rows": pairs})

    def _relabel(self, schema: Schema) -> None:
        """Let all be written anew under predicates that are called otherwise by now."""
        rows = self._run("newest_schema", {"tenant": self._tenant, "position": self._head.position})
        before = schema_from_document(json.loads(rows[0][0])) if rows else None
        if predicates := relabelled(before, schema):
            self._run("rewrite_under", {"tenant": self._tenant, "predicates": predicates})

    def _restate(self, restated: Sequence[Restated]) -> None:
        rows = [
            [
                each.position,
                "" if each.payload.subject is None else self._rows.owner(each.payload.subject),
                each.payload.digest,
                each.payload.salt,
                each.payload.body,
            ]
            for each in restated
        ]
        if rows:
            found = self._run("restate_payload", {"tenant": self._tenant, "rows": rows})[0][0]
            _check("restated payloads", found, len(rows))
        subjects = {each.payload.subject or "" for each in restated if lost_words(each)}
        episodes = [self._rows.place(subject, EPISODE) for subject in subjects]
        if episodes:
            _check("episodes", self._run("destroy_words", {"places": episodes})[0][0], len(episodes))
            self._run("remove_chunks", {"places": episodes})


def _scopes(changes: ChangeSet) -> Iterator[Scope]:
    yield from (head.slot.scope for head in changes.slots)
    yield from (verbatim.kept.scope for verbatim in changes.verbatims)


def _check(name: str, found: int, wanted: int) -> None:
    """A silent miss must never be committed."""
    if found != wanted:
        raise Fault(f"of {wanted} {name} {found} fit what is stored; the commit does not")


def _chunks(parts: Parts) -> Iterator[Parts]:
    """All in one where it is little; else part by part, each in pieces."""
    if sum(map(len, parts.values())) <= _ROWS_AT_ONCE:
        yield parts
        return
    empty: dict[str, Sequence[object]] = dict.fromkeys(parts, ())
    for name, rows in parts.items():
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            yield {**empty, name: rows[start : start + _ROWS_AT_ONCE]}
