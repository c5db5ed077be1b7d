"""What is written for a profile: claims like all others, but short and few, since all of them are read every time."""

from typing import Final, NoReturn

from consolidation.slotwork import SlotWork
from graph.ports import Page, Transaction
from graph.profile import PROFILE_NOTE
from ontology.claims import Claim
from ontology.errors import Refused, Violation, shown
from ontology.facts import AsOf
from ontology.instants import Instant
from ontology.values import ValueKey

NOTES_MAX: Final = 10
"""Of one subject, at once."""
CHARS_MAX: Final = 200
_PAGE: Final = 200


def check_note(tx: Transaction, work: SlotWork, claim: Claim, now: Instant, *, replaces: bool) -> None:
    """Raise `Refused` for a note that is too long, or one more than a profile takes; one that `replaces` is no more.

    Counted is what holds now and what the same transaction adds, without what it takes away.
    """
    value = claim.value
    if claim.slot.predicate != PROFILE_NOTE or value is None or not claim.entry.asserts:
        return
    if len(value.text) > CHARS_MAX:
        _refuse("too_long", f"a profile note of {len(value.text)} characters, {CHARS_MAX} at most; shorten it")
    if not replaces:
        notes = _standing(tx, work, now)
        if claim.entry.value not in notes and len(notes) - len(work.removed) >= NOTES_MAX:
            subject = shown(claim.slot.subject)
            _refuse("too_many", f"the profile of {subject} has {NOTES_MAX} notes, the most; retract or replace one")


def _standing(tx: Transaction, work: SlotWork, now: Instant) -> set[ValueKey]:
    as_of = AsOf(valid_at=now, known_at=tx.head.recorded_at)
    found = tx.state([(work.slot.subject, PROFILE_NOTE)], as_of, certain=False, page=Page(_PAGE))
    notes = {fact.version.value_key for fact in found if not work.is_erased(fact.version.value_key)}
    for entry in (claim.entry for claim in work.added):
        if entry.value is None:
            notes.clear()
        elif entry.asserts:
            notes.add(entry.value)
        else:
            notes.discard(entry.value)
    return notes


def _refuse(code: str, detail: str) -> NoReturn:
    raise Refused(detail, violations=(Violation(pointer="/value", code=code, detail=detail),))
