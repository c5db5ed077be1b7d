"""Does an agent that starts `vigencia mcp` get a memory, and does the process end when the agent does?"""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from tests.e2e.agent_story import learn, tell_the_story
from tests.e2e.agents import Agent, over_stdio
from tests.e2e.command_line import SECONDS_MAX, VIGENCIA, CommandLine
from tests.neo4j.stores import marked


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    line = CommandLine(tmp_path)
    line("init", "--pack", "demo")
    return line


@pytest.fixture
def agent(line: CommandLine, tmp_path: Path) -> Iterator[Agent]:
    with over_stdio(line, errors=tmp_path / "log") as connected:
        yield connected


@pytest.mark.parametrize("store", marked(("sqlite", "neo4j")))
def test_an_agent_remembers_asks_corrects_and_forgets(line: CommandLine, tmp_path: Path, store: str) -> None:
    if store == "neo4j":
        line.keep_on_neo4j()
        line.environment["VIGENCIA_LOCK_SECONDS"] = "60"  # the first writes of a server that has just begun are slow
        line("init", "--pack", "demo")
    with over_stdio(line, errors=tmp_path / "log") as agent:
        tell_the_story(agent)


def test_a_client_of_the_generation_before_gets_the_same(line: CommandLine, tmp_path: Path) -> None:
    with over_stdio(line, errors=tmp_path / "log", mode="legacy") as agent:
        assert agent.client.protocol_version == "2025-11-25"
        tell_the_story(agent)


def test_what_an_agent_says_is_there_for_the_next_one(line: CommandLine, tmp_path: Path) -> None:
    with over_stdio(line, errors=tmp_path / "log") as agent:
        learn(agent, "2026-07-15", "2026-01-01")
    with over_stdio(line, errors=tmp_path / "log") as agent:
        assert agent.values("mira", "passport_deadline") == ["2026-07-15"]
        agent.refused("state", "invalid-request")
    assert line("state", "mira", "--json").document["items"][0]["value"]["value"] == "2026-07-15"


def test_what_was_said_is_read_by_the_process_itself(agent: Agent) -> None:
    said = agent.told("remember", text="Anna lives in Graz.", source="anna")["recorded"]["items"][0]

    deadline = time.monotonic() + SECONDS_MAX
    while (read := agent.read(f"vigencia://default/general/episodes/{said['episode']}"))["operation"][
        "state"
    ] != "done":
        assert time.monotonic() < deadline, read["operation"]
        time.sleep(0.02)
    assert "lives_in" in [claim["predicate"] for claim in read["claims"]]


def test_an_act_with_a_name_has_one_effect(agent: Agent) -> None:
    said: dict[str, Any] = {
        "items": [{"subject": "mira", "predicate": "note", "value": "x"}], "text": "x", "operation_id": "act-1",
    }  # fmt: skip
    first, again = agent.told("remember", **said), agent.told("remember", **said)

    assert first["receipt"] == again["receipt"]
    assert first["recorded"]["items"][0]["episode"] == again["recorded"]["items"][0]["episode"]
    agent.refused("remember", "idempotency-key-reused", **{**said, "text": "y"})


def test_words_are_not_kept_where_the_claims_would_be_refused(agent: Agent) -> None:
    bad = {"subject": "mira", "predicate": "note", "value": "x", "valid_from": "2026-02-01", "valid_to": "2026-01-01"}
    agent.refused("remember", "ontology-violation", items=[bad], text="Word for word.")

    assert agent.read("vigencia://status")["checks"]["queue"] == "0 queued, 0 running, 0 failed"
    assert agent.told("remember", text="Word for word.")["recorded"]["items"][0]["duplicate"] is False


