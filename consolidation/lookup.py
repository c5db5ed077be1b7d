"""What a transaction looks up by name: entities, which it may create, episodes, slots and types.

Everything that the items name is fetched at once at the start, so that a large batch costs few reads.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from consolidation.check import (
    ByPlace,
    Checked,
    CheckedAssert,
    CheckedErase,
    CheckedReplace,
    CheckedRetract,
    CheckedRetractFact,
    Telling,
)
from consolidation.forgetting.graves import Graves
from consolidation.policy import Authority
from consolidation.vouching import Sources
from graph.ports import Page, Transaction
from ontology.claims import Entity, Episode, Source
from ontology.errors import Incorrect, Refused, Violation, shown
from ontology.events import Kind, SlotHead
from ontology.facts import AsOf, Slot
from ontology.ids import EntityId, EpisodeId, Ledger, Place, entity_id, is_recorded
from ontology.instants import OPEN_START, Instant
from ontology.schema import Predicate, Schema
from ontology.values import EntityMention, Value, ValueType, entity_value

TYPE: Final = "type"
"""The core predicate that says what an entity is."""
TYPES_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a transaction knows before its first item."""

    principal: str
    schema: Schema
    ledger: Ledger
    position: int
    now: Instant
    """Its recorded time."""
    kind: Kind
    authority: Authority
    sources: Sources


