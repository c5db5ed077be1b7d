"""What forgetting asks of a store beyond reading and writing, and whom it tells afterwards."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ontology.claims import Source, Told
from ontology.episodes import RecordedEpisode
from ontology.ids import EpisodeId
from ontology.instants import Instant
from ontology.scope import Tenant
from ontology.tombstones import Mark, Tombstone
from ontology.values import ValueKey


class Outside(Protocol):
    """What holds copies of memory outside the store: backups and their keys, above all.

    Told of a tombstone after the store has committed it; a crash in between, or an exception, lets it be told again,
    so to be told twice must do no harm. What `destroyed` names, and the words of the episodes that `restated` names,
    must be unreadable in every copy when this returns. `secret` is what the marks are made with.
    """

    def forget(self, tenant: Tenant, tombstone: Tombstone, secret: bytes) -> None: ...


class TombstoneReader(Protocol):
    """The part of a snapshot that knows what was forgotten. All of it is of the tenant, whatever the scope."""

    def tombstones(self, *, limit: int, after: int) -> list[Tombstone]:
        """By position, those after one; lifted ones too."""
        ...

    def tombstone_of(self, id: str) -> Tombstone | None:
        """The one that stands for the id of an entity, a recorded episode, a claim or a fact which is gone."""
        ...

    def marked(self, marks: Sequence[Mark]) -> dict[Mark, Tombstone]:
        """For each of the marks the newest tombstone that has it; lifted ones too."""
        ...

    def secret(self) -> bytes | None:
        """What marks are made with; `None` before anything was forgotten."""
        ...

    def recorded_episodes(self, *, limit: int, after: EpisodeId | None) -> list[RecordedEpisode]:
        """The recorded episodes of the scope, by (position, ordinal), also those whose words are gone."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """An answer that is kept for a retry, with what the store knows it by."""

    handle: object
    receipt: bytes


class ForgettingTransaction(Protocol):
    """The part of a transaction that only forgetting uses."""

    def all_of_episode(self, id: EpisodeId) -> list[Told]:
        """Every claim and retraction of the scope that cites an episode, held and ended ones too, in order."""
        ...

    def all_of_source(self, source: Source) -> list[Told]:
        """The same for a source."""
        ...

    def all_of_entity(self, value: ValueKey) -> list[Told]:
        """The same for those that point at the entity which has this value key."""
        ...

    def kept_answers(self) -> Iterator[KeptAnswer]:
        """Every answer of the tenant, in no order."""
        ...

    def blank_answers(self, handles: Sequence[object]) -> None:
        """Let nothing stay of these but their keys: then both request and receipt are empty."""
        ...

    def end_reading(self, episodes: Sequence[EpisodeId], reason: str, now: Instant) -> None:
        """Let the operations of these episodes be failed, with nothing of what was read; their session goes on. Notes
        that were handed over to them are erased."""
        ...

    def forget_readings(self, episodes: Sequence[EpisodeId], now: Instant) -> None:
        """Let nothing stay of what was read in these episodes, which quotes their words; their operations stay as they
        are. Notes that were handed over to them are erased, read or not."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbed:
    """Whether nothing of what was erased is left in the files of a store."""

    done: bool
    left: str
    """What has to be done still, and why; empty where it is done."""
