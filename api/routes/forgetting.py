"""Forgetting, and the tombstones that it leaves."""

from typing import Final

import orjson
from starlette.responses import Response

from api.routes.call import Call
from api.routes.routing import EVERYWHERE, Routes
from api.wire import forgetting
from api.wire.forgetting import ForgetAboutBody, ForgetBody, LiftBody, TombstonesQuery
from api.wire.queries import NoQuery
from consolidation.forgetting.forgetter import Named, receipt
from ontology.errors import JSON
from ontology.grants import Grant
from ontology.ids import TombstoneId
from ontology.tombstones import Target

PROBLEMS: Final = (*EVERYWHERE, "not-found", "version-changed", "unsupported-format")

routes = Routes("forgetting", "Erase what is known of a subject, a slot, an episode or a source; a tombstone stays.")


@routes.post(
    "/v1/forget", body=ForgetBody, answer=forgetting.Forgotten, problems=PROBLEMS, keyed=False,
    examples={"a preview": {"subject": "mira"}, "one slot": {"subject": "mira", "predicate": "diagnosis"}},
)  # fmt: skip
def forget(call: Call, query: NoQuery) -> Response:
    """Forget a subject, what is said of it under one predicate, an episode or a source; in two steps.

    Without `confirm` it tells what would go, by kind, and a `manifest`; with that as `confirm` it is done, or refused
    (412) if it would be something else by now. Done again, it changes nothing and gives the same receipt.
    """
    body = call.body(ForgetBody)
    named = Named(subject=body.subject, predicate=body.predicate, episode=body.episode, source=body.source)
    return _forget(call, named, body)


@routes.post(
    "/v1/subjects/{id}/forget", body=ForgetAboutBody, answer=forgetting.Forgotten, problems=PROBLEMS, optional=True,
    keyed=False, examples={"done": {"confirm": "4f2a…"}},
)  # fmt: skip
def forget_subject(call: Call, query: NoQuery) -> Response:
    """Forget all about one thing, by its id or its key; in two steps, as `POST /v1/forget`."""
    return _forget(call, Named(subject=call.part("id")), call.body(ForgetAboutBody, optional=True))


@routes.get(
    "/v1/tombstones", query=TombstonesQuery, answer=forgetting.Tombstones, problems=EVERYWHERE, conditional=False
)  # fmt: skip
def list_tombstones(call: Call, query: TombstonesQuery) -> Response:
    """What was forgotten in a namespace, when and by whom, in the order in which it was.

    For whoever has `forget` in every purpose of it, or `admin`.
    """
    permitted = call.namespace(query.namespace, needs=Grant.FORGET, instead=Grant.ADMIN)
    found = call.tombstones(permitted, limit=query.limit + 1, after=query.after)
    listed = found[: query.limit]
    items: list[JSON] = [receipt(stone) for stone in listed]
    return _json({"items": items, "next_after": listed[-1].position if len(found) > query.limit else None})


@routes.post(
    "/v1/tombstones/{id}/lift", body=LiftBody, answer=forgetting.Tombstone,
    problems=(*EVERYWHERE, "not-found", "unsupported-format"), optional=True, keyed=False,
)  # fmt: skip
def lift_tombstone(call: Call, query: NoQuery) -> Response:
    """Let a key and the names of something forgotten come back; what was forgotten stays so.

    For whoever has `admin` in every purpose of the namespace.
    """
    permitted = call.namespace(call.body(LiftBody, optional=True).namespace, needs=Grant.ADMIN, instead=Grant.ADMIN)
    return _json(receipt(call.lift(permitted, TombstoneId(call.part("id")))))


def _forget(call: Call, named: Named, body: ForgetAboutBody) -> Response:
    if named.target is Target.SUBJECT:
        permitted = call.namespace(body.namespace, needs=Grant.FORGET, instead=Grant.FORGET)
    else:
        permitted = call.scope(body.namespace, body.purpose, needs=Grant.FORGET)
    return _json(call.forget(permitted, named, confirm=body.confirm, blocks=body.block))


def _json(body: JSON) -> Response:
    return Response(orjson.dumps(body), media_type="application/json", headers={"Cache-Control": "no-store"})
