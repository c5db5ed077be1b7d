"""How the record of an episode is kept: once, in a payload of the episode's own, which goes where the words go."""

from consolidation.commits import Commits
from graph import journal
from graph.ports import Clock, MemoryStore, Randomness
from ontology.episodes import EpisodeRecord
from ontology.events import ChangeSet, Kind


class Records:
    """The records of one store. Safe to use from many threads."""

    def __init__(self, *, store: MemoryStore, clock: Clock, randomness: Randomness) -> None:
        self._store = store
        self._commits = Commits(clock, randomness)

    def keep(self, principal: str, record: EpisodeRecord) -> EpisodeRecord | None:
        """Keep a record, unless the episode has one, which then stays; gives the one that is kept.

        `None` where the words of the episode were destroyed meanwhile: nothing of them is kept then. Raises `NotFound`,
        `Busy`, `Unavailable`.
        """
        with self._store.write(record.scope) as tx:
            known = tx.episode_record(record.episode)
            if known is not None:
                return known
            if tx.recorded_episode(record.episode).verbatim is None:
                return None
            head = tx.head
            changes = ChangeSet(
                position=head.position + 1, recorded_at=self._commits.time_after(head), kind=Kind.WRITE,
                principal=principal, records=(record,),
            )  # fmt: skip
            commit = journal.commit(changes, head, salts=self._commits.salt)
            tx.apply(commit, ledger=self._commits.ledger(head))
        return record
