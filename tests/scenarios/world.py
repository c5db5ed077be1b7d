"""A small world: what was told when, and what a caller then sees, in the words of the scenarios."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ontology.instants import Instant, parse_instant
from tests.oracles.cases import Item
from tests.oracles.memory import Declared, Memory

DAWN = parse_instant("1900-01-01")
"""When the policy of a world was declared: before anything was told."""


INDEXED_SECONDS = 60


def indexed(search: Callable[[], dict[str, Any]], *, vectors: bool = False) -> dict[str, Any]:
    """The answer of a search once everything is indexed, which it tells; with `vectors` once each text has one."""
    until = time.monotonic() + INDEXED_SECONDS
    while True:
        answer = search()
        behind = answer["to_index"]
        if not behind["statements"] + behind["episodes"] + (behind["texts"] if vectors else 0):
            return answer
        assert time.monotonic() < until, behind
        time.sleep(0.05)


class Row(NamedTuple):
    """A fact as a scenario writes it."""

    subject: str
    predicate: str
    value: Any
    valid_from: str | None = None
    valid_to: str | None = None

    def item(self, **said: Any) -> Item:
        bounds = {"valid_from": self.valid_from, "valid_to": self.valid_to}
        given = {name: text for name, text in (bounds | said).items() if text is not None}
        return {
            "op": "assert",
            "subject": {"key": self.subject},
            "predicate": self.predicate,
            "value": self.value,
        } | given


class World:
    """One memory with a policy: each predicate holds one value, many, or events."""

    def __init__(self, memory: Memory, **policy: Declared) -> None:
        self.memory = memory
        memory.declare(policy, clock=DAWN)

    def tell(
        self, subject: str, predicate: str, value: Any, valid_from: str | None = None, valid_to: str | None = None,
        *, at: str, **said: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """Tell one fact when the clock reads `at`; gives the receipt of its item."""
        row = Row(subject, predicate, value, valid_from, valid_to)
        receipt: dict[str, Any] = self.do([row.item(**said)], at=at)["items"][0]
        return receipt

    def do(self, items: Sequence[Item], *, at: str, key: str | None = None) -> dict[str, Any]:
        """One transaction when the clock reads `at`; gives its receipt."""
        return self.memory.write(items, clock=parse_instant(at), key=key)

    def state(
        self, subject: str, predicate: str, valid_at: str, known_at: str | None = None, *, certain: bool = False
    ) -> list[str]:
        """What holds at an instant, sorted."""
        asked = {
            "kind": "state",
            "subject": subject,
            "predicate": predicate,
            "valid_at": valid_at,
            "known_at": known_at,
        }
        found: list[str] = self.memory.ask(asked | ({"certainty": "certain"} if certain else {}))
        return found

    def history(self, subject: str, predicate: str, known_at: str | None = None, *, certain: bool = False) -> list[str]:
        """The periods, as `Lisbon [2020-01-01, 2021-03-01)`; midnights are dates, an open side is `open`."""
        asked = {"kind": "history", "subject": subject, "predicate": predicate, "known_at": known_at}
        rows = self.memory.ask(asked | ({"certainty": "certain"} if certain else {}))
        return [f"{row['value']} [{_day(row['valid_from'])}, {_day(row['valid_to'])})" for row in rows]

    def search(self, text: str, **asked: Any) -> dict[str, Any]:
        """What a text leads to, after all was said."""
        return indexed(lambda: self.memory.search({"text": text, **asked}))

    def recall(self, question: str, **asked: Any) -> dict[str, Any]:
        """What memory says to a question, after all was said and indexed, with time enough."""
        self.search(question)
        return self.memory.recall({"question": question, "milliseconds": 5_000, **asked})

    def recorded(self) -> list[Instant]:
        """The recorded time of every write, in order."""
        return [parse_instant(text) for text in self.memory.ask({"kind": "recorded"})]


def _day(text: str) -> str:
    return "open" if text in ("infinity", "-infinity") else text.removesuffix("T00:00:00Z")
