"""What the RDF of a memory is made of: IRIs, literals and statements, as plain tuples without a graph library.

An IRI holds no word that anybody wrote: it is the base, the tenant, a kind and an id, which is the id of the thing
itself or a hash. Nothing is a blank node, since those double on every reload.

Times are `xsd:dateTime` of XSD 1.1 with `Z`: years are astronomical (0000 is 1 BC), years before 0 have a minus sign
and those beyond 9999 more digits, without a plus. Readers of XSD 1.0, among them what rdflib compares by, order only
the years 1 to 9999 right. An open bound has no statement.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, NewType, TypeAlias

from ontology.canonical import canonical_decimal
from ontology.errors import Incorrect, Violation, shown
from ontology.facts import Slot
from ontology.ids import EpisodeId, Ledger, is_recorded
from ontology.instants import OPEN_END, OPEN_START, Instant, format_instant
from ontology.scope import Tenant
from ontology.values import Value, ValueKey, ValueType

Iri = NewType("Iri", str)

RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
OWL: Final = "http://www.w3.org/2002/07/owl#"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"
PROV: Final = "http://www.w3.org/ns/prov#"
DCTERMS: Final = "http://purl.org/dc/terms/"
SH: Final = "http://www.w3.org/ns/shacl#"
VIG: Final = "urn:vigencia:ns#"
"""The vocabulary is the same for every installation; `vocabulary.ttl` says what each term means."""
BASE: Final = "urn:vigencia:"
"""What the IRIs of things begin with where nobody sets another."""


class Literal(NamedTuple):
    """A literal; `language` is empty unless the datatype is `rdf:langString`."""

    text: str
    datatype: Iri
    language: str = ""


Term: TypeAlias = Iri | Literal


class Statement(NamedTuple):
    """Something said, in the default graph."""

    subject: Iri
    predicate: Iri
    object: Term


Statements: TypeAlias = Iterator[Statement]


@lru_cache(maxsize=1024)
def vig(name: str) -> Iri:
    """A term of the vocabulary."""
    return Iri(VIG + name)


@lru_cache(maxsize=256)
def prov(name: str) -> Iri:
    return Iri(PROV + name)


@lru_cache(maxsize=64)
def xsd(name: str) -> Iri:
    return Iri(XSD + name)


A: Final = Iri(RDF + "type")
LABEL: Final = Iri(RDFS + "label")
_STRING, _DATE_TIME, _INTEGER = xsd("string"), xsd("dateTime"), xsd("integer")
_DECIMAL, _BOOLEAN, _HEX = xsd("decimal"), xsd("boolean"), xsd("hexBinary")
_JSON: Final = Iri(RDF + "JSON")
_LANG_STRING: Final = Iri(RDF + "langString")

_BASE: Final = re.compile(
    r"(?:urn:[a-z0-9][a-z0-9-]{0,30}:|[a-z][a-z0-9+.-]*://[A-Za-z0-9.:-]+/)(?:[\w.~/:-]*[/:])?", re.A
)
_LOCAL: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,127}", re.A)
_MINTED: Final = re.compile(r"x-[0-9a-f]{32}")
_TAG: Final = re.compile(
    r"(?:[a-z]{2,3}(?:-[a-z]{3})?|[a-z]{5,8})(?:-[a-z]{4})?(?:-(?:[a-z]{2}|[0-9]{3}))?"
    r"(?:-(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))?(?:-x(?:-[a-z0-9]{1,8})+)?"
)
"""A well-formed tag (RFC 5646) of one variant at most and without extensions, which is nearly all that are used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """How the things of one tenant's ledger are named: `{base}t/{tenant}/{kind}/{id}`."""

    base: str
    tenant: Tenant

    def of(self, kind: str, local: str) -> Iri:
        """The name of the thing of a kind that has this id, which is one of ours: it needs no escape."""
        return Iri(f"{self.base}t/{self.tenant}/{kind}/{local}")

    @property
    def whole(self) -> Iri:
        """The tenant."""
        return Iri(f"{self.base}t/{self.tenant}")

    def activity(self, ledger: Ledger, position: int) -> Iri:
        """The commit at a position."""
        return self.of("activity", f"act_{ledger}_{position}")

    def episode(self, id: EpisodeId) -> Iri:
        """One that is only cited has an id that its caller made up."""
        return self.of("episode", id if is_recorded(id) else f"cited_{hashed(id)}")

    def principal(self, name: str) -> Iri:
        """Who makes a request."""
        return self.of("agent", f"principal_{hashed(name)}")

    def source(self, name: str) -> Iri:
        """Who is said to have said something; need not be a principal, even if it is called like one."""
        return self.of("agent", f"source_{hashed(name)}")

    def predicate(self, name: str) -> Iri:
        return self.of("predicate", _word(name))

    def type(self, name: str) -> Iri:
        return self.of("type", _word(name))

    def slot(self, slot: Slot) -> Iri:
        scope = slot.scope
        return self.of("slot", f"slt_{hashed(scope.namespace, scope.purpose, *_within(slot))}")

    def support(self, slot: Slot, value: ValueKey, since: Instant) -> Iri:
        scope = slot.scope
        said = hashed(scope.namespace, scope.purpose, *_within(slot), value.hex(), str(since))
        return self.of("support", f"sup_{said}")

    def event(self, kind: str, *parts: Iri) -> Iri:
        """What qualifies a relation of PROV: named after what it relates, so that it is the same one every time."""
        return self.of("q", "-".join((kind, *(part.rsplit("/", 1)[1] for part in parts))))


