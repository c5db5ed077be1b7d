"""How a read is asked and answered: the snapshot, the two instants, the page, and the tag of the answer."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

import orjson
from starlette.responses import Response

from api.auth.permission import Permitted
from api.cursors import Cursor as Place
from api.cursors import CursorKey, filter_hash, next_link, read_cursor, write_cursor
from api.problems import version_tag
from api.routes.call import Call
from api.wire import rendering
from api.wire.bodies import AskedBody
from api.wire.queries import ReadQuery, ScopeQuery, decode_query
from api.wire.rendering import Names, Wire
from consolidation.forgetting.graves import Graves, gone
from graph.periods import recorded_order
from graph.ports import OrderKey, Page, Reader
from graph.state import etag, resolve, served_at
from ontology.claims import Entity
from ontology.errors import JSON, Busy, Incorrect, Violation, shown
from ontology.facts import AsOf, Fact, Version
from ontology.grants import Grant
from ontology.ids import EntityId
from ontology.instants import Instant, format_instant, parse_instant
from ontology.intervals import Interval
from ontology.tombstones import Marked
from ontology.values import entity_mention

CEILING: Final = 5_000
"""How many versions are read for an answer that is computed from many; the answer says where it was cut."""
POLL_SECONDS: Final = 0.02
ORDER_KEY: Final = (int, int, int)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A read under way: its snapshot, the two instants, and where its page begins."""

    call: Call
    reader: Reader
    as_of: AsOf
    served_at: Instant
    """By which it is judged what has expired."""
    now: Instant
    limit: int
    after: CursorKey | None
    query: ReadQuery | AskedBody

    @property
    def page(self) -> Page:
        """The page of facts that is wanted, and one row more, which tells whether there is a next one."""
        return Page(self.limit + 1, self.order_key)

    @property
    def order_key(self) -> OrderKey | None:
        match self.after:
            case (int(first), int(second), int(third)):
                return first, second, third
        return None

    def tag(self, floating: bytes) -> str:
        """The tag of the answer; `floating` is what of it depends on the clock."""
        asked = b"\0".join((self.call.path.encode("utf-8", "surrogatepass"), self.call.query_string, floating))
        return etag(self.reader.scope, self.reader.head, asked)


def reading(call: Call, query: ScopeQuery) -> AbstractContextManager[Reader]:
    """A snapshot of the scope that the query names, as new as its `min_position` asks.

    Raises `Busy` where that position does not come in time.
    """
    return snapshot(call, query.namespace, query.purpose, query.min_position)


def snapshot(call: Call, namespace: str, purpose: str, min_position: int | None) -> AbstractContextManager[Reader]:
    """The same, with the scope by its names."""
    scope = call.scope(namespace, purpose, needs=Grant.READ)
    return newest(call.read, call, scope, min_position)


def await_position(call: Call, scope: Permitted, min_position: int | None) -> None:
    """Wait until a read sees the position that is asked for; what is indexed from then on has it."""
    if min_position is not None:
        with newest(call.read, call, scope, min_position):
            pass


def milliseconds() -> float:
    """The clock of budgets: it only tells how long something takes."""
    return time.monotonic() * 1000


def newest(
    read: Callable[[Permitted], AbstractContextManager[Reader]], call: Call, scope: Permitted, min_position: int | None
) -> AbstractContextManager[Reader]:
    """A snapshot that `read` takes, as new as is asked."""
    return read(scope) if min_position is None else _at_least(read, call, scope, min_position)


@contextmanager
def _at_least(
    read: Callable[[Permitted], AbstractContextManager[Reader]], call: Call, scope: Permitted, min_position: int
) -> Iterator[Reader]:
    deadline = time.monotonic() + call.services.settings.position_seconds
    while True:
        with read(scope) as reader:
            if reader.head.position >= min_position:
                yield reader
                return
            position = reader.head.position
        if time.monotonic() >= deadline:
            raise Busy(
                f"the newest position here is {position}, min_position {min_position} has not come yet",
                members={"position": position},
            )
        time.sleep(POLL_SECONDS)


def ask(
    call: Call,
    reader: Reader,
    query: ReadQuery | AskedBody,
    *,
    limit: int = 1,
    cursor: str | None = None,
    shape: tuple[type, ...] = ORDER_KEY,
) -> Question:
    """The question of a query or a body: a cursor brings its own two instants, else they are resolved now."""
    now = call.services.clock.now()
    after: CursorKey | None = None
    place: Place | None = None
    if cursor is None:
        valid_at = None if query.valid_at is None else moment(query.valid_at, query.tz, "/valid_at")
        known_at = None if query.known_at is None else moment(query.known_at, query.tz, "/known_at")
    else:
        place = read_cursor(cursor, _filter(call, reader, query), shape)
        valid_at, known_at, after = place.as_of.valid_at, place.as_of.known_at, place.after
    as_of = resolve(reader.head, now, valid_at, known_at)
    served = served_at(now, known_at, as_of) if place is None else place.served_at
    reader.serve(as_of.known_at, served)
    return Question(
        call=call, reader=reader, as_of=as_of, served_at=served, now=now, limit=limit, after=after, query=query
    )


def moment(text: str, zone: str | None, at: str) -> Instant:
    """The instant that a parameter names; what it raises points at the parameter."""
    try:
        return parse_instant(text, zone or "UTC")
    except Incorrect as exc:
        raise exc.under("/tz" if any(v.code == "unknown_zone" for v in exc.violations) else at) from None


