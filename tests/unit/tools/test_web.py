"""``web_search`` and ``fetch_url`` against servers on this machine that speak the real protocols."""

from __future__ import annotations

import asyncio
import gzip
import json
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime_core.connections.sending import certificates
from runtime_core.repo.bundle import Agent, Bundle
from runtime_core.tools import web_addresses, web_pages
from runtime_core.tools.base import Caller, ToolFailed
from runtime_core.tools.web import Rate, RateExceeded, WebTools
from tests.unit.tools.provider import KEY, Answer, Seen, Server, candidate, grounding, said, serving, was_read

PARAGRAPH = "The dock was moved to the north side, and every parcel, large or small, goes there from Monday on. "
PAGE = f"""<!doctype html><html><head><title>Dock news</title><style>p {{}}</style></head><body>
<nav><a href="/">Home</a><a href="/imprint">Imprint</a></nav>
<article><h1>The north dock</h1><p>{PARAGRAPH * 4}</p><p>{PARAGRAPH * 4}<!-- note -->Ende.</p></article>
<footer>All rights reserved</footer><script>track()</script></body></html>"""


class Keys:
    def __init__(self, **values: str) -> None:
        self.values = values

    def get(self, name: str) -> str | None:
        return self.values.get(name)


async def _no_subagent(name: str, task: str, input: str | None) -> str:
    raise AssertionError("the web tools ask no subagent")


class Desk:
    """The two tools of a repository whose provider is on this machine."""

    def __init__(self, provider: str, **settings: str) -> None:
        block = {"provider": "google", "apiKey": "env:SEARCH_KEY", "baseUrl": provider, **settings}
        self.bundle = Bundle(Path("/r"), "desk", "1", "0" * 64, {}, {}, {"webTools": block})
        self.tools = WebTools(Keys(SEARCH_KEY=KEY))
        self.caller = Caller(self.bundle, "", "somebody", lambda kind, value: None, _no_subagent)

    def call(self, name: str, *, caller: Caller | None = None, **params: Any) -> dict[str, Any]:
        tool = self.tools.find(self.bundle, name)
        assert tool is not None
        assert tool.category == "web"
        assert tool.effect_with("{}") == "read"
        result = json.loads(asyncio.run(_called(tool, params, caller or self.caller)))
        assert KEY not in str(result)
        return result

    def search(self, query: str = "kubernetes 1.31 deprecations", **params: Any) -> dict[str, Any]:
        return self.call("web_search", query=query, **params)

    def fetch(self, url: str, **params: Any) -> dict[str, Any]:
        return self.call("fetch_url", url=url, **params)


async def _called(tool: Any, params: Mapping[str, Any], caller: Caller) -> str:
    return await tool.call(json.dumps(params), caller)


def page(body: bytes | str = PAGE, media: str = "text/html; charset=utf-8", **headers: str) -> Answer:
    sent = body.encode() if isinstance(body, str) else body
    return 200, {"content-type": media, **{name.replace("_", "-"): value for name, value in headers.items()}}, sent


def page_answer(_: Seen) -> Answer:
    return page()


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Server, Server, Server]]:
    with serving(page_answer) as google, serving(page_answer) as site, serving(page_answer, "127.0.0.9") as public:
        public.url = public.url.replace("127.0.0.9", "public.example")
        yield google, site, public


@pytest.fixture
def google(servers: tuple[Server, Server, Server]) -> Server:
    return servers[0].fresh(said(candidate("Nothing is known.")))


@pytest.fixture
def site(servers: tuple[Server, Server, Server]) -> Server:
    return servers[1].fresh(page_answer)


@pytest.fixture
def public(servers: tuple[Server, Server, Server], monkeypatch: pytest.MonkeyPatch) -> Server:
    """A site that counts as one of the public web, under the name ``public.example``."""
    reach, lookup = web_addresses.reach_of, socket.getaddrinfo

    def resolved(host: str, *rest: Any, **options: Any) -> Any:
        return lookup("127.0.0.9" if host == "public.example" else host, *rest, **options)

    def judged(host: str, address: str) -> web_addresses.Reach:
        return "public" if address == "127.0.0.9" else reach(host, address)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    monkeypatch.setattr(web_addresses, "reach_of", judged)
    return servers[2].fresh(page_answer)


