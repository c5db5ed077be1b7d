"""Episodes and operations on the wire: what a body may hold, what an answer looks like, how one is rendered."""

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, field_validator

from api.sensitive import note
from api.wire.answers import When
from api.wire.queries import LIMIT, Limit, ScopeQuery, Words
from consolidation.episodes import TEXT, NewEpisode, NewTurn
from consolidation.vouching import Signature
from ontology.episodes import Cited, EpisodeRecord, Quote, RecordedEpisode, SaidAt, Verbatim
from ontology.errors import JSON
from ontology.instants import format_instant
from ontology.operations import Operation

EXAMPLES: dict[str, Any] = {
    "a text": {
        "episodes": [
            {
                "text": "Mira's passport must be renewed by 30 June.", "source": "chat", "session": "s-1",
                "observed_at": "2026-06-01T09:00:00+02:00", "tz": "Europe/Vienna",
            }
        ]
    },
    "turns": {
        "episodes": [
            {
                "turns": [
                    {"speaker": "Mira", "text": "I moved to Paris yesterday."},
                    {"speaker": "assistant", "text": "Noted."},
                ],
                "me": {"key": "mira"}, "session": "s-2", "observed_at": "2026-06-02T09:00:00Z",
            }
        ]
    },
}  # fmt: skip


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TurnBody(_Body):
    """What one speaker said at once."""

    speaker: str = Field(min_length=1, max_length=500)
    text: str
    at: str | None = Field(None, max_length=64, description="When; the time of the episode where it is left out.")


class MeBody(_Body):
    """Who says "I": an entity by its key, or a name."""

    key: str | None = Field(None, max_length=500)
    name: str | None = Field(None, max_length=500)


class SignatureBody(_Body):
    """What its source signed: the README says which bytes."""

    key: str = Field(min_length=1, max_length=200, description="The name of the key, as it is registered.")
    algorithm: Literal["hmac-sha256", "ed25519"]
    value: str = Field(max_length=200, description="Base64.")

    @field_validator("value")
    @classmethod
    def _base64(cls, text: str) -> str:
        try:
            base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("a signature is Base64, with its padding") from None
        return text

    def signature(self) -> Signature:
        return Signature(key=self.key, algorithm=self.algorithm, value=base64.b64decode(self.value))


class EpisodeBody(_Body):
    """One thing said or read: a text, or turns."""

    text: str | None = Field(None, description="What was said, word for word.")
    turns: list[TurnBody] | None = Field(None, description="The same as a conversation.")
    me: MeBody | None = Field(None, description='Who says "I" in the text, or which speaker is who.')
    media_type: str = Field(TEXT, max_length=130)
    source: str | None = Field(None, max_length=500, description="Who said it; by default the caller.")
    source_uri: str | None = Field(None, max_length=2_000, description="Where it can be read.")
    session: str | None = Field(None, max_length=500, description="Episodes of one session are read in their order.")
    observed_at: str | None = Field(None, max_length=64, description="When it was said; not later than now.")
    tz: str | None = Field(None, max_length=64, description="The zone of the speaker, for days such as yesterday.")
    root: str | None = Field(None, max_length=500, description="What it repeats, where it is an echo.")
    trust: str | None = Field(
        None, max_length=20, description="How far it is to be trusted; what has a web address is not, if left out."
    )
    signature: SignatureBody | None = Field(None, description="That of its source.")

    def episode(self) -> NewEpisode:
        turns = None if self.turns is None else [NewTurn(speaker=t.speaker, text=t.text, at=t.at) for t in self.turns]
        me = self.me or MeBody()
        return NewEpisode(
            text=self.text, turns=turns, me_key=me.key, me_name=me.name, media_type=self.media_type,
            source=self.source, source_uri=self.source_uri, session=self.session, observed_at=self.observed_at,
            zone=self.tz, root=self.root, trust=self.trust,
            signature=None if self.signature is None else self.signature.signature(),
        )  # fmt: skip


class EpisodesBody(_Body):
    """Episodes that are kept together or not at all."""

    episodes: list[EpisodeBody] = Field(json_schema_extra={"minItems": 1, "maxItems": 1_000})
    namespace: str = Field("default", max_length=500)
    purpose: str = Field("general", max_length=500)
    operation_id: str | None = Field(None, max_length=255, description="The same as `Idempotency-Key`.")


class RetryBody(_Body):
    """Where the operation is."""

    namespace: str = Field("default", max_length=500)
    purpose: str = Field("general", max_length=500)


class OperationsQuery(ScopeQuery):
    """Operations in one state."""

    state: Literal["queued", "running", "done", "failed"] = Field("failed", description="`failed`: the dead letters.")
    after: Words | None = Field(None, description="The id of the last one that is known already.")
    limit: Limit = LIMIT


