"""How what memory holds reads as RDF: one function for each kind of row of a ledger, and for what rows refer to.

Nodes are typed with PROV's classes beside ours, and both the short and the qualified form of a relation are written:
people query the short one, tools of PROV keep only the qualified one (PROV-O, W3C 2013). A fact version is an
`rdf:Statement`. A claim is none, so that no query for statements meets what is held, withdrawn or turned down.
Two things that happen in one commit have the same time; the positions of their activities and the order in which a
commit works tell which came first.
"""

from collections.abc import Iterable
from typing import Final

from ontology.claims import Claim, Entity, Transition
from ontology.entries import End, Start
from ontology.events import Event, Kind
from ontology.facts import Fact, FactVersion, Slot, Support
from ontology.ids import CLAIM, FACT, ClaimId, Ledger, locate
from ontology.instants import Instant
from ontology.lineage import Ended, Lineage
from ontology.rdf_terms import (
    LABEL,
    RDF,
    A,
    Iri,
    Names,
    Statement,
    Statements,
    bound,
    decimal,
    instant,
    number,
    octets,
    prov,
    term,
    text,
    truth,
    vig,
)
from ontology.scope import Scope
from ontology.values import Value, ValueType

_ENTITY, _AGENT, _ACTIVITY = prov("Entity"), prov("Agent"), prov("Activity")
_SUBJECT, _PREDICATE, _OBJECT = Iri(RDF + "subject"), Iri(RDF + "predicate"), Iri(RDF + "object")
_AT, _OF_ACTIVITY, _OF_ENTITY = prov("atTime"), prov("activity"), prov("entity")
_DERIVED, _ATTRIBUTED = prov("wasDerivedFrom"), prov("wasAttributedTo")

START_KINDS: Final = {Start.KNOWN: "Known", Start.UNKNOWN: "Unknown", Start.OPEN: "Infinite"}
END_KINDS: Final = {End.KNOWN: "Known", End.OPEN: "Open", End.INFINITY: "Infinite", End.UNKNOWN: "Unknown"}
ACTIVITIES: Final = {
    Kind.WRITE: "Consolidation", Kind.IMPORT: "Import", Kind.SCHEMA: "SchemaChange", Kind.ERASE: "Erasure",
    Kind.FORGET: "Forgetting", Kind.LIFT: "Lifting",
}  # fmt: skip


# ---- what rows refer to


def principal(names: Names, name: str) -> Statements:
    """Who makes requests: a person or a program."""
    node = names.principal(name)
    yield from typed(node, _AGENT, vig("Principal"))
    yield Statement(node, LABEL, text(name))


def source(names: Names, name: str) -> Statements:
    """Whoever is said to have said something."""
    node = names.source(name)
    yield from typed(node, _AGENT, vig("Source"))
    yield Statement(node, LABEL, text(name))


def slot(names: Names, of: Slot) -> Statements:
    """The key under which claims compete: what versions are specializations of. Nothing ever happens to it."""
    node = names.slot(of)
    yield from typed(node, vig("Slot"), _ENTITY)
    yield from scoped(node, of.scope)
    yield Statement(node, vig("subject"), names.of("entity", of.subject))
    yield Statement(node, vig("predicate"), names.predicate(of.predicate))
    if of.language:
        yield Statement(node, vig("language"), text(of.language))


def commit(names: Names, ledger: Ledger, event: Event) -> Statements:
    """The activity that a commit is. It begins and ends with its recorded time."""
    node, by = names.activity(ledger, event.position), names.principal(event.principal)
    yield from typed(node, _ACTIVITY, vig("Commit"), vig(ACTIVITIES[event.kind]))
    yield Statement(node, vig("position"), number(event.position))
    yield Statement(node, prov("startedAtTime"), instant(event.recorded_at))
    yield Statement(node, prov("endedAtTime"), instant(event.recorded_at))
    yield Statement(node, vig("digest"), octets(event.digest))
    yield Statement(node, vig("previousDigest"), octets(event.previous))
    yield Statement(node, prov("wasAssociatedWith"), by)
    role = names.event("a", node)
    yield Statement(node, prov("qualifiedAssociation"), role)
    yield Statement(role, A, prov("Association"))
    yield Statement(role, prov("agent"), by)
    yield Statement(role, prov("hadRole"), vig("Committer"))


