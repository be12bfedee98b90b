"""An npm registry and an index of Python packages on loopback, with packages made on the spot."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote

from tests.support.web import Says, Seen, Web, web_server

Files = Mapping[str, str]


@dataclass
class Registry:
    """Holds packages by name and version. ``wait`` is called before each answer."""

    web: Web
    wheels: dict[tuple[str, str], bytes] = field(default_factory=dict)
    tarballs: dict[tuple[str, str], bytes] = field(default_factory=dict)
    manifests: dict[tuple[str, str], dict[str, object]] = field(default_factory=dict)
    wait: Callable[[Seen], None] = lambda _: None

    @property
    def url(self) -> str:
        return f"{self.web.url}/"

    def npm(self, name: str, version: str, files: Files, **manifest: object) -> None:
        data = io.BytesIO()
        self.manifests[name, version] = {"name": name, "version": version, **manifest}
        with tarfile.open(fileobj=data, mode="w:gz") as archive:
            for path, text in {"package.json": json.dumps(self.manifests[name, version]), **files}.items():
                entry = tarfile.TarInfo(f"package/{path}")
                entry.size = len(text.encode())
                archive.addfile(entry, io.BytesIO(text.encode()))
        self.tarballs[name, version] = data.getvalue()

    def wheel(self, name: str, version: str, files: Files, *requires: str) -> None:
        data = io.BytesIO()
        info = f"{name}-{version}.dist-info"
        needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
        described = {
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        with zipfile.ZipFile(data, "w") as archive:
            for path, text in {**files, **described}.items():
                archive.writestr(path, text)
            archive.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in (*files, *described)))
        self.wheels[name, version] = data.getvalue()

    def answer(self, seen: Seen) -> Says:
        self.wait(seen)
        path = unquote(seen.path).strip("/")
        if "/-/" in path:  # NAME/-/VERSION.tgz
            name, _, file = path.partition("/-/")
            return Says(self.tarballs[name, file.removesuffix(".tgz")])
        if path.startswith("simple/"):
            return self._index(path.removeprefix("simple/"))
        return self._npm_versions(path)

    def _npm_versions(self, name: str) -> Says:
        versions = {
            version: {**manifest, "dist": self.dist(name, version)}
            for (known, version), manifest in self.manifests.items()
            if known == name
        }
        if not versions:
            return Says({"error": "Not found"}, 404)
        return Says({"name": name, "dist-tags": {"latest": list(versions)[-1]}, "versions": versions})

    def dist(self, name: str, version: str) -> dict[str, str]:
        digest = hashlib.sha512(self.tarballs[name, version]).digest()
        return {
            "tarball": f"{self.web.url}/{name}/-/{version}.tgz",
            "integrity": f"sha512-{base64.b64encode(digest).decode()}",
        }

    def _index(self, path: str) -> Says:
        name, _, file = path.partition("/")
        if file:
            return Says(self.wheels[name, file.split("-")[1]])
        files = [f"{known}-{version}-py3-none-any.whl" for known, version in self.wheels if known == name]
        if not files:
            return Says("", 404)
        links = "".join(f'<a href="/simple/{name}/{file}">{file}</a>' for file in files)
        return Says(f"<html><body>{links}</body></html>", headers={"Content-Type": "text/html"})


@contextmanager
def registry() -> Generator[Registry]:
    found = Registry(Web("", []))
    with web_server(found.answer) as found.web:
        yield found
