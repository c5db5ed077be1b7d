"""Random reads by many principals: not a byte of a scope in which the caller may not read.

Each scope has a marker of its own, in every key, name, value, source and episode, and ids that are known here; the raw
bytes of an answer are searched for those of others. What may be seen is worked out here from the grants, by fnmatch.
"""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson
import pytest

from api.app import GROUPS, create_app
from api.routes.routing import Route
from api.settings import read_settings
from api.wiring import Services, open_services, services_over
from consolidation.episodes import NewEpisode
from consolidation.handoffs import NewHandoff
from consolidation.items import Assert, Replace, Said
from consolidation.sessions import NewNote, NewSession
from graph.embedding import PatientEmbedder
from graph.indexing import Indexer
from ontology.grants import Grant, grant_words
from ontology.ids import SessionId
from ontology.packs import load_core
from ontology.scope import Scope, scope_of
from tests.conftest import FrozenClock, SeededRandomness
from tests.e2e.conftest import issued
from tests.embedding import HashingEmbedder
from tests.neo4j.stores import NAME, empty_store, marked
from tests.sizes import scaled

TENANTS: Final = [f"tenant-{number}" for number in range(20)]
NAMESPACES: Final = ["default", "notes", "team-a", "team-b"]
PURPOSES: Final = ["general", "health", "ads"]
PRINCIPALS: Final = 50
PATTERNS: Final = ["*", "default", "notes", "team-a", "team-*", "te*", "note", "default*"]
PURPOSE_PATTERNS: Final = ["*", "*", "general", "health", "h*", "ads"]

MARKER: Final = re.compile(rb"mk\d+x\d+x\d+q")
ID: Final = re.compile(rb"(?:ent|clm|fct)_[a-z2-7]{8}_\d+_\d+|(?:ses|hnd)_[0-9a-f]{32}")
QUESTIONS: Final = ("read_states", "search_memory", "recall")
"""Reads that are posted."""
TOOLS: Final = ("recall", "search", "state", "history", "why", "handoff")
"""What agents read with."""
ROUTES: Final = [
    route for group in GROUPS for route in group.listed
    if route.path.startswith("/v1/") and (route.method == "GET" or route.name in QUESTIONS)
]  # fmt: skip
RECALLING: Final = [
    route for route in ROUTES
    if route.tag in ("analysis", "recall", "search", "profiles", "handoffs", "sessions")
]  # fmt: skip
"""What recall is made of, and what is told beside it."""
TENANT_WIDE: Final = {"list_namespaces"}
INSTANTS: Final = ["2026-05-01", "2026-06-01T00:00:01Z", "2026-06-01T00:20:00Z", "2026-06-02"]


def marker_of(scope: Scope) -> str:
    places = TENANTS.index(scope.tenant), NAMESPACES.index(scope.namespace), PURPOSES.index(scope.purpose)
    return "mk{}x{}x{}q".format(*places)


@dataclass
class Caller:
    """A principal, its key, and its grants as patterns."""

    tenant: str
    permits: list[tuple[str, str, frozenset[Grant]]]
    headers: dict[str, str]

    def may(self, needed: tuple[Grant, ...], namespace: str, purpose: str) -> bool:
        """Whether it has every grant of `needed` there."""
        return all(
            any(
                grant in grants and fnmatchcase(namespace, where) and fnmatchcase(purpose, why)
                for where, why, grants in self.permits
            )
            for grant in needed
        )