def usages(names: Names, ledger: Ledger, position: int, at: Instant, used: Iterable[Iri]) -> Statements:
    """What a commit used: what its claims and versions are derived from, each named once."""
    node = names.activity(ledger, position)
    for each in used:
        usage = names.event("u", node, each)
        yield Statement(node, prov("used"), each)
        yield Statement(node, prov("qualifiedUsage"), usage)
        yield Statement(usage, A, prov("Usage"))
        yield Statement(usage, _OF_ENTITY, each)
        yield Statement(usage, _AT, instant(at))


# ---- rows


def entity(names: Names, of: Entity) -> Statements:
    """A thing in the world: nobody here made it, so it has no generation."""
    node = names.of("entity", of.id)
    yield from typed(node, vig("Entity"), _ENTITY)
    yield Statement(node, vig("namespace"), text(of.namespace))
    if of.key is not None:
        yield Statement(node, vig("key"), text(of.key))
        yield Statement(node, LABEL, text(of.key))


def claim(names: Names, of: Claim) -> Statements:
    """What one source said. What became of it stands in its transitions: of the claim itself nothing ever changes."""
    node, entry = names.of("claim", of.id), of.entry
    yield from typed(node, vig("Claim"), vig("Assertion" if entry.asserts else "Retraction"), _ENTITY)
    yield from made(names, node, locate(of.id, CLAIM).ledger, entry.position, of.recorded_at)
    yield Statement(node, vig("ordinal"), number(entry.ordinal))
    yield Statement(node, vig("slot"), names.slot(of.slot))
    if of.value is not None:
        yield from _valued(names, node, vig("object"), of.value)
    if entry.value is not None:
        yield Statement(node, vig("valueKey"), octets(entry.value))
    yield from _said(node, of)
    yield Statement(node, vig("functional"), truth(entry.functional))
    yield Statement(node, vig("confidence"), decimal(of.confidence))
    yield Statement(node, vig("trust"), vig(of.trust.word.title()))
    yield Statement(node, vig("echo"), truth(of.echo))
    yield Statement(node, vig("root"), text(of.root))
    yield Statement(node, vig("underSchema"), names.of("schema", f"sch_{of.schema_version}"))
    yield Statement(node, vig("committedBy"), names.principal(of.principal))
    yield Statement(node, _ATTRIBUTED, names.source(of.source))
    yield from bound(node, vig("expiresAt"), of.expires_at)
    if of.episode is not None:
        yield from _derived(names, node, names.episode(of.episode), entry.position, ())


def used_by_claim(names: Names, of: Claim) -> tuple[Iri, ...]:
    """What the commit of a claim used for it."""
    return () if of.episode is None else (names.episode(of.episode),)


def transition(names: Names, of: Transition) -> Statements:
    """That a claim came into a state."""
    node = transition_node(names, of)
    yield from typed(node, vig("Transition"), _ENTITY)
    yield from made(names, node, locate(of.claim, CLAIM).ledger, of.position, of.recorded_at)
    yield Statement(node, vig("ofClaim"), names.of("claim", of.claim))
    yield Statement(node, vig("state"), vig(of.state.value.title()))
    yield Statement(node, vig("rule"), text(of.rule))
    yield Statement(node, vig("reasonGiven"), text(of.reason))
    yield Statement(node, _ATTRIBUTED, names.principal(of.actor))
    if of.decided_on is not None:
        yield Statement(node, vig("decidedOn"), number(of.decided_on))
    if of.successor is not None:
        yield Statement(node, vig("successor"), names.of("claim", of.successor))


