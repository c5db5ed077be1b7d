"""The log of a tenant by position: what each transaction did in one scope."""

from typing import Final

import orjson
from starlette.responses import Response

from api.routes.call import Call
from api.routes.reading import reading
from api.routes.routing import EVERYWHERE, Routes
from api.wire import answers, rendering
from api.wire.queries import EventsQuery
from api.wire.rendering import Wire
from graph.journal import decode
from graph.ports import Reader
from graph.state import etag
from ontology.claims import ENDED
from ontology.errors import JSON
from ontology.events import Event, Kind, Payload
from ontology.scope import Scope

PROBLEMS: Final = (*EVERYWHERE, "store-unavailable")

routes = Routes("events", "The log by position: what each transaction did.")


@routes.get("/v1/events", query=EventsQuery, answer=answers.Events, problems=PROBLEMS)
def list_events(call: Call, query: EventsQuery) -> Response:
    """Transactions after a position, in order, with what they did in this scope.

    Positions have no gaps; those of other scopes show as skeletons. Ask again with `after` set to `next_after`.
    """
    with reading(call, query) as reader:
        tag = etag(reader.scope, reader.head, b"events\0" + call.query_string)
        headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
        if call.matches(tag):
            return Response(status_code=304, headers=headers)
        found = reader.events(after=query.after, limit=query.limit + 1)
        listed = found[: query.limit]
        items: list[JSON] = [_event(reader, event, payloads) for event, payloads in listed]
        body: Wire = {
            "items": items,
            "next_after": listed[-1][0].position if len(found) > query.limit else None,
            "head": reader.head.position,
        }
        return Response(orjson.dumps(body), media_type="application/json", headers=headers)


def _event(reader: Reader, event: Event, payloads: tuple[Payload, ...]) -> Wire:
    scope: Scope = reader.scope
    changes = decode(event, payloads, tenant=scope.tenant)
    here = any(head.slot.scope == scope for head in changes.slots) or any(e.scope == scope for e in changes.erasures)
    recorded: list[JSON] = [each.kept.episode for each in changes.verbatims if each.kept.scope == scope]
    here = here or bool(recorded) or any(record.scope == scope for record in changes.records)
    # the first write of a tenant brings its schema along: who did that is for those of its scope to know
    tells_who = here or event.kind is Kind.SCHEMA
    return {
        "position": event.position,
        "recorded_at": rendering.instant(event.recorded_at),
        "kind": event.kind.value,
        "principal": event.principal if tells_who else None,
        "digest": event.digest.hex(),
        "claims": [claim.id for claim in changes.claims] if here else [],
        "ended": [each.claim for each in changes.transitions if each.state in ENDED] if here else [],
        "opened": [version.id for version in changes.opened] if here else [],
        "closed": [version.id for version in changes.closed] if here else [],
        "episodes": recorded,
        "schema_version": changes.schema.version if changes.schema else None,
    }