class Lookup:
    """Names and what they stand for, within one transaction."""

    def __init__(self, tx: Transaction, context: Context, items: Sequence[Checked]) -> None:
        self._tx = tx
        self._context = context
        self.created: dict[EntityId, Entity] = {}
        self.new_episodes: dict[EpisodeId, Episode] = {}
        mentions = [mention for item in items for mention in _mentions(item)]
        keys = {m.key for m in mentions if m.key is not None}
        ids = {m.id for m in mentions if m.id is not None}
        self._by_key = tx.entities_by_key(sorted(keys)) if keys else {}
        self._by_id = tx.entities_by_id(sorted(ids)) if ids else {}
        self._by_id |= {entity.id: entity for entity in self._by_key.values()}
        self._fetched = keys | ids
        named = {t.episode for t in map(_telling, items) if t is not None and t.episode is not None}
        self._episodes = tx.episodes(sorted(named)) if named else {}
        self._heads = tx.slot_heads(sorted(self._slots(items), key=_slot_order)) if self._by_id else {}
        self._types: dict[EntityId, frozenset[str]] = {}
        self.graves = Graves(tx)

    def entity(self, mention: EntityMention, at: str, *, create: bool = True, declares: bool = False) -> Entity:
        """The entity that is mentioned; one with a new key is created where the operation may `create` it.

        Where the schema is strict, only an item that `declares` its type may.
        """
        self._fetch(mention)
        if mention.id is not None:
            known = self._by_id.get(mention.id)
            if known is None:
                self.graves.refuse_id(mention.id, at)
                raise _unknown(f"no entity {shown(mention.id)} here", at, "not_found", "not-found")
            return known
        if mention.key is None:
            raise AssertionError("a mention has an id or a key")
        known = self._by_key.get(mention.key)
        if known is None:
            self.graves.refuse_key(mention.key, at)
            if not create:
                raise _unknown(f"no entity has the key {shown(mention.key)} here", at, "not_found", "not-found")
            if self._context.schema.strict and not declares:
                detail = f"the schema is strict and no entity has the key {shown(mention.key)}; assert its 'type' first"
                raise _unknown(detail, at, "unknown_entity", "ontology-violation")
            place = Place(self._context.ledger, self._context.position, len(self.created))
            known = Entity(id=entity_id(place), namespace=self._tx.scope.namespace, key=mention.key)
            self._by_key[mention.key] = self._by_id[known.id] = self.created[known.id] = known
        return known

    def by_id(self, id: EntityId) -> Entity:
        """The entity of a stored slot."""
        if id not in self._by_id:
            self._by_id |= self._tx.entities_by_id([id])
        return self._by_id[id]

    def value(self, value: Value | EntityMention, at: str, *, create: bool = True) -> Value:
        return entity_value(self.entity(value, at, create=create).id) if isinstance(value, EntityMention) else value

    def episode(self, telling: Telling, principal: Source) -> Episode | None:
        """The episode that is cited; one that nobody cited before is registered as it is told now."""
        id = telling.episode
        if id is None:
            return None
        known = self._episodes.get(id)
        if known is None and is_recorded(id):
            self.graves.refuse_id(id, "/episode")
            raise _unknown(f"no episode {shown(id)} is recorded here", "/episode", "not_found", "not-found")
        if known is None:
            source = telling.source or principal
            known = Episode(id=id, source=source, observed_at=telling.observed_at, root=telling.root or source)
            self._episodes[id] = self.new_episodes[id] = known
        return known

    def is_known_episode(self, id: EpisodeId) -> bool:
        """Whether an earlier transaction cited it."""
        return id in self._episodes and id not in self.new_episodes

    def head(self, slot: Slot) -> SlotHead | None:
        if slot.subject in self.created:
            return None
        if slot not in self._heads:
            self._heads |= self._tx.slot_heads([slot])
        return self._heads.get(slot)

    def check_types(self, predicate: Predicate, subject: Entity, value: Value) -> None:
        """Raises `Refused` where subject or value is of a type that the predicate does not take."""
        misfits: list[Violation | None] = []
        if predicate.domain:
            misfits.append(self._misfit(predicate, "domain", subject))
        if predicate.range and value.type is ValueType.ENTITY:
            misfits.append(self._misfit(predicate, "range", self.by_id(EntityId(value.text))))
        for misfit in misfits:
            if misfit is not None:
                raise Refused(misfit.detail, violations=(misfit,))
        if predicate.name == TYPE and value.type is ValueType.TEXT:
            self._types[subject.id] = self._types_of(subject) | {value.text}

    def _misfit(self, predicate: Predicate, side: str, entity: Entity) -> Violation | None:
        shown_as, types = entity.key or entity.id, self._types_of(entity)
        if side == "domain":
            return self._context.schema.misfit(predicate, "domain", types, shown_as, "/subject")
        return self._context.schema.misfit(predicate, "range", types, shown_as, "/value")

    def _types_of(self, entity: Entity) -> frozenset[str]:
        if entity.id not in self._types:
            types: frozenset[str] = frozenset()
            if entity.id not in self.created and self._tx.head.recorded_at > OPEN_START:
                as_of = AsOf(valid_at=self._context.now, known_at=self._tx.head.recorded_at)
                self._tx.serve(as_of.known_at, self._context.now)
                facts = self._tx.state([(entity.id, TYPE)], as_of, certain=False, page=Page(TYPES_MAX))
                types = frozenset(fact.version.value.text for fact in facts)
            self._types[entity.id] = types
        return self._types[entity.id]

    def _fetch(self, mention: EntityMention) -> None:
        """Look for what no item named at the start, such as the new value of a replacement."""
        name = mention.key or mention.id
        if name is None or name in self._fetched or name in self._by_id:
            return
        self._fetched.add(name)
        if mention.key is not None:
            found = self._tx.entities_by_key([mention.key])
            self._by_key |= found
            self._by_id |= {entity.id: entity for entity in found.values()}
        elif mention.id is not None:
            self._by_id |= self._tx.entities_by_id([mention.id])

    def _slots(self, items: Sequence[Checked]) -> Iterable[Slot]:
        for item in items:
            if isinstance(item, CheckedAssert):
                subject = self._known(item.subject)
                if subject is not None:
                    value = item.value
                    language = value.qualifier if isinstance(value, Value) and value.type is ValueType.LANGTEXT else ""
                    yield Slot(scope=self._tx.scope, subject=subject, predicate=item.predicate.name, language=language)

    def _known(self, mention: EntityMention) -> EntityId | None:
        entity = (
            self._by_key.get(mention.key) if mention.key is not None else self._by_id.get(mention.id or EntityId(""))
        )
        return None if entity is None else entity.id


def _mentions(item: Checked) -> Iterable[EntityMention]:
    match item:
        case CheckedAssert() | CheckedRetract() | CheckedErase():
            named: tuple[object, ...] = (item.subject, item.value)
        case CheckedReplace(target=ByPlace() as place):
            named = (place.subject, place.old)
        case _:
            named = ()
    return [mention for mention in named if isinstance(mention, EntityMention)]


def _telling(item: Checked) -> Telling | None:
    if isinstance(item, CheckedAssert | CheckedRetract | CheckedReplace | CheckedRetractFact):
        return item.telling
    return None


def _slot_order(slot: Slot) -> tuple[str, str, str]:
    return slot.subject, slot.predicate, slot.language


def _unknown(detail: str, at: str, code: str, slug: str) -> Incorrect:
    return Refused(detail, slug=slug, violations=(Violation(pointer=at, code=code, detail=detail),))
