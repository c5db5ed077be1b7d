"""An engine behind HTTP: a real server on a free loopback port, with a key for each tenant and a clock set by hand."""

import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

import httpx2
import orjson
import uvicorn

from api.app import create_app
from api.settings import read_settings
from api.wiring import Services, open_services
from ontology.entries import Entry, Stated, assertion, retraction
from ontology.fold import standing
from ontology.instants import Instant, Semantics, format_instant, parse_instant
from ontology.values import Value, ValueType, value_key
from tests.conftest import FrozenClock, SeededRandomness
from tests.oracles.cases import Item, Query
from tests.oracles.memory import AFTER_ALL, Declared, Refusal, declared, in_order

TENANTS: Final = 500
START_SECONDS: Final = 20
PAGE: Final = 200
IN_SLOT: Final = ("subject", "predicate", "valid_at", "known_at", "certainty")


class Server:
    """A server in a thread of this process, over a store that is named, or over one that goes away with it."""

    def __init__(self, folder: Path, *, tenants: int = TENANTS, store: str | None = None) -> None:
        self.clock = FrozenClock()
        keys = folder / "keys.yaml"
        keys.write_text("".join(_key_entry(number) for number in range(tenants)))
        store = store or f"sqlite:///{folder / 'served.db'}"
        settings = read_settings(store=store, keys_file=keys, host="127.0.0.1", port=0)
        self.services: Services = open_services(settings, self.clock, SeededRandomness())
        config = uvicorn.Config(create_app(self.services), host="127.0.0.1", port=0, log_level="warning")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, name="oracle-server", daemon=True)
        self._numbers = count()

    @classmethod
    @contextmanager
    def running(cls, *, tenants: int = TENANTS, store: str | None = None) -> Iterator["Server"]:
        """A server for the length of a block."""
        with tempfile.TemporaryDirectory(prefix="vigencia-oracles-") as folder:
            server = cls(Path(folder), tenants=tenants, store=store)
            server.start()
            try:
                yield server
            finally:
                server.close()

    def start(self) -> None:
        self._thread.start()
        deadline = time.monotonic() + START_SECONDS
        while not self._server.started:
            if time.monotonic() > deadline or not self._thread.is_alive():
                raise RuntimeError("the server did not start")
            time.sleep(0.01)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self._client = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)

    def fresh(self) -> "ServedMemory":
        return ServedMemory(self, self._client, _key(next(self._numbers)))

    def settle(self) -> None:
        """Nothing to do: what was acknowledged is there."""

    def close(self) -> None:
        self._client.close()
        self._server.should_exit = True
        self._thread.join(START_SECONDS)
        self.services.close()


