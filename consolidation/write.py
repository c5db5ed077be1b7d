"""The one path by which memory changes: check, idempotency key, lock, fold, change set, commit, receipt."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock

import orjson

from consolidation.admission import ON_THIS_MACHINE, Standing, admit
from consolidation.check import Checked, check
from consolidation.commits import Commits
from consolidation.conflicts import conflicts_of
from consolidation.finish import Finished
from consolidation.idempotency import Written, check_key, kept, replayed
from consolidation.items import Absent, Expire, Item, Promote, Reject
from consolidation.lookup import Context
from consolidation.observing import NOBODY, Observer, refusals_told
from consolidation.policy import OWNER, Authority
from consolidation.transact import Transact
from consolidation.vouching import NoSources, Sources
from graph import journal
from graph.ports import Clock, Head, MemoryStore, Randomness, Reader, Transaction
from graph.restating import restate
from ontology.errors import JSON, Incorrect, VersionChanged, Violation
from ontology.events import ChangeSet, Kind
from ontology.ids import Ledger
from ontology.instants import DAY, Instant, format_instant
from ontology.schema import Schema
from ontology.schema_merge import Merged, Pack, merge
from ontology.scope import Scope, Tenant


class _DryRun(Exception):
    pass


class Writer:
    """Writes to one store. Safe to use from many threads; the store's lock decides the order."""

    def __init__(
        self, *, store: MemoryStore, clock: Clock, randomness: Randomness, core: Schema,
        items_max: int = 10_000, key_days: int = 7, sources: Sources | None = None,
        observer: Observer = NOBODY,
    ) -> None:  # fmt: skip
        self._store = store
        self._clock = clock
        self._commits = Commits(clock, randomness)
        self._core = core
        self._items_max = items_max
        self._key_days = key_days
        self._observer = observer
        self._sources = sources or NoSources()
        self._schemas: dict[Tenant, Schema] = {}
        self._schemas_lock = Lock()

    def write(
        self, scope: Scope, principal: str, items: Sequence[Item], *,
        dry_run: bool = False, key: str | None = None, recorded_at: Instant | None = None,
        standing: Standing = ON_THIS_MACHINE, authority: Authority = OWNER,
    ) -> Written:  # fmt: skip
        """Do all of `items`, in order, in one transaction, or none of them.

        `key` makes a retry answer with the receipt of the first attempt; a dry run neither looks it up nor keeps it.
        `recorded_at` is for privileged importers: it must lie after the newest commit and not after the clock.
        `standing` is what the principal may do in this scope, `authority` how far policy trusts it; by both some claims
        are held, not believed. Raises `Incorrect` and its kinds with a violation per thing that is wrong, `Forbidden`
        where the namespace is another's, `KeyReused`, `VersionChanged`, `NotFound`, `Busy`, `Unavailable`; nothing is
        written then.
        """
        with refusals_told(self._observer):
            written = self._write(scope, principal, items, dry_run, key, recorded_at, standing, authority)
        if not (written.replayed or dry_run):
            self._observer.wrote(scope.tenant, written.receipt)
        return written

    def _write(
        self, scope: Scope, principal: str, items: Sequence[Item], dry_run: bool, key: str | None,
        recorded_at: Instant | None, standing: Standing, authority: Authority,
    ) -> Written:  # fmt: skip
        request = b"" if key is None else _digest(key, scope, items, recorded_at)
        document: dict[str, JSON] | None = None
        schema, seeded, checked = self._checked(scope, items)
        try:
            with self._store.write(scope) as tx:
                if key is not None and not dry_run:
                    earlier = replayed(tx, principal, key, request, self._clock.now())
                    if earlier is not None:
                        return earlier
                if not _reviews(items):
                    owns = admit(tx, principal, standing, self._clock.now())
                    authority = replace(authority, owns=owns)
                if tx.head.schema_version != seeded:
                    schema = self._stored(scope, tx)
                    checked = check(items, schema, items_max=self._items_max)
                context = self._context(tx.head, principal, schema, recorded_at, authority)
                finished = Transact(tx, context, checked).run()
                if dry_run:
                    raise _DryRun
                if finished.changes is not None:
                    seed = schema if tx.head.schema_version == 0 else None
                    self._commit(tx, replace(finished.changes, schema=seed), context.ledger, finished)
                if key is not None:
                    until = Instant(context.now + self._key_days * DAY)
                    document = finished.receipt.document()
                    tx.remember(principal, key, kept(request, document), until)
        except _DryRun:
            document = replace(finished.receipt, dry_run=True).document()
        return Written(receipt=document or finished.receipt.document(), replayed=False)

    def schema(self, scope: Scope) -> Schema:
        """The newest schema of the tenant; the core pack before its first commit, which seeds it."""
        return self._schema(scope)[0]

    def put_schema(
        self,
        scope: Scope,
        principal: str,
        pack: Pack,
        *,
        dry_run: bool = False,
        expected: Collection[int] | None = None,
        recorded_at: Instant | None = None,
    ) -> dict[str, JSON]:
        """Add a pack to the tenant's schema. What is stored keeps its past; conflicts are told, not rewritten.

        `expected` are the versions of the schema on which the author may have decided; `VersionChanged` if it has
        another now. `recorded_at` is for privileged importers, who bring the words before a past that uses them.

        Gives the version, what changed, and for each predicate that becomes functional the slots in which several
        values are certain at one instant. Raises `Incorrect` with a violation per thing that is wrong.
        """
        with self._store.write(scope) as tx:
            schema = self._stored(scope, tx)
            if expected is not None and schema.version not in expected:
                raise VersionChanged(
                    f"the schema is at version {schema.version}; it has changed since it was read",
                    members={"version": schema.version},
                )
            merged = merge(schema, pack)
            position = tx.head.position
            if merged.schema.version != tx.head.schema_version and not dry_run:
                context = self._context(tx.head, principal, merged.schema, recorded_at, OWNER)
                position = context.position
                commit = journal.commit(_schema_change(context), tx.head, salts=self._commits.salt)
                tx.apply(commit, ledger=context.ledger)
        if not dry_run:
            self._observer.wrote(scope.tenant, {"position": position})
        functional = [c.predicate for c in merged.changes if c.field == "cardinality" and c.after == "functional"]
        conflicts = {name: conflicts_of(self._store, scope.tenant, name) for name in functional}
        return _schema_receipt(merged, conflicts, position, dry_run=dry_run)

    def _context(
        self, head: Head, principal: str, schema: Schema, recorded_at: Instant | None, authority: Authority
    ) -> Context:
        now = self._commits.time_after(head)
        if recorded_at is not None:
            now = _imported(recorded_at, head, self._clock.now())
        return Context(
            principal=principal, schema=schema, ledger=self._commits.ledger(head), position=head.position + 1,
            now=now, kind=Kind.WRITE if recorded_at is None else Kind.IMPORT, authority=authority,
            sources=self._sources,
        )  # fmt: skip

    def _commit(self, tx: Transaction, changes: ChangeSet, ledger: Ledger, finished: Finished) -> None:
        restated = [
            each
            for subject in dict.fromkeys(erasure.subject for erasure in changes.erasures)
            for each in restate(tx.payloads_about(subject), changes.erasures, salts=self._commits.salt)
        ]
        commit = journal.commit(changes, tx.head, salts=self._commits.salt, restated=restated, owners=finished.owners)
        tx.apply(commit, ledger=ledger)

    def _checked(self, scope: Scope, items: Sequence[Item]) -> tuple[Schema, int, list[Checked]]:
        """The items against the schema that is known here, since the lock tells whether it still holds, which saves
        a snapshot; against the stored one where they do not fit, or none is known."""
        known = self._schemas.get(scope.tenant)
        if known is not None:
            with suppress(Incorrect):
                return known, known.version, check(items, known, items_max=self._items_max)
        schema, seeded = self._schema(scope)
        return schema, seeded, check(items, schema, items_max=self._items_max)

    def _schema(self, scope: Scope) -> tuple[Schema, int]:
        """The schema, and the version that the ledger had when it was read: 0 before it was seeded."""
        with self._store.read(scope) as reader:
            stored = reader.head.schema_version
            known = self._schemas.get(scope.tenant)
            if known is None or known.version != stored:
                known = self._stored(scope, reader)
            return known, stored

    def _stored(self, scope: Scope, reader: Reader) -> Schema:
        schema = reader.schema()
        if schema is None:
            return self._core
        with self._schemas_lock:
            self._schemas[scope.tenant] = schema
        return schema


