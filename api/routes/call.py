"""One request as an endpoint sees it: who asks, for which scope, with which body.

No endpoint reaches the store but through here, and only with a scope that `scope` gave: it names the grant.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel

from api.auth.permission import Permitted, permitted, permitted_namespace, permitted_tenant
from api.auth.principals import Headers, Principal
from api.authority import authority_of
from api.edge import AGAIN, BODY, HEADERS
from api.limits import check_content_type, read_json
from api.requests import NO_ROUTE, PRINCIPAL, REQUEST_ID, ROUTE
from api.routes.schemas import Schemas
from api.sensitive import anything_shown, audit, noting
from api.wire.violations import validated
from consolidation.admission import Standing, admit_owner, namespaces, transfer
from consolidation.episodes import NewEpisode
from consolidation.forgetting.forgetter import Named, tombstones_of
from consolidation.forgetting.graves import Graves, gone
from consolidation.handoffs import NewHandoff
from consolidation.items import Item, Promote, Reject
from consolidation.sessions import NewNote, NewSession
from consolidation.worker import findings
from graph.embedding import Asked, ask
from graph.indexing import Indexed
from graph.ports import Finding, Grade, Reader
from ontology.access import Ownership
from ontology.errors import (
    JSON,
    Busy,
    Fault,
    Incorrect,
    NotFound,
    PreconditionRequired,
    Unavailable,
    Violation,
    shown,
)  # fmt: skip
from ontology.facts import FactVersion
from ontology.grants import Grant, reaches
from ontology.handoffs import Adoption, Handoff
from ontology.ids import HandoffId, OperationId, SessionId, TombstoneId
from ontology.instants import Instant
from ontology.operations import Backlog, Operation, State
from ontology.schema import Schema
from ontology.schema_merge import Pack
from ontology.scope import Scope
from ontology.sessions import Note, Session, Stage
from ontology.tombstones import Tombstone

if TYPE_CHECKING:
    from starlette.responses import Response

    from api.metrics import Metrics
    from api.wiring import Services
    from consolidation.idempotency import Written

SPEND: Final = "vigencia.spend"
"""Under which name of the ASGI scope there is what counts what a batch costs."""

M = TypeVar("M", bound=BaseModel)

WAIT_SECONDS_MAX: Final = 30.0
INDEXING_MILLISECONDS: Final = 500
"""How long a search waits for what was written a moment ago to be indexed."""
EMBEDDING_SECONDS: Final = 1.0
"""How long it waits for a vector of its text."""
_IDS: Final = re.compile(r"(?:ent|clm|fct|epi)_[a-z2-7]{8}_\d{1,18}_\d{1,9}", re.ASCII)
_TAG: Final = re.compile(r'\s*(?P<tag>(?:W/)?"[^"]*")\s*(?:,|$)')


class Call:
    """One request. Nothing of it is read before an endpoint asks."""

    __slots__ = ("_asgi", "_known", "_metrics", "schemas", "services")

    def __init__(
        self, services: "Services", schemas: Schemas, asgi: MutableMapping[str, Any], metrics: "Metrics | None" = None
    ) -> None:
        """`metrics` are those of the server, if it is one."""
        self.services = services
        self.schemas = schemas
        self._asgi = asgi
        self._metrics = metrics
        self._known: tuple[Schema, Scope] | None = None

    @property
    def principal(self) -> Principal:
        principal: Principal = self._asgi[PRINCIPAL]
        return principal

    @property
    def request_id(self) -> str:
        return str(self._asgi[REQUEST_ID])

    @property
    def route(self) -> str:
        """The path as it is declared."""
        return str(self._asgi.get(ROUTE, NO_ROUTE))

    @property
    def path(self) -> str:
        return str(self._asgi["path"])

    @property
    def method(self) -> str:
        return str(self._asgi["method"])

    @property
    def query_string(self) -> bytes:
        raw: bytes = self._asgi["query_string"]
        return raw

    def part(self, name: str) -> str:
        """A part of the path, such as an id."""
        return str(self._asgi["path_params"][name])

    def header(self, name: bytes) -> str | None:
        headers: Headers = self._asgi[HEADERS]
        given = headers.get(name)
        return None if given is None else given.decode("latin-1")

    @property
    def raw_body(self) -> bytes:
        raw: bytes = self._asgi.get(BODY, b"")
        return raw

    # ---- the choke point: what the caller may do where, and nothing without it

    def scope(self, namespace: str, purpose: str, *, needs: Grant, instead: Grant | None = None) -> Permitted:
        """The scope with these names in the caller's tenant, if the caller has the grant there, or `instead`.

        Raises `Incorrect` for what is no name, `Forbidden`.
        """
        return permitted(self.principal, namespace, purpose, needs=needs, instead=instead)

    def namespace(self, name: str, *, needs: Grant, instead: Grant) -> Permitted:
        """The namespace with all of its purposes; raises as `scope` does."""
        return permitted_namespace(self.principal, name, needs=needs, instead=instead)

    def tenant(self, *, needs: Grant) -> Permitted:
        """All of the caller's tenant; raises `Forbidden`."""
        return permitted_tenant(self.principal, needs=needs)

    def read(self, scope: Permitted) -> AbstractContextManager[Reader]:
        """A snapshot of a scope that was asked for reading. What is not found in it, and was forgotten, is told so."""
        return self._telling(self._watched(self.services.store.read(scope.demand(Grant.READ))))

    @contextmanager
    def _telling(self, snapshot: AbstractContextManager[Reader]) -> Iterator[Reader]:
        with snapshot as reader:
            try:
                yield reader
            except NotFound as exc:
                graves = Graves(reader, shown=True)
                for id in _IDS.findall(f"{self.path} {self.query_string.decode('latin-1')}"):
                    stone = graves.of_id(id)
                    if stone is not None:
                        raise gone(f"{shown(id)} was forgotten", stone) from exc
                raise

    def record(self, scope: Permitted, episodes: Sequence[NewEpisode], *, key: str | None) -> "Written":
        """Keep episodes in a scope that was asked for writing, and queue them; raises what the recorder raises."""
        self._spend(len(episodes))
        recorded = self.services.recorder.record(
            scope.demand(Grant.WRITE), self.principal.name, episodes, key=key, standing=self._standing(scope),
            authority=authority_of(self.principal),
        )  # fmt: skip
        self.services.wake_worker()
        return recorded

    def served(self, scope: Permitted, session: str, versions: Sequence[FactVersion]) -> None:
        """Remember what the caller was served in a session, of a scope that was asked for reading."""
        self.services.serving.register(scope.demand(Grant.READ), self.principal.name, session, versions)

    def caught_up(self, scope: Permitted, milliseconds: int = INDEXING_MILLISECONDS) -> Indexed:
        """What was written a moment ago in a scope that was asked for reading is indexed now, if that takes little."""
        return self.services.indexer.catch_up(scope.demand(Grant.READ), milliseconds)

    def meaning(self, indexed: Indexed, text: str, seconds: float = EMBEDDING_SECONDS) -> Asked:
        """A text as a vector of the model that serves what was just caught up with, or why it is none."""
        return ask(self.services.embedder, indexed.models, text, seconds)

    def operations(self, scope: Permitted, ids: Sequence[OperationId]) -> list[Operation]:
        """Operations of a scope that was asked for reading, or in which one was just queued. Raises `NotFound`."""
        queue = self.services.store.queue
        permitted_scope = scope.demand(Grant.READ, Grant.WRITE)
        return self._quoting(scope, permitted_scope, [queue.operation(permitted_scope, id) for id in ids])

    def operations_in(
        self, scope: Permitted, state: State, *, limit: int, after: OperationId | None
    ) -> Sequence[Operation]:
        """Those in a state of a scope that was asked for reading."""
        permitted_scope = scope.demand(Grant.READ)
        found = self.services.store.queue.operations(permitted_scope, state, limit=limit, after=after)
        return self._quoting(scope, permitted_scope, [*found])

    def waiting(self, scope: Permitted, *, ceiling: int) -> int:
        """How many episodes of a scope that was asked for reading are not read yet, counted up to `ceiling`."""
        return self.services.store.queue.waiting(scope.demand(Grant.READ), ceiling=ceiling)

    def retry(self, scope: Permitted, id: OperationId) -> bool:
        """Queue a failed operation of a scope that was asked for writing anew; false for one that is not failed.

        Raises `NotFound`, and `Forbidden` unless the caller may write as the owner: what is read then is written.
        """
        now, store, permitted_scope = self.services.clock.now(), self.services.store, scope.demand(Grant.WRITE)
        store.queue.operation(permitted_scope, id)  # what is not there makes nobody an owner
        with store.write(permitted_scope) as tx:
            admit_owner(tx, self.principal.name, self._standing(scope), now)
        retried = store.queue.retry(permitted_scope, id, now)
        self.services.wake_worker()
        return retried

    def open_session(self, scope: Permitted, new: NewSession, *, key: str | None) -> "Written":
        """Open a session in a scope that was asked for writing; raises as `Sessions.open` does."""
        return self.services.sessions.open(
            scope.demand(Grant.WRITE), self.principal.name, new, key=key, standing=self._standing(scope)
        )

    def note(self, scope: Permitted, id: SessionId, notes: Sequence[NewNote], *, key: str | None) -> "Written":
        """Add notes to a session of a scope that was asked for writing; raises as `Sessions.note` does."""
        self._spend(len(notes))
        noted = self.services.sessions.note(
            scope.demand(Grant.WRITE), self.principal.name, id, notes, key=key, standing=self._standing(scope)
        )
        self.services.wake_worker()
        return noted

    def end_session(self, scope: Permitted, id: SessionId) -> Session:
        """End a session of a scope that was asked for writing; raises as `Sessions.end` does."""
        ended = self.services.sessions.end(
            scope.demand(Grant.WRITE), self.principal.name, id, standing=self._standing(scope)
        )
        self.services.wake_worker()
        return ended

    def session(self, scope: Permitted, id: SessionId) -> Session:
        """A session of a scope that was asked for reading, or in which one was just ended. Raises `NotFound`."""
        return self.services.sessions.session(scope.demand(Grant.READ, Grant.WRITE), id)

    def sessions_in(
        self, scope: Permitted, stage: Stage | None, *, limit: int, after: SessionId | None
    ) -> Sequence[Session]:
        """Those of a scope that was asked for reading."""
        return self.services.sessions.listed(scope.demand(Grant.READ), stage, limit=limit, after=after)

    def notes_of(self, scope: Permitted, id: SessionId, *, limit: int, after: int) -> Sequence[Note]:
        """Notes of a session of a scope that was asked for reading."""
        return self.services.sessions.notes(scope.demand(Grant.READ), id, limit=limit, after=after)

    def make_handoff(self, scope: Permitted, new: NewHandoff, *, key: str | None) -> "Written":
        """Keep a handoff in a scope that was asked for writing; raises as `Handoffs.make` does."""
        return self.services.handoffs.make(scope.demand(Grant.WRITE), self.principal.name, new, key=key)

    def handoff(self, scope: Permitted, id: HandoffId) -> Handoff:
        """A handoff of a scope that was asked for reading; raises `NotFound`."""
        return self.services.handoffs.handoff(scope.demand(Grant.READ), id)

    def adoptions(self, scope: Permitted, id: HandoffId) -> Sequence[Adoption]:
        """Who adopted a handoff of a scope that was asked for reading."""
        return self.services.handoffs.adoptions(scope.demand(Grant.READ), id)

    def adopt(self, scope: Permitted, id: HandoffId) -> tuple[Handoff, Adoption]:
        """Take a handoff on, of a scope that was asked for reading; raises as `Handoffs.adopt` does."""
        return self.services.handoffs.adopt(scope.demand(Grant.READ), self.principal.name, id)

    def schema(self, scope: Permitted) -> Schema:
        """The schema of the tenant of a scope that was asked for reading, or in which something was just written."""
        return self.services.writer.schema(scope.demand(Grant.READ, Grant.WRITE))

    def write(
        self, scope: Permitted, items: Sequence[Item], *, dry_run: bool, key: str | None, recorded_at: Instant | None
    ) -> "Written":
        """Do the items in a scope that was asked for writing, or for proposing; raises what the writer raises."""
        self._spend(len(items))
        return self.services.writer.write(
            scope.demand(Grant.WRITE, Grant.PROPOSE), self.principal.name, items, dry_run=dry_run, key=key,
            recorded_at=recorded_at, standing=self._standing(scope), authority=authority_of(self.principal),
        )  # fmt: skip

    def inbox(self, scope: Permitted) -> AbstractContextManager[Reader]:
        """A snapshot of a scope that was asked for reviewing."""
        return self._telling(self._watched(self.services.store.read(scope.demand(Grant.REVIEW))))

    def decide(self, scope: Permitted, item: Promote | Reject, *, dry_run: bool, key: str | None) -> "Written":
        """Decide on a held claim of a scope that was asked for reviewing; raises what the writer raises."""
        return self.services.writer.write(
            scope.demand(Grant.REVIEW), self.principal.name, [item], dry_run=dry_run, key=key
        )

    def forget(self, scope: Permitted, named: Named, *, confirm: str | None, blocks: bool) -> dict[str, JSON]:
        """Forget something of a scope that was asked for forgetting, or tell what would go; raises what the forgetter
        raises."""
        permitted_scope, forgetter = scope.demand(Grant.FORGET), self.services.forgetter
        if confirm is None:
            return forgetter.preview(permitted_scope, named, blocks=blocks)
        return forgetter.forget(permitted_scope, self.principal.name, named, confirm=confirm, blocks=blocks)

    def tombstones(self, namespace: Permitted, *, limit: int, after: int) -> list[Tombstone]:
        """Those of a namespace that was asked for forgetting, or for administration."""
        with self.services.store.read(namespace.demand(Grant.FORGET, Grant.ADMIN)) as reader:
            return [*islice(tombstones_of(reader, after), limit)]

    def lift(self, namespace: Permitted, id: TombstoneId) -> Tombstone:
        """Let a tombstone of a namespace that was asked for administration refuse nothing any more."""
        return self.services.forgetter.lift(namespace.demand(Grant.ADMIN), self.principal.name, id)

    def put_schema(
        self, tenant: Permitted, pack: Pack, *, dry_run: bool, expected: Collection[int] | None
    ) -> dict[str, JSON]:
        """Extend the schema of a tenant that was asked for administration; raises what the writer raises."""
        return self.services.writer.put_schema(
            tenant.demand(Grant.ADMIN), self.principal.name, pack, dry_run=dry_run, expected=expected
        )

    def transfer(self, namespace: Permitted, to: str) -> tuple[Ownership | None, Ownership]:
        """Give a namespace on that was asked for administration, or for writing; raises as `admission` does."""
        return transfer(
            self.services.store, namespace.demand(Grant.ADMIN, Grant.WRITE), to=to, by=self.principal.name,
            now=self.services.clock.now(), administers=Grant.ADMIN in namespace.grants,
        )  # fmt: skip

    def namespaces(self) -> dict[str, Ownership | None]:
        """Every namespace of the tenant in which the caller has some grant, by name, with its owner."""
        tenant, permits = self.principal.tenant, self.principal.permits
        found = namespaces(self.services.store, tenant)
        return {name: owner for name, owner in found.items() if reaches(permits, name)}

    def findings(self) -> list[Finding]:
        """What the store reports of itself."""
        return [*self.services.store.check(self.services.clock.now()), *self.services.indexer.findings()]

    def backlog(self) -> list[Finding]:
        """Whether episodes are read: what the queue and the worker of this process report."""
        now, worker = self.services.clock.now(), self.services.worker
        found = findings(self._queued(now), now, worker)
        if worker is not None and (fault := self.services.reading_fault()) is not None:
            found.append(Finding(check="extractor set", finding=fault, grade=Grade.FAILED))
        return found

    def exposed(self) -> bytes:
        """The metrics of this server, and of the queue that it shares with others."""
        if self._metrics is None:
            raise Fault("metrics are those of a server, and this is none")
        now = self.services.clock.now()
        try:
            backlog = self._queued(now)
        except (Busy, Unavailable):
            backlog = None
        return self._metrics.exposed(backlog, now, self.services.streams.open_now)

    def _queued(self, now: Instant) -> Backlog:
        return self.services.store.queue.backlog(now)

    # ---- what is counted, and who read what

    def returns(self, items: int) -> None:
        """The answer has so many items."""
        if self._metrics is not None:
            self._metrics.returned(self.route, items)

    def packed(self, tokens: int, lines: int) -> None:
        """The answer is a packet of so many tokens, in so many lines."""
        if self._metrics is not None:
            self._metrics.packed(tokens)
        self.returns(lines)

    def audited(self, handle: "Callable[[Call], Response]") -> "Response":
        """What a handler answers; what is sensitive in it stands in the audit before anybody gets it."""
        unchanged = False
        with noting() as shown:
            try:
                response = handle(self)
                unchanged = response.status_code == HTTPStatus.NOT_MODIFIED
                return response
            finally:
                if shown and self._known is not None and not unchanged:
                    schema, scope = self._known
                    found = audit(shown, schema, scope, self.principal, route=self.route, request_id=self.request_id)
                    if found and self._metrics is not None:
                        self._metrics.audited()

    @contextmanager
    def _watched(self, snapshot: AbstractContextManager[Reader]) -> Iterator[Reader]:
        """A snapshot; if something is shown of it, its schema is kept, which tells what of that is sensitive."""
        with snapshot as reader:
            try:
                yield reader
            finally:
                if anything_shown():
                    self._known = self.schemas.of(reader), reader.scope

    def _quoting(self, scope: Permitted, permitted_scope: Scope, operations: list[Operation]) -> list[Operation]:
        """These; if something came of one, the schema is kept, which tells what of that is sensitive."""
        if any(operation.receipts is not None for operation in operations):
            self._known = self.schema(scope), permitted_scope
        return operations

    def _spend(self, items: int) -> None:
        """Count the items of a batch but one, which the request itself has cost. Raises `RateLimited`."""
        spend: Callable[..., None] | None = self._asgi.get(SPEND)
        if spend is not None and items > 1:
            spend(cost=items - 1)

    def again(self) -> None:
        """Ask anew who calls, for an answer that takes long. Raises `Unauthenticated`, `Unavailable`."""
        self._asgi[PRINCIPAL] = self._asgi[AGAIN]()

    def _standing(self, scope: Permitted) -> Standing:
        return Standing(
            may_write=Grant.WRITE in scope.grants,
            may_propose=Grant.PROPOSE in scope.grants,
            becomes_owner=not self.principal.local,
        )

    def body(self, model: type[M], *, optional: bool = False) -> M:
        """The body as a model of this kind; an `optional` one may be empty.

        Raises `Unsupported` where it is not JSON by its content type, else as `read_json` and `validated` do.
        """
        if optional and not self.raw_body:
            return validated(model, {}, "the body")
        check_content_type((self.header(b"content-type") or "").encode("latin-1"))
        return validated(model, read_json(self.raw_body), "the body")

    def idempotency_key(self, operation_id: str | None) -> str | None:
        """The key under which a retry is known, from the header or from the body.

        Raises `Incorrect` where the two differ.
        """
        given = self.header(b"idempotency-key")
        if given is not None and len(given) > 1 and given[0] == given[-1] == '"':
            given = given[1:-1]
        if given is not None and operation_id is not None and given != operation_id:
            detail = (
                f"the header Idempotency-Key {shown(given)} and operation_id {shown(operation_id)} differ; give one"
            )
            violation = Violation(pointer="/operation_id", code="too_many", detail=detail)
            raise Incorrect(detail, violations=(violation,))
        return operation_id if given is None else given

    @property
    def preferences(self) -> Mapping[str, str]:
        """The preferences of the caller (RFC 7240), such as `return` with `minimal`."""
        given = self.header(b"prefer") or ""
        pairs = (part.split(";")[0].partition("=") for part in given.split(","))
        return {name.strip().lower(): value.strip().strip('"').lower() for name, _, value in pairs if name.strip()}

    @property
    def wait_seconds(self) -> float:
        """How long the caller would wait for the end of an operation (`Prefer: wait=n`, RFC 7240), 30 at most."""
        given = self.preferences.get("wait", "")
        return min(float(given), WAIT_SECONDS_MAX) if given.isascii() and given.isdigit() else 0.0

    def if_match(self) -> list[str] | None:
        """The entity tags of `If-Match`, `None` without that header.

        Raises `PreconditionRequired` for `*`, which names no version.
        """
        given = self.header(b"if-match")
        if given is None:
            return None
        if given.strip() == "*":
            raise PreconditionRequired("'If-Match: *' names no version; send the ETag of what you have read")
        return _tags(given)

    def matches(self, tag: str) -> bool:
        """Whether the caller has the answer with this tag already (`If-None-Match`, compared weakly)."""
        given = self.header(b"if-none-match")
        if given is None:
            return False
        return given.strip() == "*" or tag in [each.removeprefix("W/") for each in _tags(given)]


def _tags(header: str) -> list[str]:
    return [match["tag"] for match in _TAG.finditer(header)]
