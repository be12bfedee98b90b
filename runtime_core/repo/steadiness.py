"""What durable Python handlers use that gives something else on every pass (hosts.md 3): found by reading them.

A handler in TypeScript sees the clock and the random numbers of its run; in Python only ``ctx`` has those.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from runtime_core.repo.bundle import Tool
from runtime_core.repo.report import INVALID, Report

_UNSTEADY: Final = {
    "time": "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time",
    "datetime.datetime": "now utcnow today",
    "datetime.date": "today",
    "uuid": "uuid1 uuid4",
    "random": "random randint randrange randbytes getrandbits uniform gauss choice choices sample shuffle SystemRandom",
    "secrets": "token_hex token_bytes token_urlsafe choice randbelow randbits",
    "os": "urandom getpid",
}
_CALLS: Final = frozenset(f"{owner}.{name}" for owner, names in _UNSTEADY.items() for name in names.split())
_SETS: Final = "asyncio.wait"
_SIZE_LIMIT: Final = 1024 * 1024
"""Bytes; nobody writes more by hand, and reading it would take long."""


def check_steadiness(root: Path, tools: Mapping[str, Tool], report: Report) -> None:
    """Warn about each place once, in the files of durable tools and in those of the repository that they import."""
    todo = sorted({tool.entry for tool in tools.values() if tool.durable and tool.language == "python"})
    seen = set(todo)
    while todo:
        file = todo.pop(0)
        tree = _parsed(root / file)
        if tree is None:
            continue
        names = _imported(tree)
        for line, called in _places(tree, names):
            _warn(report, file, line, called)
        imports = [name for name in _files(root, file, tree) if name not in seen]
        seen.update(imports)
        todo += sorted(set(imports))


def _warn(report: Report, file: str, line: int, called: str) -> None:
    if called == _SETS:
        message = "asyncio.wait returns sets, which come in another order on every pass of a durable run."
        remedy = "Sort what is in them before it is used, or use asyncio.gather or asyncio.as_completed."
    else:
        message = f"{called} gives something else on every pass of a durable run."
        remedy = "Use ctx.now or ctx.random, or call it in ctx.step."
    report.warning(INVALID, file, message, remedy, line=line)


def _parsed(path: Path) -> ast.Module | None:
    """None for what cannot be read as Python, which is found out and reported when it is loaded, or is very large."""
    try:
        if path.stat().st_size > _SIZE_LIMIT:
            return None
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def _imported(tree: ast.Module) -> Mapping[str, str]:
    """Names of the file -> full names of what was imported under them."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                top = item.name.partition(".")[0]
                names[item.asname or top] = item.name if item.asname else top
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            names.update((item.asname or item.name, f"{node.module}.{item.name}") for item in node.names)
    return names


def _places(tree: ast.Module, names: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Line and full name of everything of that kind that is called, or passed on, outside of the functions of steps."""
    in_steps = _step_functions(tree)
    todo: list[ast.AST] = [tree]
    found: list[tuple[int, str]] = []
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in in_steps:
            continue
        if isinstance(node, ast.Call) and _is_step(node):
            todo.append(node.func)
            continue
        if isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load):
            used = _full_name(node, names)
            if used in _CALLS or used == _SETS:
                found.append((node.lineno, used))
        todo.extend(ast.iter_child_nodes(node))
    yield from sorted(found)


def _step_functions(tree: ast.Module) -> set[str]:
    """Names of functions that are given to ``ctx.step``."""
    steps = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_step(node))
    return {arg.id for step in steps for arg in step.args if isinstance(arg, ast.Name)}


def _is_step(call: ast.Call) -> bool:
    func = call.func
    return (isinstance(func, ast.Attribute) and func.attr == "step") or (
        isinstance(func, ast.Name) and func.id == "step"
    )


def _full_name(func: ast.expr, names: Mapping[str, str]) -> str:
    parts: list[str] = []
    while isinstance(func, ast.Attribute):
        parts.insert(0, func.attr)
        func = func.value
    if not isinstance(func, ast.Name):
        return ""
    return ".".join([names.get(func.id, ""), *parts])


def _files(root: Path, file: str, tree: ast.Module) -> Iterator[str]:
    """The files of the repository that a file imports."""
    package = file.split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            wanted = [item.name.split(".") for item in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = [*above, *(node.module.split(".") if node.module else [])]
            wanted = [module, *([*module, item.name] for item in node.names)]
        else:
            continue
        for parts in wanted:
            name = "/".join(parts)
            yield from (found for found in (f"{name}.py", f"{name}/__init__.py") if parts and (root / found).is_file())
