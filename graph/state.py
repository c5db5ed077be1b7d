"""At which two instants a question is answered, and what marks an answer as the same."""

import hashlib

import orjson

from graph.ports import Head, Reader
from ontology.errors import FutureKnownAt
from ontology.facts import AsOf
from ontology.instants import Instant, format_instant
from ontology.scope import Scope


def resolve(head: Head, now: Instant, valid_at: Instant | None, known_at: Instant | None) -> AsOf:
    """The instants at which a question is answered, for the answer to echo (rule 13).

    What is not asked for is `now` and the newest commit. A `known_at` later than the newest commit is answered at
    that commit, so that the echoed one stays repeatable. Before the first commit there is none to answer at, and
    `known_at` stays as asked. Raises `FutureKnownAt` for one beyond `now`; a clock that ran backwards since the
    newest commit does not put that commit into the future.
    """
    newest = head.recorded_at if head.position else now
    if known_at is not None and known_at > max(now, newest):
        raise FutureKnownAt(
            f"known_at {format_instant(known_at)} is later than now, {format_instant(now)}",
            remedy="leave it out for the newest state",
            members={"known_at": format_instant(known_at), "now": format_instant(now)},
        )
    return AsOf(
        valid_at=now if valid_at is None else valid_at,
        known_at=newest if known_at is None else min(known_at, newest),
    )


def served_at(now: Instant, known_at: Instant | None, as_of: AsOf) -> Instant:
    """The instant by which it is judged what has expired: the `known_at` that was asked for, else the clock, which is
    later than the newest commit as a rule."""
    return max(now, as_of.known_at) if known_at is None else known_at


def resolve_for(reader: Reader, now: Instant, valid_at: Instant | None, known_at: Instant | None) -> AsOf:
    """The same instants as `resolve` gives, from which on `reader` serves nothing that has expired."""
    as_of = resolve(reader.head, now, valid_at, known_at)
    reader.serve(as_of.known_at, served_at(now, known_at, as_of))
    return as_of


def etag(scope: Scope, head: Head, query: bytes) -> str:
    """A strong entity tag, in quotes (RFC 9110, 8.8.3), of the answer to `query` in a scope at a head.

    `query` must hold all else on which the answer depends, `valid_at` too. An erasure changes the tag as any
    commit does, also where `query` pins an older `known_at`.
    """
    ledger = (head.ledger, head.position, head.recorded_at, head.erasures)
    framed = orjson.dumps((scope.tenant, scope.namespace, scope.purpose, ledger, query.hex()))
    return f'"{hashlib.sha256(framed).hexdigest()[:32]}"'
