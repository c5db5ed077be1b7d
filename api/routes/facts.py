"""One fact: why it is believed, how it came about, and its correction."""

from starlette.responses import Response

from api.cursors import CursorKey
from api.routes.call import Call
from api.routes.claims import CORRECT
from api.routes.reading import answered, ask, paged, reading, rectangles
from api.routes.routing import LISTED, READ, Routes
from api.routes.writing import expect, version_of, write
from api.wire import answers, rendering
from api.wire.bodies import ReplaceFactBody, RetractFactBody
from api.wire.live import live
from api.wire.queries import ListQuery, NoQuery
from consolidation.items import Replace, RetractFact
from graph.ports import OrderKey
from ontology.claims import Told
from ontology.grants import Grant
from ontology.ids import FactId

routes = Routes("facts", "One fact: its evidence, its versions, its correction.")


@routes.get("/v1/facts/{id}", query=ListQuery, answer=answers.Fact, problems=(*READ, "not-found"))
def read_fact(call: Call, query: ListQuery) -> Response:
    """One version of a fact, as it was last believed.

    Its `ETag` is the version of its slot, for `If-Match`.
    """
    with reading(call, query) as reader:
        found = reader.fact(FactId(call.part("id")))
        question = ask(call, reader, query)
        names = rendering.names_in(reader, [found.version])
        version = version_of(reader, found.version.slot)
        known_at, served = question.as_of.known_at, question.served_at
        body = rendering.fact(found, names, {found.version.slot: version}, known_at, served)
        return answered(question, body, version=version)


@routes.get("/v1/facts/{id}/evidence", query=ListQuery, answer=answers.Claims, problems=(*LISTED, "not-found"))
def read_evidence(call: Call, query: ListQuery) -> Response:
    """Who says so: the claims that show in this version at `known_at`, in the order in which they were said."""
    with reading(call, query) as reader:
        version = reader.fact(FactId(call.part("id"))).version
        question = ask(call, reader, query, limit=query.limit, cursor=query.cursor)
        told = reader.evidence(
            version, question.as_of.known_at, limit=question.page.limit, after=question.order_key
        )  # fmt: skip
        shown = told[: question.limit]
        last: CursorKey | None = _said_order(shown[-1]) if len(told) > question.limit else None
        names = rendering.names_told(reader, shown)
        tools = live(call.schemas.of(reader), [version.slot.predicate])
        return paged(question, [rendering.claim(each, names, question.served_at) for each in shown], last, **tools)


@routes.get("/v1/facts/{id}/versions", query=ListQuery, answer=answers.Rectangles, problems=(*LISTED, "not-found"))
def read_versions(call: Call, query: ListQuery) -> Response:
    """How it came about: every version under the same subject and predicate, by recorded time."""
    with reading(call, query) as reader:
        slot = reader.fact(FactId(call.part("id"))).version.slot
        question = ask(call, reader, query, limit=query.limit, cursor=query.cursor)
        facts = reader.audit(slot.subject, slot.predicate, valid_at=None, touched=None, page=question.page)
        return rectangles(question, facts)


@routes.post(
    "/v1/facts/{id}/replace",
    body=ReplaceFactBody,
    answer=answers.Receipt,
    problems=CORRECT,
    precondition=True,
    examples={"the right day": {"value": "2026-06-30", "reason": "misread", "episode": "chat-2"}},
)
def replace_fact(call: Call, query: NoQuery) -> Response:
    """What a fact rests on was wrong, and this is right.

    The claims behind it are withdrawn, and the right one is asserted; what is not stated is taken from them. What
    was believed stays readable at an earlier `known_at`.
    """
    body = call.body(ReplaceFactBody)
    scope = call.scope(body.namespace, body.purpose, needs=Grant.WRITE)
    id = FactId(call.part("id"))
    with call.read(call.scope(body.namespace, body.purpose, needs=Grant.READ)) as reader:
        expected = expect(call, reader, reader.fact(id).version.slot, body.expected)
    item = Replace(fact=id, value=body.value, said=body.said(), reason=body.reason, expected_version=expected)
    return write(call, scope, [item], dry_run=body.dry_run, operation_id=body.operation_id)


@routes.post(
    "/v1/facts/{id}/retract",
    body=RetractFactBody,
    answer=answers.Receipt,
    problems=CORRECT,
    optional=True,
    precondition=True,
    examples={"heard on": {"observed_at": "2026-06-03T10:00:00Z", "source": "mira"}},
)
def retract_fact(call: Call, query: NoQuery) -> Response:
    """A fact is no longer believed, over its whole period; nothing takes its place."""
    body = call.body(RetractFactBody, optional=True)
    scope = call.scope(body.namespace, body.purpose, needs=Grant.WRITE)
    id = FactId(call.part("id"))
    with call.read(call.scope(body.namespace, body.purpose, needs=Grant.READ)) as reader:
        expected = expect(call, reader, reader.fact(id).version.slot, body.expected)
    item = RetractFact(fact=id, said=body.said(), expected_version=expected)
    return write(call, scope, [item], dry_run=body.dry_run, operation_id=body.operation_id)


def _said_order(told: Told) -> OrderKey:
    return told.claim.entry.order
