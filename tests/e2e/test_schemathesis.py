"""Requests made from the served document, good ones and bad ones: nothing fails, nothing surprises a client."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks
from schemathesis.core.result import Ok
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api.app import GROUPS
from api.settings import read_settings
from api.wiring import open_services
from consolidation.items import Assert, Said
from ontology.packs import builtin_pack
from ontology.scope import scope_of
from tests.e2e.test_http_server import serving
from tests.sizes import scaled

NAMES = [route.name for group in GROUPS for route in group.listed]
EXAMPLES = math.ceil(scaled(2000) / len(NAMES) / 2)
"""Per operation and kind of request."""
CHECKS = [
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]
HEALTH = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BaseSchema]:
    """The document of a server with a little memory, which has no time to wait for a position."""
    file: Path = tmp_path_factory.mktemp("schemathesis") / "served.db"
    services = open_services(read_settings(store=f"sqlite:///{file}", position_seconds=0))
    scope = scope_of("default")
    services.writer.put_schema(scope, "agent", builtin_pack("demo"))
    said = Said(valid_from="2026-06-01")
    services.writer.write(scope, "agent", [
        Assert(subject="mira", predicate="passport_deadline", value="2026-07-15", said=said),
        Assert(subject="mira", predicate="lives_in", value="berlin", said=said),
    ])  # fmt: skip
    load_all_checks()
    with serving(services) as url:
        yield schemathesis.openapi.from_url(f"{url}/openapi.json")
    services.close()


@pytest.mark.soak
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["good", "bad"])
@pytest.mark.parametrize("name", NAMES)
def test_no_request_fails_or_gives_what_the_document_does_not_say(
    served: BaseSchema, name: str, mode: GenerationMode
) -> None:
    operation = operation_named(served, name)
    if mode is GenerationMode.NEGATIVE and not has_something_to_get_wrong(operation):
        pytest.skip(f"{name} has no parameters, so there is nothing to get wrong")

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=HEALTH)
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        response = case.call()
        assert response.status_code != 500, response.text
        case.validate_response(response, checks=CHECKS)
        if response.status_code >= 400:
            document = response.json()
            assert response.headers["content-type"] == ["application/problem+json"]
            assert document["status"] == response.status_code
            assert document["type"].startswith("/problems/")
            assert document["remedy"]

    ask()


def operation_named(schema: BaseSchema, name: str) -> Any:
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        if found.ok().definition.raw["operationId"] == name:
            return found.ok()
    raise LookupError(name)


def has_something_to_get_wrong(operation: Any) -> bool:
    return bool(operation.body or operation.query or operation.headers or operation.path_parameters)
