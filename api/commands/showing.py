"""How answers of the API look to people."""

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from api.commands.answering import Out
    from consolidation.idempotency import Written

Row = dict[str, Any]


def show_receipt(out: "Out", written: "Written", *, dry_run: bool) -> None:
    """What a write did, item by item, and where it was recorded."""
    receipt: Row = written.receipt
    if out.as_json:
        out.document(receipt)
        return
    rows = [
        (row["result"], row["claim"] or "", " ".join(row["opened"]), " ".join(row["closed"]))
        for row in receipt["items"]
    ]
    out.table(("result", "claim", "opened", "closed"), rows)
    for row in receipt["items"]:
        for warning in row["warnings"]:
            out.tell(f"{warning['code']}: {warning['detail']}")
    what = "would be recorded" if dry_run else "was recorded before" if written.replayed else "recorded"
    out.tell(f"{what} at {receipt['recorded_at']}, position {receipt['position']}")


def tell_live(out: "Out", answer: Row) -> None:
    """Where to ask for what memory never keeps."""
    for each in answer.get("live", ()):
        out.tell(f"{each['predicate']} is live data, which memory does not keep: ask {each['tool']}")


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
