"""The inbox: claims that are held, and the decision on each."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Final

import orjson
from starlette.responses import Response

from api.auth.permission import Permitted
from api.cursors import Cursor, filter_hash, next_link, read_cursor, write_cursor
from api.problems import version_tag
from api.routes.call import Call
from api.routes.reading import ORDER_KEY, newest
from api.routes.routing import EVERYWHERE, WRITE, Routes
from api.routes.writing import current, receipt_of
from api.wire import answers, rendering
from api.wire.bodies import ReviewBody
from api.wire.episodes import quoted
from api.wire.queries import NoQuery, ReviewQuery, ScopeQuery, decode_query
from api.wire.rendering import Names, Wire
from consolidation.items import Promote, Reject
from consolidation.policy import SENSITIVE
from consolidation.proposals import UNMAPPED
from consolidation.review import version_of
from graph.ports import OrderKey, Reader
from graph.state import etag
from ontology.claims import HELD, Lifecycle, Told
from ontology.episodes import Quote
from ontology.errors import AlreadyDecided, NotFound, PreconditionRequired, VersionChanged
from ontology.facts import AsOf, Version
from ontology.grants import Grant
from ontology.ids import ClaimId

LISTED: Final = (*EVERYWHERE, "missing-role", "cursor-mismatch", "store-unavailable")
SHOWN: Final = (*EVERYWHERE, "missing-role", "not-found", "forgotten", "already-decided", "store-unavailable")
DECIDED: Final = (*WRITE, "own-review", "already-decided", "precondition-required")

ON_YOU: Final = (SENSITIVE, UNMAPPED)
"""Rules that stage what no evidence lets go."""

routes = Routes("review", "Decide on what is kept, and not believed yet.")


@routes.get("/v1/review", query=ReviewQuery, answer=answers.Review, problems=LISTED)
def list_held(call: Call, query: ReviewQuery) -> Response:
    """Claims that wait, in the order in which they were recorded, with the rule that holds each.

    `waits_on_you` counts those that somebody must decide on, `held_by_policy` those that wait for more evidence.
    """
    with _inbox(call, query) as reader:
        scope = reader.scope
        tag = etag(scope, reader.head, b"review\0" + call.query_string)
        headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
        if call.matches(tag):
            return Response(status_code=304, headers=headers)
        filters = filter_hash("review", scope.tenant, scope.namespace, scope.purpose, query.state, query.rule)
        after: OrderKey | None = None
        if query.cursor is not None:
            match read_cursor(query.cursor, filters, ORDER_KEY).after:
                case (int(position), int(ordinal), int(rest)):
                    after = position, ordinal, rest
        states = HELD if query.state is None else {Lifecycle(query.state)}
        found = reader.held(states, query.rule, limit=query.limit + 1, after=after)
        listed = found[: query.limit]
        cursor = None
        if len(found) > query.limit:
            last = listed[-1].claim.entry
            now = AsOf(valid_at=call.services.clock.now(), known_at=reader.head.recorded_at)
            place = Cursor(after=(last.position, last.ordinal, 0), as_of=now, served_at=now.valid_at)
            cursor = write_cursor(place, filters)
            headers["Link"] = next_link(call.path, decode_query(call.query_string), cursor)
        names = rendering.names_told(reader, listed)
        quotes = reader.quotes([told.claim.id for told in listed])
        body: Wire = {
            "items": [_waiting(call, reader, told, names, quotes) for told in listed],
            "next_cursor": cursor,
            "counts": _counts(reader),
        }
        return Response(orjson.dumps(body), media_type="application/json", headers=headers)


@routes.get("/v1/review/{id}", query=ScopeQuery, answer=answers.WaitingClaim, problems=SHOWN)
def show_held(call: Call, query: ScopeQuery) -> Response:
    """One claim that waits, with what is believed where it would be folded.

    Its `ETag` is its version, for `If-Match`.
    """
    with _inbox(call, query) as reader:
        told = reader.claim(ClaimId(call.part("id")))
        if told.held is None:
            if told.folded_from == told.claim.recorded_at:
                raise NotFound(f"the claim {told.claim.id!r} never waited; read it under /v1/claims")
            raise AlreadyDecided(
                f"the claim {told.claim.id!r} waits no more, it is {told.state.value}",
                members={"claim": told.claim.id, "state": told.state.value},
            )
        slot = told.claim.slot
        quotes = reader.quotes([told.claim.id])
        body = _waiting(call, reader, told, rendering.names_told(reader, [told]), quotes)
        body["current"] = current(call, reader, slot.subject, slot.predicate)["current"]
        headers = {"ETag": version_tag(_version(reader, told)), "Cache-Control": "private, no-cache"}
        if call.matches(headers["ETag"]):
            return Response(status_code=304, headers=headers)
        return Response(orjson.dumps(body), media_type="application/json", headers=headers)


@routes.post(
    "/v1/review/{id}/promote",
    body=ReviewBody,
    answer=answers.Receipt,
    problems=DECIDED,
    optional=True,
    precondition=True,
    examples={"checked": {"reason": "checked with the owner"}},
)
def promote_held(call: Call, query: NoQuery) -> Response:
    """A held claim is believed from now on, at the place in the order that it always had.

    Never by the principal that wrote it. The claim counts as confirmed; earlier answers stay what they were.
    """
    return _decide(call, promotes=True)


@routes.post(
    "/v1/review/{id}/reject",
    body=ReviewBody,
    answer=answers.Receipt,
    problems=DECIDED,
    optional=True,
    precondition=True,
    examples={"wrong": {"reason": "the page is forged"}},
)
def reject_held(call: Call, query: NoQuery) -> Response:
    """A held claim is turned down; the same value from the same source does not come back.

    Never by the principal that wrote it. The claim stays readable for reviewers, with the reason.
    """
    return _decide(call, promotes=False)


def _decide(call: Call, *, promotes: bool) -> Response:
    body = call.body(ReviewBody, optional=True)
    scope = call.scope(body.namespace, body.purpose, needs=Grant.REVIEW)
    id = ClaimId(call.part("id"))
    with call.inbox(scope) as reader:
        expected = _expected(call, reader, reader.claim(id), body.expected)
    item = (Promote if promotes else Reject)(claim=id, reason=body.reason, expected_version=expected)
    key = call.idempotency_key(body.operation_id)
    return receipt_of(call, call.decide(scope, item, dry_run=body.dry_run, key=key))


def _expected(call: Call, reader: Reader, told: Told, stated: Version | None) -> Version:
    """The version of a held claim that the reviewer has seen; of one that waits no more the writer says so.

    Raises `PreconditionRequired`, and `VersionChanged` with what is believed there now.
    """
    tags = call.if_match()
    if tags is None:
        if stated is None:
            raise PreconditionRequired("which version is meant? send the ETag of what you have read as 'If-Match'")
        return stated
    version, slot = _version(reader, told), told.claim.slot
    if told.held is not None and (version_tag(version) not in tags or stated not in (None, version)):
        raise VersionChanged(
            f"the claim {told.claim.id!r} is at version {version}; what is believed there has changed",
            members=current(call, reader, slot.subject, slot.predicate, version),
        )
    return version


def _version(reader: Reader, told: Told) -> Version:
    return version_of(told, reader.slot_heads([told.claim.slot]).get(told.claim.slot))


def _waiting(call: Call, reader: Reader, told: Told, names: Names, quotes: Mapping[ClaimId, Quote]) -> Wire:
    held = told.held
    return rendering.claim(told, names, call.services.clock.now()) | {
        "rule": None if held is None else held.rule,
        "version": _version(reader, told),
        "span": quoted(quotes.get(told.claim.id)),
    }


def _counts(reader: Reader) -> Wire:
    counts = reader.held_counts()
    waits = sum(n for (state, rule), n in counts.items() if state is Lifecycle.QUARANTINED or rule in ON_YOU)
    return {"waits_on_you": waits, "held_by_policy": sum(counts.values()) - waits}


def _inbox(call: Call, query: ScopeQuery) -> AbstractContextManager[Reader]:
    scope: Permitted = call.scope(query.namespace, query.purpose, needs=Grant.REVIEW)
    return newest(call.inbox, call, scope, query.min_position)
