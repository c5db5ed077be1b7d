"""How a schema reads as RDF: its document, its types and predicates as OWL, and the SHACL shapes that it implies.

The terms say less in OWL than they mean here. A domain of several types wants one of them, where `rdfs:domain` would
make a thing all of them; a functional predicate has one certain value at a time, where `owl:FunctionalProperty` would
make two values one. So those have terms of our own, and the shapes check them: on the derived graph of what holds
now, in which a fact is a plain statement.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import orjson

from ontology.rdf import typed
from ontology.rdf_terms import (
    LABEL,
    OWL,
    RDF,
    RDFS,
    SH,
    A,
    Iri,
    Literal,
    Names,
    Statement,
    Statements,
    datatype_of,
    json,
    number,
    prov,
    text,
    truth,
    vig,
    xsd,
)
from ontology.schema import Cardinality, EntityType, Predicate, Schema
from ontology.schema_document import schema_document
from ontology.values import ValueType

_COMMENT: Final = Iri(RDFS + "comment")
_FIRST, _REST, _NIL = Iri(RDF + "first"), Iri(RDF + "rest"), Iri(RDF + "nil")
_NUMERIC: Final = frozenset({ValueType.INTEGER, ValueType.DECIMAL, ValueType.QUANTITY})


def schema(names: Names, of: Schema) -> Statements:
    """One version of the schema as the document that it is. Claims name the version under which they were made."""
    node = names.of("schema", f"sch_{of.version}")
    yield from typed(node, vig("Schema"), prov("Entity"))
    yield Statement(node, vig("schemaVersion"), number(of.version))
    yield Statement(node, vig("strict"), truth(of.strict))
    document = orjson.dumps(schema_document(of), option=orjson.OPT_SORT_KEYS).decode()
    yield Statement(node, vig("document"), json(document))


def predicate(names: Names, name: str) -> Statements:
    """A predicate that somebody used, whether or not it is declared."""
    node = names.predicate(name)
    yield from typed(node, Iri(RDF + "Property"), vig("Predicate"))
    yield Statement(node, vig("name"), text(name))


def terms(names: Names, of: Schema) -> Statements:
    """The types and predicates of a schema, of which one graph should hold the newest version alone."""
    for each in sorted(of.types.values(), key=lambda type: type.name):
        yield from _type(names, each)
    for declared in sorted(of.predicates.values(), key=lambda predicate: predicate.name):
        yield from _predicate(names, declared)


def shapes(names: Names, of: Schema) -> Statements:
    """SHACL shapes for the graph of what holds now: a node shape for each predicate whose declaration limits it."""
    for each in sorted(of.predicates.values(), key=lambda predicate: predicate.name):
        yield from _shape(names, of, each)


def _type(names: Names, of: EntityType) -> Statements:
    node = names.type(of.name)
    yield from typed(node, Iri(OWL + "Class"), vig("EntityType"))
    yield Statement(node, vig("name"), text(of.name))
    yield from _described(node, of.label or of.name, of.description)
    for parent in of.parents:
        yield Statement(node, Iri(RDFS + "subClassOf"), names.type(parent))


def _predicate(names: Names, of: Predicate) -> Statements:
    node = names.predicate(of.name)
    yield from predicate(names, of.name)
    if of.datatype is not None:
        kind = "ObjectProperty" if of.datatype is ValueType.ENTITY else "DatatypeProperty"
        yield Statement(node, A, Iri(OWL + kind))
        yield Statement(node, vig("datatype"), text(of.datatype.value))
    yield from _described(node, of.label or of.name, of.description)
    for each in of.domain:
        yield Statement(node, vig("subjectType"), names.type(each))
    for each in of.range:
        yield Statement(node, vig("valueType"), names.type(each))
    yield Statement(node, vig("cardinality"), text(of.cardinality.value))
    yield Statement(node, vig("kind"), text(of.kind.value))
    if of.unit is not None:
        yield Statement(node, vig("unit"), text(of.unit))
    if of.inverse is not None:
        yield Statement(node, Iri(OWL + "inverseOf"), names.predicate(of.inverse))


def _described(node: Iri, label: str, description: str) -> Statements:
    yield Statement(node, LABEL, text(label))
    if description:
        yield Statement(node, _COMMENT, text(description))


def _shape(names: Names, schema: Schema, of: Predicate) -> Statements:
    path = names.predicate(of.name)
    local = path.rsplit("/", 1)[1]  # in which no dot stands, so what follows one names parts
    node, values = names.of("shape", local), names.of("shape", f"{local}.values")
    limits = list(_limits(names, schema, of, values))
    subjects = list(_one_type_of(names, schema, of.domain, names.of("shape", f"{local}.subject"), node))
    if not limits and not subjects:
        return
    yield Statement(node, A, Iri(SH + "NodeShape"))
    yield Statement(node, Iri(SH + "targetSubjectsOf"), path)
    yield from subjects
    if limits:
        yield Statement(node, Iri(SH + "property"), values)
        yield Statement(values, A, Iri(SH + "PropertyShape"))
        yield Statement(values, Iri(SH + "path"), path)
        yield from limits


def _limits(names: Names, schema: Schema, of: Predicate, node: Iri) -> Statements:
    """What is allowed of the values."""
    if of.datatype is ValueType.ENTITY:
        yield Statement(node, Iri(SH + "nodeKind"), Iri(SH + "IRI"))
        yield from _one_type_of(names, schema, of.range, Iri(f"{node}.type"), node)
    elif of.datatype is not None:
        allowed = datatype_of(of.datatype)
        if len(allowed) == 1:
            yield Statement(node, Iri(SH + "datatype"), allowed[0])
        else:
            options = [Iri(f"{node}.datatype-{index}") for index in range(len(allowed))]
            for option, datatype in zip(options, allowed, strict=True):
                yield Statement(option, Iri(SH + "datatype"), datatype)
            yield from _any_of(node, options)
    if of.cardinality is Cardinality.FUNCTIONAL and of.datatype is not ValueType.LANGTEXT:
        yield Statement(node, Iri(SH + "maxCount"), number(1))
    if of.datatype in _NUMERIC:
        for name, limit in (("minInclusive", of.minimum), ("maxInclusive", of.maximum)):
            if limit is not None:
                yield Statement(node, Iri(SH + name), Literal(limit, xsd("decimal")))


def _one_type_of(names: Names, schema: Schema, types: Sequence[str], local: Iri, node: Iri) -> Statements:
    """That a thing is of one of these types; one of which no type is known fits, unless the schema is strict."""
    if not types:
        return
    options = [Iri(f"{local}.{index}") for index in range(len(types))]
    for option, each in zip(options, types, strict=True):
        yield Statement(option, Iri(SH + "class"), names.type(each))
    if not schema.strict:
        untyped, none = Iri(f"{local}.untyped"), Iri(f"{local}.none")
        yield Statement(untyped, Iri(SH + "property"), none)
        yield Statement(none, Iri(SH + "path"), A)
        yield Statement(none, Iri(SH + "maxCount"), number(0))
        options.append(untyped)
    yield from _any_of(node, options)


def _any_of(node: Iri, options: Iterable[Iri]) -> Statements:
    """`sh:or` over shapes, in a list whose nodes have names."""
    listed = list(options)
    cells = [Iri(f"{node}.or-{index}") for index in range(len(listed))]
    yield Statement(node, Iri(SH + "or"), cells[0])
    for cell, option, rest in zip(cells, listed, [*cells[1:], _NIL], strict=True):
        yield Statement(cell, _FIRST, option)
        yield Statement(cell, _REST, rest)
