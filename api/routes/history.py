"""How it came about: periods, rectangles, what was held about one instant, differences, logs, changes."""

from collections.abc import Sequence
from typing import Final

from starlette.responses import Response

from api.routes.asked import BySubject, ByValue, asked, predicate_of, value_of
from api.routes.call import Call
from api.routes.reading import (
    CEILING,
    Question,
    answered,
    ask,
    cut_before,
    facts_answer,
    moment,
    paged,
    reading,
    rectangles,
    sliced,
    stretch,
    subject_of,
)
from api.routes.routing import LISTED, READ, Routes
from api.routes.state import order_of
from api.sensitive import note
from api.wire import answers, rendering
from api.wire.live import live
from api.wire.queries import (
    AuditQuery,
    BeliefQuery,
    BelievedQuery,
    BetweenQuery,
    ChangesQuery,
    ClaimsQuery,
    HistoryQuery,
)
from api.wire.rendering import Names, Wire
from graph import history
from graph.paging import OfSubject, OfValue, history_page
from graph.periods import ALWAYS, Period, Statement
from graph.ports import Order, OrderKey, Page, Reader
from ontology.canonical import incorrect
from ontology.claims import Told
from ontology.errors import JSON, FutureKnownAt, Violation
from ontology.ids import EntityId
from ontology.instants import OPEN_END, OPEN_START, Instant, format_instant
from ontology.intervals import Interval
from ontology.values import ValueKey, ValueType

routes = Routes("history", "How belief and the world changed, along either clock.")

PREDICATES: Final = (*LISTED, "unknown-predicate")
CLAIMS_PER_READ: Final = 200


@routes.get("/v1/history", query=HistoryQuery, answer=answers.History, problems=(*PREDICATES, "ontology-violation"))
def read_history(call: Call, query: HistoryQuery) -> Response:
    """What is believed to have held when, by the start of valid time.

    The first with `limit=1`, the last with `order=desc`, the next with `after`, what overlaps with `from` and `to`,
    what holds at one instant with `valid_at`; who had a value with `value`.
    """
    with reading(call, query) as reader:
        question = ask(call, reader, query, limit=query.limit, cursor=query.cursor)
        within = _within(question, query)
        about, names = _about(call, reader, query)
        tools = live(call.schemas.of(reader), [query.predicate])
        if about is None:
            return paged(question, [], None, **tools)
        certain = query.certainty == "certain"
        if query.periods:
            return _periods_answer(question, query, about, within, names, tools, certain=certain)
        descending = query.order == "desc"
        after = None if query.after is None else moment(query.after, query.tz, "/after")
        page = question.page
        if after is not None and page.after is None and not descending:
            page = Page(page.limit, (after, OPEN_END, OPEN_END))
        order = Order.VALID_DESCENDING if descending else Order.VALID
        known_at = question.as_of.known_at
        facts = history_page(reader, about, known_at, within, certain=certain, order=order, page=page)
        if after is not None:
            facts = [fact for fact in facts if fact.version.valid_from > after]
        return facts_answer(question, facts, order_of, names, **tools)


@routes.get("/v1/audit", query=AuditQuery, answer=answers.Rectangles, problems=PREDICATES)
def read_audit(call: Call, query: AuditQuery) -> Response:
    """The raw rectangles of belief, by recorded time: everything that was ever believed of a subject.

    With `valid_at` only those that hold then. What was recorded after `known_at` is left out.
    """
    with reading(call, query) as reader:
        question = ask(call, reader, query, limit=query.limit, cursor=query.cursor)
        subject = subject_of(reader, query.subject)
        predicate = predicate_of(call, reader, query.predicate)
        if subject is None:
            return paged(question, [], None)
        at = None if query.valid_at is None else question.as_of.valid_at
        facts = reader.audit(subject.id, predicate, valid_at=at, touched=None, page=question.page)
        if query.certainty == "certain":
            return rectangles(question, facts, lambda fact: fact.version.certain)
        return rectangles(question, facts)


