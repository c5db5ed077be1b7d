"""What a snapshot answers about recorded episodes; their words lie in the journal."""

from collections.abc import Sequence

from graph import decoding
from graph.neo4j_store import keys
from graph.neo4j_store.snapshot import Snapshot
from ontology.episodes import EpisodeRecord, Quote, RecordedEpisode
from ontology.errors import NotFound, shown
from ontology.ids import CLAIM, EPISODE, ClaimId, EpisodeId


class EpisodeReads(Snapshot):
    """The part of a reader that answers with recorded episodes."""

    __slots__ = ()

    def quotes(self, claims: Sequence[ClaimId]) -> dict[ClaimId, Quote]:
        places = [place for id in claims if (place := self._place_key(id, CLAIM)) is not None]
        asked = {"places": places, "scope": self._scope_key, "position": self._head.position}
        rows = self._run("quotes", asked) if places else []
        found = (decoding.quote(self._ledger, row) for row in rows)
        return {quote.claim: quote for quote in found}

    def episode_record(self, id: EpisodeId) -> EpisodeRecord | None:
        owner = decoding.owner_place(id, self._ledger)
        if owner is None or self._place_key(id, EPISODE) is None:
            return None
        rows = self._run("payloads_about", {"subject": keys.place_key(self._scope.tenant, owner)})
        return decoding.newest_record(id, self._scope, [row for row in rows if row[0] <= self._head.position])

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
