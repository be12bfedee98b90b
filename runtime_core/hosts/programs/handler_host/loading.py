"""Handler files as modules of namespace packages, so that relative imports of shared files work."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
import traceback
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, cast

from .sources import Sources
from .values import class_name, to_json, words

Handler = Callable[..., Any]
Form = Literal["handler", "tool", "agent", "hook"]
Path = Sequence[str | int]

_ASKED: Final = {
    "handler": "define async def handler(params, ctx)",
    "tool": "define async def handle(ctx) and tool = {…, 'handle': handle}",
    "agent": "make it a function of one argument",
}


class LoadError(Exception):
    def __init__(self, message: str, code: str = "load-failed") -> None:
        super().__init__(message)
        self.code = code


class Loader:
    """``loading`` is told of every file before it is loaded, in case that never ends, and afterwards."""

    def __init__(self, root: str, code: Mapping[str, Any] | None, loading: Callable[[str, bool], None]) -> None:
        self._root = root
        self._sources = Sources(root, code)
        sys.meta_path.insert(0, self._sources)
        self._loading = loading
        self._modules: dict[str, types.ModuleType] = {}
        self._hooks: dict[tuple[str, str], Handler] = {}

    def load(self, entry: str) -> types.ModuleType:
        """Raises `LoadError` with file and line. Runs outside of every run: a module's state belongs to none."""
        module = self._modules.get(entry)
        if module is None:
            self._loading(entry, True)
            try:
                module = self._modules[entry] = self._import(entry)
            finally:
                self._loading(entry, False)
        return module

    def function(self, entry: str, form: Form, path: Path) -> Handler:
        module = self.load(entry)
        reason = unusable(module, form, path)
        if reason:
            raise LoadError(f"{entry} has no handler ({reason}): {_ASKED[form]}", "no-handler")
        return _function(module, form, path)

    def hook(self, entry: str, config: Any) -> Handler:
        """The function ``run`` of a hook, which is made once per process and configuration."""
        key = entry, to_json(config)
        if key not in self._hooks:
            module = self.load(entry)
            create = getattr(module, "create_hook", None) or getattr(module, "createHook", None)
            if not callable(create):
                raise LoadError(f"{entry} has no hook: define create_hook(config)", "no-handler")
            try:
                made = cast("Any", create(config))
            except BaseException as error:
                raise LoadError(f"{entry} cannot be loaded: {self._describe(error)}") from error
            run = cast("dict[str, Any]", made).get("run") if isinstance(made, dict) else getattr(made, "run", None)
            if not callable(run):
                raise LoadError(
                    f"{entry} has no hook: let create_hook return an object with a function run", "no-handler"
                )
            self._hooks[key] = run
        return self._hooks[key]

    def _import(self, entry: str) -> types.ModuleType:
        path = os.path.join(self._root, *entry.split("/"))
        name = entry.removesuffix(".py").replace("/", ".")
        self._packages(name.split(".")[:-1])
        spec = self._sources.spec(name, path)
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            del sys.modules[name]
            raise LoadError(f"{entry} cannot be loaded: {self._describe(error)}") from error
        return module

    def _packages(self, parts: list[str]) -> None:
        for i in range(1, len(parts) + 1):
            name = ".".join(parts[:i])
            if name not in sys.modules:
                package = types.ModuleType(name)
                package.__path__ = [os.path.join(self._root, *parts[:i])]
                sys.modules[name] = package

    def _describe(self, error: BaseException) -> str:
        if issubclass(type(error), SyntaxError) and (syntax := cast("SyntaxError", error)).filename:
            place = f"{syntax.filename}:{syntax.lineno}"
            text = syntax.msg
        else:
            frames = traceback.extract_tb(sys.exc_info()[2])
            own = [frame for frame in frames if frame.filename.startswith(self._root + os.sep)]
            place = f"{own[-1].filename}:{own[-1].lineno}" if own else ""
            text = words(error)
        at = f" at {place.removeprefix(self._root + os.sep)}" if place else ""
        return f"{class_name(error)}{text and ': '}{text}{at}"


def definition(module: types.ModuleType, form: Form) -> Any:
    """What a module defines; the function of a tool may stand beside it."""
    found = getattr(module, form, None)
    if form == "tool" and isinstance(found, dict) and callable(getattr(module, "handle", None)):
        found = {"handle": module.handle, **cast("dict[str, Any]", found)}
    return cast("Any", found)


def _function(module: types.ModuleType, form: Form, path: Path) -> Any:
    found = definition(module, form)
    for key in path:
        try:
            found = found[key]
        except (TypeError, KeyError, IndexError):
            return None
    return found


def unusable(module: types.ModuleType, form: Form, path: Path) -> str | None:
    """Why the function of a module cannot be called with what its form is called with."""
    if not hasattr(module, form):
        return f"there is no {'function ' * (form == 'handler')}{form}"
    found = _function(module, form, path)
    if not callable(found):
        return f"{'.'.join(map(str, path)) or form} is not a function"
    if inspect.isasyncgenfunction(found) or inspect.isgeneratorfunction(found):
        return "it is a generator, with yield in it, and has to return one value"
    try:
        signature = inspect.signature(found)
    except ValueError:  # written in C
        return None
    try:
        signature.bind(*([None] * (2 if form == "handler" else 1)))
    except TypeError:
        return f"it takes {signature}"
    return None