# ---- what there is ----------------------------------------------------------------------------------------


def test_without_a_block_there_are_no_web_tools() -> None:
    tools = WebTools(Keys())
    bundle = Bundle(Path("/r"), "desk", "1", "0" * 64, {}, {}, {})
    assert tools.names(bundle) == ()
    assert tools.find(bundle, "web_search") is None
    other = replace(bundle, manifest={"webTools": {"provider": "other"}})
    assert tools.find(other, "fetch_url") is None
    ours = replace(bundle, manifest={"webTools": {"provider": "google"}})
    assert tools.names(ours) == ("web_search", "fetch_url")
    assert tools.find(ours, "web_browse") is None


def test_the_request_is_that_of_the_provider(google: Server) -> None:
    Desk(google.url).search("parcels 2026")
    asked = google.seen[0]
    assert asked.path == "/v1beta/models/gemini-flash-latest:generateContent"
    assert {name.lower(): value for name, value in asked.headers.items()}["x-goog-api-key"] == KEY
    assert asked.body["tools"] == [{"google_search": {}}]
    assert "parcels 2026" in asked.body["contents"][0]["parts"][0]["text"]
    assert KEY not in asked.path


def test_the_model_of_the_block_is_used(google: Server) -> None:
    Desk(google.url, model="models/gemini-x/../y").search()
    assert google.seen[0].path == "/v1beta/models/gemini-x%2F..%2Fy:generateContent"


# ---- answers of the search ------------------------------------------------------------------------------------


def test_an_answer_names_its_sources_by_number(google: Server) -> None:
    text = "Größer als gedacht. Nicht belegt."
    end = len("Größer als gedacht.".encode())
    supports = [{"segment": {"startIndex": 0, "endIndex": end, "text": "…"}, "groundingChunkIndices": [1, 0, 9]}]
    sources = (("https://a.example/1", "A"), ("https://b.example/2", "B\nb"))
    google.answer = said(candidate(text, groundingMetadata=grounding(*sources, supports=supports)))
    assert Desk(google.url).search() == {
        "status": "ok",
        "content": "Größer als gedacht. [1][2] Nicht belegt.\n\n"
        "Sources:\n[1] A https://a.example/1\n[2] B b https://b.example/2",
        "source_count": 2,
    }


def test_members_may_be_spelled_with_underscores(google: Server) -> None:
    chunks = {"grounding_chunks": [{"web": {"uri": "https://a.example", "title": "A"}}]}
    google.answer = said(candidate("Yes.", grounding_metadata=chunks))
    assert Desk(google.url).search()["source_count"] == 1


@pytest.mark.parametrize(("asked", "given"), [(None, 5), (3, 3), (10, 10), (50, 10)])
def test_there_are_at_most_ten_sources(google: Server, asked: int | None, given: int) -> None:
    sources = [(f"https://{n}.example", f"S{n}") for n in range(30)]
    google.answer = said(candidate("Yes.", groundingMetadata=grounding(*sources)))
    params: dict[str, Any] = {} if asked is None else {"max_results": asked}
    found = Desk(google.url).call("web_search", query="docks", **params)
    assert found["source_count"] == given
    assert f"[{given}]" in found["content"]
    assert f"[{given + 1}]" not in found["content"]


@pytest.mark.parametrize("text", ["word " * 20_000, "漢字" * 9000, "x" * 100_000])
def test_an_answer_has_at_most_two_thousand_tokens(google: Server, text: str) -> None:
    sources = [(f"https://{n}.example/{'p' * 300 * n}", f"S{n}") for n in range(10)]
    google.answer = said(candidate(text, groundingMetadata=grounding(*sources)))
    content = Desk(google.url).search(max_results=10)["content"]
    assert len(content.encode()) <= 2000 * 4
    assert "[…]" in content
    assert "[1] S0 https://0.example/" in content


