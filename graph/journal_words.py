"""How the words of an episode, and those that claims quote, look as rows of JSON in the journal."""

from typing import Any

from ontology.claims import Trust
from ontology.episodes import (
    UNSIGNED,
    Cited,
    EpisodeRecord,
    Kept,
    Quote,
    SaidAt,
    SaidBy,
    Signed,
    Turn,
    Verbatim,
    Vouched,
    WordsGone,
)
from ontology.ids import EpisodeId
from ontology.scope import Scope, Tenant


def words_row(verbatim: Verbatim | WordsGone) -> tuple[object, ...]:
    """The row of a verbatim, or of what is left of it; its episode is the one that the payload is about."""
    scope = verbatim.kept.scope
    kept = (scope.tenant, scope.namespace, scope.purpose), verbatim.kept.content.hex()
    if isinstance(verbatim, WordsGone):
        return (*kept, verbatim.at, verbatim.reason)
    me, body = verbatim.me, verbatim.body
    return (
        *kept,
        body if isinstance(body, str) else [(turn.speaker, turn.text, _at(turn.at)) for turn in body],
        verbatim.media_type,
        verbatim.session,
        verbatim.source_uri,
        None if me is None else (me.text, me.is_key),
        _at(verbatim.said_at),
        *_vouched(verbatim.vouched),
    )


def read_words(row: list[Any], episode: EpisodeId, tenant: Tenant | None) -> Verbatim | WordsGone:
    """What a row says of a verbatim; `tenant` stands in for the one in which it was written."""
    (written, namespace, purpose), content, *words = row
    scope = Scope(tenant=written if tenant is None else tenant, namespace=namespace, purpose=purpose)
    kept = Kept(episode=episode, scope=scope, content=bytes.fromhex(content))
    if len(words) == 2:
        return WordsGone(kept=kept, at=words[0], reason=words[1])
    body, media_type, session, source_uri, me, said, *vouched = words
    if not isinstance(body, str):
        body = tuple(Turn(speaker=speaker, text=text, at=_read_at(at)) for speaker, text, at in body)
    return Verbatim(
        kept=kept,
        body=body,
        media_type=media_type,
        session=session,
        source_uri=source_uri,
        me=None if me is None else SaidBy(text=me[0], is_key=me[1]),
        said_at=_read_at(said),
        vouched=_read_vouched(vouched),
    )


def quote_row(quote: Quote) -> tuple[object, ...]:
    return (quote.claim, quote.turn, quote.start, quote.end, quote.text)


def read_quote(row: list[Any]) -> Quote:
    claim, turn, start, end, text = row
    return Quote(claim=claim, turn=turn, start=start, end=end, text=text)


def _vouched(vouched: Vouched) -> tuple[object, ...]:
    """Nothing where nothing special is known: so it was written before anybody vouched."""
    return () if vouched == UNSIGNED else (vouched.trust, vouched.signed, vouched.key)


def _read_vouched(row: list[Any]) -> Vouched:
    if not row:
        return UNSIGNED
    trust, signed, key = row
    return Vouched(trust=Trust(trust), signed=Signed(signed), key=key)


def record_row(record: EpisodeRecord) -> tuple[object, ...]:
    """The row of a record; its episode is the one that the payload is about."""
    scope = record.scope
    return (
        (scope.tenant, scope.namespace, scope.purpose),
        record.made_by,
        record.summary,
        *(list(map(list, part)) for part in _parts(record)),
    )


def read_record_row(row: list[Any], episode: EpisodeId, tenant: Tenant | None) -> EpisodeRecord:
    """The record that a row says; `tenant` stands in for the one in which it was written."""
    (written, namespace, purpose), made_by, summary, *parts = row
    sentences, attempted, happened, decisions, outcome = (tuple(Cited(*each) for each in part) for part in parts)
    return EpisodeRecord(
        episode=episode,
        scope=Scope(tenant=written if tenant is None else tenant, namespace=namespace, purpose=purpose),
        made_by=made_by,
        summary=summary,
        sentences=sentences,
        attempted=attempted,
        happened=happened,
        decisions=decisions,
        outcome=outcome,
    )


def _parts(record: EpisodeRecord) -> tuple[tuple[Cited, ...], ...]:
    return record.sentences, record.attempted, record.happened, record.decisions, record.outcome


def _at(at: SaidAt | None) -> tuple[str, str | None] | None:
    return None if at is None else (at.text, at.zone)


def _read_at(row: list[Any] | None) -> SaidAt | None:
    return None if row is None else SaidAt(text=row[0], zone=row[1])
