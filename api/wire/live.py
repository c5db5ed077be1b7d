"""Where to ask for what memory never keeps: live predicates, each with the tool that has its values."""

from collections.abc import Iterable

from api.wire.rendering import Wire
from ontology.errors import JSON
from ontology.schema import Schema, Volatility


def live(schema: Schema, predicates: Iterable[str | None]) -> Wire:
    """A member of an answer where live predicates were asked for, else nothing."""
    known = [schema.predicates[name] for name in dict.fromkeys(predicates) if name and name in schema.predicates]
    rules = [(each.name, each.governance) for each in known]
    tools: list[JSON] = [
        {"predicate": name, "tool": rule.tool} for name, rule in rules if rule.volatility is Volatility.LIVE
    ]
    return {"live": tools} if tools else {}
