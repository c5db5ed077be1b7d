"""What a request body may hold, and the items of a transaction that it stands for.

Pydantic says what is a string and which member is none of ours; what the texts mean is read by `consolidation`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema
from pydantic_core import PydanticCustomError

from consolidation.items import ABSENT, Assert, Erase, Item, Replace, Retract, RetractFact, Said, Withdraw
from ontology.canonical import incorrect
from ontology.errors import JSON, pointer
from ontology.facts import Version
from ontology.instants import OPEN_END

OPS: Final = ("assert", "retract", "replace", "withdraw", "erase")

VALUE_SCHEMA: Final[dict[str, Any]] = {
    "description": "A bare string, number or boolean, or an object that says its type.",
    "anyOf": [
        {"type": "string"},
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {
            "type": "object",
            "properties": {
                "type": {
                    "type": "string",
                    "enum": [
                        "text", "integer", "decimal", "boolean", "date", "datetime", "duration", "quantity", "entity",
                        "json", "langtext",
                    ],
                },
                "value": {},
                "unit": {"type": "string"},
                "lang": {"type": "string"},
                "id": {"type": "string"},
                "key": {"type": "string"},
            },
            "required": ["type"],
        },
    ],
}  # fmt: skip
SUBJECT_SCHEMA: Final[dict[str, Any]] = {
    "description": "An entity: a key, an id `ent_…`, or an object with one of the two.",
    "anyOf": [
        {"type": "string", "minLength": 1, "maxLength": 500},
        {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
        {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
    ],
}


def _version(given: object) -> object:
    if given is None or given == "none":
        return given
    if type(given) is not int or not 0 <= given < OPEN_END:
        raise PydanticCustomError("ours", "expected_version is the number from a receipt, or 'none'")
    return given


def _absent() -> object:
    return ABSENT


Wire = Annotated[object, WithJsonSchema(VALUE_SCHEMA)]
Subject = Annotated[object, WithJsonSchema(SUBJECT_SCHEMA)]
ExpectedVersion = Annotated[
    Any,
    BeforeValidator(_version),
    WithJsonSchema(
        {
            "description": "The version that the slot must still have; `none` for a slot that must not exist yet.",
            "anyOf": [{"type": "integer", "minimum": 0}, {"const": "none"}, {"type": "null"}],
        }
    ),
]
Text = Annotated[str, Field(max_length=500)]
DateText = Annotated[str, Field(max_length=64)]
TrustWord = Annotated[str, Field(max_length=64, examples=["untrusted"])]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Said(_Body):
    valid_from: DateText | None = Field(
        None, description="When it begins to hold: a date, a date-time with offset, `unknown` or `-infinity`."
    )
    valid_to: DateText | None = Field(
        None,
        description="When it stops: a date, a date-time, `unknown` or `infinity`; absent: until the next known start.",
    )
    tz: DateText | None = Field(None, description="The zone of bare dates; UTC where it is left out.")
    date_semantics: DateText | None = Field(None, description="What a date names: `sometime` in it or the `whole`.")
    observed_at: DateText | None = Field(None, description="When the source said it; not later than now.")
    source: Text | None = Field(None, description="Who said it; by default the caller.")
    episode: Text | None = Field(None, description="The occasion on which it was said.")
    root: Text | None = Field(None, description="What the source repeats, for counting independent evidence.")
    confidence: float | None = Field(None, ge=0, le=1)
    trust: TrustWord | None = Field(None, description="How far it is trusted; no more than the caller may give.")
    recalled: str | None = Field(
        None, description="The text it was taken from, where that carries markers of recalled memory."
    )
    expected_version: ExpectedVersion = None

    def said(self) -> Said:
        return Said(
            valid_from=self.valid_from, valid_to=self.valid_to, zone=self.tz, date_semantics=self.date_semantics,
            observed_at=self.observed_at, source=self.source, episode=self.episode, root=self.root,
            confidence=self.confidence, trust=self.trust, recalled=self.recalled,
        )  # fmt: skip


class _Asserted(_Said):
    ttl: DateText | None = Field(
        None, description="How long it is served: `P30D`, `PT12H`; absent: as long as its kind is, mostly for ever."
    )

    def said(self) -> Said:
        return replace(super().said(), ttl=self.ttl)


class AssertItem(_Asserted):
    """A subject has a value, for a period."""

    op: Literal["assert"] = "assert"
    subject: Subject
    predicate: Text
    value: Wire

    def item(self) -> Item:
        return Assert(
            subject=self.subject, predicate=self.predicate, value=self.value, said=self.said(),
            expected_version=_expected(self.expected_version),
        )  # fmt: skip


class RetractItem(_Said):
    """A period, of one value or of all, is no longer believed; or one fact, named by its id."""

    op: Literal["retract"]
    subject: Subject = Field(default_factory=_absent)
    predicate: Text | None = None
    value: Wire = Field(default_factory=_absent)
    fact: Text | None = None

    def item(self) -> Item:
        expected = _expected(self.expected_version)
        if self.fact is not None:
            for name in ("subject", "predicate", "value", "valid_from", "valid_to"):
                if name in self.model_fields_set:
                    detail = f"'fact' says all of it; leave {name!r} out, or leave 'fact' out"
                    raise incorrect(pointer(name), "too_many", detail)
            return RetractFact(fact=self.fact, said=self.said(), expected_version=expected)
        if self.subject is ABSENT or self.predicate is None:
            name = "predicate" if self.predicate is None else "subject"
            raise incorrect(pointer(name), "missing_field", f"a retract needs {name!r}, or the id of a 'fact'; add it")
        return Retract(
            subject=self.subject, predicate=self.predicate, value=self.value, said=self.said(),
            expected_version=expected,
        )  # fmt: skip


class ReplaceItem(_Asserted):
    """What a fact rests on was wrong, and this is right; what is not stated stays."""

    op: Literal["replace"]
    fact: Text | None = None
    subject: Subject = Field(default_factory=_absent)
    predicate: Text | None = None
    old: Wire = Field(default_factory=_absent)
    at: DateText | None = None
    value: Wire = Field(default_factory=_absent)
    reason: Text | None = None

    def item(self) -> Item:
        return Replace(
            fact=self.fact, subject=self.subject, predicate=self.predicate, old=self.old, at=self.at, value=self.value,
            said=self.said(), reason=self.reason, expected_version=_expected(self.expected_version),
        )  # fmt: skip


class WithdrawItem(_Body):
    """A claim, or all claims of an episode or a source, never counted."""

    op: Literal["withdraw"]
    claim: Text | None = None
    episode: Text | None = None
    source: Text | None = None
    reason: Text | None = None
    expected_version: ExpectedVersion = None

    def item(self) -> Item:
        return Withdraw(
            claim=self.claim, episode=self.episode, source=self.source, reason=self.reason,
            expected_version=_expected(self.expected_version),
        )  # fmt: skip


class EraseItem(_Body):
    """Nothing of a subject, of one predicate of it, or of one value may stay, at any time."""

    op: Literal["erase"]
    subject: Subject
    predicate: Text | None = None
    value: Wire = Field(default_factory=_absent)
    expected_version: ExpectedVersion = None

    def item(self) -> Item:
        return Erase(
            subject=self.subject, predicate=self.predicate, value=self.value,
            expected_version=_expected(self.expected_version),
        )  # fmt: skip


def _op(item: object) -> object:
    """The tag of an item: its `op`, or `assert`; one that is no string is no tag."""
    given = item.get("op", "assert") if isinstance(item, dict) else getattr(item, "op", None)
    return given if isinstance(given, str) else None


AnyItem = Annotated[
    Annotated[AssertItem, Tag("assert")]
    | Annotated[RetractItem, Tag("retract")]
    | Annotated[ReplaceItem, Tag("replace")]
    | Annotated[WithdrawItem, Tag("withdraw")]
    | Annotated[EraseItem, Tag("erase")],
    Discriminator(_op, custom_error_type="ours", custom_error_message=f"'op' is one of {', '.join(OPS)}"),
]


class _Write(_Body):
    namespace: Text = Field("default", description="The compartment to write to.")
    purpose: Text = "general"
    dry_run: bool = Field(False, description="Give the receipt that it would have, and write nothing.")
    operation_id: Text | None = Field(None, description="The same as the header `Idempotency-Key`.")


class ClaimsBody(_Write):
    """Items that are done together, in order, or not at all."""

    items: list[AnyItem] = Field(json_schema_extra={"minItems": 1, "maxItems": 10_000})
    import_recorded_at: DateText | None = Field(
        None, description="The recorded time of the transaction, for principals that may import."
    )


class _Correction(_Write):
    expected_version: ExpectedVersion = None

    @property
    def expected(self) -> Version | None:
        return _expected(self.expected_version)


class ReplaceFactBody(_Correction, _Asserted):
    """What is right instead of a fact; what is not stated stays."""

    value: Wire = Field(default_factory=_absent)
    reason: Text | None = None


class RetractFactBody(_Correction):
    """Who says that the fact does not hold, and when it was said."""

    observed_at: DateText | None = None
    source: Text | None = None
    episode: Text | None = None
    root: Text | None = None
    confidence: float | None = Field(None, ge=0, le=1)

    def said(self) -> Said:
        return Said(
            observed_at=self.observed_at, source=self.source, episode=self.episode, root=self.root,
            confidence=self.confidence,
        )  # fmt: skip


class WithdrawBody(_Correction):
    """Why claims never counted."""

    reason: Text | None = None


class ReviewBody(_Correction):
    """Why a held claim is promoted or rejected."""

    reason: Text | None = None


class Pair(_Body):
    """One question of many."""

    subject: Subject
    predicate: Text | None = None


class AskedBody(_Body):
    """A question that is too long for a query: whose memory, and at which two instants."""

    namespace: Text = "default"
    purpose: Text = "general"
    valid_at: DateText | None = None
    known_at: DateText | None = None
    tz: DateText | None = None
    session: Annotated[str, Field(max_length=500)] | None = Field(
        None, description="Where the answer is served to an agent: what it says again in this session is an echo."
    )
    min_position: int | None = Field(None, ge=0, lt=2**62)


class StateBody(AskedBody):
    """Up to 200 questions at one pair of instants."""

    pairs: list[Pair] = Field(json_schema_extra={"minItems": 1, "maxItems": 200})
    certainty: Literal["certain", "any"] = "any"
    limit: int = Field(50, ge=1, le=200)
    cursor: Annotated[str, Field(max_length=600)] | None = None


class SearchBody(AskedBody):
    """A text, and what may be given for it."""

    text: Annotated[str, Field(min_length=1, max_length=20_000)] = Field(
        description="Words or a question; nothing in it is read as syntax."
    )
    types: list[Literal["facts", "episodes"]] | None = Field(
        None, max_length=2,
        description="What is searched; absent: both, and facts alone where `kinds`, `predicates` or `about` is given.",
    )  # fmt: skip
    kinds: list[Literal["fact", "preference", "decision", "skill", "working_note", "note"]] = Field(
        [], max_length=6, description="Of facts, by what their predicate is; empty for all. `note` is `working_note`."
    )
    predicates: list[Text] = Field([], max_length=50, description="Of facts; empty for all.")
    about: list[Text] = Field(
        [], max_length=10, description="Keys or ids of entities: facts about one of them, or that point at one."
    )
    near: list[Text] = Field(
        [], max_length=10, description="Keys or ids of entities: what lies around them comes before what does not."
    )
    include: list[Literal["history", "held"]] = Field(
        [], max_length=2,
        description="`history`: facts that hold at another time, behind those that hold. `held`: claims that wait for "
        "a decision, last; needs the grant `review`.",
    )  # fmt: skip
    recipe: Literal["balanced", "words", "meaning", "recent"] = Field(
        "balanced", description="What counts how much in the order."
    )
    limit: int = Field(20, ge=1, le=200)


class PackBody(BaseModel):
    """Types and predicates that extend a schema together; `ontology.schema_document` reads them."""

    pack: str
    description: str = ""
    strict: bool | None = None
    types: dict[str, dict[str, Any]] = {}
    predicates: dict[str, dict[str, Any]] = {}


ITEM_MODELS: Final[Mapping[str, type[BaseModel]]] = {
    "assert": AssertItem,
    "retract": RetractItem,
    "replace": ReplaceItem,
    "withdraw": WithdrawItem,
    "erase": EraseItem,
}


def _expected(given: object) -> Version | None:
    if given is None:
        return None
    return Version(0) if given == "none" else Version(int(str(given)))


EXAMPLE: Final[JSON] = {
    "items": [
        {
            "op": "assert",
            "subject": "mira",
            "predicate": "passport_deadline",
            "value": "2026-07-15",
            "valid_from": "2026-06-01",
            "observed_at": "2026-06-01T09:00:00Z",
            "source": "mira",
            "episode": "chat-1",
        }
    ]
}
