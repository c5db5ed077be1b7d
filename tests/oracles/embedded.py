"""An engine in this process: a store, the writer before it, the reads of `graph`, and a clock set by hand."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

from api.commands.asking import Asking
from api.routes import recall, search
from api.settings import read_settings
from api.wire.bodies import ClaimsBody
from api.wire.violations import validated
from api.wiring import services_over
from consolidation.items import Promote, Reject
from consolidation.policy import OWNER
from consolidation.write import Writer
from graph import history
from graph.expansion import Node, PathBudget, Step, paths
from graph.paging import OfSubject
from graph.periods import Period, Statement
from graph.ports import MemoryStore, Page, Reader
from graph.state import resolve
from ontology.claims import HELD, Told, Trust
from ontology.errors import VigenciaError
from ontology.events import Kind
from ontology.facts import AsOf, Fact, Support
from ontology.fold import standing
from ontology.ids import EntityId
from ontology.instants import OPEN_END, Instant, format_instant, parse_bound, parse_instant
from ontology.packs import load_core
from ontology.schema_document import pack_from_document
from ontology.scope import Scope, scope_of
from ontology.values import Value, ValueType, entity_value, value_key
from tests.conftest import FrozenClock, SeededRandomness
from tests.oracles.cases import Item, Query
from tests.oracles.memory import AFTER_ALL, Declared, Refusal, code_of, declared, in_order

ALL: Final = Page(10_000)
CEILING: Final = 10_000
WALK: Final = PathBudget(edges=CEILING, paths=CEILING, milliseconds=60_000)
PRINCIPAL: Final = "tester"
REVIEWER: Final = "reviewer-1"
IMPORTER: Final = replace(OWNER, trust_max=Trust.VERIFIED)
"""As what the tenants of a server are told."""


class Embedded:
    """An engine over a store."""

    def __init__(self, store: MemoryStore, *, settle: Callable[["Embedded"], MemoryStore] | None = None) -> None:
        self.clock = FrozenClock()
        self.randomness = SeededRandomness()
        self._settle = settle
        taken = [int(number[1]) for name in store.tenants() if (number := re.fullmatch(r"case-(\d+)", name))]
        self._numbers = count(max(taken, default=-1) + 1)
        self.use(store)

    def use(self, store: MemoryStore) -> None:
        """Go on with another store."""
        self.store = store
        self.writer = Writer(store=store, clock=self.clock, randomness=self.randomness, core=load_core())

    def fresh(self) -> "EmbeddedMemory":
        return EmbeddedMemory(self, scope_of(f"case-{next(self._numbers)}"))

    def settle(self) -> None:
        if self._settle is not None:
            self.use(self._settle(self))

    def close(self) -> None:
        self.store.close()


class EmbeddedMemory:
    """One scope of an engine."""

    def __init__(self, engine: Embedded, scope: Scope) -> None:
        self.engine = engine
        self.scope = scope

    def declare(self, predicates: Mapping[str, Declared], *, clock: Instant) -> None:
        self.engine.clock.reading = clock
        pack = pack_from_document({"pack": "tests", "predicates": declared(predicates)})
        self.engine.writer.put_schema(self.scope, PRINCIPAL, pack)

    def write(
        self, items: Sequence[Item], *, clock: Instant, recorded_at: Instant | None = None, key: str | None = None
    ) -> dict[str, Any]:
        self.engine.clock.reading = clock
        try:
            asked = [item.item() for item in validated(ClaimsBody, {"items": [*items]}, "the body").items]
            written = self.engine.writer.write(
                self.scope, PRINCIPAL, asked, recorded_at=recorded_at, key=key, authority=IMPORTER
            )
        except VigenciaError as exc:
            raise Refusal(code_of(exc)) from exc
        return written.receipt

    def decide(self, claim: str, *, promotes: bool, reason: str, clock: Instant) -> dict[str, Any]:
        self.engine.clock.reading = clock
        item = (Promote if promotes else Reject)(claim=claim, reason=reason)
        try:
            written = self.engine.writer.write(self.scope, REVIEWER, [item])
        except VigenciaError as exc:
            raise Refusal(code_of(exc)) from exc
        receipt: Any = written.receipt
        return dict(receipt["items"][0])

    def waiting(self) -> list[dict[str, Any]]:
        with self.engine.store.read(self.scope) as reader:
            told = reader.held(HELD, None, limit=CEILING, after=None)
        return [
            {
                "id": each.claim.id, "value": None if each.claim.value is None else each.claim.value.text,
                "state": each.state.value, "rule": each.transitions[-1].rule, "reason": each.transitions[-1].reason,
            }
            for each in told
        ]  # fmt: skip

    def search(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._asking().post(search.routes, "/v1/search", body)

    def recall(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._asking().post(recall.routes, "/v1/recall", body)

    def _asking(self) -> Asking:
        engine = self.engine
        engine.clock.reading = AFTER_ALL
        settings = read_settings(store="sqlite:///:memory:", tenant=self.scope.tenant)
        services = services_over(engine.store, settings, engine.clock, engine.randomness)
        return Asking(services, namespace=self.scope.namespace, purpose=self.scope.purpose)

    def ask(self, query: Query) -> Any:
        with self.engine.store.read(self.scope) as reader:
            return _Question(reader, query).answer()


@dataclass(frozen=True, slots=True)
class _Question:
    """One question, answered from one snapshot."""

    reader: Reader
    query: Query

    def answer(self) -> Any:
        match self.query["kind"]:
            case "recorded":
                return self._recorded()
            case "state_all":
                facts = self.reader.of_predicate(self._predicate, self._as_of, certain=self._certain, page=ALL)
                return sorted([self._key(fact.version.slot.subject), self._name(fact.version.value)] for fact in facts)
        subject = self._subject
        if subject is None:
            return _NOTHING[self.query["kind"]]
        match self.query["kind"]:
            case "state":
                pairs = [(subject, self._predicate)]
                return self._names(self.reader.state(pairs, self._as_of, certain=self._certain, page=ALL))
            case "history":
                of_slot = OfSubject(subject, self._predicate)
                known_at = self._as_of.known_at
                found = history.read_periods(self.reader, of_slot, known_at, ceiling=CEILING, certain=self._certain)
                return self._periods(found.rows)
            case "audit":
                facts = self.reader.audit(subject, self._predicate, valid_at=None, touched=None, page=ALL)
                return [self._rectangle(fact) for fact in facts]
            case "belief":
                return self._belief(subject)
            case "diff":
                return self._diff(subject)
            case "changes":
                return self._changes(subject)
            case "believed_during":
                return self._believed_during(subject)
            case "path":
                return self._paths(subject)
            case "evidence":
                return self._evidence(subject)
            case "claims":
                return self._claims(subject)
            case "support":
                support = self._support(subject)
                return [support.sources, support.occurrences]
            case "confidence":
                return self._support(subject).confidence
            case "sources":
                told = [t for t in self._told(subject) if t.is_folded and t.claim.value == self._value]
                return sorted({t.claim.source for t in told})
            case kind:
                raise ValueError(f"nobody asks {kind!r}")

    # ---- the kinds that need more than a line

    def _recorded(self) -> list[str]:
        events = self.reader.events(after=0, limit=CEILING)
        return [format_instant(event.recorded_at) for event, _ in events if event.kind is not Kind.SCHEMA]

    def _belief(self, subject: EntityId) -> list[dict[str, str]]:
        valid_at = self._as_of.valid_at
        rows = history.belief(self.reader, subject, self._predicate, valid_at, ceiling=CEILING).rows
        return [
            {"value": self._name(row.statement.value)} | _sides("recorded", row.recorded_from, row.recorded_to)
            for row in rows
        ]

    def _diff(self, subject: EntityId) -> dict[str, Any]:
        of_slot = OfSubject(subject, self._predicate)
        known = self._instant("known_from"), self._instant("known_to")
        found = history.diff(self.reader, of_slot, *known, ceiling=CEILING)
        return {"added": self._periods(found.added), "removed": self._periods(found.removed)}

    def _changes(self, subject: EntityId) -> list[dict[str, Any]]:
        of_slot = OfSubject(subject, self._predicate)
        window = self._instant("valid_after"), self._instant("valid_until")
        known_at = self._as_of.known_at
        found = history.changes(self.reader, of_slot, *window, known_at, ceiling=CEILING, certain=self._certain)
        return [
            {
                "at": format_instant(change.at),
                "ended": self._statements(change.ended),
                "started": self._statements(change.started),
            }
            for change in found.rows
        ]

    def _believed_during(self, subject: EntityId) -> list[str]:
        window = self._instant("known_from"), self._instant("known_to")
        closed = bool(self.query.get("closed"))
        found, _ = history.believed_during(
            self.reader, subject, self._predicate, *window, closed=closed, ceiling=CEILING
        )
        return self._statements(found)

    def _paths(self, subject: EntityId) -> list[dict[str, Any]]:
        steps = [Step(step.removeprefix("^"), step.startswith("^")) for step in self.query["steps"]]
        valid_at = self._instant("valid_at") if self.query.get("valid_at") else None
        found = paths(self.reader, subject, steps, self._as_of.known_at, valid_at, WALK, lambda: 0.0)
        rows = [
            {"nodes": [*map(self._node, row.nodes)]} | _sides("valid", row.valid_from, row.valid_to)
            for row in found.rows
        ]
        return sorted(rows, key=lambda row: (row["nodes"], parse_bound(row["valid_from"]).earliest))

    def _evidence(self, subject: EntityId) -> int:
        """How many claims of a value stand, those that show nowhere included."""
        folded = [told.claim for told in self._told(subject) if told.is_folded]
        wanted = value_key(self._value)
        return sum(entry.value == wanted for entry in standing([claim.entry for claim in folded]))

    def _claims(self, subject: EntityId) -> list[dict[str, Any]]:
        told = [each for each in self._told(subject) if each.folded_from < OPEN_END]
        values = {t.claim.id: None if t.claim.value is None else self._name(t.claim.value) for t in told}
        rows = []
        for each in told:
            end = each.ending
            rows.append(
                {
                    "value": values[each.claim.id],
                    "state": each.state.value,
                    "reason": None if end is None else end.reason,
                    "successor": None if end is None or end.successor is None else values[end.successor],
                }
            )
        return rows

    def _support(self, subject: EntityId) -> Support:
        pairs = [(subject, self._predicate)]
        facts = self.reader.state(pairs, self._as_of, certain=False, page=ALL)
        return next(fact.support for fact in facts if fact.version.value == self._value)

    # ---- from names, and back

    @property
    def _predicate(self) -> str:
        return str(self.query["predicate"])

    @property
    def _certain(self) -> bool:
        return self.query.get("certainty") == "certain"

    @property
    def _as_of(self) -> AsOf:
        asked = [parse_instant(self.query[n]) if self.query.get(n) else None for n in ("valid_at", "known_at")]
        return resolve(self.reader.head, AFTER_ALL, *asked)

    def _instant(self, name: str) -> Instant:
        return parse_instant(self.query[name])

    @property
    def _subject(self) -> EntityId | None:
        return self._entity(self.query["subject"])

    def _entity(self, key: str) -> EntityId | None:
        found = self.reader.entities_by_key([key])
        return next((entity.id for entity in found.values()), None)

    @property
    def _value(self) -> Value:
        """The value that a question names: a text, or the entity that its slot has under this key."""
        named = self.query["value"]
        text = Value(type=ValueType.TEXT, text=named, qualifier="")
        entity = self._entity(named)
        subject = self._subject
        if entity is None or subject is None:
            return text
        said = [told.claim.value for told in self._told(subject)]
        return text if text in said else entity_value(entity)

    def _told(self, subject: EntityId) -> list[Told]:
        return self.reader.claims(subject, self._predicate, limit=CEILING, after=None)

    def _key(self, id: EntityId) -> str:
        return self.reader.entities_by_id([id])[id].key or id

    def _name(self, value: Value) -> str:
        if value.type is ValueType.ENTITY:
            return self._key(EntityId(value.text))
        return f"{value.text} {value.qualifier}" if value.qualifier else value.text

    def _node(self, node: Node) -> str:
        return self._name(node) if isinstance(node, Value) else self._key(node)

    def _names(self, facts: Iterable[Fact]) -> list[str]:
        return sorted(self._name(fact.version.value) for fact in facts)

    def _statements(self, statements: Iterable[Statement]) -> list[str]:
        return sorted(self._name(statement.value) for statement in statements)

    def _periods(self, periods: Iterable[Period]) -> list[dict[str, str]]:
        rows = [{"value": self._name(p.statement.value)} | _sides("valid", p.valid_from, p.valid_to) for p in periods]
        return in_order(rows)

    def _rectangle(self, fact: Fact) -> dict[str, str]:
        version = fact.version
        valid = _sides("valid", version.valid_from, version.valid_to)
        return (
            {"value": self._name(version.value)}
            | valid
            | _sides("recorded", version.recorded_from, version.recorded_to)
        )


_NOTHING: Final[Mapping[str, Any]] = {
    "state": [],
    "history": [],
    "audit": [],
    "belief": [],
    "diff": {"added": [], "removed": []},
    "changes": [],
    "believed_during": [],
    "path": [],
    "evidence": 0,
    "claims": [],
    "sources": [],
}
"""What is known of a subject that nobody ever spoke of."""


def _sides(time: str, start: Instant, end: Instant) -> dict[str, str]:
    return {f"{time}_from": format_instant(start), f"{time}_to": format_instant(end)}
