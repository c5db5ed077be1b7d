"""Who may do what where: grants, for the namespaces and purposes that a pattern covers.

A pattern is a name, a beginning with `*` after it (`team-*`), or `*` alone. A permit in one line is

    NAMESPACE[/PURPOSE]:GRANT[,GRANT…]        such as  notes:read  team-*/general:read,write  *:all

No grant holds another: whoever administers a namespace need not be able to read it. Only a write tells its author
what it met there, since a receipt cannot do otherwise.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ontology.errors import JSON, Incorrect, Violation, pointer, shown

ANY: Final = "*"
ALL: Final = "all"
"""Stands for every grant in a list of them."""
PERMITS_MAX: Final = 100


class Grant(StrEnum):
    """What may be granted."""

    READ = "read"
    WRITE = "write"
    """Say things in a namespace that is one's own, or nobody's."""
    PROPOSE = "propose"
    """Say things in a namespace that is somebody else's, for its owner to decide about."""
    REVIEW = "review"
    FORGET = "forget"
    EXPORT = "export"
    ADMIN = "admin"
    """Give namespaces to owners, and for the whole tenant extend the schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """Grants, and the patterns of the namespaces and purposes in which they hold."""

    namespace: str
    purpose: str
    grants: frozenset[Grant]

    def covers(self, namespace: str, purpose: str) -> bool:
        return _matches(self.namespace, namespace) and _matches(self.purpose, purpose)

    @property
    def covers_everything(self) -> bool:
        return self.namespace == ANY and self.purpose == ANY


Permits = tuple[Permit, ...]

EVERYTHING: Final[Permits] = (Permit(namespace=ANY, purpose=ANY, grants=frozenset(Grant)),)


def granted(permits: Permits, grant: Grant, namespace: str, purpose: str) -> bool:
    """Whether one of the permits has the grant in this scope."""
    return any(grant in permit.grants and permit.covers(namespace, purpose) for permit in permits)


def granted_in_every_purpose(permits: Permits, grant: Grant, namespace: str) -> bool:
    """Whether the grant holds in the namespace as a whole, which purposes share."""
    return any(
        grant in permit.grants and permit.purpose == ANY and _matches(permit.namespace, namespace)
        for permit in permits
    )  # fmt: skip


def granted_everywhere(permits: Permits, grant: Grant) -> bool:
    """Whether the grant holds in the whole tenant: what belongs to no namespace needs that."""
    return any(grant in permit.grants and permit.covers_everything for permit in permits)


def reaches(permits: Permits, namespace: str) -> bool:
    """Whether there is any grant in some purpose of the namespace."""
    return any(permit.grants and _matches(permit.namespace, namespace) for permit in permits)


def read_permit(given: object, at: str = "") -> Permit:
    """The permit that a line says, or a mapping with `namespace`, `purpose` and `grants`.

    In both what is left out of the scope means any. Raises `Incorrect` with one violation (`bad_grant`).
    """
    if isinstance(given, str):
        scope, colon, words = given.partition(":")
        namespace, slash, purpose = scope.partition("/")
        if not colon or (slash and not purpose):
            raise _wrong(at, f"{shown(given)} is no permit; write NAMESPACE:GRANT,… or NAMESPACE/PURPOSE:GRANT,…")
        return _permit(namespace, purpose or ANY, words.split(","), at)
    if isinstance(given, Mapping) and set(given) <= {"namespace", "purpose", "grants"} and "grants" in given:
        words_given = given["grants"]
        words_listed = [words_given] if isinstance(words_given, str) else words_given
        if isinstance(words_listed, Sequence):
            return _permit(given.get("namespace", ANY), given.get("purpose", ANY), words_listed, at)
    raise _wrong(at, f"{shown(given)} is no permit; give a line NAMESPACE:GRANT,… or namespace, purpose and grants")


def read_permits(given: object, at: str = "") -> Permits:
    """The permits of a list, or of a text with spaces between them. Raises `Incorrect`."""
    listed = given.split() if isinstance(given, str) else given
    if not isinstance(listed, Sequence):
        raise _wrong(at, f"{shown(given)} is no list of permits")
    if len(listed) > PERMITS_MAX:
        raise _wrong(at, f"{len(listed)} permits, {PERMITS_MAX} at most; use patterns such as 'team-*'")
    return tuple(read_permit(each, at + pointer(index)) for index, each in enumerate(listed))


def permit_line(permit: Permit) -> str:
    """The permit in one line, as `read_permit` reads it."""
    scope = permit.namespace if permit.purpose == ANY else f"{permit.namespace}/{permit.purpose}"
    return f"{scope}:{ALL if permit.grants == set(Grant) else ','.join(grant_words(permit.grants))}"


def permit_lines(permits: Permits) -> Sequence[JSON]:
    return [permit_line(permit) for permit in permits]


def grant_words(grants: Collection[Grant]) -> list[str]:
    """The names of grants in the order in which they are declared."""
    return [grant.value for grant in Grant if grant in grants]


_PATTERN: Final = re.compile(r"\*|[a-z0-9][a-z0-9._-]{0,63}\*?")


def _matches(pattern: str, name: str) -> bool:
    return pattern == name or (pattern.endswith(ANY) and name.startswith(pattern[:-1]))


def _permit(namespace: object, purpose: object, words: Sequence[object], at: str) -> Permit:
    for what, pattern in (("namespace", namespace), ("purpose", purpose)):
        if not isinstance(pattern, str) or not _PATTERN.fullmatch(pattern):
            raise _wrong(at, f"{shown(pattern)} is no pattern of a {what}; give a name, a beginning with '*', or '*'")
    known = {grant.value: frozenset({grant}) for grant in Grant} | {ALL: frozenset(Grant)}
    grants: frozenset[Grant] = frozenset()
    for word in words:
        found = known.get(word) if isinstance(word, str) else None
        if found is None:
            raise _wrong(at, f"{shown(word)} is no grant; there are {', '.join(known)}")
        grants |= found
    if not grants:
        raise _wrong(at, f"a permit without grants permits nothing; give some of {', '.join(known)}")
    return Permit(namespace=str(namespace), purpose=str(purpose), grants=grants)


def _wrong(at: str, detail: str) -> Incorrect:
    return Incorrect(detail, violations=(Violation(pointer=at, code="bad_grant", detail=detail),))