class _Answer(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class RecordedItem(_Answer):
    """What became of one episode."""

    episode: str
    operation: str
    state: str | None = Field(description="Of the operation; `null` for a duplicate, whose operation is an older one.")
    duplicate: bool = Field(description="The same source said the same before in this session: nothing was kept.")
    trust: str = Field(description="The most that a claim read from it is worth before anybody looks at it.")
    signed: str = Field(description="`verified`, `no`, `bad`, or `missing` where its source signs what it says.")
    observed_at: When | None
    warnings: list[dict[str, str]]


class Recorded(_Answer):
    """Episodes that are kept, and will be read."""

    position: int
    recorded_at: When
    items: list[RecordedItem]


class OperationAnswer(_Answer):
    """The reading of one episode."""

    id: str
    episode: str
    state: str
    attempts: int
    next_at: When | None = Field(description="Not before which it is tried again.")
    reason: str | None = Field(description="Why the last attempt failed.")
    receipts: dict[str, Any] | None = Field(
        description=(
            "Once it is done, for a while: `counts`, `claims`, `refused`, `held`, `entities`, `notes`, `transactions`."
        )
    )
    queued_at: When
    changed_at: When


class Operations(_Answer):
    """A page of operations."""

    items: list[OperationAnswer]
    next_after: str | None


class Episode(_Answer):
    """A recorded episode with its words and the claims that cite it."""

    id: str
    text: str | None
    turns: list[dict[str, Any]] | None
    erased: bool = Field(description="The words were destroyed; the words that claims quote stay with them.")
    erased_at: When | None = Field(description="When, where that is known.")
    erased_because: str | None = Field(description="Why.")
    source: str
    root: str
    observed_at: When | None
    recorded_at: When
    operation: OperationAnswer | None
    claims: list[dict[str, Any]]
    record: dict[str, Any] | None = Field(
        description="What it comes down to, once it was read: `summary`, `sentences`, `attempted`, `happened`, "
        "`decisions`, `outcome`, each with the place in the words."
    )


def operation_document(operation: Operation) -> dict[str, JSON]:
    """An operation as the wire shows it; what came of it quotes what was said of somebody under a predicate."""
    waits = operation.state.value == "queued"
    receipts = None if operation.receipts is None else orjson.loads(operation.receipts)
    for part in ("claims", "held", "refused"):
        for each in (receipts or {}).get(part, ()):
            note((each.get("subject") or {}).get("id"), str(each["predicate"]))
    return {
        "id": operation.id,
        "episode": operation.episode,
        "state": operation.state.value,
        "attempts": operation.attempts,
        "next_at": format_instant(operation.next_at) if waits else None,
        "reason": operation.reason,
        "receipts": receipts,
        "queued_at": format_instant(operation.queued_at),
        "changed_at": format_instant(operation.changed_at),
    }


def quoted(quote: Quote | None) -> dict[str, JSON] | None:
    """The words that a claim quotes, as the wire shows them."""
    if quote is None:
        return None
    return {"turn": quote.turn, "start": quote.start, "end": quote.end, "quote": quote.text}


def record_document(record: EpisodeRecord | None, words: Verbatim | None) -> dict[str, JSON] | None:
    """The record of an episode, with the words that it cites; nothing without them."""
    if record is None or words is None:
        return None

    def cited(part: Sequence[Cited]) -> list[JSON]:
        return [{"turn": c.turn, "start": c.start, "end": c.end, "quote": _words(words, c)} for c in part]

    own = record.summary or " … ".join(_words(words, each) for each in record.sentences)
    return {
        "made_by": record.made_by,
        "summary": own,
        "sentences": cited(record.sentences),
        "attempted": cited(record.attempted),
        "happened": cited(record.happened),
        "decisions": cited(record.decisions),
        "outcome": cited(record.outcome),
    }


def _words(words: Verbatim, at: Cited) -> str:
    if isinstance(words.body, str):
        return words.body[at.start : at.end]
    return "" if at.turn is None else words.body[at.turn].text[at.start : at.end]


def episode_document(recorded: RecordedEpisode) -> dict[str, JSON]:
    """A recorded episode without what was made of it."""
    episode, words, gone = recorded.episode, recorded.verbatim, recorded.destroyed
    document: dict[str, JSON] = {
        "id": episode.id,
        "text": None,
        "turns": None,
        "erased": words is None,
        "erased_at": None if gone is None else format_instant(gone.at),
        "erased_because": None if gone is None else gone.reason,
        "source": episode.source,
        "root": episode.root,
        "observed_at": None if episode.observed_at is None else format_instant(episode.observed_at),
        "recorded_at": format_instant(recorded.recorded_at),
        "principal": recorded.principal,
    }
    if words is None:
        return document
    if isinstance(words.body, str):
        document["text"] = words.body
    else:
        document["turns"] = [{"speaker": t.speaker, "text": t.text, "at": _text(t.at)} for t in words.body]
    me = words.me
    return document | {
        "me": None if me is None else {"key" if me.is_key else "name": me.text},
        "media_type": words.media_type,
        "session": words.session,
        "source_uri": words.source_uri,
        "trust": words.vouched.trust.word,
        "signed": words.vouched.signed.value,
        "key": words.vouched.key,
        "said_at": _text(words.said_at),
        "tz": None if words.said_at is None else words.said_at.zone,
    }


def _text(at: SaidAt | None) -> str | None:
    return None if at is None else at.text
