"""How what a store keeps in plain columns becomes domain values.

Each function says which columns it takes, in order: strings, integers (enumerations too), floats, bytes, booleans or
0 and 1, `None`. A store whose columns are others turns them into these first.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from graph import making
from graph.journal_rows import read_record, read_verbatim
from graph.tombstones import read_lift, read_tombstone
from ontology.claims import Claim, Entity, Episode, Lifecycle, Source, Told, Transition, Trust
from ontology.entries import End, Entry, Start, Stated
from ontology.episodes import EpisodeRecord, Kept, Quote, RecordedEpisode, Verbatim, WordsGone
from ontology.errors import NotFound
from ontology.events import Event, Kind, Payload, SlotHead
from ontology.facts import Fact, FactVersion, Slot, Support, Version
from ontology.ids import (
    ENTITY,
    EPISODE,
    FACT,
    ClaimId,
    EpisodeId,
    FactId,
    Ledger,
    Owner,
    Place,
    claim_id,
    entity_id,
    episode_id,
    is_recorded,
    locate,
    operation_id,
)
from ontology.instants import OPEN_END, OPEN_START, Instant, Semantics
from ontology.line import Extent
from ontology.operations import Backlog, Operation, State
from ontology.scope import Namespace, Purpose, Scope, Tenant
from ontology.tombstones import Tombstone
from ontology.values import Value, ValueKey, ValueType

Row = Sequence[Any]

_TYPES: Final = {kind.value: kind for kind in ValueType}
_STARTS: Final = tuple(Start)
_ENDS: Final = tuple(End)
_TRUSTS: Final = tuple(Trust)


def place(identifier: str, prefix: str, ledger: Ledger | None) -> tuple[int, int] | None:
    """Position and ordinal of an id of this ledger; `None` for any other text."""
    try:
        found = locate(identifier, prefix)
    except NotFound:
        return None
    return (found.position, found.ordinal) if found.ledger == ledger else None


def entity(ledger: Ledger, namespace: Namespace, row: Row) -> Entity:
    """Of (position, ordinal, key)."""
    return Entity(id=entity_id(Place(ledger, row[0], row[1])), namespace=namespace, key=row[2])


def episode(row: Row) -> Episode:
    """Of (id, source, observed_at, root)."""
    return Episode(id=EpisodeId(row[0]), source=Source(row[1]), observed_at=row[2], root=row[3])


def kept(ledger: Ledger, tenant: Tenant, row: Row) -> Kept:
    """Of (position, ordinal, content, namespace, purpose)."""
    position, ordinal, content, namespace, purpose = row
    scope = Scope(tenant=tenant, namespace=Namespace(namespace), purpose=Purpose(purpose))
    return Kept(episode=episode_id(Place(ledger, position, ordinal)), scope=scope, content=bytes(content))


def quote(ledger: Ledger, row: Row) -> Quote:
    """Of (position and ordinal of the claim, turn, start, end, text)."""
    position, ordinal, turn, start, end, text = row
    return Quote(claim=claim_id(Place(ledger, position, ordinal)), turn=turn, start=start, end=end, text=text)


def recorded_episode(scope: Scope, row: Row) -> RecordedEpisode:
    """Of the four of an episode, recorded_at, principal, then the four of its payload; one that is gone has no body."""
    read = episode(row[:4])
    left = None if row[9] is None else read_verbatim(payload(read.id, row[6:10]), scope.tenant)
    return recorded_with(read, scope, row[4], row[5], left)


def recorded_with(
    episode: Episode, scope: Scope, recorded_at: Instant, principal: str, left: Verbatim | WordsGone | None
) -> RecordedEpisode:
    """A recorded episode with its words, or with what is left of them."""
    return RecordedEpisode(
        episode=episode,
        scope=scope,
        recorded_at=recorded_at,
        principal=principal,
        verbatim=left if isinstance(left, Verbatim) else None,
        destroyed=left if isinstance(left, WordsGone) else None,
    )


def tombstone(ledger: Ledger, tenant: Tenant, row: Row) -> Tombstone:
    """Of (document, actor, position, recorded_at), and the actor, the position and the time of its lift."""
    document, actor, position, recorded_at, *lift = row
    lifted = None if lift[0] is None else read_lift(ledger, position, lift)
    return read_tombstone(json.loads(document), tenant, (actor, position, recorded_at), lifted)


def record(ledger: Ledger, tenant: Tenant, row: Row) -> EpisodeRecord | None:
    """Of (position and ordinal of the episode, position, digest, restated digest, salt, body)."""
    return read_record(payload(episode_id(Place(ledger, row[0], row[1])), row[3:7]), tenant)


def newest_record(id: EpisodeId, scope: Scope, rows: Iterable[Row]) -> EpisodeRecord | None:
    """Of those in the payloads about an episode, in order, each (position, digest, restated digest, salt, body)."""
    found = (read_record(payload(id, row[1:5]), scope.tenant) for row in rows)
    return next((each for each in reversed(list(found)) if each is not None and each.scope == scope), None)


def operation(row: Row) -> Operation:
    """Of (tenant, ledger, namespace, purpose, position, ordinal, principal, state, attempts, next_at, reason, receipts,
    queued_at, changed_at), and whatever follows."""
    (tenant, ledger, namespace, purpose, position, ordinal, principal, state, attempts, next_at, reason, receipts,
     queued_at, changed_at) = row[:14]  # fmt: skip
    at = Place(ledger, position, ordinal)
    return Operation(
        id=operation_id(at),
        episode=episode_id(at),
        scope=Scope(tenant=tenant, namespace=namespace, purpose=purpose),
        principal=principal,
        state=State(state),
        attempts=attempts,
        next_at=next_at,
        reason=reason,
        receipts=None if receipts is None else bytes(receipts),
        queued_at=queued_at,
        changed_at=changed_at,
    )


def backlog(row: Row) -> Backlog:
    """Of the fields of a backlog, in their order."""
    queued, running, failed, overdue_since, retried, failed_at, reason, done_at = row
    return Backlog(
        queued=queued, running=running, failed=failed, overdue_since=overdue_since, retried=retried,
        failed_at=failed_at, reason=reason, done_at=done_at,
    )  # fmt: skip


# ---- slots and what is believed in them


def slot(ledger: Ledger, scope: Scope, row: Row) -> Slot:
    """Of (subject position, subject ordinal, predicate, language)."""
    position, ordinal, predicate, language = row
    return Slot(
        scope=scope, subject=entity_id(Place(ledger, position, ordinal)), predicate=predicate, language=language
    )


def slot_head(of: Slot, row: Row) -> SlotHead:
    """Of (version, last observed, last position, last ordinal, functional, plain, trust, rejected)."""
    version_, observed, position, ordinal, functional, plain, trust, rejected = row
    return SlotHead(
        slot=of,
        version=Version(version_),
        last=None if observed is None else (observed, position, ordinal),
        functional=functional == 1,
        plain=plain == 1,
        trust=_TRUSTS[trust],
        rejected=rejected == 1,
    )


def version(ledger: Ledger, of: Slot, row: Row) -> FactVersion:
    """Of (position, ordinal, value type, text, qualifier and key, certain, valid_from, valid_to, recorded_from,
    recorded_to)."""
    position, ordinal, kind, text, qualifier, key, certain, valid_from, valid_to, recorded_from, recorded_to = row
    id, value = FactId(f"{FACT}_{ledger}_{position}_{ordinal}"), making.value(_TYPES[kind], text, qualifier)
    return making.version(
        id, position, ordinal, of, value, key, certain == 1, valid_from, valid_to, recorded_from, recorded_to
    )


def support(of: Slot, key: ValueKey, row: Row | None, since: Instant) -> Support:
    """Of (recorded_from, sources, occurrences, doubt); where there are none nothing was counted, from `since` on."""
    if row is None or row[0] is None:
        return making.support(of, key, since, 0, 0, 1.0)
    return making.support(of, key, row[0], row[1], row[2], row[3])


def plain_fact(of: FactVersion, held: Support, expires_at: Instant) -> Fact:
    """A fact of a slot that is plain: no claim in it says more of its ends than the version does."""
    return making.fact(
        of,
        Start.OPEN if of.valid_from == OPEN_START else Start.KNOWN,
        End.OPEN if of.valid_to == OPEN_END else End.KNOWN,
        held,
        expires_at,
    )


# ---- what was told


def entry(row: Row) -> Entry:
    """Of (position, ordinal, observed_at, asserts, value key, functional), then (kind, lowest, highest) of each end."""
    (position, ordinal, observed_at, asserts, value, functional,
     start, start_lo, start_hi, end, end_lo, end_hi) = row  # fmt: skip
    return Entry(
        position=position,
        ordinal=ordinal,
        observed_at=observed_at,
        asserts=asserts == 1,
        value=value,
        functional=functional == 1,
        start=_STARTS[start],
        start_lo=start_lo,
        start_hi=start_hi,
        end=_ENDS[end],
        end_lo=end_lo,
        end_hi=end_hi,
    )


def extents(rows: Iterable[Row]) -> list[Extent]:
    """Each of (valid_from, valid_to, the twelve of an entry); the extents of a claim share its entry."""
    entries: dict[tuple[int, int], Entry] = {}
    found = []
    for row in rows:
        key = row[2], row[3]
        if key not in entries:
            entries[key] = entry(row[2:])
        found.append(Extent(entries[key], row[0], row[1]))
    return found


def claim(ledger: Ledger, scope: Scope, row: Row) -> Claim:
    """Of the twelve of an entry, the four of its slot, the eighteen of the rest of the claim."""
    of = slot(ledger, scope, row[12:16])
    kind, text, qualifier, stated_from, stated_to, zone, semantics, observed_stated, source, cited = row[16:26]
    root, confidence, schema_version, principal, recorded_at, trust, echo, expires_at = row[26:34]
    read = entry(row[:12])
    return Claim(
        id=claim_id(Place(ledger, read.position, read.ordinal)),
        slot=of,
        entry=read,
        value=None if kind is None else Value(type=_TYPES[kind], text=text, qualifier=qualifier),
        stated=Stated(
            valid_from=stated_from,
            valid_to=stated_to,
            zone=zone,
            semantics=None if semantics is None else Semantics(semantics),
        ),
        observed_stated=observed_stated == 1,
        source=Source(source),
        episode=None if cited is None else EpisodeId(cited),
        root=root,
        confidence=confidence,
        schema_version=schema_version,
        principal=principal,
        recorded_at=recorded_at,
        trust=_TRUSTS[trust],
        echo=echo == 1,
        expires_at=expires_at,
    )


def told(ledger: Ledger, scope: Scope, row: Row) -> Told:
    """Of the columns of a claim, and the list of its transitions, in order, each with those of `transition`."""
    of = claim(ledger, scope, row[:34])
    return Told(claim=of, transitions=tuple(transition(ledger, of.id, each) for each in row[34]))


def transition(ledger: Ledger, of: ClaimId, row: Row) -> Transition:
    """Of (position, recorded_at, state, rule, reason, actor, decided on, successor position, successor ordinal)."""
    position, recorded_at, state, rule, reason, actor, decided_on, successor, ordinal = row
    return Transition(
        claim=of,
        state=Lifecycle(state),
        rule=rule,
        reason=reason,
        actor=actor,
        position=position,
        recorded_at=recorded_at,
        decided_on=None if decided_on is None else Version(decided_on),
        successor=None if successor is None else claim_id(Place(ledger, successor, ordinal)),
    )


# ---- the journal


def event(ledger: Ledger, row: Row, named: Sequence[Row]) -> tuple[Event, tuple[Payload, ...]]:
    """Of (position, recorded_at, kind, principal, restated, previous, digest), and for each payload that it names
    (subject position, subject ordinal, digest, restated digest, salt, body); of one that is gone body is `None`."""
    position, recorded_at, kind, principal, restated, previous, digest = row
    subjects = [_subject(ledger, each[0], each[1]) for each in named]
    read = Event(
        position=position,
        recorded_at=recorded_at,
        kind=Kind(kind),
        principal=principal,
        digests=tuple((subject, bytes(each[2])) for subject, each in zip(subjects, named, strict=True)),
        restated=tuple((at, subject, bytes.fromhex(text)) for at, subject, text in json.loads(restated)),
        previous=bytes(previous),
        digest=bytes(digest),
    )
    kept = (payload(of, each[2:]) for of, each in zip(subjects, named, strict=True) if each[5] is not None)
    return read, tuple(kept)


def payload(subject: Owner | None, row: Row) -> Payload:
    """Of (digest, restated digest, salt, body)."""
    digest, restated, salt, body = row
    return Payload(subject=subject, salt=bytes(salt), body=bytes(body), digest=bytes(restated or digest))


def owner_place(owner: Owner, ledger: Ledger | None) -> tuple[int, int] | None:
    """How whom a payload is about is kept in two integers; `None` for what is not of this ledger.

    An episode has its ordinal below zero, since an entity of the same commit may have the same: -1 is that of 0.
    """
    if not is_recorded(owner):
        return place(owner, ENTITY, ledger)
    found = place(owner, EPISODE, ledger)
    return None if found is None else (found[0], -1 - found[1])


def _subject(ledger: Ledger, position: int | None, ordinal: int | None) -> Owner | None:
    if position is None or ordinal is None:
        return None
    if ordinal < 0:
        return episode_id(Place(ledger, position, -1 - ordinal))
    return entity_id(Place(ledger, position, ordinal))
