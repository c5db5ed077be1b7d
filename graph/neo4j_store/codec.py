"""How records become domain values. The columns of a record are those of its query, in order."""

from typing import Any, Final

from ontology.claims import Claim, Ending, Entity, Lifecycle, Source, Told
from ontology.entries import End, Entry, Start, Stated
from ontology.errors import NotFound
from ontology.events import SlotHead
from ontology.facts import Fact, FactVersion, Slot, Support, Version
from ontology.ids import ClaimId, EntityId, EpisodeId, Ledger, Place, claim_id, entity_id, fact_id, locate
from ontology.instants import OPEN_END, OPEN_START, Instant, Semantics
from ontology.scope import Namespace, Scope
from ontology.values import Value, ValueKey, ValueType

Row = list[Any]
"""A record, or a list inside one, as the driver gives it; only the codec looks inside."""

ENTRY_COLUMNS: Final = 12
VERSION_COLUMNS: Final = 11

_TYPES: Final = {kind.value: kind for kind in ValueType}
_STARTS: Final = tuple(Start)
_ENDS: Final = tuple(End)


def place(identifier: str, prefix: str, ledger: Ledger | None) -> tuple[int, int] | None:
    """Position and ordinal of an id of this ledger; `None` for any other text."""
    try:
        found = locate(identifier, prefix)
    except NotFound:
        return None
    return (found.position, found.ordinal) if found.ledger == ledger else None


def key(text: str) -> ValueKey:
    """The value key behind its hexadecimal form."""
    return ValueKey(bytes.fromhex(text))


def entity(ledger: Ledger, namespace: Namespace, row: Row) -> Entity:
    """Of (position, ordinal, key)."""
    return Entity(id=entity_id(Place(ledger, row[0], row[1])), namespace=namespace, key=row[2])


def slot(ledger: Ledger, scope: Scope, row: Row) -> Slot:
    """Of (subject position, subject ordinal, predicate, language)."""
    subject = entity_id(Place(ledger, row[0], row[1]))
    return Slot(scope=scope, subject=subject, predicate=row[2], language=row[3])


def version(ledger: Ledger, of: Slot, row: Row, until: Instant) -> FactVersion:
    """Of the eleven columns of a version, as it was after the commit at `until`."""
    position, ordinal, kind, text, qualifier, value, certain, valid_from, valid_to, recorded_from, recorded_to = row
    return FactVersion(
        id=fact_id(Place(ledger, position, ordinal)),
        position=position,
        ordinal=ordinal,
        slot=of,
        value=Value(type=_TYPES[kind], text=text, qualifier=qualifier),
        value_key=key(value),
        certain=certain,
        valid_from=valid_from,
        valid_to=valid_to,
        recorded_from=recorded_from,
        recorded_to=recorded_to if recorded_to <= until else OPEN_END,
    )


def support(of: Slot, value: ValueKey, row: Row | None, since: Instant) -> Support:
    """Of (recorded_from, sources, occurrences, doubt); where there is none nothing was counted, from `since` on."""
    if row is None:
        return Support(slot=of, value_key=value, recorded_from=since, sources=0, occurrences=0, doubt=1.0)
    return Support(slot=of, value_key=value, recorded_from=row[0], sources=row[1], occurrences=row[2], doubt=row[3])


def plain_fact(of: FactVersion, held: Support) -> Fact:
    """A fact of a slot that is plain: no claim in it says more of its ends than the version does."""
    return Fact(
        version=of,
        start=Start.OPEN if of.valid_from == OPEN_START else Start.KNOWN,
        end=End.OPEN if of.valid_to == OPEN_END else End.KNOWN,
        support=held,
    )


def entry(row: Row) -> Entry:
    """Of the twelve columns of an entry."""
    (position, ordinal, observed_at, asserts, value, functional,
     start, start_lo, start_hi, end, end_lo, end_hi) = row  # fmt: skip
    return Entry(
        position=position,
        ordinal=ordinal,
        observed_at=observed_at,
        asserts=asserts,
        value=None if value is None else key(value),
        functional=functional,
        start=_STARTS[start],
        start_lo=start_lo,
        start_hi=start_hi,
        end=_ENDS[end],
        end_lo=end_lo,
        end_hi=end_hi,
    )


def told(ledger: Ledger, scope: Scope, row: Row, until: int) -> Told:
    """Of the columns of `claim`, as it was after the commit at position `until`."""
    of = slot(ledger, scope, row[12:16])
    kind, text, qualifier, stated_from, stated_to, zone, semantics, observed_stated, source, episode = row[16:26]
    root, confidence, schema_version, principal, recorded_at = row[26:31]
    read = entry(row[:ENTRY_COLUMNS])
    id = claim_id(Place(ledger, read.position, read.ordinal))
    claim = Claim(
        id=id,
        slot=of,
        entry=read,
        value=None if kind is None else Value(type=_TYPES[kind], text=text, qualifier=qualifier),
        stated=Stated(
            valid_from=stated_from,
            valid_to=stated_to,
            zone=zone,
            semantics=None if semantics is None else Semantics(semantics),
        ),
        observed_stated=observed_stated,
        source=Source(source),
        episode=None if episode is None else EpisodeId(episode),
        root=root,
        confidence=confidence,
        schema_version=schema_version,
        principal=principal,
        recorded_at=recorded_at,
    )
    return Told(claim=claim, ending=_ending(ledger, id, row[31:37], until))


def slot_head(of: Slot, row: Row) -> SlotHead:
    """Of (version, last observed, last position, last ordinal, functional, plain)."""
    version_, observed, position, ordinal, functional, plain = row
    return SlotHead(
        slot=of,
        version=Version(version_),
        last=None if observed is None else (observed, position, ordinal),
        functional=functional,
        plain=plain,
    )


def subject(ledger: Ledger, position: int | None, ordinal: int | None) -> EntityId | None:
    """The subject of a payload."""
    return None if position is None or ordinal is None else entity_id(Place(ledger, position, ordinal))


def _ending(ledger: Ledger, of: ClaimId, row: Row, until: int) -> Ending | None:
    """Of (position, recorded_at, state, reason, successor position, successor ordinal)."""
    position, recorded_at, state, reason, successor, ordinal = row
    if position > until:
        return None
    return Ending(
        claim=of,
        state=Lifecycle(state),
        reason=reason,
        position=position,
        recorded_at=recorded_at,
        successor=None if successor is None else claim_id(Place(ledger, successor, ordinal)),
    )