def names_of(tenant: Tenant, base: str = BASE) -> Names:
    """Raises `Incorrect` for a base that IRIs cannot begin with."""
    if _BASE.fullmatch(base) is None:
        detail = f"{shown(base)} is no base of IRIs; give one such as 'urn:vigencia:' or 'https://example.org/memory/'"
        raise Incorrect(detail, violations=(Violation(pointer="", code="bad_iri_base", detail=detail),))
    return Names(base=base, tenant=tenant)


@lru_cache(maxsize=4096)
def hashed(*words: str) -> str:
    """32 hex digits that stand for words in an IRI: the head of a SHA-256 over them, framed."""
    framed = "".join(f"{len(word)}:{word}" for word in words)
    return hashlib.sha256(framed.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@lru_cache(maxsize=4096)
def _word(name: str) -> str:
    """A name of the schema where it can stand in an IRI; otherwise its hash, and what looks like one is hashed too."""
    return name if _LOCAL.fullmatch(name) and not _MINTED.fullmatch(name) else f"x-{hashed(name)}"


def _within(slot: Slot) -> tuple[str, str, str]:
    return slot.subject, slot.predicate, slot.language


# ---- literals


def text(words: str) -> Literal:
    return Literal(words, _STRING)


def number(count: int) -> Literal:
    return Literal(str(count), _INTEGER)


def decimal(fraction: float) -> Literal:
    """The shortest decimal that reads back as the same double, without an exponent, which `xsd:decimal` has not."""
    return Literal(canonical_decimal(fraction, ""), _DECIMAL)


def truth(yes: bool) -> Literal:
    return Literal("true" if yes else "false", _BOOLEAN)


def octets(data: bytes) -> Literal:
    return Literal(data.hex().upper(), _HEX)


def json(document: str) -> Literal:
    return Literal(document, _JSON)


@lru_cache(maxsize=4096)
def instant(at: Instant) -> Literal:
    """A known instant; the sentinels are none."""
    return Literal(_year_without_plus(format_instant(at)), _DATE_TIME)


def bound(node: Iri, predicate: Iri, at: Instant) -> Statements:
    """That a bound is this instant; nothing where it is open."""
    if OPEN_START < at < OPEN_END:
        yield Statement(node, predicate, instant(at))


def _year_without_plus(date: str) -> str:
    """ISO 8601 writes `+012026`, XSD 1.1 `12026`."""
    return date[1:].lstrip("0") if date.startswith("+") else date


_PLAIN: Final = {
    ValueType.TEXT: _STRING,
    ValueType.INTEGER: _INTEGER,
    ValueType.DECIMAL: _DECIMAL,
    ValueType.BOOLEAN: _BOOLEAN,
    ValueType.DATETIME: _DATE_TIME,
    ValueType.DURATION: xsd("duration"),
    ValueType.QUANTITY: _DECIMAL,
    ValueType.JSON: _JSON,
}
"""The unit of a quantity stands beside it."""
_DATES: Final = (xsd("gYear"), xsd("gYearMonth"), xsd("date"))


def term(names: Names, value: Value) -> Term:
    """A value as it stands in a statement. The tag of a text that no language tag is well-formed for stays beside it,
    on the slot."""
    match value.type:
        case ValueType.ENTITY:
            return names.of("entity", value.text)
        case ValueType.LANGTEXT:
            if _TAG.fullmatch(value.qualifier):
                return Literal(value.text, _LANG_STRING, value.qualifier)
            return text(value.text)
        case ValueType.DATE:
            date = _year_without_plus(value.text)
            return Literal(date, _DATES[date.count("-", 1)])
        case ValueType.DATETIME:
            return Literal(_year_without_plus(value.text), _DATE_TIME)
        case kind:
            return Literal(value.text, _PLAIN[kind])


def datatype_of(kind: ValueType) -> tuple[Iri, ...]:
    """What the literals of a datatype of ours are typed with; none for entities."""
    match kind:
        case ValueType.ENTITY:
            return ()
        case ValueType.LANGTEXT:
            return _LANG_STRING, _STRING
        case ValueType.DATE:
            return _DATES
        case _:
            return (_PLAIN[kind],)
