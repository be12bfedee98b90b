"""Rules about our own source that no ready-made linter knows.

Each check yields lines and what is wrong there and what to do instead.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

Problem = tuple[int, str]
Check = Callable[[ast.Module], Iterator[Problem]]


@dataclass(frozen=True)
class Rule:
    """A check of the files below ``folders``, except those that match ``allowed``; ``bad`` is a text it must refuse."""

    name: str
    check: Check
    bad: str
    good: str
    folders: tuple[str, ...] = ("inbox_app",)
    allowed: str = "$^"

    def applies_to(self, path: str) -> bool:
        return path.split("/")[0] in self.folders and re.search(self.allowed, path) is None


def problems(rule: Rule) -> list[str]:
    """Every place of the tree that breaks a rule, as ``file:line: message``."""
    found: list[str] = []
    for folder in rule.folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if rule.applies_to(name):
                tree = ast.parse(path.read_text(encoding="utf-8"), name)
                found += [f"{name}:{line}: {message}" for line, message in rule.check(tree)]
    return found


def _calls(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    """Calls of a function or method with one of these names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last_name(node.func) in names:
            yield node


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _contains(call: ast.Call, kind: type[ast.AST]) -> bool:
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(isinstance(node, kind) for argument in given for node in ast.walk(argument))


def _mentions(names: set[str], message: str) -> Check:
    """Refuse any use of these names: bare, as an attribute or imported."""

    def check(tree: ast.Module) -> Iterator[Problem]:
        for node in ast.walk(tree):
            used = {alias.name for alias in node.names} if isinstance(node, ast.ImportFrom) else {_last_name(node)}
            for name in sorted(used & names):
                assert isinstance(node, ast.stmt | ast.expr)
                yield node.lineno, f"{name}: {message}"

    return check


def _nested_exec(tree: ast.Module) -> Iterator[Problem]:
    for call in _calls(tree, "exec", "exec_"):
        if isinstance(call.func, ast.Attribute):
            yield call.lineno, "a nested event loop kills tasks: use open() or popup() and a signal"


def _dialog_statics(tree: ast.Module) -> Iterator[Problem]:
    blocking = re.compile(r"Q\w+(Dialog|Box)\.(information|warning|critical|question|about|aboutQt|get[A-Z]\w*)$")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and blocking.match(f"{_last_name(node.value)}.{node.attr}"):
            yield node.lineno, f"{_last_name(node.value)}.{node.attr} runs a nested event loop: build it and open()"


def _lambda_in_connect(tree: ast.Module) -> Iterator[Problem]:
    for call in _calls(tree, "connect"):
        if _contains(call, ast.Lambda):
            yield call.lineno, "a lambda keeps its widget alive for ever: connect a method of the receiver"


def _plain_labels(tree: ast.Module) -> Iterator[Problem]:
    message = "QLabel guesses the format of its text: use PlainLabel"
    for call in _calls(tree, "QLabel"):
        yield call.lineno, message
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(_last_name(base) == "QLabel" for base in node.bases):
            yield node.lineno, message


def _literal_translations(tree: ast.Module) -> Iterator[Problem]:
    for call in _calls(tree, "tr", "translate"):
        if _contains(call, ast.JoinedStr):
            yield call.lineno, "the translation tools cannot read an f-string: translate a literal, then format it"


def _default_buttons(tree: ast.Module) -> Iterator[Problem]:
    for call in _calls(tree, "setAutoDefault", "setDefault"):
        if not (call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value is False):
            yield call.lineno, "Enter in a text field would press this button: no default buttons"


def _standard_json(tree: ast.Module) -> Iterator[Problem]:
    message = "the standard library changes numbers and accepts duplicate keys: use runtime_core.wire.json.loads"
    readers = {"load", "loads", "JSONDecoder"}
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name for alias in node.names if alias.name == "json"}
        elif isinstance(node, ast.ImportFrom):
            taken = readers & {alias.name for alias in node.names}
            if taken and node.module == "json" and node.level == 0:
                yield node.lineno, message
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in readers and _last_name(node.value) in modules:
            yield node.lineno, message


def _gateway_writes(tree: ast.Module) -> Iterator[Problem]:
    for call in _calls(tree, "answer", "cancel", "deploy", "reload", "resume", "start", "start_now", "switch"):
        if isinstance(call.func, ast.Attribute) and re.search(r"gateway$", _last_name(call.func.value)):
            yield (
                call.lineno,
                f"{call.func.attr}() changes something: only commands and the outbox may, ask one of them",
            )