@routes.get("/v1/belief", query=BeliefQuery, answer=answers.Belief, problems=PREDICATES)
def read_belief(call: Call, query: BeliefQuery) -> Response:
    """What was held about one instant of the world, over recorded time."""
    with reading(call, query) as reader:
        question = ask(call, reader, query, limit=query.limit, cursor=query.cursor, shape=(int,))
        subject = subject_of(reader, query.subject)
        predicate = predicate_of(call, reader, query.predicate)
        if subject is None:
            return paged(question, [], None)
        known_at = question.as_of.known_at
        found = history.belief(reader, subject.id, predicate, question.as_of.valid_at, ceiling=CEILING)
        rows = [h for h in found.rows if h.recorded_from <= known_at and (h.certain or query.certainty == "any")]
        shown, last = sliced(question, rows)
        names = _names(reader, [h.statement for h in shown], {subject.id: subject})
        items: list[JSON] = [
            {
                **statement(h.statement, names),
                "certain": h.certain,
                "recorded_from": rendering.instant(h.recorded_from),
                "recorded_to": rendering.instant(h.recorded_to if h.recorded_to <= question.served_at else OPEN_END),
            }
            for h in shown
        ]
        return paged(question, items, last, truncated=cut_before(found.complete_before))


@routes.get("/v1/believed", query=BelievedQuery, answer=answers.Believed, problems=PREDICATES)
def read_believed(call: Call, query: BelievedQuery) -> Response:
    """Which values were believed at some time of a stretch of recorded time, whenever they hold."""
    with reading(call, query) as reader:
        question = ask(call, reader, query, limit=query.limit, cursor=query.cursor, shape=(int,))
        subject = subject_of(reader, query.subject)
        predicate = predicate_of(call, reader, query.predicate)
        window = stretch(
            moment(query.known_from, query.tz, "/known_from"),
            moment(query.known_to, query.tz, "/known_to"),
            "/known_to",
        )
        until = Instant(min(window.end + query.closed, question.as_of.known_at + 1))
        if subject is None or until <= window.start:
            return paged(question, [], None)
        found, cut = history.believed_during(
            reader, subject.id, predicate, window.start, until, closed=False, ceiling=CEILING
        )
        shown, last = sliced(question, found)
        names = _names(reader, shown, {subject.id: subject})
        return paged(question, [statement(each, names) for each in shown], last, truncated=cut or None)


@routes.get("/v1/diff", query=BetweenQuery, answer=answers.Diff, problems=(*READ, "unknown-predicate"))
def read_diff(call: Call, query: BetweenQuery) -> Response:
    """What must be removed from the belief at `known_from`, and added, to get that at `known_to`."""
    with reading(call, query) as reader:
        question = ask(call, reader, query)
        known_from, known_to = _between(question, query)
        subject = subject_of(reader, query.subject)
        about = None if subject is None else OfSubject(subject.id, predicate_of(call, reader, query.predicate))
        body: Wire = {"added": [], "removed": [], "truncated": None}
        if about is not None and subject is not None:
            found = history.diff(reader, about, known_from, known_to, ceiling=CEILING)
            statements = [p.statement for p in (*found.added, *found.removed)]
            names = _names(reader, statements, {subject.id: subject})
            body = {
                "added": [period(p, names) for p in found.added],
                "removed": [period(p, names) for p in found.removed],
                "truncated": cut_before(found.complete_before),
            }
        body |= {"known_from": format_instant(known_from), "known_to": format_instant(known_to)}
        return answered(question, body)


@routes.get("/v1/log", query=BetweenQuery, answer=answers.Log, problems=PREDICATES)
def read_log(call: Call, query: BetweenQuery) -> Response:
    """Every version that was opened or closed after `known_from`, up to `known_to`, transients included."""
    with reading(call, query) as reader:
        question = ask(call, reader, query, limit=query.limit, cursor=query.cursor)
        known_from, known_to = _between(question, query)
        subject = subject_of(reader, query.subject)
        predicate = predicate_of(call, reader, query.predicate)
        if subject is None:
            return paged(question, [], None)
        page = Page(question.limit, question.order_key)
        found = history.log(reader, subject.id, predicate, known_from, known_to, page=page)
        versions = [row.fact.version for row in found.rows]
        names = rendering.names_in(reader, versions, {subject.id: subject})
        heads = rendering.versions_of(reader, versions)
        items: list[JSON] = [
            {
                "fact": rendering.fact(row.fact, names, heads, known_to, question.served_at),
                "opened": row.opened,
                "closed": row.closed,
            }
            for row in found.rows
        ]
        return paged(question, items, found.after)


