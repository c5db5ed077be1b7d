"""Issued keys and the owners of namespaces in Neo4j: nodes apart from memory.

A key that was revoked is read as such from the moment of the commit: nothing here is read as of a head.
"""

from graph.access import AccessStore, no_key, permits_of, permits_text, prefix_taken
from graph.neo4j_store.codec import Row
from graph.neo4j_store.database import Database
from graph.neo4j_store.snapshot import Run
from ontology.access import ApiKey, Ownership, PrincipalKind, Revocation
from ontology.errors import Fault
from ontology.scope import Namespace, Scope, Tenant


class Neo4jAccess:
    """Reads; each in a transaction of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def key(self, digest: bytes) -> ApiKey | None:
        rows = self._database.run("key", {"digest": digest.hex()})
        return _key(rows[0]) if rows else None

    def has_keys(self) -> bool:
        return bool(self._database.run("has_keys", {})[0][0])

    def keys(self, tenant: Tenant, *, limit: int, after: str) -> list[ApiKey]:
        return [_key(row) for row in self._database.run("keys", {"tenant": tenant, "after": after, "limit": limit})]

    def owners(self, tenant: Tenant, *, limit: int, after: str) -> list[Ownership]:
        rows = self._database.run("owners", {"tenant": tenant, "after": after, "limit": limit})
        return [_ownership(row) for row in rows]


class Neo4jAccessTransaction:
    """The changes, as a part of a transaction."""

    __slots__ = ()

    _run: Run
    _scope: Scope

    def put_key(self, key: ApiKey) -> None:
        if key.tenant != self._scope.tenant or key.revocation is not None:
            raise Fault(f"a new key of tenant {key.tenant!r} is kept with tenant {self._scope.tenant!r}")
        row: dict[str, object] = {
            "prefix": key.prefix, "digest": key.digest.hex(), "tenant": key.tenant, "principal": key.principal,
            "kind": key.kind.value, "permits": permits_text(key.permits), "may_import": key.may_import,
            "created_at": key.created_at, "created_by": key.created_by, "expires_at": key.expires_at,
        }  # fmt: skip
        if not self._run("put_key", {"row": row})[0][0]:
            raise prefix_taken(key.prefix)

    def revoke_key(self, prefix: str, revocation: Revocation) -> ApiKey:
        asked = {"tenant": self._scope.tenant, "prefix": prefix, "at": revocation.at, "by": revocation.by}
        rows = self._run("revoke_key", asked)
        if not rows:
            raise no_key(prefix)
        return _key(rows[0])

    def owner(self) -> Ownership | None:
        rows = self._run("owner", {"tenant": self._scope.tenant, "namespace": self._scope.namespace})
        return _ownership(rows[0]) if rows else None

    def own(self, ownership: Ownership) -> None:
        asked: dict[str, object] = {
            "tenant": self._scope.tenant, "namespace": ownership.namespace, "owner": ownership.owner,
            "since": ownership.since, "by": ownership.by,
        }  # fmt: skip
        self._run("put_owner", asked)


def _key(row: Row) -> ApiKey:
    prefix, digest, tenant, principal, kind, permits, may_import, created_at, created_by, expires_at, at, by = row
    return ApiKey(
        prefix=prefix, digest=bytes.fromhex(digest), tenant=Tenant(tenant), principal=principal,
        kind=PrincipalKind(kind), permits=permits_of(permits), may_import=may_import, created_at=created_at,
        created_by=created_by, expires_at=expires_at, revocation=None if at is None else Revocation(at=at, by=by),
    )  # fmt: skip


def _ownership(row: Row) -> Ownership:
    namespace, owner, since, by = row
    return Ownership(namespace=Namespace(namespace), owner=owner, since=since, by=by)


_conforms: type[AccessStore] = Neo4jAccess
