"""How packs and schemas look as plain JSON, and what of it can be read.

    {"pack": "travel", "types": {"Port": {"parents": ["Place"]}},
     "predicates": {"calls_at": {"range": ["Port"], "datatype": "entity", "cardinality": "many"}}}

A schema has the same form, with `version` and `strict` in place of `pack`. Patterns, mappings and `ttl_days_max`,
which came later, are left out where there are none, so that what was written and hashed before stays what it was.
Untyped data ends here.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields
from decimal import Decimal
from typing import Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictStr, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from ontology.canonical import canonical_decimal, canonical_label, canonical_text, incorrect
from ontology.errors import JSON, Incorrect, Violation, pointer, shown
from ontology.mappings import (
    CLAIMS_MAX,
    EVENT_PATH,
    MAPPINGS_MAX,
    WHOLE,
    Does,
    JsonMapping,
    MappedClaim,
    Reads,
    Term,
)
from ontology.patterns import PATTERNS_MAX, Meaning, Pattern
from ontology.schema import (
    Cardinality,
    EntityType,
    Evidence,
    Governance,
    Kind,
    Predicate,
    Retention,
    Schema,
    Volatility,
    check_predicate_name,
)
from ontology.schema_merge import VIOLATIONS_MAX, Pack, check_schema
from ontology.scope import check_name
from ontology.values import UNIT_CHARS_MAX, ValueType

TYPE_NAME_CHARS_MAX: Final = 128
DESCRIPTION_BYTES_MAX: Final = 4_000
TYPES_MAX: Final = 1_000
PREDICATES_MAX: Final = 10_000
LIST_ITEMS_MAX: Final = 100
TOOL_CHARS_MAX: Final = 500
PROMOTE_AFTER_MAX: Final = 1_000
_DIGITS: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
DAYS_MAX: Final = 36_500

_T = TypeVar("_T")


def _within(read: Callable[[_T], str]) -> Callable[[_T], str]:
    """`read` as a validator: what it raises becomes an error that knows its place in the document."""

    def validate(given: _T) -> str:
        try:
            return read(given)
        except Incorrect as exc:
            violation = exc.violations[0]
            raise PydanticCustomError(
                "ours", "{detail}", {"code": violation.code, "detail": violation.detail}
            ) from None

    return validate


def _bound(given: object) -> str:
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        raise PydanticCustomError("ours", "{detail}", {"code": "wrong_type", "detail": f"{shown(given)} is no number"})
    return canonical_decimal(given, "")


def _body(given: object) -> object:
    """YAML writes a type without a body as null."""
    return {} if given is None else given


def _pattern(given: object) -> object:
    return {"text": given} if isinstance(given, str) else given


def _term(given: object) -> object:
    """`{"key": "$.id"}` as its two parts; a text alone is read as it is."""
    if isinstance(given, str):
        return {"reads": Reads.VALUE, "text": given}
    if isinstance(given, dict) and len(given) == 1:
        for reads, text in given.items():
            if reads in set(Reads):
                return {"reads": reads, "text": text}
    detail = f"{shown(given)} is no place; give a path, or one of 'key', 'name' and 'value' with a path"
    raise PydanticCustomError("ours", "{detail}", {"code": "wrong_type", "detail": detail})


def _subject(given: object) -> object:
    if isinstance(given, dict) and given.keys() & {Reads.KEY, Reads.NAME}:
        return _term(given)
    detail = f"{shown(given)} says not whether it is a key or a name; give 'key' or 'name' with a path"
    raise PydanticCustomError("ours", "{detail}", {"code": "wrong_type", "detail": detail})


def _number(given: object) -> object:
    return str(given) if isinstance(given, int | float) and not isinstance(given, bool) else given


def _whole(given: object) -> object:
    """A whole number; in YAML it is a text, since nothing is resolved there."""
    return int(given) if isinstance(given, str) and _DIGITS.fullmatch(given) else given


def _share(text: str) -> str:
    if not text.startswith(WHOLE) and not 0 <= Decimal(canonical_decimal(text, "")) <= 1:
        raise incorrect("", "out_of_range", f"confidence {shown(text)} is outside [0, 1]; correct it")
    return text


def _unlike_names(given: object) -> object:
    if isinstance(given, dict):
        spellings = Counter(unicodedata.normalize("NFC", name) for name in given if isinstance(name, str))
        for name, count in spellings.most_common(1):
            if count > 1:
                detail = f"{shown(name)} is defined twice, in two spellings of Unicode; keep one"
                raise PydanticCustomError("ours", "{detail}", {"code": "duplicate_name", "detail": detail})
    return given


_TypeName = Annotated[StrictStr, AfterValidator(_within(lambda t: canonical_label(t, "", "type", TYPE_NAME_CHARS_MAX)))]
_PredicateName = Annotated[StrictStr, AfterValidator(_within(check_predicate_name))]
_Unit = Annotated[StrictStr, AfterValidator(_within(lambda t: canonical_label(t.strip(), "", "unit", UNIT_CHARS_MAX)))]
_Bound = Annotated[StrictStr, BeforeValidator(_within(_bound))]
_Prose = Annotated[StrictStr, AfterValidator(_within(lambda t: canonical_text(t, "", DESCRIPTION_BYTES_MAX)))]


_Flag = Annotated[bool, Field(strict=True)]
_Days = Annotated[int, Field(strict=True, ge=1, le=DAYS_MAX), BeforeValidator(_whole)]
_Tool = Annotated[StrictStr, AfterValidator(_within(lambda t: canonical_label(t, "", "tool", TOOL_CHARS_MAX)))]

_TypeNames = Annotated[tuple[_TypeName, ...], Field(max_length=LIST_ITEMS_MAX)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _TypeModel(_Model):
    parents: _TypeNames = ()
    label: _Prose = ""
    description: _Prose = ""


class _PatternModel(_Model):
    text: _Prose
    means: Meaning = Meaning.ASSERT
    value: _Prose | None = None


class _TermModel(_Model):
    reads: Reads
    text: _Prose


class _ClaimModel(_Model):
    op: Does = Does.ASSERT
    subject: Annotated[_TermModel, BeforeValidator(_subject)]
    predicate: _Prose
    value: Annotated[_TermModel, BeforeValidator(_term)] | None = None
    valid_from: _Prose | None = None
    valid_to: _Prose | None = None
    zone: _Prose | None = None
    confidence: Annotated[_Prose, BeforeValidator(_number), AfterValidator(_within(_share))] | None = None


class _MappingModel(_Model):
    media_type: _Prose | None = None
    event: _Prose | None = None
    event_path: _Prose = EVENT_PATH
    each: _Prose = WHOLE
    claims: Annotated[tuple[_ClaimModel, ...], Field(max_length=CLAIMS_MAX)]


class _PredicateModel(_Model):
    domain: _TypeNames = ()
    range: _TypeNames = ()
    datatype: ValueType | None = None
    unit: _Unit | None = None
    minimum: _Bound | None = None
    maximum: _Bound | None = None
    cardinality: Cardinality = Cardinality.MANY
    kind: Kind = Kind.FACT
    guarded: _Flag = False
    sensitive: _Flag = False
    promote_after: Annotated[int, Field(strict=True, ge=2, le=PROMOTE_AFTER_MAX), BeforeValidator(_whole)] | None = None
    promote_by: Evidence = Evidence.SOURCES
    volatility: Volatility = Volatility.STABLE
    tool: _Tool | None = None
    ttl_days: _Days | None = None
    ttl_days_max: _Days | None = None
    retention: Retention = Retention.EXPIRE
    review_days: _Days | None = None
    inverse: _PredicateName | None = None
    label: _Prose = ""
    description: _Prose = ""
    patterns: Annotated[
        tuple[Annotated[_PatternModel, BeforeValidator(_pattern)], ...], Field(max_length=PATTERNS_MAX)
    ] = ()


_Types = Annotated[
    dict[_TypeName, Annotated[_TypeModel, BeforeValidator(_body)]],
    BeforeValidator(_unlike_names),
    BeforeValidator(_body),
]
_Predicates = Annotated[
    dict[_PredicateName, Annotated[_PredicateModel, BeforeValidator(_body)]],
    Field(max_length=TYPES_MAX),
    BeforeValidator(_unlike_names),
    BeforeValidator(_body),
]
_MappingName = Annotated[StrictStr, AfterValidator(_within(lambda text: check_name(text, "mapping")))]
_Mappings = Annotated[
    dict[_MappingName, _MappingModel],
    Field(max_length=MAPPINGS_MAX),
    BeforeValidator(_body),
]


class _PackModel(_Model):
    pack: Annotated[StrictStr, AfterValidator(_within(lambda text: check_name(text, "pack")))]
    description: _Prose = ""
    strict: Annotated[bool, Field(strict=True)] | None = None
    types: _Types = {}
    predicates: _Predicates = {}
    mappings: _Mappings = {}


class _SchemaModel(_Model):
    version: Annotated[int, Field(strict=True, ge=0)]
    strict: Annotated[bool, Field(strict=True)]
    types: _Types
    predicates: _Predicates
    mappings: _Mappings = {}


_M = TypeVar("_M", _PackModel, _SchemaModel)


def pack_from_document(document: object) -> Pack:
    """The pack that a decoded JSON or YAML document describes; raises `Incorrect` with up to 100 violations.

    Whether it agrees with itself and with a schema is seen when it is merged.
    """
    model = _validated(_PackModel, document, "the pack")
    return Pack(
        name=model.pack,
        description=model.description,
        strict=model.strict,
        types=tuple(_types(model.types).values()),
        predicates=tuple(_predicates(model.predicates).values()),
        mappings=tuple(_mappings(model.mappings).values()),
    )


def schema_from_document(document: object) -> Schema:
    """The schema that `schema_document` wrote; raises `Incorrect`, or `Refused` where it disagrees with itself."""
    model = _validated(_SchemaModel, document, "the schema")
    schema = Schema(
        version=model.version,
        strict=model.strict,
        types=_types(model.types),
        predicates=_predicates(model.predicates),
        mappings=_mappings(model.mappings),
    )
    check_schema(schema, "the schema")
    return schema


def schema_document(schema: Schema) -> dict[str, JSON]:
    """`schema` as plain JSON, names in code point order; equal schemas give equal documents."""
    document: dict[str, JSON] = {
        "version": schema.version,
        "strict": schema.strict,
        "types": {
            name: {"parents": [*each.parents], "label": each.label, "description": each.description}
            for name, each in sorted(schema.types.items())
        },
        "predicates": {name: _predicate_document(each) for name, each in sorted(schema.predicates.items())},
    }
    if schema.mappings:
        document["mappings"] = {name: _mapping_document(each) for name, each in sorted(schema.mappings.items())}
    return document


def _predicate_document(each: Predicate) -> dict[str, JSON]:
    document: dict[str, JSON] = {
        "domain": [*each.domain],
        "range": [*each.range],
        "datatype": each.datatype.value if each.datatype else None,
        "unit": each.unit,
        "minimum": each.minimum,
        "maximum": each.maximum,
        "cardinality": each.cardinality.value,
        "kind": each.kind.value,
        **_governance_document(each.governance),
        "inverse": each.inverse,
        "label": each.label,
        "description": each.description,
    }
    if each.patterns:
        document["patterns"] = [
            {"text": pattern.text, "means": pattern.means.value, "value": pattern.value} for pattern in each.patterns
        ]
    return document


def _mapping_document(each: JsonMapping) -> dict[str, JSON]:
    return {
        "media_type": each.media_type,
        "event": each.event,
        "event_path": each.event_path,
        "each": each.each,
        "claims": [
            {
                "op": claim.does.value,
                "subject": {claim.subject.reads.value: claim.subject.text},
                "predicate": claim.predicate,
                "value": None if claim.value is None else {claim.value.reads.value: claim.value.text},
                "valid_from": claim.valid_from,
                "valid_to": claim.valid_to,
                "zone": claim.zone,
                "confidence": claim.confidence,
            }
            for claim in each.claims
        ],
    }


def _governance_document(each: Governance) -> dict[str, JSON]:
    document: dict[str, JSON] = {
        "guarded": each.guarded,
        "sensitive": each.sensitive,
        "promote_after": each.promote_after,
        "promote_by": each.promote_by.value,
        "volatility": each.volatility.value,
        "tool": each.tool,
        "ttl_days": each.ttl_days,
        "retention": each.retention.value,
        "review_days": each.review_days,
    }
    if each.ttl_days_max is not None:
        document["ttl_days_max"] = each.ttl_days_max
    return document


def _types(models: Mapping[str, _TypeModel]) -> dict[str, EntityType]:
    return {
        name: EntityType(name=name, parents=each.parents, label=each.label, description=each.description)
        for name, each in models.items()
    }


def _predicates(models: Mapping[str, _PredicateModel]) -> dict[str, Predicate]:
    return {name: _predicate(name, dict(each)) for name, each in models.items()}


def _predicate(name: str, members: dict[str, Any]) -> Predicate:
    governance = {field.name: members.pop(field.name) for field in fields(Governance)}
    patterns = tuple(Pattern(text=p.text, means=p.means, value=p.value) for p in members.pop("patterns"))
    return Predicate(name=name, governance=Governance(**governance), patterns=patterns, **members)


def _mappings(models: Mapping[str, _MappingModel]) -> dict[str, JsonMapping]:
    return {
        name: JsonMapping(
            name=name,
            media_type=each.media_type,
            event=each.event,
            event_path=each.event_path,
            each=each.each,
            claims=tuple(map(_claim, each.claims)),
        )
        for name, each in models.items()
    }


def _claim(model: _ClaimModel) -> MappedClaim:
    value = model.value
    return MappedClaim(
        does=model.op,
        subject=Term(reads=model.subject.reads, text=model.subject.text),
        predicate=model.predicate,
        value=None if value is None else Term(reads=value.reads, text=value.text),
        valid_from=model.valid_from,
        valid_to=model.valid_to,
        zone=model.zone,
        confidence=model.confidence,
    )


def _validated(model: type[_M], document: object, what: str) -> _M:
    try:
        return model.model_validate(document)
    except ValidationError as exc:
        violations = [_violation(error) for error in exc.errors(include_url=False)[:VIOLATIONS_MAX]]
    where = f" at {violations[0].pointer}" if violations[0].pointer else ""
    raise Incorrect(f"{what} cannot be read{where}: {violations[0].detail}", violations=violations)


_NEEDED: Final[Mapping[str, str]] = {
    "model_type": "an object is needed",
    "dict_type": "an object is needed",
    "tuple_type": "a list is needed",
    "string_type": "a string is needed",
    "bool_type": "true or false is needed",
    "int_type": "an integer is needed",
    "greater_than_equal": "a larger number is needed",
    "less_than_equal": "a smaller number is needed",
}


def _violation(error: ErrorDetails) -> Violation:
    at = pointer(*(part for part in error["loc"] if part != "[key]"))
    context = error.get("ctx", {})
    match error["type"]:
        case "ours":
            code, detail = str(context["code"]), str(context["detail"])
        case "extra_forbidden":
            code, detail = "unknown_field", f"there is no field {shown(error['loc'][-1])} here; remove or rename it"
        case "missing":
            code, detail = "missing_field", f"the field {shown(error['loc'][-1])} is missing; add it"
        case "enum":
            code, detail = "unknown_value", f"{shown(error['input'])} is none of {context['expected']}; use one of them"
        case "too_long":
            code, detail = "too_large", f"at most {context['max_length']} items are taken here; shorten it"
        case kind:
            code, detail = "wrong_type", f"{_NEEDED.get(kind, error['msg'])}, got {shown(error['input'])}"
    return Violation(pointer=at, code=code, detail=detail)
