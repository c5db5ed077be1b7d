import hashlib
import json
from pathlib import Path

import pytest

from api.auth.key_file import load_keys, read_keys
from api.auth.loopback import foreign_caller, is_loopback
from api.auth.principals import Principal
from ontology.access import PrincipalKind
from ontology.errors import Incorrect
from ontology.grants import EVERYTHING, read_permits

KEY = "vg_a-long-random-text"
ENTRY = f"- {{key: {KEY}, tenant: acme, principal: ann}}"


def whose(text: str, key: str = KEY) -> Principal:
    found = read_keys(text).principal(hashlib.sha256(key.encode()).digest())
    assert found is not None
    return found


def test_a_key_is_known_by_itself_or_by_its_digest() -> None:
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    hashed = f"- {{sha256: {digest}, tenant: acme, principal: ann, import: true}}"

    for text, may_import in ((ENTRY, False), (hashed, True)):
        principal = whose(text)
        assert (principal.tenant, principal.name, principal.may_import) == ("acme", "ann", may_import)
        assert (principal.permits, principal.kind, principal.local) == (EVERYTHING, PrincipalKind.SERVICE, False)


def test_a_key_file_may_be_json() -> None:
    assert whose(json.dumps([{"key": KEY, "tenant": "acme", "principal": "ann"}])).tenant == "acme"


def test_a_key_may_have_grants_and_a_kind() -> None:
    entry = f"- {{key: {KEY}, tenant: acme, principal: ann, kind: agent, grants: ['notes:read', '*:export']}}"
    principal = whose(entry)

    assert principal.permits == read_permits("notes:read *:export")
    assert principal.kind is PrincipalKind.AGENT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "a: [",
        "- !!python/object:os.system {}",
        "- {key: short, tenant: acme, principal: ann}",
        f"- {{key: {KEY}, tenant: ACME!, principal: ann}}",
        f"- {{key: {KEY}, tenant: acme}}",
        f"- {{key: {KEY}, tenant: acme, principal: ann, role: admin}}",
        f"- {{key: {KEY}, tenant: acme, principal: ann, import: maybe}}",
        f"- {{key: {KEY}, tenant: acme, principal: ann, grants: []}}",
        f"- {{key: {KEY}, tenant: acme, principal: ann, grants: 'notes:read'}}",
        f"- {{key: {KEY}, tenant: acme, principal: ann, grants: ['notes:rite']}}",
        f"- {{key: {KEY}, tenant: acme, principal: ann, kind: robot}}",
        "- {sha256: abc, tenant: acme, principal: ann}",
        "- {tenant: acme, principal: ann}",
        f"- {{key: {KEY}, sha256: {'0' * 64}, tenant: acme, principal: ann}}",
        f"{ENTRY}\n{ENTRY}",
    ],
)
def test_a_key_file_that_cannot_be_used_is_refused_without_showing_a_key(text: str) -> None:
    with pytest.raises(Incorrect) as refused:
        read_keys(text)

    assert KEY not in str(refused.value)
    assert all(KEY not in violation.detail for violation in refused.value.violations)


def test_a_key_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Incorrect, match="cannot be read"):
        load_keys(tmp_path / "keys.yaml")


@pytest.mark.parametrize(
    "name", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST", "localhost.", "::ffff:127.0.0.1"]
)
def test_names_of_this_machine(name: str) -> None:
    assert is_loopback(name)


@pytest.mark.parametrize(
    "name", ["", "0.0.0.0", "192.168.0.1", "localhost.evil.example", "127.0.0.1.nip.example", "::", "2130706433"]
)
def test_names_of_others(name: str) -> None:
    assert not is_loopback(name)


@pytest.mark.parametrize(
    ("client", "host", "origin"),
    [
        ("127.0.0.1", "evil.example", None),
        ("127.0.0.1", "localhost:80:80", None),
        ("127.0.0.1", "[::1", None),
        ("127.0.0.1", "localhost", "https://evil.example"),
        ("127.0.0.1", "localhost", "http://[::1"),
        ("10.0.0.1", "localhost", None),
        (None, "localhost", None),
    ],
)
def test_a_caller_from_elsewhere_is_foreign(client: str | None, host: str, origin: str | None) -> None:
    headers = {b"host": host.encode()} | ({b"origin": origin.encode()} if origin else {})

    assert foreign_caller(client, headers) is not None


def test_a_caller_from_here_is_not() -> None:
    headers = {b"host": b"localhost:8321", b"origin": b"http://127.0.0.1:8321"}

    assert foreign_caller("127.0.0.1", headers) is None