@routes.get("/v1/changes", query=ChangesQuery, answer=answers.Changes, problems=(*PREDICATES, "ontology-violation"))
def read_changes(call: Call, query: ChangesQuery) -> Response:
    """What started and what ended in the world after `valid_after`, up to `valid_until`, as known at `known_at`."""
    with reading(call, query) as reader:
        question = ask(call, reader, query, limit=query.limit, cursor=query.cursor, shape=(int,))
        start = moment(query.valid_after, query.tz, "/valid_after")
        until = question.as_of.valid_at
        if query.valid_until is not None:
            until = moment(query.valid_until, query.tz, "/valid_until")
            stretch(start, until, "/valid_until")
        if question.after and isinstance(question.after[0], int):
            start = Instant(max(start, question.after[0]))
        about, names = _about(call, reader, query)
        if about is None:
            return paged(question, [], None)
        certain = query.certainty == "certain"
        found = history.changes(
            reader, about, start, until, question.as_of.known_at, ceiling=CEILING, certain=certain
        )  # fmt: skip
        shown = found.rows[: question.limit]
        last = (shown[-1].at,) if len(found.rows) > question.limit else None
        names = _names(reader, [s for change in shown for s in (*change.started, *change.ended)], names)
        items: list[JSON] = [
            {
                "at": format_instant(change.at),
                "started": [statement(each, names) for each in change.started],
                "ended": [statement(each, names) for each in change.ended],
            }
            for change in shown
        ]
        return paged(question, items, last, truncated=cut_before(found.complete_before))


@routes.get("/v1/claims", query=ClaimsQuery, answer=answers.Claims, problems=(*PREDICATES, "ontology-violation"))
def read_claims(call: Call, query: ClaimsQuery) -> Response:
    """Everything that was said of a subject, retractions and withdrawn claims included, as it was recorded."""
    with reading(call, query) as reader:
        question = ask(call, reader, query, limit=query.limit, cursor=query.cursor)
        subject = subject_of(reader, query.subject)
        predicate = predicate_of(call, reader, query.predicate)
        if subject is None:
            return paged(question, [], None)
        rows, last = _claims(question, query, subject.id, predicate)
        names = rendering.names_told(reader, rows)
        return paged(question, [rendering.claim(told, names, question.served_at) for told in rows], last)


def statement(given: Statement, names: Names) -> Wire:
    """A statement as the wire writes it."""
    note(given.subject, given.predicate)
    return {
        "subject": rendering.entity(given.subject, names),
        "predicate": given.predicate,
        "value": rendering.value(given.value, names),
    }


def period(given: Period, names: Names) -> Wire:
    """A period as the wire writes it."""
    return {
        **statement(given.statement, names),
        "certain": given.certain,
        "valid_from": rendering.instant(given.valid_from),
        "valid_to": rendering.instant(given.valid_to),
        "facts": list(given.versions),
    }


def _periods_answer(
    question: Question, query: HistoryQuery, about: history.Asked, within: Interval, names: Names, tools: Wire, *,
    certain: bool,
) -> Response:  # fmt: skip
    """Periods in one page; what is left out is told."""
    known_at, limit = question.as_of.known_at, question.limit
    after = None if query.after is None else moment(query.after, query.tz, "/after")
    truncated: JSON = None
    if within != ALWAYS:
        found = history.read_periods(
            question.reader, about, known_at, ceiling=CEILING, within=within, certain=certain
        )  # fmt: skip
        rows, truncated = found.rows, cut_before(found.complete_before)
        rows = rows[::-1] if query.order == "desc" else rows
    elif query.order == "desc":
        rows = history.last(question.reader, about, known_at, limit=limit + 1, ceiling=CEILING, certain=certain)
    elif after is None:
        rows = history.first(question.reader, about, known_at, limit=limit + 1, ceiling=CEILING, certain=certain)
    else:
        rows = history.next_after(
            question.reader, about, known_at, after, limit=limit + 1, ceiling=CEILING, certain=certain
        )  # fmt: skip
    if after is not None:
        rows = [row for row in rows if row.valid_from > after]
    if len(rows) > limit and truncated is None:
        truncated = {"reason": "limit", "limit": limit}
    names = _names(question.reader, [row.statement for row in rows[:limit]], names)
    return paged(question, [period(row, names) for row in rows[:limit]], None, truncated=truncated, **tools)


