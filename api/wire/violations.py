"""What pydantic finds wrong with a request, as violations that its author can act on."""

import difflib
from collections.abc import Mapping
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from api.wire.bodies import ITEM_MODELS
from ontology.errors import Incorrect, Refused, Violation, pointer, shown

VIOLATIONS_MAX: Final = 100
RECORDED: Final = frozenset({"recorded_at", "recorded_from", "recorded_to"})

M = TypeVar("M", bound=BaseModel)


def validated(model: type[M], given: object, what: str) -> M:
    """`given` as a model of this kind; `what` names it in messages.

    Raises `Incorrect` with a violation per thing that is wrong, `Refused` where it sets a recorded time.
    """
    try:
        return model.model_validate(given)
    except ValidationError as exc:
        found = exc.errors(include_url=False)[:VIOLATIONS_MAX]
    raise _incorrect([_violation(error, model) for error in found], what)


def _incorrect(violations: list[Violation], what: str) -> Incorrect:
    """The error for what a model found wrong."""
    first = violations[0]
    if any(v.code == "recorded_at_not_settable" for v in violations):
        first = next(v for v in violations if v.code == "recorded_at_not_settable")
        return Refused(first.detail, slug="recorded-at-not-settable", violations=violations)
    at = f" at {shown(first.pointer)}" if first.pointer else ""
    return Incorrect(f"{what} is not valid{at}: {first.detail}", violations=violations)


_CODES: Final[Mapping[str, tuple[str, str]]] = {
    "string_type": ("wrong_type", "a string is needed"),
    "bool_type": ("wrong_type", "true or false is needed"),
    "int_type": ("wrong_type", "an integer is needed"),
    "float_type": ("wrong_type", "a number is needed"),
    "list_type": ("wrong_type", "a list is needed"),
    "model_type": ("wrong_type", "an object is needed"),
    "model_attributes_type": ("wrong_type", "an object is needed"),
    "dict_type": ("wrong_type", "an object is needed"),
    "string_unicode": ("lone_surrogate", "text without lone surrogates is needed"),
    "finite_number": ("out_of_range", "a finite number is needed"),
    "greater_than_equal": ("out_of_range", ""),
    "less_than_equal": ("out_of_range", ""),
    "less_than": ("out_of_range", ""),
    "literal_error": ("unknown_member", ""),
}


def _violation(error: ErrorDetails, model: type[BaseModel]) -> Violation:
    """What one error of pydantic is for the author of the request."""
    place = list(error["loc"])
    members = list(model.model_fields)
    if len(place) > 2 and place[0] == "items" and place[2] in ITEM_MODELS:
        members = list(ITEM_MODELS[str(place.pop(2))].model_fields)
    at = pointer(*place)
    name = str(place[-1]) if place else ""
    match error["type"]:
        case "extra_forbidden" if name in RECORDED:
            detail = (
                f"the recorded time is the server's; leave {name!r} out, to say when a source said it use 'observed_at'"
            )
            return Violation(pointer=at, code="recorded_at_not_settable", detail=detail)
        case "extra_forbidden":
            near = difflib.get_close_matches(name, members, n=1)
            remedy = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(sorted(members))}"
            return Violation(
                pointer=at, code="unknown_field", detail=f"there is no member {shown(name)} here; {remedy}"
            )
        case "missing":
            return Violation(pointer=at, code="missing_field", detail=f"the member {shown(name)} is missing; add it")
        case "ours":
            at += "/op" if isinstance(error["input"], dict) else ""
            code = "unknown_member" if isinstance(error["input"], dict) else "wrong_type"
            given = error["input"].get("op") if isinstance(error["input"], dict) else error["input"]
            return Violation(pointer=at, code=code, detail=f"{error['msg']}, got {shown(given)}")
        case "string_too_long":
            most, given = error["ctx"]["max_length"], error["input"]
            detail = f"{most:,} characters are taken at most, got {len(given):,}: {shown(given)}; shorten it"
            return Violation(pointer=at, code="too_large", detail=detail)
        case kind:
            code, needed = _CODES.get(kind, ("wrong_type", ""))
            return Violation(pointer=at, code=code, detail=f"{needed or error['msg']}, got {shown(error['input'])}")
