"""Whether an entity shows at two instants, and what it is called: words for people, where ids are for machines."""

from collections.abc import Iterable, Mapping
from typing import Final

from graph.ports import PAIRS_MAX, Page, Reader
from ontology.claims import Entity
from ontology.facts import AsOf
from ontology.ids import EntityId
from ontology.values import ValueType, entity_value, value_key

NAME: Final = "name"
ALIAS: Final = "alias"
NAMING: Final = frozenset({NAME, ALIAS})
"""The predicates whose values stand in the sentences about other facts."""
_NAMES_MAX: Final = 1_000
"""Of one question: an entity has few."""


def names_of(reader: Reader, entities: Iterable[EntityId], as_of: AsOf) -> dict[EntityId, tuple[str, ...]]:
    """The visible names of each entity, the one to call it by first: what is certain before what is possible, a text
    before one in a language, the latest first; then its aliases. One without a name is called by its key, one without
    a key by its id. An entity of another scope is called by its id."""
    ids = list(dict.fromkeys(entities))
    known: Mapping[EntityId, Entity] = reader.entities_by_id(ids) if ids else {}
    found: dict[EntityId, list[tuple[tuple[bool, bool, bool, int, str], str]]] = {id: [] for id in ids}
    pairs = [(id, predicate) for id in ids for predicate in (NAME, ALIAS)]
    for start in range(0, len(pairs), PAIRS_MAX):
        page = Page(_NAMES_MAX)
        for fact in reader.state(pairs[start : start + PAIRS_MAX], as_of, certain=False, page=page):
            version = fact.version
            rank = (
                version.slot.predicate == ALIAS, not version.certain, version.value.type is ValueType.LANGTEXT,
                -version.valid_from, version.value.text,
            )  # fmt: skip
            found[version.slot.subject].append((rank, version.value.text))
    return {id: _named(id, [text for _, text in sorted(found[id])], known.get(id)) for id in ids}


def shows(reader: Reader, id: EntityId, as_of: AsOf) -> bool:
    """Whether a fact that is visible at `as_of` is about an entity, or points at it: one that does not show is not
    there for the caller."""
    one = Page(1)
    return bool(
        reader.state([(id, None)], as_of, certain=False, page=one)
        or reader.holders(value_key(entity_value(id)), None, as_of, certain=False, page=one)
    )


def _named(id: EntityId, names: list[str], entity: Entity | None) -> tuple[str, ...]:
    if names:
        return tuple(dict.fromkeys(names))
    return (id,) if entity is None or entity.key is None else (entity.key,)
