"""Does a word or an id belong to something that was forgotten? Nothing is looked up where nothing ever was."""

from typing import Final

from graph.ports import Reader
from ontology.errors import Gone, Refused, Violation, shown
from ontology.tombstones import Marked, Target, Tombstone, mark

FORGOTTEN: Final = "forgotten"
"""The rule that holds a name which was forgotten."""


class Graves:
    """The tombstones of a tenant, as one scope may meet them."""

    def __init__(self, reader: Reader, *, shown: bool = False) -> None:
        """Those of its namespace, where a key is refused in every purpose; for an answer to a read only those of what
        was `shown` in the scope itself."""
        self._reader = reader
        self._shown = shown
        self._secret = reader.secret() if reader.head.erasures else None

    def of_id(self, id: str) -> Tombstone | None:
        """The tombstone that stands for an id."""
        stone = None if self._secret is None else self._reader.tombstone_of(id)
        return stone if stone is not None and self.meets(stone) else None

    def meets(self, stone: Tombstone) -> bool:
        """Whether whoever asks in the scope may be told of a tombstone."""
        scope = self._reader.scope
        if stone.target is not Target.SUBJECT:
            return stone.scope == scope
        if (stone.scope.tenant, stone.scope.namespace) != (scope.tenant, scope.namespace) or self._secret is None:
            return False
        return not self._shown or mark(self._secret, Marked.PURPOSE, scope, scope.purpose) in stone.marks

    def of_word(self, kind: Marked, word: str) -> Tombstone | None:
        """The newest tombstone that has a word, lifted or not."""
        if self._secret is None:
            return None
        asked = mark(self._secret, kind, self._reader.scope, word)
        stone = self._reader.marked([asked]).get(asked)
        return stone if stone is not None and self.meets(stone) else None

    def refuse_key(self, key: str, at: str) -> None:
        """Raise `Refused` for a key that may not come back."""
        stone = self.of_word(Marked.KEY, key)
        if stone is not None and stone.refuses:
            raise refusal(f"the key {shown(key)} stands for what was forgotten", stone, at)

    def refuse_id(self, id: str, at: str) -> None:
        """Raise `Refused` for the id of what is gone."""
        stone = self.of_id(id)
        if stone is not None:
            raise refusal(f"{shown(id)} was forgotten", stone, at)

    def holding(self, name: str) -> Tombstone | None:
        """The tombstone that keeps a name from being believed at once."""
        stone = self.of_word(Marked.NAME, name)
        return stone if stone is not None and stone.refuses else None


def refusal(detail: str, stone: Tombstone, at: str) -> Refused:
    violation = Violation(pointer=at, code="forgotten", detail=detail)
    return Refused(detail, slug="forgotten", violations=(violation,), members={"tombstone": stone.id})


def gone(detail: str, stone: Tombstone | None) -> Gone:
    return Gone(detail, members={} if stone is None else {"tombstone": stone.id})