def version(names: Names, of: Fact, lineage: Lineage) -> Statements:
    """One rectangle of belief as it was when it was opened: it ends with another statement, `closed`."""
    held = of.version
    node = names.of("fact", held.id)
    yield from typed(node, vig("FactVersion"), Iri(RDF + "Statement"), _ENTITY)
    yield Statement(node, prov("specializationOf"), names.slot(held.slot))
    yield Statement(node, _SUBJECT, names.of("entity", held.slot.subject))
    yield Statement(node, _PREDICATE, names.predicate(held.slot.predicate))
    yield from _valued(names, node, _OBJECT, held.value)
    yield Statement(node, vig("valueKey"), octets(held.value_key))
    yield Statement(node, vig("certainty"), vig("Certain" if held.certain else "Possible"))
    yield from bound(node, vig("validFrom"), held.valid_from)
    yield from bound(node, vig("validUntil"), held.valid_to)
    yield Statement(node, vig("startKind"), vig(START_KINDS[of.start]))
    yield Statement(node, vig("endKind"), vig(END_KINDS[of.end]))
    yield from made(names, node, locate(held.id, FACT).ledger, held.position, held.recorded_from)
    yield Statement(node, vig("ordinal"), number(held.ordinal))
    yield Statement(node, vig("confidence"), decimal(of.support.confidence))
    yield from _lineage(names, node, held, lineage)


def used_by_version(names: Names, lineage: Lineage) -> tuple[Iri, ...]:
    """What the commit that opened a version used for it."""
    claims = (names.of("claim", id) for id, _ in lineage.rests_on)
    return (*claims, *(names.of("fact", id) for id, _ in lineage.revises))


def closed(names: Names, of: FactVersion, position: int, at: Instant, why: Ended) -> Statements:
    """That a commit closed a version, and why."""
    node = names.of("fact", of.id)
    yield from ended(names, node, locate(of.id, FACT).ledger, position, at, why.reason.value)
    event = names.event("i", node)
    for id in why.because:
        yield Statement(event, vig("because"), names.of("claim", id))
    for step in why.decided:
        yield Statement(event, vig("because"), transition_node(names, step))


def support(names: Names, of: Support, ledger: Ledger, position: int) -> Statements:
    """How well a value of a slot is supported from a commit on: further evidence makes another one, and leaves the
    versions as they were."""
    node = names.support(of.slot, of.value_key, of.recorded_from)
    yield from typed(node, vig("Support"), _ENTITY)
    yield from made(names, node, ledger, position, of.recorded_from)
    yield Statement(node, vig("slot"), names.slot(of.slot))
    yield Statement(node, vig("valueKey"), octets(of.value_key))
    yield Statement(node, vig("sources"), number(of.sources))
    yield Statement(node, vig("occurrences"), number(of.occurrences))
    yield Statement(node, vig("doubt"), decimal(of.doubt))
    yield Statement(node, vig("confidence"), decimal(of.confidence))


def current(names: Names, of: FactVersion) -> Statements:
    """A version as readers see it who ask neither when nor why: for the derived graph, which is never read back."""
    node = names.of("entity", of.slot.subject)
    yield Statement(node, names.predicate(of.slot.predicate), term(names, of.value))
    if of.slot.predicate == "type" and of.value.type is ValueType.TEXT:
        yield Statement(node, A, names.type(of.value.text))


# ---- parts


def typed(node: Iri, *types: Iri) -> Statements:
    for each in types:
        yield Statement(node, A, each)


def scoped(node: Iri, scope: Scope) -> Statements:
    yield Statement(node, vig("namespace"), text(scope.namespace))
    yield Statement(node, vig("purpose"), text(scope.purpose))


def made(names: Names, node: Iri, ledger: Ledger, position: int, at: Instant) -> Statements:
    """That a commit generated something."""
    terms = "generatedAtTime", "wasGeneratedBy", "qualifiedGeneration", "Generation"
    yield from _happened(node, names.event("g", node), names.activity(ledger, position), at, terms)


def ended(names: Names, node: Iri, ledger: Ledger, position: int, at: Instant, reason: str) -> Statements:
    """That a commit ended something."""
    event = names.event("i", node)
    terms = "invalidatedAtTime", "wasInvalidatedBy", "qualifiedInvalidation", "Invalidation"
    yield from _happened(node, event, names.activity(ledger, position), at, terms)
    yield Statement(event, vig("reason"), vig(reason))


