"""Issued keys and the owners of namespaces in SQLite."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from graph.access import AccessStore, no_key, permits_of, permits_text, prefix_taken
from graph.sqlite_store.connection import Connection, Row
from ontology.access import ApiKey, Ownership, PrincipalKind, Revocation
from ontology.errors import Fault
from ontology.scope import Namespace, Scope, Tenant


class SqliteAccess:
    """Reads; each in a transaction of its own."""

    def __init__(self, reading: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._reading = reading

    def key(self, digest: bytes) -> ApiKey | None:
        with self._reading() as connection:
            row = connection.one("key", (digest,))
        return None if row is None else _key(row)

    def has_keys(self) -> bool:
        with self._reading() as connection:
            return bool(connection.all("has_keys")[0][0])

    def keys(self, tenant: Tenant, *, limit: int, after: str) -> list[ApiKey]:
        with self._reading() as connection:
            return [_key(row) for row in connection.all("keys", (tenant, after, limit))]

    def owners(self, tenant: Tenant, *, limit: int, after: str) -> list[Ownership]:
        with self._reading() as connection:
            return [_ownership(row) for row in connection.all("owners", (tenant, after, limit))]


class SqliteAccessTransaction:
    """The changes, as a part of a transaction."""

    __slots__ = ()

    _connection: Connection
    _scope: Scope

    def put_key(self, key: ApiKey) -> None:
        if key.tenant != self._scope.tenant or key.revocation is not None:
            raise Fault(f"a new key of tenant {key.tenant!r} is kept with tenant {self._scope.tenant!r}")
        row = (
            key.prefix, key.digest, key.tenant, key.principal, key.kind.value, permits_text(key.permits),
            int(key.may_import), key.created_at, key.created_by, key.expires_at,
        )  # fmt: skip
        if self._connection.one("put_key", row) is None:
            raise prefix_taken(key.prefix)

    def revoke_key(self, prefix: str, revocation: Revocation) -> ApiKey:
        row = self._connection.one("revoke_key", (self._scope.tenant, prefix, revocation.at, revocation.by))
        if row is None:
            raise no_key(prefix)
        return _key(row)

    def owner(self) -> Ownership | None:
        row = self._connection.one("owner", (self._scope.tenant, self._scope.namespace))
        return None if row is None else _ownership(row)

    def own(self, ownership: Ownership) -> None:
        row = self._scope.tenant, ownership.namespace, ownership.owner, ownership.since, ownership.by
        self._connection.all("put_owner", row)


def _key(row: Row) -> ApiKey:
    prefix, digest, tenant, principal, kind, permits, may_import, created_at, created_by, expires_at, at, by = row
    return ApiKey(
        prefix=prefix, digest=digest, tenant=Tenant(tenant), principal=principal, kind=PrincipalKind(kind),
        permits=permits_of(permits), may_import=bool(may_import), created_at=created_at, created_by=created_by,
        expires_at=expires_at, revocation=None if at is None else Revocation(at=at, by=by),
    )  # fmt: skip


def _ownership(row: Row) -> Ownership:
    namespace, owner, since, by = row
    return Ownership(namespace=Namespace(namespace), owner=owner, since=since, by=by)


_conforms: type[AccessStore] = SqliteAccess
