"""Signed tokens (JWT, RFC 7519): from the claims of one to a principal. Asymmetric signatures only.

The issuer is trusted with everything: it says the tenant, the principal and the grants. RFC 8725, Best Current
Practices: the algorithm is one of those that the key is for, never what the token would like; issuer and audience
are compared; a token must expire.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import jwt
from jwt.exceptions import (
    ExpiredSignatureError,
    ImmatureSignatureError,
    InvalidAudienceError,
    InvalidIssuerError,
    InvalidSignatureError,
    MissingRequiredClaimError,
    PyJWTError,
)

from api.auth.jwks import KeySet
from api.auth.principals import Principal
from ontology.access import PrincipalKind, check_principal
from ontology.errors import Incorrect, Unauthenticated, shown
from ontology.grants import read_permits
from ontology.scope import Tenant, check_name

LEEWAY_SECONDS: Final = 10
"""How far the clocks of the issuer and of this server may be apart."""
TOKEN_BYTES_MAX: Final = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimNames:
    """Which claims say what."""

    tenant: str
    principal: str
    kind: str
    grants: str


class Tokens:
    """Verifies the tokens of one issuer for one audience."""

    def __init__(self, *, issuer: str, audience: str, keys: KeySet, names: ClaimNames) -> None:
        self._issuer = issuer
        self._audience = audience
        self._keys = keys
        self._names = names

    def principal(self, token: bytes) -> tuple[Principal, float]:
        """Whom a token names, and until when (seconds since 1970).

        Raises `Unauthenticated`, which never shows the token; `Unavailable` without the issuer's keys.
        """
        if len(token) > TOKEN_BYTES_MAX:
            raise Unauthenticated(f"the token has more than {TOKEN_BYTES_MAX} bytes")
        claims = self._verified(token)
        try:
            return self._principal(claims), float(claims["exp"]) + LEEWAY_SECONDS
        except Incorrect as exc:
            raise Unauthenticated(f"the token cannot be used: {exc.message}") from None

    def _verified(self, token: bytes) -> Mapping[str, Any]:
        try:
            header = jwt.get_unverified_header(token)
        except PyJWTError:
            raise Unauthenticated("the bearer is neither a key that this server knows nor a token") from None
        id, algorithm = header.get("kid"), header.get("alg")
        if not isinstance(id, str):
            raise Unauthenticated("the token does not say with which key it is signed; its header needs 'kid'")
        key = self._keys.key(id)
        if algorithm not in key.algorithms:
            allowed = ", ".join(sorted(key.algorithms))
            raise Unauthenticated(f"the token is signed by {shown(algorithm)}, its key is for {allowed}")
        try:
            return jwt.decode(
                token, key.key, algorithms=[str(algorithm)], audience=self._audience, issuer=self._issuer,
                leeway=LEEWAY_SECONDS, options={"require": ["exp", "iss", "aud"]},
            )  # fmt: skip
        except PyJWTError as exc:
            raise Unauthenticated(self._reason(exc)) from None

    def _reason(self, exc: PyJWTError) -> str:
        match exc:
            case ExpiredSignatureError():
                return "the token has expired; get a new one"
            case ImmatureSignatureError():
                return "the token does not hold yet; compare the clocks of its issuer and of this server"
            case InvalidAudienceError():
                return f"the token is for another audience than {shown(self._audience)}"
            case InvalidIssuerError():
                return f"the token is not from {shown(self._issuer)}"
            case InvalidSignatureError():
                return "the signature of the token is wrong"
            case MissingRequiredClaimError():
                return f"the token has no claim {shown(exc.claim)}"
        return f"the token cannot be verified: {exc.__class__.__name__}"

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        names = self._names
        kind = claims.get(names.kind, PrincipalKind.SERVICE)
        if kind not in set(PrincipalKind):
            raise Incorrect(f"its claim {names.kind!r} is {shown(kind)}, not {', '.join(PrincipalKind)}")
        return Principal(
            name=check_principal(_text(claims, names.principal)),
            tenant=Tenant(check_name(_text(claims, names.tenant), "tenant")),
            kind=PrincipalKind(kind),
            permits=read_permits(claims.get(names.grants, ())),
            may_import=False,
            local=False,
        )


def _text(claims: Mapping[str, Any], name: str) -> str:
    given = claims.get(name)
    if not isinstance(given, str):
        raise Incorrect(f"its claim {name!r} is {shown(given)}, and a text is needed")
    return given
