"""The graph that walks are measured in: a tree, and the same tree with an entity at which very many facts point."""

import time
from collections.abc import Iterable, Iterator
from typing import Final

from consolidation.items import Assert, Said
from graph.neighbourhood import Budget, Expansion, neighbourhood
from graph.ports import Reader
from ontology.facts import AsOf
from ontology.ids import EntityId

HOPS: Final = 3
EDGES: Final = 1_000
FAN_OUT: Final = 100
BRANCHES: Final = 11
"""Of each entity of a walk; three hops then meet more facts than the budget has."""
HUB: Final = "hub"
CLEAR, CROWDED = "clear", "crowded"
"""From where the walks begin."""
_SINCE: Final = "2020-01-01"


def items(degree: int) -> Iterator[Iterable[Assert]]:
    """Both trees, then the many facts."""
    yield [*_tree(CLEAR), *_tree(CROWDED), _knows(CROWDED, HUB)]
    yield (_knows(f"follower {n}", HUB) for n in range(degree))


def walk(reader: Reader, seed: EntityId, as_of: AsOf) -> Expansion:
    budget = Budget(hops=HOPS, nodes=10_000, edges=EDGES, fan_out=FAN_OUT, milliseconds=60_000)
    return neighbourhood(reader, [seed], as_of, budget, lambda: time.monotonic() * 1000)


def check(name: str, expansion: Expansion, hub: EntityId) -> None:
    if len(expansion.facts) < EDGES or (hub in expansion.wide) != (name == CROWDED):
        raise AssertionError(f"the walk from {name!r} gave {len(expansion.facts)} facts")


def _tree(root: str) -> Iterator[Assert]:
    layer = [root]
    for _ in range(HOPS):
        below = []
        for name in layer:
            for number in range(BRANCHES):
                below.append(f"{name}.{number}")
                yield _knows(name, below[-1])
        layer = below


def _knows(subject: str, value: str) -> Assert:
    return Assert(
        subject=subject, predicate="knows", value={"type": "entity", "key": value}, said=Said(valid_from=_SINCE)
    )  # fmt: skip
