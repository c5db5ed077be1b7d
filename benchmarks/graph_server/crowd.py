"""A crowd: the facts of a tenant copied by the server itself, under keys that nobody asks for.

A million facts take the better part of an hour through the writer. What an exact read meets of a large database are
its indexes, and those grow by a copy as by a fact that was told.
"""

from typing import Final, LiteralString

from neo4j import Query

from benchmarks.graph_server.place import DATABASE, Place
from benchmarks.timing import tell
from ontology.scope import Scope

_SLOTS: Final = """
MATCH (s:Slot) WHERE s.scope IN $scopes
CALL (s) {
  UNWIND range($first, $last) AS copy WITH s, '~' + copy AS mark
  CREATE (n:Slot) SET n = s {.*, slot: s.slot + mark, pair: s.pair + mark, subject: s.subject + mark,
    entity: s.entity + mark, scope: s.scope + mark}
} IN TRANSACTIONS OF 200 ROWS
"""
_SUPPORT: Final = """
MATCH (u:Support) WHERE u.tenant = $tenant
CALL (u) {
  UNWIND range($first, $last) AS copy WITH u, '~' + copy AS mark
  CREATE (n:Support) SET n = u {.*, said: u.said + mark, slot: u.slot + mark, tenant: u.tenant + mark}
} IN TRANSACTIONS OF 200 ROWS
"""
_FACTS: Final = """
MATCH (s)-[f:FACT]->(o) WHERE f.tenant = $tenant
CALL (s, f, o) {
  UNWIND range($first, $last) AS copy WITH s, f, o, '~' + copy AS mark
  CREATE (s)-[n:FACT]->(o) SET n = f {.*, place: f.place + mark, slot: f.slot + mark, said: f.said + mark,
    held: f.held + mark, scope: f.scope + mark, tenant: f.tenant + mark}
} IN TRANSACTIONS OF 200 ROWS
"""
_AT_ONCE: Final = 10
_SECONDS: Final = 1800.0
"""A server lets no query take so long unless it is told."""


def gather(place: Place, scope: Scope, facts: int, crowd: int) -> None:
    """Copy the `facts` of a scope until the database has `crowd` more."""
    scopes = [
        row[0] for row in place.run("MATCH (s:Scope) WHERE s.tenant = $tenant RETURN s.scope", tenant=scope.tenant)
    ]
    for first in range(0, crowd // facts, _AT_ONCE):
        last = min(first + _AT_ONCE, crowd // facts) - 1
        steps: tuple[LiteralString, ...] = (_SLOTS, _SUPPORT, _FACTS)
        for step in steps:
            with place.driver.session(database=DATABASE) as session:
                asked = Query(step, timeout=_SECONDS)
                session.run(asked, tenant=scope.tenant, scopes=scopes, first=first, last=last).consume()
        tell(f"  a crowd of {(last + 1) * facts:,} facts so far")