def _answer_wishes(tree: ast.Module) -> Iterator[Problem]:
    for call in _calls(tree, "emit"):
        if isinstance(call.func, ast.Attribute) and _last_name(call.func.value) == "answer_requested":
            yield call.lineno, "only the decision bar asks to answer"


RULES = [
    Rule(
        "no nested event loop",
        _nested_exec,
        "dialog.exec()",
        "dialog.open()\nexec('1')",
    ),
    Rule(
        "no processEvents",
        _mentions({"processEvents"}, "runs the event loop inside a handler: return to the loop instead"),
        "app.processEvents()",
        "app.quit()",
    ),
    Rule(
        "no blocking dialog functions",
        _dialog_statics,
        "QMessageBox.warning(self, 'a', 'b')\nQtWidgets.QFileDialog.getOpenFileName(self)",
        "box = QMessageBox(self)\nbox.open()",
    ),
    Rule(
        "no lambda in connect",
        _lambda_in_connect,
        "button.clicked.connect(lambda: self.send())",
        "button.clicked.connect(self._on_clicked)",
    ),
    Rule(
        "labels are plain",
        _plain_labels,
        "QtWidgets.QLabel(text)",
        "PlainLabel(text, theme)",
        allowed=r"^inbox_app/widgets/plain_label\.py$",
    ),
    Rule(
        "translations are literals",
        _literal_translations,
        "self.tr(f'{n} waiting')",
        "self.tr('{n} waiting').format(n=n)",
    ),
    Rule(
        "no rich text",
        _mentions(
            {"setHtml", "insertHtml", "appendHtml", "toHtml", "setMarkdown"}, "foreign text is shown as plain text"
        ),
        "view.setHtml(text)",
        "view.setPlainText(text)",
    ),
    Rule(
        "no default buttons",
        _default_buttons,
        "button.setAutoDefault(True)\nbutton.setDefault(flag)",
        "button.setAutoDefault(False)",
    ),
    Rule(
        "no QThread",
        _mentions({"QThread"}, "dropping a running one aborts: use threading with an explicit stop"),
        "from PySide6.QtCore import QThread",
        "from threading import Thread",
    ),
    Rule(
        "no proxy models",
        _mentions(
            {"QSortFilterProxyModel", "QIdentityProxyModel"}, "sorts 100,000 rows in 11 s: filter and sort in the state"
        ),
        "proxy = QtCore.QSortFilterProxyModel(self)",
        "rows.sort()",
    ),
    Rule(
        "no object behind an index",
        _mentions({"internalPointer"}, "a collected object behind an index is a crash: use numbers and a map"),
        "index.internalPointer()",
        "index.internalId()",
    ),
    Rule(
        "no style sheets",
        _mentions(
            {"setStyleSheet"}, "style sheets switch native drawing off piecewise: palette, style or own painting"
        ),
        "app.setStyleSheet('QWidget {}')",
        "app.setPalette(palette)",
    ),
    Rule(
        "no slots of qasync",
        _mentions({"asyncSlot", "asyncClose"}, "loses tasks or spins the loop: use spawn of inbox_app.loop"),
        "from qasync import asyncSlot",
        "from inbox_app.loop import spawn",
    ),
    Rule(
        "only commands change runs",
        _gateway_writes,
        "await self._gateway.answer(answer)",
        "await self._gateway.pending()\nself._outbox.answer(answer)",
        allowed=r"^inbox_app/(commands/|gateway/|cli\w*\.py|demo\.py|state/outbox\.py)",
    ),
    Rule(
        "only the decision bar answers",
        _answer_wishes,
        "self.answer_requested.emit(value)",
        "self.picked.emit(value)",
        allowed=r"^inbox_app/cards/decision_bar\.py$",
    ),
    Rule(
        "JSON keeps its digits",
        _standard_json,
        "import json\njson.loads(text)",
        "from runtime_core.wire import json\njson.loads(text)",
        folders=("runtime_core",),
        # The envelope of a host message carries user data as text; positions look at where values stand, not at them.
        allowed=r"^runtime_core/(hosts/programs/|hosts/protocol\.py$|wire/json\.py$|repo/position\.py$)",
    ),
]
