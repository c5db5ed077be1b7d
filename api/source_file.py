"""What an administrator declares of sources: a YAML file (JSON is YAML) with the keys with which they sign.

- tenant: acme
  source: ledger
  keys:
    - name: ledger-2026
      ed25519: Base64 of the 32 bytes of the public key
    - name: old-ledger
      hmac_sha256: Base64 of a secret of at least 16 bytes
- tenant: acme
  source: "web-*"                     # a name, or a beginning with * after it
  trust: untrusted                    # the most that it is trusted without a signature
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from api.declared_file import load, read_entries
from consolidation.vouching import Declared, Signature, Sources
from ontology.claims import Trust
from ontology.errors import Incorrect, VigenciaError
from ontology.scope import Tenant, check_name

SOURCES_MAX: Final = 10_000
KEYS_MAX: Final = 100
SECRET_BYTES_MIN: Final = 16
ANY_AFTER: Final = "*"


def _tenant(text: str) -> str:
    try:
        return check_name(text, "tenant")
    except VigenciaError as exc:
        raise ValueError(exc.message) from None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("a key is Base64, with its padding") from None


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _KeyModel(_Model):
    name: Annotated[str, Field(min_length=1, max_length=200)]
    ed25519: Annotated[str, Field(max_length=100)] | None = None
    hmac_sha256: Annotated[str, Field(max_length=1_000)] | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> "_KeyModel":
        if (self.ed25519 is None) == (self.hmac_sha256 is None):
            raise ValueError("give exactly one of 'ed25519' and 'hmac_sha256'")
        if self.ed25519 is not None and len(_decoded(self.ed25519)) != 32:
            raise ValueError("a public key for Ed25519 has 32 bytes")
        if self.hmac_sha256 is not None and len(_decoded(self.hmac_sha256)) < SECRET_BYTES_MIN:
            raise ValueError(f"a secret has at least {SECRET_BYTES_MIN} bytes, of chance")
        return self

    @cached_property
    def secret(self) -> bytes:
        return _decoded(self.hmac_sha256 or self.ed25519 or "")

    def verifies(self, signature: Signature, message: bytes) -> bool:
        """Whether the signature is one of this key; one for another algorithm is not."""
        if self.hmac_sha256 is not None:
            made = hmac.new(self.secret, message, hashlib.sha256).digest()
            return signature.algorithm == "hmac-sha256" and hmac.compare_digest(made, signature.value)
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if signature.algorithm != "ed25519":
            return False
        try:
            Ed25519PublicKey.from_public_bytes(self.secret).verify(signature.value, message)
        except InvalidSignature:
            return False
        return True


class _SourceModel(_Model):
    tenant: Annotated[str, AfterValidator(_tenant)]
    source: Annotated[str, Field(min_length=1, max_length=500)]
    trust: Literal["untrusted", "inferred", "observed", "confirmed", "verified"] | None = None
    keys: Annotated[list[_KeyModel], Field(min_length=1, max_length=KEYS_MAX)] | None = None

    @model_validator(mode="after")
    def _signs_by_its_name(self) -> "_SourceModel":
        if self.keys is None and self.trust is None:
            raise ValueError("it says nothing of the source; give 'keys', 'trust', or both")
        if self.keys is not None and self.source.endswith(ANY_AFTER):
            raise ValueError("keys belong to one source; name it without '*'")
        return self

    def declared(self) -> Declared:
        return Declared(signs=bool(self.keys), trust=None if self.trust is None else Trust[self.trust.upper()])


class SourceFile:
    """The sources of a file. An exact name goes before a beginning, a longer beginning before a shorter one."""

    def __init__(self, models: Sequence[_SourceModel]) -> None:
        self._exact = {(m.tenant, m.source): m for m in models if not m.source.endswith(ANY_AFTER)}
        beginnings = [m for m in models if m.source.endswith(ANY_AFTER)]
        self._beginnings = sorted(beginnings, key=lambda m: len(m.source), reverse=True)

    def declared(self, tenant: Tenant, source: str) -> Declared | None:
        known = self._exact.get((tenant, source))
        if known is not None:
            return known.declared()
        for each in self._beginnings:
            if each.tenant == tenant and source.startswith(each.source.removesuffix(ANY_AFTER)):
                return each.declared()
        return None

    def verifies(self, tenant: Tenant, source: str, signature: Signature, message: bytes) -> bool:
        known = self._exact.get((tenant, source))
        keys = () if known is None else known.keys or ()
        return any(key.name == signature.key and key.verifies(signature, message) for key in keys)


_FILE: Final = TypeAdapter(Annotated[list[_SourceModel], Field(min_length=1, max_length=SOURCES_MAX)])


def read_sources(text: str) -> SourceFile:
    """The sources of a file. Raises `Incorrect`, which shows no key, for what cannot be read."""
    models = read_entries(text, _FILE, file="the file of sources", of="sources with 'tenant', 'source'")
    seen: set[tuple[str, str]] = set()
    for index, model in enumerate(models):
        named = {key.name for key in model.keys or ()}
        if (model.tenant, model.source) in seen or len(named) < len(model.keys or ()):
            raise Incorrect(f"the file of sources names the source or a key of entry {index} twice; remove one")
        seen.add((model.tenant, model.source))
    return SourceFile(models)


def load_sources(path: Path) -> SourceFile:
    """The sources of the file at `path`. Raises `Incorrect` where it cannot be read."""
    return load(path, read_sources, file="the file of sources")


_conforms: type[Sources] = SourceFile
