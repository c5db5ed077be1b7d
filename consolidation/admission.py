"""May this author write here? A namespace has one owner, and only the owner writes.

Whoever writes first with a credential becomes the owner of a namespace that is nobody's; programs that share one are
one principal with several keys. The two who are known by being on this machine, `agent` and `person`, become no owner,
or the first line from a keyboard would shut everybody else out; where there is an owner they are refused like others.
"""

from dataclasses import dataclass
from typing import Final

from graph.ports import MemoryStore, Transaction
from ontology.access import Ownership
from ontology.errors import Forbidden
from ontology.grants import Grant
from ontology.instants import Instant
from ontology.scope import Scope, Tenant

PAGE: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What an author may do in the scope of a write."""

    may_write: bool
    may_propose: bool
    becomes_owner: bool
    """Whether a first write makes it the owner."""


ON_THIS_MACHINE: Final = Standing(may_write=True, may_propose=False, becomes_owner=False)
"""Of whoever has the store's file."""


def admit(tx: Transaction, author: str, standing: Standing, now: Instant) -> bool:
    """Let the author of a transaction write in its namespace, and make it the owner where nobody is.

    Gives whether it writes as the owner; else what it says is a proposal to the owner. Raises `Forbidden`, which names
    the grant and the owner.
    """
    owner = tx.owner()
    if owner is not None and owner.owner != author:
        if standing.may_propose:
            return False
        detail = f"the namespace {tx.scope.namespace!r} belongs to {owner.owner!r}, and only its owner writes"
        raise forbidden(
            tx.scope, Grant.WRITE, detail,
            remedy="write to a namespace of your own, or ask its owner, or an administrator, to transfer it",
            owner=owner.owner,
        )  # fmt: skip
    if not standing.may_write:
        raise forbidden(tx.scope, Grant.WRITE, f"{author!r} may only propose, and there is no owner to decide")
    if owner is None and standing.becomes_owner:
        tx.own(Ownership(namespace=tx.scope.namespace, owner=author, since=now, by=author))
    return True


def admit_owner(tx: Transaction, author: str, standing: Standing, now: Instant) -> None:
    """The same for what cannot be proposed; raises `Forbidden` for whoever may only propose, too."""
    if not admit(tx, author, standing, now):
        detail = f"{author!r} may propose claims in {tx.scope.namespace!r}, and nothing else"
        raise forbidden(tx.scope, Grant.WRITE, detail, remedy="propose claims, or ask the owner of the namespace")


def transfer(
    store: MemoryStore, scope: Scope, *, to: str, by: str, now: Instant, administers: bool
) -> tuple[Ownership | None, Ownership]:
    """Give the namespace of a scope to the principal `to`; gives who had it, and who has it.

    Raises `Forbidden` unless `by` is the owner, or `administers` the namespace.
    """
    with store.write(scope) as tx:
        before = tx.owner()
        if not administers and (before is None or before.owner != by):
            whose = "nobody" if before is None else repr(before.owner)
            detail = f"the namespace {scope.namespace!r} belongs to {whose}; its owner or an administrator gives it on"
            raise forbidden(scope, Grant.ADMIN, detail, owner=None if before is None else before.owner)
        after = Ownership(namespace=scope.namespace, owner=to, since=now, by=by)
        tx.own(after)
    return before, after


def namespaces(store: MemoryStore, tenant: Tenant) -> dict[str, Ownership | None]:
    """Every namespace of a tenant that was written to or belongs to somebody, by name, with its owner."""
    found: dict[str, Ownership | None] = {scope.namespace: None for scope in store.scopes(tenant)}
    after = ""
    while page := store.access.owners(tenant, limit=PAGE, after=after):
        found |= {ownership.namespace: ownership for ownership in page}
        after = page[-1].namespace
    return dict(sorted(found.items()))


def forbidden(scope: Scope, grant: Grant, detail: str, *, remedy: str = "", owner: str | None = None) -> Forbidden:
    """The refusal that names what is missing, and where."""
    members = {"grant": grant.value, "namespace": str(scope.namespace), "purpose": str(scope.purpose)}
    return Forbidden(detail, remedy=remedy, members=members if owner is None else {**members, "owner": owner})
