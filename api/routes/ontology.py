"""The schema of a tenant: its types and predicates, and how a pack extends it."""

import re
from typing import Final

import orjson
from starlette.responses import Response

from api.limits import check_content_type, read_json
from api.routes.call import Call
from api.routes.reading import reading
from api.routes.routing import EVERYWHERE, Routes
from api.wire import answers
from api.wire.bodies import PackBody
from api.wire.queries import OntologyQuery, PutOntologyQuery
from ontology.errors import JSON, Incorrect
from ontology.grants import Grant, granted
from ontology.packs import read_pack
from ontology.schema import Schema
from ontology.schema_document import pack_from_document, schema_document
from ontology.schema_merge import Pack

YAML: Final = ("application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml")

routes = Routes("ontology", "The words: entity types and predicates, and how they grow.")


@routes.get("/v1/ontology", query=OntologyQuery, answer=answers.Ontology, problems=(*EVERYWHERE, "store-unavailable"))
def read_ontology(call: Call, query: OntologyQuery) -> Response:
    """The newest schema of the tenant."""
    with reading(call, query) as reader:
        schema = call.schemas.of(reader)
    headers = {"ETag": _tag(schema), "Cache-Control": "private, no-cache"}
    if call.matches(headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(orjson.dumps(schema_document(schema)), media_type="application/json", headers=headers)


@routes.put(
    "/v1/ontology",
    query=PutOntologyQuery,
    body=PackBody,
    answer=answers.OntologyReceipt,
    problems=(*EVERYWHERE, "version-changed", "unsupported-format", "ontology-violation", "store-unavailable"),
    examples={
        "a pack": {
            "pack": "travel",
            "types": {"Port": {"parents": ["Place"]}},
            "predicates": {"calls_at": {"range": ["Port"], "datatype": "entity", "cardinality": "many"}},
        }
    },
    media=("application/json", "application/yaml"),
)
def put_ontology(call: Call, query: PutOntologyQuery) -> Response:
    """Add a pack to the schema: a JSON document, or the same as YAML.

    What it defines replaces the definition of the same name; nothing is removed and no past is rewritten. The answer
    tells what changed, and which slots hold several values under a predicate that has become functional. `If-Match`
    with the ETag of the schema refuses a stale author. Needs `admin` in the whole tenant, whose words these are.
    """
    tenant = call.tenant(needs=Grant.ADMIN)
    receipt = call.put_schema(tenant, _pack(call), dry_run=query.dry_run, expected=_versions(call.if_match()))
    receipt["conflicts"] = _readable(call, receipt["conflicts"])
    return Response(orjson.dumps(receipt), media_type="application/json", headers={"Cache-Control": "no-store"})


def _pack(call: Call) -> Pack:
    media = (call.header(b"content-type") or "").partition(";")[0].strip().lower()
    if media in YAML:
        try:
            return read_pack(call.raw_body.decode("utf-8"))
        except UnicodeDecodeError as exc:
            raise Incorrect(f"the pack is not UTF-8 at byte {exc.start}; send UTF-8") from None
    check_content_type(media.encode("latin-1"))
    return pack_from_document(read_json(call.raw_body))


def _readable(call: Call, conflicts: JSON) -> JSON:
    """The conflicts with those slots alone that the caller may read; the count is of all."""
    assert isinstance(conflicts, dict)
    permits = call.principal.permits
    return {
        predicate: found | {
            "slots": [s for s in found["slots"] if granted(permits, Grant.READ, s["namespace"], s["purpose"])]
        }
        for predicate, found in conflicts.items()
    }  # fmt: skip


def _versions(tags: list[str] | None) -> list[int] | None:
    """The versions that the entity tags of `If-Match` name; a tag that is none of ours names none."""
    if tags is None:
        return None
    found = (re.fullmatch(r'"schema-(\d{1,9})"', tag) for tag in tags)
    return [int(match[1]) for match in found if match]


def _tag(schema: Schema) -> str:
    return f'"schema-{schema.version}"'
