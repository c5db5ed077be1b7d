"""An application over an empty store, with a clock set by hand, asked without a network."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.auth.issued import Issuer
from api.settings import read_settings
from api.wiring import Services, open_services
from ontology.access import PrincipalKind
from ontology.grants import read_permits
from ontology.instants import OPEN_END, parse_instant
from ontology.packs import builtin_pack
from ontology.scope import scope_of
from tests.conftest import FrozenClock, SeededRandomness
from tests.neo4j.stores import NAME as NEO4J
from tests.neo4j.stores import empty_store, marked, server

KEYS = """
- {key: vg_acme-writer-key, tenant: acme, principal: ann}
- {key: vg_acme-import-key, tenant: acme, principal: importer, import: true}
- {key: vg_other-writer-key, tenant: other, principal: olga}
"""

SQLITE: Final = "sqlite"
ON_EVERY_STORE: Final = (
    "test_http_episodes",
    "test_http_events",
    "test_http_forgetting",
    "test_http_handoffs",
    "test_http_hostile_episodes",
    "test_http_injection",
    "test_http_paging",
    "test_http_profiles",
    "test_http_recall",
    "test_http_reading",
    "test_http_sessions",
    "test_http_retention",
    "test_http_search",
    "test_http_story",
    "test_http_writing",
)
"""Modules whose tests must see the same of every store; the others are about what stands before it."""

Item = dict[str, Any]


@dataclass
class Api:
    """What a test says to the application, and when."""

    services: Services
    clock: FrozenClock
    client: TestClient

    def at(self, text: str) -> None:
        """Set the clock."""
        self.clock.reading = parse_instant(text)

    def get(self, path: str, **query: str | int) -> httpx2.Response:
        return self.client.get(path, params={k.rstrip("_"): v for k, v in query.items()})

    def read(self, path: str, **query: str | int) -> dict[str, Any]:
        """The answer to a read that must succeed."""
        return answer(self.get(path, **query))

    def post(self, path: str, body: object, **headers: str) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post(path, json=body, headers=named)

    def write(self, *items: Item, **body: object) -> dict[str, Any]:
        """The receipt of a write that must succeed."""
        return answer(self.post("/v1/claims", {"items": list(items), **body}))

    def values(self, path: str, **query: str | int) -> list[str]:
        return [item["value"].get("value", item["value"].get("key")) for item in self.read(path, **query)["items"]]


def answer(response: httpx2.Response) -> dict[str, Any]:
    assert response.status_code == 200, response.text
    document: dict[str, Any] = response.json()
    return document


def problem(response: httpx2.Response, status: int, slug: str) -> dict[str, Any]:
    """The problem document of a refusal, which must be one in every respect."""
    document: dict[str, Any] = response.json()
    assert (response.status_code, document["type"]) == (status, f"/problems/{slug}"), response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert document["status"] == status
    assert document["request_id"] == response.headers["request-id"]
    assert document["title"]
    assert document["detail"]
    assert document["remedy"]
    assert all(set(error) == {"pointer", "code", "detail"} for error in document["errors"])
    return document


def codes(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(error["pointer"], error["code"]) for error in document["errors"]]


def fact(subject: str, predicate: str, value: object, **said: object) -> Item:
    """An assertion as a caller writes it."""
    return {"op": "assert", "subject": subject, "predicate": predicate, "value": value, **said}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "address" in metafunc.fixturenames and metafunc.module.__name__.rpartition(".")[2] in ON_EVERY_STORE:
        metafunc.parametrize("address", marked((SQLITE, NEO4J)), indirect=True)


@pytest.fixture
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where memory is kept: nothing is there yet."""
    if getattr(request, "param", SQLITE) == SQLITE:
        return f"sqlite:///{tmp_path / 'vigencia.db'}"
    empty_store().close()
    return server().uri


@pytest.fixture
def services(address: str, clock: FrozenClock, randomness: SeededRandomness) -> Iterator[Services]:
    opened = open_services(read_settings(store=address), clock, randomness)
    yield opened
    opened.close()


@pytest.fixture
def api(services: Services, clock: FrozenClock) -> Iterator[Api]:
    """The application on loopback without keys, with the demonstration's vocabulary."""
    services.writer.put_schema(scope_of("default"), "agent", builtin_pack("demo"))
    with local_client(services) as client:
        yield Api(services, clock, client)


@pytest.fixture
def keyed(tmp_path: Path, clock: FrozenClock, randomness: SeededRandomness) -> Iterator[Api]:
    """The application with keys for two tenants."""
    keys = tmp_path / "keys.yaml"
    keys.write_text(KEYS)
    settings = read_settings(store=f"sqlite:///{tmp_path / 'keyed.db'}", keys_file=keys)
    opened = open_services(settings, clock, randomness)
    with TestClient(create_app(opened), base_url="http://memory.example", client=("203.0.113.9", 5)) as client:
        yield Api(opened, clock, client)
    opened.close()


def local_client(services: Services) -> TestClient:
    return TestClient(create_app(services), base_url="http://127.0.0.1:8321", client=("127.0.0.1", 5))


def issued(services: Services, principal: str, *grants: str, tenant: str = "acme", **options: Any) -> dict[str, str]:
    """The header with a new key of the store."""
    issuer = Issuer(services.store, services.clock, services.randomness, tenant, "person")
    options = {"expires_at": OPEN_END, "may_import": False, **options}
    text, _ = issuer.issue(principal, PrincipalKind.AGENT, read_permits(list(grants)), **options)
    return {"Authorization": f"Bearer {text}"}


def bearer(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer vg_{name}-key"}
