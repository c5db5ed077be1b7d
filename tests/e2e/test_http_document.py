"""The OpenAPI document says what is served: every route, with examples that work and problems that exist."""

import re
from typing import Any

import pytest
from pydantic import BaseModel

from api.app import GROUPS
from api.auth.principals import local_person
from api.problems import ALL_PROBLEMS, STATUS
from api.routes.routing import Route
from api.wire.violations import validated
from ontology.scope import Tenant
from tests.e2e.conftest import Api, answer, fact

ROUTES = [route for group in GROUPS for route in group.listed]


@pytest.fixture
def document(api: Api) -> dict[str, Any]:
    return answer(api.get("/openapi.json"))


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_route_is_an_operation_with_words(document: dict[str, Any]) -> None:
    found = {(method.upper(), path): operation for path, method, operation in operations(document)}

    assert document["openapi"] == "3.1.0"
    assert set(found) == {(route.method, re.sub(":path", "", route.path)) for route in ROUTES}
    for (_, path), operation in found.items():
        assert operation["summary"], path
        assert all(parameter["schema"] for parameter in operation["parameters"])


def test_operation_ids_are_unique_and_stable(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in operations(document)]

    assert len(set(names)) == len(names)
    assert {
        "write_claims", "read_state", "read_states", "read_history", "read_audit", "read_belief", "read_diff",
        "read_log", "read_changes", "read_paths", "list_entities", "read_entity", "read_neighbourhood", "read_fact",
        "read_evidence", "read_versions", "replace_fact", "retract_fact", "withdraw_claim", "withdraw_source",
        "list_events", "read_ontology", "put_ontology", "read_health", "read_readiness",
        "search_memory",
    } <= set(names)  # fmt: skip


def test_tags_come_in_reading_order(document: dict[str, Any]) -> None:
    order = [tag["name"] for tag in document["tags"]]

    assert order == [
        "state", "search", "recall", "claims", "review", "episodes", "operations", "sessions", "profiles", "handoffs",
        "facts", "history", "entities", "analysis", "ontology", "events", "forgetting", "namespaces", "server",
    ]  # fmt: skip
    assert {tag for _, _, operation in operations(document) for tag in operation["tags"]} == set(order)


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    def references(node: Any) -> set[str]:
        if isinstance(node, dict):
            own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
            return own.union(*(references(inner) for inner in node.values()))
        return set().union(*(references(inner) for inner in node)) if isinstance(node, list) else set()

    for reference in references(document):
        found: Any = document
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        assert found


def test_every_problem_has_a_status_and_a_page(api: Api) -> None:
    assert set(STATUS) == set(ALL_PROBLEMS)
    for slug in ALL_PROBLEMS:
        assert api.read(f"/problems/{slug}")["status"] == STATUS[slug]


def test_every_problem_of_an_operation_is_a_problem_document(document: dict[str, Any]) -> None:
    for path, _, operation in operations(document):
        statuses = {status for status in operation["responses"] if status >= "400"}
        assert {"400", "500"} <= statuses, path
        for status in statuses:
            assert set(operation["responses"][status]["content"]) == {"application/problem+json"}, path


BODIES = [route for route in ROUTES if route.examples]


@pytest.mark.parametrize("route", BODIES, ids=[route.name for route in BODIES])
def test_examples_of_bodies_can_be_read(route: Route) -> None:
    model = route.body
    assert model is not None
    for example in route.examples.values():
        assert isinstance(validated(model, example, "the example"), BaseModel)


def test_examples_of_claims_work_one_after_the_other(api: Api) -> None:
    api.at("2026-06-20")
    route = next(route for route in ROUTES if route.name == "write_claims")

    for name, example in route.examples.items():
        response = api.post("/v1/claims", example)
        assert response.status_code == 200, (name, response.text)


def test_without_keys_no_key_is_asked_for_and_with_keys_it_is(document: dict[str, Any], keyed: Api) -> None:
    secured = keyed.read("/openapi.json")

    assert "securitySchemes" not in document["components"]
    assert secured["components"]["securitySchemes"] == {"key": {"type": "http", "scheme": "bearer"}}
    assert secured["paths"]["/v1/state"]["get"]["security"] == [{"key": []}]
    assert "security" not in secured["paths"]["/healthz"]["get"]


def test_the_example_of_a_parameter_is_a_question_that_is_answered(
    api: Api, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    person = local_person(Tenant(api.services.settings.tenant))  # an agent may not look at what is held
    monkeypatch.setattr("api.routes.call.Call.principal", property(lambda _: person))
    api.at("2026-06-20")
    api.write(fact("mira", "passport_deadline", "2026-07-15", valid_from="2026-06-01"))
    for path, method, operation in operations(document):
        if method != "get" or "{" in path:
            continue
        asked = {
            parameter["name"]: parameter["schema"]["examples"][0]
            for parameter in operation["parameters"]
            if parameter["required"] or parameter["name"] == "subject"
        }
        asked |= {"known_from": "2026-06-01", "known_to": "2026-06-04"} if "known_to" in asked else {}
        response = api.get(path, **asked)
        assert response.status_code == 200, (path, response.text)
