"""A tenant's ledger, row by row."""

from collections.abc import Iterator

from graph.ledger import read_ledger
from graph.neo4j_store import codec
from graph.neo4j_store.codec import Row
from graph.neo4j_store.database import Database
from graph.ports import Head
from ontology.ids import Ledger
from ontology.scope import Tenant


def ledger_rows(database: Database, tenant: Tenant, head: Head) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Every row as of a head, read one by one."""
    asked = {"tenant": tenant, "position": head.position, "recorded_at": head.recorded_at}

    def each(query: str) -> Iterator[Row]:
        return database.each(query, asked)

    stored = {
        "schema": each("ledger_schemas"),
        "entity": each("ledger_entities"),
        "episode": each("ledger_episodes"),
        "kept": each("ledger_kept"),
        "claim": map(codec.entry, each("ledger_claims")),
        "transition": each("ledger_transitions"),
        "quote": each("ledger_quotes"),
        "version": ([*codec.version(row[:11], head.recorded_at), *row[11:]] for row in each("ledger_versions")),
        "record": each("ledger_records"),
        "support": ([codec.key(row[0]), *row[1:]] for row in each("ledger_support")),
        "tombstone": each("ledger_tombstones"),
    }
    return read_ledger(tenant, head.ledger or Ledger(""), stored)
