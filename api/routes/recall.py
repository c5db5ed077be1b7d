"""What an agent asks in the turn: a question in words, answered in a small dated packet."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson
from starlette.responses import Response

from api.routes.call import Call
from api.routes.reading import await_position, milliseconds, moment, snapshot
from api.routes.routing import READ, Routes
from api.wire import recalled, rendering
from api.wire.found import note_said
from api.wire.live import live
from api.wire.queries import NoQuery
from api.wire.recalled import QUESTION, RecallBody, Recalled
from consolidation.questions import Instants, instants_of
from graph.embedding import Asked
from graph.happenings import happened
from graph.mentions import mentions
from graph.packet import Beside, Limits, Packet, pack
from graph.ports import Reader
from graph.ranking import BALANCED
from graph.recall import Asking, Gathered, Searched, gather
from graph.search import Found, FoundFact, Sought, search
from graph.searching import ChunkHit
from graph.state import resolve_for, served_at
from graph.tokens import CautiousTokenizer
from graph.topics import telling
from ontology.errors import JSON, Incorrect
from ontology.facts import AsOf
from ontology.grants import Grant
from ontology.ids import EntityId
from ontology.instants import Instant, check_zone
from ontology.schema import Schema

routes = Routes("recall", "What memory says to a question in words, small enough to be read in the turn.")

WAITING_MAX: Final = 200
"""So many episodes that are not read yet are counted."""
FOUND_MAX: Final = 50
"""So much is taken from a search."""
_TOKENIZER: Final = CautiousTokenizer()


@routes.post(
    "/v1/recall", body=RecallBody, answer=Recalled, problems=(*READ, "unsupported-format"), keyed=False, reads=True,
    examples=QUESTION,
)  # fmt: skip
def recall(call: Call, query: NoQuery) -> Response:
    """What memory says to a question in words: dated lines with their sources, within a budget.

    Of the entities that the question names their exact state, what it asks for first; what lies around them where that
    is not enough. Dates in the question say at which instants it is asked, unless the body does; `dates` tells how they
    were understood: a day is its first instant, a week, a month or a year is asked at its last, or now while it lasts.
    Words that several are called by are told in `unclear`, and none of them is taken.

    `text` is for the model: what others said stands fenced in it, as data. It gives no permission to act.
    """
    body = call.body(RecallBody)
    scope = call.scope(body.namespace, body.purpose, needs=Grant.READ)
    waiting = call.waiting(scope, ceiling=WAITING_MAX + 1)
    await_position(call, scope, body.min_position)
    quarter = body.milliseconds // 4
    indexed = call.caught_up(scope, quarter)
    meaning = call.meaning(indexed, body.question, quarter / 1000)
    with snapshot(call, body.namespace, body.purpose, body.min_position) as reader:
        now = call.services.clock.now()
        schema = call.schemas.of(reader)
        as_of, judged_at, instants = _instants(reader, schema, body, now)
        deadline = milliseconds() + 2 * quarter  # from here on: the first date that is read loads a library
        asking = Asking(text=instants.rest, as_of=as_of, kinds=body.wanted(), deadline=deadline)
        searching = _Search(reader, schema, asking, judged_at, meaning, episodes=body.episodes)
        gathered = gather(reader, schema, asking, milliseconds, searching)
        beside = Beside(
            held=sum(reader.held_counts().values()), waiting=min(waiting, WAITING_MAX),
            more_waiting=waiting > WAITING_MAX, remarks=(),
        )  # fmt: skip
        limits = Limits(tokens=body.tokens, lines=body.limit, deadline=deadline)
        packet = pack(reader, schema, gathered, as_of, limits, beside, _TOKENIZER, milliseconds)
        answer = _lines(reader, packet, as_of, judged_at) | _asked(reader, gathered, instants, body)
        answer |= live(schema, gathered.live) or {"live": []}
    answer |= _told(packet, beside, body)
    answer["search"] = recalled.searched(searching.found)
    if body.session is not None:
        call.served(scope, body.session, [line.fact.version for line in packet.lines])
    call.packed(packet.tokens, len(packet.lines))
    answer["as_of"] = rendering.as_of(as_of, now)
    return Response(orjson.dumps(answer), media_type="application/json", headers={"Cache-Control": "no-store"})


class _Search:
    """The search that a question may need, and what came of it."""

    def __init__(
        self, reader: Reader, schema: Schema, asking: Asking, judged_at: Instant, meaning: Asked, *, episodes: bool
    ) -> None:
        self._reader = reader
        self._schema = schema
        self._asking = asking
        self._judged_at = judged_at
        self._meaning = meaning
        self._episodes = episodes
        self.found: Found | None = None
        """`None` where none was needed."""

    def __call__(self, near: Sequence[EntityId]) -> Searched:
        text = telling(self._asking.text)
        if not text:
            return Searched(facts=(), quotes=())
        sought = Sought(
            text=text, as_of=self._asking.as_of, served_at=self._judged_at, limit=FOUND_MAX, facts=True,
            episodes=self._episodes, kinds=frozenset(self._asking.kinds), predicates=frozenset(), about=(),
            near=tuple(near), history=False, held=False, policy=BALANCED,
        )  # fmt: skip
        self.found = search(self._reader, self._schema, sought, self._meaning, milliseconds)
        items = [item for item, _ in self.found.items]
        return Searched(
            facts=[item.fact for item in items if isinstance(item, FoundFact)],
            quotes=[item for item in items if isinstance(item, ChunkHit)],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stated:
    """The two instants that a body states; they come before those of the question."""

    valid_at: Instant | None
    known_at: Instant | None


def _stated(body: RecallBody) -> _Stated:
    valid_at = None if body.valid_at is None else moment(body.valid_at, body.zone, "/valid_at")
    known_at = None if body.known_at is None else moment(body.known_at, body.zone, "/known_at")
    return _Stated(valid_at=valid_at, known_at=known_at)


def _zone(body: RecallBody) -> str:
    try:
        return check_zone(body.zone or "UTC")
    except Incorrect as exc:
        raise exc.under("/zone") from None


def _instants(reader: Reader, schema: Schema, body: RecallBody, now: Instant) -> tuple[AsOf, Instant, Instants]:
    """At which two instants it is asked, by which it is judged what has expired, and how its words were understood.

    An event among them is dated as memory knows it at the `known_at` of the question.
    """
    zone, stated = _zone(body), _stated(body)

    def date_of(side: str, event: str, known_at: Instant | None) -> Instant | str:
        known_at = known_at if stated.known_at is None else stated.known_at
        as_of = resolve_for(reader, now, None, known_at)
        named = [each.entity.id for each in mentions(reader, body.question, as_of).named]
        found = happened(reader, schema, named, event, as_of.known_at, now)
        return found if isinstance(found, str) or side == "after" else Instant(found - 1)

    instants = instants_of(body.question, now, zone, date_of)
    valid_at = instants.valid_at if stated.valid_at is None else stated.valid_at
    known_at = instants.known_at if stated.known_at is None else stated.known_at
    as_of = resolve_for(reader, now, valid_at, known_at)
    return as_of, served_at(now, known_at, as_of), instants


def _lines(reader: Reader, packet: Packet, as_of: AsOf, judged_at: Instant) -> dict[str, JSON]:
    versions = [line.fact.version for line in packet.lines]
    names = rendering.names_in(reader, versions)
    heads = rendering.versions_of(reader, versions)
    lines: list[JSON] = [recalled.line(line, names, heads, as_of.known_at, judged_at) for line in packet.lines]
    note_said(reader, [quote.hit for quote in packet.quotes])
    return {"text": packet.text, "lines": lines, "quotes": [recalled.quote(quote) for quote in packet.quotes]}


def _asked(reader: Reader, gathered: Gathered, instants: Instants, body: RecallBody) -> dict[str, JSON]:
    ids = sorted({id for each in gathered.mentions.unclear for id in each.entities})
    names = reader.entities_by_id(ids) if ids else {}
    return {
        "entities": recalled.named(gathered.mentions),
        "unclear": recalled.unclear(gathered.mentions, names),
        "dates": recalled.dates(instants.dates, {"valid_at": body.valid_at, "known_at": body.known_at}),
    }


def _told(packet: Packet, beside: Beside, body: RecallBody) -> dict[str, JSON]:
    return {
        "counts": {
            "held": beside.held,
            "waiting": beside.waiting,
            "conflicts": len(packet.conflicts),
            "left_out": packet.left_out,
        },
        "conflicts": [list(group) for group in packet.conflicts],
        "truncated": recalled.truncated(packet),
        "budget": {
            "tokens": body.tokens,
            "tokens_used": packet.tokens,
            "tokenizer": _TOKENIZER.name,
            "milliseconds": body.milliseconds,
        },
    }
