"""What erasures leave of a payload that the journal already keeps. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import orjson

from graph.journal_rows import SLOT_FIELD, Row, Section, dump, seal
from ontology.events import Erasure, Payload, Restated
from ontology.ids import ClaimId
from ontology.scope import Scope


def restate(
    payloads: Iterable[tuple[int, Payload]],
    erasures: Collection[Erasure],
    *,
    salts: Callable[[], bytes],
    scope: Scope | None = None,
) -> list[Restated]:
    """What `erasures` leave of the payloads about their subjects, for those from which they take something.

    `payloads` are all that exist about one subject, with their positions: which claims go, ended ones included,
    is read off them. `scope` is that of the erasing transaction, outside which nothing is taken.
    """
    listed = list(payloads)
    bodies = [(payload, orjson.loads(payload.body)) for _, payload in listed]
    claims = {id for payload, body in bodies for id in _erased_claims(body, _about(payload, erasures), scope)}
    found = []
    for position, payload in listed:
        left = without(payload, erasures, claims, salt=b"", scope=scope)
        if left is not None:
            found.append(Restated(position=position, payload=seal(left.subject, salts(), left.body)))
    return found


def without(
    payload: Payload,
    erasures: Collection[Erasure],
    claims: Collection[ClaimId],
    *,
    salt: bytes,
    scope: Scope | None = None,
) -> Payload | None:
    """What `erasures` leave of one payload, under a new salt and digest; `None` where they take nothing from it.

    `claims` are the ids of all claims that they erase, whose endings go too. An earlier erasure that one of these
    covers becomes that one, since the key of an erased value can be guessed from the value. Of the operations only
    those stay that name another predicate, or claims of which all stay and no erased value.
    """
    mine = _about(payload, erasures)
    if not mine:
        return None
    body: Row = orjson.loads(payload.body)
    left = _Remains(body, mine, frozenset(claims), scope).body()
    if left == body:
        return None
    return seal(payload.subject, salt, dump(left))


def _about(payload: Payload, erasures: Collection[Erasure]) -> list[Erasure]:
    return [erasure for erasure in erasures if erasure.subject == payload.subject]


def _erased_claims(body: Row, erasures: Sequence[Erasure], scope: Scope | None) -> list[ClaimId]:
    remains = _Remains(body, erasures, frozenset(), scope)
    return [row[0] for row in body[3][Section.CLAIMS] if not remains.stays(Section.CLAIMS, row)]


class _Remains:
    """The body of a payload without what some erasures of its subject take."""

    def __init__(self, body: Row, erasures: Sequence[Erasure], claims: frozenset[ClaimId], scope: Scope | None) -> None:
        self._format, self._slots, self._values, self._sections, self._places = body
        self._erasures = erasures
        self._claims = claims
        self._scope = None if scope is None else [scope.namespace, scope.purpose]

    def body(self) -> Row:
        sections: list[list[Row]] = []
        places: list[list[int] | None] | None = None if self._places is None else [None] * len(Section)
        for section in Section:
            rows = self._sections[section]
            kept = [index for index, row in enumerate(rows) if self.stays(section, row)]
            sections.append([rows[index] for index in kept])
            if places is not None and self._places[section] is not None:
                places[section] = [self._places[section][index] for index in kept]
        sections[Section.ERASURES] = [self._covered(row) for row in sections[Section.ERASURES]]
        slots = {row[at] for section, at in SLOT_FIELD.items() for row in sections[section]}
        values = {
            row[at + 1] for section, at in SLOT_FIELD.items() if section != Section.SLOTS for row in sections[section]
        }
        return [self._format, _only(slots, self._slots), _only(values, self._values), sections, places]

    def stays(self, section: Section, row: Row) -> bool:
        match section:
            case Section.OPERATIONS:
                return all(self._elsewhere(erasure, row[2]) for erasure in self._erasures)
            case Section.ENTITIES:
                return not any(_whole(erasure) for erasure in self._erasures)
            case Section.ENDINGS:
                wiped = self._scope is None and any(_whole(erasure) for erasure in self._erasures)
                return row[0] not in self._claims and not wiped
            case Section.SLOTS:
                return not any(self._hits(erasure, row[0], None) for erasure in self._erasures)
            case Section.CLAIMS | Section.CLOSED | Section.OPENED | Section.HIDDEN | Section.SHOWN | Section.SUPPORT:
                at = SLOT_FIELD[section]
                return not any(self._hits(erasure, row[at], row[at + 1]) for erasure in self._erasures)
            case _:
                return True

    def _hits(self, erasure: Erasure, slot: int, value: int | None) -> bool:
        _, namespace, purpose, predicate, _ = self._slots[slot]
        if erasure.predicate not in (None, predicate) or self._scope not in (None, [namespace, purpose]):
            return False
        return erasure.value_key is None or (value is not None and self._values[value][0] == erasure.value_key.hex())

    def _elsewhere(self, erasure: Erasure, detail: Mapping[str, object]) -> bool:
        """Whether an operation is about something that the erasure leaves."""
        if _whole(erasure):
            return False
        predicate, claim, withdrawn = (detail.get(name) for name in ("predicate", "claim", "withdrawn"))
        if isinstance(predicate, str) and erasure.predicate not in (None, predicate):
            return True
        named = [claim] if isinstance(claim, str) else []
        named += withdrawn if isinstance(withdrawn, list) else []
        erased_value = erasure.value_key is not None and detail.get("old") == erasure.value_key.hex()
        return bool(named) and not erased_value and self._claims.isdisjoint(named)

    def _covered(self, row: Row) -> Row:
        """An earlier erasure, or the one of these that takes all that it took."""
        predicate, key = row
        for erasure in self._erasures:
            taken = None if erasure.value_key is None else erasure.value_key.hex()
            if erasure.predicate in (None, predicate) and taken in (None, key):
                return [erasure.predicate, taken]
        return row


def _only(used: set[int | None], table: Sequence[Row | None]) -> list[Row | None]:
    """A table with nothing in it but what rows still name; the others keep their index."""
    return [row if index in used else None for index, row in enumerate(table)] if used - {None} else []


def _whole(erasure: Erasure) -> bool:
    """Whether it takes all of its subject."""
    return erasure.predicate is None and erasure.value_key is None
