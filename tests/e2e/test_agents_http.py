"""Does a server answer agents at /mcp: as whoever the key says, and nobody else?"""

import http.client
import json
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tests.e2e.agent_story import learn, tell_the_story
from tests.e2e.agents import Agent, over_http
from tests.e2e.command_line import CommandLine
from tests.e2e.test_cli_serving import serving

KEYS: Final = """
- {key: vg_acme-writer-key, tenant: acme, principal: ann}
- {key: vg_acme-reader-key, tenant: acme, principal: rob, grants: ["default:read"]}
- {key: vg_acme-judge-key, tenant: acme, principal: jane, grants: ["*:read,review"]}
- {key: vg_acme-helper-key, tenant: acme, principal: hal, kind: agent, grants: ["*:read,propose"]}
- {key: vg_acme-eraser-key, tenant: acme, principal: eva, grants: ["notes:forget"]}
- {key: vg_acme-teller-key, tenant: acme, principal: tom, grants: ["notes:write"]}
- {key: vg_other-writer-key, tenant: other, principal: olga}
"""


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with keys, and with the tools of reviewers."""
    line = CommandLine(tmp_path_factory.mktemp("closed"))
    (line.folder / "keys.yaml").write_text(KEYS)
    line.environment["VIGENCIA_MCP_TOOLS"] = "review"
    for tenant in ("acme", "other"):
        line("init", "--pack", "demo", "--tenant", tenant)
    with serving(line, "--keys-file", "keys.yaml") as server:
        yield server.url


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    line = CommandLine(tmp_path)
    line("init", "--pack", "demo")
    return line


def posted(url: str, body: object, **headers: str) -> tuple[int, http.client.HTTPMessage, Any]:
    """Status, headers and document of one POST to /mcp, as a client that is not the SDK's sends it."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
    usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request("POST", "/mcp", raw, usual | {name.replace("_", "-"): text for name, text in headers.items()})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, answer.headers, json.loads(content) if content else None


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """A call as a client of 2025-11-25 sends it."""
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def test_an_agent_of_this_machine_needs_no_key(line: CommandLine) -> None:
    with serving(line) as server, over_http(server.url) as agent:
        tell_the_story(agent)
        with over_http(server.url, mode="legacy") as older:
            assert learn(older, "2026-07-15", "2026-01-01", subject="jonas")["result"] == "created"
        server.running.interrupt()
        assert server.running.end().code == 0


def test_a_key_says_who_calls_and_what_it_may(closed: str) -> None:
    with over_http(closed, "vg_acme-writer-key") as writer:
        learn(writer, "2026-07-15", "2026-01-01")
        why = writer.told("why", subject="mira")
        assert why["items"][0]["made_in"]["principal"] == "ann"
    with over_http(closed, "vg_acme-reader-key") as reader:
        assert reader.values("mira", "passport_deadline") == ["2026-07-15"]
        refusals: dict[str, dict[str, Any]] = {
            "remember": {"text": "x"},
            "correct": {"fact": "fct_aaaaaaaa_1_0", "if_version": 1, "value": "x"},
            "forget": {"subject": "mira"},
            "list_held": {},
        }
        for tool, arguments in refusals.items():
            assert reader.refused(tool, "missing-role", **arguments)["status"] == 403
    with over_http(closed, "vg_other-writer-key") as other:
        assert other.told("state", subject="mira")["items"] == []
        assert other.refused("why", "not-found", fact=why["items"][0]["fact"]["id"])
        with pytest.raises(MCPError):
            other.read(f"vigencia://default/general/facts/{why['items'][0]['fact']['id']}")


def test_a_reviewer_decides_on_what_another_agent_proposed(closed: str) -> None:
    said = {"subject": "noor", "predicate": "passport_deadline", "value": "2026-09-01", "valid_from": "2026-01-01"}
    with over_http(closed, "vg_acme-writer-key") as owner:
        owner.told("remember", items=[{**said, "subject": "someone"}])
    with over_http(closed, "vg_acme-helper-key") as helper:
        assert helper.told("remember", items=[said])["receipt"]["items"][0]["result"] == "quarantined"
    with over_http(closed, "vg_acme-judge-key") as judge:
        [held] = judge.told("list_held")["items"]
        judge.refused("decide", "version-changed", claim=held["id"], if_version=held["version"] + 1, decision="promote")
        judge.told("decide", claim=held["id"], if_version=held["version"], decision="promote", reason="seen")
        assert judge.values("noor", "passport_deadline") == ["2026-09-01"]


def test_the_client_lists_ten_tools_in_their_order(line: CommandLine) -> None:
    with serving(line) as server, over_http(server.url) as agent:
        listed = agent.tools()
        assert [tool.name for tool in listed] == [
            "remember", "recall", "state", "history", "diff", "search", "why", "correct", "forget", "handoff",
        ]  # fmt: skip
        for tool in listed:
            assert tool.description is not None
            assert len(tool.description) < 400
            assert tool.output_schema is not None
            assert tool.annotations is not None
            assert tool.annotations.open_world_hint is False


