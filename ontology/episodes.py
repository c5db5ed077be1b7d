"""What was said or read, word for word: the verbatim of an episode, and what tells two of them apart.

An episode that a caller only cites has no verbatim here. One that is recorded has: its words lie in a payload of
the journal of their own, so that they can be destroyed alone.
"""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

import orjson

from ontology.claims import Episode, Source, Trust
from ontology.ids import ClaimId, EpisodeId
from ontology.instants import Instant
from ontology.scope import Scope

EMPTIED: Final = ""
"""The body of a verbatim whose words were destroyed, though its episode stays; nobody records an empty one."""

_DOMAIN: Final = "vigencia-episode-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidAt:
    """When something was said, in the words of its source."""

    text: str
    """With its offset."""
    zone: str | None
    """The IANA zone of who said it; `None` where only the offset in `text` is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidBy:
    """Who says "I": an entity by its key, or as the text calls it."""

    text: str
    is_key: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one speaker said at once."""

    speaker: str
    text: str
    at: SaidAt | None


class Signed(StrEnum):
    """Whether the source of an episode signed it."""

    NO = "no"
    """It signs nothing that we know of."""
    VERIFIED = "verified"
    BAD = "bad"
    """There is a signature, and it is not that of the source."""
    MISSING = "missing"
    """The source signs what it says, and this was brought by somebody else without a signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouched:
    """How far policy trusts an episode: decided when it was recorded from who brought it, never by its words."""

    trust: Trust
    """The most that a claim read from it is worth before anybody looks at it."""
    signed: Signed
    key: str | None
    """The name of the key that the signature names, good or bad."""


UNSIGNED: Final = Vouched(trust=Trust.OBSERVED, signed=Signed.NO, key=None)
"""What a program brings of which nothing else is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """That the verbatim of an episode is kept, for whom, and by what it is known when it comes again."""

    episode: EpisodeId
    scope: Scope
    content: bytes
    """As `content_of` gives it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbatim:
    """The words of an episode, and what came with them."""

    kept: Kept
    body: str | tuple[Turn, ...]
    media_type: str
    session: str | None
    source_uri: str | None
    me: SaidBy | None
    said_at: SaidAt | None
    """`None` where nobody told; nothing stands for it then."""
    vouched: Vouched


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsGone:
    """What is left of a verbatim whose words were destroyed."""

    kept: Kept
    at: Instant
    """The recorded time of the commit that did."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """The words of an episode that a claim rests on. They go with the claim, and stay where the other words go."""

    claim: ClaimId
    turn: int | None
    """Which turn; `None` in a single text."""
    start: int
    end: int
    """Characters `start` up to `end` of it."""
    text: str


class Cited(NamedTuple):
    """Where in the words of an episode something stands: characters `start` up to `end` of a turn."""

    turn: int | None
    """`None` in a single text."""
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeRecord:
    """What a recorded episode comes down to, made when it was read. It goes where the words go, and replaces none."""

    episode: EpisodeId
    scope: Scope
    made_by: str
    """The program, or the model, with its version."""
    summary: str | None
    """In words of its own; `None` where the sentences are the summary."""
    sentences: tuple[Cited, ...]
    """The sentences that say most, in their order."""
    attempted: tuple[Cited, ...]
    happened: tuple[Cited, ...]
    decisions: tuple[Cited, ...]
    outcome: tuple[Cited, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEpisode:
    """A recorded episode as it is read back."""

    episode: Episode
    scope: Scope
    recorded_at: Instant
    principal: str
    verbatim: Verbatim | None
    """`None` once the words were destroyed."""
    destroyed: WordsGone | None
    """When and why they were, where that is known."""


def content_of(
    scope: Scope, source: Source, session: str | None, media_type: str, body: str | tuple[Turn, ...],
    vouched: Vouched = UNSIGNED,
) -> bytes:  # fmt: skip
    """What is equal where the same source says the same again in the same session: SHA-256.

    The tenant is no part of it, so that a journal keeps it in a tenant of another name; neither is the time, since
    who repeats a request may have a newer one. Trust and signature are: nobody keeps what a source signed out of
    memory by saying the same before it did.
    """
    said: object = body if isinstance(body, str) else [[turn.speaker, turn.text] for turn in body]
    framed = [_DOMAIN, scope.namespace, scope.purpose, source, session, media_type, said]
    if vouched != UNSIGNED:
        framed += [vouched.trust.word, vouched.signed, vouched.key]
    return hashlib.sha256(orjson.dumps(framed)).digest()


def has_words(verbatim: Verbatim | WordsGone) -> bool:
    """Whether the words of an episode are there."""
    return isinstance(verbatim, Verbatim) and verbatim.body != EMPTIED


def emptied(verbatim: Verbatim | WordsGone) -> Verbatim:
    """The verbatim of an episode that stays, with nothing in it: not even what it would be known by again."""
    kept = verbatim.kept
    content = hashlib.sha256(orjson.dumps([_DOMAIN, "emptied", kept.episode])).digest()
    media_type = verbatim.media_type if isinstance(verbatim, Verbatim) else "text/plain"
    return Verbatim(
        kept=Kept(episode=kept.episode, scope=kept.scope, content=content), body=EMPTIED,
        media_type=media_type, session=None, source_uri=None, me=None, said_at=None, vouched=UNSIGNED,
    )  # fmt: skip
