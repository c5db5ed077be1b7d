"""How an episode is recorded: checked, kept once, and queued to be read, all in one transaction."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from consolidation.admission import ON_THIS_MACHINE, Standing, admit_owner
from consolidation.check import NAME_CHARS_MAX, VIOLATIONS_MAX, again, read_at, trust_of
from consolidation.commits import Commits
from consolidation.idempotency import Written, check_key, kept, replayed
from consolidation.observing import NOBODY, Observer, refusals_told
from consolidation.policy import OWNER, Authority
from consolidation.vouching import Brought, NoSources, Signature, Sources, signed_bytes, vouch
from graph import journal
from graph.ports import Clock, Head, MemoryStore, Randomness, Transaction
from ontology.canonical import canonical_label, incorrect
from ontology.claims import Episode, Source
from ontology.episodes import Kept, SaidAt, SaidBy, Turn, Verbatim, Vouched, content_of
from ontology.errors import JSON, Incorrect, TooLarge, Violation, shown
from ontology.events import ChangeSet, Kind
from ontology.ids import EpisodeId, Place, episode_id
from ontology.instants import DAY, Instant, check_zone, format_instant, parse_instant
from ontology.operations import Job, State, operation_of
from ontology.scope import Scope

EPISODES_MAX: Final = 1_000
"""In one request."""
TURNS_MAX: Final = 10_000
"""In one episode."""
URI_CHARS_MAX: Final = 2_000
TEXT: Final = "text/plain"

_MEDIA_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9.+-]{0,62}/[a-z0-9][a-z0-9.+-]{0,62}")
_NO_TIME: Final = "nobody told when it was said; give observed_at, or what it says of yesterday stays undated"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """What one speaker said at once, as it came off the wire."""

    speaker: str
    text: str
    at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEpisode:
    """An episode as it came off the wire: either a text or turns."""

    text: str | None = None
    turns: Sequence[NewTurn] | None = None
    me_key: str | None = None
    me_name: str | None = None
    """Who says "I": an entity by its key, or a name; at most one of the two."""
    media_type: str = TEXT
    source: str | None = None
    source_uri: str | None = None
    session: str | None = None
    observed_at: str | None = None
    zone: str | None = None
    root: str | None = None
    """What it repeats, where it is an echo; its own source where that is not given."""
    trust: str | None = None
    """How far it is to be trusted: no more than its principal may give."""
    signature: Signature | None = None
    """That of its source."""
    part: int | None = None
    """Which part of its session, where one is recorded in parts: the same words may come again in another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    body: str | tuple[Turn, ...]
    me: SaidBy | None
    media_type: str
    source: Source
    source_uri: str | None
    session: str | None
    said_at: SaidAt | None
    observed_at: Instant | None
    root: str
    vouched: Vouched
    part: int | None