def stretch(start: Instant, end: Instant, at: str) -> Interval:
    """`[start, end)`; raises `Incorrect` where it is inverted."""
    if end < start:
        detail = f"{format_instant(end)} lies before {format_instant(start)}; exchange them"
        raise Incorrect(detail, violations=(Violation(pointer=at, code="inverted_interval", detail=detail),))
    return Interval(start, end)


def subject_of(reader: Reader, text: str, at: str = "/subject") -> Entity | None:
    """The entity that a key or an id names, `None` if there is none; `at` is where it stands.

    Raises `Incorrect` for what is neither, `Gone` for what was forgotten.
    """
    mention = entity_mention(text, pointer=at)
    if mention.key is not None:
        found = reader.entities_by_key([mention.key]).get(mention.key)
        stone = Graves(reader, shown=True).of_word(Marked.KEY, mention.key) if found is None else None
    else:
        id = mention.id or EntityId(text)
        found = reader.entities_by_id([id]).get(id)
        stone = Graves(reader, shown=True).of_id(id) if found is None else None
    if stone is not None:
        raise gone(f"{shown(text)} was forgotten", stone)
    return found


def facts_answer(
    question: Question, facts: Sequence[Fact], order: Callable[[Fact], OrderKey], names: Names, **others: JSON
) -> Response:
    """A page of facts, one row of which may be beyond it, with the entities that are known already."""
    shown = facts[: question.limit]
    last = order(shown[-1]) if len(facts) > question.limit else None
    versions = [each.version for each in shown]
    names = rendering.names_in(question.reader, versions, names)
    heads = rendering.versions_of(question.reader, versions)
    wire = rendering.facts(shown, names, heads, question.as_of.known_at, question.served_at)
    return paged(question, wire, last, **others)


def rectangles(question: Question, facts: Sequence[Fact], keep: Callable[[Fact], bool] = lambda fact: True) -> Response:
    """A page of raw versions by recorded time, one of which may be beyond it, without what came after `known_at`."""
    known_at, shown = question.as_of.known_at, facts[: question.limit]
    ends_here = len(facts) <= question.limit or shown[-1].version.recorded_from > known_at
    last = None if ends_here else recorded_order(shown[-1].version)
    kept = [fact for fact in shown if fact.version.recorded_from <= known_at and keep(fact)]
    versions = [fact.version for fact in kept]
    names = rendering.names_in(question.reader, versions)
    heads = rendering.versions_of(question.reader, versions)
    return paged(question, rendering.facts(kept, names, heads, known_at, question.served_at), last)


def paged(
    question: Question, items: Sequence[JSON], last: CursorKey | None, *, truncated: JSON = None, **others: JSON
) -> Response:
    """A page of items; `last` is the order key of its last row if there is a next page."""
    question.call.returns(len(items))
    cursor = None
    if last is not None:
        hash = _filter(question.call, question.reader, question.query)
        cursor = write_cursor(Place(after=last, as_of=question.as_of, served_at=question.served_at), hash)
    body: Wire = {"items": items, "next_cursor": cursor, **others}
    if truncated is not None:
        body["truncated"] = truncated
    return answered(question, body, cursor=cursor)


def answered(question: Question, body: Wire, *, cursor: str | None = None, version: Version | None = None) -> Response:
    """The answer to a question, with its instants and its tag; 304 where the caller has it already.

    With `version`, the thing has the version of a slot, and that is its tag: a correction wants it back.
    """
    call = question.call
    content = orjson.dumps(body)
    as_of = orjson.dumps(rendering.as_of(question.as_of, question.now))
    whole = b'%b,"as_of":%b}' % (content[:-1], as_of)
    if call.method == "POST":
        return Response(whole, media_type="application/json", headers={"Cache-Control": "no-store"})
    if version is not None:
        tag = version_tag(version)
    elif question.query.valid_at is not None and question.query.known_at is not None:
        tag = question.tag(b"")
    else:  # the clock has moved on, so only equal contents make it the same answer; a cursor pins the clock
        tag = question.tag(content if cursor is None else orjson.dumps({**body, "next_cursor": None}))
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if call.matches(tag):
        return Response(status_code=304, headers=headers)
    if cursor is not None:
        headers["Link"] = next_link(call.path, decode_query(call.query_string), cursor)
    return Response(whole, media_type="application/json", headers=headers)


def sent(question: Question, content: bytes, media_type: str) -> Response:
    """An answer that is no JSON and says itself at which instants, with its tag; 304 where the caller has it."""
    pinned = question.query.valid_at is not None and question.query.known_at is not None
    tag = question.tag(media_type.encode() + (b"" if pinned else content))
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if question.call.matches(tag):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


def sliced(question: Question, items: Sequence[T]) -> tuple[Sequence[T], CursorKey | None]:
    """The page of a list that was computed whole, by index, and the key of the next one."""
    start = question.after[0] + 1 if question.after and isinstance(question.after[0], int) else 0
    end = start + question.limit
    return items[start:end], (end - 1,) if end < len(items) else None


def cut_before(instant: Instant | None) -> JSON:
    """How an answer says that it was cut: before which instant it is complete."""
    if instant is None:
        return None
    return {"reason": "ceiling", "ceiling": CEILING, "complete_before": rendering.instant(instant)}


def _filter(call: Call, reader: Reader, query: ReadQuery | AskedBody) -> str:
    scope = reader.scope
    filters = query.model_dump(exclude={"cursor", "limit", "min_position", "namespace", "purpose"})
    return filter_hash(call.method, call.path, scope.tenant, scope.namespace, scope.purpose, sorted(filters.items()))
