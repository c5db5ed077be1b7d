"""Keys and owners from the command line, and what they do to a server of the same store."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from starlette.testclient import TestClient

from api.app import create_app
from api.settings import read_settings
from api.wiring import open_services
from tests.e2e.command_line import CommandLine
from tests.e2e.conftest import answer, fact, problem

ITEM = fact("mira", "note", "x", valid_from="2026-01-01")


@pytest.fixture
def vigencia(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


class Server:
    """An application over the store of a command line, asked from another machine."""

    def __init__(self, line: CommandLine, **settings: object) -> None:
        self.services = open_services(read_settings(store=line.environment["VIGENCIA_STORE"], **settings))
        app = create_app(self.services)
        self.client = TestClient(app, base_url="http://memory.example", client=("203.0.113.9", 5))

    def state(self, key: str, **query: str) -> Any:
        headers = {"Authorization": f"Bearer {key}"}
        return self.client.get("/v1/state", params={"subject": "mira", **query}, headers=headers)

    def tell(self, key: str, **body: object) -> Any:
        headers = {"Authorization": f"Bearer {key}"}
        return self.client.post("/v1/claims", json={"items": [ITEM], **body}, headers=headers)


@pytest.fixture
def server(vigencia: CommandLine) -> Iterator[Server]:
    server = Server(vigencia)
    yield server
    server.services.close()


def created(vigencia: CommandLine, *arguments: str) -> str:
    done = vigencia("keys", "create", *arguments)
    assert done.code == 0, done.err
    assert "not shown again" in done.err
    return done.out.strip()


def test_a_key_opens_what_it_is_granted_until_it_is_revoked(vigencia: CommandLine, server: Server) -> None:
    key = created(vigencia, "ann", "--grant", "default:read")

    assert answer(server.state(key))["items"] == []
    problem(server.state(key, namespace="notes"), 403, "missing-role")
    assert problem(server.tell(key), 403, "missing-role")["grant"] == "write"
    listed = vigencia("keys", "list", "--json").document["items"]
    assert [(k["prefix"], k["principal"], k["state"], k["grants"]) for k in listed] == [
        (key.split("_")[1], "ann", "active", ["default:read"])
    ]
    assert key.split("_")[2] not in vigencia("keys", "list", "--json").out
    assert vigencia("keys", "list").rows[0][5] == listed[0]["created_at"], "before when it expires"

    assert vigencia("keys", "revoke", listed[0]["prefix"]).code == 0
    another = Server(vigencia)
    problem(another.state(key), 401, "unauthenticated")
    another.services.close()
    assert vigencia("keys", "list").rows[0][3] == "revoked"


def test_keys_are_of_one_tenant(vigencia: CommandLine, server: Server) -> None:
    mine = created(vigencia, "ann", "--grant", "*:all")
    theirs = created(vigencia, "ann", "--grant", "*:all", "--tenant", "acme")
    answer(server.tell(mine))

    assert len(answer(server.state(mine))["items"]) == 1
    assert answer(server.state(theirs))["items"] == []
    assert len(vigencia("keys", "list").rows) == 1
    assert vigencia("keys", "revoke", theirs.split("_")[1]).code == 3
    assert vigencia("keys", "revoke", theirs.split("_")[1], "--tenant", "acme").code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ann"], "--grant"),
        (["ann", "--grant", "notes:rite"], "rite"),
        (["ann", "--grant", "notes:read", "--kind", "robot"], "robot"),
        (["ann", "--grant", "notes:read", "--expires", "2020-01-01"], "at no time"),
        (["ann", "--grant", "notes:read", "--expires", "soon"], "soon"),
        (["", "--grant", "notes:read"], "names no principal"),
    ],
)
def test_a_key_that_cannot_be_made_is_told(vigencia: CommandLine, arguments: list[str], words: str) -> None:
    done = vigencia("keys", "create", *arguments)

    assert done.code == 2
    assert words in done.err
    assert done.out == ""


def test_a_key_says_when_it_ends_and_whether_it_imports(vigencia: CommandLine, server: Server) -> None:
    options = ["--expires", "90d", "--import", "--kind", "service", "--json"]
    document = vigencia("keys", "create", "bulk", "--grant", "*:write", *options).document

    assert (document["import"], document["kind"], document["created_by"]) == (True, "service", "person")
    assert document["expires_at"] > document["created_at"]
    recorded = server.tell(document["key"], import_recorded_at="2026-03-01T00:00:00Z")
    assert answer(recorded)["recorded_at"] == "2026-03-01T00:00:00Z"


def test_a_namespace_goes_to_its_first_writer_and_is_given_on(vigencia: CommandLine, server: Server) -> None:
    assert vigencia("remember", "mira", "note", "mine").code == 0
    ann, ben = (created(vigencia, name, "--grant", "*:read,write") for name in ("ann", "ben"))

    answer(server.tell(ann))
    refused = problem(server.tell(ben), 403, "missing-role")
    assert (refused["owner"], refused["namespace"], refused["grant"]) == ("ann", "default", "write")
    line = vigencia("remember", "mira", "note", "not mine any more")
    assert (line.code, "belongs to 'ann'" in line.err) == (6, True)
    assert vigencia("namespaces", "list").rows[0][:2] == ["default", "ann"]

    assert "it was ann's" in vigencia("namespaces", "transfer", "default", "--to", "ben").out
    answer(server.tell(ben))
    problem(server.tell(ann), 403, "missing-role")
    given = vigencia("namespaces", "transfer", "default", "--to", "person", "--json").document
    assert (given["owner"], given["before"], given["by"]) == ("person", "ben", "person")
    assert vigencia("remember", "mira", "note", "mine again").code == 0


def test_a_server_may_take_tokens_beside_keys(vigencia: CommandLine, tmp_path: Path) -> None:
    secret = ec.generate_private_key(ec.SECP256R1())
    jwks = tmp_path / "jwks.json"
    jwks.write_text(json.dumps({"keys": [{**ECAlgorithm.to_jwk(secret.public_key(), as_dict=True), "kid": "one"}]}))
    said = {
        "iss": "https://issuer.example", "aud": "vigencia", "sub": "ann", "tenant": "default",
        "exp": int(time.time()) + 60, "grants": "default:read",
    }  # fmt: skip

    def token(**other: object) -> str:
        return jwt.encode({**said, **other}, secret, algorithm="ES256", headers={"kid": "one"})

    server = Server(
        vigencia, jwt_issuer="https://issuer.example", jwt_audience="vigencia", jwt_jwks=str(jwks)
    )  # fmt: skip
    key = created(vigencia, "ben", "--grant", "default:read")
    for credential in (token(), key):
        assert server.state(credential).status_code == 200
        problem(server.tell(credential), 403, "missing-role")
    problem(server.state(token(aud="elsewhere")), 401, "unauthenticated")
    problem(server.client.get("/v1/state?subject=mira"), 401, "unauthenticated")
    server.services.close()


def test_where_the_issuer_is_away_it_is_503_and_keys_go_on(vigencia: CommandLine) -> None:
    server = Server(
        vigencia, jwt_issuer="https://issuer.example", jwt_audience="vigencia", jwt_jwks="http://127.0.0.1:1/jwks"
    )
    key = created(vigencia, "ben", "--grant", "default:read")
    secret = ec.generate_private_key(ec.SECP256R1())
    refused = server.state(jwt.encode({"sub": "ann"}, secret, algorithm="ES256", headers={"kid": "one"}))

    problem(refused, 503, "issuer-unavailable")
    assert refused.headers["retry-after"] == "10"
    assert server.state(key).status_code == 200
    server.services.close()


@pytest.mark.parametrize("variable", ["VIGENCIA_JWT_ISSUER", "VIGENCIA_JWT_JWKS"])
def test_a_server_does_not_start_with_half_of_what_tokens_need(vigencia: CommandLine, variable: str) -> None:
    vigencia.environment[variable] = "https://issuer.example"
    done = vigencia("serve", "--port", "0")

    assert done.code == 2
    assert "jwt_audience" in done.err


def test_the_doctor_looks_at_keys_and_tokens(vigencia: CommandLine, tmp_path: Path) -> None:
    def check(name: str) -> tuple[bool, str]:
        checks = vigencia("doctor", "--json").document["checks"]
        return next(((c["fine"], c["finding"]) for c in checks if c["check"] == name), (True, ""))

    vigencia.environment["VIGENCIA_HOST"] = "0.0.0.0"
    assert not check("keys")[0]
    created(vigencia, "ann", "--grant", "*:read")
    assert check("keys")[0]
    vigencia.environment["VIGENCIA_JWT_ISSUER"] = "https://issuer.example"
    fine, finding = check("tokens")
    assert (fine, "jwt_audience" in finding) == (False, True)
