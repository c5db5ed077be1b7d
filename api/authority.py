"""How far what a principal says is trusted: the one place where policy decides it."""

from dataclasses import replace

from api.auth.principals import Principal
from consolidation.policy import OWNER, Authority
from ontology.access import PrincipalKind
from ontology.claims import Told, Trust
from ontology.grants import Grant, granted


def authority_of(principal: Principal) -> Authority:
    """What policy says of what a principal tells; no request changes it.

    A program has seen what it tells, a person confirms it, and who may import brings what was verified elsewhere.
    """
    said = Trust.CONFIRMED if principal.kind is PrincipalKind.PERSON else Trust.OBSERVED
    most = Trust.VERIFIED if principal.may_import else said
    return replace(OWNER, trust=said, trust_max=most)


def authority_of_files() -> Authority:
    """The same for the files that a person loads, which nobody has looked at line by line."""
    return replace(OWNER, trust_max=Trust.VERIFIED)


def sees_held(principal: Principal, told: Told) -> bool:
    """Whether a principal is shown a claim that was never believed: its own, or one that it may review."""
    scope = told.claim.slot.scope
    may_review = granted(principal.permits, Grant.REVIEW, scope.namespace, scope.purpose)
    return may_review or told.claim.principal == principal.name