def _imported(recorded_at: Instant, head: Head, clock: Instant) -> Instant:
    if recorded_at <= head.recorded_at:
        code, why = "recorded_at_in_past", f"not after the newest commit, {format_instant(head.recorded_at)}"
    elif recorded_at > clock:
        code, why = "recorded_at_in_future", f"later than the clock, {format_instant(clock)}"
    else:
        return recorded_at
    detail = f"recorded_at {format_instant(recorded_at)} is {why}; import in recorded order"
    raise Incorrect(detail, violations=(Violation(pointer="/recorded_at", code=code, detail=detail),))


def _digest(key: str, scope: Scope, items: Sequence[Item], recorded_at: Instant | None) -> bytes:
    """What tells one request from another: where it writes, what, and as of when."""
    check_key(key)
    try:
        told = [[type(item).__name__, item] for item in items]
        body = orjson.dumps([scope, recorded_at, told], default=_absent, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # what JSON cannot carry is refused by `check`
        body = repr((scope, recorded_at, items)).encode("utf-8", "backslashreplace")
    return hashlib.sha256(body).digest()


def _absent(given: object) -> list[object]:
    """How an absent value is told from every value: a list is none."""
    if not isinstance(given, Absent):
        raise TypeError(f"{type(given).__name__} is no JSON")
    return []


def _reviews(items: Sequence[Item]) -> bool:
    """Whether nothing is said: who decides on what others said, or sweeps, need not own the namespace."""
    return all(isinstance(item, Promote | Reject | Expire) for item in items)


def _schema_change(context: Context) -> ChangeSet:
    return ChangeSet(
        position=context.position, recorded_at=context.now, kind=Kind.SCHEMA, principal=context.principal,
        schema=context.schema,
    )  # fmt: skip


def _schema_receipt(merged: Merged, conflicts: Mapping[str, JSON], position: int, *, dry_run: bool) -> dict[str, JSON]:
    return {
        "version": merged.schema.version,
        "position": position,
        "dry_run": dry_run,
        "changes": [
            {"predicate": c.predicate, "field": c.field, "before": c.before, "after": c.after} for c in merged.changes
        ],
        "conflicts": conflicts,
    }
