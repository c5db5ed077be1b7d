"""Which schema holds in a snapshot, without reading it anew for each request."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graph.ports import Reader
from ontology.schema import Predicate, Schema
from ontology.scope import Tenant

if TYPE_CHECKING:
    from consolidation.write import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    head: int
    """The schema version of the ledger when it was read: 0 before the schema is seeded."""
    schema: Schema
    inverses: Mapping[str, str]
    """By the name of an inverse that is no predicate itself: the predicate that it reads backwards."""


class Schemas:
    """The newest schema of each tenant, as far as it was asked for."""

    def __init__(self, writer: "Writer") -> None:
        self._writer = writer
        self._known: dict[Tenant, _Known] = {}

    def of(self, reader: Reader) -> Schema:
        """The schema of a snapshot, or a newer one where a schema was added since."""
        return self._of(reader).schema

    def predicate(self, reader: Reader, name: str) -> Predicate:
        """The predicate of this name; raises as `Schema.predicate` does, pointing at `/predicate`."""
        return self._of(reader).schema.predicate(name, "/predicate")

    def read_from_value(self, reader: Reader, name: str) -> str | None:
        """The predicate that `name`, no predicate itself, is the inverse of; `None` if it is none."""
        return self._of(reader).inverses.get(name)

    def _of(self, reader: Reader) -> _Known:
        tenant, head = reader.scope.tenant, reader.head.schema_version
        known = self._known.get(tenant)
        if known is None or known.head != head:
            schema = self._writer.schema(reader.scope)
            inverses = {each.inverse: each.name for each in schema.predicates.values() if each.inverse is not None}
            undeclared = {name: of for name, of in inverses.items() if name not in schema.predicates}
            known = self._known[tenant] = _Known(head=head, schema=schema, inverses=undeclared)
        return known
