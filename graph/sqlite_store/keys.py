"""The integer keys under which a transaction's rows refer to each other; each is looked up once."""

from collections.abc import Mapping

from graph import decoding
from graph.sqlite_store.connection import Connection
from ontology.errors import Fault
from ontology.facts import Slot
from ontology.ids import ENTITY, EntityId, EpisodeId, Ledger, Owner
from ontology.scope import Scope, Tenant


class Keys:
    """The keys of one tenant, for one transaction that holds the write lock."""

    def __init__(
        self, connection: Connection, tenant: Tenant, ledger: Ledger, slots: Mapping[Slot, int | None]
    ) -> None:
        """`slots` are those that were looked up already; `None` is the key of one that has no row.

        The tenant gets its row, with the tag `ledger`, if it has none.
        """
        self._connection = connection
        self._tenant = tenant
        self._ledger = ledger
        self.tenant = self._found_or_put("tenant", "put_tenant", (tenant,), (tenant, ledger))
        self._scopes: dict[Scope, int] = {}
        self._slots = dict(slots)
        self._last_slot: int | None = None
        self._places: dict[EntityId, tuple[int, int]] = {}
        self._names: dict[str, int] = {}
        self._episodes: dict[EpisodeId, int] = {}

    def scope(self, scope: Scope) -> int:
        """The key of a scope, which gets its row if it has none."""
        if scope not in self._scopes:
            if scope.tenant != self._tenant:
                raise Fault(f"a commit of tenant {self._tenant!r} names tenant {scope.tenant!r}")
            row = self.tenant, scope.namespace, scope.purpose
            self._scopes[scope] = self._found_or_put("scope", "put_scope", row, row)
        return self._scopes[scope]

    def slot(self, slot: Slot) -> int:
        """The key of a slot that has a row."""
        pk = self._slots.get(slot)
        if pk is None:
            pk = self.find_slot(slot, 0)
        if pk is None:
            raise Fault(f"a commit touches the slot of {slot.predicate!r} and {slot.subject!r} without its head")
        return pk

    def find_slot(self, slot: Slot, position: int) -> int | None:
        """The key of a slot, if it has a row; one of a subject that the commit at `position` makes has none."""
        if slot not in self._slots:
            place = self.place(slot.subject)
            row = None
            if place[0] != position:
                row = self._connection.one("slot", (self.scope(slot.scope), *place, slot.predicate, slot.language))
            self._slots[slot] = None if row is None else row[0]
        return self._slots[slot]

    def new_slot(self, slot: Slot) -> int:
        """A key for a slot that has no row; nobody else makes one while this transaction holds the lock."""
        if self._last_slot is None:
            row = self._connection.one("last_slot")
            self._last_slot = 0 if row is None else row[0]
        self._last_slot += 1
        self._slots[slot] = self._last_slot
        return self._last_slot

    def forget_slots(self) -> None:
        """Look them up again: some have been erased."""
        self._slots.clear()

    def name(self, name: str) -> int:
        """The key of a name, which gets its row if it has none."""
        if name not in self._names:
            row = self.tenant, name
            self._names[name] = self._found_or_put("name", "put_name", row, row)
        return self._names[name]

    def episode(self, id: EpisodeId | None) -> int | None:
        """The key of an episode that has a row."""
        if id is None:
            return None
        if id not in self._episodes:
            row = self._connection.one("episode_pk", (self.tenant, id))
            if row is None:
                raise Fault(f"a claim cites the episode {id!r}, which is not stored")
            self._episodes[id] = row[0]
        return self._episodes[id]

    def place(self, subject: EntityId) -> tuple[int, int]:
        """Position and ordinal of a subject."""
        if subject not in self._places:
            self._places[subject] = self.located(subject, ENTITY)
        return self._places[subject]

    def owner(self, owner: Owner) -> tuple[int, int]:
        """How whom a payload is about is kept."""
        place = decoding.owner_place(owner, self._ledger)
        if place is None:
            raise Fault(f"{owner!r} is not of the ledger {self._ledger!r}")
        return place

    def located(self, id: str, prefix: str) -> tuple[int, int]:
        """Position and ordinal of any id of this ledger."""
        place = decoding.place(id, prefix, self._ledger)
        if place is None:
            raise Fault(f"{id!r} is not of the ledger {self._ledger!r}")
        return place

    def _found_or_put(self, find: str, put: str, found_by: tuple[object, ...], row: tuple[object, ...]) -> int:
        found = self._connection.one(find, found_by) or self._connection.one(put, row)
        if found is None:
            raise Fault(f"{put} gave no key")
        return int(found[0])
