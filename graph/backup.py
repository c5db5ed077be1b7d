"""What a backup is made of: the journals of tenants, sealed, and what a server needs beside them to go on.

A backup holds what cannot be had again: every event with its payloads, which keys were issued (their digests) and to
whom namespaces belong, and which episodes are still to be read. It does not hold what was answered under idempotency
keys, nor the receipts of what was read.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from graph.access import permits_of, permits_text
from graph.backup_lines import BackupWriter, Ended
from graph.journal import NO_DIGEST
from graph.ports import MemoryStore
from graph.sealing import Sealing
from graph.transfer import EVENTS_PER_PAGE, Progress, events_after
from ontology.access import ApiKey, Ownership, PrincipalKind, Revocation
from ontology.ids import EpisodeId, OperationId
from ontology.instants import Instant
from ontology.operations import episode_of
from ontology.scope import Namespace, Tenant, scope_of

PAGE: Final = 1000
KEYS: Final = "keys"
OWNERS: Final = "owners"

Listed = TypeVar("Listed")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    """What is in a backup that was made."""

    tenants: dict[Tenant, Ended]
    left_out: int
    """Payloads that are in none, since the keys of their owners were destroyed."""

    @property
    def events(self) -> int:
        return sum(ended.events for ended in self.tenants.values())


def back_up(
    store: MemoryStore,
    tenants: Sequence[Tenant],
    sealing: Sealing,
    write_line: Callable[[bytes], object],
    *,
    tree: str,
    made_at: Instant,
    progress: Progress | None = None,
) -> BackedUp:
    """Write a backup of these tenants line by line, each with its line end, while others read and write.

    Each tenant is as of one snapshot. `tree` names the keys; `progress` is told how many events there are so far.
    """
    writer = BackupWriter(write_line, sealing, tree, made_at)
    done: dict[Tenant, Ended] = {}
    left_out = events = 0
    for tenant in tenants:
        unread_after, unread = _to_be_read(store, tenant)
        kept = {KEYS: _keys(store, tenant), OWNERS: _owners(store, tenant)}
        with store.read(scope_of(tenant)) as reader:
            writer.open_tenant(tenant, reader.head.ledger, unread_after)
            for ids in _pages(unread):
                writer.unread(ids)
            for what, rows in kept.items():
                for some in _pages(rows):
                    writer.beside(tenant, what, some)
            ended = Ended(events=0, position=0, digest=NO_DIGEST)
            for event, payloads in events_after(reader, 0):
                left_out += writer.event(tenant, event, payloads)
                ended = Ended(events=ended.events + 1, position=event.position, digest=event.digest)
                events += 1
                if progress is not None and events % EVENTS_PER_PAGE == 0:
                    progress(events)
        writer.close_tenant(tenant, ended)
        done[tenant] = ended
    writer.manifest()
    return BackedUp(tenants=done, left_out=left_out)


def key_of(tenant: Tenant, row: dict[str, Any]) -> ApiKey:
    """An issued key as a backup has it. Raises `KeyError`, `TypeError`, `ValueError` for what is none."""
    ended = row["revoked"]
    return ApiKey(
        prefix=str(row["prefix"]),
        digest=bytes.fromhex(row["digest"]),
        tenant=tenant,
        principal=str(row["principal"]),
        kind=PrincipalKind(row["kind"]),
        permits=permits_of(row["permits"]),
        may_import=bool(row["may_import"]),
        created_at=Instant(row["created_at"]),
        created_by=str(row["created_by"]),
        expires_at=Instant(row["expires_at"]),
        revocation=None if ended is None else Revocation(at=Instant(ended[0]), by=str(ended[1])),
    )


def ownership_of(row: dict[str, Any]) -> Ownership:
    """To whom a namespace belongs, as a backup has it. Raises as `key_of` does."""
    return Ownership(
        namespace=Namespace(row["namespace"]),
        owner=str(row["owner"]),
        since=Instant(row["since"]),
        by=str(row["by"]),
    )


def _keys(store: MemoryStore, tenant: Tenant) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    after = ""
    while page := store.access.keys(tenant, limit=PAGE, after=after):
        rows += map(_key_row, page)
        after = page[-1].prefix
    return rows


def _key_row(key: ApiKey) -> dict[str, object]:
    ended = key.revocation
    return {
        "prefix": key.prefix, "digest": key.digest.hex(), "principal": key.principal, "kind": key.kind.value,
        "permits": permits_text(key.permits), "may_import": key.may_import, "created_at": key.created_at,
        "created_by": key.created_by, "expires_at": key.expires_at,
        "revoked": None if ended is None else (ended.at, ended.by),
    }  # fmt: skip


def _owners(store: MemoryStore, tenant: Tenant) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    after = ""
    while page := store.access.owners(tenant, limit=PAGE, after=after):
        rows += [{"namespace": o.namespace, "owner": o.owner, "since": o.since, "by": o.by} for o in page]
        after = page[-1].namespace
    return rows


def _to_be_read(store: MemoryStore, tenant: Tenant) -> tuple[int, list[EpisodeId]]:
    """Up to which position it was looked, and the episodes up to there that are not read.

    This comes before the snapshot: what is read in between is read again after a restore, and nothing is passed over.
    """
    with store.read(scope_of(tenant)) as reader:
        position = reader.head.position
    unread: list[EpisodeId] = []
    after: OperationId | None = None
    while page := store.queue.unread(tenant, limit=PAGE, after=after):
        unread += map(episode_of, page)
        after = page[-1]
    return position, unread


def _pages(rows: Sequence[Listed]) -> Iterator[Sequence[Listed]]:
    for start in range(0, len(rows), PAGE):
        yield rows[start : start + PAGE]
