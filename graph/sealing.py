"""How the payloads of a journal are sealed for a backup: AES-256-GCM, each under the key of its owner.

What a seal covers beside the payload binds it to its place: tenant, position and owner. One that was moved, altered
or sealed under another key does not open.
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from graph.journal_rows import seal as with_digest
from graph.owner_keys import OwnerKeys
from graph.ports import Randomness
from graph.sealed_quotes import with_quotes, without_quotes
from ontology.errors import Incorrect
from ontology.events import Payload
from ontology.ids import EpisodeId, Owner
from ontology.scope import Tenant

NONCE_BYTES: Final = 12
_DOMAIN: Final = "vigencia-backup-1"
_CIPHERS_KEPT: Final = 4096


Part = tuple[EpisodeId, str, int]
"""The words that a payload quotes of one episode: whose, sealed, with which of its keys."""
Entry = tuple[Owner | None, str | None, int, int, Sequence[Part]]
"""A payload in a backup: its owner, sealed, with which key, of how many episodes it quotes words, and these. It is
`None` where all keys of its owner were destroyed before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A payload out of a backup."""

    payload: Payload
    whole: bool
    """Whether it is as it was; not, where it quoted what was forgotten: then its salt and digest are new."""


class Sealing:
    """Seals and opens with the keys of one tree."""

    def __init__(self, keys: OwnerKeys, randomness: Randomness) -> None:
        self.keys = keys
        self._randomness = randomness
        self._cipher = lru_cache(maxsize=_CIPHERS_KEPT)(self._make_cipher)

    def seal_payload(self, tenant: Tenant, position: int, payload: Payload) -> Entry:
        """A payload for the backup, or that it is left out."""
        owner = payload.subject
        generation = self.keys.generation(tenant, owner)
        if generation is None:
            return owner, None, 0, 0, ()
        body, quotes = without_quotes(payload)
        shares = self._shares(payload.salt, len(quotes))
        sealed = self._seal(tenant, owner, generation, position, bytes([len(shares[0])]) + shares[0] + body)
        parts = []
        for share, (episode, texts) in zip(shares[1:], quotes.items(), strict=True):
            of_episode = self.keys.generation(tenant, episode)
            if of_episode is not None:
                plain = orjson.dumps([share.hex(), texts])
                at = _quoted_by(owner, position)
                parts.append((episode, self._seal(tenant, episode, of_episode, at, plain), of_episode))
        return owner, sealed, generation, len(quotes), parts

    def open_payload(self, tenant: Tenant, position: int, entry: Entry) -> Opened | None:
        """The payload again; `None` where its key was destroyed. Raises `Incorrect`."""
        owner, sealed, generation, quoting, parts = entry
        if sealed is None and self.keys.generation(tenant, owner) is not None:
            raise Incorrect(f"what is about {owner} at position {position} was taken out, though its key is there")
        plain = None if sealed is None else self._open(tenant, owner, generation, position, sealed)
        if plain is None:
            return None
        end = 1 + plain[0]
        salt, body = plain[1:end], plain[end:]
        if not quoting:
            return Opened(payload=with_digest(owner, salt, body), whole=True)
        at = _quoted_by(owner, position)
        opened = [self._open(tenant, episode, of_episode, at, text) for episode, text, of_episode in parts]
        read = [orjson.loads(part) for part in opened if part is not None]
        left = with_quotes(body, {claim: text for _, texts in read for claim, text in texts.items()})
        if len(read) == quoting:
            salt = _xor([salt, *(bytes.fromhex(share) for share, _ in read)])
            return Opened(payload=with_digest(owner, salt, left), whole=True)
        key = self.keys.key(tenant, owner, generation) or b""
        return Opened(payload=with_digest(owner, hmac.digest(key, str(position).encode(), "sha256"), left), whole=False)

    def seal_beside(self, tenant: Tenant, what: str, plain: bytes) -> str:
        """What a backup holds of a tenant beside its journal."""
        return self._seal(tenant, None, 0, what, plain)

    def open_beside(self, tenant: Tenant, what: str, sealed: str) -> bytes:
        """The same back. Raises `Incorrect`."""
        return self._open(tenant, None, 0, what, sealed) or b""

    def _seal(self, tenant: Tenant, owner: Owner | None, generation: int, where: int | str, plain: bytes) -> str:
        cipher = self._cipher(tenant, owner, generation)
        if cipher is None:
            raise ValueError("sealed with a key that was destroyed")
        nonce = self._randomness.bytes(NONCE_BYTES)
        return b64encode(nonce + cipher.encrypt(nonce, plain, _bound(tenant, owner, where))).decode()

    def _open(
        self, tenant: Tenant, owner: Owner | None, generation: int, where: int | str, sealed: str
    ) -> bytes | None:
        cipher = self._cipher(tenant, owner, generation)
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

    def _make_cipher(self, tenant: Tenant, owner: Owner | None, generation: int) -> AESGCM | None:
        key = self.keys.key(tenant, owner, generation)
        return None if key is None else AESGCM(key)

    def _shares(self, salt: bytes, parts: int) -> list[bytes]:
        """The salt in so many parts and one that only all of them together give: else a digest could be tried out."""
        if len(salt) > 255:
            raise ValueError("a salt of more than 255 bytes")
        others = [self._randomness.bytes(len(salt)) for _ in range(parts)]
        return [_xor([salt, *others]), *others]


def _xor(parts: Sequence[bytes]) -> bytes:
    total = 0
    for part in parts:
        total ^= int.from_bytes(part, "big")
    return total.to_bytes(len(parts[0]), "big")


def _quoted_by(owner: Owner | None, position: int) -> str:
    return f"quotes of {owner} at {position}"


def _bound(tenant: Tenant, owner: Owner | None, where: int | str) -> bytes:
    return orjson.dumps([_DOMAIN, tenant, owner, where])
