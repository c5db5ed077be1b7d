"""What a snapshot answers about recorded episodes; their words lie in the journal."""

from graph import decoding
from graph.sqlite_store.snapshot import Snapshot
from ontology.episodes import RecordedEpisode
from ontology.errors import NotFound, shown
from ontology.ids import EPISODE, EpisodeId


class EpisodeReads(Snapshot):
    """The part of a reader that answers with recorded episodes."""

    __slots__ = ()

    def recorded_episode(self, id: EpisodeId) -> RecordedEpisode:
        place = decoding.place(id, EPISODE, self._ledger)
        row = None
        if place is not None:
            row = self._connection.one("recorded_episode", (self._tenant_pk, *place, id, self._scope_pk))
        if row is None:
            raise NotFound(f"no recorded episode {shown(id)} here")
        return decoding.recorded_episode(self._scope, row)
