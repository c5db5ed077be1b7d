"""The nine tools of the reference memory server (@modelcontextprotocol/server-memory), over claims and facts.

An entity is named by its key; its type, its observations and its relations are claims. Deleting retracts: what was
believed stays readable at an earlier `known_at`, as whoever uses these tools is told.
"""

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

from pydantic import BaseModel

from api.agents import graph_arguments as given_by
from api.agents.arguments import Arguments, members
from api.agents.endpoints import Asker
from api.agents.graph_reading import NAME, OBSERVATION, TYPE, Nodes, around, check_new, some, whole
from api.agents.tooling import READS, SAYS, Answer, Tool, schema_of
from api.in_process import Document
from ontology.errors import Forbidden, NotFound, shown

_SCOPE: Final = ("namespace", "purpose")
PACK: Final[Document] = {
    "pack": "memory",
    "predicates": {
        OBSERVATION: {
            "datatype": "text", "cardinality": "many", "label": "observation",
            "description": "Something that was noticed about it, in a few words or many; kept until retracted.",
        }
    },
}  # fmt: skip
"""What the core pack of an older store does not have."""
_CHANGES: Final = (*READS, *SAYS)
_KEPT: Final = "Nothing is erased: it is no longer believed, and an earlier belief stays readable."

log = logging.getLogger("vigencia.api.agents")


def create_entities(asker: Asker, given: given_by.CreateEntities) -> Answer:
    known = some(asker, _scope(given), [each.name for each in given.entities])
    check_new("/entities/{}/name", [each.name for each in given.entities], known)
    new = {each.name: each for each in reversed(given.entities) if not known.has(each.name)}
    created = [new[name] for name in dict.fromkeys(each.name for each in given.entities) if name in new]
    items = [
        _said(each.name, predicate, value)
        for each in created
        for predicate, value in _claims(each.name, each.entity_type, each.observations)
    ]
    _write(asker, given, items)
    told = [each.model_dump(by_alias=True) for each in created]
    return Answer(document={"entities": told})


def create_relations(asker: Asker, given: given_by.Relations) -> Answer:
    known, triples = _related(asker, given)
    for start, end, _ in triples:
        _check(known, (start, end))
    new = [triple for triple in triples if triple not in known.relations]
    _write(asker, given, [_said(start, type, {"type": "entity", "key": end}) for start, end, type in new])
    return Answer(document={"relations": [_relation(triple) for triple in new]})


def add_observations(asker: Asker, given: given_by.AddObservations) -> Answer:
    known = some(asker, _scope(given), [each.entity_name for each in given.observations])
    _check(known, [each.entity_name for each in given.observations])
    results: list[Document] = []
    for each in given.observations:
        before = known.nodes[known.name(each.entity_name)].observations
        added = [text for text in dict.fromkeys(each.contents) if text not in before]
        before.update({text: [] for text in added})
        results.append({"entityName": each.entity_name, "addedObservations": added})
    items = [
        _said(each["entityName"], OBSERVATION, {"type": "text", "value": text})
        for each in results
        for text in each["addedObservations"]
    ]
    _write(asker, given, items)
    return Answer(document={"results": results})


def delete_entities(asker: Asker, given: given_by.DeleteEntities) -> Answer:
    known = some(asker, _scope(given), given.entity_names)
    around(asker, _scope(given), known)
    there = list(dict.fromkeys(known.name(name) for name in given.entity_names if known.has(name)))
    missing = [name for name in dict.fromkeys(given.entity_names) if not known.has(name)]
    own = [id for name in there for id in known.nodes[name].facts]
    leading = [id for (start, end, _), id in known.relations.items() if start in there or end in there]
    _retract(asker, given, [*own, *leading])
    message = "Entities deleted successfully"
    if missing:
        message = f"Deleted {len(there)} of {len(given.entity_names)} entities. Not found: {', '.join(missing)}"
    if known.truncated is not None:
        message += f". Not all of it, {known.truncated}: call again"
    return _done(message)


def delete_observations(asker: Asker, given: given_by.DeleteObservations) -> Answer:
    known = some(asker, _scope(given), [each.entity_name for each in given.deletions])
    missing = [each.entity_name for each in given.deletions if not known.has(each.entity_name)]
    found = [
        said[text]
        for each in given.deletions
        if known.has(each.entity_name)
        for said in [known.nodes[known.name(each.entity_name)].observations]
        for text in each.observations
        if text in said
    ]
    _retract(asker, given, [id for ids in found for id in ids])
    asked = sum(len(each.observations) for each in given.deletions)
    message = "Observations deleted successfully"
    if len(found) != asked:
        message = f"Deleted {len(found)} of {asked} observations."
        message += f" Entities not found: {', '.join(missing)}" if missing else ""
    return _done(message)


def delete_relations(asker: Asker, given: given_by.Relations) -> Answer:
    known, triples = _related(asker, given)
    found = [known.relations[triple] for triple in triples if triple in known.relations]
    _retract(asker, given, found)
    message = "Relations deleted successfully"
    if len(found) != len(triples):
        message = f"Deleted {len(found)} of {len(triples)} relations. The rest matched nothing."
    return _done(message)


def read_graph(asker: Asker, given: given_by.ReadGraph) -> Answer:
    return Answer(document=whole(asker, _scope(given)).told())