def _within(question: Question, query: HistoryQuery) -> Interval:
    """The stretch of valid time that rows must meet."""
    if query.valid_at is not None:
        if query.from_ is not None or query.to is not None:
            raise incorrect("/valid_at", "too_many", "give either 'valid_at', or 'from' and 'to'")
        at = question.as_of.valid_at
        return Interval(at, Instant(at + 1))
    start = OPEN_START if query.from_ is None else moment(query.from_, query.tz, "/from")
    end = OPEN_END if query.to is None else moment(query.to, query.tz, "/to")
    return stretch(start, end, "/to")


def _about(call: Call, reader: Reader, query: HistoryQuery | ChangesQuery) -> tuple[history.Asked | None, Names]:
    """What the question is about, `None` where it names nothing that is there."""
    if query.subject is None and query.value is None:
        raise incorrect("/subject", "missing_field", "whose history? give 'subject', or 'value' for who had it")
    match asked(call, reader, query.subject, query.predicate, query.value):
        case BySubject(subject=subject, predicate=predicate):
            return OfSubject(subject.id, predicate), {subject.id: subject}
        case ByValue(value=value, predicate=predicate, names=names):
            return OfValue(value, predicate), names
    return None, {}


def _between(question: Question, query: BetweenQuery) -> tuple[Instant, Instant]:
    """The two recorded times of a question, each no later than its `known_at`."""
    start = moment(query.known_from, query.tz, "/known_from")
    known_at = question.as_of.known_at
    end = known_at
    if query.known_to is not None:
        end = moment(query.known_to, query.tz, "/known_to")
        stretch(start, end, "/known_to")
    for at, given in (("/known_from", start), ("/known_to", end)):
        if given > max(question.now, known_at):
            detail = f"{at[1:]} {format_instant(given)} is later than now, {format_instant(question.now)}"
            raise FutureKnownAt(detail, violations=(Violation(pointer=at, code="future_known_at", detail=detail),))
    return min(start, known_at), min(end, known_at)


def _claims(
    question: Question, query: ClaimsQuery, subject: EntityId, predicate: str | None
) -> tuple[list[Told], OrderKey | None]:
    """The page of claims that pass the filters, and the key of its last row where there may be more."""
    reader, known_at = question.reader, question.as_of.known_at
    value: ValueKey | None = None
    if query.value is not None:
        known = None if predicate is None else question.call.schemas.predicate(reader, predicate)
        found = value_of(reader, known, query.value)
        if found is None:
            return [], None
        value = found[0]
    rows: list[Told] = []
    after = question.order_key
    for _ in range(CEILING // CLAIMS_PER_READ):
        told = reader.claims(subject, predicate, limit=CLAIMS_PER_READ, after=after)
        for each in told:
            if each.claim.recorded_at > known_at:
                return rows, None
            after = (each.claim.entry.position, each.claim.entry.ordinal, 0)
            known_then = told_as_known(each, known_at)
            if known_then.folded_from > known_at or (query.standing and known_then.ending is not None):
                continue  # what was never believed is for reviewers
            if value is None or each.claim.entry.value == value:
                rows.append(known_then)
            if len(rows) == question.limit:
                return rows, after
        if len(told) < CLAIMS_PER_READ:
            return rows, None
    return rows, after


def told_as_known(told: Told, known_at: Instant) -> Told:
    """The claim without what became of it later."""
    return Told(claim=told.claim, transitions=tuple(t for t in told.transitions if t.recorded_at <= known_at))


def _names(reader: Reader, statements: Sequence[Statement], known: Names) -> Names:
    ids = {each.subject for each in statements}
    ids |= {EntityId(each.value.text) for each in statements if each.value.type is ValueType.ENTITY}
    missing = sorted(ids - known.keys())
    return {**known, **reader.entities_by_id(missing)} if missing else known
