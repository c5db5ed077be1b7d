"""From the words of an episode to claims: read them, find out who is meant, write in small transactions.

Nothing is written while an extractor reads, which may take long. Each transaction goes under an idempotency key of
its own, made from the episode and the number of the transaction: whoever reads an episode again, because the
worker before was killed, finds what was written and goes on behind it. A claim that comes twice all the same is a
duplicate to the writer, since it cites the episode.

What was proposed is let in by the rules that hold for every writer. Whoever submitted the episode says it, with the
trust that the episode was given when it was recorded; where the namespace has another owner by now, it is a proposal.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, Protocol, TypeAlias

import orjson

from consolidation.admission import Standing
from consolidation.extraction.base import (
    ByKey,
    ByName,
    Candidate,
    Code,
    EpisodeText,
    Extraction,
    Known,
    Observed,
)
from consolidation.extraction.base import Turn as TurnText
from consolidation.idempotency import restored
from consolidation.known import known_facts
from consolidation.naming import Names
from consolidation.policy import OWNER, Authority
from consolidation.proposals import Proposals, Step, Unwritable
from consolidation.reading_receipt import ReadingReceipt
from consolidation.records import Records
from consolidation.summary import Extractive, Summarises
from consolidation.write import Writer
from graph.ports import Clock, MemoryStore, Reader
from ontology.claims import Trust
from ontology.episodes import RecordedEpisode, SaidAt, Verbatim
from ontology.errors import Conflict, Forbidden, Incorrect, KeyReused, NotFound, Unavailable, VigenciaError
from ontology.instants import parse_instant
from ontology.operations import Operation as Queued
from ontology.schema import Schema

CLAIMS_MAX: Final = 100
"""In one transaction."""
SUBMITTER: Final = Standing(may_write=True, may_propose=True, becomes_owner=False)
"""Of who submitted an episode: that it might was decided then; of a namespace that is another's by now it proposes."""

_INDEX: Final = re.compile(r"/items/(\d+)")
KnownFacts: TypeAlias = Callable[[], Sequence[Known]]
"""Looks up what memory holds of what the episode may speak of; for whoever compares."""


class Reads(Protocol):
    """What finds candidates in an episode: some extractors together."""

    def version(self, schema: Schema) -> str:
        """Which extractors, in which versions: for the receipt."""
        ...

    def read(self, text: EpisodeText, schema: Schema, known: KnownFacts) -> Extraction:
        """What they find. What could not be read in time is in a note with the code `unavailable`."""
        ...


class Unreadable(Exception):
    """Why an episode gives nothing, and would give nothing if it were read again."""


