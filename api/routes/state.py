"""What holds: exact state at two instants."""

from collections.abc import Sequence
from typing import assert_never

from starlette.responses import Response

from api.routes.asked import Asked, ByPredicate, BySubject, ByValue, Nothing, asked
from api.routes.call import Call
from api.routes.reading import Question, ask, facts_answer, reading, snapshot
from api.routes.routing import LISTED, Routes
from api.wire import answers
from api.wire.bodies import Pair, StateBody
from api.wire.live import live
from api.wire.queries import NoQuery, ServedQuery
from api.wire.rendering import Names
from graph.periods import valid_order
from graph.ports import PAIRS_MAX, OrderKey, Reader
from ontology.canonical import incorrect
from ontology.claims import Entity
from ontology.errors import Incorrect, TooLarge
from ontology.facts import Fact
from ontology.grants import Grant
from ontology.ids import EntityId
from ontology.values import EntityMention, entity_mention

routes = Routes("state", "What holds, at an instant of the world and as known at an instant of memory.")


@routes.get("/v1/state", query=ServedQuery, answer=answers.Facts, problems=(*LISTED, "unknown-predicate"))
def read_state(call: Call, query: ServedQuery) -> Response:
    """What holds of a subject, under one predicate or all.

    With a predicate alone: of every subject. With `value` instead of `subject`: who has it, such as who lives in a
    place or holds an office; the name of an inverse asks the same of a subject. With `session` it is remembered for
    30 days what was served: an episode of that session in which an agent says it again is no evidence.
    """
    with reading(call, query) as reader:
        question = ask(call, reader, query, limit=query.limit, cursor=query.cursor)
        about = asked(call, reader, query.subject, query.predicate, query.value)
        facts, names = _state(question, about, certain=query.certainty == "certain")
        answer = facts_answer(question, facts, order_of, names, **live(call.schemas.of(reader), [query.predicate]))
    _remember(call, query, facts)
    return answer


@routes.post(
    "/v1/state",
    body=StateBody,
    answer=answers.Facts,
    problems=(*LISTED, "unknown-predicate", "unsupported-format", "ontology-violation"),
    keyed=False,
    reads=True,
    examples={
        "two predicates": {
            "pairs": [
                {"subject": "mira", "predicate": "passport_deadline"},
                {"subject": "mira", "predicate": "prefers_answers"},
            ],
            "valid_at": "2026-06-10",
        }
    },
)
def read_states(call: Call, query: NoQuery) -> Response:
    """What holds of up to 200 pairs of subject and predicate, at one pair of instants."""
    body = call.body(StateBody)
    if len(body.pairs) > PAIRS_MAX:
        raise TooLarge(f"{len(body.pairs)} pairs in one question, {PAIRS_MAX} at most; split them")
    if not body.pairs:
        raise incorrect("/pairs", "empty", "a question without pairs; give at least one")
    with snapshot(call, body.namespace, body.purpose, body.min_position) as reader:
        question = ask(call, reader, body, limit=body.limit, cursor=body.cursor)
        subjects = _subjects(reader, body.pairs)
        pairs: list[tuple[EntityId, str | None]] = []
        for index, (pair, subject) in enumerate(zip(body.pairs, subjects, strict=True)):
            predicate = None
            if pair.predicate is not None:
                try:
                    predicate = call.schemas.predicate(reader, pair.predicate).name
                except Incorrect as exc:
                    raise exc.under(f"/pairs/{index}") from None
            if subject is not None:
                pairs.append((subject.id, predicate))
        certain = body.certainty == "certain"
        facts = (
            reader.state(list(dict.fromkeys(pairs)), question.as_of, certain=certain, page=question.page)
            if pairs
            else []
        )
        names = {s.id: s for s in subjects if s is not None}
        tools = live(call.schemas.of(reader), [pair.predicate for pair in body.pairs])
        answer = facts_answer(question, facts, order_of, names, **tools)
    _remember(call, body, facts)
    return answer


def _remember(call: Call, asked: ServedQuery | StateBody, facts: Sequence[Fact]) -> None:
    """Remember what is served, where it is served in a session."""
    if asked.session is not None:
        scope = call.scope(asked.namespace, asked.purpose, needs=Grant.READ)
        call.served(scope, asked.session, [fact.version for fact in facts[: asked.limit]])


def order_of(fact: Fact) -> OrderKey:
    """The place of a fact in the order of valid time."""
    return valid_order(fact.version)


def _state(question: Question, about: Asked, *, certain: bool) -> tuple[list[Fact], Names]:
    reader, as_of, page = question.reader, question.as_of, question.page
    match about:
        case BySubject(subject=subject, predicate=predicate):
            return reader.state([(subject.id, predicate)], as_of, certain=certain, page=page), {subject.id: subject}
        case ByValue(value=value, predicate=predicate, names=names):
            return reader.holders(value, predicate, as_of, certain=certain, page=page), names
        case ByPredicate(predicate=predicate):
            return reader.of_predicate(predicate, as_of, certain=certain, page=page), {}
        case Nothing():
            return [], {}
        case _:
            assert_never(about)


def _subjects(reader: Reader, pairs: list[Pair]) -> list[Entity | None]:
    """The entity of each pair, looked up at once."""
    mentions = [_mention(pair.subject, index) for index, pair in enumerate(pairs)]
    keys = [m.key for m in mentions if m.key is not None]
    ids = [m.id for m in mentions if m.id is not None]
    by_key = reader.entities_by_key(keys) if keys else {}
    by_id = reader.entities_by_id(ids) if ids else {}
    return [by_key.get(m.key) if m.key is not None else by_id.get(m.id or EntityId("")) for m in mentions]


def _mention(given: object, index: int) -> EntityMention:
    at = f"/pairs/{index}/subject"
    match given:
        case str():
            return entity_mention(given, pointer=at)
        case {"key": str(text), **others} if not others:
            return entity_mention(text, pointer=f"{at}/key")
        case {"id": str(text), **others} if not others and text.startswith("ent_"):
            return entity_mention(text, pointer=f"{at}/id")
    raise incorrect(at, "wrong_type", "a subject is a key, an id 'ent_…', or an object with 'key' or 'id'; give one")
