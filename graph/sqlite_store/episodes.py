"""What a snapshot answers about recorded episodes; their words lie in the journal."""

from collections.abc import Sequence

from graph import decoding
from graph.sqlite_store.snapshot import Snapshot
from ontology.episodes import EpisodeRecord, Quote, RecordedEpisode
from ontology.errors import NotFound, shown
from ontology.ids import CLAIM, EPISODE, ClaimId, EpisodeId


class EpisodeReads(Snapshot):
    """The part of a reader that answers with recorded episodes."""

    __slots__ = ()

    def quotes(self, claims: Sequence[ClaimId]) -> dict[ClaimId, Quote]:
        places = (decoding.place(id, CLAIM, self._ledger) for id in claims)
        rows = (self._connection.one("quotes", (self._tenant_pk, *place, self._scope_pk)) for place in places if place)
        found = (decoding.quote(self._ledger, row) for row in rows if row is not None)
        return {quote.claim: quote for quote in found}

    def episode_record(self, id: EpisodeId) -> EpisodeRecord | None:
        place = decoding.place(id, EPISODE, self._ledger)
        if place is None:
            return None
        rows = self._connection.all("payloads_about", (self._tenant_pk, place[0], -1 - place[1]))
        return decoding.newest_record(id, self._scope, rows)

    def recorded_episode(self, id: EpisodeId) -> RecordedEpisode:
        place = decoding.place(id, EPISODE, self._ledger)
        row = None
        if place is not None:
            row = self._connection.one("recorded_episode", (self._tenant_pk, *place, id, self._scope_pk))
        if row is None:
            raise NotFound(f"no recorded episode {shown(id)} here")
        return decoding.recorded_episode(self._scope, row)
