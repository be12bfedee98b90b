"""Finds and reads the modules of a repository: code from the copy of its revision, under the repository's names."""

from __future__ import annotations

import importlib.util
import linecache
import os
import re
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any


class Sources:
    """A finder of what lies inside the packages of a repository; ``code`` says where its files are read."""

    def __init__(self, root: str, code: Mapping[str, Any] | None) -> None:
        self._root = root + os.sep
        self._folder: str = code["folder"] if code else ""
        self._tops = frozenset[str](code["tops"] if code else ())
        self._live = re.compile(code["live"] if code else "")

    def copy_of(self, path: str) -> str:
        """The file to read for a path of the repository."""
        if not self._tops or not path.startswith(self._root):
            return path
        name = path.removeprefix(self._root).replace(os.sep, "/")
        is_code = name.split("/", 1)[0] in self._tops and not self._live.search(name)
        return os.path.join(self._folder, name) if is_code else path

    def find_spec(self, name: str, path: Sequence[str] | None, _: ModuleType | None = None) -> ModuleSpec | None:
        """As an import asks for it; the packages above are there already."""
        for folder in path or ():
            if (folder + os.sep).startswith(self._root):
                at = os.path.join(folder, name.rpartition(".")[2])
                for file in (os.path.join(at, "__init__.py"), f"{at}.py"):
                    if os.path.isfile(self.copy_of(file)):
                        return self.spec(name, file)
                if os.path.isdir(self.copy_of(at)):
                    spec = ModuleSpec(name, None, is_package=True)
                    spec.submodule_search_locations = [at]
                    return spec
        return None

    def spec(self, name: str, file: str) -> ModuleSpec:
        spec = importlib.util.spec_from_file_location(name, file, loader=_Loader(name, file, self))
        assert spec is not None
        return spec


class _Loader(SourceFileLoader):
    """Runs the text of a file, never byte code that somebody left beside it."""

    def __init__(self, name: str, path: str, sources: Sources) -> None:
        super().__init__(name, path)
        self._sources = sources

    def get_data(self, path: str) -> bytes:
        return super().get_data(self._sources.copy_of(path))

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        data = self.get_data(path)
        linecache.cache[path] = (len(data), None, data.decode("utf-8", "replace").splitlines(keepends=True), path)
        return self.source_to_code(data, path)
