"""No caller sees another tenant, strangers see nothing, and only importers give recorded times."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.auth.issued import Issuer
from api.wiring import Services
from ontology.instants import OPEN_END, SECOND, Instant
from tests.e2e.conftest import Api, answer, bearer, codes, fact, issued, problem
from tests.unit.test_tokens import AUDIENCE, ISSUER, JWKS, forged, token

SECRET = fact("mira", "lives_in", "berlin", valid_from="2026-01-01")


def as_caller(api: Api, name: str) -> Api:
    api.client.headers.update(bearer(name))
    return api


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer vg_unknown-key-000"}, {"Authorization": "Basic eDp5"}]
)
@pytest.mark.parametrize("path", ["/v1/state?subject=mira", "/v1/ontology", "/v1/events", "/v1/nowhere"])
def test_without_a_known_key_nothing_is_answered(keyed: Api, path: str, headers: dict[str, str]) -> None:
    refused = keyed.client.get(path, headers=headers)

    problem(refused, 401, "unauthenticated")
    assert refused.headers["www-authenticate"].startswith("Bearer")


def test_a_key_that_was_revoked_or_has_expired_opens_nothing(keyed: Api) -> None:
    services, soon = keyed.services, Instant(keyed.clock.now() + 10 * SECOND)
    revoked, expires, holds = (
        issued(services, "bo", "*:all", expires_at=until) for until in (OPEN_END, soon, OPEN_END)
    )  # fmt: skip
    Issuer(services.store, keyed.clock, services.randomness, "acme", "person").revoke(revoked["Authorization"][7:])
    keyed.clock.advance(20 * SECOND)
    for headers, why in ((revoked, "revoked"), (expires, "expired")):
        refused = keyed.client.get("/v1/ontology", headers=headers)
        assert why in problem(refused, 401, "unauthenticated")["detail"]
    assert keyed.client.get("/v1/ontology", headers=holds).status_code == 200


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (lambda: token(aud="elsewhere"), "another audience"),
        (lambda: forged({"alg": "none", "kid": "rsa"}, lambda _: b""), "signed by 'none'"),
        (lambda: forged({"alg": "RS256", "kid": "rsa"}, lambda _: b"x"), ""),
        (lambda: token(exp=1), "expired"),
    ],
    ids=["audience", "none", "signature", "expired"],
)
def test_a_token_that_does_not_hold_opens_nothing(
    services: Services, tmp_path: Path, sent: Callable[[], bytes], why: str
) -> None:
    jwks = tmp_path / "jwks.json"
    jwks.write_text(json.dumps(JWKS))
    set_ = {"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, "jwt_jwks": str(jwks)}
    with_tokens = replace(services, settings=services.settings.model_copy(update=set_))
    with TestClient(create_app(with_tokens), base_url="http://memory.example", client=("203.0.113.9", 5)) as client:
        right = client.get(
            "/v1/state?subject=x&namespace=notes", headers={"Authorization": f"Bearer {token().decode()}"}
        )
        assert right.status_code == 200, right.text
        refused = client.get("/v1/state?subject=x", headers={"Authorization": f"Bearer {sent().decode()}"})
        assert why in problem(refused, 401, "unauthenticated")["detail"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/problems", "/problems/unauthenticated", "/openapi.json"])
def test_what_says_nothing_of_memory_needs_no_key(keyed: Api, path: str) -> None:
    assert keyed.client.get(path).status_code == 200


def test_tenants_share_nothing(keyed: Api) -> None:
    receipt = as_caller(keyed, "acme-writer").write(SECRET)["items"][0]
    as_caller(keyed, "other-writer")
    ids = {"facts": receipt["opened"][0], "claims": receipt["claim"], "entities": receipt["subject"]["id"]}

    assert keyed.values("/v1/state", subject="mira") == []
    assert keyed.values("/v1/state", subject=receipt["subject"]["id"]) == []
    assert keyed.read("/v1/events")["items"] == []
    assert keyed.read("/v1/entities")["items"] == []
    for kind, id in ids.items():
        problem(keyed.get(f"/v1/{kind}/{id}"), 404, "not-found")
    problem(keyed.post(f"/v1/facts/{ids['facts']}/retract", {}, If_Match='"v1"'), 404, "not-found")
    problem(keyed.post(f"/v1/claims/{ids['claims']}/withdraw", {}, If_Match='"v1"'), 404, "not-found")
    problem(keyed.post("/v1/claims", {"items": [{"op": "withdraw", "claim": ids["claims"]}]}), 404, "not-found")
    assert as_caller(keyed, "acme-writer").values("/v1/state", subject="mira") == ["berlin"]


def test_a_key_of_one_tenant_replays_nothing_of_another(keyed: Api) -> None:
    as_caller(keyed, "acme-writer").post("/v1/claims", {"items": [SECRET]}, Idempotency_Key="k")

    other = as_caller(keyed, "other-writer").post("/v1/claims", {"items": [SECRET]}, Idempotency_Key="k")

    assert "idempotency-replayed" not in other.headers


@pytest.mark.parametrize("scope", [{"namespace": "other"}, {"purpose": "health"}])
def test_namespaces_and_purposes_do_not_show_in_each_other(api: Api, scope: dict[str, str]) -> None:
    fact_id = api.write(SECRET, **scope)["items"][0]["opened"][0]

    assert api.values("/v1/state", subject="mira") == []
    assert api.values("/v1/state", predicate="lives_in") == []
    assert api.read("/v1/entities")["items"] == []
    problem(api.get(f"/v1/facts/{fact_id}"), 404, "not-found")
    assert api.values("/v1/state", subject="mira", **scope) == ["berlin"]


def test_a_tenant_cannot_be_named_in_a_request(keyed: Api) -> None:
    as_caller(keyed, "other-writer")

    problem(keyed.get("/v1/state", subject="mira", tenant="acme"), 400, "invalid-request")
    problem(keyed.post("/v1/claims", {"items": [SECRET], "tenant": "acme"}), 400, "invalid-request")


def test_an_importer_gives_recorded_times_and_others_do_not(keyed: Api) -> None:
    body: dict[str, Any] = {"items": [SECRET], "import_recorded_at": "2026-03-01T00:00:00Z"}

    refused = as_caller(keyed, "acme-writer").post("/v1/claims", body)
    assert codes(problem(refused, 422, "recorded-at-not-settable")) == [
        ("/import_recorded_at", "recorded_at_not_settable")
    ]
    assert answer(as_caller(keyed, "acme-import").post("/v1/claims", body))["recorded_at"] == "2026-03-01T00:00:00Z"
    problem(keyed.post("/v1/claims", body), 400, "invalid-request")
    problem(keyed.post("/v1/claims", body | {"import_recorded_at": "2031-01-01"}), 400, "invalid-request")


def test_who_wrote_is_the_principal_of_the_key(keyed: Api) -> None:
    claim = as_caller(keyed, "acme-writer").write(SECRET)["items"][0]["claim"]

    assert keyed.read(f"/v1/claims/{claim}")["principal"] == "ann"


@pytest.mark.parametrize(
    ("client", "headers"),
    [
        ("192.168.1.7", {}),
        ("127.0.0.1", {"Host": "memory.example:8321"}),
        ("127.0.0.1", {"Host": "127.0.0.1.nip.example"}),
        ("127.0.0.1", {"Host": "localhost@evil.example"}),
        ("127.0.0.1", {"Host": ""}),
        ("127.0.0.1", {"Origin": "https://evil.example"}),
        ("127.0.0.1", {"Origin": "null"}),
        ("::ffff:192.168.1.7", {}),
    ],
)
def test_without_keys_only_this_machine_is_answered(services: Services, client: str, headers: dict[str, str]) -> None:
    with TestClient(create_app(services), base_url="http://127.0.0.1:8321", client=(client, 5)) as stranger:
        problem(stranger.get("/v1/state?subject=mira", headers=headers), 403, "foreign-origin")
        problem(stranger.post("/v1/claims", json={"items": [SECRET]}, headers=headers), 403, "foreign-origin")


@pytest.mark.parametrize(
    ("client", "headers"),
    [
        ("127.0.0.1", {"Host": "localhost:8321", "Origin": "http://localhost:8321"}),
        ("::1", {"Host": "[::1]:8321"}),
        ("127.0.0.5", {"Host": "127.0.0.1"}),
        ("::ffff:127.0.0.1", {}),
    ],
)
def test_this_machine_is_answered_under_any_loopback_name(
    services: Services, client: str, headers: dict[str, str]
) -> None:
    with TestClient(create_app(services), base_url="http://127.0.0.1:8321", client=(client, 5)) as local:
        assert local.get("/v1/state?subject=mira", headers=headers).status_code == 200


def test_each_answer_has_a_request_id(api: Api) -> None:
    named = api.client.get("/healthz", headers={"Request-Id": "mine-1"})
    odd = api.client.get("/healthz", headers={"Request-Id": "no good\t"})

    assert named.headers["request-id"] == "mine-1"
    assert odd.headers["request-id"].startswith("req_")
    assert api.client.get("/v1/nowhere").headers["request-id"].startswith("req_")
