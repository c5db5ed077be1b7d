"""Everything that is held on a subject, as one list: section after section, each in its own total order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from api.authority import sees_held
from api.cursors import CursorKey
from api.routes.history import told_as_known
from api.routes.reading import CEILING, Question
from api.sensitive import note
from api.wire import rendering
from api.wire.episodes import episode_document
from api.wire.rendering import Wire
from consolidation.forgetting.graves import Graves
from consolidation.forgetting.mentions import Mentions, mentioning
from graph.naming import ALIAS, NAME
from graph.periods import ALWAYS, valid_order
from graph.ports import Order, OrderKey, Page
from ontology.claims import HELD, Entity, Told
from ontology.episodes import RecordedEpisode
from ontology.errors import JSON
from ontology.facts import Fact
from ontology.ids import EpisodeId
from ontology.retention import terms_of
from ontology.values import entity_value, value_key

SCAN: Final = 200
"""So many claims, episodes or tombstones are looked at for one page where most of them may be of others."""

SHAPE: Final = (int, int, int, int, int, str)
"""Of a cursor: the section, whether it was begun, and the place in it: three numbers, or the id of an episode."""
BEGINNING: Final[CursorKey] = (0, 0, 0, 0, 0, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a section was left."""

    key: OrderKey = (0, 0, 0)
    episode: str = ""


Rows = tuple[list[JSON], Place | None]
"""Rows of a section, and where to go on; `None` at its end."""
Section = Callable[[Question, Entity, Place | None, int], Rows]


def page_of(question: Question, subject: Entity) -> tuple[list[JSON], CursorKey | None]:
    """A page of the list, and where the next one begins."""
    number, place = _begins(question.after)
    items: list[JSON] = []
    while number < len(SECTIONS):
        rows, place = SECTIONS[number](question, subject, place, question.limit - len(items))
        items += rows
        if place is not None:
            return items, (number, 1, *place.key, place.episode)
        number += 1
        if len(items) == question.limit and number < len(SECTIONS):
            return items, (number, 0, 0, 0, 0, "")
    return items, None


def is_held(question: Question, subject: Entity) -> bool:
    """Whether the scope holds anything of a subject that the caller may be shown, or pointed at it."""
    reader, one = question.reader, Page(1)
    at = value_key(entity_value(subject.id))
    known_at, order = question.as_of.known_at, Order.VALID
    return bool(
        reader.claims(subject.id, None, limit=1, after=None)
        or reader.holders_history(at, None, known_at, ALWAYS, certain=False, order=order, page=one)
    )


def held_but_hidden(question: Question, subject: Entity) -> Wire:
    """How many claims about a subject wait, or were rejected, that the caller is not shown."""
    reader, count, read = question.reader, 0, 0
    after: OrderKey | None = None
    while read < CEILING and (told := reader.claims(subject.id, None, limit=SCAN, after=after)):
        count += sum(_is_hidden(question, each) for each in told)
        read += len(told)
        after = _recorded_order(told[-1])
    return {"count": count, "complete": read < CEILING}


def _begins(after: CursorKey | None) -> tuple[int, Place | None]:
    match after:
        case (int(number), int(begun), int(a), int(b), int(c), str(episode)):
            return max(number, 0), Place(key=(a, b, c), episode=episode) if begun else None
    return 0, None


# ---- the sections


def _facts(question: Question, subject: Entity, after: Place | None, limit: int) -> Rows:
    """What is believed of it, whenever it holds."""
    page = Page(limit + 1, None if after is None else after.key)
    found = question.reader.history(
        subject.id, None, question.as_of.known_at, ALWAYS, certain=False, order=Order.VALID, page=page
    )
    return _rendered(question, "fact", subject, found, limit)


def _mentions(question: Question, subject: Entity, after: Place | None, limit: int) -> Rows:
    """What is believed of others, and points at it."""
    page = Page(limit + 1, None if after is None else after.key)
    found = question.reader.holders_history(
        value_key(entity_value(subject.id)), None, question.as_of.known_at, ALWAYS, certain=False, order=Order.VALID,
        page=page,
    )  # fmt: skip
    return _rendered(question, "mention", subject, found, limit)


def _claims(question: Question, subject: Entity, after: Place | None, limit: int) -> Rows:
    """What was said of it, also what ended, or was never believed."""
    told = question.reader.claims(subject.id, None, limit=limit + 1, after=None if after is None else after.key)
    shown = [each for each in told[:limit] if _is_known(question, each) and not _is_hidden(question, each)]
    more = Place(key=_recorded_order(told[limit - 1])) if len(told) > limit else None
    return _told(question, "claim", shown), more


def _held_mentions(question: Question, subject: Entity, after: Place | None, limit: int) -> Rows:
    """What was said of others, points at it, and waits."""
    value = value_key(entity_value(subject.id))
    read = question.reader.held(HELD, None, limit=SCAN, after=None if after is None else after.key)
    found: list[Told] = []
    for each in read:
        mine = each.claim.entry.value == value and each.claim.slot.subject != subject.id
        if mine and _is_known(question, each) and sees_held(question.call.principal, each):
            if len(found) == limit:
                return _told(question, "held_mention", found), Place(key=_recorded_order(found[-1]))
            found.append(each)
    more = Place(key=_recorded_order(read[-1])) if len(read) == SCAN else None
    return _told(question, "held_mention", found), more