class Recorder:
    """Records episodes in one store. Safe to use from many threads."""

    def __init__(
        self, *, store: MemoryStore, clock: Clock, randomness: Randomness, bytes_max: int = 1_000_000,
        key_days: int = 7, sources: Sources | None = None, observer: Observer = NOBODY,
    ) -> None:  # fmt: skip
        """`bytes_max` is how long the text of one episode may be, in UTF-8."""
        self._store = store
        self._clock = clock
        self._commits = Commits(clock, randomness)
        self._bytes_max = bytes_max
        self._key_days = key_days
        self._observer = observer
        self._sources = sources or NoSources()

    def record(
        self, scope: Scope, principal: str, episodes: Sequence[NewEpisode], *, key: str | None = None,
        standing: Standing = ON_THIS_MACHINE, authority: Authority = OWNER,
    ) -> Written:  # fmt: skip
        """Keep all of `episodes`, in order, and queue them to be read; or none of them.

        What the same source said before in the same session, word for word, is not kept again: the answer names the
        first one. `key` makes a retry answer as the first attempt did. `standing` is what the principal may do in this
        scope, `authority` how far policy trusts it. Raises `Incorrect` with a violation per thing that is wrong,
        `TooLarge`, `Forbidden`, `KeyReused`, `Busy`, `Unavailable`; nothing is kept then.
        """
        with refusals_told(self._observer):
            written = self._keep(scope, principal, episodes, key, standing, authority)
        if not written.replayed:
            self._observer.wrote(scope.tenant, written.receipt)
        return written

    # ---- writing

    def _keep(
        self, scope: Scope, principal: str, episodes: Sequence[NewEpisode], key: str | None, standing: Standing,
        authority: Authority,
    ) -> Written:  # fmt: skip
        checked = self._check(scope, episodes, principal, authority)
        request = b"" if key is None else _digest(key, scope, episodes)
        with self._store.write(scope) as tx:
            if key is not None:
                earlier = replayed(tx, principal, key, request, self._clock.now())
                if earlier is not None:
                    return earlier
            admit_owner(tx, principal, standing, self._clock.now())
            receipt = self._record(tx, principal, checked)
            if key is not None:
                until = Instant(self._clock.now() + self._key_days * DAY)
                tx.remember(principal, key, kept(request, receipt), until)
        return Written(receipt=receipt, replayed=False)

    def record_in(self, tx: Transaction, principal: str, episodes: Sequence[NewEpisode]) -> dict[str, JSON]:
        """The same inside a transaction of the caller's, who has let the principal in; gives the receipt."""
        return self._record(tx, principal, self._check(tx.scope, episodes, principal, OWNER))

    def _record(self, tx: Transaction, principal: str, episodes: Sequence[_Checked]) -> dict[str, JSON]:
        head, scope = tx.head, tx.scope
        now, position = self._commits.time_after(head), head.position + 1
        _check_said(episodes, now)
        ledger = self._commits.ledger(head)
        contents = [content_of(scope, e.source, _part(e), e.media_type, e.body, e.vouched) for e in episodes]
        known = tx.recorded_as(list(dict.fromkeys(contents)))
        fresh: list[tuple[_Checked, Kept]] = []
        items: list[dict[str, JSON]] = []
        for episode, content in zip(episodes, contents, strict=True):
            duplicate = content in known
            if not duplicate:
                known[content] = episode_id(Place(ledger, position, len(fresh)))
                fresh.append((episode, Kept(episode=known[content], scope=scope, content=content)))
            items.append(_item(known[content], episode, duplicate=duplicate))
        if fresh:
            changes = _changes(position, now, principal, fresh)
            tx.apply(journal.commit(changes, head, salts=self._commits.salt), ledger=ledger)
            jobs = [
                Job(episode=kept.episode, scope=scope, session=episode.session, principal=principal)
                for episode, kept in fresh
            ]
            tx.enqueue(jobs, self._clock.now())  # the recorded time may be ahead of a clock that was set back
        return _receipt(head, now, position, items, wrote=bool(fresh))

    # ---- checking

    def _check(
        self, scope: Scope, episodes: Sequence[NewEpisode], principal: str, authority: Authority
    ) -> list[_Checked]:  # fmt: skip
        if len(episodes) > EPISODES_MAX:
            raise TooLarge(f"{len(episodes)} episodes in one request, {EPISODES_MAX} at most; split them")
        if not episodes:
            raise incorrect("/episodes", "empty", "a request without episodes; give at least one")
        checked: list[_Checked] = []
        failed: list[Incorrect] = []
        violations: list[Violation] = []
        for index, episode in enumerate(episodes):
            try:
                checked.append(self._checked(scope, episode, principal, authority))
            except Incorrect as exc:
                failed.append(exc)
                violations += [v.under(f"/episodes/{index}") for v in exc.violations]
                if len(violations) >= VIOLATIONS_MAX:
                    break
        if failed:
            raise again(failed[0], violations)
        return checked

    def _checked(self, scope: Scope, episode: NewEpisode, principal: str, authority: Authority) -> _Checked:
        zone = None if episode.zone is None else read_at("/tz", check_zone, episode.zone)
        body = self._body(episode, zone)
        if not _MEDIA_TYPE.fullmatch(episode.media_type):
            detail = f"{shown(episode.media_type)} is no media type; give one such as 'text/plain'"
            raise incorrect("/media_type", "bad_media_type", detail)
        observed = None
        if episode.observed_at is not None:
            observed = _moment(episode.observed_at, zone, "/observed_at")
        source = Source(_label(episode.source, "/source") or principal)
        uri = _label(episode.source_uri, "/source_uri", URI_CHARS_MAX)
        brought = Brought(
            source=source, media_type=episode.media_type, source_uri=uri, trust=trust_of(episode.trust),
            signature=episode.signature,
        )  # fmt: skip
        message = b"" if episode.signature is None else _message(scope, source, episode)
        return _Checked(
            body=body,
            me=_me(episode),
            media_type=episode.media_type,
            source=source,
            source_uri=uri,
            session=_label(episode.session, "/session"),
            said_at=None if episode.observed_at is None else SaidAt(text=episode.observed_at, zone=zone),
            observed_at=observed,
            root=_label(episode.root, "/root") or source,
            vouched=vouch(scope, principal, authority, brought, message, self._sources),
            part=episode.part,
        )

    def _body(self, episode: NewEpisode, zone: str | None) -> str | tuple[Turn, ...]:
        if (episode.text is None) == (episode.turns is None):
            raise incorrect("", "exactly_one", "what was said? give exactly one of 'text' and 'turns'")
        if episode.text is not None:
            self._check_size([episode.text], "/text")
            return episode.text
        turns = episode.turns or ()
        if not 0 < len(turns) <= TURNS_MAX:
            raise incorrect("/turns", "out_of_range", f"{len(turns)} turns; an episode has 1 to {TURNS_MAX}")
        self._check_size([turn.text for turn in turns], "/turns")
        return tuple(_turn(turn, zone, f"/turns/{index}") for index, turn in enumerate(turns))

    def _check_size(self, texts: Sequence[str], at: str) -> None:
        try:
            size = sum(len(text.encode()) for text in texts)
        except UnicodeEncodeError as exc:
            detail = f"text with a lone surrogate cannot be kept: {shown(exc.object)}"
            raise incorrect(at, "lone_surrogate", detail) from None
        if size > self._bytes_max:
            detail = f"the text has {size} bytes, an episode has {self._bytes_max} at most; split it"
            raise TooLarge(detail, violations=(Violation(pointer=at, code="too_large", detail=detail),))
        if not any(text.strip() for text in texts):
            raise incorrect(at, "empty", "there are no words in it; give what was said")


