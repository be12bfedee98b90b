"""How a runtime reaches other systems: requests with credentials, OpenAPI documents, MCP servers, mail."""
