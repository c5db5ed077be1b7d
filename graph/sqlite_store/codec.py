"""How rows become domain values, and an id two integers. The columns of a row are those of its query, in order."""

from graph.sqlite_store.connection import Row
from ontology.claims import Claim, Ending, Entity, Lifecycle, Source, Told
from ontology.entries import End, Entry, Start, Stated
from ontology.errors import NotFound
from ontology.events import SlotHead
from ontology.facts import Fact, FactVersion, Slot, Support, Version
from ontology.ids import (
    ClaimId,
    EntityId,
    EpisodeId,
    Ledger,
    Place,
    claim_id,
    entity_id,
    fact_id,
    locate,
)
from ontology.instants import OPEN_END, OPEN_START, Instant, Semantics
from ontology.scope import Namespace, Scope
from ontology.values import Value, ValueKey, ValueType

TYPES = {kind.value: kind for kind in ValueType}
STARTS = tuple(Start)
ENDS = tuple(End)

ENTRY_COLUMNS = 12
VERSION_COLUMNS = 11


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


def slot(ledger: Ledger, scope: Scope, row: Row) -> Slot:
    """Of (subject position, subject ordinal, predicate, language)."""
    position, ordinal, predicate, language = row
    return Slot(
        scope=scope, subject=entity_id(Place(ledger, position, ordinal)), predicate=predicate, language=language
    )


def version(ledger: Ledger, of: Slot, row: Row) -> FactVersion:
    """Of the eleven columns of a version."""
    position, ordinal, kind, text, qualifier, key, certain, valid_from, valid_to, recorded_from, recorded_to = row
    return FactVersion(
        id=fact_id(Place(ledger, position, ordinal)),
        position=position,
        ordinal=ordinal,
        slot=of,
        value=Value(type=TYPES[kind], text=text, qualifier=qualifier),
        value_key=key,
        certain=certain == 1,
        valid_from=valid_from,
        valid_to=valid_to,
        recorded_from=recorded_from,
        recorded_to=recorded_to,
    )


def support(of: Slot, key: ValueKey, row: Row, since: Instant) -> Support:
    """Of (recorded_from, sources, occurrences, doubt); where they are NULL nothing was counted, from `since` on."""
    if row[0] is None:
        return Support(slot=of, value_key=key, recorded_from=since, sources=0, occurrences=0, doubt=1.0)
    return Support(slot=of, value_key=key, recorded_from=row[0], sources=row[1], occurrences=row[2], doubt=row[3])


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
        asserts=asserts == 1,
        value=value,
        functional=functional == 1,
        start=STARTS[start],
        start_lo=start_lo,
        start_hi=start_hi,
        end=ENDS[end],
        end_lo=end_lo,
        end_hi=end_hi,
    )


def entry_columns(of: Entry) -> Row:
    """The twelve columns of an entry."""
    return (
        of.position, of.ordinal, of.observed_at, of.asserts, of.value, of.functional,
        of.start, of.start_lo, of.start_hi, of.end, of.end_lo, of.end_hi,
    )  # fmt: skip


def told(ledger: Ledger, scope: Scope, row: Row) -> Told:
    """Of the columns of `claim`: an entry, its slot, the rest of the claim, its ending."""
    of = slot(ledger, scope, row[12:16])
    kind, text, qualifier, stated_from, stated_to, zone, semantics, observed_stated, source, episode = row[16:26]
    root, confidence, schema_version, principal, recorded_at = row[26:31]
    read = entry(row[:ENTRY_COLUMNS])
    id = claim_id(Place(ledger, read.position, read.ordinal))
    claim = Claim(
        id=id,
        slot=of,
        entry=read,
        value=None if kind is None else Value(type=TYPES[kind], text=text, qualifier=qualifier),
        stated=Stated(
            valid_from=stated_from,
            valid_to=stated_to,
            zone=zone,
            semantics=None if semantics is None else Semantics(semantics),
        ),
        observed_stated=observed_stated == 1,
        source=Source(source),
        episode=None if episode is None else EpisodeId(episode),
        root=root,
        confidence=confidence,
        schema_version=schema_version,
        principal=principal,
        recorded_at=recorded_at,
    )
    return Told(claim=claim, ending=ending(ledger, id, row[31:37]))


def ending(ledger: Ledger, of: ClaimId, row: Row) -> Ending | None:
    """Of (position, recorded_at, state, reason, successor position, successor ordinal)."""
    position, recorded_at, state, reason, successor, ordinal = row
    if position == OPEN_END:
        return None
    return Ending(
        claim=of,
        state=Lifecycle(state),
        reason=reason,
        position=position,
        recorded_at=recorded_at,
        successor=None if successor is None else claim_id(Place(ledger, successor, ordinal)),
    )


def slot_head(of: Slot, row: Row) -> SlotHead:
    """Of (version, last observed, last position, last ordinal, functional, plain)."""
    version_, observed, position, ordinal, functional, plain = row
    return SlotHead(
        slot=of,
        version=Version(version_),
        last=None if observed is None else (observed, position, ordinal),
        functional=functional == 1,
        plain=plain == 1,
    )


def subject(ledger: Ledger, position: int | None, ordinal: int | None) -> EntityId | None:
    """The subject of a payload."""
    return None if position is None or ordinal is None else entity_id(Place(ledger, position, ordinal))
