"""The text of what a web server sent: the main part of a page, anything else as it is."""

from __future__ import annotations

import codecs
import logging
import re
from importlib import import_module
from typing import Any, Final

HTML: Final = frozenset({"text/html", "application/xhtml+xml"})

_SNIFFED: Final = 1024
_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META_CHARSET: Final = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w:.-]+)", re.IGNORECASE)
_READ_AS: Final = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
}
"""Character sets that pages name and what they mean by them, as browsers read them."""
_BLOCKS: Final = frozenset(
    {
        *("address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figcaption", "figure", "footer"),
        *("form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section"),
        *("table", "tr", "ul"),
    }
)
_UNSEEN: Final = frozenset({"head", "script", "style", "noscript", "template"})


class NoText(Exception):  # noqa: N818
    """Why there is nothing to read; the sentence lacks its subject."""


def page_text(body: bytes, media: str, charset: str | None) -> str:
    """``media`` is empty if the server did not say what it sent. Raises `NoText`."""
    text = _decoded(body, charset, may_name_itself=media in HTML or not media)
    if not media:
        if "\0" in text:
            raise NoText("does not say what it is, and is no text")
        is_page = re.match(r"\s*<(!doctype html|html)", text, re.IGNORECASE) is not None
        return _article(text) if is_page else text
    return _article(text) if media in HTML else text


def _decoded(body: bytes, charset: str | None, *, may_name_itself: bool) -> str:
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    inside = _META_CHARSET.search(body[:_SNIFFED]) if may_name_itself else None
    for named in (charset, inside and inside[1].decode("ascii", "replace")):
        if named and (codec := _codec(named)):
            return body.decode(codec, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def _codec(named: str) -> str | None:
    try:
        name = codecs.lookup(named).name
        b"x".decode(name, "replace")  # there are codecs that make no text
    except (LookupError, ValueError):
        return None
    return _READ_AS.get(name, name)


def _article(html: str) -> str:
    """Title and main text of a page, one line for each block."""
    if not html.strip():
        return ""
    failures: tuple[type[Exception], ...] = (import_module("lxml.etree").LxmlError, ValueError)
    document: Any = import_module("readability").Document
    logging.getLogger("readability").setLevel(logging.CRITICAL)  # it logs with a trace what it raises
    try:
        page = document(_parsed(html))
        title = " ".join(page.title().split())
        text = _lines(_parsed(page.summary()))
    except failures:
        title = text = ""
    try:
        text = text or _lines(_parsed(html))  # too little of it looks like an article
    except failures as error:
        raise NoText(f"cannot be read as a page: {error}") from None
    is_told = title in ("", "[no-title]") or text.startswith(f"{title}\n")
    return text if is_told else f"{title}\n\n{text}"


def _parsed(html: str) -> Any:
    """As bytes: lxml refuses a text that declares a character set itself."""
    package = import_module("lxml.html")
    parser = package.HTMLParser(encoding="utf-8")
    return package.document_fromstring(html.encode("utf-8", "replace"), parser=parser)


def _lines(root: Any) -> str:
    """Every block on a line of its own; what is laid out by hand (``pre``) keeps its lines and indentation."""
    pieces: list[str] = []
    depth = 0
    for event, element in import_module("lxml.etree").iterwalk(root, ("start", "end", "comment", "pi")):
        if element.tag == "pre":
            depth += 1 if event == "start" else -1
        if element.tag in _BLOCKS:
            pieces.append("\n")
        elif event == "start" and element.tag in ("td", "th"):
            pieces.append(" ")
        text = (None if element.tag in _UNSEEN else element.text) if event == "start" else element.tail
        pieces.append(_laid_out(text or "") if depth else re.sub(r"\s+", " ", text or ""))
    lines = (re.sub(r" +", " ", line).strip(" ").replace("\xa0", " ").rstrip() for line in "".join(pieces).split("\n"))
    return "\n".join(line for line in lines if line)


def _laid_out(text: str) -> str:
    return text.expandtabs(4).replace(" ", "\xa0")
