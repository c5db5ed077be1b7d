"""Under which key what a backup holds about one owner is sealed, and how that key is destroyed for good.

No key is stored: each is derived, along the path that leads to its owner in a binary tree with a random root
(Goldreich, Goldwasser and Micali 1986). To destroy one, the node that stands above it gives way to the siblings along
the path, from which every other key still follows and this one does not (a puncturable pseudorandom function: Boneh
and Waters 2013). So nothing grows with owners, and a copy of the tree reads what is sealed later; it grows with what
is destroyed: by a hundred nodes for an owner alone, and by eight for each of 10,000 among a million.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from ontology.ids import ENTITY, EPISODE, Owner, is_recorded, locate
from ontology.scope import Tenant

KEY_BYTES: Final = 32
_HASH_BITS: Final = 64
"""Tenants part after so many bits: two of them share a path less often than disks lie."""
GENERATIONS_MAX: Final = 64
"""How often something of one owner may be destroyed before nothing of it is in a backup any more."""
_NODES_KEPT: Final = 4096


class OwnerKeys:
    """The tree, as far as it is left. Immutable.

    An owner has a first key and, once that was destroyed while something of it stays, a second, and so on.
    """

    def __init__(self, nodes: Mapping[str, bytes]) -> None:
        """`nodes` by their path, a text of 0 and 1; none stands above another. A new tree has its root, under ""."""
        self.nodes = MappingProxyType(dict(nodes))
        self._derived = lru_cache(maxsize=_NODES_KEPT)(self._derive)

    def key(self, tenant: Tenant, owner: Owner | None, generation: int = 0) -> bytes | None:
        """A key for what a tenant has about an owner, or about nobody; `None` where it was destroyed.

        Raises `NotFound` for what names no owner.
        """
        node = self._derived(_path(tenant, owner) + _code(generation))
        return None if node is None else _hmac(node, b"key")

    def generation(self, tenant: Tenant, owner: Owner | None) -> int | None:
        """The first of an owner's keys that is left; `None` where all of them were destroyed."""
        path = _path(tenant, owner)
        left = (at for at in range(GENERATIONS_MAX) if self._derived(path + _code(at)) is not None)
        return next(left, None)

    def was_destroyed(self, tenant: Tenant, owner: Owner | None) -> bool:
        """Whether an older backup may have what nobody can read any more."""
        return self.key(tenant, owner) is None

    def of_manifests(self) -> bytes:
        """The key under which a backup as a whole is vouched for; it is never destroyed."""
        node = self._derived(_hashed("", ""))
        if node is None:
            raise ValueError("a tree that never had the path of manifests")
        return _hmac(node, b"manifest")

    def without(self, tenant: Tenant, owners: Iterable[Owner]) -> "OwnerKeys":
        """The tree from which no key of these owners can be derived any more."""
        left = (owner for owner in owners if self.generation(tenant, owner) is not None)
        return self._cut(_path(tenant, owner) for owner in left)

    def renewed(self, tenant: Tenant, owners: Iterable[Owner]) -> "OwnerKeys":
        """The tree from which the present key of these owners cannot be derived any more, but the next one can."""
        now = [(owner, self.generation(tenant, owner)) for owner in dict.fromkeys(owners)]
        return self._cut(_path(tenant, owner) + _code(at) for owner, at in now if at is not None)

    def _cut(self, paths: Iterable[str]) -> "OwnerKeys":
        """Without the nodes at these paths and all below them."""
        nodes = dict(self.nodes)
        for path in paths:
            above = next((path[:end] for end in range(len(path) + 1) if path[:end] in nodes), None)
            if above is None:
                for below in [node for node in nodes if node.startswith(path)]:
                    del nodes[below]
                continue
            node = nodes.pop(above)
            for at in range(len(above), len(path)):
                other = "0" if path[at] == "1" else "1"
                nodes[path[:at] + other] = _child(node, other)
                node = _child(node, path[at])
        return OwnerKeys(nodes)

    def _derive(self, path: str) -> bytes | None:
        """The node at a path; of neighbours the way up to what they share is found among the derived."""
        found = self.nodes.get(path)
        if found is not None or not path:
            return found
        above = self._derived(path[:-1])
        return None if above is None else _child(above, path[-1])


def _path(tenant: Tenant, owner: Owner | None) -> str:
    """The bits that lead to an owner; no path is the beginning of another.

    Owners that came into being together stand together, so that to destroy many of them costs little.
    """
    if owner is None:
        return _hashed(tenant, "")
    recorded = is_recorded(owner)
    place = locate(owner, EPISODE if recorded else ENTITY)
    kind = "1" if recorded else "0"
    return _hashed(tenant, place.ledger) + _code(place.position) + kind + _code(place.ordinal)


def _hashed(tenant: str, ledger: str) -> str:
    digest = hashlib.sha256(f"{tenant}\0{ledger}".encode()).digest()
    return f"{int.from_bytes(digest[: _HASH_BITS // 8], 'big'):0{_HASH_BITS}b}"


def _code(number: int) -> str:
    """A number from 0 on in bits that end by themselves. Elias 1975, gamma code."""
    bits = f"{number + 1:b}"
    return "0" * (len(bits) - 1) + bits


def _child(node: bytes, bit: str) -> bytes:
    return _hmac(node, bit.encode())


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")
