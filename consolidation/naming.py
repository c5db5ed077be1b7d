"""Who is meant by the mentions of one episode: by key, by name or alias, else somebody new.

Nobody is guessed. Where it is open who is meant, a claim that waits is about a stand-in: a thing of its own, whose key
says where it is named. It does not say the name, or forgetting those who have it would miss it.
"""

from collections.abc import Iterator
from typing import Final

from consolidation.extraction.base import ByKey, ByName, Hold, Me, Mention
from consolidation.forgetting.graves import FORGOTTEN, Graves
from consolidation.policy import Held
from graph.ports import Order, Page, Reader
from graph.state import resolve_for
from ontology.claims import Lifecycle
from ontology.errors import shown
from ontology.ids import EntityId, EpisodeId, FactId
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.intervals import Interval
from ontology.tombstones import normalised

AMBIGUOUS_NAME: Final = "ambiguous-name"
NAMESAKES: Final = 2
"""So many entities of one name are too many to know who is meant."""
FACTS_MAX: Final = 50
_EVER: Final = Interval(OPEN_START, OPEN_END)


class Names:
    """What the mentions of one episode stand for, as of one snapshot."""

    def __init__(self, reader: Reader, now: Instant, episode: EpisodeId) -> None:
        self._reader = reader
        self._as_of = resolve_for(reader, now, None, None)
        self._episode = episode
        self._graves = Graves(reader)
        self._known: dict[str, dict[str, str]] = {}
        self._new: list[tuple[str, str]] = []
        self._made: set[str] = set()

    def of(self, mention: Mention, doubts: list[Held], place: str) -> dict[str, str]:
        """A key or an id; where it is open who is meant, that of a stand-in for this place, and one doubt more."""
        match mention:
            case ByKey(key=key):
                return {"id": key} if key.startswith("ent_") else {"key": key}
            case ByName(name=name):
                if name not in self._known:
                    self._known[name] = self._find(name)
                found = self._known[name]
                if FORGOTTEN in found:
                    reason = f"the name was forgotten ({found[FORGOTTEN]}), and may be that of somebody else"
                    doubts.append(Held(state=Lifecycle.QUARANTINED, rule=FORGOTTEN, reason=reason))
                    return self._stand_in(place)
                if not found:
                    reason = f"several are called {shown(name)}, and nobody told which one is meant"
                    doubts.append(Held(state=Lifecycle.QUARANTINED, rule=AMBIGUOUS_NAME, reason=reason))
                    return self._stand_in(place)
                return found
            case Me():  # whoever checked the candidate has the doubt
                return self._stand_in(place)

    def new(self) -> Iterator[tuple[str, str]]:
        """The (key, name) of each entity that is new since this was asked last."""
        new, self._new = self._new, []
        yield from new

    def take_back(self) -> None:
        """Let nobody be new since this was asked last: what names them waits, and is no reason to name anybody."""
        keys = {key for key, _ in self.new()}
        self._made -= keys
        self._known = {name: named for name, named in self._known.items() if named.get("key") not in keys}

    def facts(self, subject: dict[str, str], predicate: str) -> list[FactId]:
        """What is believed now of a subject under a predicate, at most 50 facts."""
        id = EntityId(subject.get("id", ""))
        if not id:
            known = self._reader.entities_by_key([subject["key"]]).get(subject["key"])
            if known is None:
                return []
            id = known.id
        found = self._reader.state([(id, predicate)], self._as_of, certain=False, page=Page(FACTS_MAX))
        return [fact.version.id for fact in found]

    def _find(self, name: str) -> dict[str, str]:
        """A key or an id; empty where several have the name, and a tombstone where nobody has who once had it."""
        folded = normalised(name)
        for text in dict.fromkeys((name, " ".join(name.split()))):
            named = self._reader.list_entities(self._as_of, type=None, name=text, limit=NAMESAKES, after=None)
            if len(named) == NAMESAKES:
                return {}
            if named:
                return {"id": named[0].id}
        keys = list(dict.fromkeys((name, folded)))
        known = self._reader.entities_by_key(keys)
        for key in keys:
            if key in known and (key != folded or not self._is_unseen(known[key].id)):
                return {"id": known[key].id}
        stone = self._graves.holding(name)
        if stone is not None:
            return {FORGOTTEN: stone.id}
        if folded not in self._made:
            self._made.add(folded)
            self._new.append((folded, " ".join(name.split())))
        return {"key": folded}

    def _is_unseen(self, id: EntityId) -> bool:
        """Whether nothing is believed of it, so that nothing says what it is called either."""
        known_at = self._as_of.known_at
        page = Page(1)
        return not self._reader.history(id, None, known_at, _EVER, certain=False, order=Order.VALID, page=page)

    def _stand_in(self, place: str) -> dict[str, str]:
        return {"key": f"? {self._episode} {place}"}


def doubt_of(hold: Hold) -> Held:
    """Why a candidate that an extractor marked so waits."""
    match hold:
        case Hold.QUOTE_MISSING:
            reason = "the words that it quotes do not stand in the episode"
        case Hold.SPEAKER_UNKNOWN:
            reason = "it speaks of 'I', and nobody told who that is"
        case Hold.UNDATED:
            reason = "it ends or changes something, and nobody told when"
    return Held(state=Lifecycle.QUARANTINED, rule=hold.value.replace("_", "-"), reason=reason)
