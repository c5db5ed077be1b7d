"""The choke point: nobody gets a scope, and so a snapshot or a write, without the grant that is needed there."""

from dataclasses import dataclass
from functools import lru_cache

from api.auth.principals import Principal
from consolidation.admission import forbidden
from ontology.errors import Fault, Forbidden, shown
from ontology.grants import Grant, granted, granted_everywhere, granted_in_every_purpose
from ontology.scope import DEFAULT_PURPOSE, Scope, scope_of

_scope = lru_cache(maxsize=4096)(scope_of)


@dataclass(frozen=True, slots=True)
class Permitted:
    """A scope with those of the grants that were asked for which its caller has there. Only this module makes one."""

    scope: Scope
    grants: frozenset[Grant]

    def demand(self, grant: Grant, instead: Grant | None = None) -> Scope:
        """The scope, for an act that needs a grant. Raises `Fault` where nobody asked for that one."""
        if grant not in self.grants and instead not in self.grants:
            raise Fault(f"the grant {grant.value!r} was not asked for in {self.scope}")
        return self.scope


def permitted(
    principal: Principal, namespace: str, purpose: str, *, needs: Grant, instead: Grant | None = None
) -> Permitted:
    """The scope with these names in the tenant of a principal that has the grant, or the other one `instead`, there.

    Raises `Incorrect` for what is no name, `Forbidden` with the grant and the scope.
    """
    scope = _scope(principal.tenant, namespace, purpose)
    if instead is None:
        if granted(principal.permits, needs, namespace, purpose):
            return _of_one(scope, needs)
        raise _missing(principal, scope, needs)
    has = frozenset(each for each in (needs, instead) if granted(principal.permits, each, namespace, purpose))
    if not has:
        raise _missing(principal, scope, needs)
    return Permitted(scope, has)


def permitted_namespace(principal: Principal, namespace: str, *, needs: Grant, instead: Grant) -> Permitted:
    """The namespace as a whole, for what its purposes share; raises as `permitted` does."""
    scope = _scope(principal.tenant, namespace, DEFAULT_PURPOSE)
    has = frozenset(
        each for each in (needs, instead) if granted_in_every_purpose(principal.permits, each, namespace)
    )  # fmt: skip
    if not has:
        raise _missing(principal, scope, needs, every_purpose=True)
    return Permitted(scope, has)


def permitted_tenant(principal: Principal, *, needs: Grant) -> Permitted:
    """The tenant as a whole, for what belongs to no namespace; raises `Forbidden`."""
    scope = _scope(principal.tenant)
    if not granted_everywhere(principal.permits, needs):
        detail = f"{shown(principal.name)} has no grant {needs.value!r} in the whole tenant"
        members = {"grant": needs.value, "namespace": "*", "purpose": "*"}
        raise Forbidden(detail, remedy=f"use a key with the grant '*:{needs.value}'", members=members)
    return _of_one(scope, needs)


@lru_cache(maxsize=4096)
def _of_one(scope: Scope, grant: Grant) -> Permitted:
    return Permitted(scope, frozenset({grant}))


def _missing(principal: Principal, scope: Scope, grant: Grant, *, every_purpose: bool = False) -> Forbidden:
    purpose = "every purpose" if every_purpose else f"purpose {scope.purpose!r}"
    detail = f"{shown(principal.name)} has no grant {grant.value!r} in namespace {scope.namespace!r}, {purpose}"
    return forbidden(scope, grant, detail, remedy="use a key with that grant, or name a scope in which this key has it")
