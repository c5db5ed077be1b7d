"""What is asked and answered about forgetting."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.wire.answers import When
from api.wire.queries import LIMIT, Limit, Name, NoQuery

Word = Annotated[str, Field(max_length=500)]


class ForgetAboutBody(BaseModel):
    """Whether only to tell what would be forgotten, or to do what was told."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    namespace: Word = "default"
    purpose: Word = Field("general", description="For a slot, an episode or a source; a subject goes from all of them.")
    confirm: Word | None = Field(None, description="The `manifest` of the preview; without it nothing is written.")
    block: bool = Field(True, description="Whether the key of a subject is refused when it comes back.")


class ForgetBody(ForgetAboutBody):
    """What is to be forgotten: exactly one of subject, episode and source; with a predicate only that of a subject."""

    subject: Word | None = Field(None, description="A key, or an id such as `ent_…`.")
    predicate: Word | None = Field(None, description="Only what is said of the subject under this predicate.")
    episode: Word | None = Field(None, description="Its id: of a recorded one `epi_…`.")
    source: Word | None = None


class TombstonesQuery(NoQuery):
    """A page of the tombstones of a namespace."""

    namespace: Name = Field("default", description="The compartment that is asked.")
    after: int = Field(0, ge=0, lt=2**62, description="The position of the last one of the page before.")
    limit: Limit = Field(LIMIT, description="How many items a page has.")


class LiftBody(BaseModel):
    """The namespace of a tombstone."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    namespace: Word = "default"


class Tombstone(BaseModel):
    """What stays of what was forgotten: ids and counts."""

    model_config = ConfigDict(extra="allow", frozen=True)

    state: Literal["forgotten"]
    tombstone: str
    namespace: str
    purpose: str | None
    target: str
    subject: str | None
    predicate: str | None
    manifest: str
    counts: dict[str, int]
    destroyed: list[str]
    marks: int
    block: bool
    actor: str
    position: int
    recorded_at: When
    lifted_at: When | None
    lifted_by: str | None


class Tombstones(BaseModel):
    """Tombstones by position."""

    model_config = ConfigDict(extra="allow", frozen=True)

    items: list[Tombstone]
    next_after: int | None


class Forgotten(BaseModel):
    """A preview, or the receipt of what was forgotten."""

    model_config = ConfigDict(extra="allow", frozen=True)

    state: Literal["preview", "forgotten"]
    manifest: str
    counts: dict[str, int]
    target: str
    block: bool
    tombstone: str | None = None
    verification: dict[str, Any] | None = Field(None, description="What was searched for it afterwards, and found.")
    files: dict[str, Any] | None = Field(
        None, description="Whether the files of the store are free of it; else what to do."
    )