@dataclass
class World:
    """All tenants on one store, with an application over them."""

    services: Services
    random: random.Random
    app: Any
    scopes: list[Scope]
    ids: dict[bytes, set[Scope]] = field(default_factory=dict)
    """In which scopes an id may show: an entity belongs to its namespace, if it is known there."""
    by_scope: dict[Scope, list[str]] = field(default_factory=dict)
    cursors: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def fill(self) -> None:
        for scope in self.scopes:
            self.by_scope[scope] = []
        for scope in self.scopes * 2:
            self._write(scope)
        self.services.indexer.work()

    def _write(self, scope: Scope) -> None:
        mark, again = marker_of(scope), bool(self.by_scope[scope])
        said = Said(
            valid_from="2026-02-01" if again else "2026-01-01", source=f"{mark}-source", episode=f"{mark}-episode"
        )
        mine, other = f"{mark}-mira", f"{mark}-oslo"
        told = [
            (mine, "name", f"{mark} Mira"), (mine, "alias", f"{mark} M"), (mine, "note", f"{mark} note {again}"),
            (mine, "lives_in", {"type": "entity", "key": other}), (other, "name", f"{mark} Oslo"),
            ("shared", "note", f"{mark} shared {again}"), ("shared", "knows", {"type": "entity", "key": mine}),
        ]  # fmt: skip
        items: list[Any] = [Assert(subject=s, predicate=p, value=v, said=said) for s, p, v in told]
        held = replace(said, trust="untrusted")
        items.append(Assert(subject=mine, predicate="note", value=f"{mark} held {again}", said=held))
        if again:
            right = f"{mark} Myra"
            items.append(
                Replace(subject=mine, predicate="name", value=right, old=f"{mark} Mira", at="2026-01-15", said=said)
            )  # fmt: skip
        receipt: Any = self.services.writer.write(scope, f"{mark}-writer", items).receipt
        said_by_all = NewEpisode(text=f"{mark} Mira said that a shared note {again} was held.")
        self.services.recorder.record(scope, f"{mark}-writer", [said_by_all])
        opened = str(self.services.sessions.open(scope, f"{mark}-writer", NewSession()).receipt["id"])
        self.services.sessions.note(scope, f"{mark}-writer", SessionId(opened), [NewNote(text=f"{mark} noted")])
        new = NewHandoff(
            receiver=None, task=f"{mark} task", requirements=[f"{mark} must"], constraints=(), format=None,
            facts=[item["opened"][0] for item in receipt["items"] if item.get("opened")][:3],
            rejected=[(f"{mark} no", None)], ttl="P30D",
        )  # fmt: skip
        handed = str(self.services.handoffs.make(scope, f"{mark}-writer", new).receipt["id"])
        for found in (*ID.findall(orjson.dumps(receipt)), opened.encode(), handed.encode()):
            self.ids.setdefault(found, set()).add(scope)
            self.by_scope[scope].append(found.decode())

    def callers(self) -> list[Caller]:
        return [self._caller(f"caller-{number}") for number in range(PRINCIPALS)]

    def _caller(self, name: str) -> Caller:
        choose = self.random
        permits = [
            (choose.choice(PATTERNS), choose.choice(PURPOSE_PATTERNS), frozenset(choose.sample(list(Grant), 3)))
            for _ in range(choose.choice([0, 1, 1, 2, 2, 3]))
        ]
        permits = [(a, b, g | {Grant.READ} if choose.random() < 0.6 else g) for a, b, g in permits]
        tenant = choose.choice(TENANTS)
        lines = [f"{where}/{why}:{','.join(grant_words(grants))}" for where, why, grants in permits]
        return Caller(tenant, permits, issued(self.services, name, *lines, tenant=tenant))

    # ---- one read

    async def ask(self, caller: Caller, routes: Sequence[Route] = ROUTES) -> None:
        choose = self.random
        route = choose.choice(routes)
        scope = scope_of(caller.tenant, choose.choice(NAMESPACES), choose.choice(PURPOSES))
        for _ in range(choose.choice([0, 4])):  # half of them look for one in which the caller may read
            if not caller.may(_needed(route), scope.namespace, scope.purpose):
                scope = scope_of(caller.tenant, choose.choice(NAMESPACES), choose.choice(PURPOSES))
        path, query, body = self._request(route, scope)
        headers = dict(caller.headers)
        if self.tags and choose.random() < 0.1:
            headers["If-None-Match"] = choose.choice(self.tags)
        status, answer, answered = await self._send(route.method, path, query, body, headers)
        request = f"{path}?{query} {body!r}"
        self._judge(caller, route, scope, request, status, answer)
        repeated = MARKER.findall(str(answered).encode())  # `Link` repeats the query
        assert all(marker.decode() in request for marker in repeated), (request, answered)
        if "etag" in answered and len(self.tags) < 500:
            self.tags.append(answered["etag"])
        if status == 200 and b'"next_cursor":"' in answer and len(self.cursors) < 500:
            self.cursors.append(orjson.loads(answer)["next_cursor"])

    async def call(self, caller: Caller) -> None:
        """One call of a tool; what it gives is judged as what its route gives."""
        choose = self.random
        name = choose.choice(TOOLS)
        route = next(route for route in ROUTES if route.name == "recall")  # each of them needs what this one needs
        scope = scope_of(caller.tenant, choose.choice(NAMESPACES), choose.choice(PURPOSES))
        of = choose.choice([scope, scope, choose.choice(self.scopes)])
        place = {"namespace": scope.namespace, "purpose": scope.purpose}
        subject = choose.choice([f"{marker_of(of)}-mira", "shared"])
        given: dict[str, dict[str, Any]] = {
            "recall": self._question(scope, of, subject), "search": self._sought(scope, of, subject) | {"include": []},
            "state": {"subject": subject, **place}, "history": {"subject": subject, "predicate": "note", **place},
            "why": {"subject": subject, **place},
            "handoff": {"action": "read", "id": self._handed(of), **place},
        }  # fmt: skip
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": given[name]}}
        body = orjson.dumps(asked)
        headers = caller.headers | {"Accept": "application/json, text/event-stream"}
        status, answer, _ = await self._send("POST", "/mcp", "", body, headers)
        told = orjson.loads(answer)
        assert status == 200, told
        assert "result" in told, told
        result = told["result"]
        status = result["structuredContent"]["status"] if result.get("isError") else 200
        self._judge(caller, route, scope, body.decode(), status, answer)
        self.seen[f"{name} with rows"] += status == 200 and bool(MARKER.findall(answer))

    def _handed(self, scope: Scope) -> str:
        return self.random.choice([id for id in self.by_scope[scope] if id.startswith("hnd")])

    def _request(self, route: Route, scope: Scope) -> tuple[str, str, bytes]:
        choose = self.random
        of = choose.choice([scope, scope, choose.choice(self.scopes)])
        path = re.sub(r"\{(\w+)(:path)?\}", lambda _: quote(self._id(route, of)), route.path)
        subject = choose.choice([f"{marker_of(of)}-mira", "shared", "shared", self._id(route, of, "ent")])
        if route.name == "read_states":
            body = {"namespace": scope.namespace, "purpose": scope.purpose, "pairs": [{"subject": subject}] * 2}
            return path, "", orjson.dumps(body)
        if route.name == "search_memory":
            return path, "", orjson.dumps(self._sought(scope, of, subject))
        if route.name == "recall":
            return path, "", orjson.dumps(self._question(scope, of, subject))
        fields = route.query.model_fields
        query: dict[str, str] = (
            {"namespace": scope.namespace, "purpose": scope.purpose} if "namespace" in fields else {}
        )
        wanted = {
            "subject": subject, "known_from": INSTANTS[0], "known_to": INSTANTS[1], "valid_after": "2025-01-01",
            "valid_until": INSTANTS[1], "steps": choose.choice(["lives_in", "knows,lives_in", "knows"]),
            "source": subject, "target": f"{marker_of(of)}-oslo", "format": choose.choice(["json", "graphml"]),
        }  # fmt: skip
        query |= {n: v for n, v in wanted.items() if n in fields and (fields[n].is_required() or choose.random() < 0.8)}
        extra = {
            "predicate": choose.choice(["note", "name", "lives_in", "knows"]), "known_at": choose.choice(INSTANTS),
            "valid_at": choose.choice(INSTANTS), "limit": str(choose.choice([1, 2, 200])),
            "name": f"{marker_of(of)} Oslo", "after": "0" if route.name in ("list_events", "read_session") else "",
            "cursor": choose.choice(self.cursors) if self.cursors else "",
        }  # fmt: skip
        query |= {n: v for n, v in extra.items() if n in fields and v and choose.random() < 0.25}
        if route.name == "read_state" and choose.random() < 0.2:
            query = {n: v for n, v in query.items() if n != "subject"} | {
                "value": choose.choice([f"{marker_of(of)} note False", f"{marker_of(of)} Oslo"])
            }
        return path, urlencode(query), b""

    def _sought(self, scope: Scope, of: Scope, subject: str) -> dict[str, Any]:
        """A search for the words of some scope, also with what only some callers may see."""
        choose, mark = self.random, marker_of(of)
        body: dict[str, Any] = {
            "namespace": scope.namespace, "purpose": scope.purpose, "limit": choose.choice([1, 20, 200]),
            "text": choose.choice([f"{mark} Mira", f"{mark}-mira shared note", "shared held note", f"{mark} Oslo"]),
        }  # fmt: skip
        extra = {
            "include": choose.choice([["history"], ["held"], ["history", "held"]]), "about": [subject],
            "near": [subject], "known_at": choose.choice(INSTANTS), "predicates": ["note"], "recipe": "words",
        }  # fmt: skip
        return body | {name: value for name, value in extra.items() if choose.random() < 0.2}

    def _question(self, scope: Scope, of: Scope, subject: str) -> dict[str, Any]:
        """A question in words about what some scope has."""
        choose, mark = self.random, marker_of(of)
        asked = [
            f"Where does {mark} Mira live?", f"What is the note of {subject}?", "Who knows what is shared?",
            f"Who lives in {mark} Oslo, as we knew on 1 June 2026?", f"{mark} M", "Tell me about shared and held notes",
        ]  # fmt: skip
        body: dict[str, Any] = {
            "namespace": scope.namespace, "purpose": scope.purpose, "question": choose.choice(asked),
            "tokens": choose.choice([200, 1000, 4000]),
        }  # fmt: skip
        extra = {
            "known_at": choose.choice(INSTANTS), "valid_at": choose.choice(INSTANTS), "limit": 3, "episodes": True,
            "kinds": ["fact"],
        }  # fmt: skip
        return body | {name: value for name, value in extra.items() if choose.random() < 0.2}

    def _id(self, route: Route, scope: Scope, kind: str = "") -> str:
        kind = kind or {"facts": "fct", "claims": "clm", "sessions": "ses", "handoffs": "hnd"}.get(
            route.path.split("/")[2], "ent"
        )
        return self.random.choice([id for id in self.by_scope[scope] if id.startswith(kind)])

    async def _send(
        self, method: str, path: str, query: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, bytes, dict[str, str]]:
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
            "raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "scheme": "http",
            "headers": [*raw, (b"host", b"memory.example"), (b"content-type", b"application/json")],
            "client": ("203.0.113.9", 5), "server": ("memory.example", 80),
        }  # fmt: skip
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        answered = {name.decode().lower(): value.decode("latin-1") for name, value in sent[0]["headers"]}
        whole = b"".join(message.get("body", b"") for message in sent[1:])
        return sent[0]["status"], whole, answered

    def _judge(self, caller: Caller, route: Route, scope: Scope, request: str, status: int, answer: bytes) -> None:
        needed = _needed(route) + ((Grant.REVIEW,) if '"held"' in request else ())
        allowed = caller.may(needed, scope.namespace, scope.purpose)
        told = (caller.tenant, caller.permits, request, status, answer[:2000])
        assert status < 500, told
        if route.name not in TENANT_WIDE:
            assert (status == 403) == (not allowed) or status == 400, told
        mine = marker_of(scope).encode()
        markers, ids = set(MARKER.findall(answer)), set(ID.findall(answer))
        if status == 200:
            strange = markers - ({mine} if allowed else set())
            foreign = {id for id in ids if not (allowed and scope in self.ids.get(id, ()))}
        else:  # a refusal repeats what it was asked
            strange = {marker for marker in markers if marker.decode() not in request}
            foreign = {id for id in ids if id.decode() not in request}
        assert not strange, told
        assert not foreign, told
        self.seen[f"{status}"] += 1
        self.seen["with rows"] += bool(markers) and status == 200


