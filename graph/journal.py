"""What the journal keeps of a commit, how a change set comes back from it, and whether the chain holds.

Pure: nothing here reads a store. A change set is split into one payload per subject that it touches and per
verbatim that it records, and one without a subject for schemas and episodes; an event chains the digests of the
payloads to the event before.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from graph.journal_rows import DECODE, ENCODE, Decoder, Encoder, dump, load, seal
from graph.journal_sections import Section
from graph.ports import Head
from graph.restating import restate, without
from ontology.errors import Fault, shown
from ontology.events import ChangeSet, Commit, Destroyed, Event, Payload, Restated
from ontology.ids import ClaimId, EntityId, Owner
from ontology.scope import Tenant

__all__ = ["NO_DIGEST", "commit", "decode", "event_digest", "restate", "verify_chain", "without"]

NO_DIGEST: Final = bytes(32)
"""What the first event has as the digest of the event before."""

NOTHING: Final = Destroyed()
_DOMAIN: Final = "vigencia-event-1"


def commit(
    changes: ChangeSet,
    head: Head,
    *,
    salts: Callable[[], bytes],
    restated: Sequence[Restated] = (),
    destroyed: Destroyed = NOTHING,
    owners: Mapping[ClaimId, EntityId] | None = None,
) -> Commit:
    """The change set with its event, chained to `head`, and its payloads, in the order in which subjects come up.

    `salts` gives 32 random bytes per payload. `owners` names the subject of each claim that came into another state; it
    is needed only where the change set does not tell: it neither makes nor hides the claim, and several subjects.
    Raises `Fault` for a position that does not follow `head`, and for a changed claim whose subject is unknown.
    """
    if changes.position != head.position + 1:
        raise Fault(f"a commit at position {changes.position} cannot follow position {head.position}")
    payloads = tuple(seal(part.subject, salts(), body) for part, body in _split(changes, owners or {}))
    digests = tuple((payload.subject, payload.digest) for payload in payloads)
    restatements = tuple((each.position, each.payload.subject, each.payload.digest) for each in restated)
    restatements += tuple((position, subject, NO_DIGEST) for position, subject in destroyed.payloads)
    event = Event(
        position=changes.position,
        recorded_at=changes.recorded_at,
        kind=changes.kind,
        principal=changes.principal,
        digests=digests,
        restated=restatements,
        previous=head.digest,
        digest=NO_DIGEST,
    )
    return Commit(
        changes=changes, event=_sealed(event), payloads=payloads, restated=tuple(restated), destroyed=destroyed
    )


def decode(event: Event, payloads: Iterable[Payload], *, tenant: Tenant | None = None) -> ChangeSet:
    """The change set that `commit` split; what destroyed payloads held is absent.

    `tenant` takes the place of the tenant in which it was written. Raises `Fault` for a body that is not ours.
    """
    at = event.position, event.recorded_at, event.principal
    by_subject = {payload.subject: payload for payload in payloads}
    ordered = [by_subject[subject] for subject, _ in event.digests if subject in by_subject]
    try:
        parts = [Decoder(load(p), p.subject, at, tenant) for p in ordered]
        found = {section: _gather(parts, section) for section in Section}
    except (ValueError, TypeError, IndexError) as exc:
        raise Fault(f"the payloads of the event at position {event.position} cannot be read") from exc
    return ChangeSet(
        position=event.position,
        recorded_at=event.recorded_at,
        kind=event.kind,
        principal=event.principal,
        operations=found[Section.OPERATIONS],
        schema=next(iter(found[Section.SCHEMAS]), None),
        erasures=found[Section.ERASURES],
        entities=found[Section.ENTITIES],
        episodes=found[Section.EPISODES],
        verbatims=found[Section.VERBATIMS],
        claims=found[Section.CLAIMS],
        quotes=found[Section.QUOTES],
        transitions=found[Section.TRANSITIONS],
        closed=found[Section.CLOSED],
        opened=found[Section.OPENED],
        hidden=found[Section.HIDDEN],
        shown=found[Section.SHOWN],
        support=found[Section.SUPPORT],
        slots=found[Section.SLOTS],
        records=found[Section.RECORDS],
        removals=found[Section.REMOVALS],
        tombstones=found[Section.TOMBSTONES],
        lifts=found[Section.LIFTS],
        secret=next(iter(found[Section.SECRETS]), None),
    )


def event_digest(event: Event) -> bytes:
    """SHA-256 of the previous digest and of all that the skeleton says, framed as a JSON array."""
    framed = [
        _DOMAIN,
        event.previous.hex(),
        event.position,
        event.recorded_at,
        event.kind,
        event.principal,
        [(subject, digest.hex()) for subject, digest in event.digests],
        [(position, subject, digest.hex()) for position, subject, digest in event.restated],
    ]
    return hashlib.sha256(dump(framed)).digest()


def verify_chain(
    events: Iterable[tuple[Event, Sequence[Payload]]],
    *,
    complete: bool = False,
    since: tuple[int, bytes] = (0, NO_DIGEST),
    is_destroyed: Callable[[int, Owner | None], bool] = lambda *_: False,
) -> list[str]:
    """What is wrong with a chain, one sentence per finding, in order of position.

    The chain goes on from the position and the digest of `since`. A restated payload must have the digest that the
    newest event to restate it gives. A missing payload counts only with `complete`, and only where no event
    restated it, nor `is_destroyed` knows of the position and owner that it was destroyed in this copy.
    """
    problems: list[tuple[int, str]] = []
    odd: dict[tuple[int, Owner | None], bytes | None] = {}
    newest: dict[tuple[int, Owner | None], bytes] = {}
    position, previous = since
    for event, payloads in events:
        problems += [(event.position, problem) for problem in _broken_links(event, position, previous)]
        position, previous = event.position, event.digest
        newest.update({(at, subject): digest for at, subject, digest in event.restated if at > since[0]})
        there = {payload.subject: seal(payload.subject, payload.salt, payload.body).digest for payload in payloads}
        for payload in payloads:
            if payload.digest != there[payload.subject]:
                problems.append((position, f"{_named(position, payload.subject)} is not what its own digest covers"))
        for subject, digest in event.digests:
            if there.get(subject) != digest:
                odd[position, subject] = there.get(subject)
        listed = {subject for subject, _ in event.digests}
        for subject in there.keys() - listed:
            problems.append((position, f"{_named(position, subject)} is not in the event"))
    problems += _odd_payloads(odd, newest, (lambda *at: not is_destroyed(*at)) if complete else lambda *_: False)
    return [problem for _, problem in sorted(problems, key=lambda found: found[0])]


def _broken_links(event: Event, position: int, previous: bytes) -> Iterator[str]:
    if event.position != position + 1:
        yield f"position {event.position} follows position {position}; there is a gap"
    if event.previous != previous:
        yield f"the event at position {event.position} is not chained to the event before it"
    if event.digest != event_digest(event):
        yield f"the event at position {event.position} is not what its digest covers"


def _odd_payloads(
    odd: Mapping[tuple[int, Owner | None], bytes | None],
    newest: Mapping[tuple[int, Owner | None], bytes],
    must_exist: Callable[[int, Owner | None], bool],
) -> Iterator[tuple[int, str]]:
    for (position, subject), digest in odd.items():
        expected = newest.get((position, subject))
        if digest is None:
            if expected is None and must_exist(position, subject):
                yield position, f"{_named(position, subject)} is missing and no event destroyed it"
        elif digest != expected:
            where = "the event" if expected is None else "the newest event to restate it"
            yield position, f"{_named(position, subject)} does not have the digest that {where} gives"
    for position, subject in newest.keys() - odd.keys():
        yield position, f"{_named(position, subject)} was to be destroyed and is still there"


def _named(position: int, subject: Owner | None) -> str:
    about = "without a subject" if subject is None else f"about {subject}"
    return f"the payload {about} at position {position}"


def _sealed(event: Event) -> Event:
    return Event(
        position=event.position, recorded_at=event.recorded_at, kind=event.kind, principal=event.principal,
        digests=event.digests, restated=event.restated, previous=event.previous, digest=event_digest(event),
    )  # fmt: skip


def _sections(
    changes: ChangeSet, owners: Mapping[ClaimId, EntityId]
) -> Iterator[tuple[Section, Sequence[object], list[Owner | None]]]:
    """Each section that has rows, with the subject of each row. Versions precede what names values by key only."""
    if changes.operations:
        yield Section.OPERATIONS, changes.operations, [each.subject for each in changes.operations]
    if changes.schema is not None:
        yield Section.SCHEMAS, (changes.schema,), [None]
    if changes.erasures:
        yield Section.ERASURES, changes.erasures, [each.subject for each in changes.erasures]
    if changes.entities:
        yield Section.ENTITIES, changes.entities, [each.id for each in changes.entities]
    if changes.episodes:
        yield Section.EPISODES, changes.episodes, [None] * len(changes.episodes)
    if changes.verbatims:
        yield Section.VERBATIMS, changes.verbatims, [each.kept.episode for each in changes.verbatims]
    if changes.quotes:
        said_of = {claim.id: claim.slot.subject for claim in changes.claims}
        yield Section.QUOTES, changes.quotes, [said_of[each.claim] for each in changes.quotes]
    if changes.records:
        yield Section.RECORDS, changes.records, [each.episode for each in changes.records]
    if changes.tombstones:
        yield Section.TOMBSTONES, changes.tombstones, [None] * len(changes.tombstones)
    if changes.lifts:
        yield Section.LIFTS, changes.lifts, [None] * len(changes.lifts)
    if changes.secret is not None:
        yield Section.SECRETS, (changes.secret,), [None]
    if changes.transitions:
        yield Section.TRANSITIONS, changes.transitions, _of_transitions(changes, owners)
    for section, rows in (
        (Section.CLAIMS, changes.claims),
        (Section.CLOSED, changes.closed),
        (Section.OPENED, changes.opened),
        (Section.HIDDEN, changes.hidden),
        (Section.SHOWN, changes.shown),
        (Section.SUPPORT, changes.support),
        (Section.SLOTS, changes.slots),
        (Section.REMOVALS, changes.removals),
    ):
        if rows:
            yield section, rows, [row.slot.subject for row in rows]


def _of_transitions(changes: ChangeSet, owners: Mapping[ClaimId, EntityId]) -> list[Owner | None]:
    known = {claim.id: claim.slot.subject for claim in changes.claims}
    known |= {shown.claim: shown.slot.subject for shown in (*changes.hidden, *changes.shown)}
    known |= owners
    touched = {head.slot.subject for head in changes.slots}
    alone = next(iter(touched)) if len(touched) == 1 else None
    subjects: list[Owner | None] = []
    for transition in changes.transitions:
        subject = known.get(transition.claim, alone)
        if subject is None:
            raise Fault(f"no subject is known for the changed claim {shown(transition.claim)}; name it in `owners`")
        subjects.append(subject)
    return subjects


def _split(changes: ChangeSet, owners: Mapping[ClaimId, EntityId]) -> Iterator[tuple[Encoder, bytes]]:
    """The part of each subject, with its body."""
    parts: dict[Owner | None, Encoder] = {}
    mixed: dict[Section, list[Owner | None]] = {}
    for section, rows, subjects in _sections(changes, owners):
        encode = ENCODE[section]
        for subject, row in zip(subjects, rows, strict=True):
            part = parts.get(subject)
            if part is None:
                part = Encoder(subject, changes.position, changes.recorded_at, changes.principal)
                parts[subject] = part
            part.sections[section].append(encode(part, row))
        mixed[section] = subjects
    places = _places(list(parts), mixed) if len(parts) > 1 else {}
    for subject, part in parts.items():
        yield part, dump(part.body(places.get(subject)))


def _places(
    order: list[Owner | None], sections: Mapping[Section, list[Owner | None]]
) -> dict[Owner | None, list[list[int] | None]]:
    """Where each row of a subject stands in its section, for the sections that do not go by subject."""
    rank = {subject: number for number, subject in enumerate(order)}
    found: dict[Owner | None, list[list[int] | None]] = {}
    for section, subjects in sections.items():
        ranks = [rank[subject] for subject in subjects]
        if all(map(int.__le__, ranks, ranks[1:])):
            continue
        for place, subject in enumerate(subjects):
            listed = found.setdefault(subject, [None] * len(Section))
            here = listed[section]
            if here is None:
                here = listed[section] = []
            here.append(place)
    return found


def _gather(parts: Sequence[Decoder], section: Section) -> tuple[Any, ...]:
    decode_row = DECODE[section]
    rows = [decode_row(part, row) for part in parts for row in part.sections[section]]
    places = [place for part in parts if part.places for place in part.places[section] or ()]
    if places:
        rows = [row for _, row in sorted(zip(places, rows, strict=True), key=lambda placed: placed[0])]
    return tuple(rows)