def _happened(node: Iri, event: Iri, activity: Iri, at: Instant, terms: tuple[str, str, str, str]) -> Statements:
    """What a commit did to something, in PROV's terms for the time, the activity, the event and its class."""
    time, by, qualified, kind = map(prov, terms)
    yield Statement(node, time, instant(at))
    yield Statement(node, by, activity)
    yield Statement(node, qualified, event)
    yield Statement(event, A, kind)
    yield Statement(event, _OF_ACTIVITY, activity)
    yield Statement(event, _AT, instant(at))


def transition_node(names: Names, of: Transition) -> Iri:
    return names.of("transition", f"{of.claim}_at_{of.position}")


def _valued(names: Names, node: Iri, predicate: Iri, value: Value) -> Statements:
    yield Statement(node, predicate, term(names, value))
    if value.type is ValueType.QUANTITY:
        yield Statement(node, vig("unit"), text(value.qualifier))


def _said(node: Iri, of: Claim) -> Statements:
    """The period in the words of the source, and as it is understood."""
    entry, stated = of.entry, of.stated
    yield Statement(node, vig("observedAt"), instant(entry.observed_at))
    yield Statement(node, vig("observedStated"), truth(of.observed_stated))
    yield Statement(node, vig("startKind"), vig(START_KINDS[entry.start]))
    yield Statement(node, vig("endKind"), vig(END_KINDS[entry.end]))
    for name, at in (
        ("startEarliest", entry.start_lo), ("startLatest", entry.start_hi),
        ("endEarliest", entry.end_lo), ("endLatest", entry.end_hi),
    ):  # fmt: skip
        yield from bound(node, vig(name), at)
    for name, words in (
        ("statedFrom", stated.valid_from), ("statedUntil", stated.valid_to), ("statedZone", stated.zone),
        ("dateSemantics", None if stated.semantics is None else stated.semantics.value),
    ):  # fmt: skip
        if words is not None:
            yield Statement(node, vig(name), text(words))


def _lineage(names: Names, node: Iri, of: FactVersion, lineage: Lineage) -> Statements:
    parts: dict[ClaimId, list[Iri]] = {}
    for id, part in lineage.rests_on:
        parts.setdefault(id, []).append(vig(part.value))
    for id, supported in parts.items():
        yield from _derived(names, node, names.of("claim", id), of.position, supported)
    for revised, kind in lineage.revises:
        old = names.of("fact", revised)
        revision = names.event("r", node, old)
        yield Statement(node, _DERIVED, old)
        yield Statement(node, prov("wasRevisionOf"), old)
        yield Statement(node, prov("qualifiedRevision"), revision)
        yield from typed(revision, prov("Revision"), prov("Derivation"))
        yield from _through(names, revision, node, old, of.position)
        yield Statement(revision, vig("supersession"), vig(kind.value))


def _derived(names: Names, node: Iri, basis: Iri, position: int, parts: Iterable[Iri]) -> Statements:
    derivation = names.event("d", node, basis)
    yield Statement(node, _DERIVED, basis)
    yield Statement(node, prov("qualifiedDerivation"), derivation)
    yield Statement(derivation, A, prov("Derivation"))
    yield from _through(names, derivation, node, basis, position)
    for part in parts:
        yield Statement(derivation, vig("supportsPart"), part)


def _through(names: Names, derivation: Iri, node: Iri, basis: Iri, position: int) -> Statements:
    """By which use in which activity; PROV-CONSTRAINTS 51 wants all of it or nothing."""
    ledger = _ledger(node)
    activity = names.activity(ledger, position)
    yield Statement(derivation, _OF_ENTITY, basis)
    yield Statement(derivation, prov("hadActivity"), activity)
    yield Statement(derivation, prov("hadUsage"), names.event("u", activity, basis))
    yield Statement(derivation, prov("hadGeneration"), names.event("g", node))


def _ledger(node: Iri) -> Ledger:
    """The tag in the id of a claim or a version."""
    return Ledger(node.rsplit("/", 1)[1].split("_")[1])