def test_thoughts_are_not_part_of_an_answer(google: Server) -> None:
    answer = candidate("")
    answer["candidates"][0]["content"]["parts"] = [{"text": "Hm.", "thought": True}, {"text": "One "}, {"text": "two."}]
    google.answer = said(answer)
    assert Desk(google.url).search()["content"] == "One two."


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "SAFETY"),
        ({"candidates": []}, "no answer"),
        ({"candidates": [{"finishReason": "MAX_TOKENS"}]}, "MAX_TOKENS"),
        ({"candidates": ["?"]}, "no answer"),
    ],
)
def test_no_answer_is_an_error_that_is_given_as_a_value(google: Server, answer: object, why: str) -> None:
    google.answer = said(answer)
    found = Desk(google.url).search()
    assert found["status"] == "error"
    assert why in found["content"]
    assert "source_count" not in found


# ---- errors of the provider --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "retryable", "why"),
    [
        (400, None, "not right"),
        (401, None, "not right"),
        (403, None, "not right"),
        (404, None, "unchanged"),
        (429, None, "quota"),
        (500, True, "Try again"),
        (503, True, "Try again"),
    ],
)
def test_errors_are_told_by_status(google: Server, status: int, retryable: bool | None, why: str) -> None:
    google.answer = said({"error": {"code": status, "message": f"The key {KEY} is bad", "status": "X"}}, status)
    found = Desk(google.url).search()
    assert found["status"] == "error"
    assert found.get("retryable") is retryable
    assert why in found["content"]
    assert str(status) in found["content"]
    assert "The key … is bad" in found["content"]


def test_an_error_without_json_is_one_too(google: Server) -> None:
    google.answer = lambda _: (502, {"content-type": "text/html"}, b"<h1>Bad gateway</h1>")
    assert Desk(google.url).search()["retryable"] is True


@pytest.mark.parametrize("body", [b"no json", b"[1]", b"\xff\xfe"])
def test_what_nobody_expects_fails_the_tool(google: Server, body: bytes) -> None:
    google.answer = lambda _: (200, {}, body)
    with pytest.raises(ToolFailed, match="JSON object"):
        Desk(google.url).search()


def test_a_provider_that_is_not_there_fails_the_tool(google: Server) -> None:
    with serving(said({})) as gone:
        url = gone.url
    with pytest.raises(ToolFailed, match="could not be asked") as failed:
        Desk(url).search()
    assert KEY not in failed.value.message


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"baseUrl": "http://example.com"}, "https address"),
        ({"baseUrl": "https://u:p@example.com"}, "https address"),
        ({"baseUrl": "nonsense"}, "https address"),
        ({"apiKey": "env:MISSING"}, "MISSING"),
        ({"apiKey": ""}, "no apiKey"),
        ({"apiKey": "AIza-in-the-file"}, "no apiKey"),
        ({"model": 3}, "has to be a text"),
    ],
)
def test_wrong_settings_say_which_and_what_to_do(google: Server, settings: Any, why: str) -> None:
    with pytest.raises(ToolFailed, match=why):
        Desk(google.url, **settings).search()
    assert google.seen == []


# ---- public pages ------------------------------------------------------------------------------------------------


def test_a_public_page_is_read_by_the_provider(google: Server, public: Server) -> None:
    google.answer = said(candidate("Version 2 drops the old API.", urlContextMetadata=was_read()))
    found = Desk(google.url).fetch(f"{public.url}/article", prompt="Extract the API changes")
    assert found == {"status": "ok", "content": "Version 2 drops the old API."}
    assert public.seen == []
    asked = google.seen[0].body
    assert asked["tools"] == [{"url_context": {}}]
    text = asked["contents"][0]["parts"][0]["text"]
    assert f"{public.url}/article" in text
    assert "Extract the API changes" in text


@pytest.mark.parametrize(
    "answer",
    [
        said(candidate("I cannot browse.")),
        said(candidate("Sorry.", urlContextMetadata=was_read("URL_RETRIEVAL_STATUS_ERROR"))),
        said(candidate("Sorry.", urlContextMetadata=was_read("URL_RETRIEVAL_STATUS_PAYWALL"))),
        said({"error": {"message": "bad key"}}, 403),
        said({}, 500),
        said("no object"),
    ],
)
def test_what_the_provider_cannot_read_is_fetched_here(google: Server, public: Server, answer: Any) -> None:
    google.answer = answer
    found = Desk(google.url).fetch(public.url)
    assert found["status"] == "ok"
    assert found["used_fallback"] is True
    assert "The north dock" in found["content"]


