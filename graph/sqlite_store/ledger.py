"""A tenant's ledger as plain rows, in the order that all stores share."""

import json
from collections.abc import Iterator
from typing import Final

from graph.ledger import LedgerItem, ledger_row
from graph.sqlite_store import codec
from graph.sqlite_store.connection import Connection, Row
from ontology.claims import Episode, Source
from ontology.ids import EpisodeId, Ledger
from ontology.instants import OPEN_END
from ontology.schema_document import schema_from_document
from ontology.scope import Namespace, Purpose, Scope, Tenant

_ALL: Final = OPEN_END
_ENDED: Final = OPEN_END - 1
"""The greatest `ended_position` of the claims that are asked for."""


def ledger_rows(connection: Connection, tenant: Tenant) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Every row, read one by one; `connection` keeps its transaction until the last."""
    for kind, item in _Items(connection, tenant).all():
        yield kind, ledger_row(kind, item)


class _Items:
    """The items of a ledger as domain values."""

    def __init__(self, connection: Connection, tenant: Tenant) -> None:
        self._connection = connection
        self._tenant = tenant
        self._scopes: dict[tuple[str, str], Scope] = {}
        row = connection.one("tenant", (tenant,))
        self._tenant_pk, self._ledger = (-1, Ledger("")) if row is None else row

    def all(self) -> Iterator[tuple[str, LedgerItem]]:
        each, tenant = self._connection.each, self._tenant_pk
        for row in each("ledger_schemas", (tenant,)):
            yield "schema", schema_from_document(json.loads(row[0]))
        for row in each("ledger_entities", (tenant,)):
            yield "entity", codec.entity(self._ledger, Namespace(row[0]), row[1:])
        for id, source, observed_at, root in each("ledger_episodes", (tenant,)):
            yield "episode", Episode(id=EpisodeId(id), source=Source(source), observed_at=observed_at, root=root)
        for row in each("ledger_claims", (tenant, _ALL)):
            yield "claim", codec.told(self._ledger, self._scope(row), row).claim
        for row in each("ledger_claims", (tenant, _ENDED)):
            ending = codec.told(self._ledger, self._scope(row), row).ending
            if ending is not None:
                yield "ending", ending
        for row in each("ledger_versions", (tenant,)):
            slot = codec.slot(self._ledger, self._scope(row), row[11:15])
            yield "version", codec.version(self._ledger, slot, row[:11])
        for row in each("ledger_support", (tenant,)):
            slot = codec.slot(self._ledger, self._scope(row), row[5:9])
            yield "support", codec.support(slot, row[0], row[1:5], row[1])

    def _scope(self, row: Row) -> Scope:
        """The scope whose namespace and purpose are the last two columns."""
        names = row[-2], row[-1]
        if names not in self._scopes:
            self._scopes[names] = Scope(tenant=self._tenant, namespace=Namespace(row[-2]), purpose=Purpose(row[-1]))
        return self._scopes[names]
