"""The log of a tenant by position: what each transaction did in one scope."""

from contextlib import AbstractContextManager, suppress
from typing import Final

import orjson
from starlette.responses import Response

from api.routes.call import Call
from api.routes.reading import reading, snapshot
from api.routes.routing import EVERYWHERE, Routes
from api.routes.streaming import EventStream, Page
from api.wire import answers, frames, rendering
from api.wire.queries import EventsQuery
from api.wire.rendering import Wire
from consolidation.forgetting.graves import Graves
from graph.journal import decode
from graph.ports import Reader
from graph.state import etag
from ontology.canonical import incorrect
from ontology.claims import ENDED, Lifecycle
from ontology.errors import JSON, Busy, shown
from ontology.events import Event, Kind, Payload
from ontology.instants import OPEN_END
from ontology.scope import Scope

PROBLEMS: Final = (*EVERYWHERE, "store-unavailable")

LOSSES: Final = {Kind.ERASE: "erased", Kind.FORGET: "forgotten"}
"""After which kinds of events a client may hold what is nowhere any more, and how it is told."""

routes = Routes("events", "The log by position: what each transaction did.")


@routes.get(
    "/v1/events", query=EventsQuery, answer=answers.Events, problems=PROBLEMS, media=frames.MEDIA_TYPE,
    headers={"Last-Event-ID": "The position up to which a stream was read before it broke; it counts before `after`."},
)  # fmt: skip
def list_events(call: Call, query: EventsQuery) -> Response:
    """Transactions after a position, in order, with what they did in this scope.

    Positions have no gaps; those of other scopes show as skeletons. Ask again with `after` set to `next_after`.

    With `Accept: text/event-stream` the answer is a stream that goes on as the log grows (Server-Sent Events): the same
    documents, of this scope alone, each with its position as `id`. An event `reset` says that what the client holds may
    be wrong, and why: `erased` and `forgotten` (something of this scope was), `gap` (events are missing), `ahead` (the
    log ends before the position that the client named). There is a comment every 15 seconds; a client comes again after
    3 seconds and goes on by `Last-Event-ID`.
    """
    kinds = _kinds(query.kinds)
    if call.method == "GET" and _wants_stream(call):
        return _stream(call, query, kinds)
    after = query.after or 0
    with reading(call, query) as reader:
        tag = etag(reader.scope, reader.head, b"events\0" + call.query_string)
        headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
        if call.matches(tag):
            return Response(status_code=304, headers=headers)
        found = reader.events(after=after, limit=query.limit + 1)
        listed = found[: query.limit]
        items: list[JSON] = [_event(reader, *each)[0] for each in listed if each[0].kind in kinds]
        body: Wire = {
            "items": items,
            "next_after": listed[-1][0].position if len(found) > query.limit else None,
            "head": reader.head.position,
        }
        call.returns(len(items))
        return Response(orjson.dumps(body), media_type="application/json", headers=headers)


def _stream(call: Call, query: EventsQuery, kinds: frozenset[Kind]) -> Response:
    """Raises what a page would before anything is sent."""
    known = _last_event_id(call)
    with _caught_up(call, query, known) as reader:
        head = reader.head.position
    position = known if known is not None else head if query.after is None else query.after
    if position > head:
        first = [frames.opening(head), frames.reset(head, "ahead")]
        position = head
    else:
        first = [frames.opening(position)]

    def read(reader: Reader, after: int, limit: int) -> Page:
        return _page(reader, kinds, after, limit)

    return EventStream(call, query.namespace, query.purpose, first, position, read)


def _page(reader: Reader, kinds: frozenset[Kind], after: int, limit: int) -> Page:
    """The frames of what is to be told of the next events."""
    parts: list[bytes] = []
    position = after
    for event, payloads in reader.events(after=after, limit=limit):
        if event.position != position + 1:
            parts.append(frames.reset(event.position - 1, "gap"))
        position = event.position
        document, concerns = _event(reader, event, payloads)
        if not concerns:
            continue
        if reason := LOSSES.get(event.kind):
            parts.append(frames.reset(position, reason, document))  # for all: what is gone may be held
        elif event.kind in kinds:
            parts.append(frames.message(position, document))
    return Page(frames=parts, position=position)


def _caught_up(call: Call, query: EventsQuery, known: int | None) -> AbstractContextManager[Reader]:
    """A snapshot that has seen the position up to which the client was told, if it comes in time: another server of
    the same store may have told it."""
    if known is not None:
        with suppress(Busy), snapshot(call, query.namespace, query.purpose, known):
            pass
    return reading(call, query)


def _last_event_id(call: Call) -> int | None:
    given = call.header(b"last-event-id")
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and int(given[:20]) < OPEN_END):
        detail = f"the Last-Event-ID {shown(given)} is no position; send the id of an event of this stream, or none"
        raise incorrect("", "bad_position", detail)
    return int(given)


def _kinds(given: str | None) -> frozenset[Kind]:
    if given is None:
        return frozenset(Kind)
    names = given.split(",")
    if unknown := [name for name in names if name not in set(Kind)]:
        detail = f"there is no kind of event {shown(unknown[0])}; use {', '.join(Kind)}, with commas between"
        raise incorrect("/kinds", "unknown_value", detail)
    return frozenset(map(Kind, names))


def _wants_stream(call: Call) -> bool:
    accept = call.header(b"accept") or ""
    return frames.MEDIA_TYPE in accept and "application/json" not in accept


def _event(reader: Reader, event: Event, payloads: tuple[Payload, ...]) -> tuple[Wire, bool]:
    """An event as the wire writes it, and whether it is of this scope, or may be, or of what its tenant shares."""
    scope: Scope = reader.scope
    changes = decode(event, payloads, tenant=scope.tenant)
    here = any(head.slot.scope == scope for head in changes.slots) or any(e.scope == scope for e in changes.erasures)
    recorded: list[JSON] = [each.kept.episode for each in changes.verbatims if each.kept.scope == scope]
    here = here or bool(recorded) or any(record.scope == scope for record in changes.records)
    stones: list[JSON] = [stone.id for stone in changes.tombstones if Graves(reader, shown=True).meets(stone)]
    here = here or bool(stones)
    # the first write of a tenant brings its schema along: who did that is for those of its scope to know
    tells_who = here or event.kind is Kind.SCHEMA
    document: Wire = {
        "position": event.position,
        "recorded_at": rendering.instant(event.recorded_at),
        "kind": event.kind.value,
        "principal": event.principal if tells_who else None,
        "digest": event.digest.hex(),
        "claims": [claim.id for claim in changes.claims if claim.slot.scope == scope],
        "ended": [each.claim for each in changes.transitions if each.state in ENDED] if here else [],
        "expired": [each.claim for each in changes.transitions if each.state is Lifecycle.EXPIRED] if here else [],
        "opened": [version.id for version in changes.opened if version.slot.scope == scope],
        "closed": [version.id for version in changes.closed if version.slot.scope == scope],
        "episodes": recorded,
        "tombstones": stones,
        "schema_version": changes.schema.version if changes.schema else None,
    }
    words_went = event.kind is Kind.ERASE and not changes.erasures  # of old episodes, in no scope that it would name
    return document, here or words_went or changes.schema is not None
