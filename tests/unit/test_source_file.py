"""The file of sources: whose signature verifies, and what a file that is wrong is told."""

import base64
import hashlib
import hmac

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from api.source_file import read_sources
from consolidation.vouching import Declared, Signature, signed_bytes
from ontology.claims import Trust
from ontology.errors import Incorrect
from ontology.scope import Tenant, scope_of

ACME = Tenant("acme")
SECRET = b"thirty-two bytes of chance"
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = base64.b64encode(PRIVATE.public_key().public_bytes_raw()).decode()
FILE = f"""
- tenant: acme
  source: ledger
  keys:
    - {{name: shared, hmac_sha256: {base64.b64encode(SECRET).decode()}}}
    - {{name: pair, ed25519: {PUBLIC}}}
- {{tenant: acme, source: "web-*", trust: untrusted}}
- {{tenant: acme, source: "web-internal-*", trust: inferred}}
- {{tenant: acme, source: web-wiki, trust: observed}}
"""
MESSAGE = b"said"


def by_hmac(message: bytes = MESSAGE, secret: bytes = SECRET) -> Signature:
    value = hmac.new(secret, message, hashlib.sha256).digest()
    return Signature(key="shared", algorithm="hmac-sha256", value=value)


def by_pair(message: bytes = MESSAGE) -> Signature:
    return Signature(key="pair", algorithm="ed25519", value=PRIVATE.sign(message))


@pytest.mark.parametrize("signature", [by_hmac(), by_pair()], ids=["hmac", "ed25519"])
def test_a_signature_of_the_source_verifies_and_no_other(signature: Signature) -> None:
    sources = read_sources(FILE)
    assert sources.verifies(ACME, "ledger", signature, MESSAGE)
    assert not sources.verifies(ACME, "ledger", signature, MESSAGE + b"!")
    assert not sources.verifies(ACME, "web-wiki", signature, MESSAGE)
    assert not sources.verifies(Tenant("other"), "ledger", signature, MESSAGE)


@pytest.mark.parametrize(
    "signature",
    [
        by_hmac(secret=b"another secret of somebody"),
        by_pair(b"something else"),
        Signature(key="nobody's", algorithm="hmac-sha256", value=by_hmac().value),
        # the public key is known to all: it must not do as a secret
        Signature(
            key="pair", algorithm="hmac-sha256",
            value=hmac.new(base64.b64decode(PUBLIC), MESSAGE, hashlib.sha256).digest(),
        ),
        Signature(key="shared", algorithm="ed25519", value=by_pair().value),
        Signature(key="shared", algorithm="none", value=b""),
        Signature(key="shared", algorithm="hmac-sha256", value=b""),
        Signature(key="pair", algorithm="ed25519", value=b""),
    ],
    ids=["secret", "message", "key", "confused", "crossed", "none", "empty hmac", "empty ed25519"],
)  # fmt: skip
def test_a_forged_signature_does_not_verify(signature: Signature) -> None:
    assert not read_sources(FILE).verifies(ACME, "ledger", signature, MESSAGE)


@pytest.mark.parametrize(
    ("source", "declared"),
    [
        ("ledger", Declared(signs=True, trust=None)),
        ("web-wiki", Declared(signs=False, trust=Trust.OBSERVED)),
        ("web-internal-7", Declared(signs=False, trust=Trust.INFERRED)),
        ("web-7", Declared(signs=False, trust=Trust.UNTRUSTED)),
        ("chat", None),
    ],
)
def test_the_name_goes_before_a_beginning_and_the_longer_beginning_before_the_shorter(
    source: str, declared: Declared | None
) -> None:
    assert read_sources(FILE).declared(ACME, source) == declared
    assert read_sources(FILE).declared(Tenant("other"), source) is None


SHORT = base64.b64encode(b"short").decode()


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"tenant": "acme", "source": "a"}, "says nothing of the source"),
        ({"tenant": "acme", "source": "a", "keys": [{"name": "k"}]}, "exactly one of"),
        ({"tenant": "acme", "source": "a", "keys": [{"name": "k", "ed25519": SHORT}]}, "32 bytes"),
        ({"tenant": "acme", "source": "a", "keys": [{"name": "k", "hmac_sha256": SHORT}]}, "at least 16 bytes"),
        ({"tenant": "acme", "source": "a", "keys": [{"name": "k", "hmac_sha256": "secret!"}]}, "Base64"),
        ({"tenant": "acme", "source": "a*", "keys": [{"name": "k", "ed25519": PUBLIC}]}, "without '*'"),
        ({"tenant": "acme", "source": "a", "keys": [{"name": "k", "ed25519": PUBLIC}] * 2}, "twice"),
        ({"tenant": "a b", "source": "a", "trust": "untrusted"}, "tenant"),
        ({"tenant": "acme", "source": "a", "trust": "total"}, "trust"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_without_its_keys(entry: dict[str, object], told: str) -> None:
    with pytest.raises(Incorrect) as refused:
        read_sources(yaml.safe_dump([entry]))
    assert told in str(refused.value)
    assert "secret!" not in str(refused.value)
    assert SHORT not in str(refused.value)


def test_signed_are_the_members_that_are_given_in_one_order() -> None:
    scope = scope_of("acme", "notes")
    said = {"tz": None, "session": "s", "me": {"name": "Zoë"}}
    assert signed_bytes(scope, "ledger", "text/plain", "a\nb", said) == (
        b"vigencia-episode-signature-1\n"
        b'{"me":{"name":"Zo\xc3\xab"},"media_type":"text/plain","namespace":"notes","purpose":"general",'
        b'"session":"s","source":"ledger","text":"a\\nb"}'
    )