class Pipeline:
    """Reads the episodes of one store. Safe to use from many threads."""

    def __init__(
        self, *, store: MemoryStore, writer: Writer, clock: Clock, reads: Reads, model_trust: Trust = Trust.INFERRED,
        records: Records | None = None, summarises: Summarises | None = None,
    ) -> None:  # fmt: skip
        """`model_trust` is the most that what a model concludes is trusted before anybody looks at it; without
        `records` no record of an episode is kept, without `summarises` it is made of its own sentences."""
        self._store = store
        self._writer = writer
        self._clock = clock
        self._reads = reads
        self._model_trust = model_trust
        self._records = records
        self._summarises = summarises or Extractive()

    def run(self, operation: Queued) -> bytes:
        """Read an episode and write what it says; gives the receipts as JSON.

        Raises `Unavailable` or `Busy` where another attempt may succeed, `Unreadable` where none will.
        """
        with self._store.read(operation.scope) as reader:
            episode = reader.recorded_episode(operation.episode)
        schema = self._writer.schema(operation.scope)
        words = words_of(episode)
        text = text_of(episode, words)
        found = self._reads.read(text, schema, lambda: self._known(operation, text, schema))
        away = [note.detail for note in found.notes if note.code is Code.UNAVAILABLE]
        if away:
            raise Unavailable(f"the extractor cannot be reached: {away[0]}")
        failed = [note.detail for note in found.notes if note.code is Code.FAILED]
        if failed and not found.candidates:
            raise Unreadable(f"the extractor gave nothing: {failed[0]}")
        receipt = ReadingReceipt()
        trust = words.vouched.trust
        authority = replace(OWNER, trust=trust, trust_max=trust)
        proposals = Proposals(episode, words.vouched, text, self._model_trust)
        for number, chunk in enumerate(_chunks(found.candidates)):
            self._write(operation, authority, proposals, chunk, number, receipt)
        if self._records is not None:
            record = self._summarises.summarise(
                operation.episode, operation.scope, text, found.candidates, schema
            )  # fmt: skip
            self._records.keep(operation.principal, record)
        return orjson.dumps(receipt.document(self._reads.version(schema), trust.word, found.notes))

    def _known(self, operation: Queued, text: EpisodeText, schema: Schema) -> Sequence[Known]:
        with self._store.read(operation.scope) as reader:
            return known_facts(reader, self._clock.now(), text, schema)

    # ---- one transaction

    def _write(
        self, operation: Queued, authority: Authority, proposals: Proposals, chunk: Sequence[Candidate], number: int,
        receipt: ReadingReceipt,
    ) -> None:  # fmt: skip
        key = f"episode:{hashlib.sha256(f'{operation.episode} {number}'.encode()).hexdigest()}"
        scope, principal = operation.scope, operation.principal
        with self._store.read(scope) as reader:
            before = reader.answered(principal, key)
            steps = [] if before else self._steps(reader, operation, proposals, chunk, receipt)
        while steps and before is None:
            items = [step.item for step in steps]
            try:
                written = self._writer.write(
                    scope, principal, items, key=key, standing=SUBMITTER, authority=authority
                )  # fmt: skip
            except KeyReused:  # another worker was first, and read the episode otherwise
                with self._store.read(scope) as reader:
                    before = reader.answered(principal, key)
            except (Incorrect, NotFound, Conflict, Forbidden) as exc:
                steps = _without_refused(steps, exc, receipt)
            else:
                receipt.add(written.receipt, steps)
                return
        if before is not None and not before.receipt:
            raise Unreadable("what was read of it was forgotten since")
        if before is not None:
            receipt.add(restored(before.receipt), None)

    def _steps(
        self, reader: Reader, operation: Queued, proposals: Proposals, chunk: Sequence[Candidate],
        receipt: ReadingReceipt,
    ) -> list[Step]:  # fmt: skip
        names = Names(reader, self._clock.now(), operation.episode)
        steps: list[Step] = []
        for candidate in chunk:
            try:
                steps += proposals.steps(candidate, names)
            except Unwritable as exc:
                names.take_back()
                receipt.refuse(candidate, str(exc))
        return steps


# ---- what is read


def words_of(episode: RecordedEpisode) -> Verbatim:
    """The words of an episode. Raises `Unreadable` where they were destroyed."""
    if episode.verbatim is None:
        raise Unreadable("the words of the episode were destroyed before they were read")
    return episode.verbatim


def text_of(episode: RecordedEpisode, words: Verbatim) -> EpisodeText:
    """An episode as an extractor takes it."""
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


# ---- what is written


def _chunks(candidates: Sequence[Candidate]) -> Iterator[Sequence[Candidate]]:
    """So few at a time that with the names of new entities they stay below the limit."""
    at_once = CLAIMS_MAX // 3  # a claim may name two entities that are new
    for start in range(0, len(candidates), at_once):
        yield candidates[start : start + at_once]


def _without_refused(steps: Sequence[Step], exc: VigenciaError, receipt: ReadingReceipt) -> list[Step]:
    """The items that were not refused; those that were are told with the reason. A correction waits instead."""
    reasons: dict[int, str] = {}
    for violation in exc.violations:
        match = _INDEX.match(violation.pointer)
        if match is not None and int(match[1]) < len(steps):
            reasons.setdefault(int(match[1]), f"{violation.code}: {violation.detail}")
    if not reasons:  # nothing says which one it was: corrections alone can undo what others said
        suspects = [index for index, step in enumerate(steps) if step.instead] or range(len(steps))
        reasons = dict.fromkeys(suspects, f"{exc.slug}: {exc.message}")
    left: list[Step] = []
    for index, step in enumerate(steps):
        if index not in reasons:
            left.append(step)
        elif step.instead is not None:
            left.append(step.waiting(reasons[index]))
        elif step.candidate is not None:
            receipt.refuse(step.candidate, reasons[index])
    return left