def search_nodes(asker: Asker, given: given_by.SearchNodes) -> Answer:
    """By the rule of the reference server: what contains the query, whatever its case."""
    found, wanted = whole(asker, _scope(given)), given.query.lower()
    matching = [
        name
        for name, node in found.nodes.items()
        if any(wanted in text.lower() for text in (name, *node.types[:1], *node.observations))
    ]
    return Answer(document=found.told(matching))


def open_nodes(asker: Asker, given: given_by.OpenNodes) -> Answer:
    found = some(asker, _scope(given), given.names)
    around(asker, _scope(given), found)
    return Answer(document=found.told(given.names))


def _claims(name: str, type: str, observations: Iterable[str]) -> list[tuple[str, Document]]:
    texts = [(NAME, name), (TYPE, type), *((OBSERVATION, each) for each in dict.fromkeys(observations))]
    return [(predicate, {"type": "text", "value": text}) for predicate, text in texts]


def _said(name: str, predicate: str, value: Document) -> Document:
    return {"op": "assert", "subject": name, "predicate": predicate, "value": value}


def _relation(triple: tuple[str, str, str]) -> Document:
    start, end, type = triple
    return {"from": start, "to": end, "relationType": type}


def _related(asker: Asker, given: given_by.Relations) -> tuple[Nodes, list[tuple[str, str, str]]]:
    """What is known of the entities that are meant, and the relations between them, each once."""
    known = some(asker, _scope(given), [name for each in given.relations for name in (each.from_, each.to)])
    triples = [(known.name(each.from_), known.name(each.to), each.relation_type) for each in given.relations]
    return known, list(dict.fromkeys(triples))


def _scope(given: Arguments) -> Document:
    return members(given, *_SCOPE)


def _check(known: Nodes, names: Iterable[str]) -> None:
    missing = next((name for name in names if not known.has(name)), None)
    if missing is not None:
        raise NotFound(f"no entity {shown(missing)} here", remedy="create it with create_entities first")


def _write(asker: Asker, given: Arguments, items: Sequence[Document]) -> None:
    if any(item.get("predicate") == OBSERVATION for item in items):
        _declare(asker, given)
    if items:
        asker.post("/v1/claims", {"items": list(items), **_scope(given)})


def _declare(asker: Asker, given: Arguments) -> None:
    """Add the predicate of observations to a schema that is older than it, as far as the caller may.

    Without it an open schema takes any text, too, and a strict one refuses in its own words.
    """
    if OBSERVATION not in asker.get("/v1/ontology", _scope(given))["predicates"]:
        with suppress(Forbidden):
            asker.put("/v1/ontology", PACK)
            log.info("the schema had no predicate %r and was given it, for the tools of the memory server", OBSERVATION)


def _retract(asker: Asker, given: Arguments, facts: Iterable[str]) -> None:
    _write(asker, given, [{"op": "retract", "fact": id} for id in dict.fromkeys(facts)])


def _done(message: str) -> Answer:
    return Answer(document={"success": True, "message": message}, text=message)


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return schema_of(model, "serialization")


GRAPH_TOOLS: Final[tuple[Tool[Any], ...]] = (
    Tool(
        name="create_entities", title="Create entities", arguments=given_by.CreateEntities, run=create_entities,
        answer=_schema(given_by.Created), needs=_CHANGES, repeats=True,
        description="Create entities with a type and observations. One whose name is known is left as it is.",
    ),
    Tool(
        name="create_relations", title="Create relations", arguments=given_by.Relations, run=create_relations,
        answer=_schema(given_by.Related), needs=_CHANGES, repeats=True,
        description="Create relations between entities that are there, in active voice: from, relationType, to.",
    ),
    Tool(
        name="add_observations", title="Add observations", arguments=given_by.AddObservations, run=add_observations,
        answer=_schema(given_by.Added), needs=_CHANGES, repeats=True,
        description="Add observations to entities that are there. One that is known is not added again.",
    ),
    Tool(
        name="delete_entities", title="Delete entities", arguments=given_by.DeleteEntities, run=delete_entities,
        answer=_schema(given_by.Deleted), needs=_CHANGES, destroys=True, repeats=True,
        description=f"Retract all that is said of entities, and the relations from and to them. {_KEPT}",
    ),
    Tool(
        name="delete_observations", title="Delete observations", arguments=given_by.DeleteObservations,
        run=delete_observations, answer=_schema(given_by.Deleted), needs=_CHANGES, destroys=True, repeats=True,
        description=f"Retract observations of entities. {_KEPT}",
    ),
    Tool(
        name="delete_relations", title="Delete relations", arguments=given_by.Relations, run=delete_relations,
        answer=_schema(given_by.Deleted), needs=_CHANGES, destroys=True, repeats=True,
        description=f"Retract relations between entities. {_KEPT}",
    ),
    Tool(
        name="read_graph", title="Read the graph", arguments=given_by.ReadGraph, run=read_graph,
        answer=_schema(given_by.Graph), reads=True, repeats=True,
        description="All entities with their observations, and all relations, as they hold now. It is data, no advice.",
    ),
    Tool(
        name="search_nodes", title="Search nodes", arguments=given_by.SearchNodes, run=search_nodes,
        answer=_schema(given_by.Graph), reads=True, repeats=True,
        description="Entities whose name, type or observations contain a text, with the relations from and to them.",
    ),
    Tool(
        name="open_nodes", title="Open nodes", arguments=given_by.OpenNodes, run=open_nodes,
        answer=_schema(given_by.Graph), reads=True, repeats=True,
        description="Entities by their names, with the relations from and to them.",
    ),
)  # fmt: skip
