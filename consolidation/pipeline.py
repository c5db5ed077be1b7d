"""From the words of an episode to claims: read them, find out who is meant, write in small transactions.

Nothing is written while an extractor reads, which may take long. Each transaction goes under an idempotency key of
its own, made from the episode and the number of the transaction: whoever reads an episode again, because the
worker before was killed, finds what was written and goes on behind it. A claim that comes twice all the same is a
duplicate to the writer, since it cites the episode.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import orjson

from consolidation.extraction.base import (
    ByKey,
    ByName,
    Candidate,
    Code,
    EpisodeText,
    Extraction,
    Me,
    Mention,
    Observed,
    Operation,
    Span,
)
from consolidation.extraction.base import Turn as TurnText
from consolidation.idempotency import restored
from consolidation.items import Assert, Item, Quoted, Replace, Retract, Said
from consolidation.write import Writer
from graph.ports import Clock, MemoryStore, Page, Reader
from graph.state import resolve_for
from ontology.episodes import RecordedEpisode, SaidAt
from ontology.errors import JSON, Incorrect, KeyReused, NotFound, Unavailable, VigenciaError
from ontology.ids import EntityId, FactId
from ontology.instants import format_instant, parse_instant
from ontology.operations import Operation as Queued
from ontology.schema import Schema
from ontology.tombstones import normalised

CLAIMS_MAX: Final = 100
"""In one transaction."""
NAME: Final = "name"
"""The core predicate under which a new entity is called what the text calls it."""
NAMESAKES: Final = 2
"""So many entities of one name are too many to know who is meant."""

_INDEX: Final = re.compile(r"/items/(\d+)")


class Reads(Protocol):
    """What finds candidates in an episode: some extractors together."""

    def version(self, schema: Schema) -> str:
        """Which extractors, in which versions: for the receipt."""
        ...

    def read(self, text: EpisodeText, schema: Schema) -> Extraction:
        """What they find. What could not be read in time is in a note with the code `unavailable`."""
        ...


class Unreadable(Exception):
    """Why an episode gives nothing, and would give nothing if it were read again."""


@dataclass(slots=True, kw_only=True)
class _Told:
    """What became of an episode so far: its receipts, in wire form."""

    claims: list[JSON] = field(default_factory=list)
    refused: list[JSON] = field(default_factory=list)
    held: list[JSON] = field(default_factory=list)
    transactions: list[JSON] = field(default_factory=list)
    entities: dict[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Step:
    """An item of a transaction; what names a new entity has no candidate."""

    item: Item
    candidate: Candidate | None


class _Held(Exception):
    """Why a candidate is not written, though nothing is wrong with it."""


class Pipeline:
    """Reads the episodes of one store. Safe to use from many threads."""

    def __init__(self, *, store: MemoryStore, writer: Writer, clock: Clock, reads: Reads) -> None:
        self._store = store
        self._writer = writer
        self._clock = clock
        self._reads = reads

    def run(self, operation: Queued) -> bytes:
        """Read an episode and write what it says; gives the receipts as JSON.

        Raises `Unavailable` or `Busy` where another attempt may succeed, `Unreadable` where none will.
        """
        with self._store.read(operation.scope) as reader:
            episode = reader.recorded_episode(operation.episode)
        schema = self._writer.schema(operation.scope)
        text = text_of(episode)
        found = self._reads.read(text, schema)
        away = [note.detail for note in found.notes if note.code is Code.UNAVAILABLE]
        if away:
            raise Unavailable(f"the extractor cannot be reached: {away[0]}")
        failed = [note.detail for note in found.notes if note.code is Code.FAILED]
        if failed and not found.candidates:
            raise Unreadable(f"the extractor gave nothing: {failed[0]}")
        told = _Told()
        for number, chunk in enumerate(_chunks(found.candidates, told)):
            self._write(operation, episode, text, chunk, number, told)
        return orjson.dumps(self._document(found, schema, told))

    # ---- one transaction

    def _write(
        self, operation: Queued, episode: RecordedEpisode, text: EpisodeText, chunk: Sequence[Candidate], number: int,
        told: _Told,
    ) -> None:  # fmt: skip
        key = f"episode:{hashlib.sha256(f'{operation.episode} {number}'.encode()).hexdigest()}"
        with self._store.read(operation.scope) as reader:
            before = reader.answered(operation.principal, key)
            steps = [] if before else self._steps(reader, episode, text, chunk, told)
        while steps and before is None:
            try:
                written = self._writer.write(operation.scope, operation.principal, [s.item for s in steps], key=key)
            except KeyReused:  # another worker was first, and read the episode otherwise
                with self._store.read(operation.scope) as reader:
                    before = reader.answered(operation.principal, key)
            except (Incorrect, NotFound) as exc:
                steps = _without_refused(steps, exc, told)
            else:
                _tell(written.receipt, steps, told)
                return
        if before is not None:
            _tell(restored(before.receipt), None, told)

    def _steps(
        self, reader: Reader, episode: RecordedEpisode, text: EpisodeText, chunk: Sequence[Candidate], told: _Told
    ) -> list[_Step]:  # fmt: skip
        names = _Names(reader, self._clock, text)
        steps: list[_Step] = []
        for candidate in chunk:
            try:
                item = _item(candidate, episode, text, names)
            except _Held as exc:
                names.take_back()
                told.held.append(_held(candidate, [str(exc)]))
                continue
            said = _said(candidate, episode, text)
            for key, name in names.new():
                named = replace(said, valid_from=None, valid_to=None, date_semantics=None, confidence=None)
                steps.append(_Step(Assert(subject={"key": key}, predicate=NAME, value=name, said=named), None))
            steps.append(_Step(item, candidate))
        return steps

    def _document(self, found: Extraction, schema: Schema, told: _Told) -> dict[str, JSON]:
        return {
            "extractors": self._reads.version(schema),
            "claims": told.claims,
            "refused": told.refused,
            "held": told.held,
            "entities": list(told.entities.values()),
            "notes": [
                {
                    "code": note.code.value,
                    "detail": note.detail,
                    "span": None if note.span is None else _span(note.span),
                }
                for note in found.notes
            ],
            "transactions": told.transactions,
        }


# ---- what is read


def text_of(episode: RecordedEpisode) -> EpisodeText:
    """An episode as an extractor takes it. Raises `Unreadable` where its words were destroyed."""
    words = episode.verbatim
    if words is None:
        raise Unreadable("the words of the episode were destroyed before they were read")
    body: str | tuple[TurnText, ...] = ""
    if isinstance(words.body, str):
        body = words.body
    else:
        body = tuple(TurnText(speaker=turn.speaker, text=turn.text, at=_observed(turn.at)) for turn in words.body)
    me: ByKey | ByName | None = None
    if words.me is not None:
        me = ByKey(key=words.me.text) if words.me.is_key else ByName(name=words.me.text)
    return EpisodeText(
        body=body, me=me, media_type=words.media_type, source=episode.episode.source, session=words.session,
        observed_at=_observed(words.said_at),
    )  # fmt: skip


def _observed(at: SaidAt | None) -> Observed | None:
    if at is None:
        return None
    return Observed(instant=parse_instant(at.text, at.zone or "UTC"), text=at.text, zone=at.zone)


# ---- who is meant


class _Names:
    """Who is meant by the mentions of one episode: by key, by name or alias, else somebody new."""

    def __init__(self, reader: Reader, clock: Clock, text: EpisodeText) -> None:
        self._reader = reader
        self._as_of = resolve_for(reader, clock.now(), None, None)
        self._text = text
        self._known: dict[str, dict[str, str]] = {}
        self._new: list[tuple[str, str]] = []
        self._made: set[str] = set()

    def of(self, mention: Mention) -> dict[str, str]:
        """A key or an id. Raises `_Held` where several have the name, or nobody told who "I" is."""
        match mention:
            case ByKey(key=key):
                return {"id": key} if key.startswith("ent_") else {"key": key}
            case ByName(name=name):
                if name not in self._known:
                    self._known[name] = self._find(name)
                return self._known[name]
            case Me():
                raise _Held("speaker_unknown")

    def new(self) -> Iterator[tuple[str, str]]:
        """The (key, name) of each entity that is new since this was asked last."""
        new, self._new = self._new, []
        yield from new

    def take_back(self) -> None:
        """Let nobody be new since this was asked last: what named them is not written."""
        keys = {key for key, _ in self.new()}
        self._made -= keys
        self._known = {name: named for name, named in self._known.items() if named.get("key") not in keys}

    def only_fact(self, subject: dict[str, str], predicate: str) -> FactId:
        """The fact that a correction means: the only one that is believed. Raises `_Held` where there is no such."""
        id = EntityId(subject.get("id", ""))
        if not id:
            known = self._reader.entities_by_key([subject["key"]]).get(subject["key"])
            if known is None:
                raise _Held("nothing_to_correct")
            id = known.id
        facts = self._reader.state([(id, predicate)], self._as_of, certain=False, page=Page(2))
        if len(facts) != 1:
            raise _Held("ambiguous_correction" if facts else "nothing_to_correct")
        return facts[0].version.id

    def _find(self, name: str) -> dict[str, str]:
        folded = normalised(name)
        for text in dict.fromkeys((name, " ".join(name.split()))):
            named = self._reader.list_entities(self._as_of, type=None, name=text, limit=NAMESAKES, after=None)
            if len(named) == NAMESAKES:
                raise _Held("ambiguous_name")
            if named:
                return {"id": named[0].id}
        keys = list(dict.fromkeys((name, folded)))
        known = self._reader.entities_by_key(keys)
        for key in keys:
            if key in known:
                return {"id": known[key].id}
        if folded not in self._made:
            self._made.add(folded)
            self._new.append((folded, " ".join(name.split())))
        return {"key": folded}


# ---- what is written


def _item(candidate: Candidate, episode: RecordedEpisode, text: EpisodeText, names: _Names) -> Item:
    said = _said(candidate, episode, text)
    subject = names.of(candidate.subject)
    value = candidate.value
    if isinstance(value, ByKey | ByName):
        value = {"type": "entity", **names.of(value)}
    match candidate.operation:
        case Operation.ASSERT:
            return Assert(subject=subject, predicate=candidate.predicate, value=value, said=said)
        case Operation.RETRACT:
            return Retract(subject=subject, predicate=candidate.predicate, value=value, said=said)
        case Operation.REPLACE:
            fact = candidate.compares_to or names.only_fact(subject, candidate.predicate)
            return Replace(fact=fact, value=value, said=said, reason=f"corrected in {episode.episode.id}")


def _said(candidate: Candidate, episode: RecordedEpisode, text: EpisodeText) -> Said:
    stated, span, at = candidate.stated, candidate.span, text.at(candidate.span.turn)
    return Said(
        valid_from=stated.valid_from,
        valid_to=stated.valid_to,
        zone=stated.zone,
        date_semantics=None if stated.semantics is None else stated.semantics.value,
        observed_at=None if at is None else format_instant(at.instant),
        source=episode.episode.source,
        episode=episode.episode.id,
        root=episode.episode.root,
        confidence=candidate.confidence,
        quote=Quoted(turn=span.turn, start=span.start, end=span.end, text=span.quote),
    )


def _chunks(candidates: Sequence[Candidate], told: _Told) -> Iterator[Sequence[Candidate]]:
    """Those that may be written, so few at a time that with the names of new entities they stay below the limit."""
    fit: list[Candidate] = []
    for candidate in candidates:
        reasons = [hold.value for hold in candidate.holds] + (["unmapped"] if candidate.unmapped else [])
        if reasons:
            told.held.append(_held(candidate, reasons))
        else:
            fit.append(candidate)
    at_once = CLAIMS_MAX // 3  # a claim may name two entities that are new
    for start in range(0, len(fit), at_once):
        yield fit[start : start + at_once]


def _without_refused(steps: Sequence[_Step], exc: VigenciaError, told: _Told) -> list[_Step]:
    """The items that were not refused; those that were are told with the reason."""
    reasons: dict[int, str] = {}
    for violation in exc.violations:
        match = _INDEX.match(violation.pointer)
        if match is not None and int(match[1]) < len(steps):
            reasons.setdefault(int(match[1]), f"{violation.code}: {violation.detail}")
    if not reasons:  # nothing says which one it was
        reasons = dict.fromkeys(range(len(steps)), f"{exc.slug}: {exc.message}")
    for index, reason in reasons.items():
        candidate = steps[index].candidate
        if candidate is not None:
            told.refused.append({**_shown(candidate), "reason": reason})
    return [step for index, step in enumerate(steps) if index not in reasons]


def _tell(receipt: dict[str, JSON], steps: Sequence[_Step] | None, told: _Told) -> None:
    """Add what a transaction did; without `steps` an earlier attempt did it, and its quotes are not known."""
    told.transactions.append({"position": receipt["position"], "recorded_at": receipt["recorded_at"]})
    items, entities = receipt["items"], receipt["entities"]
    for entity in entities if isinstance(entities, list) else ():
        told.entities[str(entity["id"])] = entity
    for index, item in enumerate(items if isinstance(items, list) else ()):
        candidate = None if steps is None else steps[index].candidate
        if steps is not None and candidate is None:
            continue
        kept = {name: item[name] for name in ("op", "result", "claim", "subject", "predicate", "opened", "superseded")}
        quoted = {} if candidate is None else _quoted(candidate)
        told.claims.append({**kept, **quoted, "warnings": item["warnings"]})


def _held(candidate: Candidate, reasons: list[str]) -> dict[str, JSON]:
    return {**_shown(candidate), "reasons": reasons}


def _shown(candidate: Candidate) -> dict[str, JSON]:
    return {"op": candidate.operation.value, "predicate": candidate.predicate, **_quoted(candidate)}


def _quoted(candidate: Candidate) -> dict[str, JSON]:
    return {"span": _span(candidate.span), "extractor": candidate.extractor.name, "rule": candidate.rule}


def _span(span: Span) -> dict[str, JSON]:
    return {"turn": span.turn, "start": span.start, "end": span.end, "quote": span.quote}