def _episodes(question: Question, subject: Entity, after: Place | None, limit: int) -> Rows:
    """Recorded episodes of which the words mention it, or which claims about it cite."""
    mentions = _mentions_of(question, subject)
    last = EpisodeId(after.episode) if after is not None and after.episode else None
    read = question.reader.recorded_episodes(limit=SCAN, after=last)
    items: list[JSON] = []
    for each in read:
        if len(items) == limit:
            return items, Place(episode=last or "")
        if each.recorded_at <= question.as_of.known_at and (row := _episode(question, subject, each, mentions)):
            items.append(row)
        last = each.episode.id
    return items, Place(episode=last or "") if len(read) == SCAN else None


def _tombstones(question: Question, subject: Entity, after: Place | None, limit: int) -> Rows:
    """That something of it was forgotten; no word of what."""
    graves = Graves(question.reader, shown=True)
    position = 0 if after is None else after.key[0]
    items: list[JSON] = []
    read = question.reader.tombstones(limit=SCAN, after=position)
    for stone in read:
        if len(items) == limit:
            return items, Place(key=(position, 0, 0))
        if stone.subject == subject.id and graves.meets(stone):
            at = rendering.instant(stone.recorded_at)
            items.append({"section": "tombstone", "id": stone.id, "target": stone.target.value, "recorded_at": at})
        position = stone.position
    return items, Place(key=(position, 0, 0)) if len(read) == SCAN else None


SECTIONS: Final[Sequence[Section]] = (_facts, _mentions, _claims, _held_mentions, _episodes, _tombstones)
"""In the order of the list; each is asked for one row at least."""


# ---- what they share


def _rendered(question: Question, section: str, subject: Entity, found: Sequence[Fact], limit: int) -> Rows:
    shown = found[:limit]
    versions = [fact.version for fact in shown]
    names = rendering.names_in(question.reader, versions, {subject.id: subject})
    heads = rendering.versions_of(question.reader, versions)
    known_at, served_at = question.as_of.known_at, question.served_at
    items: list[JSON] = []
    for fact in shown:
        path = f"/v1/facts/{fact.version.id}"
        acts: Wire = {"replace": f"{path}/replace", "retract": f"{path}/retract", "evidence": f"{path}/evidence"}
        row = rendering.fact(fact, names, heads, known_at, served_at)
        items.append({"section": section, **row, **_retention(question, fact.version.slot.predicate), "acts": acts})
    if len(found) <= limit:
        return items, None
    return items, Place(key=valid_order(shown[-1].version))


def _told(question: Question, section: str, told: Sequence[Told]) -> list[JSON]:
    names = rendering.names_told(question.reader, told)
    items: list[JSON] = []
    for each in told:
        acts: Wire = {"withdraw": f"/v1/claims/{each.claim.id}/withdraw"}
        if each.held is not None:
            acts = {"review": f"/v1/review/{each.claim.id}"}
        row = rendering.claim(told_as_known(each, question.as_of.known_at), names, question.served_at)
        items.append({"section": section, **row, **_retention(question, each.claim.slot.predicate), "acts": acts})
    return items


def _retention(question: Question, predicate: str) -> Wire:
    """What happens when its time is over."""
    terms = terms_of(question.call.schemas.of(question.reader).predicate(predicate))
    return {"at_the_end": terms.ends.value}


def _episode(question: Question, subject: Entity, recorded: RecordedEpisode, mentions: Mentions) -> Wire | None:
    """An episode without its words, if it is about the subject."""
    id, words = recorded.episode.id, recorded.verbatim
    at = value_key(entity_value(subject.id))
    told = question.reader.claims_of_episode(id)
    cites = [t for t in told if subject.id == t.claim.slot.subject or t.claim.entry.value == at]
    named = False
    if words is not None:
        texts = [words.body] if isinstance(words.body, str) else [f"{t.speaker} {t.text}" for t in words.body]
        named = any(mentions(text) for text in texts)
    if not (cites or named):
        return None
    for each in cites:
        note(each.claim.slot.subject, each.claim.slot.predicate)
    document = episode_document(recorded)
    shown: Wire = {name: value for name, value in document.items() if name not in ("text", "turns", "me", "key")}
    acts: Wire = {"read": f"/v1/episodes/{id}", "forget": "/v1/forget"}
    return {"section": "episode", **shown, "mentions": named, "cited": bool(cites), "acts": acts}


def _mentions_of(question: Question, subject: Entity) -> Mentions:
    """What finds the names and the key of a subject, those that it had once too."""
    words = [] if subject.key is None else [subject.key]
    page = Page(SCAN)
    for predicate in (NAME, ALIAS):
        found = question.reader.history(
            subject.id, predicate, question.as_of.known_at, ALWAYS, certain=False, order=Order.VALID, page=page
        )
        words += [fact.version.value.text for fact in found]
    return mentioning(dict.fromkeys(words))


def _is_known(question: Question, told: Told) -> bool:
    return told.claim.recorded_at <= question.as_of.known_at


def _is_hidden(question: Question, told: Told) -> bool:
    """Whether it was never believed, and is for others to see."""
    return told.folded_from > question.as_of.known_at and not sees_held(question.call.principal, told)


def _recorded_order(told: Told) -> OrderKey:
    return told.claim.entry.position, told.claim.entry.ordinal, 0
