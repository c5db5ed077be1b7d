"""What a caller of the server sees while Neo4j is dead or hangs, and after it came back."""

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import httpx2
import pytest

from api.app import GROUPS
from graph.neo4j_store.store import HEAD_SECONDS
from tests.e2e.command_line import CommandLine
from tests.e2e.conftest import problem
from tests.e2e.test_cli_serving import Server, serving
from tests.neo4j.stores import killable
from tests.neo4j_server import Local

pytestmark = pytest.mark.neo4j

SECONDS_MAX: Final = 60.0
"""Until each answer is there; of a server that hangs it takes two of its keep-alives of 5 s to notice."""
RETRY_AFTER_MAX: Final = 10
DEADLINE: Final = "subject=mira&predicate=passport_deadline"
Asking = dict[tuple[str, str], Callable[[], httpx2.Response]]
"""A request to each route, by method and path."""
KEY: Final = "vg_of-a-person-who-may-do-everything"
KNOWN: Final = {"Authorization": f"Bearer {KEY}"}
AT_ONCE: Final = 60
"""More callers than the server has threads."""


@pytest.fixture(scope="module")
def neo4j() -> Iterator[Local]:
    with killable() as found:
        yield found


@pytest.fixture(scope="module")
def vigencia(neo4j: Local, tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    line = CommandLine(tmp_path_factory.mktemp("away"))
    line.keep_on_neo4j(neo4j.uri)
    line.environment |= {"NEO4J_PASSWORD": "of no use here", "VIGENCIA_STORE_WAIT_SECONDS": "300"}
    return line


@pytest.fixture(scope="module")
def server(vigencia: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    keys = tmp_path_factory.mktemp("keys") / "keys.yaml"
    keys.write_text(f"- {{key: {KEY}, tenant: default, principal: ann, kind: person}}\n")
    with serving(vigencia, "--demo", "--keys-file", str(keys)) as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.url, timeout=SECONDS_MAX, headers=KNOWN) as client:
        yield client


@pytest.fixture
def asking(client: httpx2.Client) -> Asking:
    """One good request to each route that needs the store."""
    [fact] = client.get(f"/v1/state?{DEADLINE}").json()["items"]
    entity, of_fact = fact["subject"]["id"], f"/v1/facts/{fact['id']}"
    claim = client.get(f"/v1/claims?{DEADLINE}").json()["items"][0]["id"]
    told = client.post("/v1/episodes", json={"episodes": [{"text": "Ada is in Oslo."}]}).json()["items"][0]
    episode, operation = told["episode"], told["operation"]
    item = {"subject": "mira", "predicate": "visited", "value": "Oslo", "valid_from": "2026-01-01", "source": "mira"}
    session = client.post("/v1/sessions", json={}).json()["id"]
    handoff = client.post("/v1/handoffs", json={"task": "Book."}).json()["id"]
    doubtful = {**item, "value": "Rome", "trust": "untrusted"}
    held = client.post("/v1/claims", json={"items": [doubtful]}).json()["items"][0]["claim"]
    seen = {"If-Match": client.get(of_fact).headers["etag"]}
    predicates = {"calls_at": {"domain": ["Agent"], "range": ["Place"], "datatype": "entity", "cardinality": "many"}}
    pack = {"pack": "travel", "predicates": predicates}
    since = f"{DEADLINE}&known_from=2026-06-02"
    requests: dict[tuple[str, str], tuple[str, Any, dict[str, str]]] = {
        ("GET", "/v1/state"): (f"/v1/state?{DEADLINE}", None, {}),
        ("POST", "/v1/state"): ("/v1/state", {"pairs": [{"subject": "mira"}]}, {}),
        ("POST", "/v1/search"): ("/v1/search", {"text": "passport deadline"}, {}),
        ("POST", "/v1/recall"): ("/v1/recall", {"question": "When is mira's passport deadline?"}, {}),
        ("POST", "/v1/claims"): ("/v1/claims", {"items": [item]}, {}),
        ("GET", "/v1/claims/{id}"): (f"/v1/claims/{claim}", None, {}),
        ("POST", "/v1/claims/{id}/withdraw"): (f"/v1/claims/{claim}/withdraw", {}, {}),
        ("POST", "/v1/sources/{id}/withdraw"): ("/v1/sources/mira/withdraw", {}, {}),
        ("GET", "/v1/facts/{id}"): (of_fact, None, {}),
        ("GET", "/v1/facts/{id}/evidence"): (f"{of_fact}/evidence", None, {}),
        ("GET", "/v1/facts/{id}/versions"): (f"{of_fact}/versions", None, {}),
        ("POST", "/v1/facts/{id}/replace"): (f"{of_fact}/replace", {"value": "2026-07-01"}, seen),
        ("POST", "/v1/facts/{id}/retract"): (f"{of_fact}/retract", {}, seen),
        ("GET", "/v1/history"): (f"/v1/history?{DEADLINE}", None, {}),
        ("GET", "/v1/audit"): (f"/v1/audit?{DEADLINE}", None, {}),
        ("GET", "/v1/belief"): (f"/v1/belief?{DEADLINE}&valid_at=2026-06-10", None, {}),
        ("GET", "/v1/believed"): (f"/v1/believed?{since}&known_to=2026-06-10", None, {}),
        ("GET", "/v1/diff"): (f"/v1/diff?{since}", None, {}),
        ("GET", "/v1/log"): (f"/v1/log?{since}", None, {}),
        ("GET", "/v1/changes"): (
            f"/v1/changes?{DEADLINE}&valid_after=2026-06-01&valid_until=2026-06-10", None, {}
        ),
        ("GET", "/v1/claims"): (f"/v1/claims?{DEADLINE}", None, {}),
        ("GET", "/v1/entities"): ("/v1/entities", None, {}),
        ("GET", "/v1/entities/{id}"): (f"/v1/entities/{entity}", None, {}),
        ("GET", "/v1/entities/{id}/neighbourhood"): (f"/v1/entities/{entity}/neighbourhood", None, {}),
        ("GET", "/v1/neighbourhood"): ("/v1/neighbourhood?subject=mira", None, {}),
        ("GET", "/v1/paths"): ("/v1/paths?subject=jonas&steps=works_at,located_in", None, {}),
        ("GET", "/v1/analysis/components"): ("/v1/analysis/components", None, {}),
        ("GET", "/v1/analysis/centrality"): ("/v1/analysis/centrality?measure=pagerank", None, {}),
        ("GET", "/v1/analysis/paths"): ("/v1/analysis/paths?source=jonas&target=mira", None, {}),
        ("GET", "/v1/analysis/graph"): ("/v1/analysis/graph", None, {}),
        ("GET", "/v1/ontology"): ("/v1/ontology", None, {}),
        ("PUT", "/v1/ontology"): ("/v1/ontology", pack, {}),
        ("GET", "/v1/events"): ("/v1/events", None, {}),
        ("GET", "/v1/review"): ("/v1/review", None, {}),
        ("GET", "/v1/review/{id}"): (f"/v1/review/{held}", None, {}),
        ("POST", "/v1/review/{id}/promote"): (f"/v1/review/{held}/promote", {}, seen),
        ("POST", "/v1/review/{id}/reject"): (f"/v1/review/{held}/reject", {}, seen),
        ("GET", "/readyz"): ("/readyz", None, {}),
        ("POST", "/v1/episodes"): ("/v1/episodes", {"episodes": [{"text": "Ada is in Oslo."}]}, {}),
        ("GET", "/v1/episodes/{id}"): (f"/v1/episodes/{episode}", None, {}),
        ("GET", "/v1/operations"): ("/v1/operations", None, {}),
        ("GET", "/v1/operations/{id}"): (f"/v1/operations/{operation}", None, {}),
        ("POST", "/v1/operations/{id}/retry"): (f"/v1/operations/{operation}/retry", {}, {}),
        ("POST", "/v1/sessions"): ("/v1/sessions", {}, {}),
        ("GET", "/v1/sessions"): ("/v1/sessions", None, {}),
        ("GET", "/v1/sessions/{id}"): (f"/v1/sessions/{session}", None, {}),
        ("POST", "/v1/sessions/{id}/notes"): (f"/v1/sessions/{session}/notes", {"notes": [{"text": "Noted."}]}, {}),
        ("POST", "/v1/sessions/{id}/end"): (f"/v1/sessions/{session}/end", {}, {}),
        ("POST", "/v1/handoffs"): ("/v1/handoffs", {"task": "Book."}, {}),
        ("GET", "/v1/handoffs/{id}"): (f"/v1/handoffs/{handoff}", None, {}),
        ("POST", "/v1/handoffs/{id}/adopt"): (f"/v1/handoffs/{handoff}/adopt", {}, {}),
        ("GET", "/v1/profiles/{id}"): (f"/v1/profiles/{entity}", None, {}),
        ("GET", "/v1/subjects/{id}/about"): (f"/v1/subjects/{entity}/about", None, {}),
        ("POST", "/v1/forget"): ("/v1/forget", {"subject": "mira"}, {}),
        ("POST", "/v1/subjects/{id}/forget"): (f"/v1/subjects/{entity}/forget", {}, {}),
        ("GET", "/v1/tombstones"): ("/v1/tombstones", None, {}),
        ("POST", "/v1/tombstones/{id}/lift"): ("/v1/tombstones/none/lift", {}, {}),
        ("GET", "/v1/namespaces"): ("/v1/namespaces", None, {}),
        ("POST", "/v1/namespaces/{name}/transfer"): ("/v1/namespaces/default/transfer", {"to": "ada"}, {}),
    }  # fmt: skip

    def asked(method: str, path: str, body: Any, headers: dict[str, str]) -> Callable[[], httpx2.Response]:
        return lambda: client.request(method, path, headers=headers, **({} if body is None else {"json": body}))

    return {route: asked(route[0], *request) for route, request in requests.items()}


def assert_away(response: httpx2.Response) -> None:
    problem(response, 503, "store-unavailable")
    assert 1 <= int(response.headers["retry-after"]) <= RETRY_AFTER_MAX
    assert "of no use" not in response.text


def await_ready(client: httpx2.Client) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while client.get("/readyz").status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def await_head(events: Callable[[], Any], head: int) -> None:
    """Wait until a server shows a commit: one that has just begun shows the commit before as long as another, which
    indexes, has the lock that would tell it that all of this one is there."""
    deadline = time.monotonic() + SECONDS_MAX
    while events()["head"] < head:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_each_route_that_needs_the_store_is_asked(asking: Asking) -> None:
    needing = {
        (route.method, route.path.replace(":path", ""))
        for group in GROUPS
        for route in group.listed
        if "store-unavailable" in route.problems and route.path != "/metrics"  # it needs it to know its caller alone
    }
    assert set(asking) == needing


def test_a_dead_server_is_503_on_each_route_found_by_doctor_and_waited_for_at_the_start(
    neo4j: Local, vigencia: CommandLine, client: httpx2.Client, asking: Asking
) -> None:
    before = client.get("/v1/events").json()
    neo4j.signal(signal.SIGKILL)
    try:
        for ask in asking.values():
            assert_away(ask())
        assert client.get("/healthz").json() == {"status": "ok"}
        doctor = vigencia("doctor", "--json")
        starting = vigencia.start("serve", "--port", "0")
        waiting = starting.told(lambda line: "waiting" in line)[-1]
    finally:
        neo4j.start()
    try:
        restarted = Server(starting)
        await_head(lambda: restarted.get("/v1/events"), before["head"])
        assert restarted.get("/v1/events") == before
        starting.interrupt()
        assert starting.end().code == 0
    finally:
        starting.stop()
    assert neo4j.uri in waiting
    assert doctor.code == 9
    [failed] = [check for check in doctor.document["checks"] if not check["fine"]]
    assert (failed["check"], "cannot be reached" in failed["finding"]) == ("store", True)
    await_ready(client)
    await_head(lambda: client.get("/v1/events").json(), before["head"])
    assert client.get("/v1/events").json() == before
    for route, ask in asking.items():
        if route[0] == "GET":
            assert ask().status_code == 200, route
    assert vigencia("doctor").code == 0


def test_a_server_that_hangs_is_503_in_time_until_it_goes_on(
    neo4j: Local, client: httpx2.Client, asking: Asking
) -> None:
    reads = [ask for route, ask in asking.items() if route[0] == "GET"]
    for ask in reads:
        ask()  # each connection of the pool is in use when it stops
    neo4j.signal(signal.SIGSTOP)
    time.sleep(4 * HEAD_SECONDS)  # what was read a moment ago does for another moment, where it needs no more
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            waiting = [pool.submit(each) for each in (*asking.values(), *reads, *reads)][:AT_ONCE]
            assert client.get("/healthz").json() == {"status": "ok"}
            for each in waiting:
                assert_away(each.result())
            slowest = max(each.result().elapsed.total_seconds() for each in waiting)
            print(f"the slowest of {AT_ONCE} answers at once took {slowest:.1f} s")
        began = time.monotonic()
        assert_away(client.get("/readyz"))
        print(f"once it is known to hang: {time.monotonic() - began:.1f} s")
    finally:
        neo4j.signal(signal.SIGCONT)
    await_ready(client)
    for ask in reads:
        assert ask().status_code == 200


def test_what_was_refused_is_written_once_when_it_is_sent_again(neo4j: Local, client: httpx2.Client) -> None:
    item = {"subject": "ada", "predicate": "visited", "value": "Oslo", "valid_from": "2026-01-01", "source": "ada"}

    def write() -> httpx2.Response:
        return client.post("/v1/claims", json={"items": [item]}, headers={"Idempotency-Key": "once"})

    neo4j.signal(signal.SIGSTOP)
    try:
        assert_away(write())
    finally:
        neo4j.signal(signal.SIGCONT)
    await_ready(client)
    assert write().status_code == 200
    [shown] = client.get("/v1/state?subject=ada").json()["items"]
    assert shown["occurrences"] == 1


def test_a_server_stops_in_order_while_its_store_hangs(neo4j: Local, vigencia: CommandLine) -> None:
    with serving(vigencia) as started:
        assert started.get(f"/v1/state?{DEADLINE}")["items"]
        neo4j.signal(signal.SIGSTOP)
        try:
            started.running.process.terminate()
            done = started.running.end()
        finally:
            neo4j.signal(signal.SIGCONT)
    assert done.code == 0, done.err
    assert "Traceback" not in done.err


def test_no_log_line_of_all_that_has_a_password(server: Server) -> None:
    assert "of no use" not in server.running.said()
