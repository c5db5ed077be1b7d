"""What a handoff comes down to for whoever reads it now: its facts as memory has them, and a text for a model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from graph.fence import fenced, visible
from graph.naming import names_of
from graph.ports import Page, Reader
from graph.sentences import Names, sentence
from ontology.echoes import marker
from ontology.errors import NotFound
from ontology.facts import AsOf, Fact, ends
from ontology.handoffs import Handoff
from ontology.ids import EntityId, FactId
from ontology.instants import OPEN_END, Instant, format_instant
from ontology.schema import Schema

NOW_MAX: Final = 5
"""So many values are told that hold instead of one that changed."""


class Standing(StrEnum):
    """What became of a pinned fact. Clients must tolerate more members."""

    CURRENT = "current"
    """It is believed as it was pinned."""
    CHANGED = "changed"
    """Memory believes otherwise by now."""
    OVER = "over"
    """It is believed, of a time that is past."""
    EXPIRED = "expired"
    """Its retention is over."""
    FORGOTTEN = "forgotten"
    """It is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """A fact of a handoff."""

    id: FactId
    standing: Standing
    fact: Fact | None
    """As it was pinned; `None` for one that is gone, or not served any more."""
    instead: Sequence[Fact]
    """Of one that changed: what holds now under its subject and predicate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    facts: Sequence[Pinned]
    text: str
    """All that a model needs to see."""


def handed(reader: Reader, schema: Schema, handoff: Handoff, as_of: AsOf, served_at: Instant) -> Handed:
    """A handoff at two instants, which are now; `served_at` is by when it is judged what has expired."""
    facts = [_pinned(reader, id, as_of, served_at) for id in handoff.facts]
    shown = [fact for each in facts for fact in (each.fact, *each.instead) if fact is not None]
    names = names_of(reader, _entities(shown), as_of)
    lines = [*_lines(handoff), *(_line(each, names, schema) for each in facts)]
    lines += [f"rejected, do not do again: {visible(each.what)}{_because(each.why)}" for each in handoff.rejected]
    after = [f"{handoff.lost} of its lines and facts were forgotten since it was made."] if handoff.lost else []
    made = f"Handed over by {visible(handoff.sender)} at {format_instant(handoff.made_at)}."
    return Handed(facts=facts, text=fenced([made], lines or ["(nothing is left of it)"], after))


def _pinned(reader: Reader, id: FactId, as_of: AsOf, served_at: Instant) -> Pinned:
    try:
        fact = reader.fact(id)
    except NotFound:
        return Pinned(id=id, standing=Standing.FORGOTTEN, fact=None, instead=())
    version = fact.version
    if fact.expires_at <= served_at:
        return Pinned(id=id, standing=Standing.EXPIRED, fact=None, instead=())
    if version.recorded_to != OPEN_END:
        slot = (version.slot.subject, version.slot.predicate)
        instead = reader.state([slot], as_of, certain=False, page=Page(NOW_MAX))
        return Pinned(id=id, standing=Standing.CHANGED, fact=fact, instead=instead)
    over = version.valid_to <= as_of.valid_at
    return Pinned(id=id, standing=Standing.OVER if over else Standing.CURRENT, fact=fact, instead=())


def _lines(handoff: Handoff) -> Iterator[str]:
    if handoff.task is not None:
        yield f"task: {visible(handoff.task)}"
    yield from (f"must: {visible(each)}" for each in handoff.requirements)
    yield from (f"within: {visible(each)}" for each in handoff.constraints)
    if handoff.format is not None:
        yield f"format: {visible(handoff.format)}"


def _line(pinned: Pinned, names: Names, schema: Schema) -> str:
    if pinned.fact is None:
        return f"- a fact that is {pinned.standing.value} since"
    line = f"- {_told(pinned.fact, names, schema)} ({pinned.standing.value}) {marker(pinned.fact.version.id)}"
    if pinned.standing is not Standing.CHANGED:
        return line
    now = "; ".join(f"{_told(each, names, schema)} {marker(each.version.id)}" for each in pinned.instead)
    return f"{line} now: {now or 'nothing is believed'}"


def _told(fact: Fact, names: Names, schema: Schema) -> str:
    return visible(sentence(fact.version, names, schema))


def _because(why: str | None) -> str:
    return "" if why is None else f" ({visible(why)})"


def _entities(facts: Sequence[Fact]) -> Iterator[EntityId]:
    for fact in facts:
        yield from ends(fact.version.slot, fact.version.value)
