"""What is asked and answered about namespaces and their owners."""

from pydantic import BaseModel, ConfigDict, Field

from api.wire.answers import When
from api.wire.queries import LIMIT, Limit, Name, NoQuery
from ontology.access import PRINCIPAL_CHARS_MAX


class NamespacesQuery(NoQuery):
    """A page of namespaces."""

    after: Name = Field("", description="The last name of the page before.")
    limit: Limit = Field(LIMIT, description="How many items a page has.")


class TransferBody(BaseModel):
    """To whom a namespace is given."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    to: str = Field(min_length=1, max_length=PRINCIPAL_CHARS_MAX, description="The principal that shall own it.")


class Namespace(BaseModel):
    """A namespace, and the one principal that writes there; nobody yet where `owner` is null."""

    model_config = ConfigDict(extra="allow", frozen=True)

    namespace: str
    owner: str | None
    since: When | None
    by: str | None


class Namespaces(BaseModel):
    """Namespaces by name."""

    model_config = ConfigDict(extra="allow", frozen=True)

    items: list[Namespace]
    next_after: str | None


class Transferred(Namespace):
    """A namespace with its new owner, and who had it before."""

    before: str | None
