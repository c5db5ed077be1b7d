"""Whose memory it is: the tenant, the namespace and the purpose that every claim, fact and question has."""

import re
from dataclasses import dataclass
from typing import Final, NewType

from ontology.errors import Incorrect, Violation, shown

Tenant = NewType("Tenant", str)
Namespace = NewType("Namespace", str)
Purpose = NewType("Purpose", str)

DEFAULT_NAMESPACE: Final = Namespace("default")
DEFAULT_PURPOSE: Final = Purpose("general")

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One compartment of memory; no read crosses it. Tenants share nothing, not even recorded time."""

    tenant: Tenant
    namespace: Namespace
    purpose: Purpose


def check_name(text: str, what: str = "name", pointer: str = "") -> str:
    """`text`, if it can name a `what`: 1 to 64 of `a-z 0-9 . _ -`, of which the first is a letter or a digit.

    Raises `Incorrect` with one violation (`bad_name`) at `pointer`.
    """
    if _NAME.fullmatch(text):
        return text
    detail = (
        f"{what} {shown(text)} is not a name; use 1 to 64 of the characters a-z, 0-9, '.', '_' and '-', "
        "beginning with a letter or a digit"
    )
    raise Incorrect(detail, violations=(Violation(pointer=pointer, code="bad_name", detail=detail),))


def scope_of(tenant: str, namespace: str = DEFAULT_NAMESPACE, purpose: str = DEFAULT_PURPOSE) -> Scope:
    """The scope with these names, each checked; raises `Incorrect` for the first that is none."""
    return Scope(
        tenant=Tenant(check_name(tenant, "tenant", "/tenant")),
        namespace=Namespace(check_name(namespace, "namespace", "/namespace")),
        purpose=Purpose(check_name(purpose, "purpose", "/purpose")),
    )
