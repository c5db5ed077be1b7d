"""What questions about the shape of the graph may hold, and what their answers look like."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.wire.answers import AsOf, EntityRef, Rectangle, When, WireValue
from api.wire.queries import LIMIT, Limit, ReadQuery, Whole, Words


class AnalysisQuery(ReadQuery):
    """How much of the graph is looked at."""

    nodes_max: Annotated[Whole, Field(ge=1, le=5_000)] = Field(1_000, description="Things to look at.")
    edges_max: Annotated[Whole, Field(ge=1, le=20_000)] = Field(
        5_000, description="Facts to look at, those whose value is an entity."
    )
    milliseconds_max: Annotated[Whole, Field(ge=1, le=10_000)] = Field(
        2_000, description="After so long no more facts are read."
    )


class ComponentsQuery(AnalysisQuery):
    """The parts of the graph."""

    limit: Limit = Field(LIMIT, description="Parts to give.")


class CentralityQuery(AnalysisQuery):
    """Who stands in the middle."""

    measure: Literal["degree", "betweenness", "pagerank"] = Field("degree", description="By what it is told.")
    limit: Limit = Field(LIMIT, description="Things to give.")


class WayQuery(AnalysisQuery):
    """From where to where."""

    source: Words = Field(description="A key, or an id `ent_…`.", examples=["mira"])
    target: Words = Field(description="A key, or an id `ent_…`.", examples=["aurora"])


class GraphQuery(AnalysisQuery):
    """In which form the graph is given."""

    format: Literal["json", "graphml"] | None = Field(None, description="Before what `Accept` says.")


class _Answer(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class _Analysed(_Answer):
    """What was worked out on a snapshot of the graph."""

    entity_count: int
    """Of the snapshot."""
    fact_count: int
    truncated: dict[str, Any] | None
    """By which limits the snapshot was cut; null if it is whole."""
    as_of: AsOf


class Component(_Answer):
    """A part of the graph."""

    size: int
    entities: list[EntityRef]


class Components(_Analysed):
    """The parts between which no fact leads, the largest first."""

    items: list[Component]
    count: int
    """Of all parts, those that are not given too."""


class Central(_Answer):
    """How much a thing stands in the middle."""

    id: str
    key: str | None
    score: float


class CentralThings(_Analysed):
    """The things that stand in the middle, the highest score first."""

    items: list[Central]
    measure: str
    sampled: int | None
    """From how many things the scores are estimated; null where they are exact."""


class Way(_Answer):
    """A shortest way, and while all of its facts hold."""

    nodes: list[WireValue]
    facts: list[Rectangle]
    """One between each two nodes, told from subject to value, whichever way it is gone."""
    certain: bool
    valid_from: When | None
    valid_to: When | None


class Ways(_Analysed):
    """The shortest way, if there is one."""

    items: list[Way]


class GraphNode(_Answer):
    """A thing, with a name for people."""

    id: str
    key: str | None
    label: str


class GraphLink(_Answer):
    """A fact that joins two things; its key is the id of the fact."""

    source: str
    target: str
    key: str
    predicate: str
    certain: bool
    valid_from: When | None
    valid_to: When | None
    recorded_from: When | None


class NodeLink(_Analysed):
    """The visible graph, as `networkx.node_link_graph(…, edges="links")` reads it."""

    directed: bool
    multigraph: bool
    graph: dict[str, Any]
    nodes: list[GraphNode]
    links: list[GraphLink]
