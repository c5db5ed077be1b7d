"""A ledger in which every kind of row occurs, and of most of them every variant."""

from typing import Any, Final

from consolidation.episodes import NewEpisode, NewTurn
from consolidation.forgetting.forgetter import Forgetter, Named
from consolidation.items import Assert, Expire, Promote, Quoted, Reject, Said
from consolidation.records import Records
from graph.ports import MemoryStore
from ontology.episodes import Cited, EpisodeRecord
from ontology.ids import EpisodeId, TombstoneId
from ontology.instants import SECOND
from ontology.schema_document import pack_from_document
from ontology.scope import Scope, scope_of
from ontology.tombstones import Tombstone
from tests.conftest import SeededRandomness
from tests.contract.world import claim, correct, erase, retract, withdraw
from tests.rdf.story import SCOPE, Teller

HEALTH: Final = scope_of("acme", "default", "health")
TEAM: Final = scope_of("acme", "team")
MARKER: Final = "zqxmarker"
HOSTILE: Final = "\"\\'<>{}|^`\n\r\t\u202e\u2028\ufffe 👩‍👩‍👧 \u0301"
"""All that a value may hold and that some syntax of RDF has a meaning for."""
VALUES: Final[tuple[object, ...]] = (
    HOSTILE, 42, -7, {"type": "decimal", "value": "0.10"}, True, {"type": "date", "value": "2026"},
    {"type": "date", "value": "2026-06"}, {"type": "date", "value": "-0043-03-15"}, {"type": "date", "value": "+12026"},
    {"type": "datetime", "value": "2026-06-01T10:00:00.5+02:00"}, {"type": "datetime", "value": "-0043-03-15T00:00Z"},
    {"type": "duration", "value": "P1Y2M3DT4H5M6.5S"}, {"type": "quantity", "value": "0.25", "unit": "EUR / <kg>"},
    {"type": "json", "value": {"a": [1, None, "x\n"]}}, {"type": "langtext", "value": "Wien", "lang": "de-AT"},
    {"type": "langtext", "value": "Vienna", "lang": "i-default"}, {"type": "entity", "key": "bo <x> \\"},
)  # fmt: skip


