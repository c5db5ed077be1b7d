"""Things, and the walks from one to others."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from starlette.responses import Response

from api.routes.call import Call
from api.routes.reading import Question, answered, ask, facts_answer, milliseconds, paged, reading, subject_of
from api.routes.routing import LISTED, READ, Routes
from api.routes.state import order_of
from api.sensitive import note
from api.wire import answers, rendering
from api.wire.queries import EntitiesQuery, FactsQuery, NeighbourhoodQuery, PathsQuery, WalkQuery
from api.wire.rendering import Names, Wire
from graph.expansion import PathBudget, PathRow, Step, paths
from graph.naming import shows
from graph.neighbourhood import Budget, Reached, neighbourhood
from graph.ports import Reader
from ontology.claims import Entity
from ontology.errors import JSON, Incorrect, NotFound, Violation, shown
from ontology.ids import EntityId
from ontology.schema import check_predicate_name
from ontology.values import Value, entity_value

STEPS_MAX: Final = 6
PATH_EDGES_MAX: Final = 5_000
WALK_MILLISECONDS: Final = 2_000
BY_ID: Final = (str,)

routes = Routes("entities", "Things, what is believed of them, and the walks from one to others.")


@routes.get("/v1/entities", query=EntitiesQuery, answer=answers.Entities, problems=LISTED)
def list_entities(call: Call, query: EntitiesQuery) -> Response:
    """Things that a visible fact is about or points at, of one type or name where asked."""
    with reading(call, query) as reader:
        question = ask(call, reader, query, limit=query.limit, cursor=query.cursor, shape=BY_ID)
        after = EntityId(str(question.after[0])) if question.after else None
        found = reader.list_entities(
            question.as_of, type=query.type, name=query.name, limit=question.limit + 1, after=after
        )  # fmt: skip
        shown_ones = found[: question.limit]
        last = (shown_ones[-1].id,) if len(found) > question.limit else None
        return paged(question, [_entity(each) for each in shown_ones], last)


@routes.get("/v1/entities/{id}", query=FactsQuery, answer=answers.EntityFacts, problems=(*LISTED, "not-found"))
def read_entity(call: Call, query: FactsQuery) -> Response:
    """One thing, with what is believed of it; it shows only where a visible fact names it."""
    with reading(call, query) as reader:
        question = ask(call, reader, query, limit=query.limit, cursor=query.cursor)
        entity = visible(question, call.part("id"))
        certain = query.certainty == "certain"
        facts = reader.state([(entity.id, None)], question.as_of, certain=certain, page=question.page)
        return facts_answer(question, facts, order_of, {entity.id: entity}, **_entity(entity))


@routes.get(
    "/v1/entities/{id}/neighbourhood", query=WalkQuery, answer=answers.Neighbourhood, problems=(*READ, "not-found")
)
def read_entity_neighbourhood(call: Call, query: WalkQuery) -> Response:
    """What lies around a thing, by its id: a bounded walk over visible facts, in both directions."""
    with reading(call, query) as reader:
        question = ask(call, reader, query)
        return _walked(question, query, visible(question, call.part("id")))


@routes.get("/v1/neighbourhood", query=NeighbourhoodQuery, answer=answers.Neighbourhood, problems=(*READ, "not-found"))
def read_neighbourhood(call: Call, query: NeighbourhoodQuery) -> Response:
    """What lies around a thing, by its key or id: a bounded walk over visible facts, in both directions.

    Breadth first; where a limit was met, `truncated` names it.
    """
    with reading(call, query) as reader:
        question = ask(call, reader, query)
        return _walked(question, query, visible(question, query.subject))


@routes.get("/v1/paths", query=PathsQuery, answer=answers.Paths, problems=READ)
def read_paths(call: Call, query: PathsQuery) -> Response:
    """Where the walk along given predicates leads, and over which period all of its edges hold.

    With `valid_at` only what holds then.
    """
    steps = _steps(query.steps)
    with reading(call, query) as reader:
        question = ask(call, reader, query)
        start = subject_of(reader, query.subject)
        if start is None:
            return answered(question, {"items": [], "truncated": None})
        valid_at = None if query.valid_at is None else question.as_of.valid_at
        budget = PathBudget(edges=PATH_EDGES_MAX, paths=query.limit, milliseconds=WALK_MILLISECONDS)
        found = paths(reader, start.id, steps, question.as_of.known_at, valid_at, budget, milliseconds)
        names = _names(reader, found.rows)
        for row in found.rows:
            _note(row, steps)
        truncated: JSON = {"cut_by": list(found.cut_by)} if found.cut_by else None
        return answered(question, {"items": [_path(row, names) for row in found.rows], "truncated": truncated})


def visible(question: Question, text: str) -> Entity:
    """The entity that a key or an id names; raises `NotFound` where no visible fact names it."""
    entity = subject_of(question.reader, text)
    if entity is None or not shows(question.reader, entity.id, question.as_of):
        raise NotFound(f"no entity {shown(text)} shows in this scope at these instants")
    return entity


def _walked(question: Question, query: WalkQuery, seed: Entity) -> Response:
    budget = Budget(
        hops=query.hops, nodes=query.nodes_max, edges=query.edges_max, fan_out=query.fan_out,
        milliseconds=query.milliseconds_max,
    )  # fmt: skip
    found = neighbourhood(question.reader, [seed.id], question.as_of, budget, milliseconds)
    versions = [fact.version for fact in found.facts]
    names = rendering.names_in(question.reader, versions, {seed.id: seed})
    heads = rendering.versions_of(question.reader, versions)
    entities: list[JSON] = [_reached(each, names) for each in found.entities]
    truncated: JSON = {"cut_by": list(found.cut_by), "wide": list(found.wide)} if found.cut_by else None
    facts = rendering.facts(found.facts, names, heads, question.as_of.known_at, question.served_at)
    return answered(question, {"entities": entities, "facts": facts, "truncated": truncated})


def _reached(each: Reached, names: Names) -> Wire:
    return {
        **rendering.entity(each.entity, names),
        "depth": each.depth,
        "via": each.via,
        "valid_from": rendering.instant(each.holds.start),
        "valid_to": rendering.instant(each.holds.end),
    }


def _steps(text: str) -> list[Step]:
    names = text.split(",")
    if len(names) > STEPS_MAX:
        raise _wrong("too_large", f"a path of {len(names)} steps, {STEPS_MAX} at most; shorten it")
    steps = []
    for name in names:
        predicate = name.strip()
        inverse = predicate.startswith("^")
        steps.append(Step(check_predicate_name(predicate[1:] if inverse else predicate, "/steps"), inverse))
    return steps


def _note(row: PathRow, steps: Sequence[Step]) -> None:
    """A path shows a value of each of its edges."""
    for step, (near, far) in zip(steps, pairwise(row.nodes), strict=True):
        subject = far if step.inverse else near
        if not isinstance(subject, Value):
            note(subject, step.predicate)


def _path(row: PathRow, names: Names) -> Wire:
    nodes: list[JSON] = [
        rendering.value(node if isinstance(node, Value) else entity_value(node), names) for node in row.nodes
    ]
    return {
        "nodes": nodes,
        "facts": list(row.facts),
        "certain": row.certain,
        "valid_from": rendering.instant(row.valid_from),
        "valid_to": rendering.instant(row.valid_to),
    }


def _names(reader: Reader, rows: list[PathRow]) -> Names:
    ids = {node for row in rows for node in row.nodes if not isinstance(node, Value)}
    return reader.entities_by_id(sorted(ids)) if ids else {}


def _entity(entity: Entity) -> dict[str, JSON]:
    return {"id": entity.id, "key": entity.key}


def _wrong(code: str, detail: str) -> Incorrect:
    return Incorrect(detail, violations=(Violation(pointer="/steps", code=code, detail=detail),))