class ServedMemory:
    """One tenant of a server."""

    def __init__(self, server: Server, client: httpx2.Client, key: str) -> None:
        self._server = server
        self._client = client
        self._headers = {"Authorization": f"Bearer {key}"}

    def declare(self, predicates: Mapping[str, Declared], *, clock: Instant) -> None:
        self._server.clock.reading = clock
        self._send("PUT", "/v1/ontology", {"pack": "tests", "predicates": declared(predicates)})

    def decide(self, claim: str, *, promotes: bool, reason: str, clock: Instant) -> dict[str, Any]:
        self._server.clock.reading = clock
        reviewer = {"Authorization": self._headers["Authorization"].replace("tenant", "reviewer")}
        seen = self._client.get(f"/v1/review/{claim}", headers=reviewer)
        self._read(seen)
        act = "promote" if promotes else "reject"
        match = reviewer | {"If-Match": seen.headers["ETag"]}
        receipt: Any = self._send("POST", f"/v1/review/{claim}/{act}", {"reason": reason}, match)
        return dict(receipt["items"][0])

    def waiting(self) -> list[dict[str, Any]]:
        return [
            {"id": each["id"], "value": None if each["value"] is None else _name(each["value"])}
            | {name: each[name] for name in ("state", "rule", "reason")}
            for each in self._get("/v1/review", {"limit": str(PAGE)})["items"]
        ]

    def write(
        self, items: Sequence[Item], *, clock: Instant, recorded_at: Instant | None = None, key: str | None = None
    ) -> dict[str, Any]:
        self._server.clock.reading = clock
        body: dict[str, Any] = {"items": [*items]}
        if recorded_at is not None:
            body["import_recorded_at"] = format_instant(recorded_at)
        return self._send("POST", "/v1/claims", body, {} if key is None else {"Idempotency-Key": key})

    def search(self, body: Mapping[str, Any]) -> dict[str, Any]:
        self._server.clock.reading = AFTER_ALL
        return self._send("POST", "/v1/search", body)

    def recall(self, body: Mapping[str, Any]) -> dict[str, Any]:
        self._server.clock.reading = AFTER_ALL
        return self._send("POST", "/v1/recall", body)

    def ask(self, query: Query) -> Any:
        self._server.clock.reading = AFTER_ALL
        asked = {name: query[name] for name in IN_SLOT if query.get(name) is not None}
        match query["kind"]:
            case "recorded":
                return self._recorded()
            case "state":
                return sorted(_name(row["value"]) for row in self._all("/v1/state", asked))
            case "state_all":
                return sorted([_key_of(row["subject"]), _name(row["value"])] for row in self._all("/v1/state", asked))
            case "history":
                rows = self._all("/v1/history", asked | {"periods": "true"})
                return in_order([_period(row) for row in rows])
            case "audit":
                return [_period(row) | _sides("recorded", row) for row in self._all("/v1/audit", asked)]
            case "belief":
                rows = self._all("/v1/belief", asked)
                return [{"value": _name(row["value"])} | _sides("recorded", row) for row in rows]
            case "diff":
                answer = self._get("/v1/diff", asked | _window(query, "known_from", "known_to"))
                return {side: in_order([_period(row) for row in answer[side]]) for side in ("added", "removed")}
            case "changes":
                rows = self._all("/v1/changes", asked | _window(query, "valid_after", "valid_until"))
                return [
                    {"at": row["at"]} | {s: sorted(_name(x["value"]) for x in row[s]) for s in ("ended", "started")}
                    for row in rows
                ]
            case "believed_during":
                closed = {"closed": "true"} if query.get("closed") else {}
                rows = self._all("/v1/believed", asked | closed | _window(query, "known_from", "known_to"))
                return sorted(_name(row["value"]) for row in rows)
            case "path":
                return self._paths(asked | {"steps": ",".join(query["steps"])})
            case "evidence":
                told = [row for row in self._all("/v1/claims", asked) if row["state"] == "accepted"]
                return _standing(told, query["value"])
            case "claims":
                return _claims(self._all("/v1/claims", asked))
            case "support":
                rows = [row for row in self._all("/v1/state", asked) if _name(row["value"]) == query["value"]]
                return [rows[0]["sources"], rows[0]["occurrences"]]
            case "sources":
                told = [row for row in self._all("/v1/claims", asked) if row["state"] == "accepted"]
                return sorted({row["source"] for row in told if _name(row["value"]) == query["value"]})
            case kind:
                raise ValueError(f"nobody asks {kind!r}")

    def _recorded(self) -> list[str]:
        events: list[dict[str, Any]] = []
        after: int | None = 0
        while after is not None:
            page = self._get("/v1/events", {"after": str(after), "limit": str(PAGE)})
            events += page["items"]
            after = page["next_after"]
        return [event["recorded_at"] for event in events if event["kind"] != "schema"]

    def _paths(self, asked: Mapping[str, str]) -> list[dict[str, Any]]:
        answer = self._get("/v1/paths", {**asked, "limit": str(PAGE)})
        assert answer["truncated"] is None
        rows = [{"nodes": [_key_of(node) for node in row["nodes"]]} | _sides("valid", row) for row in answer["items"]]
        return sorted(rows, key=lambda row: row["nodes"])

    def _all(self, path: str, asked: Mapping[str, str]) -> list[dict[str, Any]]:
        """The items of all pages."""
        items: list[dict[str, Any]] = []
        more = {"limit": str(PAGE)}
        while True:
            answer = self._get(path, {**asked, **more})
            assert not answer.get("truncated")
            items += answer["items"]
            if answer["next_cursor"] is None:
                return items
            more["cursor"] = answer["next_cursor"]

    def _get(self, path: str, asked: Mapping[str, str]) -> dict[str, Any]:
        return self._read(self._client.get(path, params=asked, headers=self._headers))

    def _send(
        self, method: str, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        kind = {"Content-Type": "application/json"}
        response = self._client.request(
            method, path, content=orjson.dumps(body), headers={**self._headers, **kind, **(headers or {})}
        )
        return self._read(response)

    @staticmethod
    def _read(response: httpx2.Response) -> dict[str, Any]:
        """The document of an answer. Raises `Refusal` for a problem document."""
        document: dict[str, Any] = response.json()
        if response.status_code >= 500:
            raise AssertionError(f"{response.request.url} failed: {document}")
        if response.status_code >= 400:
            errors, slug = document["errors"], document["type"].rsplit("/", 1)[-1]
            raise Refusal(errors[0]["code"] if errors else slug.replace("-", "_"))
        return document


def _key(number: int) -> str:
    return f"vg_oracle-tenant-{number:04d}"


def _key_entry(number: int) -> str:
    reviewer = _key(number).replace("tenant", "reviewer")
    return (
        f"- {{key: {_key(number)}, tenant: case-{number}, principal: tester, import: true}}\n"
        f"- {{key: {reviewer}, tenant: case-{number}, principal: reviewer-1}}\n"
    )


def _window(query: Query, *names: str) -> dict[str, str]:
    return {name: query[name] for name in names}


def _name(value: Mapping[str, Any]) -> str:
    """A value as the oracle files write it."""
    match value["type"]:
        case "entity":
            return _key_of(value)
        case "quantity":
            return f"{value['value']} {value['unit']}"
        case _:
            return str(value["value"])


def _key_of(entity: Mapping[str, Any]) -> str:
    if "key" in entity:
        return str(entity["key"] or entity["id"])
    return _name(entity.get("value", entity))


def _period(row: Mapping[str, Any]) -> dict[str, str]:
    return {"value": _name(row["value"])} | _sides("valid", row)


def _sides(time: str, row: Mapping[str, Any]) -> dict[str, str]:
    start, end = row[f"{time}_from"], row[f"{time}_to"]
    return {f"{time}_from": "-infinity" if start is None else start, f"{time}_to": "infinity" if end is None else end}


def _standing(told: Sequence[Mapping[str, Any]], value: str) -> int:
    """How many of the claims that are folded stand for a value: those whose start no retraction cuts out."""
    entries = [_entry(number, row) for number, row in enumerate(told)]
    wanted = _name_key(value)
    return sum(entry.value == wanted for entry in standing(entries))


def _entry(number: int, row: Mapping[str, Any]) -> Entry:
    semantics = Semantics(row["date_semantics"]) if row["date_semantics"] else None
    stated = Stated(valid_from=row["valid_from"], valid_to=row["valid_to"], zone=row["tz"], semantics=semantics)
    observed_at = parse_instant(row["observed_at"])
    value = None if row["value"] is None else _name_key(_name(row["value"]))
    if row["op"] == "retract":
        return retraction(stated, value=value, functional=False, observed_at=observed_at, position=number, ordinal=0)
    assert value is not None
    return assertion(stated, value=value, functional=False, observed_at=observed_at, position=number, ordinal=0)


def _name_key(name: str) -> Any:
    return value_key(Value(type=ValueType.TEXT, text=name, qualifier=""))


def _claims(told: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    values = {row["id"]: None if row["value"] is None else _name(row["value"]) for row in told}
    return [
        {
            "value": values[row["id"]],
            "state": row["state"],
            "reason": row["reason"],
            "successor": None if row["successor"] is None else values[row["successor"]],
        }
        for row in told
    ]
