"""What erasures and forgetting leave of a payload that the journal already keeps. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from graph.journal_rows import Row, dump, load, seal
from graph.journal_sections import SLOT_FIELD, Section
from graph.journal_words import read_words, words_row
from ontology.episodes import Kept, WordsGone, emptied, has_words
from ontology.events import Erasure, Payload, Restated
from ontology.facts import Slot
from ontology.ids import ClaimId, EpisodeId, FactId, Owner
from ontology.instants import Instant
from ontology.values import ValueKey


def restate(
    payloads: Iterable[tuple[int, Payload]], erasures: Collection[Erasure], *, salts: Callable[[], bytes]
) -> list[Restated]:
    """What `erasures` leave of the payloads about their subjects, for those from which they take something.

    `payloads` are all that exist about one subject, with their positions: which claims go, ended ones included,
    is read off them.
    """
    listed = list(payloads)
    claims = {id for _, payload in listed for id in _erased_claims(payload, _about(payload, erasures))}
    found = []
    for position, payload in listed:
        left = without(payload, erasures, claims, salt=b"")
        if left is not None:
            found.append(Restated(position=position, payload=seal(left.subject, salts(), left.body)))
    return found


def without(
    payload: Payload, erasures: Collection[Erasure], claims: Collection[ClaimId], *, salt: bytes
) -> Payload | None:
    """What `erasures` leave of one payload, under a new salt and digest; `None` where they take nothing from it.

    `claims` are the ids of all claims that they erase, whose transitions go too. An earlier erasure that one of these
    covers becomes that one, since the key of an erased value can be guessed from the value. Of the operations only
    those stay that are of another scope, erased something else, or name claims that all stay and no erased value.
    """
    mine = _about(payload, erasures)
    if not mine:
        return None
    body = load(payload)
    left = _Remains(body, mine, frozenset(claims)).body()
    if left == body:
        return None
    return seal(payload.subject, salt, dump(left))


def destroyed(payload: Payload, at: Instant, reason: str, *, salt: bytes) -> Payload:
    """What is left of a payload about a recorded episode without its words: whose it was, when they went, and why.

    What was made of the words in other words goes with them.
    """
    body = load(payload)
    body[3][Section.RECORDS] = []
    if body[4] is not None:
        body[4][Section.RECORDS] = None
    body[3][Section.VERBATIMS] = [[*row[:2], at, reason] for row in body[3][Section.VERBATIMS]]
    return seal(payload.subject, salt, dump(body))


@dataclass(frozen=True, kw_only=True)
class Cut:
    """What forgetting takes out of payloads that stay."""

    claims: frozenset[ClaimId]
    versions: frozenset[FactId]
    quotes: frozenset[ClaimId]
    """Of these claims, which stay."""
    values: frozenset[tuple[Slot, ValueKey]]
    """Those that no claim is left to say."""
    slots: frozenset[Slot]
    """Those without claims."""
    episodes: frozenset[EpisodeId]
    named: frozenset[str]
    """Ids and sources: an operation that names one of these goes."""

    @cached_property
    def told(self) -> frozenset[object]:
        """What an operation may name of what goes, but for values."""
        return self.claims | self.named

    @cached_property
    def keys(self) -> frozenset[str]:
        """Of the values, as a payload writes them."""
        return frozenset(key.hex() for _, key in self.values)

    @cached_property
    def framed_values(self) -> frozenset[tuple[object, ...]]:
        """The values, each with its slot, as a payload writes them."""
        return frozenset((*_framed(slot), key.hex()) for slot, key in self.values)

    @cached_property
    def framed_slots(self) -> frozenset[tuple[object, ...]]:
        """The slots as a payload writes them."""
        return frozenset(map(_framed, self.slots))


def cut(payloads: Iterable[tuple[int, Payload]], what: Cut, *, salts: Callable[[], bytes]) -> list[Restated]:
    """What is left of the payloads from which forgetting takes something."""
    found = []
    for position, payload in payloads:
        body = load(payload)
        left = _Uncut(body, what, payload).body()
        if left != body:
            found.append(Restated(position=position, payload=seal(payload.subject, salts(), dump(left))))
    return found


def empty(
    payloads: Iterable[tuple[int, Payload]], *, salts: Callable[[], bytes]
) -> tuple[list[Restated], list[Kept], list[tuple[int, Owner]]]:
    """What is left of the payloads about recorded episodes that lose their words, how the episodes are kept from now
    on, and of which payloads nothing is left."""
    found: list[Restated] = []
    kept: list[Kept] = []
    whole: list[tuple[int, Owner]] = []
    for position, payload in payloads:
        body = load(payload)
        owner = EpisodeId(payload.subject or "")
        words = [read_words(row, owner, None) for row in body[3][Section.VERBATIMS]]
        if not words:
            whole.append((position, owner))
        elif isinstance(words[0], WordsGone) or has_words(words[0]):
            left = emptied(words[0])
            sections: list[list[object]] = [[] for _ in Section]
            sections[Section.VERBATIMS] = [words_row(left)]
            shell = dump([body[0], [], [], sections, None])
            found.append(Restated(position=position, payload=seal(owner, salts(), shell)))
            kept.append(left.kept)
    return found, kept, whole


def outlives(detail: Mapping[str, object], erasure: Erasure, claims: Collection[ClaimId]) -> bool:
    """Whether an operation of the erased scope and subject is about something that the erasure leaves.

    `claims` are the ids of all claims that it erases.
    """
    key = None if erasure.value_key is None else erasure.value_key.hex()
    if "predicate" in detail:  # itself an erasure
        predicate, value = detail["predicate"], detail.get("value")
        covered = erasure.predicate in (None, predicate) and key in (None, value)
        return not covered or (erasure.predicate, key) == (predicate, value)
    claim, withdrawn = detail.get("claim"), detail.get("withdrawn")
    named = [claim] if isinstance(claim, str) else []
    named += withdrawn if isinstance(withdrawn, list) else []
    if erasure.predicate is None or not named or any(id in claims for id in named):
        return False
    return key is None or detail.get("old") != key


def _about(payload: Payload, erasures: Collection[Erasure]) -> list[Erasure]:
    return [erasure for erasure in erasures if erasure.subject == payload.subject]


def _erased_claims(payload: Payload, erasures: Sequence[Erasure]) -> list[ClaimId]:
    if not erasures:
        return []
    body = load(payload)
    remains = _Remains(body, erasures, frozenset())
    return [row[0] for row in body[3][Section.CLAIMS] if not remains.stays(Section.CLAIMS, row)]


class _Remains:
    """The body of a payload without what some erasures of its subject take."""

    def __init__(self, body: Row, erasures: Sequence[Erasure], claims: frozenset[ClaimId]) -> None:
        self._format, self._slots, self._values, self._sections, self._places = body
        self._erasures = erasures
        self._claims = claims
        named = [slot for slot in self._slots if slot is not None] + self._sections[Section.ERASURES]
        self._scope: Row | None = named[0][:3] if named else None
        """The one of the transaction; `None` where nothing here tells, then operations may be of any."""

    def body(self) -> Row:
        return rest(
            self._format, self._slots, self._values, self._sections, self._places, self.stays, self._rewritten
        )  # fmt: skip

    def stays(self, section: Section, row: Row) -> bool:
        match section:
            case Section.OPERATIONS:
                return all(
                    not _within(erasure, self._scope) or outlives(row[2], erasure, self._claims)
                    for erasure in self._erasures
                )
            case Section.TRANSITIONS | Section.QUOTES:
                return row[0] not in self._claims
            case Section.SLOTS | Section.REMOVALS:
                return not any(self._hits(erasure, row[0], None) for erasure in self._erasures)
            case Section.CLAIMS | Section.CLOSED | Section.OPENED | Section.HIDDEN | Section.SHOWN | Section.SUPPORT:
                at = SLOT_FIELD[section]
                return not any(self._hits(erasure, row[at], row[at + 1]) for erasure in self._erasures)
            case _:
                return True

    def _rewritten(self, section: Section, rows: list[Row]) -> list[Row]:
        return [self._covered(row) for row in rows] if section is Section.ERASURES else rows

    def _hits(self, erasure: Erasure, slot: int, value: int | None) -> bool:
        if not _within(erasure, self._slots[slot]) or erasure.predicate not in (None, self._slots[slot][3]):
            return False
        return erasure.value_key is None or (value is not None and self._values[value][0] == erasure.value_key.hex())

    def _covered(self, row: Row) -> Row:
        """An earlier erasure, or the widest of these that takes all that it took."""
        for erasure in self._erasures:
            taken = None if erasure.value_key is None else erasure.value_key.hex()
            if _within(erasure, row) and erasure.predicate in (None, row[3]) and taken in (None, row[4]):
                row = [*row[:3], erasure.predicate, taken]
        return row


class _Uncut:
    """The body of a payload without what a cut takes."""

    def __init__(self, body: Row, what: Cut, payload: Payload) -> None:
        self._format, self._slots, self._values, self._sections, self._places = body
        self._cut = what
        self._subject = payload.subject

    def body(self) -> Row:
        return rest(self._format, self._slots, self._values, self._sections, self._places, self._stays)

    def _stays(self, section: Section, row: Row) -> bool:
        what = self._cut
        match section:
            case Section.CLAIMS | Section.TRANSITIONS | Section.HIDDEN | Section.SHOWN:
                return row[0] not in what.claims
            case Section.QUOTES:
                return row[0] not in what.claims and row[0] not in what.quotes
            case Section.CLOSED | Section.OPENED:
                return row[0] not in what.versions
            case Section.SUPPORT:
                return (*self._slot(row[0]), self._values[row[1]][0]) not in what.framed_values
            case Section.SLOTS:
                return self._slot(row[0]) not in what.framed_slots
            case Section.EPISODES:
                return row[0] not in what.episodes
            case Section.OPERATIONS:
                return not self._names(row[2])
            case _:
                return True

    def _slot(self, index: int) -> tuple[object, ...]:
        _, *named = self._slots[index]
        return (self._subject, *named)

    def _names(self, detail: Mapping[str, object]) -> bool:
        """Whether an operation is about something that goes."""
        withdrawn = detail.get("withdrawn")
        named = {detail.get("claim"), detail.get("target"), *(withdrawn if isinstance(withdrawn, list) else ())}
        if not named.isdisjoint(self._cut.told):
            return True
        return detail.get("old") in self._cut.keys or detail.get("value") in self._cut.keys


def rest(
    form: object,
    slots: Sequence[Row | None],
    values: Sequence[Row | None],
    sections: Sequence[list[Row]],
    places: Sequence[list[int] | None] | None,
    stays: Callable[[Section, Row], bool],
    change: Callable[[Section, list[Row]], list[Row]] = lambda _, rows: rows,
) -> Row:
    """The body with those rows alone that stay, each at its place, and what they name in its tables."""
    left: list[list[Row]] = []
    left_places: list[list[int] | None] | None = None if places is None else [None] * len(Section)
    for section in Section:
        rows = sections[section]
        kept = [index for index, row in enumerate(rows) if stays(section, row)]
        left.append(change(section, [rows[index] for index in kept]))
        listed = None if places is None else places[section]
        if left_places is not None and listed is not None:
            left_places[section] = [listed[index] for index in kept]
    used = {row[at] for section, at in SLOT_FIELD.items() for row in left[section]}
    used_values = {
        row[at + 1]
        for section, at in SLOT_FIELD.items()
        if section not in (Section.SLOTS, Section.REMOVALS)
        for row in left[section]
    }
    return [form, _only(used, slots), _only(used_values, values), left, left_places]


def _framed(slot: Slot) -> tuple[object, ...]:
    return slot.subject, slot.scope.namespace, slot.scope.purpose, slot.predicate, slot.language


def _only(used: set[int | None], table: Sequence[Row | None]) -> list[Row | None]:
    """A table with nothing in it but what rows still name; the others keep their index."""
    return [row if index in used else None for index, row in enumerate(table)] if used - {None} else []


def _within(erasure: Erasure, scoped: Row | None) -> bool:
    """Whether a row that begins with a scope may be of that of an erasure; the tenant may be named as it was before."""
    return scoped is None or scoped[1:3] == [erasure.scope.namespace, erasure.scope.purpose]
