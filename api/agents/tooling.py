"""What a tool is, to the server that offers it: how it is declared, what it is given and what it gives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, Literal, TypeVar

from pydantic import BaseModel

from api.agents.endpoints import Asker
from api.in_process import Document
from api.wire.violations import validated
from ontology.grants import Grant, Permits

CONFIRM: Final = "confirm"
"""The argument by which something is done that was previewed before."""

READS: Final[tuple[frozenset[Grant], ...]] = (frozenset({Grant.READ}),)
SAYS: Final[tuple[frozenset[Grant], ...]] = (frozenset({Grant.WRITE, Grant.PROPOSE}),)
"""What is in a namespace of somebody else's may be proposed, too."""

A = TypeVar("A", bound=BaseModel)

_PROBLEM: Final[Mapping[str, Any]] = {
    "description": "A problem document (RFC 9457), where `isError` is set.",
    "type": "object",
    "properties": {
        "type": {"type": "string", "pattern": "^/problems/"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "remedy": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool found or did."""

    document: Document
    episodes: tuple[str, ...] = ()
    """Ids of episodes of the scope that stand behind it."""
    text: str | None = None
    """What is shown where only text is: the document as JSON, if left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """Something that is only done once a person agrees; the call comes again with `confirm`."""

    preview: Answer
    question: str
    confirm: str
    """What names that which was previewed, and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Tool(Generic[A]):
    """One tool."""

    name: str
    title: str
    description: str
    arguments: type[A]
    answer: Mapping[str, Any]
    """The JSON Schema of what it gives."""
    run: Callable[[Asker, A], "Answer | Confirmation"]
    needs: tuple[frozenset[Grant], ...] = READS
    """One grant out of each of these."""
    reads: bool = False
    destroys: bool = False
    repeats: bool = False
    """Whether the same call again changes nothing more."""

    def is_for(self, permits: Permits) -> bool:
        """Whether there may be a scope in which it works with these; in which one, only the call tells."""
        held = frozenset().union(*(permit.grants for permit in permits))
        return all(held & each for each in self.needs)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return schema_of(self.arguments)

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """The JSON Schema of all that it gives: clients hold the problem document of a refusal against it, too."""
        answer = dict(self.answer)
        shared = answer.pop("$defs", {})
        return {"type": "object", "anyOf": [answer, _PROBLEM], "$defs": shared}

    def called(self, asker: Asker, arguments: object) -> "Answer | Confirmation":
        """What it answers. Raises `Incorrect` for arguments that are not as declared, and what its route raises."""
        return self.run(asker, validated(self.arguments, arguments, "what the tool is given"))


def schema_of(model: type[BaseModel], mode: Literal["validation", "serialization"] = "validation") -> dict[str, Any]:
    """The JSON Schema of a model, without the titles that only repeat names: they cost whoever reads it."""
    schema = _untitled(model.model_json_schema(by_alias=True, mode=mode))
    assert isinstance(schema, dict)
    return schema


def _untitled(schema: object) -> object:
    match schema:
        case dict():
            told = {name: value for name, value in schema.items() if name != "title" or not isinstance(value, str)}
            for name, value in told.items():
                if name in ("properties", "$defs") and isinstance(value, dict):
                    told[name] = {each: _untitled(inner) for each, inner in value.items()}
                elif name not in ("examples", "default", "const", "enum"):
                    told[name] = _untitled(value)
            return told
        case list():
            return [_untitled(each) for each in schema]
        case _:
            return schema
