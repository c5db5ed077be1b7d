"""Namespaces, and the one principal that writes in each."""

import orjson
from starlette.responses import Response

from api.routes.call import Call
from api.routes.routing import EVERYWHERE, Routes
from api.wire import access, rendering
from api.wire.access import NamespacesQuery, TransferBody
from api.wire.queries import NoQuery
from api.wire.rendering import Wire
from ontology.access import Ownership, check_principal
from ontology.errors import JSON
from ontology.grants import Grant

routes = Routes("namespaces", "Compartments of memory, each with one owner.")


@routes.get(
    "/v1/namespaces", query=NamespacesQuery, answer=access.Namespaces, problems=EVERYWHERE, conditional=False
)  # fmt: skip
def list_namespaces(call: Call, query: NamespacesQuery) -> Response:
    """Namespaces in which the caller has some grant, with their owners, by name.

    Whoever writes first with a key or a token becomes the owner; then only the owner writes.
    """
    found = [(name, owner) for name, owner in call.namespaces().items() if name > query.after]
    items: list[JSON] = [namespace(name, owner) for name, owner in found[: query.limit]]
    more = len(found) > query.limit
    return _json({"items": items, "next_after": found[query.limit - 1][0] if more else None})


@routes.post(
    "/v1/namespaces/{name}/transfer", body=TransferBody, answer=access.Transferred,
    problems=(*EVERYWHERE, "unsupported-format"), keyed=False, examples={"to a colleague": {"to": "ann"}},
)  # fmt: skip
def transfer_namespace(call: Call, query: NoQuery) -> Response:
    """Give a namespace to another principal, who alone writes there from then on.

    Its owner may, with `write` in every purpose of it, and whoever has `admin` there.
    """
    name = call.part("name")
    permitted = call.namespace(name, needs=Grant.ADMIN, instead=Grant.WRITE)
    before, after = call.transfer(permitted, check_principal(call.body(TransferBody).to, "/to"))
    return _json(transferred(before, after))


def namespace(name: str, owner: Ownership | None) -> Wire:
    """A namespace as it is answered."""
    return {
        "namespace": name,
        "owner": None if owner is None else owner.owner,
        "since": None if owner is None else rendering.instant(owner.since),
        "by": None if owner is None else owner.by,
    }


def transferred(before: Ownership | None, after: Ownership) -> Wire:
    return namespace(after.namespace, after) | {"before": None if before is None else before.owner}


def _json(body: Wire) -> Response:
    return Response(orjson.dumps(body), media_type="application/json", headers={"Cache-Control": "no-store"})
