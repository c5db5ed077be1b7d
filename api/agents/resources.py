"""What can be read by its address, as a client attaches it to a conversation; and what completes an argument."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import mcp_types as types

from api.agents.endpoints import Asker
from api.in_process import Document
from api.problems import problem_document
from ontology.canonical import incorrect
from ontology.errors import Incorrect, NotFound, VigenciaError, shown

SCHEME: Final = "vigencia"
ONTOLOGY: Final = "vigencia://ontology"
STATUS: Final = "vigencia://status"
COMPLETED_MAX: Final = 100
"""The most that the protocol takes."""
PAGE_MAX: Final = 200
_JSON: Final = "application/json"
_AS_OF: Final = ("valid_at", "known_at")


def _resource(uri: str, name: str, description: str) -> types.Resource:
    notes = types.Annotations(audience=["assistant"], priority=0.3)
    return types.Resource(uri=uri, name=name, description=description, mime_type=_JSON, annotations=notes)


def _template(kind: str, id: str, description: str, *, dated: bool) -> types.ResourceTemplate:
    uri = f"{SCHEME}://{{namespace}}/{{purpose}}/{kind}/{{{id}}}" + ("{?valid_at,known_at}" if dated else "")
    notes = types.Annotations(audience=["assistant"], priority=0.5)
    return types.ResourceTemplate(
        uri_template=uri, name=kind, description=description, mime_type=_JSON, annotations=notes
    )


RESOURCES: Final = (
    _resource(ONTOLOGY, "ontology", "The types and predicates of this memory: in which words it is told things."),
    _resource(STATUS, "status", "Whether the store answers and episodes are read, how far the queue is behind."),
)
TEMPLATES: Final = (
    _template("entities", "id", "A thing with what is believed of it.", dated=True),
    _template("facts", "id", "One fact, with the version of its slot.", dated=True),
    _template("episodes", "id", "What was said, word for word, and the claims that cite it.", dated=False),
    _template("profiles", "id", "The few stable facts about a subject worth having at hand each time.", dated=True),
    _template("about", "id", "Everything that is held on a subject, the first page of it.", dated=True),
    _template("handoffs", "id", "A packet from one agent for another, as it is now.", dated=False),
)
_ROUTES: Final[Mapping[str, str]] = {
    "entities": "/v1/entities/{id}",
    "facts": "/v1/facts/{id}",
    "episodes": "/v1/episodes/{id}",
    "profiles": "/v1/profiles/{id}",
    "about": "/v1/subjects/{id}/about",
    "handoffs": "/v1/handoffs/{id}",
}


def read_resource(asker: Asker, uri: str) -> Document:
    """What stands at an address. Raises `NotFound` for an address that is none of ours, and what its route raises."""
    if uri == ONTOLOGY:
        return asker.get("/v1/ontology", {})
    if uri == STATUS:
        return _status(asker)
    namespace, purpose, kind, id, query = _parts(uri)
    route = _ROUTES.get(kind)
    if route is None:
        raise NotFound(f"there is no resource {shown(uri, 400)}; resources/templates/list has what there is")
    return asker.get(route, {"namespace": namespace, "purpose": purpose, **query}, id=id)


def _parts(uri: str) -> tuple[str, str, str, str, dict[str, str]]:
    """Namespace, purpose, kind, id and instants of an address. Raises `Incorrect`, `NotFound`."""
    try:
        parts = urlsplit(uri)
        path = [unquote(part, errors="strict") for part in parts.path.split("/")[1:]]
        query = dict(parse_qsl(parts.query, keep_blank_values=True, errors="strict", max_num_fields=10))
        namespace = unquote(parts.netloc, errors="strict")
    except ValueError:
        raise Incorrect(f"the address {shown(uri, 400)} cannot be read; percent-encode its parts as UTF-8") from None
    if parts.scheme != SCHEME or len(path) != 3:
        raise NotFound(f"there is no resource {shown(uri, 400)}; resources/templates/list has what there is")
    for name in query:
        if name not in _AS_OF:  # the scope stands in the path, and nowhere else
            detail = f"an address takes no {shown(name)}; it takes {' and '.join(_AS_OF)}"
            raise incorrect(f"/{name}", "unknown_field", detail)
    return namespace, path[0], path[1], path[2], query


def _status(asker: Asker) -> Document:
    """Whether it is ready, in words where it is not: who asks how it is wants an answer then, too."""
    try:
        return asker.get("/readyz", {})
    except VigenciaError as exc:
        problem = problem_document(exc.slug, exc.message, request_id="", remedy=exc.remedy, members=exc.members)
        return {"status": "not ready", "problem": problem}


def links(episodes: Sequence[str], given: Mapping[str, Any]) -> Iterator[types.ResourceLink]:
    """Addresses of episodes in the scope of a call."""
    scope = "/".join(quote(str(given.get(name, usual)), safe="") for name, usual in _USUAL.items())
    for id in episodes:
        uri = f"{SCHEME}://{scope}/episodes/{quote(id, safe='')}"
        yield types.ResourceLink(uri=uri, name=id, description="What was said, word for word.", mime_type=_JSON)


_USUAL: Final[Mapping[str, str]] = {"namespace": "default", "purpose": "general"}


def completed(asker: Asker, argument: str, begun: str, known: Mapping[str, str]) -> tuple[list[str], bool]:
    """How an argument may go on, and whether there is more; nothing for one that has no list."""
    found, whole = _candidates(asker, argument, known)
    fitting = sorted(name for name in found if name.startswith(begun))
    return fitting[:COMPLETED_MAX], len(fitting) > COMPLETED_MAX or not whole


def _candidates(asker: Asker, argument: str, known: Mapping[str, str]) -> tuple[list[str], bool]:
    scope = {name: known[name] for name in _USUAL if name in known}
    match argument:
        case "predicate":
            return [*asker.get("/v1/ontology", scope)["predicates"]], True
        case "namespace":
            return [each["namespace"] for each in asker.get("/v1/namespaces", {})["items"]], True
        case "subject":
            page = asker.get("/v1/entities", {**scope, "limit": PAGE_MAX})
            return [each["key"] or each["id"] for each in page["items"]], page["next_cursor"] is None
        case "id":
            page = asker.get("/v1/entities", {**scope, "limit": PAGE_MAX})
            return [each["id"] for each in page["items"]], page["next_cursor"] is None
    return [], True
