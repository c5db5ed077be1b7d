"""The OpenAPI document: every operation with its parameters, bodies, answers and problems, from its declaration."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from api.problems import ALL_PROBLEMS, MEDIA_TYPE, STATUS, problem_document
from api.wire.answers import Problem

if TYPE_CHECKING:
    from api.routes.routing import Route, Routes

TITLE: Final = "Vigencia"
SUMMARY: Final = "What was true when, and what was believed when."
DESCRIPTION: Final = """\
A memory for agents that knows what was true when, and what was believed when. Every read is asked at two instants:
`valid_at`, when it holds in the world, and `known_at`, what was known then. Retrieval gives no permission to act.

Errors are problem documents (RFC 9457): `type` leads to a page about the problem, `errors` point at what to correct,
`remedy` says what to do. Lists are continued with `next_cursor`; a walk is one snapshot. Members may be added to
answers and enumerations: tolerate those that you do not know.
"""

_REF: Final = "#/components/schemas/{model}"
_PATH_PART: Final = re.compile(r"\{(\w+)(?::path)?\}")
_PARTS: Final = {
    "id": "The id of the thing; for a source its name.",
    "name": "The name of the thing.",
    "slug": "The last part of a problem's `type`.",
}


def openapi_document(groups: Sequence["Routes"], version: str, *, keys: bool) -> dict[str, Any]:
    """The whole document; with `keys`, bearer keys are asked for."""
    routes = [route for group in groups for route in group.listed]
    models = list(dict.fromkeys(_models(routes)))
    schemas = _schemas(models)
    paths: dict[str, Any] = {}
    for route in routes:
        path = _PATH_PART.sub(r"{\1}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, keys=keys)
    components: dict[str, Any] = {"schemas": schemas, "examples": _problem_examples()}
    if keys:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "summary": SUMMARY, "description": DESCRIPTION, "version": version},
        "tags": [{"name": group.tag, "description": group.words} for group in groups],
        "paths": paths,
        "components": components,
    }


def _models(routes: Iterable["Route"]) -> Iterable[type[BaseModel]]:
    yield Problem
    for route in routes:
        yield from (model for model in (route.body, route.answer) if model is not None)


def _schemas(models: Sequence[type[BaseModel]]) -> dict[str, Any]:
    bodies = [(model, "validation") for model in models]
    _, document = models_json_schema(bodies, ref_template=_REF)  # type: ignore[arg-type]
    definitions: dict[str, Any] = document["$defs"]
    return dict(sorted(definitions.items()))


def _operation(route: "Route", *, keys: bool) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "tags": [route.tag],
        "summary": route.summary,
        "parameters": [*_path_parameters(route), *_query_parameters(route.query), *_header_parameters(route)],
        "responses": _responses(route),
    }
    if route.description:
        operation["description"] = route.description
    if route.body is not None:
        operation["requestBody"] = _body(route, route.body)
    if keys and "unauthenticated" in route.problems:
        operation["security"] = [{"key": []}]
    return operation


def _path_parameters(route: "Route") -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _PARTS[name],
            "schema": {"type": "string", "minLength": 1, "maxLength": 500},
        }
        for name in _PATH_PART.findall(route.path)
    ]


def _query_parameters(model: type[BaseModel]) -> list[dict[str, Any]]:
    schema = model.model_json_schema()
    required = set(schema.get("required", ()))
    return [
        _query_parameter(name, dict(member), required=name in required)
        for name, member in schema.get("properties", {}).items()
    ]


def _query_parameter(name: str, member: dict[str, Any], *, required: bool) -> dict[str, Any]:
    """A parameter is a string that is there or not, so the `null` of the model does not show."""
    member.pop("title", None)
    parameter: dict[str, Any] = {"name": name, "in": "query", "required": required}
    if "description" in member:
        parameter["description"] = member.pop("description")
    if "anyOf" in member:
        kinds = [kind for kind in member.pop("anyOf") if kind.get("type") != "null"]
        member = {**kinds[0], **{k: v for k, v in member.items() if k != "default"}}
    parameter["schema"] = member
    return parameter


def _header_parameters(route: "Route") -> list[dict[str, Any]]:
    headers = [_header(name, words) for name, words in route.headers.items()]
    if route.conditional:
        headers.append(_header("If-None-Match", "The `ETag` of an answer that is there already: then 304."))
    if route.precondition:
        headers.append(
            _header("If-Match", "The `ETag` of what was read; needed unless the body has `expected_version`.")
        )
    if route.keyed:
        headers.append(_header("Idempotency-Key", "A key of the operation: a retry gets the first answer again."))
        headers.append(_header("Prefer", "`return=minimal` for a short receipt."))
    return headers


def _header(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, "description": description, "schema": {"type": "string"}}


def _body(route: "Route", model: type[BaseModel]) -> dict[str, Any]:
    examples = {name: {"value": example} for name, example in route.examples.items()}
    schema = {"$ref": _REF.format(model=model.__name__)}
    content: dict[str, Any] = {}
    for media in route.media:
        content[media] = {"schema": schema if media == "application/json" else {"type": "string"}}
        if examples and media == "application/json":
            content[media]["examples"] = examples
    return {"required": not route.body_optional, "content": content}


def _responses(route: "Route") -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "Done." if route.method != "GET" else "The answer.", "headers": _ID}
    if route.answer is not None:
        schema = {"$ref": _REF.format(model=_name(route.answer))}
        answer["content"] = {"application/json": {"schema": schema}}
    if route.media_given:
        answer.setdefault("content", {})[route.media_given] = {"schema": {"type": "string"}}
    responses: dict[str, Any] = {"200": answer}
    if route.accepted:
        responses["202"] = {**answer, "description": "Kept; the rest is done later."}
    if route.conditional:
        responses["304"] = {"description": "The caller has this answer already.", "headers": _ID}
    by_status: dict[int, list[str]] = {}
    for slug in dict.fromkeys(route.problems):
        by_status.setdefault(STATUS[slug], []).append(slug)
    for status, slugs in sorted(by_status.items()):
        responses[str(status)] = _problem_response(slugs)
    return responses


def _problem_examples() -> dict[str, Any]:
    return {
        slug: {"value": problem_document(slug, problem.meaning, request_id="req_0123456789abcdef")}
        for slug, problem in ALL_PROBLEMS.items()
    }


def _problem_response(slugs: Sequence[str]) -> dict[str, Any]:
    lines = [f"`{slug}`: {ALL_PROBLEMS[slug].title}." for slug in slugs]
    examples = {slug: {"$ref": f"#/components/examples/{slug}"} for slug in slugs}
    return {
        "description": " ".join(lines),
        "headers": _ID,
        "content": {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}, "examples": examples}},
    }


_ID: Final = {"Request-Id": {"description": "The id of the request, in the log too.", "schema": {"type": "string"}}}


def _name(model: type[BaseModel]) -> str:
    return model.__name__
