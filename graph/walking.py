"""Walking the graph a layer at a time: which facts lie around some entities, and the facts themselves, many at once.

A walk looks at more edges than it gives. So it reads of each edge no more than where it leads and its place in the
order, and the whole facts, with their ends and their support, of those alone that are in the answer.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ontology.facts import AsOf, Fact, FactVersion, Slot
from ontology.ids import EntityId, FactId
from ontology.instants import Instant


class Edge(NamedTuple):
    """A fact as a walk sees it."""

    fact: FactId
    subject: EntityId
    target: EntityId | None
    """The entity that is its value; `None` where its value is none."""
    recorded_from: Instant


class WalkReader(Protocol):
    """What a walk asks of a snapshot of one scope."""

    def around(self, entities: Sequence[EntityId], as_of: AsOf, *, limit: int) -> Mapping[EntityId, Sequence[Edge]]:
        """Of each entity the facts visible at `as_of` that are about it, then those that point at it, each once.

        Both come latest to hold first, by (valid_from, recorded_from, ordinal) backwards, `limit` in all of each
        entity: of one with very many facts no more are read. Whoever asks for one more than is wanted learns whether
        there are more. An entity with no facts is left out.
        """
        ...

    def facts(self, ids: Sequence[FactId], known_at: Instant) -> Mapping[FactId, Fact]:
        """Versions of the scope by id, in any order, as known at `known_at`, or when they were last believed if that
        is earlier. One that is not there is left out."""
        ...

    def entity_edges(self, slots: Sequence[Slot], as_of: AsOf, *, limit: int) -> Sequence[FactVersion]:
        """Versions visible at `as_of` whose value is an entity, slot after slot in the order given, in each by
        (valid_from, recorded_from, ordinal), `limit` at most."""
        ...
