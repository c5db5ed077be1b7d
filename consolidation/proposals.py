"""What is asked of the writer for what an extractor proposes: an item, how far it is trusted, and why it would wait.

Nothing that an extractor says of its own candidate raises what it is worth: trust comes from the episode and from who
read it, a model's confidence is bounded by its trust, and its corrections wait for a reviewer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from consolidation.confidence import PRIOR
from consolidation.extraction.base import ByKey, ByName, Candidate, EpisodeText, Hold, Me, Operation
from consolidation.extraction.base import Trust as ReadBy
from consolidation.items import Absent, Assert, Item, Quoted, Read, Replace, Retract, Said
from consolidation.naming import Names, doubt_of
from consolidation.policy import Held
from consolidation.vouching import held_by
from ontology.claims import Lifecycle, Trust
from ontology.echoes import MARKERS_MAX, marker, recalled
from ontology.episodes import RecordedEpisode, Vouched
from ontology.errors import shown
from ontology.ids import FactId
from ontology.instants import format_instant

NAME: Final = "name"
"""The core predicate under which a new entity is called what the text calls it."""
UNMAPPED: Final = "unmapped"
CORRECTION: Final = "correction"
NOTHING_TO_CORRECT: Final = "nothing-to-correct"
AMBIGUOUS_CORRECTION: Final = "ambiguous-correction"
_REASON_CHARS: Final = 500


class Unwritable(Exception):
    """Why a candidate becomes no item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An item of a transaction."""

    item: Item
    candidate: Candidate | None
    """`None` for what names a new entity."""
    instead: Assert | None
    """What waits for a reviewer where the item, a correction, is refused; `None` for what is no correction."""

    def waiting(self, refused: str) -> "Step":
        """The step that waits, since the correction was refused for this reason."""
        if self.instead is None:
            raise AssertionError("only a correction waits instead")
        doubt = _waits(CORRECTION, f"it was refused as a correction: {refused}"[:_REASON_CHARS])
        item = replace(self.instead, said=replace(self.instead.said, read=_doubting(self.instead.said, doubt)))
        return Step(item=item, candidate=self.candidate, instead=None)


class Proposals:
    """The candidates of one episode as items."""

    def __init__(self, episode: RecordedEpisode, vouched: Vouched, text: EpisodeText, model_trust: Trust) -> None:
        """`model_trust` is the most that what a model concludes is trusted."""
        self._episode = episode
        self._vouched = vouched
        self._text = text
        self._model_trust = model_trust
        self._echoes = _Echoes(text)

    def steps(self, candidate: Candidate, names: Names) -> Iterator[Step]:
        """The items that name who is new, then that of the candidate. Raises `Unwritable`."""
        doubts = self._doubts(candidate)
        place = f"{candidate.span.turn or 0}:{candidate.span.start}"
        subject = names.of(candidate.subject, doubts, f"{place} subject")
        value = candidate.value
        if isinstance(value, ByKey | ByName):
            value = {"type": "entity", **names.of(value, doubts, f"{place} value")}
        trust = self._trust(candidate)
        fact = None
        if candidate.operation is Operation.REPLACE and not doubts:
            fact = self._corrected(candidate, trust, names.facts(subject, candidate.predicate), doubts)
        said = self._said(candidate, trust)
        if doubts or trust is Trust.UNTRUSTED:
            names.take_back()
        for key, name in names.new():
            named = replace(said, valid_from=None, valid_to=None, date_semantics=None, confidence=None)
            item = Assert(subject={"key": key}, predicate=NAME, value=name, said=named)
            yield Step(item=item, candidate=None, instead=None)
        reason = f"corrected in {self._episode.episode.id}"
        asked, instead = _items(candidate, subject, value, said, doubts, fact, reason)
        yield Step(item=asked, candidate=candidate, instead=instead)

    def _trust(self, candidate: Candidate) -> Trust:
        most = self._model_trust if candidate.extractor.trust is ReadBy.INFERRED else Trust.VERIFIED
        return min(self._vouched.trust, most)

    def _doubts(self, candidate: Candidate) -> list[Held]:
        doubts = [doubt_of(hold) for hold in candidate.holds]
        if isinstance(candidate.subject, Me) and Hold.SPEAKER_UNKNOWN not in candidate.holds:
            doubts.append(doubt_of(Hold.SPEAKER_UNKNOWN))
        signature = held_by(self._vouched, self._episode.episode.source)
        if signature is not None:
            doubts.insert(0, signature)
        if candidate.unmapped:
            reason = f"the schema declares no predicate {shown(candidate.predicate)}"
            doubts.append(Held(state=Lifecycle.STAGED, rule=UNMAPPED, reason=reason))
        return doubts

    def _corrected(
        self, candidate: Candidate, trust: Trust, facts: list[FactId], doubts: list[Held]
    ) -> FactId | None:  # fmt: skip
        """The fact that a correction means: the one that it names, if that is of its slot, or the only one there is."""
        if trust < Trust.OBSERVED:
            doubts.append(_waits(CORRECTION, f"what is {trust.word} corrects nothing by itself"))
        elif candidate.compares_to in facts:
            return candidate.compares_to
        elif len(facts) == 1:
            return facts[0]
        elif facts:
            doubts.append(_waits(AMBIGUOUS_CORRECTION, "several values are believed that this could correct"))
        else:
            doubts.append(_waits(NOTHING_TO_CORRECT, "nothing is believed that this could correct"))
        return None

    def _said(self, candidate: Candidate, trust: Trust) -> Said:
        stated, span, at = candidate.stated, candidate.span, self._text.at(candidate.span.turn)
        episode, confidence = self._episode.episode, candidate.confidence
        if confidence is not None and trust < Trust.OBSERVED:
            confidence = min(confidence, PRIOR[trust])
        return Said(
            valid_from=stated.valid_from,
            valid_to=stated.valid_to,
            zone=stated.zone,
            date_semantics=None if stated.semantics is None else stated.semantics.value,
            observed_at=None if at is None else format_instant(at.instant),
            source=episode.source,
            episode=episode.id,
            root=episode.root,
            confidence=confidence,
            quote=Quoted(turn=span.turn, start=span.start, end=span.end, text=span.quote),
            trust=trust.word,
            recalled=self._echoes.of(span.turn),
            read=Read(doubt=None, session=self._session(span.turn)),
        )

    def _session(self, turn: int | None) -> str | None:
        """The session whose served lines are no news: not where a person says "I"."""
        return None if self._echoes.is_me(turn) else self._text.session


def _items(
    candidate: Candidate, subject: dict[str, str], value: object, said: Said, doubts: list[Held],
    fact: FactId | None, reason: str,
) -> tuple[Item, Assert | None]:  # fmt: skip
    """The item of a candidate, and what waits where that is a correction which cannot be done at once."""
    predicate = candidate.predicate
    doubted = replace(said, read=_doubting(said, _together(doubts)))
    if candidate.operation is Operation.RETRACT:
        return Retract(subject=subject, predicate=predicate, value=value, said=doubted), None
    asserted = Assert(subject=subject, predicate=predicate, value=value, said=doubted)
    if candidate.operation is Operation.ASSERT:
        return asserted, None
    if isinstance(value, Absent):
        if fact is None:
            raise Unwritable(_together_reason(doubts) or "a correction without a value")
        return Replace(fact=fact, value=value, said=said, reason=reason), None
    if fact is None:
        return asserted, None
    return Replace(fact=fact, value=value, said=said, reason=reason), asserted


class _Echoes:
    """The markers of recalled memory that whoever says something in an episode has before their eyes."""

    def __init__(self, text: EpisodeText) -> None:
        self._text = text
        self._own: dict[int | None, list[FactId]] = {}
        self._before: dict[int | None, list[FactId]] = {}
        seen: list[FactId] = []
        for turn, passage in text.passages():
            self._own[turn], self._before[turn] = recalled(passage), seen
            seen = list(dict.fromkeys([*seen, *self._own[turn]]))[-MARKERS_MAX:] if self._own[turn] else seen

    def is_me(self, turn: int | None) -> bool:
        """Whether the person who is named as the one that says "I" speaks here."""
        return self._text.me is not None and self._text.speaker(turn) == self._text.me

    def of(self, turn: int | None) -> str | None:
        """Those of the passage, and for an agent those of the turns before it: a person who says "I" says it anew."""
        markers = list(self._own.get(turn, ()))
        if not self.is_me(turn):
            markers += self._before.get(turn, ())
        return " ".join(map(marker, dict.fromkeys(markers))) or None


def _doubting(said: Said, doubt: Held | None) -> Read:
    return Read(doubt=doubt, session=None if said.read is None else said.read.session)


def _waits(rule: str, reason: str) -> Held:
    return Held(state=Lifecycle.QUARANTINED, rule=rule, reason=reason)


def _together(doubts: list[Held]) -> Held | None:
    """One hold for all reasons: by the first that needs a reviewer, else by the first."""
    first = next((doubt for doubt in doubts if doubt.state is Lifecycle.QUARANTINED), doubts[0] if doubts else None)
    return None if first is None else replace(first, reason=_together_reason(doubts))


def _together_reason(doubts: list[Held]) -> str:
    return "; ".join(dict.fromkeys(doubt.reason for doubt in doubts))
