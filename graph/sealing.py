"""How the payloads of a journal are sealed for a backup: AES-256-GCM, each under the key of its owner.

What a seal covers beside the payload binds it to its place: tenant, position and owner. One that was moved, altered
or sealed under another key does not open.
"""

from base64 import b64decode, b64encode
from functools import lru_cache
from typing import Final

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from graph.journal_rows import seal as with_digest
from graph.owner_keys import OwnerKeys
from graph.ports import Randomness
from ontology.errors import Incorrect
from ontology.events import Payload
from ontology.ids import Owner
from ontology.scope import Tenant

NONCE_BYTES: Final = 12
_DOMAIN: Final = "vigencia-backup-1"
_CIPHERS_KEPT: Final = 4096


class Sealing:
    """Seals and opens with the keys of one tree."""

    def __init__(self, keys: OwnerKeys, randomness: Randomness) -> None:
        self.keys = keys
        self._randomness = randomness
        self._cipher = lru_cache(maxsize=_CIPHERS_KEPT)(self._make_cipher)

    def seal_payload(self, tenant: Tenant, position: int, payload: Payload) -> str | None:
        """A payload for the backup; `None` where the key of its owner was destroyed."""
        if len(payload.salt) > 255:
            raise ValueError("a salt of more than 255 bytes")
        plain = bytes([len(payload.salt)]) + payload.salt + payload.body
        return self._seal(tenant, payload.subject, position, plain)

    def open_payload(self, tenant: Tenant, position: int, owner: Owner | None, sealed: str) -> Payload | None:
        """The payload again; `None` where the key of its owner was destroyed. Raises `Incorrect`."""
        plain = self._open(tenant, owner, position, sealed)
        if plain is None:
            return None
        end = 1 + plain[0]
        return with_digest(owner, plain[1:end], plain[end:])

    def seal_beside(self, tenant: Tenant, what: str, plain: bytes) -> str:
        """What a backup holds of a tenant beside its journal."""
        sealed = self._seal(tenant, None, what, plain)
        if sealed is None:
            raise ValueError("the key of what belongs to nobody is never destroyed")
        return sealed

    def open_beside(self, tenant: Tenant, what: str, sealed: str) -> bytes:
        """The same back. Raises `Incorrect`."""
        return self._open(tenant, None, what, sealed) or b""

    def _seal(self, tenant: Tenant, owner: Owner | None, where: int | str, plain: bytes) -> str | None:
        cipher = self._cipher(tenant, owner)
        if cipher is None:
            return None
        nonce = self._randomness.bytes(NONCE_BYTES)
        return b64encode(nonce + cipher.encrypt(nonce, plain, _bound(tenant, owner, where))).decode()

    def _open(self, tenant: Tenant, owner: Owner | None, where: int | str, sealed: str) -> bytes | None:
        cipher = self._cipher(tenant, owner)
        if cipher is None:
            return None
        about = "what is about nobody" if owner is None else f"what is about {owner}"
        try:
            raw = b64decode(sealed, validate=True)
            return cipher.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], _bound(tenant, owner, where))
        except (InvalidTag, ValueError) as exc:
            at = f"at position {where}" if isinstance(where, int) else f"among its {where}"
            raise Incorrect(
                f"{about} in the tenant {tenant!r} {at} does not open with its key: it was altered, moved or sealed "
                "under another key"
            ) from exc

    def _make_cipher(self, tenant: Tenant, owner: Owner | None) -> AESGCM | None:
        key = self.keys.key(tenant, owner)
        return None if key is None else AESGCM(key)


def _bound(tenant: Tenant, owner: Owner | None, where: int | str) -> bytes:
    return orjson.dumps([_DOMAIN, tenant, owner, where])
