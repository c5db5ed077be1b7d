"""Who is calling: a principal from a bearer key, or, without any keys, whoever is on this machine.

A key file is YAML (JSON is YAML): a list of

    - key: vg_a-long-random-text          # or `sha256:` with its hexadecimal digest
      tenant: acme
      principal: importer
      import: true                        # may give recorded times; false where it is left out

Keys are looked up by digest, so that time tells nothing about a key. Without a key file only loopback is answered,
by loopback names alone, so that a web page that points a name of its own at 127.0.0.1 gets nothing (DNS rebinding).
"""

import hashlib
import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from ontology.errors import Incorrect, Unauthenticated, VigenciaError, Violation, pointer, shown
from ontology.scope import Tenant, check_name

KEY_CHARS_MIN: Final = 16
KEYS_MAX: Final = 10_000

Headers = Mapping[bytes, bytes]
"""Lower-cased names; of a repeated header the last value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who calls, for which tenant, and whether it may import recorded times."""

    name: str
    tenant: Tenant
    may_import: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignOrigin:
    """Why a caller on loopback is turned away."""

    detail: str


AGENT: Final = "agent"
"""The principal of whoever calls from this machine while there are no keys."""


class Keys:
    """The bearer keys that this server knows, by their SHA-256."""

    def __init__(self, known: Mapping[bytes, Principal]) -> None:
        self._known = dict(known)

    def principal(self, authorization: bytes | None) -> Principal:
        """Whose key the `Authorization` header carries. Raises `Unauthenticated` for none and for an unknown one."""
        scheme, _, token = (authorization or b"").partition(b" ")
        if scheme.lower() != b"bearer" or not token.strip():
            raise Unauthenticated("the request has no key; send 'Authorization: Bearer vg_…'")
        digest = hashlib.sha256(token.strip()).digest()
        found = self._known.get(digest)  # how long that takes tells about the digest alone, which nobody can aim at
        if found is None:
            raise Unauthenticated("the key is not one that this server knows")
        return found


class _KeyModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    key: Annotated[str, Field(min_length=KEY_CHARS_MIN, max_length=500)] | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{64}$")] | None = None
    tenant: Annotated[str, AfterValidator(lambda text: _name(text, "tenant"))]
    principal: Annotated[str, Field(min_length=1, max_length=200)]
    may_import: Annotated[bool, Field(alias="import")] = False

    @model_validator(mode="after")
    def _one_of_two(self) -> "_KeyModel":
        if (self.key is None) == (self.sha256 is None):
            raise ValueError("give exactly one of 'key' and 'sha256'")
        return self

    @property
    def digest(self) -> bytes:
        return bytes.fromhex(self.sha256) if self.sha256 else hashlib.sha256((self.key or "").encode()).digest()


_FILE: Final = TypeAdapter(Annotated[list[_KeyModel], Field(min_length=1, max_length=KEYS_MAX)])


def read_keys(text: str) -> Keys:
    """The keys of a key file. Raises `Incorrect`, which shows no key, for what cannot be read."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        raise Incorrect("the key file is not YAML; it is a list of keys with 'key', 'tenant', 'principal'") from None
    try:
        models = _FILE.validate_python(document)
    except ValidationError as exc:
        violations = [
            Violation(pointer=pointer(*error["loc"]), code=error["type"], detail=error["msg"])
            for error in exc.errors(include_input=False, include_url=False)
        ]
        first = f"{violations[0].pointer}: {violations[0].detail}"
        raise Incorrect(f"the key file cannot be used, {first}", violations=violations) from None
    known: dict[bytes, Principal] = {}
    for index, model in enumerate(models):
        if model.digest in known:
            raise Incorrect(f"the key file has the key of entry {index} twice; remove one")
        known[model.digest] = Principal(name=model.principal, tenant=Tenant(model.tenant), may_import=model.may_import)
    return Keys(known)


def load_keys(path: Path) -> Keys:
    """The keys of the file at `path`. Raises `Incorrect` where it cannot be read."""
    try:
        return read_keys(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as exc:
        raise Incorrect(f"the key file {str(path)!r} cannot be read: {exc.__class__.__name__}") from exc


def foreign_caller(client: str | None, headers: Headers) -> ForeignOrigin | None:
    """Why a caller without a key is not on this machine; `None` if it is."""
    if client is None or not is_loopback(client):
        return ForeignOrigin(detail="without keys only this machine is answered")
    host = headers.get(b"host", b"").decode("latin-1")
    if not is_loopback(_host_name(host)):
        return ForeignOrigin(detail=f"the Host {shown(host)} is not a loopback name")
    for name in (b"origin", b"referer"):
        given = headers.get(name)
        if given is not None and not is_loopback(_origin_name(given.decode("latin-1"))):
            return ForeignOrigin(detail=f"the {name.decode().title()} {shown(given.decode('latin-1'))} is another site")
    return None


_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost", "localhost."})


def is_loopback(name: str) -> bool:
    """Whether a host name or an address means this machine by itself."""
    if name in _LOOPBACK:
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name.lower() in _LOOPBACK
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


_HOST: Final = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[^:\[\]]*))(?::[0-9]{1,5})?")


def _host_name(host: str) -> str:
    match = _HOST.fullmatch(host)
    return "" if match is None else match["six"] or match["name"]


def _origin_name(origin: str) -> str:
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""


def _name(text: str, what: str) -> str:
    try:
        return check_name(text, what)
    except VigenciaError as exc:
        raise ValueError(exc.message) from None


Authenticate = Callable[[str | None, Headers], Principal | ForeignOrigin]


def authenticator(keys: Keys | None, local: Principal) -> Authenticate:
    """What tells the principal of a request from the client's address and the headers.

    Without keys it is `local`. It raises `Unauthenticated` where there are keys and the request has none of them.
    """
    if keys is not None:
        return lambda client, headers: keys.principal(headers.get(b"authorization"))
    return lambda client, headers: foreign_caller(client, headers) or local