def _part(episode: _Checked) -> str | None:
    """What the same words are compared within: the session, or a part of it."""
    return episode.session if episode.part is None else f"{episode.session}\x1f{episode.part}"


def _turn(turn: NewTurn, zone: str | None, at: str) -> Turn:
    said = None
    if turn.at is not None:
        _moment(turn.at, zone, f"{at}/at")
        said = SaidAt(text=turn.at, zone=zone)
    return Turn(speaker=_label(turn.speaker, f"{at}/speaker") or "", text=turn.text, at=said)


def _message(scope: Scope, source: Source, episode: NewEpisode) -> bytes:
    """What its source signed, of the members as they were given."""
    body: str | list[dict[str, str]] = episode.text or ""
    if episode.turns is not None:
        given = [{"speaker": turn.speaker, "text": turn.text, "at": turn.at} for turn in episode.turns]
        body = [{name: text for name, text in turn.items() if text is not None} for turn in given]
    me = {"key": episode.me_key, "name": episode.me_name}
    said: dict[str, JSON] = {
        "me": {name: text for name, text in me.items() if text is not None} or None,
        "observed_at": episode.observed_at, "tz": episode.zone, "session": episode.session,
        "source_uri": episode.source_uri, "root": episode.root,
    }  # fmt: skip
    return signed_bytes(scope, source, episode.media_type, body, said)


def _me(episode: NewEpisode) -> SaidBy | None:
    if episode.me_key is not None and episode.me_name is not None:
        raise incorrect("/me", "exactly_one", "who says 'I'? give either 'key' or 'name'")
    if episode.me_key is not None:
        return SaidBy(text=_label(episode.me_key, "/me/key") or "", is_key=True)
    name = _label(episode.me_name, "/me/name")
    return None if name is None else SaidBy(text=name, is_key=False)


def _check_said(episodes: Sequence[_Checked], now: Instant) -> None:
    for index, episode in enumerate(episodes):
        if episode.observed_at is not None and episode.observed_at > now:
            said, clock = format_instant(episode.observed_at), format_instant(now)
            detail = f"observed_at {said} is later than now, {clock}; nobody has said it yet"
            raise incorrect(f"/episodes/{index}/observed_at", "observed_at_in_future", detail)


def _changes(position: int, now: Instant, principal: str, fresh: Sequence[tuple[_Checked, Kept]]) -> ChangeSet:
    return ChangeSet(
        position=position, recorded_at=now, kind=Kind.WRITE, principal=principal,
        episodes=tuple(
            Episode(id=kept.episode, source=each.source, observed_at=each.observed_at, root=each.root)
            for each, kept in fresh
        ),
        verbatims=tuple(
            Verbatim(
                kept=kept, body=each.body, media_type=each.media_type, session=each.session,
                source_uri=each.source_uri, me=each.me, said_at=each.said_at, vouched=each.vouched,
            )
            for each, kept in fresh
        ),
    )  # fmt: skip


def _item(id: EpisodeId, episode: _Checked, *, duplicate: bool) -> dict[str, JSON]:
    told = episode.observed_at
    return {
        "episode": id,
        "operation": operation_of(id),
        "state": None if duplicate else State.QUEUED.value,
        "duplicate": duplicate,
        "trust": episode.vouched.trust.word,
        "signed": episode.vouched.signed.value,
        "observed_at": None if told is None else format_instant(told),
        "warnings": [] if told is not None else [{"code": "no_observed_at", "detail": _NO_TIME}],
    }


def _receipt(head: Head, now: Instant, position: int, items: list[dict[str, JSON]], *, wrote: bool) -> dict[str, JSON]:
    return {
        "position": position if wrote else head.position,
        "recorded_at": format_instant(now if wrote else head.recorded_at),
        "items": items,
    }


def _digest(key: str, scope: Scope, episodes: Sequence[NewEpisode]) -> bytes:
    check_key(key)
    return hashlib.sha256(orjson.dumps([scope, list(episodes)], default=_hex)).digest()


def _hex(given: object) -> str:
    """How the bytes of a signature stand in a digest."""
    if not isinstance(given, bytes):
        raise TypeError(f"{type(given).__name__} is no JSON")
    return given.hex()


def _label(text: str | None, at: str, most: int = NAME_CHARS_MAX) -> str | None:
    return None if text is None else canonical_label(text, at, at.rsplit("/", 1)[1], most)


def _moment(text: str, zone: str | None, at: str) -> Instant:
    return read_at(at, parse_instant, text, zone or "UTC")