def test_what_the_provider_holds_for_unsafe_is_not_fetched_here(google: Server, public: Server) -> None:
    google.answer = said(candidate("No.", urlContextMetadata=was_read("URL_RETRIEVAL_STATUS_UNSAFE")))
    found = Desk(google.url).fetch(public.url)
    assert found["status"] == "error"
    assert "unsafe" in found["content"]
    assert public.seen == []


def test_a_page_that_neither_can_read_says_both_reasons(google: Server, public: Server) -> None:
    google.answer = said({}, 429)
    public.answer = lambda _: (404, {}, b"")
    found = Desk(google.url).fetch(public.url)
    assert found["status"] == "error"
    assert "quota" in found["content"]
    assert "404" in found["content"]


def test_a_public_page_may_not_lead_into_a_private_network(google: Server, public: Server, site: Server) -> None:
    google.answer = said({}, 500)
    public.answer = lambda _: (302, {"location": f"{site.url}/admin"}, b"")
    found = Desk(google.url).fetch(public.url)
    assert found["status"] == "error"
    assert "private network" in found["content"]
    assert site.seen == []


def test_a_name_that_changes_its_address_is_looked_at_again(
    google: Server, public: Server, site: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    google.answer = said({}, 500)
    lookup, asked = socket.getaddrinfo, []

    def rebinding(host: str, *rest: Any, **options: Any) -> Any:
        if host == "public.example":
            asked.append(host)
            return lookup("127.0.0.9" if len(asked) == 1 else "127.0.0.1", *rest, **options)
        return lookup(host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    found = Desk(google.url).fetch(f"http://public.example:{site.port}/")
    assert found["status"] == "error"
    assert "private network" in found["content"]
    assert site.seen == []


def test_the_address_that_was_checked_is_the_one_that_is_asked(
    google: Server, site: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing looks the name up again between the check and the connection."""
    lookup, asked = socket.getaddrinfo, []

    def once(host: str, *rest: Any, **options: Any) -> Any:
        asked.append(host)
        return lookup("127.0.0.1" if host == "desk.local" else host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", once)
    found = Desk(google.url).fetch(f"http://desk.local:{site.port}/x")
    assert found["status"] == "ok"
    assert asked.count("desk.local") == 2  # to see where it is, and to fetch it
    assert {key.lower(): value for key, value in site.seen[0].headers.items()}["host"] == f"desk.local:{site.port}"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with it")
def test_a_certificate_has_to_be_that_of_the_name_not_of_the_address(
    google: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=desk.local -addext subjectAltName=DNS:desk.local"
    )
    subprocess.run([*made.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    lookup = socket.getaddrinfo

    def here(host: str, *rest: Any, **options: Any) -> Any:
        return lookup("127.0.0.1" if host.endswith(".local") else host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", here)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    certificates.cache_clear()
    try:
        with serving(lambda _: page("hello", "text/plain"), tls=tls) as server:
            assert Desk(google.url).fetch(f"https://desk.local:{server.port}")["content"] == "hello"
            for host in ("other.local", "127.0.0.1"):
                refused = Desk(google.url).fetch(f"https://{host}:{server.port}")
                assert refused["status"] == "error"
                assert "certificate" in refused["content"]
    finally:
        certificates.cache_clear()


# ---- private pages ------------------------------------------------------------------------------------------------


def test_a_private_page_is_fetched_here_and_named_to_nobody(google: Server, site: Server) -> None:
    found = Desk(google.url).fetch(f"{site.url}/news?x=1")
    assert found["status"] == "ok"
    assert "used_fallback" not in found
    assert found["content"].startswith("Dock news\n\n")
    assert PARAGRAPH.strip() in found["content"]
    assert "Ende." in found["content"]
    for other in ("Imprint", "All rights reserved", "track()"):
        assert other not in found["content"]
    assert site.seen[0].path == "/news?x=1"
    assert google.seen == []


@pytest.mark.parametrize(
    ("body", "media"),
    [
        (b'{"docks": [1, 2.50]}', "application/json"),
        (b'{"type": "about:blank"}', "application/problem+json"),
        (b"a,b\n1,2\n", "text/csv"),
        (b"plain < text & more", "text/plain; charset=utf-8"),
        (b"<feed><entry>1</entry></feed>", "application/atom+xml"),
        (b"no type given", ""),
    ],
)
def test_text_and_json_are_given_as_they_are(google: Server, site: Server, body: bytes, media: str) -> None:
    site.answer = lambda _: page(body, media)
    assert Desk(google.url).fetch(site.url)["content"] == body.decode()


def test_lists_tables_and_code_of_a_page_are_kept(google: Server, site: Server) -> None:
    rows = "".join(f"<tr><td>Dock {name}<td>5:00, or later on Sundays</tr>" for name in "ABCDEF")
    site.answer = lambda _: page(
        f"<html><head><title>Docks</title></head><body><main><h1>Docks</h1><p>{PARAGRAPH * 3}</p>"
        "<ul><li>Call <code>open()</code> first, and wait for it.<li>Then call <b>close()</b>, whatever came.</ul>"
        f"<pre>for dock in docks:\n    dock.open(\n\tname)</pre><p>{PARAGRAPH * 3}</p>"
        f"<table><tr><th>Dock<th>Opens</tr>{rows}</table><p>{PARAGRAPH * 3}</p></main></body></html>"
    )
    lines = Desk(google.url).fetch(site.url)["content"].split("\n")
    assert lines[0] == "Docks"
    assert lines.count("Docks") == 1
    for line in (
        "Call open() first, and wait for it.",
        "Then call close(), whatever came.",
        "Dock A 5:00, or later on Sundays",
    ):
        assert line in lines
    assert lines[lines.index("for dock in docks:") :][:3] == ["for dock in docks:", "    dock.open(", "    name)"]


@pytest.mark.parametrize("media", ["image/png", "application/pdf", "application/octet-stream", "video/mp4"])
def test_other_kinds_are_refused(google: Server, site: Server, media: str) -> None:
    site.answer = lambda _: page(b"\0\1", media)
    found = Desk(google.url).fetch(site.url)
    assert found["status"] == "error"
    assert media in found["content"]


@pytest.mark.parametrize(
    ("body", "media"),
    [
        ("Größe 漢".encode(), "text/plain"),
        ("Größe 漢".encode("utf-16"), "text/plain"),
        (b"\xef\xbb\xbf" + "Größe 漢".encode(), "text/plain; charset=latin-1"),
        ("Größe 漢".encode("gb18030"), 'text/plain; charset="GB2312"'),
        ("Größe “”".encode("cp1252"), "text/plain; charset=iso-8859-1"),
        ("Größe “”".encode("cp1252"), "text/plain; charset=nonsense"),
        ("Größe".encode("cp1252"), "text/plain; charset=rot13"),
        ('<html><meta charset="iso-8859-1"><body>Größe'.encode("cp1252"), "text/html"),
    ],
)
def test_character_sets(google: Server, site: Server, body: bytes, media: str) -> None:
    site.answer = lambda _: page(body, media)
    assert Desk(google.url).fetch(site.url)["content"].startswith("Größe")


def test_redirects_are_followed_a_few_times(google: Server, site: Server) -> None:
    def answer(seen: Seen) -> Answer:
        left = int(seen.path.strip("/"))
        return page("arrived", "text/plain") if left == 0 else (302, {"location": f"/{left - 1}"}, b"")

    site.answer = answer
    assert Desk(google.url).fetch(f"{site.url}/5")["content"] == "arrived"
    found = Desk(google.url).fetch(f"{site.url}/6")
    assert found["status"] == "error"
    assert "redirect" in found["content"]


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://metadata.google.internal/",
        "http://[fe80::1]/",
        "file:///etc/passwd",
        "http://user:secret@127.0.0.1/",
        "//169.254.169.254/",
        "javascript:alert(1)",
        "http://[",
    ],
)
def test_every_redirect_is_checked(google: Server, site: Server, location: str) -> None:
    site.answer = lambda _: (302, {"location": location}, b"")
    found = Desk(google.url).fetch(site.url)
    assert found["status"] == "error"
    assert "not fetched" in found["content"]
    assert "secret" not in found["content"]
    assert len(site.seen) == 1


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/", "ftp://127.0.0.1/", "https://u:secret@127.0.0.1/", "http://[fe80::1]/"]
)
def test_closed_addresses_are_refused_before_anything_is_asked(google: Server, url: str) -> None:
    found = Desk(google.url).fetch(url)
    assert found["status"] == "error"
    assert "not fetched" in found["content"]
    assert google.seen == []


def test_a_body_above_one_megabyte_is_refused(google: Server, site: Server) -> None:
    site.answer = lambda _: page(b"x" * 1024 * 1024, "text/plain")
    assert len(Desk(google.url).fetch(site.url)["content"]) == 1024 * 1024
    site.answer = lambda _: page(b"x" * (1024 * 1024 + 1), "text/plain")
    assert "larger than 1 MB" in Desk(google.url).fetch(site.url)["content"]
    site.answer = lambda _: page(gzip.compress(b"x" * 50_000_000), "text/plain", content_encoding="gzip")
    assert "larger than 1 MB" in Desk(google.url).fetch(site.url)["content"]


def test_a_page_has_a_time_limit(google: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_pages, "TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        found = Desk(google.url).fetch(f"http://127.0.0.1:{silent.getsockname()[1]}/")
    assert found["status"] == "error"
    assert found["retryable"] is True
    assert "within 0.2 s" in found["content"]


@pytest.mark.parametrize(("status", "retryable"), [(404, None), (403, None), (429, True), (503, True)])
def test_what_a_page_answers_is_told(google: Server, site: Server, status: int, retryable: bool | None) -> None:
    site.answer = lambda _: (status, {}, b"")
    found = Desk(google.url).fetch(site.url)
    assert found["status"] == "error"
    assert str(status) in found["content"]
    assert found.get("retryable") is retryable


def test_code_gets_all_of_a_page_and_a_model_two_thousand_tokens(google: Server, site: Server) -> None:
    site.answer = lambda _: page("line\n" * 10_000, "text/plain")
    desk = Desk(google.url)
    assert len(desk.fetch(site.url)["content"]) == 50_000
    model = replace(desk.caller, agent=Agent("a", "", "a", ""))
    content = desk.call("fetch_url", url=site.url, caller=model)["content"]
    assert len(content.encode()) <= 8000
    assert content.endswith("[…]")


# ---- the rate ------------------------------------------------------------------------------------------------------


def test_a_host_is_asked_ten_times_a_minute(google: Server, site: Server) -> None:
    site.answer = lambda _: page("hello", "text/plain")
    desk = Desk(google.url)
    assert [desk.fetch(f"{site.url}/{n}")["status"] for n in range(10)] == ["ok"] * 10
    found = desk.fetch(f"{site.url}/11")
    assert found["status"] == "error"
    assert found["retryable"] is True
    assert "10 times within 60 s" in found["content"]
    assert len(site.seen) == 10
    assert desk.fetch(site.url.replace("127.0.0.1", "localhost"))["status"] == "ok"


def test_redirects_count_as_requests(google: Server, site: Server) -> None:
    site.answer = lambda seen: page("x", "text/plain") if seen.path == "/b" else (301, {"location": "/b"}, b"")
    desk = Desk(google.url)
    statuses = [desk.fetch(f"{site.url}/a")["status"] for _ in range(6)]
    assert statuses == ["ok"] * 5 + ["error"]
    assert len(site.seen) == 10


def test_the_minute_passes() -> None:
    clock = [0.0]
    rate = Rate(lambda: clock[0])
    for _ in range(10):
        rate.count("a")
        clock[0] += 1
    with pytest.raises(RateExceeded, match="Wait 50 s"):
        rate.count("a")
    rate.count("b")
    clock[0] = 60.0
    rate.count("a")
    with pytest.raises(RateExceeded):
        rate.count("a")