class Everything(Teller):
    """What is told goes through the real writer, recorder and forgetter, a second after what was told before."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.forgetter = Forgetter(store=store, clock=self.clock, randomness=SeededRandomness(2), outside=[self])

    def forget(self, tenant: str, tombstone: Tombstone, secret: bytes) -> None:
        """What stands for backups, of which there are none."""

    def tell(self, *items: Any, scope: Scope = SCOPE, by: str = "consolidator") -> list[dict[str, Any]]:
        self.clock.advance(SECOND)
        return list(self.write(*items, scope=scope, by=by)["items"])

    def episode(self, **new: Any) -> EpisodeId:
        self.clock.advance(SECOND)
        receipt: Any = self.recorder.record(SCOPE, "server", [NewEpisode(**new)]).receipt
        return EpisodeId(receipt["items"][0]["episode"])

    def away(self, **named: str) -> TombstoneId:
        self.clock.advance(SECOND)
        what = Named(**named)
        confirm = str(self.forgetter.preview(SCOPE, what)["manifest"])
        receipt: Any = self.forgetter.forget(SCOPE, "auditor", what, confirm=confirm)
        return TombstoneId(receipt["tombstone"])


def everything(store: MemoryStore, *, remote: bool = True) -> Everything:
    """With `remote`, also times before the year 1 and after 9999, which not every library reads."""
    told = Everything(store)
    declared = {
        name: {"cardinality": "functional", "datatype": "text"} for name in ("lives_in", "works_for")
    } | {"speaks <b>": {"label": HOSTILE, "description": "d"}}  # fmt: skip
    told.writer.put_schema(SCOPE, "server", pack_from_document({"pack": "more", "predicates": declared}))
    _values(told)
    _believed(told)
    if remote:
        _remote(told)
    _held(told)
    _forgotten(told)
    told.tell(claim("mira", "note", "of another purpose", "2020-01-01"), scope=HEALTH)
    told.tell(claim("mira", "note", f"of another {MARKER}", "2020-01-01", episode="shared-1"), scope=TEAM)
    told.tell(claim("mira", "note", "here", "2020-01-01", episode="shared-1"))
    return told


def _values(told: Everything) -> None:
    for number, value in enumerate(VALUES):
        told.tell(claim("mira", f"has <{number}>", value, "2020-01-01"))


def _believed(told: Everything) -> None:
    turns = [NewTurn(speaker="ann", text="Mira moved to Oslo.\0", at="2026-05-01T10:00:00+02:00"),
             NewTurn(speaker="bo <b>", text=HOSTILE)]  # fmt: skip
    episode = told.episode(turns=turns, session="s-1", source_uri="mailto:a@b", me_key="mira", zone="Europe/Oslo",
                           observed_at="2026-05-01T10:00:00+02:00", source="chat <c>", trust="observed")  # fmt: skip
    told.episode(text="plain words", me_name="Mira", media_type="text/markdown")
    cited = Cited(0, 0, 19)
    records = Records(store=told.store, clock=told.clock, randomness=SeededRandomness(3))
    records.keep("reader", EpisodeRecord(
        episode=episode, scope=SCOPE, made_by="rules 1", summary="She moved.", sentences=(cited, Cited(None, 0, 1)),
        attempted=(cited,), happened=(cited,), decisions=(cited,), outcome=(cited,),
    ))  # fmt: skip
    quote = Quoted(turn=0, start=0, end=19, text="Mira moved to Oslo.")
    told.tell(
        claim("mira", "lives_in", "Bonn", "2019-01-01", confidence=0.7, ttl="P30000D"),
        claim("mira", "lives_in", "Oslo", "2026-05", episode=episode, source="chat <c>", quote=quote, confidence=0.8,
              date_semantics="sometime", zone="Europe/Oslo"),
    )  # fmt: skip
    told.tell(claim("mira", "lives_in", "Oslo", "2026-05-01", source="neighbour", root="paper", episode="cited <e>"))
    told.tell(claim("mira", "works_for", "Contoso", "unknown", "infinity"))
    told.tell(claim("bo", "works_for", "Contoso", "-infinity", "unknown"))
    told.tell(claim("bo", "lives_in", "Rome", "0003-03-15", "0010-01-01"), claim("bo", "lives_in", "Mars", "9026"))
    told.tell(claim("mira", "prefers", "tea"), claim("mira", "prefers", "coffee", "2020", "2021"))
    told.tell(retract("mira", "prefers", "tea", valid_from="2026-01-01"))
    told.tell(retract("bo", "lives_in", valid_from="0005-01-01", valid_to="0006-01-01"))
    told.tell(correct("mira", "lives_in", "Bonn", "2020-01-01", "Cologne"))
    (gone,) = told.tell(claim("mira", "works_for", "Fabrikam", "2025-01-01"))
    told.tell(withdraw(claim=gone["claim"]))
    (short,) = told.tell(claim("mira", "note", "for a day", ttl="P1D"))
    told.clock.advance(2 * 86_400 * SECOND)
    told.tell(Expire(claim=short["claim"]))
    told.tell(claim("mira", "note", f"{MARKER} erased", "2020-01-01"))
    told.tell(erase("mira", "note", f"{MARKER} erased"))


def _remote(told: Everything) -> None:
    told.tell(claim("cy", "lives_in", "Rome", "-0043-03-15", "0010-01-01"), claim("cy", "lives_in", "Mars", "+12026"))


def _held(told: Everything) -> None:
    promoted, rejected, _ = (
        told.tell(claim("mira", "lives_in", city, start, trust="untrusted", source="web", episode="page"))[0]["claim"]
        for city, start in (("Turin", "2027-01-01"), ("Atlantis", "2028-01-01"), ("Utopia", "2029-01-01"))
    )
    told.tell(Promote(claim=promoted, reason="she said so"), by="reviewer")
    told.tell(Reject(claim=rejected, reason="no such place"), by="reviewer")


def _forgotten(told: Everything) -> None:
    words = f"{MARKER} lives in {MARKER} street"
    episode = told.episode(text=words)
    quote = Quoted(turn=None, start=0, end=len(words), text=words)
    person = f"{MARKER}-key"
    told.tell(Assert(subject={"key": person}, predicate="lives_in", value=f"{MARKER} street",
                     said=Said(episode=episode, quote=quote)))  # fmt: skip
    told.tell(claim(person, "name", f"{MARKER} Vera", "2020-01-01"), claim(person, "name", f"{MARKER} V", "2021-01-01"))
    told.tell(claim("bo", "knows", {"type": "entity", "key": person}, "2020-01-01"))
    told.tell(claim("bo", "note", f"{MARKER} of bo", "2020-01-01"))
    told.tell(claim("bo", "note", "stays", "2020-01-01", source=f"{MARKER} source"))
    lifted = told.away(subject=person)
    told.clock.advance(SECOND)
    told.forgetter.lift(SCOPE, "auditor", lifted)
    told.away(subject="bo", predicate="note")
    told.away(episode=told.episode(text=f"only {MARKER} words"))
