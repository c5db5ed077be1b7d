"""What erasures leave of a payload that the journal already keeps. Pure."""

from collections.abc import Collection, Mapping, Sequence

import orjson

from graph.journal_rows import SLOT_FIELD, Row, Section, dump, seal
from ontology.events import Erasure, Payload
from ontology.ids import ClaimId


def without(
    payload: Payload, erasures: Collection[Erasure], claims: Collection[ClaimId], *, salt: bytes
) -> Payload | None:
    """What `erasures` leave of a payload, under a new salt and digest; `None` where they take nothing from it.

    `claims` are the ids of the claims that they erase, whose endings go too. An earlier erasure that one of
    these covers becomes that one, since the key of an erased value can be guessed from the value. Of the
    operations only those stay that name another predicate or a claim that stays.
    """
    mine = [erasure for erasure in erasures if erasure.subject == payload.subject]
    if not mine:
        return None
    body: Row = orjson.loads(payload.body)
    left = _Remains(body, mine, frozenset(claims)).body()
    if left == body:
        return None
    return seal(payload.subject, salt, dump(left))


class _Remains:
    """The body of a payload without what some erasures of its subject take."""

    def __init__(self, body: Row, erasures: Sequence[Erasure], claims: Collection[ClaimId]) -> None:
        self._format, self._slots, self._values, self._sections, self._places = body
        self._erasures = erasures
        self._claims = claims

    def body(self) -> Row:
        sections: list[list[Row]] = []
        places: list[list[int] | None] | None = None if self._places is None else [None] * len(Section)
        for section in Section:
            rows = self._sections[section]
            kept = [index for index, row in enumerate(rows) if self._stays(section, row)]
            sections.append([rows[index] for index in kept])
            if places is not None and self._places[section] is not None:
                places[section] = [self._places[section][index] for index in kept]
        sections[Section.ERASURES] = [self._covered(row) for row in sections[Section.ERASURES]]
        slots = {row[at] for section, at in SLOT_FIELD.items() for row in sections[section]}
        values = {
            row[at + 1] for section, at in SLOT_FIELD.items() if section != Section.SLOTS for row in sections[section]
        }
        return [self._format, _only(slots, self._slots), _only(values, self._values), sections, places]

    def _stays(self, section: Section, row: Row) -> bool:
        match section:
            case Section.OPERATIONS:
                return all(self._elsewhere(erasure, row[2]) for erasure in self._erasures)
            case Section.ENTITIES:
                return not any(_whole(erasure) for erasure in self._erasures)
            case Section.ENDINGS:
                return row[0] not in self._claims and not any(_whole(erasure) for erasure in self._erasures)
            case Section.SLOTS:
                return not any(self._hits(erasure, row[0], None) for erasure in self._erasures)
            case Section.CLAIMS | Section.CLOSED | Section.OPENED | Section.HIDDEN | Section.SHOWN | Section.SUPPORT:
                at = SLOT_FIELD[section]
                return not any(self._hits(erasure, row[at], row[at + 1]) for erasure in self._erasures)
            case _:
                return True

    def _hits(self, erasure: Erasure, slot: int, value: int | None) -> bool:
        if erasure.predicate not in (None, self._slots[slot][3]):
            return False
        return erasure.value_key is None or (value is not None and self._values[value][0] == erasure.value_key.hex())

    def _elsewhere(self, erasure: Erasure, detail: Mapping[str, object]) -> bool:
        """Whether an operation is about something that the erasure leaves."""
        if _whole(erasure):
            return False
        predicate, claim = detail.get("predicate"), detail.get("claim")
        if isinstance(predicate, str) and erasure.predicate not in (None, predicate):
            return True
        return isinstance(claim, str) and claim not in self._claims

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
