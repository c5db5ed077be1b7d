"""What an export says of itself, last of all: a file that does not end with it was cut."""

from dataclasses import dataclass
from typing import Final

from ontology.instants import Instant
from ontology.rdf import scoped, typed
from ontology.rdf_terms import (
    Iri,
    Names,
    Statement,
    Statements,
    hashed,
    instant,
    number,
    octets,
    prov,
    text,
    truth,
    vig,
)
from ontology.scope import Scope

PROFILE: Final = "1.0"
"""The version of the vocabulary and of the shapes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What an export holds."""

    scope: Scope
    position: int
    """Of the newest commit in it."""
    recorded_at: Instant
    """Of that commit: what was known then, and nothing later."""
    digest: bytes
    """The head of the journal at that position, which tells whether another journal is the same one."""
    words: bool
    held: bool
    statements: int
    """How many there are beside those of the manifest; those of the derived graph are none of them."""
    current: Iri | None
    """The derived graph of what holds now, where there is one."""


def manifest(names: Names, of: Manifest) -> Statements:
    """The statements of an export about itself. The same export has the same name."""
    said = hashed(of.scope.namespace, of.scope.purpose, str(of.position), str(of.words), str(of.held))
    node = names.of("export", f"exp_{said}")
    yield from typed(node, vig("Export"), prov("Bundle"), prov("Entity"))
    yield from scoped(node, of.scope)
    yield Statement(node, vig("tenant"), names.whole)
    yield Statement(node, vig("profileVersion"), text(PROFILE))
    yield Statement(node, vig("recordedThrough"), number(of.position))
    yield Statement(node, vig("knownAt"), instant(of.recorded_at))
    yield Statement(node, vig("digest"), octets(of.digest))
    yield Statement(node, vig("includesText"), truth(of.words))
    yield Statement(node, vig("includesHeld"), truth(of.held))
    if of.current is not None:
        yield Statement(node, vig("currentGraph"), of.current)
    yield Statement(node, vig("statementCount"), number(of.statements))
