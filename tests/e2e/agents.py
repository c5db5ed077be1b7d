"""An agent as the SDK's own client makes one: over stdio to a process that it starts, or over HTTP to a server."""

import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]
import mcp_types as types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.e2e.command_line import VIGENCIA, CommandLine

SECONDS_MAX: Final = 120


class Agent:
    """A session with the memory; it speaks as a client does, one message after the other."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self.client = client

    def ask(self, method: str, *arguments: Any, **named: Any) -> Any:
        """What a method of the client gives."""

        async def asked() -> Any:
            return await getattr(self.client, method)(*arguments, **named)

        return self._portal.call(asked)

    def call(self, tool: str, **arguments: Any) -> types.CallToolResult:
        result = self.ask("call_tool", tool, {name.rstrip("_"): value for name, value in arguments.items()})
        assert isinstance(result, types.CallToolResult)
        return result

    def told(self, tool: str, **arguments: Any) -> Any:
        """The structured answer of a call that must succeed; the text says the same."""
        result = self.call(tool, **arguments)
        assert not result.is_error, result.content
        document = result.structured_content
        shown = document["text"] if tool in ("recall", "handoff") else document.get("message")
        assert text_of(result) == shown if shown is not None else json.loads(text_of(result)) == document
        return document

    def refused(self, tool: str, slug: str, **arguments: Any) -> Any:
        """The problem of a call that must be refused so."""
        result = self.call(tool, **arguments)
        assert result.is_error, result.content
        problem = result.structured_content
        schemas = {each.name: each.output_schema for each in self.tools()}
        if tool in schemas:  # what a key is not for is not listed
            jsonschema.validate(problem, schemas[tool])
        assert problem["type"] == f"/problems/{slug}", problem
        assert problem["detail"]
        assert problem["remedy"]
        assert json.loads(text_of(result)) == problem
        return problem

    def read(self, uri: str) -> Any:
        """The document of a resource."""
        return json.loads(self.ask("read_resource", uri).contents[0].text)

    def values(self, subject: str, predicate: str, **asked: Any) -> list[Any]:
        """What holds."""
        found = self.told("state", subject=subject, predicate=predicate, **asked)
        return [item["value"].get("value", item["value"].get("key")) for item in found["items"]]

    def tools(self) -> list[types.Tool]:
        listed: list[types.Tool] = self.ask("list_tools").tools
        return listed


def text_of(result: types.CallToolResult) -> str:
    first = result.content[0]
    assert isinstance(first, types.TextContent)
    return first.text


@contextmanager
def connected(transport: Any, **client: Any) -> Iterator[Agent]:
    with start_blocking_portal() as portal:
        made = portal.call(lambda: _made(transport, client))
        failed: BaseException | None = None
        with portal.wrap_async_context_manager(made) as entered:
            try:
                yield Agent(portal, entered)
            except BaseException as exc:  # the client would wrap it into a group of its own
                failed = exc
        if failed is not None:
            raise failed


async def _made(transport: Any, client: Mapping[str, Any]) -> Client:
    return Client(transport() if callable(transport) else transport, read_timeout_seconds=SECONDS_MAX, **client)


@contextmanager
def over_stdio(line: CommandLine, *flags: str, errors: Path | None = None, **client: Any) -> Iterator[Agent]:
    """An agent that starts `vigencia mcp` in the folder of a command line; its log goes to `errors`."""
    parameters = StdioServerParameters(
        command=str(VIGENCIA), args=["mcp", *flags], env=line.environment, cwd=str(line.folder)
    )
    if errors is None:
        with connected(lambda: stdio_client(parameters, errlog=sys.__stderr__), **client) as agent:  # type: ignore[arg-type]
            yield agent
        return
    with errors.open("w") as log, connected(lambda: stdio_client(parameters, errlog=log), **client) as agent:
        yield agent


@contextmanager
def over_http(url: str, key: str | None = None, **client: Any) -> Iterator[Agent]:
    """An agent of a server, with its key."""
    with connected(lambda: _posting(url, key), **client) as agent:
        yield agent


@asynccontextmanager
async def _posting(url: str, key: str | None) -> AsyncIterator[Any]:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    async with (
        create_mcp_http_client(headers=headers) as wire,
        streamable_http_client(f"{url}/mcp", http_client=wire) as streams,
    ):
        yield streams
