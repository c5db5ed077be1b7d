"""A world behind the writer to fill a store with, and the small words in which its tests speak."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

from consolidation.items import ABSENT, Assert, Erase, Item, Replace, Retract, Said, Withdraw
from consolidation.policy import OWNER, Authority
from consolidation.write import Writer
from graph.ports import MemoryStore, Page
from ontology.facts import AsOf, Fact, Slot
from ontology.ids import EntityId
from ontology.instants import SECOND, Instant, parse_instant
from ontology.packs import load_core
from ontology.schema_document import pack_from_document
from ontology.scope import Scope, scope_of
from ontology.values import Value, ValueKey, ValueType, entity_value, value_key
from tests.conftest import FrozenClock, SeededRandomness

SCOPE: Final = scope_of("acme")
ALL: Final = Page(10_000)
CORE: Final = load_core()
FUNCTIONAL: Final = ("lives_in", "works_for")


class World:
    """A store behind the writer; its clock goes on by a second with each write."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.clock = FrozenClock()
        self.writer = Writer(store=store, clock=self.clock, randomness=SeededRandomness(), core=CORE)

    def declare(self, *names: str, cardinality: str = "functional", scope: Scope = SCOPE) -> None:
        declared = {name: {"cardinality": cardinality} for name in names}
        self.writer.put_schema(scope, "tester", pack_from_document({"pack": "tests", "predicates": declared}))
        self.clock.advance(SECOND)

    def write(
        self, *items: Item, scope: Scope = SCOPE, key: str | None = None, by: str = "tester",
        authority: Authority = OWNER,
    ) -> dict[str, Any]:  # fmt: skip
        """One transaction of a principal; gives its receipt."""
        receipt: dict[str, Any] = self.writer.write(scope, by, items, key=key, authority=authority).receipt
        self.clock.advance(SECOND)
        return receipt

    def tell(
        self, subject: str, predicate: str, value: object, valid_from: str | None = None, valid_to: str | None = None,
        *, scope: Scope = SCOPE, **said: Any,
    ) -> Instant:  # fmt: skip
        """Tell one fact; gives the recorded time."""
        self.write(claim(subject, predicate, value, valid_from, valid_to, **said), scope=scope)
        return self.now(scope)

    def now(self, scope: Scope = SCOPE) -> Instant:
        """The recorded time of the newest commit."""
        with self.store.read(scope) as reader:
            return reader.head.recorded_at

    def id(self, key: str, scope: Scope = SCOPE) -> EntityId:
        with self.store.read(scope) as reader:
            return reader.entities_by_key([key])[key].id

    def slot(self, subject: str, predicate: str, scope: Scope = SCOPE) -> Slot:
        return Slot(scope=scope, subject=self.id(subject, scope), predicate=predicate, language="")

    def state(
        self, subject: str, predicate: str | None, valid_at: str, known_at: Instant | None = None,
        *, scope: Scope = SCOPE, certain: bool = False,
    ) -> list[str]:  # fmt: skip
        """The values that hold, in order."""
        as_of = AsOf(valid_at=parse_instant(valid_at), known_at=self.now(scope) if known_at is None else known_at)
        with self.store.read(scope) as reader:
            found = reader.state([(self.id(subject, scope), predicate)], as_of, certain=certain, page=ALL)
        return texts(found)


def claim(
    subject: str, predicate: str, value: object, valid_from: str | None = None, valid_to: str | None = None, **said: Any
) -> Assert:  # fmt: skip
    """The item that asserts a value of the entity with a key."""
    return Assert(
        subject={"key": subject}, predicate=predicate, value=value,
        said=Said(valid_from=valid_from, valid_to=valid_to, **said),
    )  # fmt: skip


def retract(subject: str, predicate: str, value: object = ABSENT, **said: Any) -> Retract:
    return Retract(subject={"key": subject}, predicate=predicate, value=value, said=Said(**said))


def correct(subject: str, predicate: str, old: object, at: str, value: object, **said: Any) -> Replace:
    return Replace(
        subject={"key": subject}, predicate=predicate, old=old, at=at, value=value, said=Said(**said), reason="wrong"
    )  # fmt: skip


def withdraw(*, claim: str | None = None, episode: str | None = None, source: str | None = None) -> Withdraw:
    return Withdraw(claim=claim, episode=episode, source=source, reason="wrong")


def erase(subject: str, predicate: str | None = None, value: object = ABSENT) -> Erase:
    return Erase(subject={"key": subject}, predicate=predicate, value=value)


def texts(facts: Sequence[Fact]) -> list[str]:
    return [fact.version.value.text for fact in facts]


def text_key(text: str) -> ValueKey:
    return value_key(Value(type=ValueType.TEXT, text=text, qualifier=""))


def entity_key(id: EntityId) -> ValueKey:
    return value_key(entity_value(id))


def plain(thing: object) -> object:
    """A thing by its fields, entries too, which are otherwise equal only to themselves."""
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return type(thing).__name__, [plain(getattr(thing, field.name)) for field in dataclasses.fields(thing)]
    if isinstance(thing, tuple | list):
        return [plain(each) for each in thing]
    if isinstance(thing, Mapping):
        return {plain(key) if isinstance(key, str) else str(plain(key)): plain(each) for key, each in thing.items()}
    return thing
