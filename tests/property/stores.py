"""A store behind the real writer, as a world: what it is told goes through the write path, every answer comes back
by the read path."""

from collections.abc import Mapping, Sequence
from typing import Any

from graph.periods import ALWAYS
from graph.ports import Order, Reader
from ontology.facts import FactVersion
from ontology.fold import fold
from ontology.ids import EntityId
from ontology.instants import DAY, OPEN_END, Instant, days_from_civil, parse_instant
from ontology.values import ValueType
from tests.histories import PREDICATE, Op
from tests.model import Refusal
from tests.oracles.cases import Case
from tests.oracles.embedded import ALL, Embedded
from tests.oracles.memory import Refusal as Refused
from tests.property.oracle_json import JSONAnswer
from tests.property.worlds import now_believed
from tests.readings import Key, Readings, Rectangle

BEFORE_ALL = Instant(days_from_civil(-130_000, 1, 1) * DAY)


class StoredWorld(Readings):
    """One tenant of an engine. Values that are named like subjects are entities where `linked`."""

    def __init__(
        self, engine: Embedded, functional: bool | Mapping[str, bool] = False, *, linked: bool = False
    ) -> None:
        self.times: list[int] = []
        self._engine = engine
        self._memory = engine.fresh()
        self._claims: dict[str, str] = {}
        self._subjects: set[str] = set()
        predicates = {PREDICATE: functional} if isinstance(functional, bool) else functional
        cardinalities = {name: "functional" if one else "many" for name, one in predicates.items()}
        self._memory.declare(cardinalities, clock=BEFORE_ALL)

    def transact(self, ops: Sequence[Op], clock: int) -> int:
        """All of `ops` or, with a `Refusal`, none; gives the recorded time of the newest commit."""
        linked = any(str(op.get("value")).startswith("n") for op in ops)
        case = Case(id="", functional=False, ops=ops, queries=[{"kind": "path"}] if linked else [])
        imported = next((parse_instant(op["import_recorded_at"]) for op in ops if "import_recorded_at" in op), None)
        try:
            items = [case.item(op, self._claims) for op in ops]
            receipt = self._memory.write(items, clock=Instant(clock), recorded_at=imported)
        except Refused as exc:
            raise Refusal({"is_a_retraction": "not_found"}.get(str(exc), str(exc))) from None
        self._learn(ops, receipt)
        return self.times[-1] if self.times else BEFORE_ALL

    def _learn(self, ops: Sequence[Op], receipt: Mapping[str, Any]) -> None:
        for op, item in zip(ops, receipt["items"], strict=True):
            if item["claim"] and "id" in op:
                self._claims[op["id"]] = item["claim"]
            if "subject" in op:
                self._subjects.add(op["subject"])
        with self._engine.store.read(self._memory.scope) as reader:
            recorded_at = reader.head.recorded_at
        if recorded_at not in (BEFORE_ALL, *self.times[-1:]):
            self.times.append(recorded_at)

    def slots(self) -> list[Key]:
        return [(subject, PREDICATE) for subject in sorted(self._subjects)]

    def audit(self, key: Key) -> list[Rectangle]:
        with self._engine.store.read(self._memory.scope) as reader:
            return sorted(self._versions(reader, key))

    def served(self, key: Key, known_at: int) -> list[tuple[int, int, str, bool]]:
        """What the read path serves of a slot, as (from, to, value, certain)."""
        with self._engine.store.read(self._memory.scope) as reader:
            subject = reader.entities_by_key([key[0]]).get(key[0])
            if subject is None:
                return []
            found = reader.history(
                subject.id, key[1], Instant(known_at), ALWAYS, certain=False, order=Order.VALID, page=ALL
            )
        return sorted((v.valid_from, v.valid_to, v.value.text, v.certain) for v in (fact.version for fact in found))

    def shown(self, key: Key, row: Rectangle) -> list[str]:
        names = {id: name for name, id in self._claims.items()}
        with self._engine.store.read(self._memory.scope) as reader:
            version = self._versions(reader, key)[row]
            told = reader.evidence(version, OPEN_END, limit=1_000, after=None)
        return [names[each.claim.id] for each in told]

    @staticmethod
    def _versions(reader: Reader, key: Key) -> dict[Rectangle, FactVersion]:
        subject = reader.entities_by_key([key[0]]).get(key[0])
        if subject is None:
            return {}
        facts = reader.audit(subject.id, key[1], valid_at=None, touched=None, page=ALL)
        versions = [fact.version for fact in facts]
        links = [EntityId(v.value.text) for v in versions if v.value.type is ValueType.ENTITY]
        names = {str(id): entity.key or "" for id, entity in reader.entities_by_id(links).items()}
        return {_rectangle(version, names.get(version.value.text, version.value.text)): version for version in versions}

    def folded(self, key: Key) -> list[Rectangle]:
        with self._engine.store.write(self._memory.scope) as tx:
            subject = tx.entities_by_key([key[0]]).get(key[0])
            heads = [] if subject is None else tx.slots_of(subject.id, key[1])
            told = [(entry, tx.claim(id).claim.value) for head in heads for entry, id in tx.entries(head.slot)]
        names = {entry.value: value.text for entry, value in told if entry.value is not None and value is not None}
        return now_believed(fold(entry for entry, _ in told), names.__getitem__)

    def evidence(self, key: Key, value: str) -> int:
        count: int = self.ask({"kind": "evidence", "subject": key[0], "predicate": key[1], "value": value})
        return count

    def ask(self, query: Mapping[str, Any]) -> JSONAnswer:
        """The answer of the read path to a query of an oracle file."""
        return self._memory.ask(query)


def _rectangle(version: FactVersion, value: str) -> Rectangle:
    return Rectangle(
        recorded_from=version.recorded_from,
        valid_from=version.valid_from,
        valid_to=version.valid_to,
        recorded_to=version.recorded_to,
        value=value,
        certain=version.certain,
    )