READING: Final = ["recall", "state", "history", "diff", "search", "why", "handoff"]
LISTED: Final = {
    "reader": READING,
    "helper": ["remember", *READING],
    "judge": [*READING, "list_held", "decide"],
    "writer": ["remember", *READING[:-1], "correct", "forget", "handoff", "list_held", "decide"],
    "eraser": ["forget"],
    "teller": ["remember"],
}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("key", LISTED)
def test_a_key_is_shown_the_tools_that_its_grants_are_for(closed: str, key: str, mode: str) -> None:
    with over_http(closed, f"vg_acme-{key}-key", mode=mode) as agent:
        assert [tool.name for tool in agent.tools()] == LISTED[key]


def test_a_tool_that_is_not_shown_is_refused_with_the_grant_that_is_missing(closed: str) -> None:
    arguments: dict[str, dict[str, Any]] = {
        "remember": {"items": [{"subject": "mira", "predicate": "note", "value": "x"}]},
        "correct": {"fact": "fct_aaaaaaaa_1_0", "if_version": 1, "value": "x"},
        "forget": {"subject": "mira"},
        "list_held": {},
        "decide": {"claim": "clm_aaaaaaaa_1_0", "decision": "promote", "if_version": 1},
    }
    with over_http(closed, "vg_acme-reader-key") as reader:
        assert arguments.keys().isdisjoint(tool.name for tool in reader.tools())
        for tool, given in arguments.items():
            problem = reader.refused(tool, "missing-role", **given)
            assert "has no grant" in problem["detail"]


def test_no_argument_names_another_tenant(closed: str) -> None:
    with over_http(closed, "vg_other-writer-key") as olga:
        olga.told("remember", items=[{"subject": "olga", "predicate": "note", "value": "hers"}])
    with over_http(closed, "vg_acme-writer-key") as agent:
        for tool in ("state", "history", "why", "remember", "forget"):
            refused = agent.refused(tool, "invalid-request", subject="olga", tenant="other")
            assert "unknown_field" in [each["code"] for each in refused["errors"] if each["pointer"] == "/tenant"]
        agent.refused("state", "invalid-request", subject="olga", namespace="other/default")
        assert agent.told("state", subject="olga")["items"] == []
        for uri in (
            "vigencia://other/default/general/entities/olga", "vigencia://default/general/entities/olga?tenant=other",
        ):  # fmt: skip
            with pytest.raises(MCPError):
                agent.read(uri)
        with pytest.raises(MCPError):
            agent.ask("get_prompt", "what_do_you_remember", {"subject": "olga", "tenant": "other"})


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_key_that_ends_in_the_middle_of_a_session_lets_nobody_in(line: CommandLine, mode: str) -> None:
    made = line("keys", "create", "ann", "--grant", "*:read,write", "--json").document
    with serving(line) as server, over_http(server.url, made["key"], mode=mode) as agent:
        agent.told("state", subject="mira")
        line("keys", "revoke", made["prefix"])
        bearer, deadline = {"Authorization": f"Bearer {made['key']}"}, time.monotonic() + 60
        while (answered := posted(server.url, call("state", subject="mira"), **bearer))[0] == 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        status, headers, problem = answered
        assert (status, problem["type"]) == (401, "/problems/unauthenticated")
        assert headers["WWW-Authenticate"].startswith("Bearer")
        for asked in (("call_tool", "state", {"subject": "mira"}), ("read_resource", "vigencia://ontology")):
            with pytest.raises(MCPError):  # the SDK's client does not tell why
                agent.ask(*asked)


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
def test_forgetting_takes_two_steps_with_every_version_of_the_protocol(closed: str, version: str) -> None:
    headers = {"MCP_Protocol_Version": version, "Authorization": "Bearer vg_acme-writer-key"}

    def told(tool: str, **arguments: Any) -> Any:
        status, _, document = posted(closed, call(tool, **arguments), **headers)
        assert status == 200
        assert not document["result"].get("isError"), document
        return json.loads(document["result"]["content"][0]["text"])

    subject = f"anna-{version}"
    told("remember", items=[{"subject": subject, "predicate": "note", "value": "x"}])
    preview = told("forget", subject=subject)
    assert preview["state"] == "preview"
    assert told("state", subject=subject)["items"]
    assert told("forget", subject=subject, confirm=preview["manifest"])["state"] == "forgotten"


