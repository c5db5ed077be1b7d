"""What a snapshot answers about recorded episodes; their words lie in the journal."""

from graph import decoding
from graph.neo4j_store import keys
from graph.neo4j_store.snapshot import Snapshot
from ontology.episodes import RecordedEpisode
from ontology.errors import NotFound, shown
from ontology.ids import EPISODE, EpisodeId


class EpisodeReads(Snapshot):
    """The part of a reader that answers with recorded episodes."""

    __slots__ = ()

    def recorded_episode(self, id: EpisodeId) -> RecordedEpisode:
        place, owner = self._place_key(id, EPISODE), decoding.owner_place(id, self._ledger)
        rows = []
        if place is not None and owner is not None:
            asked = {
                "place": place,
                "scope": self._scope_key,
                "position": self._head.position,
                "episode": id,
                "owner": keys.place_key(self._scope.tenant, owner),
            }
            rows = self._run("recorded_episode", asked)
        if not rows:
            raise NotFound(f"no recorded episode {shown(id)} here")
        return decoding.recorded_episode(self._scope, [*rows[0][:6], *(rows[0][6] or [None] * 4)])
