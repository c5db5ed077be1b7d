"""The bare driver: queries as one would write them by hand, and what the store's commits hold, to write it so.

The rows of a commit are those that the store gave its query `apply`, under other keys, so that both sides write the
same nodes and relationships into the same indexes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, Final, LiteralString

from neo4j import ManagedTransaction

from graph.neo4j_store.database import QUERIES, Work

OPEN_END: Final = 2**62

STATE_NOW: Final = """
MATCH (s:Slot {pair: $pair})
MATCH ()-[f:FACT]->() USING INDEX f:FACT(slot, recorded_to, valid_from)
WHERE f.slot = s.slot AND f.recorded_to = 4611686018427387904 AND f.valid_from <= $valid_at AND f.valid_to > $valid_at
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from <= 4611686018427387904
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN u
}
RETURN f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to, f.subject_position, f.subject_ordinal, f.predicate,
  f.language, s.plain, u.recorded_from, u.sources, u.occurrences, u.doubt, f.said
"""

STATE_AS_OF: Final = """
MATCH (s:Slot {pair: $pair})
MATCH ()-[f:FACT]->() USING INDEX f:FACT(slot, valid_from, recorded_from)
WHERE f.slot = s.slot AND f.valid_from <= $valid_at AND f.valid_to > $valid_at
  AND f.recorded_from <= $known_at AND f.recorded_to > $known_at
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN u
}
RETURN f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to, f.subject_position, f.subject_ordinal, f.predicate,
  f.language, s.plain, u.recorded_from, u.sources, u.occurrences, u.doubt, f.said
"""

EDGES: Final = """
UNWIND $entities AS entity
MATCH (e:Entity {place: entity})
CALL (e) {
  MATCH (e)-[f:FACT]-(o)
  WHERE f.scope = $scope AND f.valid_from <= $valid_at AND f.valid_to > $valid_at
    AND f.recorded_from <= $known_at AND f.recorded_to > $known_at
  RETURN f, o ORDER BY f.valid_from DESC LIMIT $limit
}
RETURN f.place, f.recorded_from, e.place, o.place
"""
FACTS: Final = """
UNWIND $places AS place
MATCH ()-[f:FACT]->() WHERE f.place = place
MATCH (s:Slot {slot: f.slot})
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN u
}
RETURN f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to, f.subject_position, f.subject_ordinal, f.predicate,
  f.language, s.plain, u.recorded_from, u.sources, u.occurrences, u.doubt, f.said
"""

_LOCK: Final = "MATCH (k:Clock {tenant: $tenant}) SET k.locked_by = $nonce"
_READ: Final = """
MATCH (k:Clock {tenant: $tenant}) MATCH (s:Slot {slot: $slot})
MATCH ()-[f:FACT]->() USING INDEX f:FACT(slot, recorded_to, valid_from)
WHERE f.slot = $slot AND f.recorded_to = 4611686018427387904 AND f.valid_from >= -4611686018427387904
RETURN k.position, k.recorded_at, k.digest, s.version, s.last_observed, f.place, f.said, f.value_key, f.valid_from,
  f.valid_to
