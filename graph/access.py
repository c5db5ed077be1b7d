"""What a store must keep of access, beside memory: issued keys and the owners of namespaces.

Reading stands beside the snapshots, for nobody is known yet when a key is looked up; writing is a part of the
tenant's transaction, so that of two first writers of a namespace one becomes its owner.
"""

from typing import Protocol

from ontology.access import ApiKey, Ownership, Revocation
from ontology.errors import Conflict, NotFound, shown
from ontology.grants import Permits, permit_line, read_permits
from ontology.scope import Tenant


class AccessStore(Protocol):
    """What is committed, at the moment of each call. Safe to use from many threads."""

    def key(self, digest: bytes) -> ApiKey | None:
        """The key with this digest, of any tenant, whether or not it still holds."""
        ...

    def has_keys(self) -> bool:
        """Whether a key was ever issued, by any tenant; a revoked one counts."""
        ...

    def keys(self, tenant: Tenant, *, limit: int, after: str) -> list[ApiKey]:
        """The tenant's keys by prefix, from the one after `after` on; revoked and expired ones too."""
        ...

    def owners(self, tenant: Tenant, *, limit: int, after: str) -> list[Ownership]:
        """Namespaces that belong to somebody, by name, from the one after `after` on."""
        ...


class AccessTransaction(Protocol):
    """The changes, under the tenant's write lock."""

    def put_key(self, key: ApiKey) -> None:
        """Keep a key of the tenant. Raises `Conflict` where its prefix is taken."""
        ...

    def revoke_key(self, prefix: str, revocation: Revocation) -> ApiKey:
        """End a key of the tenant; one that has ended already stays as it is. Raises `NotFound`."""
        ...

    def owner(self) -> Ownership | None:
        """To whom the namespace of the scope belongs."""
        ...

    def own(self, ownership: Ownership) -> None:
        """Give a namespace of the tenant to an owner, whoever had it."""
        ...


def permits_text(permits: Permits) -> str:
    """Permits as a store keeps them."""
    return " ".join(permit_line(permit) for permit in permits)


def permits_of(text: str) -> Permits:
    """The same back."""
    return read_permits(text)


def prefix_taken(prefix: str) -> Conflict:
    return Conflict(f"there is a key with the prefix {shown(prefix)} already; make another")


def no_key(prefix: str) -> NotFound:
    return NotFound(f"no key of this tenant has the prefix {shown(prefix)}", remedy="`vigencia keys list` shows them")
