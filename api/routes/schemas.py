"""Which schema holds in a snapshot, without reading it anew for each request."""

from typing import TYPE_CHECKING

from graph.ports import Reader
from ontology.schema import Predicate, Schema
from ontology.scope import Tenant

if TYPE_CHECKING:
    from consolidation.write import Writer


class Schemas:
    """The newest schema of each tenant, as far as it was asked for."""

    def __init__(self, writer: "Writer") -> None:
        self._writer = writer
        self._known: dict[Tenant, tuple[int, Schema]] = {}

    def of(self, reader: Reader) -> Schema:
        """The schema of a snapshot, or a newer one where a schema was added since."""
        tenant, version = reader.scope.tenant, reader.head.schema_version
        known = self._known.get(tenant)
        if known is not None and known[0] == version:
            return known[1]
        schema = self._writer.schema(reader.scope)
        self._known[tenant] = (version, schema)
        return schema

    def predicate(self, reader: Reader, name: str) -> Predicate:
        """The predicate of this name; raises as `Schema.predicate` does, pointing at `/predicate`."""
        return self.of(reader).predicate(name, "/predicate")

    def read_from_value(self, reader: Reader, name: str) -> str | None:
        """The predicate that `name`, no predicate itself, is the inverse of; `None` if it is none."""
        schema = self.of(reader)
        return None if name in schema.predicates else schema.inverse_of(name)