"""
_WRITE: Final = """
MATCH (k:Clock {tenant: $tenant})
MATCH (g:Agent {tenant: $tenant, agent: $principal})
MATCH (s:Slot {slot: $slot.slot})
MATCH (e:Entity {place: $entity})
MATCH (v:Value {said: $values[0].said})
MATCH ()-[old:FACT]->() WHERE old.place = $closed
MATCH (before:Claim {place: $hidden[0]})-[was:SUPPORTS]->()
WHERE was.said = $hidden[1] AND was.valid_from = $hidden[2] AND was.recorded_to = 4611686018427387904
SET k += $clock
SET s += $slot
SET old.recorded_to = $recorded_at
SET was.recorded_to = $recorded_at
CREATE (a:Activity) SET a = $activity
CREATE (a)-[:WAS_ASSOCIATED_WITH]->(g)
CREATE (c:Claim)-[:WAS_GENERATED_BY]->(a) SET c = $claim
CREATE (y:Payload) SET y = $payload
CREATE (w:Value) SET w = $values[1]
CREATE (t:Statement:Text) SET t = $statement
CREATE (e)-[f:FACT]->(v) SET f = $facts[0]
CREATE (e)-[n:FACT]->(w) SET n = $facts[1]
CREATE (before)-[x:SUPPORTS]->(e) SET x = $shown[0]
CREATE (c)-[z:SUPPORTS]->(e) SET z = $shown[1]
CREATE (u:Support) SET u = $support
RETURN count(u)
"""

_BULK: Final[tuple[tuple[str, LiteralString], ...]] = (
    ("entities", "UNWIND $rows AS row CREATE (n:Entity) SET n = row"),
    ("slots", "UNWIND $rows AS row CREATE (n:Slot) SET n = row"),
    ("values", "UNWIND $rows AS row CREATE (n:Value) SET n = row"),
    ("statements", "UNWIND $rows AS row CREATE (n:Statement:Text) SET n = row"),
    ("payloads", "UNWIND $rows AS row CREATE (n:Payload) SET n = row"),
    ("support", "UNWIND $rows AS row CREATE (n:Support) SET n = row"),
    (
        "claims",
        "MATCH (a:Activity {tenant: $tenant, position: $position}) "
        "UNWIND $rows AS row CREATE (n:Claim)-[:WAS_GENERATED_BY]->(a) SET n = row",
    ),
    (
        "facts",
        "UNWIND $rows AS row MATCH (s:Entity {place: row[0]}) MATCH (o:Value {said: row[1]}) "
        "CREATE (s)-[f:FACT]->(o) SET f = row[2]",
    ),
    (
        "shown",
        "UNWIND $rows AS row MATCH (c:Claim {place: row[0]}) MATCH (s:Entity {place: row[1]}) "
        "CREATE (c)-[x:SUPPORTS]->(s) SET x = row[2]",
    ),
)
_BEGIN: Final = """
MERGE (k:Clock {tenant: $tenant}) SET k += $clock MERGE (g:Agent {tenant: $tenant, agent: $principal})
CREATE (a:Activity) SET a = $activity CREATE (a)-[:WAS_ASSOCIATED_WITH]->(g)
"""

Named = dict[str, Any]


class Commit:
    """What one commit wrote, as properties by name, under the keys of another tenant."""

    def __init__(self, parameters: Sequence[Mapping[str, Any]], tenant: str, to: str) -> None:
        """`parameters` are those of each run of `apply` that was part of it."""
        first = _moved(parameters[0], tenant, to)
        parts = [_moved(run["parts"], tenant, to) for run in parameters]
        rows = [[row for part in parts for row in part[number]] for number in range(len(parts[0]))]
        at = first["recorded_at"]
        self.tenant, self.position, self.principal, self.recorded_at = to, first["position"], first["principal"], at
        self.clock = {name: value for name, value in first.items() if name in _CLOCK}
        self.activity = {name: first[name] for name in _ACTIVITY}
        self.entities = [_named(_ENTITY, row) for row in rows[1]]
        self.slots = [_named(_SLOT, row) for row in rows[4]]
        self.claims = [_named(_CLAIM, row) for row in rows[5]]
        self.payloads = [_named(_PAYLOAD, row) for row in rows[6]]
        self.closed, self.hidden = rows[9], rows[10]
        self.values = [_named(_VALUE, row[1]) for row in rows[12]]
        self.facts = [(row[0], row[1][0], _named(_FACT, row[2])) for row in rows[12]]
        ends = {"recorded_from": at, "recorded_to": OPEN_END}
        self.shown = [(row[0], row[1], _named(_SHOWN, row) | ends) for row in rows[13]]
        self.support = [_named(_SUPPORT, row) for row in rows[14]]

    def write_single(self, transaction: ManagedTransaction) -> None:
        """One item that supersedes another, in three statements."""
        slot, new = self.slots[0], self.claims[0]["place"]
        shown = sorted(self.shown, key=lambda each: each[0] == new)
        pairs = sorted(zip(self.values, self.facts, strict=True), key=lambda pair: pair[1][2]["valid_to"] == OPEN_END)
        transaction.run(_LOCK, tenant=self.tenant, nonce=str(self.position)).consume()
        if not transaction.run(_READ, tenant=self.tenant, slot=slot["slot"]).values():
            raise AssertionError("the bare side finds no version to supersede")
        found = transaction.run(
            _WRITE, tenant=self.tenant, principal=self.principal, recorded_at=self.recorded_at, clock=self.clock,
            slot=slot, entity=self.facts[0][0], closed=self.closed[0], hidden=self.hidden[0],
            activity=self.activity, claim=self.claims[0], payload=self.payloads[0],
            values=[value for value, _ in pairs], facts=[fact for _, (_, _, fact) in pairs],
            statement=_statement(pairs[1][1][2]),
            shown=[row for _, _, row in shown], support=self.support[0],
        ).values()  # fmt: skip
        if found != [[1]]:
            raise AssertionError("the bare side does not find what the store found")

    def write_bulk(self, transaction: ManagedTransaction, seen: set[str]) -> None:
        """All that it made, an `UNWIND` for each kind; nothing is looked up twice and nothing changed afterwards."""
        transaction.run(
            _BEGIN, tenant=self.tenant, principal=self.principal, clock=self.clock, activity=self.activity
        ).consume()  # fmt: skip
        stated = set(seen)
        rows = {
            "entities": self.entities, "claims": self.claims, "payloads": self.payloads, "support": self.support,
            "facts": self.facts, "shown": self.shown, "slots": _new(self.slots, "slot", seen),
            "statements": [_statement(fact) for fact in _new([fact for _, _, fact in self.facts], "said", stated)],
            "values": _new(self.values, "said", seen),
        }  # fmt: skip
        for name, statement in _BULK:
            if rows[name]:
                transaction.run(statement, rows=rows[name], tenant=self.tenant, position=self.position).consume()

    def end_bulk(self, transaction: ManagedTransaction) -> None:
        """What it closed and hid, for single writes that go on from there."""
        transaction.run(
            "UNWIND $rows AS place MATCH ()-[f:FACT]->() WHERE f.place = place SET f.recorded_to = $at",
            rows=self.closed, at=self.recorded_at,
        ).consume()  # fmt: skip
        transaction.run(
            "UNWIND $rows AS row MATCH (:Claim {place: row[0]})-[x:SUPPORTS]->() WHERE x.said = row[1] "
            "AND x.valid_from = row[2] AND x.recorded_to = 4611686018427387904 SET x.recorded_to = $at",
            rows=self.hidden, at=self.recorded_at,
        ).consume()  # fmt: skip


@contextmanager
def recorded(commits: list[list[Mapping[str, Any]]]) -> Iterator[None]:
    """Collect, for each transaction of the store in the block, the parameters of its runs of `apply`."""
    run, commit = Work.run, Work.commit
    open_runs: list[Mapping[str, Any]] = []

    def noting(work: Work, query: str, parameters: Mapping[str, object]) -> list[Any]:
        if query == "apply":
            open_runs.append(parameters)
        return run(work, query, parameters)

    def committing(work: Work) -> None:
        commit(work)
        if open_runs:
            commits.append(list(open_runs))
            open_runs.clear()

    Work.run, Work.commit = noting, committing  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Work.run, Work.commit = run, commit  # type: ignore[method-assign]


def _columns(part: int, of: str) -> dict[str, int]:
    """Which property stands where in a row of a part of `apply`, by its text."""
    text = QUERIES["apply"].split("UNWIND $parts[")[part + 1].partition("RETURN count")[0]
    return {name: int(number) for name, number in re.findall(rf"(\w+)(?::| =) {re.escape(of)}\[(\d+)\](?!\[)", text)}


def _named(columns: Mapping[str, int], row: Sequence[Any]) -> Named:
    return {name: row[number] for name, number in columns.items() if row[number] is not None}


def _statement(fact: Named) -> Named:
    return {"said": fact["said"], "scope": fact["scope"], "unwritten": fact["scope"]}


def _new(rows: Sequence[Named], key: str, seen: set[str]) -> list[Named]:
    new = [row for row in {row[key]: row for row in rows}.values() if row[key] not in seen]
    seen.update(row[key] for row in new)
    return new


def _moved(value: Any, tenant: str, to: str) -> Any:
    """The same under the keys of another tenant: those that name it, and hashes, hashed again."""
    match value:
        case dict():
            return {name: _moved(each, tenant, to) for name, each in value.items()}
        case list() | tuple():
            return [_moved(each, tenant, to) for each in value]
        case str() if value == tenant or value.startswith(tenant + "|"):
            return to + value[len(tenant) :]
        case str() if re.fullmatch(r"[0-9a-f]{32}", value):
            return blake2b(f"{to} {value}".encode(), digest_size=16).hexdigest()
        case _:
            return value


_ENTITY: Final = {"place": 0} | _columns(1, "p")
_SLOT: Final = {"slot": 0} | _columns(4, "p")
_CLAIM: Final = _columns(5, "p")
_PAYLOAD: Final = _columns(6, "p")
_FACT: Final = {name: number for name, number in _columns(12, "p[2]").items() if name != "unwritten"}
_VALUE: Final = _columns(12, "p[1]")
_SHOWN: Final = _columns(13, "p")
_SUPPORT: Final = _columns(14, "p")
_CLOCK: Final = frozenset({
    "ledger", "position", "recorded_at", "digest", "erasures", "schema_version", "previous_position",
    "previous_recorded_at", "previous_digest", "previous_erasures", "previous_schema_version",
})  # fmt: skip
_ACTIVITY: Final = ("tenant", "position", "recorded_at", "kind", "principal", "restated", "previous", "digest")
