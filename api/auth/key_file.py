"""Static keys: a YAML file (JSON is YAML) that is there before the store is, so that a container can begin with one.

- key: vg_a-long-random-text          # or `sha256:` with its hexadecimal digest
  tenant: acme
  principal: importer
  kind: service                       # agent, person or service
  grants: ["team-*:read,write"]       # everything in the tenant where it is left out
  import: true                        # may give recorded times; false where it is left out
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from api.auth.principals import Principal
from api.declared_file import load, read_entries
from ontology.access import PRINCIPAL_CHARS_MAX, PrincipalKind
from ontology.errors import Incorrect, VigenciaError
from ontology.grants import EVERYTHING, PERMITS_MAX, read_permits
from ontology.scope import Tenant, check_name

KEY_CHARS_MIN: Final = 16
KEYS_MAX: Final = 10_000


class Keys:
    """The static keys, by their SHA-256, so that time tells nothing about a key."""

    def __init__(self, known: Mapping[bytes, Principal]) -> None:
        self._known = dict(known)

    def principal(self, digest: bytes) -> Principal | None:
        """Whose key has this digest; how long that takes tells about the digest alone, which nobody can aim at."""
        return self._known.get(digest)


def _name(text: str, what: str) -> str:
    try:
        return check_name(text, what)
    except VigenciaError as exc:
        raise ValueError(exc.message) from None


def _permits(given: list[Any]) -> list[Any]:
    try:
        read_permits(given)
    except VigenciaError as exc:
        raise ValueError(exc.message) from None
    return given


class _KeyModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    key: Annotated[str, Field(min_length=KEY_CHARS_MIN, max_length=500)] | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{64}$")] | None = None
    tenant: Annotated[str, AfterValidator(lambda text: _name(text, "tenant"))]
    principal: Annotated[str, Field(min_length=1, max_length=PRINCIPAL_CHARS_MAX)]
    kind: Annotated[PrincipalKind, Field(strict=False)] = PrincipalKind.SERVICE
    grants: Annotated[list[Any], Field(min_length=1, max_length=PERMITS_MAX), AfterValidator(_permits)] | None = None
    may_import: Annotated[bool, Field(alias="import")] = False

    @model_validator(mode="after")
    def _one_of_two(self) -> "_KeyModel":
        if (self.key is None) == (self.sha256 is None):
            raise ValueError("give exactly one of 'key' and 'sha256'")
        return self

    @property
    def digest(self) -> bytes:
        return bytes.fromhex(self.sha256) if self.sha256 else hashlib.sha256((self.key or "").encode()).digest()

    def who(self) -> Principal:
        return Principal(
            name=self.principal,
            tenant=Tenant(self.tenant),
            kind=self.kind,
            permits=EVERYTHING if self.grants is None else read_permits(self.grants),
            may_import=self.may_import,
            local=False,
        )


_FILE: Final = TypeAdapter(Annotated[list[_KeyModel], Field(min_length=1, max_length=KEYS_MAX)])


def read_keys(text: str) -> Keys:
    """The keys of a key file. Raises `Incorrect`, which shows no key, for what cannot be read."""
    models = read_entries(text, _FILE, file="the key file", of="keys with 'key', 'tenant', 'principal'")
    known: dict[bytes, Principal] = {}
    for index, model in enumerate(models):
        if model.digest in known:
            raise Incorrect(f"the key file has the key of entry {index} twice; remove one")
        known[model.digest] = model.who()
    return Keys(known)


def load_keys(path: Path) -> Keys:
    """The keys of the file at `path`. Raises `Incorrect` where it cannot be read."""
    return load(path, read_keys, file="the key file")