def test_a_person_is_asked_before_anything_is_forgotten(line: CommandLine, tmp_path: Path) -> None:
    asked = []
    refusals: list[dict[str, Any]] = [
        {"action": "decline"}, {"action": "cancel"}, {"action": "accept", "content": {"agree": False}},
    ]  # fmt: skip
    answers = iter([*refusals, {"action": "accept", "content": {"agree": True}}])

    async def person(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult.model_validate(next(answers))

    with over_stdio(line, errors=tmp_path / "log", elicitation_callback=person) as agent:
        learn(agent, "2026-07-15", "2026-01-01")
        for _ in refusals:
            assert agent.told("forget", subject="mira")["state"] == "preview"
            assert agent.values("mira", "passport_deadline") == ["2026-07-15"]
        assert agent.told("forget", subject="mira")["state"] == "forgotten"
    assert len(asked) == 4
    assert "Forget this subject for good? It erases 1 claims" in asked[0]
    assert "2026-07-15" not in asked[0]


def test_what_a_person_turned_down_no_agent_confirms_by_itself(line: CommandLine, tmp_path: Path) -> None:
    answers = iter(["decline", "decline", "accept", "accept"])

    async def person(context: Any, params: Any) -> ElicitResult:
        return ElicitResult.model_validate({"action": next(answers), "content": {"agree": True}})

    with over_stdio(line, errors=tmp_path / "log", elicitation_callback=person) as agent:
        learn(agent, "2026-07-15", "2026-01-01")
        manifest = agent.told("forget", subject="mira")["manifest"]
        assert agent.told("forget", subject="mira", confirm=manifest)["state"] == "preview"
        assert agent.values("mira", "passport_deadline") == ["2026-07-15"]
        done = agent.told("forget", subject="mira", confirm=manifest)
        assert done["state"] == "forgotten"
        assert agent.told("forget", subject="mira", confirm=manifest)["tombstone"] == done["tombstone"]


def test_an_agent_may_only_read_where_it_is_set_so(line: CommandLine, tmp_path: Path) -> None:
    with over_stdio(line, "--read-only", errors=tmp_path / "log") as agent:
        listed = agent.tools()
        assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in listed)
        assert "remember" not in [tool.name for tool in listed]
        with pytest.raises(Exception, match="there is no tool 'remember' here"):
            agent.call("remember", text="x")


def test_a_key_of_the_environment_says_who_acts(line: CommandLine, tmp_path: Path) -> None:
    key = line("keys", "create", "reader", "--grant", "notes:read", "--json").document["key"]
    line.environment["VIGENCIA_MCP_KEY"] = key
    with over_stdio(line, errors=tmp_path / "log") as agent:
        assert agent.told("state", subject="mira", namespace="notes")["items"] == []
        assert agent.refused("state", "missing-role", subject="mira")["namespace"] == "default"
        agent.refused("remember", "missing-role", text="x", namespace="notes")
    line.environment["VIGENCIA_MCP_KEY"] = "vg_nobody-ever-issued-this"
    done = line.run("mcp")
    assert (done.code, done.out) == (6, "")
    assert "vg_nobody" not in done.err


@pytest.mark.parametrize("ends", ["revoked", "expired"])
def test_a_key_of_the_environment_ends_in_the_middle_of_a_session(line: CommandLine, tmp_path: Path, ends: str) -> None:
    until = (datetime.now(UTC) + timedelta(seconds=15)).isoformat()
    expires = ("--expires", until) if ends == "expired" else ()
    made = line("keys", "create", "ann", "--grant", "*:read,write", *expires, "--json").document
    line.environment["VIGENCIA_MCP_KEY"] = made["key"]
    with over_stdio(line, errors=tmp_path / "log") as agent:
        assert next(tool.name for tool in agent.tools()) == "remember"
        learn(agent, "2026-07-15", "2026-01-01")
        if ends == "revoked":
            line("keys", "revoke", made["prefix"])
        deadline = time.monotonic() + SECONDS_MAX
        while not (answer := agent.call("state", subject="mira")).is_error:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert answer.structured_content["type"] == "/problems/unauthenticated"
        assert agent.call("remember", text="x").structured_content["type"] == "/problems/unauthenticated"
        with pytest.raises(MCPError, match="key"):
            agent.ask("read_resource", "vigencia://ontology")
    assert made["key"] not in (tmp_path / "log").read_text()
    assert "Traceback" not in (tmp_path / "log").read_text()


DISCOVER = {
    "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                  "io.modelcontextprotocol/clientCapabilities": {}},
    },
}  # fmt: skip


def started(line: CommandLine) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [VIGENCIA, "mcp"], cwd=line.folder, env=line.environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_stdout_carries_the_protocol_alone_and_the_end_of_stdin_ends_it(line: CommandLine) -> None:
    line.environment["VIGENCIA_LOG_LEVEL"] = "debug"
    process = started(line)
    lines = ["this is no message", json.dumps(DISCOVER), "[" * 100_000]
    out, err = process.communicate("\n".join(lines) + "\n", timeout=SECONDS_MAX)

    assert process.returncode == 0, err
    messages = [json.loads(text) for text in out.splitlines()]
    assert ["tools" in message["result"]["capabilities"] for message in messages if message.get("id") == 1] == [True]
    assert all(message["jsonrpc"] == "2.0" for message in messages)
    assert "Traceback" not in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order_while_it_waits_for_a_line(line: CommandLine, number: int) -> None:
    process = started(line)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(DISCOVER) + "\n")
    process.stdin.flush()
    assert process.stdout.readline()
    process.send_signal(number)
    _, err = process.communicate(timeout=SECONDS_MAX)

    assert process.returncode == 0, err
    assert "Traceback" not in err
