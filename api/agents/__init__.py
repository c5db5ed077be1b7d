"""Memory for agents that speak MCP: tools, resources and prompts over the same routes as HTTP."""
