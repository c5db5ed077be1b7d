"""How answers of the API look to people."""

import json
from typing import Any

Row = dict[str, Any]


def value_text(value: Row) -> str:
    """A value in a few words: an entity by its key, a quantity with its unit, a text with its language."""
    match value:
        case {"type": "entity", "id": id, "key": key}:
            return str(key or id)
        case {"type": "json", "value": inner}:
            return json.dumps(inner, ensure_ascii=False)
        case {"type": "quantity", "value": number, "unit": unit}:
            return f"{number} {unit}"
        case {"type": "langtext", "value": text, "lang": tag}:
            return f"{text} @{tag}"
        case {"type": "boolean", "value": bool(truth)}:
            return "true" if truth else "false"
    return str(value["value"])


def entity_text(entity: Row) -> str:
    return str(entity["key"] or entity["id"])


def start_text(row: Row) -> str:
    """The start of a period, and how it is known."""
    if row["valid_from"] is None:
        return "always" if row.get("start") == "open" else "unknown"
    return short(row["valid_from"])


def end_text(row: Row) -> str:
    """The end of a period, and how it is known."""
    if row["valid_to"] is None:
        return "for ever" if row.get("end") == "infinity" else "open"
    return short(row["valid_to"])


def short(instant: str | None) -> str:
    """An instant, as a day where it is the first of one."""
    if instant is None:
        return "open"
    return instant.removesuffix("T00:00:00Z")


def certainty_text(row: Row) -> str:
    return "certain" if row["certain"] else "possible"


def as_of_text(as_of: Row) -> str:
    """The two instants at which a question was answered."""
    return f"valid at {as_of['valid_at']}, known at {as_of['known_at']}"
