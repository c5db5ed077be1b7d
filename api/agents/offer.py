"""Which tools are offered, as the settings say."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from api.agents import reasons
from api.agents.endpoints import Endpoints
from api.agents.graph_tools import GRAPH_TOOLS
from api.agents.tooling import Tool
from api.agents.tools import REVIEWING, TOOLS

if TYPE_CHECKING:
    from api.metrics import Metrics
    from api.rates import Rates
    from api.requests import Requests
    from api.routes.routing import Routes
    from api.routes.schemas import Schemas
    from api.settings import Settings
    from api.wiring import Services


def offered(settings: "Settings") -> list[Tool[Any]]:
    """The tools of a server, in the order in which it lists them."""
    tools = {"standard": TOOLS, "review": TOOLS + REVIEWING, "memory": GRAPH_TOOLS}[settings.mcp_tools]
    return [tool for tool in tools if tool.reads or not settings.mcp_read_only]


def endpoints_over(
    services: "Services", groups: Iterable["Routes"], *, schemas: "Schemas", rates: "Rates", metrics: "Metrics",
    requests: "Requests",
) -> Endpoints:  # fmt: skip
    """The routes that tools ask: those of HTTP, and their own."""
    every = [*groups, reasons.routes]
    return Endpoints(services, every, schemas=schemas, rates=rates, metrics=metrics, requests=requests)
