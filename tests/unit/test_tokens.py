"""Tokens, good and forged, against a JWKS server of our own that can be slow, away or wrong."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from api.auth import jwks
from api.auth.jwks import KeySet, key_set, read_jwks
from api.auth.opening import open_tokens
from api.auth.principals import Principal
from api.auth.tokens import LEEWAY_SECONDS, ClaimNames, Tokens
from api.settings import read_settings
from ontology.access import PrincipalKind
from ontology.errors import Incorrect, Unauthenticated, Unavailable
from ontology.grants import read_permits

ISSUER: Final = "https://issuer.example"
AUDIENCE: Final = "vigencia"
NAMES: Final = ClaimNames(tenant="tenant", principal="sub", kind="kind", grants="grants")

RSA_KEY: Final = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA: Final = rsa.generate_private_key(public_exponent=65537, key_size=2048)
WEAK_RSA: Final = rsa.generate_private_key(public_exponent=65537, key_size=1024)
EC_KEY: Final = ec.generate_private_key(ec.SECP256R1())
ED_KEY: Final = ed25519.Ed25519PrivateKey.generate()


def public(algorithm: Any, key: Any, **members: object) -> dict[str, Any]:
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), **members}


JWKS: Final = {
    "keys": [
        public(RSAAlgorithm, RSA_KEY, kid="rsa"),
        public(RSAAlgorithm, RSA_KEY, kid="rs256-only", alg="RS256", use="sig"),
        public(ECAlgorithm, EC_KEY, kid="ec"),
        public(OKPAlgorithm, ED_KEY, kid="ed"),
        public(RSAAlgorithm, RSA_KEY, kid="for-encryption", use="enc"),
        public(RSAAlgorithm, WEAK_RSA, kid="weak"),
        {"kty": "oct", "kid": "shared", "k": base64.urlsafe_b64encode(b"x" * 32).decode()},
        public(RSAAlgorithm, RSA_KEY),
        {"kty": "RSA", "kid": "broken", "n": "AQAB"},
        {"kid": "odd", "kty": "XYZ"},
        "no key",
    ]
}


def claims(**changed: object) -> dict[str, Any]:
    now = int(time.time())
    whole = {
        "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "tenant": "acme", "kind": "person", "iat": now, "exp": now + 60,
        "grants": ["notes:read,write", "*:export"],
    }  # fmt: skip
    return {name: value for name, value in {**whole, **changed}.items() if value is not None}


def token(key: Any = RSA_KEY, algorithm: str = "RS256", kid: object = "rsa", **changed: object) -> bytes:
    headers = {} if kid is None else {"kid": kid}
    return jwt.encode(claims(**changed), key, algorithm=algorithm, headers=headers).encode()


def tokens(keys: KeySet | None = None, names: ClaimNames = NAMES) -> Tokens:
    keys = keys or KeySet(lambda: json.dumps(JWKS).encode())
    return Tokens(issuer=ISSUER, audience=AUDIENCE, keys=keys, names=names)


def forged(header: dict[str, object], signature: Callable[[bytes], bytes], **changed: object) -> bytes:
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, claims(**changed))]
    signed = b".".join(parts)
    return signed + b"." + base64.urlsafe_b64encode(signature(signed)).rstrip(b"=")


@pytest.mark.parametrize(
    ("key", "algorithm", "kid"),
    [(RSA_KEY, "RS256", "rsa"), (RSA_KEY, "PS512", "rsa"), (RSA_KEY, "RS256", "rs256-only"), (EC_KEY, "ES256", "ec"),
     (ED_KEY, "EdDSA", "ed")],
    ids=["rs256", "ps512", "declared", "es256", "eddsa"],
)  # fmt: skip
def test_a_token_names_tenant_principal_kind_and_grants(key: Any, algorithm: str, kid: str) -> None:
    principal, until = tokens().principal(token(key, algorithm, kid))

    assert principal == Principal(
        name="ann", tenant=principal.tenant, kind=PrincipalKind.PERSON, may_import=False, local=False,
        permits=read_permits("notes:read,write *:export"),
    )  # fmt: skip
    assert principal.tenant == "acme"
    assert 60 <= until - time.time() + 1 <= 62 + LEEWAY_SECONDS


def test_claims_may_have_other_names_and_be_left_out() -> None:
    names = ClaimNames(tenant="org", principal="https://x/name", kind="sort", grants="vigencia")
    said = {"org": "other", "https://x/name": "ben", "vigencia": "a:read b:write"}

    principal, _ = tokens(names=names).principal(token(**said))
    assert (principal.tenant, principal.name, principal.kind) == ("other", "ben", PrincipalKind.SERVICE)
    assert principal.permits == read_permits("a:read b:write")
    assert tokens().principal(token(grants=None))[0].permits == ()


def critical() -> bytes:
    headers = {"kid": "rsa", "crit": ["exp-seen"], "exp-seen": True}
    return jwt.encode(claims(), RSA_KEY, algorithm="RS256", headers=headers).encode()


BAD: Final[dict[str, tuple[Callable[[], bytes], str]]] = {
    "none": (lambda: forged({"alg": "none", "kid": "rsa"}, lambda _: b""), "signed by 'none'"),
    "None": (lambda: forged({"alg": "None", "kid": "rsa"}, lambda _: b""), "signed by 'None'"),
    "no algorithm": (lambda: forged({"kid": "rsa"}, lambda _: b""), "signed by None"),
    "hs256 with the public key": (lambda: forged({"alg": "HS256", "kid": "rsa"}, hs256), "signed by 'HS256'"),
    "hs256 with the shared key": (lambda: token("x" * 32, "HS256", "shared"), "does not have"),
    "another key": (lambda: token(OTHER_RSA), "signature of the token is wrong"),
    "another kind of key": (lambda: token(EC_KEY, "ES256", "rsa"), "signed by 'ES256'"),
    "an algorithm that the key is not for": (lambda: token(RSA_KEY, "PS256", "rs256-only"), "signed by 'PS256'"),
    "a key for encryption": (lambda: token(kid="for-encryption"), "does not have"),
    "a weak key": (lambda: token(kid="weak"), "does not have"),
    "no kid": (lambda: token(kid=None), "needs 'kid'"),
    "unknown kid": (lambda: token(kid="unknown"), "'unknown', which its issuer does not have"),
    "a path as kid": (lambda: token(kid="../../etc/passwd"), "does not have"),
    "a changed claim": (lambda: changed(token()), "signature of the token is wrong"),
    "another audience": (lambda: token(aud="elsewhere"), "another audience than 'vigencia'"),
    "no audience": (lambda: token(aud=None), "no claim 'aud'"),
    "another issuer": (lambda: token(iss="https://issuer.example/"), "not from 'https://issuer.example'"),
    "no issuer": (lambda: token(iss=None), "no claim 'iss'"),
    "expired": (lambda: token(exp=int(time.time()) - LEEWAY_SECONDS - 2), "has expired"),
    "never expires": (lambda: token(exp=None), "no claim 'exp'"),
    "not yet": (lambda: token(nbf=int(time.time()) + LEEWAY_SECONDS + 30), "does not hold yet"),
    "issued later": (lambda: token(iat=int(time.time()) + LEEWAY_SECONDS + 30), "does not hold yet"),
    "an extension that we do not know": (critical, "neither a key"),
    "no tenant": (lambda: token(tenant=None), "claim 'tenant' is None"),
    "no name as tenant": (lambda: token(tenant="ACME!"), "'ACME!' is not a name"),
    "a list as tenant": (lambda: token(tenant=["acme"]), "a text is needed"),
    "no principal": (lambda: token(sub=None), "claim 'sub' is None"),
    "an empty principal": (lambda: token(sub=""), "names no principal"),
    "another kind": (lambda: token(kind="robot"), "'robot', not agent, person, service"),
    "no grant": (lambda: token(grants=["notes:rite"]), "'rite' is no grant"),
    "grants of another form": (lambda: token(grants=7), "no list of permits"),
    "no token": (lambda: b"vg-something", "neither a key"),
    "two dots": (lambda: b"..", "neither a key"),
    "bytes": (lambda: b"\xff\xfe.\xff.\xff", "neither a key"),
    "too long": (lambda: token(more="x" * 20_000), "more than 16384 bytes"),
}  # fmt: skip


def hs256(signed: bytes) -> bytes:
    """The classic: the public key, which everybody has, as the secret of a symmetric signature."""
    pem = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return hmac.new(pem, signed, hashlib.sha256).digest()


def changed(whole: bytes) -> bytes:
    header, _, signature = whole.split(b".")
    body = base64.urlsafe_b64encode(json.dumps(claims(tenant="other")).encode()).rstrip(b"=")
    return b".".join((header, body, signature))


@pytest.mark.parametrize("name", BAD)
def test_a_token_that_is_wrong_is_refused_and_told_why(name: str) -> None:
    make, words = BAD[name]
    bad = make()

    with pytest.raises(Unauthenticated) as refused:
        tokens().principal(bad)
    assert words in refused.value.message
    assert bad.decode("latin-1") not in refused.value.message


# --- where the keys come from


class Issuer:
    """A JWKS server on this machine; `answer` is what it does with a request."""

    def __init__(self) -> None:
        self.asked = 0
        self.document: object = JWKS
        self.answer: Callable[[BaseHTTPRequestHandler], None] = self.well
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                issuer.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self.server.server_port}/jwks"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def well(self, request: BaseHTTPRequestHandler) -> None:
        body = json.dumps(self.document).encode()
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    yield issuer
    issuer.close()


class Timed:
    """The keys at a URL, with a clock set by hand."""

    def __init__(self, url: str) -> None:
        self.now = 1000.0
        self.keys = key_set(url)
        self.keys._clock = lambda: self.now

    def ask(self, kid: str = "rsa") -> Principal:
        return tokens(self.keys).principal(token(kid=kid))[0]

    def refused(self, kid: str = "rsa") -> None:
        with pytest.raises(Unauthenticated):
            self.ask(kid)

    def unavailable(self) -> str:
        with pytest.raises(Unavailable) as away:
            self.ask()
        assert away.value.slug == "issuer-unavailable"
        assert away.value.retry_after == jwks.PAUSE_SECONDS
        return away.value.message


def test_the_keys_are_fetched_once_and_again_after_a_while(issuer: Issuer) -> None:
    timed = Timed(issuer.url)
    for _ in range(5):
        assert timed.ask().name == "ann"
    assert issuer.asked == 1
    timed.now += jwks.FRESH_SECONDS + 1
    timed.ask()
    assert issuer.asked == 2


def test_a_key_that_was_withdrawn_is_not_trusted_after_that(issuer: Issuer) -> None:
    timed = Timed(issuer.url)
    timed.ask()
    issuer.document = {"keys": [JWKS["keys"][2]]}
    timed.now += jwks.FRESH_SECONDS + 1
    timed.refused()


def test_a_new_key_is_found_at_once_and_made_up_ones_do_not_flood_the_issuer(issuer: Issuer) -> None:
    timed = Timed(issuer.url)
    issuer.document = {"keys": [JWKS["keys"][2]]}
    timed.refused()
    issuer.document = JWKS
    for _ in range(50):
        timed.refused("made-up")
    assert issuer.asked == 1
    timed.now += jwks.PAUSE_SECONDS
    assert timed.ask().name == "ann"
    assert issuer.asked == 2


def fail(request: BaseHTTPRequestHandler) -> None:
    request.send_response(500)
    request.end_headers()


def elsewhere(request: BaseHTTPRequestHandler) -> None:
    request.send_response(302)
    request.send_header("Location", "http://127.0.0.1:1/")
    request.end_headers()


def hang(request: BaseHTTPRequestHandler) -> None:
    time.sleep(30)


def drip(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Length", "100000")
    request.end_headers()
    for _ in range(300):
        request.wfile.write(b" ")
        request.wfile.flush()
        time.sleep(0.1)


def flood(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.end_headers()
    request.wfile.write(b" " * (jwks.BYTES_MAX + 2))


def nonsense(request: BaseHTTPRequestHandler) -> None:
    body = b'{"keys": []}'
    request.send_response(200)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


@pytest.mark.parametrize("answer", [fail, elsewhere, flood, nonsense], ids=lambda each: each.__name__)
def test_an_issuer_that_answers_wrongly_is_told_and_asked_again_later(
    issuer: Issuer, answer: Callable[[BaseHTTPRequestHandler], None]
) -> None:
    issuer.answer = answer
    timed = Timed(issuer.url)
    for _ in range(3):
        timed.unavailable()
    assert issuer.asked == 1
    issuer.answer = issuer.well
    timed.now += jwks.PAUSE_SECONDS
    assert timed.ask().name == "ann"


@pytest.mark.parametrize("answer", [hang, drip], ids=lambda each: each.__name__)
def test_an_issuer_that_is_slow_holds_nobody_up_for_long(
    issuer: Issuer, answer: Callable[[BaseHTTPRequestHandler], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jwks, "WAIT_SECONDS", 0.5)
    issuer.answer = answer
    timed = Timed(issuer.url)
    begun = time.monotonic()
    assert "within 0.5 s" in timed.unavailable() or answer is hang
    for _ in range(20):
        timed.unavailable()
    assert time.monotonic() - begun < 10
    assert issuer.asked == 1


def test_an_issuer_that_is_away_is_503_and_known_keys_serve_for_an_hour(issuer: Issuer) -> None:
    timed = Timed(issuer.url)
    timed.ask()
    issuer.close()
    timed.now += jwks.FRESH_SECONDS + 1
    assert timed.ask().name == "ann"
    timed.refused("unknown")
    timed.now += jwks.KEPT_SECONDS
    assert "ConnectionRefusedError" in timed.unavailable()


def test_a_look_up_that_never_ends_is_waited_for_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jwks, "WAIT_SECONDS", 0.1)
    monkeypatch.setattr(jwks, "GRACE_SECONDS", 0.1)
    never, asked = threading.Event(), []

    def fetch() -> bytes:
        asked.append(1)
        never.wait(60)
        raise OSError("too late")

    keys = KeySet(fetch, clock=lambda: 1000.0 * len(asked))
    begun = time.monotonic()
    for _ in range(5):
        with pytest.raises(Unavailable, match="not complete"):
            keys.key("rsa")
    assert time.monotonic() - begun < 10
    assert len(asked) == 1
    never.set()


def test_many_callers_at_once_ask_the_issuer_once(issuer: Issuer) -> None:
    timed = Timed(issuer.url)
    found: list[Principal] = []
    threads = [threading.Thread(target=lambda: found.append(timed.ask())) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 10
    assert issuer.asked == 1


def test_keys_may_be_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps(JWKS))

    assert tokens(key_set(str(path))).principal(token())[0].name == "ann"


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"keys": []}', '{"keys": [{"kty": "oct", "kid": "a"}]}'])
def test_a_file_without_keys_is_told_at_the_start(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "jwks.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(Incorrect, match=r"jwks\.json"):
        key_set(str(path))


@pytest.mark.parametrize("url", ["http://issuer.example/jwks", "https:///jwks", "http://localhost.evil.example/"])
def test_a_url_that_others_could_answer_is_refused(url: str) -> None:
    with pytest.raises(Incorrect, match="https"):
        key_set(url)


def test_only_keys_that_sign_and_have_a_name_are_read() -> None:
    assert set(read_jwks(json.dumps(JWKS).encode())) == {"rsa", "rs256-only", "ec", "ed"}


def test_what_is_set_of_tokens_is_all_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps(JWKS))
    assert open_tokens(read_settings()) is None
    for part in ({"jwt_issuer": ISSUER}, {"jwt_jwks": str(path), "jwt_audience": AUDIENCE}):
        with pytest.raises(Incorrect, match="not set: jwt_"):
            open_tokens(read_settings(**part))
    opened = open_tokens(read_settings(jwt_issuer=ISSUER, jwt_audience=AUDIENCE, jwt_jwks=str(path)))
    assert opened is not None
    assert opened.principal(token())[0].tenant == "acme"
