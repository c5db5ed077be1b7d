"""Facts many at once, where what asks has their places: each with its ends and its support, in a few queries."""

import json
from collections.abc import Collection, Mapping, Sequence

from graph import decoding
from graph.sqlite_store.connection import Row
from graph.sqlite_store.facts import FactReads
from ontology.facts import Fact, Slot, known_ends
from ontology.instants import OPEN_END, Instant


class WholeFacts(FactReads):
    """The part of a reader that walks and searches read their facts with."""

    __slots__ = ()

    def _facts_at(self, places: Collection[tuple[int, int]], known_at: Instant) -> dict[tuple[int, int], Fact]:
        """Versions of the scope by (position, ordinal); one that is not there is left out."""
        if not places:
            return {}
        rows = self._connection.all("facts", (json.dumps(list(places)), self._tenant_pk, self._scope_pk, known_at))
        ends = self._ends_of([row[22] for row in rows if not row[16]], known_at)
        expiries = self._expiries_of([row[22] for row in rows if row[21] < OPEN_END], known_at)
        slots = {row[11]: row[12:16] for row in rows}  # far fewer than facts
        named = {pk: decoding.slot(self._ledger, self._scope, row) for pk, row in slots.items()}
        return {row[:2]: self._whole(row, named[row[11]], ends, expiries) for row in rows}

    def _whole(
        self, row: Row, slot: Slot, ends: Mapping[int, tuple[list[int], list[int]]], expiries: Mapping[int, Instant]
    ) -> Fact:
        version = decoding.version(self._ledger, slot, row[:11])
        support = decoding.support(slot, version.value_key, row[17:21], version.recorded_from)
        expires_at = expiries.get(row[22], OPEN_END)
        if row[16]:
            return decoding.plain_fact(version, support, expires_at)
        start, end = known_ends(version, *ends[row[22]])
        return Fact(version=version, start=start, end=end, support=support, expires_at=expires_at)

    def _ends_of(self, versions: Sequence[int], known_at: Instant) -> Mapping[int, tuple[list[int], list[int]]]:
        """For each version the kinds of start of the claims that show at its first instant, and the kinds of end of
        those that show at its last."""
        found: dict[int, tuple[list[int], list[int]]] = {version: ([], []) for version in versions}
        if versions:
            asked = (json.dumps(versions), self._tenant_pk, known_at)
            for version, side, kind in self._connection.all("edges_of_facts", asked):
                found[version][side].append(kind)
        return found

    def _expiries_of(self, versions: Sequence[int], known_at: Instant) -> Mapping[int, Instant]:
        if not versions:
            return {}
        return dict(self._connection.all("expiry_of_facts", (json.dumps(versions), self._tenant_pk, known_at)))
