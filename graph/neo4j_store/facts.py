"""What a snapshot answers about facts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from graph import decoding
from graph.neo4j_store import codec, keys
from graph.neo4j_store.codec import Row
from graph.neo4j_store.snapshot import Snapshot
from graph.periods import recorded_order, valid_order
from graph.ports import PAIRS_MAX, Order, Page
from graph.serving import stretches
from ontology.errors import Incorrect, NotFound, shown
from ontology.facts import AsOf, Fact, FactVersion, Slot, known_ends
from ontology.ids import FACT, EntityId, FactId
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.intervals import Interval
from ontology.values import ValueKey

_HISTORY_NOW: Final = {Order.VALID: "history_now", Order.VALID_DESCENDING: "history_now_backwards"}
_HISTORY: Final = {
    Order.VALID: "history_as_of",
    Order.VALID_DESCENDING: "history_as_of_backwards",
    Order.RECORDED: "history_by_recorded",
}
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
        if len(pairs) > PAIRS_MAX:
            raise Incorrect(f"at most {PAIRS_MAX} pairs in one question, got {len(pairs)}; ask in parts")
        scope = self._scope
        asked: dict[str, object] = {
            "pairs": [keys.pair_key(scope, subject, name) for subject, name in pairs if name is not None],
            "subjects": [keys.subject_key(scope, subject) for subject, name in pairs if name is None],
        }
        parameters = asked | self._instants(as_of, certain, Order.VALID, page)
        return self._now_or_then("state_now", "state_as_of", parameters, as_of.known_at, Order.VALID)

    def of_predicate(self, predicate: str, as_of: AsOf, *, certain: bool, page: Page) -> list[Fact]:
        parameters: dict[str, object] = {"scope": self._scope_key, "predicate": predicate}
        parameters |= self._instants(as_of, certain, Order.VALID, page)
        return self._now_or_then("of_predicate_now", "of_predicate_as_of", parameters, as_of.known_at, Order.VALID)

    def holders(self, value: ValueKey, predicate: str | None, as_of: AsOf, *, certain: bool, page: Page) -> list[Fact]:
        instant = Interval(as_of.valid_at, Instant(as_of.valid_at + 1))
        return self.holders_history(
            value, predicate, as_of.known_at, instant, certain=certain, order=Order.VALID, page=page
        )

    def history(
        self, subject: EntityId, predicate: str | None, known_at: Instant, within: Interval, *,
        certain: bool, order: Order, page: Page,
    ) -> list[Fact]:  # fmt: skip
        parameters = self._about(subject, predicate) | self._within(within, known_at, certain, order, page)
        return self._now_or_then(_HISTORY_NOW.get(order), _HISTORY[order], parameters, known_at, order)

    def holders_history(
        self, value: ValueKey, predicate: str | None, known_at: Instant, within: Interval, *,
        certain: bool, order: Order, page: Page,
    ) -> list[Fact]:  # fmt: skip
        parameters: dict[str, object] = {"held": keys.held_key(self._scope, value), "predicate": predicate}
        parameters |= self._within(within, known_at, certain, order, page)
        return self._now_or_then(None, _HOLDERS[order], parameters, known_at, order)

    def audit(
        self,
        subject: EntityId,
        predicate: str | None,
        *,
        valid_at: Instant | None,
        touched: Interval | None,
        page: Page,
    ) -> list[Fact]:
        beyond = self._head.recorded_at + 1
        parameters = self._about(subject, predicate) | {
            "valid_since": OPEN_START if valid_at is None else valid_at,
            "valid_until": OPEN_END if valid_at is None else valid_at + 1,
            "since": -(2**63) if touched is None else touched.start,
            "until": beyond if touched is None else min(touched.end, beyond),
            "known_at": self._head.recorded_at,
            "after": list(page.begins_after(Order.RECORDED)),
            "limit": page.limit,
        }
        rows = [row[0] for row in self._run("audit", parameters)]
        return self._facts(rows, None, Order.RECORDED)

    def fact(self, id: FactId) -> Fact:
        place = self._place_key(id, FACT)
        asked = {"scope": self._scope_key, "position": self._head.position, "known_at": self._head.recorded_at}
        rows = [] if place is None else self._run("fact", asked | {"place": place})
        if not rows:
            raise NotFound(f"no fact {shown(id)} here")
        return self._facts([rows[0][0]], None, Order.VALID)[0]

    # ---- what these are made of

    def served(self, versions: Sequence[FactVersion]) -> dict[FactId, list[Interval]]:
        places = {place: v for v in versions if (place := self._place_key(v.id, FACT)) is not None}
        until = self._head.recorded_at
        asked = {"places": list(places), "scope": self._scope_key, "known_at": until}
        found = {}
        for place, rows in self._run("served", asked) if places else ():
            shown_then = ((start, end if end <= until else OPEN_END, expires_at) for start, end, expires_at in rows)
            found[places[place].id] = stretches(places[place], shown_then)
        return found

    def _instants(self, as_of: AsOf, certain: bool, order: Order, page: Page) -> dict[str, object]:
        return {
            "tenant": self._scope.tenant,
            "valid_at": as_of.valid_at,
            "known_at": as_of.known_at,
            "served_at": self._serving.judged_at(as_of.known_at),
            "certain": certain,
            "after": list(page.begins_after(order)),
            "limit": page.limit,
        }

    def _within(
        self, within: Interval, known_at: Instant, certain: bool, order: Order, page: Page
    ) -> dict[str, object]:
        return {
            "tenant": self._scope.tenant,
            "since": within.start,
            "until": within.end,
            "known_at": known_at,
            "served_at": self._serving.judged_at(known_at),
            "certain": certain,
            "after": list(page.begins_after(order)),
            "limit": page.limit,
        }

    def _now_or_then(
        self, now: str | None, then: str, parameters: dict[str, object], known_at: Instant, order: Order
    ) -> list[Fact]:
        """Ask what is believed now where that was asked, unless a commit got in between; else as of then."""
        known_at = min(known_at, self._head.recorded_at)
        parameters = parameters | {"known_at": known_at}
        if now is not None and self._is_now(known_at):
            rows, clock = self._run(now, parameters)[0]
            if clock is None or clock <= known_at:
                return self._facts(rows, known_at, order)
        return self._facts([row[0] for row in self._run(then, parameters)], known_at, order)

    def _facts(self, rows: Sequence[Row], known_at: Instant | None, order: Order) -> list[Fact]:
        """The facts of rows, in order; without `known_at` each as known when it was last believed."""
        until = self._head.recorded_at
        facts: list[Fact] = []
        slots: dict[tuple[object, ...], Slot] = {}
        asked: list[Row] = []
        expiring: list[Row] = []
        for number, row in enumerate(rows):
            named = tuple(row[11:15])
            slot = slots.get(named)
            if slot is None:
                slot = slots[named] = decoding.slot(self._ledger, self._scope, named)
            version = decoding.version(self._ledger, slot, codec.version(row[:11], until))
            support = decoding.support(slot, version.value_key, row[16], version.recorded_from)
            facts.append(decoding.plain_fact(version, support, OPEN_END))
            at = min(until if known_at is None else known_at, version.recorded_to - 1)
            question = [number, row[17], version.valid_from, version.valid_to, at]
            asked += [] if row[15] else [question]
            expiring += [] if row[18] is None else [question]
        for number, starts, ends in self._run("edges_of", {"versions": asked}) if asked else ():
            start, end = known_ends(facts[number].version, starts, ends)
            facts[number] = replace(facts[number], start=start, end=end)
        for number, expires_at in self._run("expiry_of", {"versions": expiring}) if expiring else ():
            facts[number] = replace(facts[number], expires_at=expires_at)
        key = recorded_order if order is Order.RECORDED else valid_order
        return sorted(facts, key=lambda fact: key(fact.version), reverse=order is Order.VALID_DESCENDING)