def _needed(route: Route) -> tuple[Grant, ...]:
    if route.name == "export_graph":
        return Grant.READ, Grant.EXPORT
    return (Grant.REVIEW if route.tag == "review" else Grant.READ,)


def on_sqlite(folder: Path) -> Services:
    settings = read_settings(store=f"sqlite:///{folder / 'fuzz.db'}", position_seconds=0)
    return by_meaning(open_services(settings, FrozenClock(), SeededRandomness()))


def on_neo4j(folder: Path) -> Services:
    store, clock, randomness = empty_store(), FrozenClock(), SeededRandomness()
    settings = read_settings(store=f"sqlite:///{folder / 'unused.db'}", position_seconds=0)
    return by_meaning(services_over(store, settings, clock, randomness))


def by_meaning(services: Services) -> Services:
    """The same with vectors."""
    patient = PatientEmbedder(HashingEmbedder())
    indexer = Indexer(store=services.store, clock=services.clock, core=load_core(), embedder=patient)
    return replace(services, embedder=patient, indexer=indexer)


@dataclass(frozen=True)
class Reads:
    """How often is read on a store: through every route, and through what recall is made of."""

    opening: Callable[[Path], Services]
    all: int
    recalling: int


STORES: Final = {
    "sqlite": Reads(on_sqlite, scaled(1_000_000, 10_000), scaled(200_000, 4_000)),
    NAME: Reads(on_neo4j, scaled(50_000), scaled(10_000, 400)),
}


