"""A small MCP server on its standard streams, in plain JSON-RPC: what other people's servers speak."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL = {
    "name": "echo",
    "description": "Say it again.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def reply(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        version = params["protocolVersion"]
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "files", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": f"again: {params['arguments']['text']}"}]}
    return {} if method == "ping" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = reply(message.get("method", ""), message.get("params") or {})
    failed = {"error": {"code": -32601, "message": "no such method"}}
    answer = {"jsonrpc": "2.0", "id": message["id"], **(failed if result is None else {"result": result})}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
