"""Why something is believed, as one answer: the route behind the tool `why`, which HTTP tells by several."""

import orjson
from starlette.responses import Response

from api.agents.arguments import WhyArguments
from api.reasons import fact_with_id, reason
from api.routes.asked import predicate_of
from api.routes.call import Call
from api.routes.reading import ask, reading, subject_of
from api.routes.routing import LISTED, Routes
from api.wire import answers, rendering
from api.wire.live import live
from graph.ports import Page, Reader
from ontology.canonical import incorrect
from ontology.facts import AsOf, Fact

PATH = "/agents/why"

routes = Routes("reasons", "Why something is believed.")


class Reason(answers._Answer):
    """One fact and all that is behind it."""

    fact: answers.Fact
    claims: list[answers.Claim]
    made_in: dict[str, object] | None
    ended_in: dict[str, object] | None
    replaced_by: list[answers.Fact]
    followed_by: list[answers.Fact]


class Reasons(answers._Answer):
    """Facts with their reasons."""

    items: list[Reason]
    live: list[answers.Live] = answers.LIVE
    as_of: answers.AsOf


@routes.get(PATH, query=WhyArguments, answer=Reasons, problems=(*LISTED, "not-found", "unknown-predicate"))
def read_reasons(call: Call, query: WhyArguments) -> Response:
    """Why a fact is believed, or what is believed of a subject: who said it, what recorded it, what replaced it."""
    if (query.fact is None) == (query.subject is None):
        code = "missing_field" if query.fact is None else "too_many"
        raise incorrect("/fact", code, "give the id of a 'fact', or a 'subject'")
    with reading(call, query) as reader:
        question = ask(call, reader, query)
        facts, name = _facts(call, reader, query, question.as_of)
        known_at, served = question.as_of.known_at, question.served_at
        body = {
            "items": [reason(reader, each, known_at, served) for each in facts],
            **live(call.schemas.of(reader), [name]),
            "as_of": rendering.as_of(question.as_of, question.now),
        }
        return Response(orjson.dumps(body), media_type="application/json")


def _facts(call: Call, reader: Reader, query: WhyArguments, as_of: AsOf) -> tuple[list[Fact], str | None]:
    """The facts that are meant, and the predicate that was asked for."""
    if query.fact is not None:
        fact = fact_with_id(reader, query.fact)
        return [fact], fact.version.slot.predicate
    name = predicate_of(call, reader, query.predicate)
    subject = subject_of(reader, query.subject or "")
    if subject is None:
        return [], name
    return [*reader.state([(subject.id, name)], as_of, certain=False, page=Page(query.limit))], name
