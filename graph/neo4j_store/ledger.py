"""A tenant's ledger as plain rows, in the order that all stores share."""

import json
from collections.abc import Iterator
from typing import Final

from graph.ledger import LedgerItem, ledger_row
from graph.neo4j_store import codec
from graph.neo4j_store.codec import Row
from graph.neo4j_store.database import Database
from graph.ports import Head
from ontology.claims import Episode, Source
from ontology.ids import EpisodeId, Ledger
from ontology.instants import OPEN_END
from ontology.schema_document import schema_from_document
from ontology.scope import Namespace, Purpose, Scope, Tenant

_ALL: Final = OPEN_END
"""As the greatest `ended_position` of the claims that are asked for."""


def ledger_rows(database: Database, tenant: Tenant, head: Head) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Every row as of a head, read one by one."""
    for kind, item in _Items(database, tenant, head).all():
        yield kind, ledger_row(kind, item)


class _Items:
    """The items of a ledger as domain values."""

    def __init__(self, database: Database, tenant: Tenant, head: Head) -> None:
        self._database = database
        self._tenant = tenant
        self._head = head
        self._ledger = head.ledger or Ledger("")
        self._scopes: dict[tuple[str, str], Scope] = {}

    def all(self) -> Iterator[tuple[str, LedgerItem]]:
        head = self._head
        for row in self._each("ledger_schemas"):
            yield "schema", schema_from_document(json.loads(row[0]))
        for row in self._each("ledger_entities"):
            yield "entity", codec.entity(self._ledger, Namespace(row[0]), row[1:])
        for id, source, observed_at, root in self._each("ledger_episodes"):
            yield "episode", Episode(id=EpisodeId(id), source=Source(source), observed_at=observed_at, root=root)
        for row in self._each("ledger_claims", ended=_ALL):
            yield "claim", codec.told(self._ledger, self._scope(row), row, head.position).claim
        for row in self._each("ledger_claims", ended=head.position):
            ending = codec.told(self._ledger, self._scope(row), row, head.position).ending
            if ending is not None:
                yield "ending", ending
        for row in self._each("ledger_versions"):
            slot = codec.slot(self._ledger, self._scope(row), row[11:15])
            yield "version", codec.version(self._ledger, slot, row[:11], head.recorded_at)
        for row in self._each("ledger_support"):
            slot = codec.slot(self._ledger, self._scope(row), row[5:9])
            yield "support", codec.support(slot, codec.key(row[0]), row[1:5], row[1])

    def _each(self, query: str, **others: object) -> Iterator[Row]:
        head = self._head
        asked = {"tenant": self._tenant, "position": head.position, "recorded_at": head.recorded_at}
        return self._database.each(query, asked | others)

    def _scope(self, row: Row) -> Scope:
        """The scope whose namespace and purpose are the last two columns."""
        names = row[-2], row[-1]
        if names not in self._scopes:
            self._scopes[names] = Scope(tenant=self._tenant, namespace=Namespace(row[-2]), purpose=Purpose(row[-1]))
        return self._scopes[names]
