"""What a snapshot answers about facts. Lists are found in order first; then each row of the page is read."""

import heapq
import json
from collections.abc import Iterable, Sequence
from typing import Final

from graph import decoding
from graph.periods import valid_order
from graph.ports import PAIRS_MAX, Order, OrderKey, Page
from graph.serving import stretches
from graph.sqlite_store.connection import Row
from graph.sqlite_store.snapshot import FIRST_TEXT, LAST_TEXT, Snapshot
from ontology.errors import Fault, Incorrect, NotFound, shown
from ontology.facts import AsOf, Fact, FactVersion, edges
from ontology.ids import ENTITY, FACT, EntityId, FactId
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.intervals import Interval
from ontology.values import ValueKey

_HISTORY: Final = {
    Order.VALID: ("history_now", "history_as_of"),
    Order.VALID_DESCENDING: ("history_now_backwards", "history_as_of_backwards"),
    Order.RECORDED: ("history_by_recorded", "history_by_recorded"),
}
"""The query of a slot's history: of what is known now, of what was known."""
_HOLDERS: Final = {
    Order.VALID: "holders",
    Order.VALID_DESCENDING: "holders_backwards",
    Order.RECORDED: "holders_by_recorded",
}


class FactReads(Snapshot):
    """The part of a reader that answers with facts."""

    __slots__ = ()

    def state(
        self, pairs: Sequence[tuple[EntityId, str | None]], as_of: AsOf, *, certain: bool, page: Page
    ) -> list[Fact]:
        if len(pairs) == 1:
            return self._state_of(pairs[0], as_of, certain, page)
        if len(pairs) > PAIRS_MAX:
            raise Incorrect(f"at most {PAIRS_MAX} pairs in one question, got {len(pairs)}; ask in parts")
        facts = self._states_now(pairs, as_of, certain, page)
        if facts is None:
            facts = [fact for pair in pairs for fact in self._state_of(pair, as_of, certain, page)]
        return sorted({fact.version.id: fact for fact in facts}.values(), key=_valid_order)[: page.limit]

    def of_predicate(self, predicate: str, as_of: AsOf, *, certain: bool, page: Page) -> list[Fact]:
        query = "of_predicate_now" if self._is_now(as_of.known_at) else "of_predicate_as_of"
        after = page.begins_after(Order.VALID)
        parameters = (
            self._scope_pk, as_of.known_at, as_of.valid_at, predicate, certain, *after, page.limit,
            self._judged(as_of.known_at),
        )  # fmt: skip
        return self._read(self._connection.all(query, parameters))

    def holders(self, value: ValueKey, predicate: str | None, as_of: AsOf, *, certain: bool, page: Page) -> list[Fact]:
        instant = Interval(as_of.valid_at, Instant(as_of.valid_at + 1))
        return self.holders_history(
            value, predicate, as_of.known_at, instant, certain=certain, order=Order.VALID, page=page
        )

    def history(
        self, subject: EntityId, predicate: str | None, known_at: Instant, within: Interval, *,
        certain: bool, order: Order, page: Page,
    ) -> list[Fact]:  # fmt: skip
        about = self._about(subject, predicate)
        if about is None:
            return []
        slots = self._slots_now(about)
        if not self._is_now(known_at):
            slots = _bounds(self._connection.all("state_as_of", (*about, within.start, known_at)), within.start)
        return self._history(slots, known_at, within, certain, order, page)

    def holders_history(
        self, value: ValueKey, predicate: str | None, known_at: Instant, within: Interval, *,
        certain: bool, order: Order, page: Page,
    ) -> list[Fact]:  # fmt: skip
        low, high = (FIRST_TEXT, LAST_TEXT) if predicate is None else (predicate, predicate)
        after = page.begins_after(order)
        parameters = (
            self._scope_pk, known_at, within.start, within.end, value, certain, *after, page.limit, low, high,
            self._judged(known_at),
        )  # fmt: skip
        return self._read(self._connection.all(_HOLDERS[order], parameters))

    def audit(
        self,
        subject: EntityId,
        predicate: str | None,
        *,
        valid_at: Instant | None,
        touched: Interval | None,
        page: Page,
    ) -> list[Fact]:
        about = self._about(subject, predicate)
        if about is None:
            return []
        valid = (OPEN_START, OPEN_END) if valid_at is None else (valid_at, valid_at + 1)
        recorded = (-(2**63), 2**63 - 1) if touched is None else (touched.start, touched.end)
        after = page.begins_after(Order.RECORDED)
        rows = [
            self._connection.all("audit", (slot, *valid, *recorded, *after, page.limit))
            for slot, _ in self._slots_now(about)
        ]
        return self._read(_merged(rows, Order.RECORDED, page.limit))

    def fact(self, id: FactId) -> Fact:
        place = decoding.place(id, FACT, self._ledger)
        row = place and self._connection.one("version_by_id", (self._tenant_pk, *place, self._scope_pk))
        if not row:
            raise NotFound(f"no fact {shown(id)} here")
        return self._fact(row[0], row[2] - 1)

    def served(self, versions: Sequence[FactVersion]) -> dict[FactId, list[Interval]]:
        found = {}
        for version in versions:
            place = (self._tenant_pk, version.position, version.ordinal, self._scope_pk)
            if rows := self._connection.all("served", place):
                found[version.id] = stretches(version, rows)
        return found

    # ---- what these are made of

    def _judged(self, known_at: Instant) -> Instant:
        return self._serving.judged_at(known_at)

    def _state_of(self, pair: tuple[EntityId, str | None], as_of: AsOf, certain: bool, page: Page) -> list[Fact]:
        about = self._about(*pair)
        if about is None:
            return []
        now = self._is_now(as_of.known_at)
        if now:
            rows = self._connection.all("state_now", (*about, as_of.valid_at, certain, as_of.known_at, page.limit + 1))
        else:
            rows = self._connection.all("state_as_of", (*about, as_of.valid_at, as_of.known_at))
        whole = now or all(row[0] is not None and row[8] > as_of.valid_at for row in rows)
        if whole and len(rows) <= page.limit and page.after is None:
            return sorted(self._served(rows, as_of.known_at), key=_valid_order)
        slots = self._slots_now(about) if now else _bounds(rows, as_of.valid_at)
        instant = Interval(as_of.valid_at, Instant(as_of.valid_at + 1))
        return self._history(slots, as_of.known_at, instant, certain, Order.VALID, page)

    def _states_now(
        self, pairs: Sequence[tuple[EntityId, str | None]], as_of: AsOf, certain: bool, page: Page
    ) -> list[Fact] | None:
        """Of many pairs at once; `None` where that is not to be had: of what was known, of all predicates, in pages."""
        if not self._is_now(as_of.known_at) or page.after is not None or any(name is None for _, name in pairs):
            return None
        asked = [
            (*place, name) for id, name in pairs if (place := decoding.place(id, ENTITY, self._ledger)) is not None
        ]
        named = json.dumps(asked, ensure_ascii=False)
        limits = (as_of.valid_at, certain, as_of.known_at, page.limit + 1)
        rows = self._connection.all("states_now", (named, self._scope_pk, *limits))
        if len(rows) > page.limit:
            return None
        return self._served(rows, as_of.known_at)

    def _slots_now(self, about: Row) -> list[Row]:
        """(slot, whether it is functional) of each slot."""
        return [(row[0], row[9]) for row in self._connection.all("slots_of", about)]

    def _history(
        self, slots: Iterable[Row], known_at: Instant, within: Interval, certain: bool, order: Order, page: Page
    ) -> list[Fact]:
        query = _HISTORY[order][not self._is_now(known_at)]
        asked, judged = (known_at, within.start, within.end), self._judged(known_at)
        after = page.begins_after(order)
        rows = [
            self._connection.all(query, (slot, *asked, bound, certain, *after, page.limit, judged))
            for slot, bound in slots
        ]
        return self._read(_merged(rows, order, page.limit))

    def _read(self, rows: Iterable[Row]) -> list[Fact]:
        """The facts behind rows of (three of an order key, version, known_at)."""
        return [self._fact(row[3], row[4]) for row in rows]

    def _fact(self, version_pk: int, known_at: Instant) -> Fact:
        row = self._connection.one("fact", (version_pk, known_at))
        if row is None:
            raise Fault(f"the version {version_pk} is gone from inside its snapshot")
        return self._decoded(row, known_at)

    def _served(self, rows: Iterable[Row], known_at: Instant) -> list[Fact]:
        """The facts of rows of `fact`, but what has expired."""
        judged = self._judged(known_at)
        return [fact for row in rows if (fact := self._decoded(row, known_at)).expires_at > judged]

    def _decoded(self, row: Row, known_at: Instant) -> Fact:
        """The fact of a row of `fact`."""
        slot = decoding.slot(self._ledger, self._scope, row[12:16])
        version = decoding.version(self._ledger, slot, row[:11])
        support = decoding.support(slot, version.value_key, row[17:21], version.recorded_from)
        at = min(known_at, version.recorded_to - 1)
        parameters = (self._tenant_pk, row[11], version.value_key, version.valid_from, at, version.valid_to)
        expires_at = OPEN_END
        if row[21] < OPEN_END:
            expires_at = self._connection.all("expiry_of", parameters)[0][0]
        if row[16]:
            return decoding.plain_fact(version, support, expires_at)
        found = self._connection.all("edges_of", parameters)
        first, last = ([decoding.entry(each[1:]) for each in found if each[0] == side] for side in (0, 1))
        start, end = edges(version, first, last)
        return Fact(version=version, start=start, end=end, support=support, expires_at=expires_at)


def _bounds(rows: Iterable[Row], valid_at: Instant) -> list[Row]:
    """(slot, before which start no version reaches `valid_at`), from rows of `state_as_of`.

    In a functional slot nothing lies beside a certain version, so none begins before the end of the last one.
    """
    return [(row[11], OPEN_START if row[0] is None else row[7] if row[8] > valid_at else row[8]) for row in rows]


def _merged(rows: Sequence[list[Row]], order: Order, limit: int) -> list[Row]:
    """The first rows of several lists that are in order."""
    if len(rows) == 1:
        return rows[0]
    if order is Order.RECORDED:
        return sorted((row for each in rows for row in each), key=lambda row: (row[1], row[2], row[0]))[:limit]
    return list(heapq.merge(*rows, key=lambda row: row[:3], reverse=order is Order.VALID_DESCENDING))[:limit]


def _valid_order(fact: Fact) -> OrderKey:
    return valid_order(fact.version)
