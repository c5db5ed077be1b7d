"""The public keys of a token issuer (JWKS, RFC 7517), from a URL or a file, kept for a while.

Whoever waits for them waits `WAIT_SECONDS` at most. A fetch is tried at most every `PAUSE_SECONDS`, so tokens with
made-up key ids cannot make us ask the issuer for each. Keys are asked for anew after `FRESH_SECONDS`; if the issuer
is away then, those that we have serve on until `KEPT_SECONDS`: a key that it withdrew meanwhile is trusted so long.
"""

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from api.auth.loopback import is_loopback
from ontology.errors import Incorrect, Unauthenticated, Unavailable, shown

WAIT_SECONDS: Final = 3.0
GRACE_SECONDS: Final = 0.5
PAUSE_SECONDS: Final = 10.0
FRESH_SECONDS: Final = 300.0
KEPT_SECONDS: Final = 3600.0
BYTES_MAX: Final = 1_000_000
RSA_BITS_MIN: Final = 2048

_RSA: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_EC: Final = {"P-256": ("ES256",), "P-384": ("ES384",), "P-521": ("ES512",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """A key of the issuer, and the algorithms for which it is."""

    key: Any
    """As `cryptography` has it."""
    algorithms: frozenset[str]


class KeySet:
    """The keys of one issuer. Safe to use from many threads."""

    def __init__(self, fetch: Callable[[], bytes], clock: Callable[[], float] = time.monotonic) -> None:
        """`fetch` gives the JWKS document; it ends by itself, and raises `OSError` or `ValueError`."""
        self._fetch = fetch
        self._clock = clock
        self._keys: Mapping[str, PublicKey] = {}
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._failure = "they were not fetched yet"
        self._turn = threading.Lock()
        self._fetching: threading.Thread | None = None

    def key(self, id: str) -> PublicKey:
        """The key with this id.

        Raises `Unauthenticated` where the issuer has none, `Unavailable` where nobody can tell.
        """
        found = self._keys.get(id)
        if found is None or self._age() > FRESH_SECONDS:
            self.refresh(wait=found is None or self._age() > KEPT_SECONDS)
        if self._age() > KEPT_SECONDS:
            raise Unavailable(
                f"the keys of the token issuer cannot be fetched: {self._failure}",
                slug="issuer-unavailable", retry_after=int(PAUSE_SECONDS),
            )  # fmt: skip
        found = self._keys.get(id)
        if found is None:
            raise Unauthenticated(f"the token is signed with the key {shown(id)}, which its issuer does not have")
        return found

    def refresh(self, *, wait: bool) -> None:
        """Fetch the keys, unless that was tried just now. Without `wait` nothing is done if another thread is at it."""
        if not self._turn.acquire(timeout=WAIT_SECONDS if wait else 0):
            return
        try:
            if self._tried_at is None or self._clock() - self._tried_at >= PAUSE_SECONDS:
                self._try()
        finally:
            self._turn.release()

    def _try(self) -> None:
        self._tried_at = self._clock()
        if self._fetching is None or not self._fetching.is_alive():
            self._fetching = threading.Thread(target=self._take, name="vigencia-jwks", daemon=True)
            self._fetching.start()
        self._fetching.join(WAIT_SECONDS + GRACE_SECONDS)  # looking up a name has no time-out of its own
        if self._fetching.is_alive():
            self._failure = f"not complete within {WAIT_SECONDS:g} s"

    def _take(self) -> None:
        try:
            self._keys = read_jwks(self._fetch())
        except (OSError, ValueError, http.client.HTTPException) as exc:
            self._failure = shown(f"{exc.__class__.__name__}: {exc}", 200)
        else:
            self._fetched_at = self._clock()

    def _age(self) -> float:
        return float("inf") if self._fetched_at is None else self._clock() - self._fetched_at


def key_set(place: str) -> KeySet:
    """The keys at a URL or in a file.

    Raises `Incorrect` for a file that cannot be read, and for a URL that is neither HTTPS nor on this machine.
    """
    url = urlsplit(place)
    if url.scheme not in ("http", "https"):
        keys = KeySet(lambda: Path(place).read_bytes())
        _check_file(place)
        return keys
    if not url.hostname or (url.scheme == "http" and not is_loopback(url.hostname)):
        raise Incorrect(f"the JWKS URL {shown(place)} is not safe from change on its way; use https://")
    return KeySet(lambda: fetched(url))


def _check_file(path: str) -> None:
    try:
        read_jwks(Path(path).read_bytes())
    except (OSError, ValueError) as exc:
        raise Incorrect(f"the JWKS file {shown(path, 400)} cannot be used: {exc}") from exc


def read_jwks(document: bytes) -> dict[str, PublicKey]:
    """The keys of a JWKS document that can verify signatures, by id. Raises `ValueError` where there is none.

    A symmetric key is none, and one without an id cannot be named by a token.
    """
    listed = json.loads(document)
    listed = listed.get("keys") if isinstance(listed, dict) else None
    if not isinstance(listed, list):
        raise ValueError("no JWKS: an object with 'keys' is one")
    found = {each["kid"]: key for each in listed if isinstance(each, dict) and (key := _public_key(each)) is not None}
    if not found:
        raise ValueError("the JWKS has no public key with a 'kid' that signs")
    return found


def _public_key(given: dict[str, Any]) -> PublicKey | None:
    if not isinstance(given.get("kid"), str) or given.get("use", "sig") != "sig" or "d" in given:
        return None
    algorithms = _algorithms(given)
    if "alg" in given:
        algorithms &= {str(given["alg"])}
    if not algorithms:
        return None
    with suppress(PyJWTError, ValueError, TypeError):
        key = PyJWK(given, min(algorithms)).key
        if not isinstance(key, RSAPublicKey) or key.key_size >= RSA_BITS_MIN:
            return PublicKey(key=key, algorithms=frozenset(algorithms))
    return None


def _algorithms(given: dict[str, Any]) -> set[str]:
    match given.get("kty"), given.get("crv"):
        case "RSA", _:
            return set(_RSA)
        case "EC", str(curve):
            return set(_EC.get(curve, ()))
        case "OKP", "Ed25519":
            return {"EdDSA"}
    return set()


def fetched(url: SplitResult) -> bytes:
    """The body at a URL, within `WAIT_SECONDS` whatever the server does; no redirect is followed.

    Raises `OSError`, `HTTPException`.
    """
    connection = _connection(url)
    late = threading.Event()
    sockets: list[socket.socket] = []

    def hang_up() -> None:  # the time-out of a socket is one of each packet, and a slow server sends many
        late.set()
        with suppress(OSError):
            for each in sockets:
                each.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(WAIT_SECONDS, hang_up)
    timer.daemon = True
    timer.start()
    try:
        connection.connect()
        sockets.append(connection.sock)  # the connection forgets it as soon as the response has it
        connection.request("GET", f"{url.path or '/'}{'?' + url.query if url.query else ''}", headers=_HEADERS)
        response = connection.getresponse()
        if response.status != http.client.OK:
            raise OSError(f"the status is {response.status}")
        body = response.read(BYTES_MAX + 1)
    except (OSError, http.client.HTTPException):
        if late.is_set():
            raise TimeoutError(f"not complete within {WAIT_SECONDS:g} s") from None
        raise
    finally:
        timer.cancel()
        connection.close()
    if late.is_set():
        raise TimeoutError(f"not complete within {WAIT_SECONDS:g} s")
    if len(body) > BYTES_MAX:
        raise OSError(f"more than {BYTES_MAX} bytes")
    return body


def _connection(url: SplitResult) -> http.client.HTTPConnection:
    if url.scheme == "http":
        return http.client.HTTPConnection(url.hostname or "", url.port, timeout=WAIT_SECONDS)
    context = ssl.create_default_context()
    return http.client.HTTPSConnection(url.hostname or "", url.port, timeout=WAIT_SECONDS, context=context)


_HEADERS: Final = {"Accept": "application/json", "User-Agent": "vigencia"}
