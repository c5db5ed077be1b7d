"""Which facts does memory hold about what an episode may speak of? For a model to compare with, and bounded.

Looked for are those who speak and what is written like a name: words that begin with a capital letter or hold a digit.
A predicate that is sensitive is left out: a model may be somebody else's machine.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from consolidation.extraction.base import ByKey, ByName, EpisodeText, Known, Me
from consolidation.naming import NAMESAKES
from graph.ports import Page, Reader
from graph.state import resolve_for
from ontology.facts import AsOf, Fact
from ontology.ids import EntityId
from ontology.instants import Instant
from ontology.schema import Schema
from ontology.tombstones import normalised
from ontology.values import ValueType

NAMES_MAX: Final = 40
"""So many names of an episode are looked for, those that come first."""
FACTS_MAX: Final = 100
CALLED: Final = ("name", "alias", "type")
"""What says who somebody is, and nothing of them."""

_WORD: Final = re.compile(r"[^\W_][\w'’.-]*[^\W_]|[^\W_]")
_WORDS_MAX: Final = 4
"""Of one name."""
_SCANNED: Final = 100_000
"""So many characters of each passage are looked through."""


def known_facts(reader: Reader, now: Instant, text: EpisodeText, schema: Schema) -> Sequence[Known]:
    """What is believed now of those whom the episode names, at most 100 facts."""
    as_of = resolve_for(reader, now, None, None)
    subjects = _subjects(reader, as_of, text)
    if not subjects:
        return ()
    asked = [(id, None) for id in subjects]
    hidden = {*CALLED, *(name for name, each in schema.predicates.items() if each.governance.sensitive)}
    found = reader.state(asked, as_of, certain=False, page=Page(FACTS_MAX))
    facts = [fact for fact in found if fact.version.slot.predicate not in hidden]
    values = _called(reader, as_of, facts)
    return [_known(fact, subjects, values) for fact in facts]


def _known(fact: Fact, subjects: dict[EntityId, ByKey | ByName], called: dict[str, str]) -> Known:
    version = fact.version
    told = f"{version.value.text} {version.value.qualifier}".strip()
    return Known(
        id=version.id, subject=subjects[version.slot.subject], predicate=version.slot.predicate,
        value=called.get(version.value.text, told),
    )  # fmt: skip


def _subjects(reader: Reader, as_of: AsOf, text: EpisodeText) -> dict[EntityId, ByKey | ByName]:
    """Who is named and known, each as the episode names it; who shares a name with another is left out."""
    mentions = list(dict.fromkeys(_mentions(text)))[:NAMES_MAX]
    keys = {mention.key if isinstance(mention, ByKey) else normalised(mention.name) for mention in mentions}
    keys |= {mention.name for mention in mentions if isinstance(mention, ByName)}
    by_key = reader.entities_by_key(sorted(keys)) if keys else {}
    found: dict[EntityId, ByKey | ByName] = {}
    for mention in mentions:
        if isinstance(mention, ByKey):
            known = by_key.get(mention.key)
        else:
            named = reader.list_entities(as_of, type=None, name=mention.name, limit=NAMESAKES, after=None)
            if len(named) == NAMESAKES:
                continue
            known = named[0] if named else by_key.get(mention.name) or by_key.get(normalised(mention.name))
        if known is not None:
            found.setdefault(known.id, mention)
    return found


def _mentions(text: EpisodeText) -> Iterator[ByKey | ByName]:
    for turn, passage in text.passages():
        speaker = text.speaker(turn)
        if not isinstance(speaker, Me):
            yield speaker
        for name in _names(passage[:_SCANNED]):
            yield ByName(name=name)


def _names(passage: str) -> Iterator[str]:
    """Runs of words that look like names, the whole run before its parts."""
    run: list[str] = []
    end = 0
    for word in _WORD.finditer(passage):
        looks = word[0][0].isupper() or any(character.isdigit() for character in word[0])
        if run and not (looks and passage[end : word.start()].isspace()):
            yield from _parts(run)
            run = []
        if looks:
            run.append(word[0])
            end = word.end()
    yield from _parts(run)


def _parts(run: list[str]) -> Iterator[str]:
    if 1 < len(run) <= _WORDS_MAX:
        yield " ".join(run)
    yield from run


def _called(reader: Reader, as_of: AsOf, facts: Sequence[Fact]) -> dict[str, str]:
    """The values that are entities, as people call them: by name, else by key."""
    ids = [EntityId(f.version.value.text) for f in facts if f.version.value.type is ValueType.ENTITY]
    if not ids:
        return {}
    called: dict[str, str] = {id: entity.key or id for id, entity in reader.entities_by_id(ids).items()}
    named = reader.state([(id, CALLED[0]) for id in dict.fromkeys(ids)], as_of, certain=False, page=Page(FACTS_MAX))
    for fact in reversed(named):
        called[fact.version.slot.subject] = fact.version.value.text
    return called
