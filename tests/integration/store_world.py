"""A store behind the writer, as a world that hears operations in the form of the oracle files."""

from collections.abc import Mapping, Sequence

from graph.ledger import belief_hash, ledger_hash
from ontology.errors import VigenciaError
from ontology.instants import DAY, Instant, parse_instant
from tests.histories import PREDICATE, Op
from tests.model import Refusal
from tests.oracles.cases import Case
from tests.oracles.embedded import ALL, Embedded, EmbeddedMemory
from tests.oracles.memory import Refusal as Refused
from tests.readings import Key, Readings, Rectangle

BEFORE_ALL = Instant(-100_000 * DAY)


class StoreWorld(Readings):
    """One tenant of an engine; what it answers comes from the store's audit alone."""

    def __init__(self, engine: Embedded, functional: bool | Mapping[str, bool] = False) -> None:
        self.engine = engine
        self.memory: EmbeddedMemory = engine.fresh()
        self.functional = functional
        self.times: list[int] = []
        self.receipts: list[dict[str, object]] = []
        self.said: list[list[Op]] = []
        """Of each transaction that was recorded, the operations that did something."""
        self._claims: dict[str, str] = {}
        self._first_said: dict[str, str] = {}
        """For each claim that is a duplicate, the name of the one that it repeats."""
        self._slots: set[Key] = set()
        declared = {PREDICATE: functional} if isinstance(functional, bool) else functional
        self.memory.declare({n: "functional" if f else "many" for n, f in declared.items()}, clock=BEFORE_ALL)

    def transact(self, ops: Sequence[Op], clock: int) -> int:
        """All of `ops` or, with a `Refusal`, none; gives the recorded time of the newest commit."""
        case = Case(id="", functional=self.functional, ops=ops, queries=())
        imported = next((parse_instant(op["import_recorded_at"]) for op in ops if "import_recorded_at" in op), None)
        before = self.position
        try:
            receipt = self.memory.write(
                [case.item(op, self._claims) for op in ops], clock=Instant(clock), recorded_at=imported
            )
        except (Refused, VigenciaError) as exc:
            raise Refusal(str(exc)) from exc
        self._learn(ops, receipt, recorded=self.position > before)
        return self.times[-1] if self.times else BEFORE_ALL

    def _learn(self, ops: Sequence[Op], receipt: dict[str, object], *, recorded: bool) -> None:
        items = receipt["items"]
        assert isinstance(items, list)
        names = {claim: name for name, claim in self._claims.items()}
        effective: list[Op] = []
        for op, item in zip(ops, items, strict=True):
            if op.get("id") and item["claim"]:
                self._claims[op["id"]] = item["claim"]
                self._first_said[op["id"]] = names.setdefault(item["claim"], op["id"])
            if item["result"] != "duplicate":
                effective.append(self._as_taken(op, item))
            if op.get("subject") and op.get("predicate"):
                self._slots.add((op["subject"], op["predicate"] or ""))
        if recorded:
            self.times.append(self.head_recorded_at)
            self.receipts.append(receipt)
            self.said.append(effective)

    def _as_taken(self, op: Op, item: dict[str, str]) -> Op:
        """The operation with what the store knows of it: the claim that it names, and when its episode was said."""
        taken = op.copy()
        if op.get("claim") in self._first_said:
            taken["claim"] = self._first_said[op["claim"]]
        if item["observed_from"] == "episode":
            taken["observed_at"] = item["observed_at"]
        return taken

    @property
    def position(self) -> int:
        with self.engine.store.read(self.memory.scope) as reader:
            return reader.head.position

    @property
    def head_recorded_at(self) -> Instant:
        with self.engine.store.read(self.memory.scope) as reader:
            return reader.head.recorded_at

    @property
    def ledger_hash(self) -> str:
        return ledger_hash(self.engine.store, self.memory.scope.tenant)

    @property
    def belief_hash(self) -> str:
        return belief_hash(self.engine.store, self.memory.scope)

    def slots(self) -> list[Key]:
        return sorted(self._slots)

    def audit(self, key: Key) -> list[Rectangle]:
        with self.engine.store.read(self.memory.scope) as reader:
            entity = reader.entities_by_key([key[0]]).get(key[0])
            if entity is None:
                return []
            facts = reader.audit(entity.id, key[1], valid_at=None, touched=None, page=ALL)
        versions = [fact.version for fact in facts]
        return sorted(
            Rectangle(v.recorded_from, v.valid_from, v.valid_to, v.recorded_to, v.value.text, v.certain)
            for v in versions
        )

    def evidence(self, key: Key, value: str) -> int:
        count: int = self.memory.ask({"kind": "evidence", "subject": key[0], "predicate": key[1], "value": value})
        return count
