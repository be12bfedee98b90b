"""Finds a pip wheel for machines whose Python has neither ensurepip nor pip.

First on the disk, where distributions keep one for virtual environments, then where pip's own settings say that
packages come from. No address is known here: without a setting nothing is downloaded.
"""

from __future__ import annotations

import configparser
import hashlib
import os
import re
import ssl
import sys
import sysconfig
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_WHEEL = re.compile(r"pip-(\d+(?:\.\d+)*)-py3-none-any\.whl")
_LINK = re.compile(r"""<a\s[^>]*?href=["']([^"']+)["']""", re.IGNORECASE)
_SECONDS = 30


def wheels(download_folder: Path) -> Iterator[Path]:
    """Pip wheels worth trying, nearest first; fetched ones are put in ``download_folder``."""
    yield from _newest_first(path for folder in _disk_folders() for path in folder.glob("pip-*.whl"))
    for page in _settings("find-links") + _index_pages():
        yield from _from_page(page, download_folder)


def _disk_folders() -> list[Path]:
    named = [sysconfig.get_config_var("WHEEL_PKG_DIR"), "/usr/share/python-wheels", "/usr/share/python3-wheels"]
    bundled = Path(sysconfig.get_path("stdlib")) / "ensurepip/_bundled"
    return [Path(str(folder)) for folder in named if folder] + [bundled]


def _newest_first(paths: Iterator[Path]) -> list[Path]:
    return sorted({path for path in paths if _version(path.name)}, key=lambda path: _version(path.name), reverse=True)


def _version(name: str) -> tuple[int, ...]:
    found = _WHEEL.fullmatch(name)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def _index_pages() -> list[str]:
    return [f"{index.rstrip('/')}/pip/" for index in _settings("index-url") + _settings("extra-index-url")]


def _settings(name: str) -> list[str]:
    """The values of one of pip's settings: from the environment, then from its configuration files."""
    values = os.environ.get(f"PIP_{name.upper().replace('-', '_')}", "").split()
    for path in _configuration_files():
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (OSError, configparser.Error, UnicodeDecodeError):
            continue
        for section in ("install", "global"):
            values += parser.get(section, name, fallback="").split()
    return list(dict.fromkeys(values))


def _configuration_files() -> list[Path]:
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        user = [Path(os.environ.get("APPDATA") or home) / "pip/pip.ini", home / "pip/pip.ini"]
    else:
        user = [Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip/pip.conf", home / ".pip/pip.conf"]
    named = os.environ.get("PIP_CONFIG_FILE")
    return [*([Path(named)] if named else []), *user, *_shared_configuration()]


def _shared_configuration() -> list[Path]:
    if sys.platform == "win32":
        return [Path(os.environ.get("PROGRAMDATA") or "C:/ProgramData") / "pip/pip.ini"]
    folders = (os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
    return [*(Path(folder) / "pip/pip.conf" for folder in folders), Path("/etc/pip.conf")]


def _from_page(page: str, download_folder: Path) -> Iterator[Path]:
    """The newest pip wheel of a folder, of a folder's address or of an index page."""
    folder = _local_folder(page)
    if folder is not None and not (folder / "index.html").is_file():
        yield from _newest_first(folder.glob("pip-*.whl"))
        return
    page = (folder / "index.html").as_uri() if folder is not None else page
    try:
        with _open(page) as answer:
            html: str = answer.read().decode("utf-8", "replace")
        links = {urllib.parse.urljoin(page, link.replace("&amp;", "&")) for link in _LINK.findall(html)}
        named = [(_version(_name(link)), link) for link in links if _version(_name(link))]
        if named:
            yield _fetch(max(named)[1], download_folder)
    except (OSError, ValueError, urllib.error.URLError):
        return


def _local_folder(page: str) -> Path | None:
    parts = urllib.parse.urlsplit(page)
    if parts.scheme == "file":
        return Path(urllib.request.url2pathname(parts.path))
    return None if parts.scheme in {"http", "https"} else Path(page)


def _name(link: str) -> str:
    return urllib.parse.unquote(urllib.parse.urlsplit(link).path).rpartition("/")[2]


def _fetch(link: str, folder: Path) -> Path:
    with _open(link) as answer:
        content: bytes = answer.read()
    algorithm, _, digest = urllib.parse.urlsplit(link).fragment.partition("=")
    if algorithm == "sha256" and hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"{_name(link)} does not have the digest its index names")
    path = folder / _name(link)
    path.write_bytes(content)
    return path


def _open(address: str) -> Any:
    certificates = (_settings("cert") or [None])[0]
    return urllib.request.urlopen(address, timeout=_SECONDS, context=ssl.create_default_context(cafile=certificates))
