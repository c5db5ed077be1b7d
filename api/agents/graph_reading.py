"""What holds now, as the entities, observations and relations of the reference memory server."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from api.agents.endpoints import Asker
from api.in_process import Document
from ontology.canonical import incorrect
from ontology.errors import shown

NAME: Final = "name"
TYPE: Final = "type"
OBSERVATION: Final = "observation"
"""Under which predicate an observation is kept."""
_PLAIN: Final = frozenset({OBSERVATION, "profile_note"})
"""Whose texts are observations as they stand; of another predicate its name is told, too."""
_ID: Final = "ent_"
"""How an id begins, and so no name of an entity may."""
_WRITTEN_ID: Final = re.compile(r"ent_[A-Za-z0-9_-]{1,60}")
PAGE: Final = 200
ENTITIES_MAX: Final = 1_000
FACTS_MAX: Final = 10_000
FAN_OUT: Final = 500

Scope = Mapping[str, Any]
Triple = tuple[str, str, str]


@dataclass(slots=True)
class Node:
    """One entity with the facts that tell of it, by what each of them is in a graph of texts."""

    types: list[str] = field(default_factory=list)
    observations: dict[str, list[str]] = field(default_factory=dict)
    """By text: the ids of the facts that say it."""
    facts: list[str] = field(default_factory=list)

    def told(self, name: str) -> Document:
        """As it is answered."""
        return {"name": name, "entityType": next(iter(self.types), ""), "observations": list(self.observations)}


@dataclass(slots=True)
class Nodes:
    """Entities by name, in the order of their ids, and relations with the ids of their facts."""

    nodes: dict[str, Node] = field(default_factory=dict)
    relations: dict[Triple, str] = field(default_factory=dict)
    truncated: str | None = None
    ids: dict[str, str] = field(default_factory=dict)
    """The name of an entity by its id, which names it as well."""

    def add(self, fact: Document) -> None:
        """Take in what one fact says of its subject."""
        name, predicate, value = named(fact["subject"]), fact["predicate"], fact["value"]
        self.ids[fact["subject"]["id"]] = name
        node = self.nodes.setdefault(name, Node())
        node.facts.append(fact["id"])
        if value["type"] == "entity":
            self.relations[name, named(value), predicate] = fact["id"]
        elif predicate == TYPE:
            node.types.append(_text(value))
        elif not (predicate == NAME and _text(value) == name):
            said = _text(value) if predicate in _PLAIN else f"{predicate}: {_text(value)}"
            node.observations.setdefault(said, []).append(fact["id"])

    def name(self, given: str) -> str:
        """What an entity is called here that is given by its name or its id."""
        return self.ids.get(given, given)

    def has(self, given: str) -> bool:
        """Whether something is said of an entity with this name or id."""
        node = self.nodes.get(self.name(given))
        return node is not None and bool(node.facts)

    def told(self, names: Iterable[str] | None = None) -> Document:
        """Of these entities, or all: what is said of them, and the relations from and to them."""
        wanted = set(self.nodes) if names is None else {self.name(each) for each in names}
        chosen = [name for name in self.nodes if name in wanted]
        document: Document = {
            "entities": [self.nodes[name].told(name) for name in chosen],
            "relations": [
                {"from": start, "to": end, "relationType": type}
                for start, end, type in self.relations
                if start in wanted or end in wanted
            ],
        }
        return document if self.truncated is None else {**document, "truncated": self.truncated}


def named(entity: Document) -> str:
    """The name of an entity: its key, or its id where it has none."""
    return str(entity["key"] or entity["id"])


def whole(asker: Asker, scope: Scope) -> Nodes:
    """All that holds in a scope, up to a limit that is told."""
    found = Nodes()
    listed: list[Document] = []
    cursor: str | None = None
    while len(listed) < ENTITIES_MAX:
        page = asker.get("/v1/entities", {**scope, "limit": PAGE, "cursor": cursor})
        listed, cursor = listed + page["items"], page["next_cursor"]
        if cursor is None:
            break
    if cursor is not None:
        found.truncated = f"there are more than {ENTITIES_MAX} entities; open those you know by name"
    for entity in listed:
        found.nodes[named(entity)] = Node()
    return _filled(asker, scope, found, [{"id": entity["id"]} for entity in listed])


def some(asker: Asker, scope: Scope, names: Iterable[str]) -> Nodes:
    """What is said of the entities with these names."""
    known = [name for name in dict.fromkeys(names) if _may_be(name)]
    return _filled(asker, scope, Nodes(), [_subject(name) for name in known])


def around(asker: Asker, scope: Scope, found: Nodes) -> None:
    """Add the relations that lead to these entities."""
    for name in list(found.nodes):
        walked = asker.get("/v1/neighbourhood", {**scope, "subject": name, "hops": 1, "fan_out": FAN_OUT})
        for fact in walked["facts"]:
            if fact["value"]["type"] == "entity":
                triple = named(fact["subject"]), named(fact["value"]), fact["predicate"]
                found.relations[triple] = fact["id"]
        if walked["truncated"] is not None:
            found.truncated = f"{name!r} has more than {FAN_OUT} relations; some are missing"


def _filled(asker: Asker, scope: Scope, found: Nodes, subjects: Sequence[Document]) -> Nodes:
    for count, fact in enumerate(_facts(asker, scope, subjects)):
        if count == FACTS_MAX:
            found.truncated = f"more than {FACTS_MAX} facts are told of them; open fewer by name"
            break
        found.add(fact)
    return found


def _facts(asker: Asker, scope: Scope, subjects: Sequence[Document]) -> Iterator[Document]:
    for start in range(0, len(subjects), PAGE):
        asked = {**scope, "pairs": [{"subject": each} for each in subjects[start : start + PAGE]], "limit": PAGE}
        cursor: str | None = None
        while True:
            page = asker.post("/v1/state", asked if cursor is None else {**asked, "cursor": cursor})
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                break


def check_new(at: str, names: Iterable[str], known: Nodes) -> None:
    """Raise `Incorrect` for a name that is to be new and begins as ids do; `at` has a place for its number."""
    for index, name in enumerate(names):
        if name.startswith(_ID) and not known.has(name):
            detail = f"{shown(name)} begins with {_ID!r}, as only ids do; give the entity another name"
            raise incorrect(at.format(index), "bad_name", detail)


def _may_be(name: str) -> bool:
    return not name.startswith(_ID) or _WRITTEN_ID.fullmatch(name) is not None


def _subject(name: str) -> Document:
    """An entity without a key goes by its id."""
    return {"id": name} if name.startswith(_ID) else {"key": name}


def _text(value: Document) -> str:
    told = value.get("value", value)
    unit = value.get("unit")
    return f"{told}" if unit is None else f"{told} {unit}"
