"""How far is an episode trusted, and did its source sign it? Decided when it is recorded, never by its words.

What a source signs is one text, the same for whoever makes it: a first line, then the episode as canonical JSON.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import rfc8785

from consolidation.policy import FORGED_SOURCE, Authority, Held, may_speak_for
from ontology.canonical import incorrect
from ontology.claims import Lifecycle, Source, Trust
from ontology.episodes import Signed, Vouched
from ontology.errors import JSON, Refused, Violation, shown
from ontology.scope import Scope, Tenant

FIRST_LINE: Final = b"vigencia-episode-signature-1\n"
BAD_SIGNATURE: Final = "bad-signature"
WEB: Final = ("http://", "https://")
PAGES: Final = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What came with an episode as the signature of its source."""

    key: str
    """The name of the key, as an administrator registered it."""
    algorithm: str
    """`hmac-sha256` or `ed25519`."""
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What an administrator declared of a source."""

    signs: bool
    """Whether it has a key."""
    trust: Trust | None
    """The most that what it says is trusted without a signature; `None` leaves that to whoever brings it."""


class Sources(Protocol):
    """What is declared of sources. Safe to use from many threads."""

    def declared(self, tenant: Tenant, source: str) -> Declared | None: ...

    def verifies(self, tenant: Tenant, source: str, signature: Signature, message: bytes) -> bool:
        """Whether this source signed the message with this key; false for a key that it does not have."""
        ...


class NoSources:
    """Nothing is declared."""

    def declared(self, tenant: Tenant, source: str) -> Declared | None:
        return None

    def verifies(self, tenant: Tenant, source: str, signature: Signature, message: bytes) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What is looked at beside the words."""

    source: Source
    media_type: str
    source_uri: str | None
    trust: Trust | None
    """What whoever brings it asks for."""
    signature: Signature | None


def vouch(
    scope: Scope, principal: str, authority: Authority, brought: Brought, message: bytes, sources: Sources
) -> Vouched:
    """The trust of an episode. Raises `Refused` where more is asked for than its principal may give.

    What a source signed is verified. What comes from the web is not trusted unless whoever brings it says so.
    """
    asked, signature = brought.trust, brought.signature
    if asked is not None and asked > authority.trust_max:
        detail = f"{shown(principal)} may give {authority.trust_max.word} at most, not {asked.word}; ask for less"
        raise Refused(detail, violations=(Violation(pointer="/trust", code="trust_too_high", detail=detail),))
    if signature is not None:
        if sources.verifies(scope.tenant, brought.source, signature, message):
            trust = Trust.VERIFIED if asked is None else asked
            return Vouched(trust=trust, signed=Signed.VERIFIED, key=signature.key)
        return Vouched(trust=Trust.UNTRUSTED, signed=Signed.BAD, key=signature.key)
    declared = sources.declared(scope.tenant, brought.source)
    if declared is not None and declared.signs and not may_speak_for(brought.source, principal, authority):
        return Vouched(trust=Trust.UNTRUSTED, signed=Signed.MISSING, key=None)
    most = None if declared is None else declared.trust
    if asked is None:
        # nobody looked at each sentence of it, a person who brings it neither
        asked = Trust.UNTRUSTED if most is None and _of_the_web(brought) else Trust.OBSERVED
    trust = min(asked, authority.trust_max, authority.trust_max if most is None else most)
    return Vouched(trust=trust, signed=Signed.NO, key=None)


def held_by(vouched: Vouched, source: Source) -> Held | None:
    """Why nothing of an episode is believed before somebody looks at it, where its signature is not right."""
    if vouched.signed is Signed.BAD:
        reason = f"the signature with the key {shown(vouched.key)} is not one of {shown(source)}"
        return Held(state=Lifecycle.QUARANTINED, rule=BAD_SIGNATURE, reason=reason)
    if vouched.signed is Signed.MISSING:
        reason = f"{shown(source)} signs what it says, and somebody else brought this without a signature"
        return Held(state=Lifecycle.QUARANTINED, rule=FORGED_SOURCE, reason=reason)
    return None


def signed_bytes(
    scope: Scope, source: str, media_type: str, body: str | Sequence[dict[str, str]], said: Mapping[str, JSON]
) -> bytes:
    """What a source signs: the first line, then RFC 8785 JSON of the members that are given.

    `said` are `me`, `observed_at`, `tz`, `session`, `source_uri` and `root`, as they are on the wire; what is `None`
    is left out.
    """
    document: dict[str, JSON] = {
        "namespace": scope.namespace, "purpose": scope.purpose, "source": source, "media_type": media_type,
        "text" if isinstance(body, str) else "turns": body,
        **{name: given for name, given in said.items() if given is not None},
    }  # fmt: skip
    try:
        return FIRST_LINE + rfc8785.dumps(document)
    except (UnicodeEncodeError, rfc8785.CanonicalizationError) as exc:
        raise incorrect("/signature", "unreadable_value", f"the episode cannot be signed: {exc}") from None


def _of_the_web(brought: Brought) -> bool:
    uri = (brought.source_uri or "").lower()
    return brought.media_type in PAGES or uri.startswith(WEB)


_conforms: type[Sources] = NoSources