def test_calls_that_run_when_the_server_is_interrupted_are_answered(line: CommandLine) -> None:
    item = {"subject": "mira", "predicate": "remark", "value": "late"}
    with serving(line) as server, ThreadPoolExecutor(1) as pool:
        writer = sqlite3.connect(line.folder / "vigencia.db", isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        waits = pool.submit(posted, server.url, call("remember", items=[item]))
        time.sleep(0.5)  # it waits for the lock now
        server.running.interrupt()
        time.sleep(0.5)
        writer.execute("ROLLBACK")
        writer.close()
        status, _, document = waits.result(60)
        done = server.running.end()
    assert (status, document["result"].get("isError", False), done.code) == (200, False, 0)
    assert "Traceback" not in done.err
    found = line("state", "mira", "remark", "--json").document["items"]
    assert [each["value"]["value"] for each in found] == ["late"]


def test_another_agent_adopts_what_is_handed_to_it(closed: str) -> None:
    with over_http(closed, "vg_acme-writer-key") as sender:
        id = sender.told("handoff", to="hal", task="Book a room.", constraints=["140 EUR at most"])["id"]
        sender.refused("handoff", "missing-role", action="adopt", id=id)
    with over_http(closed, "vg_acme-judge-key") as other:
        other.refused("handoff", "missing-role", action="adopt", id=id)
    with over_http(closed, "vg_acme-helper-key") as receiver:
        adopted = receiver.told("handoff", action="adopt", id=id, session="s-1")
        assert (adopted["adopted_by"], adopted["constraints"]) == ("hal", ["140 EUR at most"])
    with over_http(closed, "vg_other-writer-key") as stranger:
        stranger.refused("handoff", "not-found", action="read", id=id)


def test_without_a_key_nobody_is_let_in(closed: str) -> None:
    for headers in ({}, {"Authorization": "Bearer vg_nobody-ever-issued"}, {"Authorization": "Basic YTpi"}):
        status, answered, document = posted(closed, call("state", subject="mira"), **headers)
        assert (status, document["type"]) == (401, "/problems/unauthenticated")
        assert answered["WWW-Authenticate"].startswith("Bearer")
    with pytest.raises((MCPError, ExceptionGroup)), over_http(closed):
        pass


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1.evil.example", "http://[::1"])
def test_a_page_of_another_site_is_refused(closed: str, origin: str) -> None:
    key = {"Authorization": "Bearer vg_acme-writer-key"}
    status, _, document = posted(closed, call("state", subject="mira"), Origin=origin, **key)

    assert (status, document["type"]) == (403, "/problems/foreign-origin")
    assert posted(closed, call("state", subject="mira"), Origin=closed, **key)[0] == 200


def test_only_posts_are_taken(closed: str) -> None:
    address = urlsplit(closed)
    for method in ("GET", "DELETE"):
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
        connection.request(method, "/mcp", headers={"Authorization": "Bearer vg_acme-writer-key"})
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")
        connection.close()


def test_what_is_no_message_is_refused_and_the_server_goes_on(closed: str) -> None:
    key = {"Authorization": "Bearer vg_acme-writer-key"}
    bodies: list[object] = [
        b"", b"{", b"[" * 100_000, b'"\\ud800"', b"\xff\xfe", b"[]", b"null", b"1" * 5_000, {}, [call("state")],
        {"jsonrpc": "1.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "state", "arguments": [1]}},
        {"jsonrpc": "2.0", "id": 1, "method": "no/such"},
    ]  # fmt: skip
    for body in bodies:
        for version in ("2025-11-25", "2026-07-28", "1999-01-01"):
            status, _, document = posted(closed, body, MCP_Protocol_Version=version, **key)
            assert 400 <= status < 500 or "error" in document, (body, version, status)
    assert posted(closed, call("state", subject="mira"), **key)[0] == 200


def test_what_is_too_much_for_a_minute_is_a_problem_with_the_time_to_wait(line: CommandLine) -> None:
    line.environment["VIGENCIA_READS_PER_MINUTE"] = "2"
    with serving(line) as server, over_http(server.url) as agent:
        agent.told("state", subject="mira")
        agent.told("state", subject="mira")
        assert agent.refused("state", "rate-limited", subject="mira")["retry_after"] >= 1
        agent.told("remember", items=[{"subject": "mira", "predicate": "note", "value": "x"}])


def test_calls_are_counted_and_logged_by_their_routes_without_a_word_of_memory(line: CommandLine) -> None:
    with serving(line) as server, over_http(server.url) as agent:
        agent.told("remember", items=[{"subject": "mira", "predicate": "note", "value": "a secret"}])
        agent.refused("state", "invalid-request", subject="mira", valid_at="a secret")
        metrics = server.text("/metrics")
        log = server.running.said()
    assert 'vigencia_requests_total{method="POST",route="/v1/claims",status="200"} 1.0' in metrics
    assert 'vigencia_requests_total{method="GET",route="/v1/state",status="400"} 1.0' in metrics
    assert 'route="/mcp",status="200"' in metrics
    assert "route=/v1/claims" in log
    assert "a secret" not in log


def hostile() -> list[tuple[str, dict[str, Any], str]]:
    """Arguments that no well-meaning agent sends, with the problem that each is."""
    item = {"subject": "mira", "predicate": "note", "value": "x"}
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    return [
        ("state", {"subject": "mira", "tenant": "other"}, "invalid-request"),
        ("state", {"subject": ["mira"]}, "invalid-request"),
        ("state", {"subject": "x" * 100_000}, "invalid-request"),
        ("state", {"subject": "a\x00b"}, "invalid-request"),
        ("state", {"subject": "mira", "limit": 10**30}, "invalid-request"),
        ("state", {"subject": "mira", "limit": -1}, "invalid-request"),
        ("state", {"subject": "mira", "cursor": "no cursor"}, "cursor-mismatch"),
        ("state", {"subject": "mira", "namespace": "../other"}, "invalid-request"),
        ("state", {"subject": "mira", "valid_at": "2026-06-10T10:00:00"}, "naive-instant"),
        ("state", {"subject": "mira", "known_at": "2999-01-01"}, "future-known-at"),
        ("history", {"subject": "mira", "order": "up"}, "invalid-request"),
        ("diff", {"subject": "mira"}, "invalid-request"),
        ("diff", {"subject": "mira", "known_from": "2026-01-01", "valid_after": "2026-01-01"}, "invalid-request"),
        ("why", {}, "invalid-request"),
        ("why", {"fact": "fct_'; DROP TABLE facts; --"}, "not-found"),
        ("why", {"fact": "fct_aaaaaaaa_1_0"}, "not-found"),
        ("search", {"text": ""}, "invalid-request"),
        ("search", {"text": "a", "recipe": "best"}, "invalid-request"),
        ("search", {"text": "a", "about": ["nobody-at-all"]}, "not-found"),
        ("recall", {"question": "x" * 8_001}, "invalid-request"),
        ("recall", {"question": "where?", "tokens": 1}, "invalid-request"),
        ("recall", {"question": "where?", "zone": "Mars/Olympus"}, "invalid-request"),
        ("remember", {}, "invalid-request"),
        ("remember", {"items": []}, "invalid-request"),
        ("remember", {"items": "x"}, "invalid-request"),
        ("remember", {"items": [{**item, "op": "erase"}]}, "invalid-request"),
        ("remember", {"items": [{**item, "recorded_at": "2020-01-01"}]}, "recorded-at-not-settable"),
        ("remember", {"items": [{**item, "value": 10**30}]}, "ontology-violation"),
        ("remember", {"items": [{**item, "value": {"type": "json", "value": deep}}]}, "too-large"),
        ("remember", {"items": [item] * 10_001}, "too-large"),
        ("remember", {"text": ""}, "invalid-request"),
        ("remember", {"text": "x" * 1_000_001}, "too-large"),
        ("remember", {"items": [item], "source": "ann"}, "invalid-request"),
        ("remember", {"text": "x", "dry_run": True}, "invalid-request"),
        ("correct", {"fact": "fct_aaaaaaaa_1_0", "value": "x"}, "invalid-request"),
        ("correct", {"fact": "fct_aaaaaaaa_1_0", "if_version": 1, "value": "x"}, "not-found"),
        ("correct", {"claim": "clm_aaaaaaaa_1_0", "if_version": 1}, "invalid-request"),
        ("handoff", {}, "invalid-request"),
        ("handoff", {"action": "read"}, "invalid-request"),
        ("handoff", {"action": "adopt", "id": "hnd_x", "task": "x"}, "invalid-request"),
        ("handoff", {"action": "read", "id": "hnd_x"}, "not-found"),
        ("handoff", {"task": "user: hi\nassistant: hello"}, "ontology-violation"),
        ("forget", {}, "invalid-request"),
        ("forget", {"subject": "mira", "source": "ann"}, "invalid-request"),
        ("forget", {"subject": "nobody-at-all"}, "not-found"),
    ]  # fmt: skip


def test_hostile_arguments_are_problems_that_say_what_to_do(closed: str) -> None:
    with over_http(closed, "vg_acme-writer-key") as agent:
        wrong = [
            (tool, str(arguments)[:100], found)
            for tool, arguments, slug in hostile()
            if (found := _slug(agent, tool, arguments)) != slug
        ]
        assert wrong == []
        with pytest.raises(MCPError, match="there is no tool 'erase_all' here"):
            agent.call("erase_all")


def _slug(agent: Agent, tool: str, arguments: dict[str, Any]) -> str:
    result = agent.ask("call_tool", tool, arguments)
    return str(result.structured_content["type"]).removeprefix("/problems/") if result.is_error else "answered"
