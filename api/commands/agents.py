"""`vigencia mcp`: memory for an agent that starts it and speaks MCP over its standard streams."""

from typing import Annotated

import typer

from api.commands import options
from api.commands.answering import answering
from api.commands.serving import stoppable


def mcp(
    read_only: Annotated[
        bool | None, typer.Option("--read-only", help="Offer only tools that read; VIGENCIA_MCP_READ_ONLY.")
    ] = None,
    tools: Annotated[
        str | None, typer.Option("--tools", help="Which tools: standard, review or memory; VIGENCIA_MCP_TOOLS.")
    ] = None,
    tenant: options.Tenant = None,
    store: options.Store = None,
) -> None:
    """Serve memory to one agent over stdin and stdout (MCP); the client starts this, and ends it.

    vigencia mcp --store sqlite:////srv/vigencia.db

    VIGENCIA_MCP_KEY=vg_… vigencia mcp --read-only

    A running `vigencia serve` has the same at /mcp. The store is made if it is not there; episodes are read here, too,
    unless VIGENCIA_WORKER is false. Without a key the caller is the principal `agent`, with every grant but `review`.
    The end of stdin, Ctrl-C and SIGTERM end it with exit code 0, once the calls that run have their answers.
    """
    with answering(as_json=False, quiet=True):
        from api.logs import configure
        from api.settings import read_settings
        from api.wiring import services, working

        settings = read_settings(store=store, tenant=tenant, mcp_read_only=read_only, mcp_tools=tools)
        configure(settings)
        wait_seconds = settings.store_wait_seconds
        with stoppable(), services(settings, wait_seconds=wait_seconds) as opened, working(opened) as ready:
            from api.agents.over_stdio import serve

            serve(ready)
