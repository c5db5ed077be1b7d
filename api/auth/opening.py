"""From the settings and the store to what tells who calls; and the check that strangers are not let in."""

from typing import TYPE_CHECKING

from api.auth.authentication import Authentication
from api.auth.issued import IssuedKeys
from api.auth.jwks import key_set
from api.auth.key_file import load_keys
from api.auth.loopback import is_loopback
from api.auth.principals import local_agent
from api.auth.tokens import ClaimNames, Tokens
from ontology.errors import Incorrect, NotFound, Violation, shown
from ontology.scope import Tenant

if TYPE_CHECKING:
    from api.settings import Settings
    from api.wiring import Services


def open_authentication(services: "Services") -> Authentication:
    """Raises `Incorrect` where the key file, or what is set of tokens, cannot be used; `Unavailable`."""
    settings = services.settings
    return Authentication(
        local=local_agent(Tenant(settings.tenant)),
        issued=IssuedKeys(services.store.access, services.clock),
        static=None if settings.keys_file is None else load_keys(settings.keys_file),
        tokens=open_tokens(settings),
        now_us=services.clock.now,
    )


def open_tokens(settings: "Settings") -> Tokens | None:
    """What verifies tokens, `None` where no issuer is set. Raises `Incorrect` where only a part of it is set."""
    given = {
        "jwt_issuer": settings.jwt_issuer, "jwt_audience": settings.jwt_audience, "jwt_jwks": settings.jwt_jwks,
    }  # fmt: skip
    missing = [name for name, value in given.items() if value is None]
    if len(missing) == len(given):
        return None
    if missing or not (settings.jwt_issuer and settings.jwt_audience and settings.jwt_jwks):
        detail = f"tokens need an issuer, an audience and a JWKS; not set: {', '.join(missing)}"
        violations = [Violation(pointer=f"/{name}", code="bad_setting", detail=detail) for name in missing]
        raise Incorrect(detail, remedy="set all three, or none", violations=violations)
    return Tokens(
        issuer=settings.jwt_issuer,
        audience=settings.jwt_audience,
        keys=key_set(settings.jwt_jwks),
        names=ClaimNames(
            tenant=settings.jwt_tenant_claim,
            principal=settings.jwt_principal_claim,
            kind=settings.jwt_kind_claim,
            grants=settings.jwt_grants_claim,
        ),
    )


def check_exposure(settings: "Settings") -> None:
    """Refuse to be reached from other machines by whoever likes to: raises `Incorrect` off loopback without keys."""
    if is_loopback(settings.host) or settings.keys_file is not None or settings.jwt_issuer is not None:
        return
    if not _has_keys(settings):
        raise Incorrect(
            f"{shown(settings.host)} can be reached from other machines, and there are no keys",
            remedy="make one with `vigencia keys create`, name a file of keys with --keys-file, or listen on 127.0.0.1",
        )


def _has_keys(settings: "Settings") -> bool:
    from api.wiring import services

    try:
        with services(settings, must_exist=True) as opened:
            return opened.store.access.has_keys()
    except NotFound:
        return False
