"""No connection reaches the metadata service of a cloud machine or anything link-local, by whatever name."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from runtime_core.connections.closed import Closed, check_open
from runtime_core.connections.mcp import McpServers
from runtime_core.connections.mcp_config import McpUnavailable
from runtime_core.connections.openapi_source import DocumentUnavailable, OpenApiDocuments
from runtime_core.connections.request import Request
from runtime_core.repo.bundle import Bundle
from runtime_core.repo.servers import server_of
from tests.support.web import Says, web_server
from tests.unit.connections.calling import Kept, connection, failure

CLOSED = [
    "http://169.254.169.254",
    "http://169.254.1.2:8080",
    "http://169.254.170.2",
    "http://[::ffff:169.254.169.254]",
    "http://[64:ff9b::a9fe:a9fe]",
    "http://[fd00:ec2::254]",
    "http://[fe80::1]",
    "http://2852039166",
    "http://0xa9.0xfe.0xa9.0xfe",
    "http://100.100.100.200",
    "http://168.63.129.16",
    "http://Metadata.Google.Internal.",
    "http://instance-data",
    "http://named.example",
]


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    """``named.example`` leads to a metadata service, among others."""
    lookup = socket.getaddrinfo

    def resolved(host: Any, *rest: Any, **options: Any) -> Any:
        if host != "named.example":
            return lookup(host, *rest, **options)
        return [*lookup("127.0.0.1", *rest, **options), *lookup("169.254.169.254", *rest, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)


@pytest.mark.parametrize("url", CLOSED)
def test_closed_addresses(url: str) -> None:
    with pytest.raises(Closed):
        asyncio.run(check_open(f"{url}/latest"))


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9", "http://10.1.2.3", "http://[::1]", "http://localhost", "http://"]
)
def test_private_and_loopback_addresses_are_open(url: str) -> None:
    asyncio.run(check_open(url))


@pytest.mark.parametrize("url", ["http://169.254.169.254", "http://named.example"])
def test_no_client_of_a_connection_goes_there(tmp_path: Path, url: str) -> None:
    host = url.partition("//")[2]
    refused = failure(connection(f"{url}/latest"), Request("/meta-data"))
    assert (refused.code, refused.is_sent) == ("connection-unavailable", False)
    assert host in refused.message
    assert "metadata service" in refused.message
    auth = {"type": "oauth2", "tokenUrl": f"{url}/token", "clientId": "a", "clientSecret": "env:S"}
    refused = failure(connection("http://127.0.0.1:9", auth=auth), Request("/x"), secrets={"S": "s3cret"})
    assert (refused.code, refused.is_sent) == ("connection-unavailable", False)
    assert "metadata service" in refused.message

    async def others() -> None:
        bundle = Bundle(tmp_path, "x", "1", "r", {}, {}, {})
        with pytest.raises(DocumentUnavailable, match="metadata service"):
            await OpenApiDocuments(tmp_path, Kept()).get(bundle, connection("", openapi={"source": f"{url}/api.json"}))
        for way in ("http", "sse"):
            server = server_of("desk", "amodal.json", {"transport": way, "url": f"{url}/mcp"})
            servers = McpServers(Kept(), _nobody, tmp_path / "remains")
            with pytest.raises(McpUnavailable, match="metadata service"):
                await servers.tools(bundle, server)
            await servers.close()

    asyncio.run(others())


async def _nobody(_root: Path, _revision: str, _need: str) -> bool:
    return False


def test_a_document_that_redirects_there_is_not_fetched(tmp_path: Path) -> None:
    def answer(_: Any) -> Says:
        return Says("", status=302, headers={"Location": "http://169.254.169.254/latest"})

    async def fetched(url: str) -> None:
        bundle = Bundle(tmp_path, "x", "1", "r", {}, {}, {})
        with pytest.raises(DocumentUnavailable, match="metadata service"):
            await OpenApiDocuments(tmp_path, Kept()).get(bundle, connection("", openapi={"source": url}))

    with web_server(answer) as web:
        asyncio.run(fetched(f"{web.url}/api.json"))
