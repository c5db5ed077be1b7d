"""What the nine tools of the reference memory server take and give, member for member."""

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from api.agents.arguments import Arguments


def _composed(text: str) -> str:
    """As it is kept (NFC), so that what is given again is found again."""
    return unicodedata.normalize("NFC", text)


Name = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_composed)]
Observation = Annotated[str, Field(min_length=1), AfterValidator(_composed)]
LISTED_MAX = 200


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class EntityPart(_Part):
    """A thing with a type and what is said of it."""

    name: Name = Field(description="The name of the entity.")
    entity_type: Name = Field(alias="entityType", description="The type of the entity.")
    observations: list[Observation] = Field(description="What is said of it.")


class RelationPart(_Part):
    """That one entity is related to another."""

    from_: Name = Field(alias="from", description="The name of the entity where the relation starts.")
    to: Name = Field(description="The name of the entity where the relation ends.")
    relation_type: Name = Field(alias="relationType", description="The type of the relation, in active voice.")


class AddedPart(_Part):
    """What is to be said of an entity besides."""

    entity_name: Name = Field(alias="entityName", description="The name of the entity to add the observations to.")
    contents: list[Observation] = Field(description="The observations to add.")


class DeletedPart(_Part):
    """What is no longer to be said of an entity."""

    entity_name: Name = Field(alias="entityName", description="The name of the entity with the observations.")
    observations: list[Annotated[str, AfterValidator(_composed)]] = Field(description="The observations to delete.")


class CreateEntities(Arguments):
    """Entities to create."""

    entities: list[EntityPart] = Field(max_length=LISTED_MAX)


class Relations(Arguments):
    """Relations to create or delete."""

    relations: list[RelationPart] = Field(max_length=LISTED_MAX)


class AddObservations(Arguments):
    """Observations to add."""

    observations: list[AddedPart] = Field(max_length=LISTED_MAX)


class DeleteEntities(Arguments):
    """Entities to delete."""

    entity_names: list[Name] = Field(
        alias="entityNames", max_length=LISTED_MAX, description="The names of the entities to delete."
    )


class DeleteObservations(Arguments):
    """Observations to delete."""

    deletions: list[DeletedPart] = Field(max_length=LISTED_MAX)


class ReadGraph(Arguments):
    """All of it."""


class SearchNodes(Arguments):
    """Words to look for."""

    query: str = Field(max_length=2_048, description="What to look for in names, types and observations.")


class OpenNodes(Arguments):
    """Names to look up."""

    names: list[Name] = Field(max_length=LISTED_MAX, description="The names of the entities to retrieve.")


class _Answer(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class EntityAnswer(_Answer):
    """An entity as it is told."""

    name: str
    entity_type: str = Field(alias="entityType")
    observations: list[str]


class RelationAnswer(_Answer):
    """A relation as it is told."""

    from_: str = Field(alias="from")
    to: str
    relation_type: str = Field(alias="relationType")


class Graph(_Answer):
    """Entities and relations."""

    entities: list[EntityAnswer]
    relations: list[RelationAnswer]
    truncated: str | None = Field(None, description="What is missing and how to get it, where the graph is too large.")


class Created(_Answer):
    """What was new."""

    entities: list[EntityAnswer]


class Related(_Answer):
    """What was new."""

    relations: list[RelationAnswer]


class AddedAnswer(_Answer):
    """What was new of one entity."""

    entity_name: str = Field(alias="entityName")
    added_observations: list[str] = Field(alias="addedObservations")


class Added(_Answer):
    """What was new."""

    results: list[AddedAnswer]


class Deleted(_Answer):
    """What was done."""

    success: bool
    message: str
