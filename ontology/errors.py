"""What can go wrong, in one vocabulary that every transport maps once.

    VigenciaError
    ├── Incorrect            the request itself is wrong
    │   ├── NaiveInstant · FutureKnownAt · CursorMismatch · UnknownPredicate · TooLarge · PreconditionRequired
    │   ├── KeyReused        one idempotency key, two different requests
    │   └── Refused          well-formed, but a rule of the ontology says no
    │       └── LiveData     what a tool has is not kept
    ├── NotFound
    │   └── Gone             it was there, and was forgotten
    ├── Conflict             right by itself, but not beside what is stored or running
    │   └── VersionChanged · AlreadyDecided
    ├── Forbidden            the caller may not
    │   ├── OwnReview        nobody reviews what they said themselves
    │   └── Unauthenticated  nobody knows who the caller is
    ├── Unsupported          a format or an engine that cannot do this
    ├── Busy                 not in time; the same request may succeed later
    │   └── RateLimited      the caller has had its share for now
    ├── Unavailable          the store cannot be reached
    └── Fault                a defect of ours

An exception has a `slug`, the stable name of its problem type; `PROBLEMS` says what each means. Which
status code a slug becomes is the concern of `api`.
"""

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import ClassVar, Final, Self, TypeAlias, Union

JSON: TypeAlias = Union[bool, int, float, str, Sequence["JSON"], Mapping[str, "JSON"], None]  # noqa: UP007 - recursive
"""What JSON can carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One thing in a request that its author can put right."""

    pointer: str
    """Where: an RFC 6901 JSON Pointer such as `/items/3/value`; empty for the whole of what was given."""
    code: str
    """Which rule, in snake_case, such as `inverted_interval`; programs may branch on it."""
    detail: str
    """What is wrong with which value and what to do about it, for people."""

    def under(self, prefix: str) -> "Violation":
        """The same violation seen from further out: `prefix` goes before the pointer."""
        return replace(self, pointer=prefix + self.pointer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What a problem type means, for its page, the README and the OpenAPI document."""

    title: str
    meaning: str
    cause: str
    fix: str


def pointer(*parts: str | int) -> str:
    """The JSON Pointer through `parts`: `pointer("items", 3)` is `/items/3`. RFC 6901, section 3 (escapes)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def shown(value: object, limit: int = 80) -> str:
    """The `repr` of a value for a message, at most `limit` characters long; costs no more for a huge value."""
    text = _REPR.repr(value.value if isinstance(value, Enum) else value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


class _Repr(reprlib.Repr):
    """`reprlib`, cut at the end instead of in the middle, and safe for integers that have no decimal form."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxstring = 200
        self.maxother = 200

    def repr_str(self, x: str, level: int) -> str:
        return repr(x if len(x) <= self.maxstring else x[: self.maxstring] + "…")

    def repr_int(self, x: int, level: int) -> str:
        return repr(x) if x.bit_length() <= 512 else f"<an integer of {x.bit_length()} bits>"


_REPR: Final = _Repr()


class VigenciaError(Exception):
    """Root of everything that Vigencia raises on purpose. `str()` gives the message and, where given, the remedy."""

    default_slug: ClassVar[str] = "internal"
    default_retry_after: ClassVar[int | None] = None

    def __init__(
        self,
        message: str,
        *,
        slug: str | None = None,
        remedy: str = "",
        violations: Iterable[Violation] = (),
        members: Mapping[str, JSON] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message: str = message
        self.slug: str = slug or self.default_slug
        """The stable name of the problem type, a key of `PROBLEMS`."""
        self.remedy: str = remedy
        """What to do about it; empty where the message says it already."""
        self.violations: tuple[Violation, ...] = tuple(violations)
        self.members: Mapping[str, JSON] = dict(members or {})
        """More members for the problem document, such as the current state after a conflict."""
        self.retry_after: int | None = self.default_retry_after if retry_after is None else retry_after
        """Seconds after which the same request is worth another try; `None` where it never is."""
        if self.slug not in PROBLEMS:
            raise ValueError(f"no problem type {self.slug!r}; describe it in PROBLEMS")

    @property
    def problem(self) -> Problem:
        return PROBLEMS[self.slug]

    def under(self, prefix: str) -> Self:
        """The same error seen from further out: `prefix` goes before the pointer of each violation."""
        return type(self)(
            self.message,
            slug=self.slug,
            remedy=self.remedy,
            violations=[violation.under(prefix) for violation in self.violations],
            members=self.members,
            retry_after=self.retry_after,
        )

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


class Incorrect(VigenciaError):
    """The request itself is wrong, whatever is stored; `violations` say where."""

    default_slug = "invalid-request"


class NaiveInstant(Incorrect):
    """A date-time without an offset from UTC names no instant."""

    default_slug = "naive-instant"


class FutureKnownAt(Incorrect):
    """A question about what will be known later than now."""

    default_slug = "future-known-at"


class CursorMismatch(Incorrect):
    """A cursor that belongs to another query, or that we did not make."""

    default_slug = "cursor-mismatch"


class UnknownPredicate(Incorrect):
    """A predicate that a strict schema does not have."""

    default_slug = "unknown-predicate"


class TooLarge(Incorrect):
    """More in one request, or in one value, than is taken."""

    default_slug = "too-large"


class PreconditionRequired(Incorrect):
    """An operation on one version that does not say which version its author saw."""

    default_slug = "precondition-required"


class KeyReused(Incorrect):
    """An idempotency key that already stands for another request."""

    default_slug = "idempotency-key-reused"


class Refused(Incorrect):
    """The request is well-formed, but a rule of the ontology or of time refuses what it asks."""

    default_slug = "ontology-violation"


class LiveData(Refused):
    """What a tool has whenever it is needed is not kept."""

    default_slug = "live-data"


class NotFound(VigenciaError):
    """What was named does not exist, or not for this caller; the two look alike."""

    default_slug = "not-found"


class Gone(NotFound):
    """What was named was forgotten on request; a tombstone is left."""

    default_slug = "forgotten"


class Conflict(VigenciaError):
    """The request is right by itself but clashes with what is stored or running."""

    default_slug = "conflicting-claim"


class AlreadyDecided(Conflict):
    """Somebody has decided already."""

    default_slug = "already-decided"


class VersionChanged(Conflict):
    """The version that the caller saw is no longer the current one; `members` carry the current state."""

    default_slug = "version-changed"


class Forbidden(VigenciaError):
    """The caller is known and may not do this."""

    default_slug = "missing-role"


class OwnReview(Forbidden):
    """Nobody reviews what they said themselves."""

    default_slug = "own-review"


class Unauthenticated(Forbidden):
    """No key, or one that nobody issued."""

    default_slug = "unauthenticated"


class Unsupported(VigenciaError):
    """A format, an option or an engine that cannot do what was asked."""

    default_slug = "unsupported-format"


class Busy(VigenciaError):
    """A lock or a position could not be had in time; nothing was written, the same request may succeed later."""

    default_slug = "store-unavailable"
    default_retry_after = 1


class RateLimited(Busy):
    """More than a caller may ask for at a time; nothing was done, the same request may succeed later."""

    default_slug = "rate-limited"


class Unavailable(VigenciaError):
    """The store cannot be reached or cannot be read."""

    default_slug = "store-unavailable"


class Fault(VigenciaError):
    """A defect of ours: an invariant does not hold. Never the caller's doing."""

    default_slug = "internal"


PROBLEMS: Final[Mapping[str, Problem]] = MappingProxyType(
    {
        "invalid-request": Problem(
            title="The request is not valid",
            meaning="Something in the request cannot be read or breaks a rule of its form; nothing was written.",
            cause="A wrong type, an unknown field, an unreadable date, a value outside its range, a control character.",
            fix="Correct what `errors` points at and send the request again.",
        ),
        "naive-instant": Problem(
            title="A date-time has no offset",
            meaning="A date-time without an offset from UTC names no instant, and none is guessed.",
            cause="A value such as `2026-06-30T10:00:00`.",
            fix="Add `Z` or an offset such as `+02:00`, or give a date with a zone.",
        ),
        "future-known-at": Problem(
            title="known_at lies in the future",
            meaning="What will be known later cannot be asked now.",
            cause="`known_at` is beyond the server's clock, often because the caller's clock runs ahead.",
            fix="Leave `known_at` out for the newest state, or give an instant up to now.",
        ),
        "cursor-mismatch": Problem(
            title="The cursor belongs to another query",
            meaning="A cursor continues exactly the query that gave it.",
            cause="A filter, a scope or an instant was changed between two pages, or the cursor was altered.",
            fix="Start again without `cursor`, or repeat the query as it was.",
        ),
        "unknown-predicate": Problem(
            title="The schema has no such predicate",
            meaning="The schema is strict and does not have this predicate.",
            cause="A misspelt predicate, or one that was never declared.",
            fix="Use one of the near matches, or add the predicate to the ontology.",
        ),
        "unauthenticated": Problem(
            title="A key is needed",
            meaning="The caller is not known.",
            cause="No `Authorization: Bearer` header, or a key or token that is unknown, expired, revoked or wrong.",
            fix="Send a key or a token that holds on this server.",
        ),
        "missing-role": Problem(
            title="The caller may not do this",
            meaning="The caller is known but has no grant for this operation in this scope.",
            cause="A key without the grant that `grant` names, or a namespace that belongs to another principal.",
            fix="Use a key that has the grant there, or ask the owner of the namespace.",
        ),
        "own-review": Problem(
            title="Nobody reviews what they said themselves",
            meaning="A held claim is promoted or rejected by another principal than the one that wrote it.",
            cause="The caller wrote the claim, or a model tries to promote its own output.",
            fix="Let another principal that may review decide.",
        ),
        "not-found": Problem(
            title="There is no such thing here",
            meaning="What was named does not exist in this scope, or is not visible to the caller.",
            cause="A wrong id, another scope, or an instant at which it was not yet known.",
            fix="Check the id, the scope, `valid_at` and `known_at`.",
        ),
        "forgotten": Problem(
            title="It was forgotten",
            meaning="What was named was forgotten on request; only a tombstone is left, and nothing was written.",
            cause="The id of something forgotten, a key that may not come back, or a retry of what said it.",
            fix="Do not say it again; an administrator can lift the tombstone that `tombstone` names.",
        ),
        "idempotency-in-flight": Problem(
            title="The same request is still running",
            meaning="A request with this idempotency key has started and has not ended.",
            cause="A retry that overtook the first attempt.",
            fix="Wait as long as `Retry-After` says, then send the same request again.",
        ),
        "conflicting-claim": Problem(
            title="The request conflicts with what is stored",
            meaning="What is stored does not permit this operation as it was asked.",
            cause="Another writer was first, or the thing has changed its state.",
            fix="Read the current state, decide again, send a new request.",
        ),
        "already-decided": Problem(
            title="The claim waits no more",
            meaning="A reviewer, a policy or a withdrawal has decided on this claim before; nothing was written.",
            cause="Two reviewers at once, or a repeated request under a new idempotency key.",
            fix="Read the claim: its state says what was decided, by whom and why.",
        ),
        "version-changed": Problem(
            title="The version is no longer current",
            meaning="The caller decided on a state that has changed since; nothing was written.",
            cause="A stale `If-Match` or `expected_version`.",
            fix="Look at the current state in this answer, decide again, send its version.",
        ),
        "too-large": Problem(
            title="The request is too large",
            meaning="A request, a batch or a value exceeds its limit; nothing was written.",
            cause="Too many items in one batch, or too many bytes.",
            fix="Split it; the limits stand in the message.",
        ),
        "unsupported-format": Problem(
            title="The format is not supported",
            meaning="The server cannot read or cannot give this format.",
            cause="A content type other than `application/json`, or an unknown export format.",
            fix="Send JSON, or name a format that the message lists.",
        ),
        "ontology-violation": Problem(
            title="A rule refuses the operation",
            meaning="The request can be read, but what it states breaks a rule of time or of the ontology.",
            cause="An empty or inverted interval, a value of the wrong type for its predicate, a value out of range.",
            fix="Correct what `errors` points at, or change the ontology.",
        ),
        "live-data": Problem(
            title="This is live data",
            meaning="The predicate is declared live: its values are never stored, a tool has them.",
            cause="A write to a predicate with `volatility: live`.",
            fix="Ask the tool that `tool` names when the value is needed.",
        ),
        "idempotency-key-reused": Problem(
            title="The idempotency key stands for another request",
            meaning="This key was used before with another body; neither was changed.",
            cause="One key for two operations.",
            fix="Make a new key for each operation; repeat a key only with the same body.",
        ),
        "recorded-at-not-settable": Problem(
            title="The recorded time is the server's",
            meaning="When memory learnt something is assigned by the server.",
            cause="The request sets `recorded_at`.",
            fix="Leave it out; to say when a source said it, use `observed_at`.",
        ),
        "precondition-required": Problem(
            title="The request must say which version it means",
            meaning="This operation is only done on a version that its author has seen.",
            cause="No `If-Match` header and no `expected_version`.",
            fix="Read the thing, then send its ETag as `If-Match`.",
        ),
        "rate-limited": Problem(
            title="Too many requests",
            meaning="The caller has had its share of reads, writes or event streams for now; nothing was done.",
            cause="A loop without a pause, or many clients with one principal.",
            fix="Wait as long as `Retry-After` says, then send the same request again.",
        ),
        "internal": Problem(
            title="Something went wrong on our side",
            meaning="A defect; the transaction was not committed unless the receipt says so.",
            cause="Not the request.",
            fix="Report it with the `request_id`; the log has the details.",
        ),
        "store-unavailable": Problem(
            title="The store cannot answer now",
            meaning="The store cannot be reached, or a lock or a position was not there in time; nothing was written.",
            cause="Many writers at once, a store that is starting or stopped, a full disk.",
            fix="Try again after `Retry-After` with the same idempotency key.",
        ),
        "extractor-unavailable": Problem(
            title="Episodes are not read now",
            meaning="What was recorded is kept and queued, but nobody makes claims of it.",
            cause="No worker runs, the worker died, or the extractor fails each time, such as a model that is away.",
            fix="Start `vigencia worker`, or look at the reason, then retry the operations that failed.",
        ),
        "embedder-unavailable": Problem(
            title="No vectors are made now",
            meaning="Texts that have no vector yet are found by their words alone.",
            cause="The embedder is away, slow, refuses what it is asked, or gives what is no vector.",
            fix="Look at the reason; what has no vector yet gets one when the embedder is back.",
        ),
        "issuer-unavailable": Problem(
            title="The issuer of tokens cannot be asked",
            meaning="The public keys of the token issuer cannot be fetched, so no token can be verified now.",
            cause="The issuer's JWKS server is away, slow, or gives no keys.",
            fix="Try again after `Retry-After`; check that the server reaches `VIGENCIA_JWT_JWKS`.",
        ),
    }
)
