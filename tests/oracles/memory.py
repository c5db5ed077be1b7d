"""What the oracles need of an engine: tenants that take items in wire form and answer questions in oracle form."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from ontology.errors import VigenciaError
from ontology.instants import Instant, parse_bound, parse_instant
from tests.oracles.cases import Item, Query

AFTER_ALL: Final = parse_instant("9999-12-30")
"""What a clock reads when everything was said and questions are asked."""


Declared = str | Mapping[str, Any]
"""A cardinality, or what a pack says of a predicate."""


def declared(predicates: Mapping[str, Declared]) -> dict[str, Any]:
    """The predicates of a pack."""
    return {name: {"cardinality": of} if isinstance(of, str) else dict(of) for name, of in predicates.items()}


class Refusal(Exception):
    """The engine refused; the argument is the code of the rule."""


class Memory(Protocol):
    """One tenant."""

    def declare(self, predicates: Mapping[str, Declared], *, clock: Instant) -> None:
        """Say the cardinality of predicates, or more of them; values of them may have any type."""
        ...

    def decide(self, claim: str, *, promotes: bool, reason: str, clock: Instant) -> dict[str, Any]:
        """Promote or reject a held claim, as another principal than the one that writes; the receipt of the item.

        Raises `Refusal`.
        """
        ...

    def waiting(self) -> list[dict[str, Any]]:
        """Claims that wait, in order: id, value, state, rule and reason of each."""
        ...

    def write(
        self, items: Sequence[Item], *, clock: Instant, recorded_at: Instant | None = None, key: str | None = None
    ) -> dict[str, Any]:
        """The receipt of one transaction, in wire form; with `recorded_at` it is a privileged import.

        Raises `Refusal`.
        """
        ...

    def search(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of `POST /v1/search` to a body without its scope."""
        ...

    def recall(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of `POST /v1/recall` to a body without its scope."""
        ...

    def ask(self, query: Query) -> Any:
        """The answer to a question in the form of the oracle files, names in place of ids.

        The rows of an `audit` may cut the same belief in any way. Kinds beside those of the oracle files: `claims`
        (value, state, reason and value of the successor of each), `support` ([sources, occurrences] of a value now)
        and `sources` (of the standing claims of a value).
        """
        ...


class Engine(Protocol):
    """Something that keeps memories."""

    def fresh(self) -> Memory:
        """The memory of a tenant that has none yet."""
        ...

    def settle(self) -> None:
        """Called between the writes and the questions."""
        ...

    def close(self) -> None: ...


def code_of(error: VigenciaError) -> str:
    """Which rule refused: the code of the first violation, or else the problem type."""
    return error.violations[0].code if error.violations else error.slug.replace("-", "_")


def in_order(periods: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Periods by (start, value), as the oracle files list them."""
    return sorted(periods, key=lambda period: (parse_bound(period["valid_from"]).earliest, period["value"]))
