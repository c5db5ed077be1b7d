"""A tenant's ledger, row by row."""

from collections.abc import Iterator

from graph.ledger import read_ledger
from graph.sqlite_store.connection import Connection
from ontology.ids import Ledger
from ontology.scope import Tenant


def ledger_rows(connection: Connection, tenant: Tenant) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Every row, read one by one; `connection` keeps its transaction until the last."""
    pk, ledger = connection.one("tenant", (tenant,)) or (-1, Ledger(""))
    each = connection.each
    stored = {
        "schema": each("ledger_schemas", (pk,)),
        "entity": each("ledger_entities", (pk,)),
        "episode": each("ledger_episodes", (pk,)),
        "kept": each("ledger_kept", (pk,)),
        "claim": each("ledger_claims", (pk,)),
        "transition": each("ledger_transitions", (pk,)),
        "quote": each("ledger_quotes", (pk,)),
        "version": each("ledger_versions", (pk,)),
        "support": each("ledger_support", (pk,)),
        "record": each("ledger_records", (pk,)),
        "tombstone": each("ledger_tombstones", (pk,)),
    }
    return read_ledger(tenant, ledger, stored)
