"""Which facts a search is for: of which kinds, under which predicates, about whom."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, TypeVar

from ontology.facts import Slot, ends
from ontology.ids import EntityId
from ontology.schema import Kind, Schema
from ontology.values import Value

LOOKED_AT_MAX: Final = 2_000
"""Hits of one list among which those that are wanted are looked for."""

H = TypeVar("H")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which facts are wanted, and what of that a store can be asked."""

    predicates: frozenset[str] | None
    """These alone; `None` for all of them, but `others`."""
    others: frozenset[str]
    about: frozenset[EntityId]
    """Facts about one of these, or that point at one; empty for any."""

    @property
    def nothing(self) -> bool:
        """Whether there is no predicate at all that is wanted."""
        return self.predicates is not None and not self.predicates

    def keeps(self, slot: Slot, value: Value) -> bool:
        predicate = slot.predicate
        if predicate in self.others or (self.predicates is not None and predicate not in self.predicates):
            return False
        return not self.about or not self.about.isdisjoint(ends(slot, value))


def wanted(schema: Schema, kinds: Collection[Kind], predicates: Collection[str], about: Collection[EntityId]) -> Wanted:
    """Facts of these kinds and predicates, about these entities; what is empty leaves open.

    A predicate that the schema does not have is of the kind `fact`, as it is when something is written with it.
    """
    of_kind = {name: predicate.kind for name, predicate in schema.predicates.items()}
    asked: frozenset[str] | None = None
    others: frozenset[str] = frozenset()
    if predicates:
        asked = frozenset(name for name in predicates if not kinds or of_kind.get(name, Kind.FACT) in kinds)
    elif kinds and Kind.FACT not in kinds:
        asked = frozenset(name for name, kind in of_kind.items() if kind in kinds)
    elif kinds:
        others = frozenset(name for name, kind in of_kind.items() if kind not in kinds)
    return Wanted(predicates=asked, others=others, about=frozenset(about))


def enough(
    give: Callable[[int], list[H]],
    keeps: Callable[[H], bool],
    count: int,
    most: int = LOOKED_AT_MAX,
    first: int | None = None,
) -> tuple[list[H], bool]:
    """Up to `count` of the best that are kept, and whether more were not looked at than that.

    `give` gives the best so many; it is asked for `count`, or for `first` where few of them are likely to be kept, then
    for more, up to `most`, as long as too few are.
    """
    limit = count if first is None else first
    while True:
        given = give(limit)
        kept = [each for each in given if keeps(each)]
        whole = len(given) < limit
        if whole or len(kept) >= count or limit >= most:
            return kept[:count], not whole and len(kept) < count
        limit = min(4 * limit, most)
