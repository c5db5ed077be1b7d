"""Finding by words and by meaning: hits in the order of a policy, each with the parts of its score."""

from collections.abc import Sequence
from typing import Final

from starlette.responses import Response

from api.auth.permission import Permitted
from api.routes.call import Call
from api.routes.reading import answered, ask, await_position, milliseconds, snapshot, subject_of
from api.routes.routing import READ, Routes
from api.wire import answers
from api.wire.bodies import SearchBody
from api.wire.found import found_wire
from api.wire.queries import NoQuery
from graph.embedding import Asked
from graph.indexing import Indexed
from graph.ports import Reader
from graph.ranking import RECIPES
from graph.search import FoundFact, Sought, search
from ontology.canonical import incorrect
from ontology.errors import NotFound, shown
from ontology.grants import Grant
from ontology.ids import EntityId
from ontology.schema import Kind, Schema

NOTE: Final = "note"
"""What callers may say for `working_note`."""

routes = Routes("search", "What memory has to do with a text, best first.")


@routes.post(
    "/v1/search",
    body=SearchBody,
    answer=answers.Search,
    problems=(*READ, "unknown-predicate", "not-found", "unsupported-format"),
    keyed=False,
    reads=True,
    examples={
        "a question": {"text": "when does the passport have to be renewed?", "limit": 5},
        "the past, too": {"text": "passport deadline", "include": ["history"], "valid_at": "2026-06-10"},
    },
)
def search_memory(call: Call, query: NoQuery) -> Response:
    """Facts and words of episodes that match a text, each with its score and the parts of it.

    Words and, where an embedder is set, meaning are searched in the scope, at the two instants; the lists are fused by
    rank. What holds comes first; what holds at another time, and what waits for a decision, comes only where
    `include` asks for it, and behind. Words that are too common to tell anything are named in `dropped_terms`.
    """
    body = call.body(SearchBody)
    scope = call.scope(body.namespace, body.purpose, needs=Grant.READ)
    if "held" in body.include:
        call.scope(body.namespace, body.purpose, needs=Grant.REVIEW)
    facts, episodes = _types(body)
    await_position(call, scope, body.min_position)
    indexed, meaning = ready(call, scope, body.text)
    with snapshot(call, body.namespace, body.purpose, body.min_position) as reader:
        question = ask(call, reader, body)
        schema = call.schemas.of(reader)
        sought = Sought(
            text=body.text, as_of=question.as_of, served_at=question.served_at, limit=body.limit, facts=facts,
            episodes=episodes, kinds=_kinds(body.kinds), predicates=_predicates(schema, body.predicates),
            about=_entities(reader, body.about, "about"), near=_entities(reader, body.near, "near"),
            history="history" in body.include, held="held" in body.include, policy=RECIPES[body.recipe],
        )  # fmt: skip
        found = search(reader, schema, sought, meaning, milliseconds)
        known_at, served_at = question.as_of.known_at, question.served_at
        wire = found_wire(reader, schema, found, indexed, known_at=known_at, served_at=served_at)
        call.returns(len(found.items))
        answer = answered(question, {"recipe": body.recipe, **wire})
    if body.session is not None:
        call.served(scope, body.session, [i.fact.version for i, _ in found.items if isinstance(i, FoundFact)])
    return answer


def ready(call: Call, scope: Permitted, text: str) -> tuple[Indexed, Asked]:
    """What was written a moment ago is indexed, and the text is a vector, as far as that can be had in little time."""
    indexed = call.caught_up(scope)
    return indexed, call.meaning(indexed, text)


def _types(body: SearchBody) -> tuple[bool, bool]:
    """Whether facts are searched, and whether episodes are. Raises `Incorrect` where a filter leaves nothing to say."""
    only_facts = next((name for name in ("kinds", "predicates", "about") if getattr(body, name)), None)
    if body.types is None:
        return True, only_facts is None
    if not body.types:
        raise incorrect(
            "/types", "empty", "nothing is to be searched; leave 'types' out, or name 'facts' or 'episodes'"
        )
    if "episodes" in body.types and only_facts is not None:
        detail = f"{only_facts!r} is about facts, and 'types' asks for episodes too; leave one of the two out"
        raise incorrect("/types", "too_many", detail)
    return "facts" in body.types, "episodes" in body.types


def _kinds(given: Sequence[str]) -> frozenset[Kind]:
    return frozenset(Kind.WORKING_NOTE if name == NOTE else Kind(name) for name in given)


def _predicates(schema: Schema, given: Sequence[str]) -> frozenset[str]:
    return frozenset(schema.predicate(name, f"/predicates/{index}").name for index, name in enumerate(given))


def _entities(reader: Reader, given: Sequence[str], member: str) -> tuple[EntityId, ...]:
    """The entities that keys or ids name. Raises `NotFound` for one that nobody knows, `Gone` for a forgotten one."""
    found = []
    for text in given:
        entity = subject_of(reader, text)
        if entity is None:
            raise NotFound(f"{member!r} names {shown(text)}, which is no entity here; look for it in GET /v1/entities")
        found.append(entity.id)
    return tuple(dict.fromkeys(found))
