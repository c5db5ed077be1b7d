"""The indexes of vectors, which differ by what a server can do, and the two sides that a tenant has of each.

A fact and a chunk have one property for each side, `vector_a` and `vector_b`, and each property one index for all
tenants, without a number of dimensions: the server compares vectors of one number of dimensions alone. So a tenant may
change its model, and the dimensions with it, and nothing is made by name on the way.

From 2026 on a server filters by scope and by both times while it walks the index. One that cannot, a 5.26, gives the
nearest of all tenants; what is not of the scope is left out afterwards, and where too little is left, all of the scope
is compared.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from graph.neo4j_store.codec import Row
from graph.neo4j_store.database import QUERIES, Database
from graph.neo4j_store.migration import with_patience
from graph.searching import Model, Models

_CALENDAR: Final = re.compile(r"\d{4}\.")
_FOR: Final[Mapping[str, LiteralString]] = {
    "fact_vector_a": "FOR ()-[n:FACT]-() ON (n.vector_a)",
    "fact_vector_b": "FOR ()-[n:FACT]-() ON (n.vector_b)",
    "chunk_vector_a": "FOR (n:Chunk) ON (n.vector_a)",
    "chunk_vector_b": "FOR (n:Chunk) ON (n.vector_b)",
}
_FILTERS: Final[Mapping[str, LiteralString]] = {
    "fact": " WITH [n.scope, n.predicate, n.valid_from, n.valid_to, n.recorded_from, n.recorded_to]",
    "chunk": " WITH [n.written, n.recorded_at]",
}
_COSINE: Final[LiteralString] = " OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine'}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """What the vectors of a tenant are of."""

    serving: str
    """The side that is searched, `a` or `b`."""
    models: Mapping[str, Model]
    """Of each side that has one."""

    @property
    def other(self) -> str:
        return "b" if self.serving == "a" else "a"

    def side_of(self, name: str) -> str | None:
        return next((side for side, model in self.models.items() if model.name == name), None)

    def told(self) -> Models:
        return Models(serving=self.models.get(self.serving), target=self.models.get(self.other))

    def row(self) -> dict[str, object]:
        row: dict[str, object] = {"serving": self.serving}
        for side in ("a", "b"):
            model = self.models.get(side)
            row |= {side: model and model.name, f"{side}_dimensions": model and model.dimensions}
        return row


def sides(rows: list[Row]) -> Sides:
    """Of what `models` gives."""
    if not rows:
        return Sides(serving="a", models={})
    serving, *named = rows[0]
    pairs = {"a": named[:2], "b": named[2:]}
    found = {side: Model(name=name, dimensions=number) for side, (name, number) in pairs.items() if name is not None}
    return Sides(serving=serving, models=found)


def unfiltered(query: str) -> str:
    """The name of the query that asks an index of vectors without filters what this one asks with them."""
    return f"unfiltered_{query.replace('_facts_of_', '_facts_')}"


def can_filter(engine: str) -> bool:
    """Whether a server filters within an index of vectors, by its name and version."""
    return _CALENDAR.search(engine) is not None


def make_vector_indexes(database: Database, engine: str) -> None:
    """Make the indexes that are missing, and anew those that an older server made without filters.

    Several processes may do so at once: whoever clashes with another looks again.
    """
    with_patience(lambda: _make(database, can_filter(engine)))


def _make(database: Database, filters: bool) -> None:
    found = {name: (properties, state) for name, properties, state in database.run("vector_indexes", {})}
    for name in _FOR:
        if filters and name in found and len(found[name][0]) == 1:
            database.change(QUERIES["drop_index"], {"name": name})
            del found[name]
    missing = [name for name in _FOR if name not in found]
    for name in missing:
        database.change(_statement(name, filters), {})
    if missing or any(found[name][1] != "ONLINE" for name in _FOR):
        database.change(QUERIES["await_indexes"], {})


def _statement(name: str, filters: bool) -> LiteralString:
    dialect: LiteralString = "CYPHER 25 " if filters else ""
    named: Any = name
    within: LiteralString = _FILTERS[name.partition("_")[0]] if filters else ""
    made: LiteralString = f"{dialect}CREATE VECTOR INDEX {named} IF NOT EXISTS {_FOR[name]}{within}{_COSINE}"
    return made