def fuzzed(engine: str, folder: Path, reads: int, read: "Callable[[World, Caller], Awaitable[None]]") -> World:
    services = STORES[engine].opening(folder)
    seed = 20261130
    scopes = [scope_of(*names) for names in product(TENANTS, NAMESPACES, PURPOSES)]
    world = World(services=services, random=random.Random(seed), app=create_app(services), scopes=scopes)
    world.fill()
    callers = world.callers()

    async def run() -> None:
        for _ in range(reads):
            await read(world, world.random.choice(callers))

    asyncio.run(run())
    services.close()
    print(f"seed {seed}, {reads} reads on {engine}: {dict(world.seen)}")
    assert world.seen["with rows"] > reads / 10
    assert world.seen["403"] > reads / 20
    return world


@pytest.mark.soak
@pytest.mark.parametrize("engine", marked(STORES))
def test_no_read_shows_a_byte_of_a_scope_that_is_not_granted(engine: str, tmp_path: Path) -> None:
    fuzzed(engine, tmp_path, STORES[engine].all, lambda world, caller: world.ask(caller))


@pytest.mark.soak
@pytest.mark.parametrize("engine", marked(STORES))
def test_no_search_packet_profile_handoff_graph_or_tool_shows_one_either(engine: str, tmp_path: Path) -> None:
    async def read(world: World, caller: Caller) -> None:
        if world.random.random() < 0.3:
            await world.call(caller)
        else:
            await world.ask(caller, RECALLING)

    reads = STORES[engine].recalling
    world = fuzzed(engine, tmp_path, reads, read)
    assert all(world.seen[f"{name} with rows"] > reads / 500 for name in TOOLS), world.seen
